package dev.firn.engine.verify;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;

/**
 * Hashes the live rows of batches in the physical layout, column by column, into {@link
 * RowDigest}s.
 *
 * <p>Values are told apart by their bits: floats by theirs, NaN payloads and the sign of zero
 * included; strings by their bytes. Null is not an empty string, nor an empty list. Lists and maps
 * are equal if their elements are, in the same order. Not thread-safe; holds heap only.
 */
public final class RowHasher {
  /* Each value of a column gets two XXH64 hashes, seeded with the field id and, within lists, with
  its place. Their sums over all rows are the column's 128 bits. Their sums over one row, mixed once
  more so that they do not add up across rows, are the row's. */

  private static final long SEED_A = 0x3C6EF372FE94F82BL;
  private static final long SEED_B = 0xA54FF53A5F1D36F1L;
  private static final long NULL = 0x510E527FADE682D1L;

  /** Elements of lists that are hashed at once: bounds the memory, not the lists. */
  private static final int ELEMENTS_MAX = 1 << 16;

  private final Set<Integer> oneNan;
  private final List<String> names = new ArrayList<>();
  private final List<String> topNames = new ArrayList<>();
  private final Node[] columns;
  private final Slots live = new Slots();

  private long[] rowsA = {};
  private long[] rowsB = {};

  /** Shares of single columns in {@code rowsA}; used only when asked for them. */
  private long[][] sharesA = {};

  // Words, or addresses and lengths, of the values being hashed.
  private long[] values = {};
  private int[] lengths = {};
  private final long[] pair = new long[2];

  // What the values being hashed add to.
  private long[] targetA = {};
  private long[] targetB = {};
  private RowDigest digest;

  /**
   * @param schema of the batches
   * @param oneNan ids of columns in which one NaN is as good as another
   */
  public RowHasher(Schema schema, Set<Integer> oneNan) {
    this.oneNan = oneNan;
    List<Types.NestedField> fields = schema.columns();
    columns = new Node[fields.size()];
    for (int i = 0; i < columns.length; i++) {
      topNames.add(fields.get(i).name());
      columns[i] = node(fields.get(i).name(), fields.get(i));
    }
    digest = new RowDigest(names.size());
  }

  /** The columns of digests: all fields at any depth, in the schema's order, parents first. */
  public List<String> columnNames() {
    return List.copyOf(names);
  }

  /** The columns of the schema, without those inside of others. */
  public List<String> topColumnNames() {
    return List.copyOf(topNames);
  }

  /**
   * Adds the live rows of a batch to a digest.
   *
   * @param selection bit 0 of word 0 is row 0; bits past the last row are clear
   */
  public void hash(VectorSchemaRoot batch, long[] selection, int liveRows, RowDigest into) {
    begin(selection, liveRows, into);
    targetA = rowsA;
    targetB = rowsB;
    for (int i = 0; i < columns.length; i++) {
      columns[i].hash(batch.getVector(i), live);
    }
    end(liveRows);
  }

  /**
   * The same, and adds to {@code without[i]} the sum of the hashes of the rows without column
   * {@code i} of {@link #topColumnNames}. If values of one column have changed places between rows,
   * the sum without that column is the one that stays.
   */
  public void hashWithout(
      VectorSchemaRoot batch, long[] selection, int liveRows, RowDigest into, long[] without) {
    begin(selection, liveRows, into);
    if (sharesA.length == 0) {
      sharesA = new long[columns.length][];
      Arrays.fill(sharesA, new long[0]);
    }
    targetB = rowsB;
    for (int i = 0; i < columns.length; i++) {
      sharesA[i] = cleared(sharesA[i], liveRows);
      targetA = sharesA[i];
      columns[i].hash(batch.getVector(i), live);
      for (int row = 0; row < liveRows; row++) {
        rowsA[row] += targetA[row];
      }
    }
    for (int i = 0; i < columns.length; i++) {
      long[] share = sharesA[i];
      long sum = 0;
      for (int row = 0; row < liveRows; row++) {
        sum += XxHash64.avalanche(rowsA[row] - share[row] + SEED_A);
      }
      without[i] += sum;
    }
    end(liveRows);
  }

  /** The hash of the {@code index}th live row of the last batch; equal rows have equal hashes. */
  public long rowHash(int index) {
    return XxHash64.avalanche(rowsA[index] + SEED_A);
  }

  /** The row of the last batch that the {@code index}th live row is. */
  public int row(int index) {
    return live.slot[index];
  }

  private void begin(long[] selection, int liveRows, RowDigest into) {
    digest = into;
    rowsA = cleared(rowsA, liveRows);
    rowsB = cleared(rowsB, liveRows);
    live.reserve(liveRows);
    int count = 0;
    for (int word = 0; count < liveRows; word++) {
      for (long bits = selection[word]; bits != 0; bits &= bits - 1) {
        live.slot[count] = (word << 6) + Long.numberOfTrailingZeros(bits);
        live.row[count] = count;
        live.context[count] = 0;
        count++;
      }
    }
    live.count = count;
  }

  private void end(int liveRows) {
    long a = 0;
    long b = 0;
    for (int row = 0; row < liveRows; row++) {
      a += XxHash64.avalanche(rowsA[row] + SEED_A);
      b += XxHash64.avalanche(rowsB[row] + SEED_B);
    }
    digest.rows += liveRows;
    digest.rowsA += a;
    digest.rowsB += b;
  }

  private static long[] cleared(long[] array, int length) {
    if (array.length < length) {
      return new long[length];
    }
    Arrays.fill(array, 0, length, 0);
    return array;
  }

  // ---- the columns

  /**
   * Values to be hashed: where they are in their vector, which row they are of, and in it where.
   */
  private static final class Slots {
    int count;
    int[] slot = {};
    int[] row = {};

    /** Tells apart the places within lists; added to the seeds. */
    long[] context = {};

    void reserve(int capacity) {
      if (slot.length < capacity) {
        slot = new int[capacity];
        row = new int[capacity];
        context = new long[capacity];
      }
    }

    void add(int newSlot, int newRow, long newContext) {
      slot[count] = newSlot;
      row[count] = newRow;
      context[count] = newContext;
      count++;
    }
  }

  /** How values of one field are hashed; decided once, by its type. */
  private abstract static class Node {
    final int index;
    final long seedA;
    final long seedB;

    Node(int index, int fieldId) {
      this.index = index;
      this.seedA = XxHash64.ofLong(fieldId, SEED_A);
      this.seedB = XxHash64.ofLong(fieldId, SEED_B);
    }

    abstract void hash(FieldVector vector, Slots slots);
  }

  private Node node(String path, Types.NestedField field) {
    int index = names.size();
    names.add(path);
    int id = field.fieldId();
    Type type = field.type();
    switch (type.typeId()) {
      case STRUCT:
        return new StructNode(index, id, nodes(path, type));
      case LIST:
      case MAP:
        return new ListNode(index, id, nodes(path, type));
      case STRING:
      case BINARY:
        return new BytesNode(index, id);
      case UUID:
        return new FixedBytesNode(index, id, 16);
      case FIXED:
        return new FixedBytesNode(index, id, ((Types.FixedType) type).length());
      case DECIMAL:
        int precision = ((Types.DecimalType) type).precision();
        return precision <= 18
            ? new WordNode(index, id, precision <= 9 ? Integer.BYTES : Long.BYTES)
            : new FixedBytesNode(index, id, TypeUtil.decimalRequiredBytes(precision));
      case BOOLEAN:
        return new WordNode(index, id, 0);
      case INTEGER:
      case DATE:
      case FLOAT:
        return new WordNode(index, id, Integer.BYTES);
      case LONG:
      case TIME:
      case TIMESTAMP:
      case TIMESTAMP_NANO:
      case DOUBLE:
        return new WordNode(index, id, Long.BYTES);
      default:
        throw new IllegalArgumentException("Cannot hash column " + path + " of type " + type);
    }
  }

  private Node[] nodes(String path, Type type) {
    return type.asNestedType().fields().stream()
        .map(child -> node(path + "." + child.name(), child))
        .toArray(Node[]::new);
  }

  /** Values of at most eight bytes, by their bits. */
  private final class WordNode extends Node {
    private final int bytes; // 0: single bits
    private final boolean normalizes;

    WordNode(int index, int fieldId, int bytes) {
      super(index, fieldId);
      this.bytes = bytes;
      this.normalizes = oneNan.contains(fieldId);
    }

    @Override
    void hash(FieldVector vector, Slots slots) {
      if (slots.count == 0) {
        return;
      }
      if (values.length < slots.count) {
        values = new long[slots.count];
      }
      long data = vector.getDataBuffer().memoryAddress();
      if (vector instanceof BitVector) {
        gatherBits(data, slots.slot, slots.count, values);
      } else if (bytes == Integer.BYTES) {
        gatherInts(data, slots.slot, slots.count, values);
      } else {
        gatherLongs(data, slots.slot, slots.count, values);
      }
      if (normalizes && vector instanceof Float4Vector) {
        normalizeFloats(slots.count, values);
      } else if (normalizes && vector instanceof Float8Vector) {
        normalizeDoubles(slots.count, values);
      }
      add(this, validity(vector), slots, values);
    }
  }

  /** The address of the validity bits, 0 if no value is null. */
  private static long validity(FieldVector vector) {
    return vector.getNullCount() == 0 ? 0 : vector.getValidityBuffer().memoryAddress();
  }

  private static boolean isNull(long validity, int slot) {
    return validity != 0 && (MemoryUtil.getByte(validity + (slot >>> 3)) >>> (slot & 7) & 1) == 0;
  }

  private static void gatherBits(long data, int[] slot, int count, long[] into) {
    for (int k = 0; k < count; k++) {
      into[k] = MemoryUtil.getByte(data + (slot[k] >>> 3)) >>> (slot[k] & 7) & 1;
    }
  }

  private static void gatherInts(long data, int[] slot, int count, long[] into) {
    for (int k = 0; k < count; k++) {
      into[k] = MemoryUtil.getInt(data + ((long) slot[k] << 2));
    }
  }

  private static void gatherLongs(long data, int[] slot, int count, long[] into) {
    for (int k = 0; k < count; k++) {
      into[k] = MemoryUtil.getLong(data + ((long) slot[k] << 3));
    }
  }

  private static void normalizeFloats(int count, long[] words) {
    for (int k = 0; k < count; k++) {
      float value = Float.intBitsToFloat((int) words[k]);
      words[k] = Float.isNaN(value) ? Float.floatToIntBits(Float.NaN) : words[k];
    }
  }

  private static void normalizeDoubles(int count, long[] words) {
    for (int k = 0; k < count; k++) {
      double value = Double.longBitsToDouble(words[k]);
      words[k] = Double.isNaN(value) ? Double.doubleToLongBits(Double.NaN) : words[k];
    }
  }

  private void add(Node node, long validity, Slots slots, long[] words) {
    int[] slot = slots.slot;
    int[] row = slots.row;
    long[] context = slots.context;
    long[] intoA = targetA;
    long[] intoB = targetB;
    long sumA = 0;
    long sumB = 0;
    for (int k = 0; k < slots.count; k++) {
      long seedA = node.seedA + context[k];
      long seedB = node.seedB + context[k];
      long a;
      long b;
      if (isNull(validity, slot[k])) {
        a = ofNull(seedA);
        b = ofNull(seedB);
      } else {
        a = XxHash64.ofLong(words[k], seedA);
        b = XxHash64.ofLong(words[k], seedB);
      }
      sumA += a;
      sumB += b;
      intoA[row[k]] += a;
      intoB[row[k]] += b;
    }
    digest.columnsA[node.index] += sumA;
    digest.columnsB[node.index] += sumB;
  }

  private static long ofNull(long seed) {
    return XxHash64.avalanche(seed ^ NULL);
  }

  private void addOne(Node node, int row, long a, long b) {
    digest.columnsA[node.index] += a;
    digest.columnsB[node.index] += b;
    targetA[row] += a;
    targetB[row] += b;
  }

  private void addNull(Node node, int row, long context) {
    addOne(node, row, ofNull(node.seedA + context), ofNull(node.seedB + context));
  }

  /** Strings and binary values of any length. */
  private final class BytesNode extends Node {
    BytesNode(int index, int fieldId) {
      super(index, fieldId);
    }

    @Override
    void hash(FieldVector vector, Slots slots) {
      if (slots.count == 0) {
        return;
      }
      reserveSpans(slots.count);
      long offsets = vector.getOffsetBuffer().memoryAddress();
      long data = vector.getDataBuffer().memoryAddress();
      for (int k = 0; k < slots.count; k++) {
        long offset = offsets + ((long) slots.slot[k] << 2);
        int start = MemoryUtil.getInt(offset);
        values[k] = data + start;
        lengths[k] = MemoryUtil.getInt(offset + 4) - start;
      }
      addSpans(this, validity(vector), slots);
    }
  }

  /** Values of one length that do not fit in a word. */
  private final class FixedBytesNode extends Node {
    private final int bytes;

    FixedBytesNode(int index, int fieldId, int bytes) {
      super(index, fieldId);
      this.bytes = bytes;
    }

    @Override
    void hash(FieldVector vector, Slots slots) {
      if (slots.count == 0) {
        return;
      }
      reserveSpans(slots.count);
      long data = vector.getDataBuffer().memoryAddress();
      for (int k = 0; k < slots.count; k++) {
        values[k] = data + (long) slots.slot[k] * bytes;
        lengths[k] = bytes;
      }
      addSpans(this, validity(vector), slots);
    }
  }

  private void reserveSpans(int count) {
    if (values.length < count) {
      values = new long[count];
    }
    if (lengths.length < count) {
      lengths = new int[count];
    }
  }

  /** Adds values given by their addresses and lengths. */
  private void addSpans(Node node, long validity, Slots slots) {
    long[] addresses = values;
    int[] bytes = lengths;
    int[] row = slots.row;
    long[] intoA = targetA;
    long[] intoB = targetB;
    long[] both = pair;
    long sumA = 0;
    long sumB = 0;
    for (int k = 0; k < slots.count; k++) {
      long seedA = node.seedA + slots.context[k];
      long seedB = node.seedB + slots.context[k];
      if (isNull(validity, slots.slot[k])) {
        both[0] = ofNull(seedA);
        both[1] = ofNull(seedB);
      } else {
        XxHash64.ofBytes(addresses[k], bytes[k], seedA, seedB, both);
      }
      sumA += both[0];
      sumB += both[1];
      intoA[row[k]] += both[0];
      intoB[row[k]] += both[1];
    }
    digest.columnsA[node.index] += sumA;
    digest.columnsB[node.index] += sumB;
  }

  /**
   * Adds nulls of its own; a struct that is there is told by its children, which a null has not.
   */
  private final class StructNode extends Node {
    private final Node[] children;
    private final Slots present = new Slots();

    StructNode(int index, int fieldId, Node[] children) {
      super(index, fieldId);
      this.children = children;
    }

    @Override
    void hash(FieldVector vector, Slots slots) {
      Slots below = slots;
      long validity = validity(vector);
      if (validity != 0) {
        present.reserve(slots.count);
        present.count = 0;
        for (int k = 0; k < slots.count; k++) {
          if (isNull(validity, slots.slot[k])) {
            addNull(this, slots.row[k], slots.context[k]);
          } else {
            present.add(slots.slot[k], slots.row[k], slots.context[k]);
          }
        }
        below = present;
      }
      List<FieldVector> vectors = ((StructVector) vector).getChildrenFromFields();
      for (int i = 0; i < children.length; i++) {
        children[i].hash(vectors.get(i), below);
      }
    }
  }

  /** A list adds its length and its elements with their places; a map is a list of its entries. */
  private final class ListNode extends Node {
    private final Node[] children; // of a list the element, of a map key and value
    private final Slots elements = new Slots();

    ListNode(int index, int fieldId, Node[] children) {
      super(index, fieldId);
      this.children = children;
    }

    @Override
    void hash(FieldVector vector, Slots slots) {
      if (slots.count == 0) {
        return;
      }
      long validity = validity(vector);
      long offsets = vector.getOffsetBuffer().memoryAddress();
      FieldVector data = ((ListVector) vector).getDataVector();
      elements.reserve(ELEMENTS_MAX);
      elements.count = 0;
      for (int k = 0; k < slots.count; k++) {
        int slot = slots.slot[k];
        int row = slots.row[k];
        long context = slots.context[k];
        if (isNull(validity, slot)) {
          addNull(this, row, context);
          continue;
        }
        int start = MemoryUtil.getInt(offsets + ((long) slot << 2));
        int length = MemoryUtil.getInt(offsets + ((long) slot + 1 << 2)) - start;
        addOne(
            this,
            row,
            XxHash64.ofLong(length, seedA + context),
            XxHash64.ofLong(length, seedB + context));
        for (int place = 0; place < length; place++) {
          if (elements.count == ELEMENTS_MAX) {
            hashElements(data);
          }
          elements.add(start + place, row, XxHash64.ofLong(place, seedA + seedB + context));
        }
      }
      hashElements(data);
    }

    private void hashElements(FieldVector data) {
      if (children.length == 2) {
        List<FieldVector> vectors = ((StructVector) data).getChildrenFromFields();
        children[0].hash(vectors.get(0), elements);
        children[1].hash(vectors.get(1), elements);
      } else {
        children[0].hash(data, elements);
      }
      elements.count = 0;
    }
  }
}
