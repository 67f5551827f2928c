package dev.firn.engine.parquet;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.FixedSizeBinaryVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.parquet.column.ColumnDescriptor;
import org.jspecify.annotations.Nullable;

/**
 * One leaf column of a schema and the vectors between the batch and its values. Turns rows of a
 * batch into Parquet's repetition and definition levels and the slots of the values in the leaf's
 * vector; values themselves are not touched. Bound to one batch at a time; not thread-safe.
 */
final class LeafColumn implements ColumnRows {
  /* A bitmap is copied out of Arrow's memory, where each access is checked, unless it has more
  bytes than this for each bit wanted. */
  private static final int SPARSE_BYTES_MAX = 4;

  private enum Kind {
    STRUCT,
    LIST,
    MAP_KEY,
    MAP_VALUE,
    LEAF
  }

  /** One field on the way down; the last is the leaf. */
  private record Step(Kind kind, boolean isOptional, int childPosition, String name) {}

  private final int columnPosition;
  private final NestedField leaf;
  private final ColumnDescriptor descriptor;
  private final List<Step> steps;
  private final boolean isRepeated;

  // The batch.
  private final @Nullable ArrowBuf[] validities; // null where nothing is null
  private final @Nullable ArrowBuf[] offsets; // of lists and maps
  private @Nullable FieldVector values; // null before the first batch

  // The rows shredded last.
  private int entries;
  private int valueCount;
  private int[] slots = new int[0];
  private byte[] definitions = new byte[0];
  private byte[] repetitions = new byte[0];
  private byte[] bits = new byte[0];
  private int[] otherSlots = new int[0];
  private byte[] otherDefinitions = new byte[0];
  private byte[] otherRepetitions = new byte[0];

  private LeafColumn(
      int columnPosition, NestedField leaf, ColumnDescriptor descriptor, List<Step> steps) {
    this.columnPosition = columnPosition;
    this.leaf = leaf;
    this.descriptor = descriptor;
    this.steps = List.copyOf(steps);
    this.isRepeated = descriptor.getMaxRepetitionLevel() > 0;
    this.validities = new ArrowBuf[steps.size()];
    this.offsets = new ArrowBuf[steps.size()];
  }

  /**
   * The leaf columns of a schema, in the order in which Parquet has them.
   *
   * @param columns the columns of the batches
   * @param descriptors the leaf columns of the same schema in Parquet
   */
  static List<LeafColumn> of(List<NestedField> columns, List<ColumnDescriptor> descriptors) {
    List<LeafColumn> leaves = new ArrayList<>(descriptors.size());
    for (int position = 0; position < columns.size(); position++) {
      descend(position, columns.get(position), 0, new ArrayList<>(), descriptors, leaves);
    }
    if (leaves.size() != descriptors.size()) {
      throw new IllegalStateException(
          "The schema has " + leaves.size() + " leaf columns, Parquet " + descriptors.size());
    }
    return leaves;
  }

  private static void descend(
      int column,
      NestedField field,
      int childPosition,
      List<Step> path,
      List<ColumnDescriptor> descriptors,
      List<LeafColumn> leaves) {
    Type type = field.type();
    if (type.isPrimitiveType()) {
      List<Step> steps = new ArrayList<>(path);
      steps.add(new Step(Kind.LEAF, field.isOptional(), childPosition, field.name()));
      leaves.add(new LeafColumn(column, field, descriptors.get(leaves.size()), steps));
    } else if (type instanceof Types.StructType struct) {
      path.add(new Step(Kind.STRUCT, field.isOptional(), childPosition, field.name()));
      List<NestedField> children = struct.fields();
      for (int child = 0; child < children.size(); child++) {
        descend(column, children.get(child), child, path, descriptors, leaves);
      }
      path.remove(path.size() - 1);
    } else if (type instanceof Types.ListType list) {
      path.add(new Step(Kind.LIST, field.isOptional(), childPosition, field.name()));
      descend(column, list.fields().get(0), 0, path, descriptors, leaves);
      path.remove(path.size() - 1);
    } else if (type instanceof Types.MapType map) {
      path.add(new Step(Kind.MAP_KEY, field.isOptional(), childPosition, field.name()));
      descend(column, map.fields().get(0), 0, path, descriptors, leaves);
      path.set(
          path.size() - 1,
          new Step(Kind.MAP_VALUE, field.isOptional(), childPosition, field.name()));
      descend(column, map.fields().get(1), 1, path, descriptors, leaves);
      path.remove(path.size() - 1);
    } else {
      throw new IllegalArgumentException("Cannot write column " + field);
    }
  }

  ColumnDescriptor descriptor() {
    return descriptor;
  }

  NestedField field() {
    return leaf;
  }

  /** Whether the column lies in a list or map. */
  boolean isRepeated() {
    return isRepeated;
  }

  /** Takes the vectors of a batch. They must stay as they are until the next call. */
  void bind(List<FieldVector> columns) {
    FieldVector vector = columns.get(columnPosition);
    for (int i = 0; i < steps.size(); i++) {
      Step step = steps.get(i);
      ArrowBuf validity = vector.getValidityBuffer();
      boolean hasNulls = validity != null && validity.capacity() > 0 && vector.getNullCount() > 0;
      validities[i] = hasNulls ? validity : null;
      offsets[i] = null;
      switch (step.kind()) {
        case LEAF -> check(vector);
        case STRUCT ->
            vector =
                child(
                    expect(StructVector.class, vector).getChildrenFromFields(),
                    steps.get(i + 1).childPosition());
        case LIST -> {
          ListVector list = expect(ListVector.class, vector);
          offsets[i] = list.getOffsetBuffer();
          vector = list.getDataVector();
        }
        case MAP_KEY, MAP_VALUE -> {
          ListVector map = expect(ListVector.class, vector);
          offsets[i] = map.getOffsetBuffer();
          vector =
              child(
                  expect(StructVector.class, map.getDataVector()).getChildrenFromFields(),
                  step.kind() == Kind.MAP_KEY ? 0 : 1);
        }
      }
    }
    values = vector;
  }

  private FieldVector child(List<FieldVector> children, int position) {
    if (position >= children.size()) {
      throw new IllegalArgumentException(
          "Column " + leaf + " lacks a vector: its parent has " + children.size());
    }
    return children.get(position);
  }

  private <V extends ValueVector> V expect(Class<V> kind, FieldVector vector) {
    if (!kind.isInstance(vector)) {
      throw new IllegalArgumentException(
          "Column "
              + leaf
              + " needs a "
              + kind.getSimpleName()
              + " but the batch has "
              + vector.getField());
    }
    return kind.cast(vector);
  }

  private void check(FieldVector vector) {
    switch (descriptor.getType()) {
      case BOOLEAN -> expect(BitVector.class, vector);
      case INT32 -> expect(IntVector.class, vector);
      case INT64 -> expect(BigIntVector.class, vector);
      case FLOAT -> expect(Float4Vector.class, vector);
      case DOUBLE -> expect(Float8Vector.class, vector);
      case BINARY -> expect(VarBinaryVector.class, vector);
      case FIXED_LEN_BYTE_ARRAY -> {
        int width = expect(FixedSizeBinaryVector.class, vector).getByteWidth();
        if (width != descriptor.getTypeLength()) {
          throw new IllegalArgumentException(
              "Column "
                  + leaf
                  + " needs values of "
                  + descriptor.getTypeLength()
                  + " bytes but the batch has "
                  + width);
        }
      }
      default -> throw new IllegalArgumentException("Cannot write column " + leaf);
    }
  }

  /** The leaf's vector in the batch. */
  FieldVector values() {
    if (values == null) {
      throw new IllegalStateException("No batch is bound");
    }
    return values;
  }

  /**
   * How many bytes the values of some rows have, before any encoding.
   *
   * @param from the first row
   * @param to the row after the last
   */
  long bytes(int from, int to) {
    int first = from;
    int last = to;
    for (int i = 0; i < steps.size() - 1; i++) {
      ArrowBuf offset = offsets[i];
      if (offset != null) {
        if (first >= last) {
          return 0;
        }
        int firstElement = offset.getInt((long) first << 2);
        last = offset.getInt((long) last << 2);
        first = firstElement;
      }
    }
    if (first >= last) {
      return 0;
    }
    long count = last - first;
    return switch (descriptor.getType()) {
      case BOOLEAN -> (count + 7) / 8;
      case INT32, FLOAT -> count << 2;
      case INT64, DOUBLE -> count << 3;
      case FIXED_LEN_BYTE_ARRAY -> count * descriptor.getTypeLength();
      default -> {
        ArrowBuf offset = values().getOffsetBuffer();
        yield (count << 2) + offset.getInt((long) last << 2) - offset.getInt((long) first << 2);
      }
    };
  }

  /**
   * Finds levels and slots of some rows of the batch.
   *
   * @param rows rows of the batch in ascending order
   * @param from the first of {@code rows} to take
   * @param to the one after the last
   * @throws IllegalArgumentException if a required field is null (S7)
   */
  void shred(int[] rows, int from, int to) {
    entries = to - from;
    ensure(entries);
    System.arraycopy(rows, from, slots, 0, entries);
    byte definition = 0; // of all entries as long as hasDefinitions is false
    boolean hasDefinitions = false;
    if (isRepeated) {
      Arrays.fill(repetitions, 0, entries, (byte) 0);
    }
    boolean hasGaps = false;
    byte repetition = 0;
    for (int i = 0; i < steps.size(); i++) {
      Step step = steps.get(i);
      ArrowBuf validity = validities[i];
      if (step.isOptional()) {
        if (validity == null && !hasDefinitions) {
          definition++;
        } else if (validity == null) {
          define(definitions, slots, entries, hasGaps);
        } else {
          if (!hasDefinitions) {
            Arrays.fill(definitions, 0, entries, definition);
            hasDefinitions = true;
          }
          define(validity);
          hasGaps = true;
        }
      } else if (validity != null) {
        refuseNulls(validity, step);
      }
      ArrowBuf offset = offsets[i];
      if (offset != null) {
        if (!hasDefinitions) {
          Arrays.fill(definitions, 0, entries, definition);
          hasDefinitions = true;
        }
        repetition++;
        hasGaps |= expand(offset, repetition);
      }
    }
    valueCount = hasGaps ? compact(slots, entries) : entries;
  }

  private void ensure(int capacity) {
    if (slots.length < capacity) {
      slots = new int[capacity];
      definitions = new byte[capacity];
      if (isRepeated) {
        repetitions = new byte[capacity];
      }
    }
  }

  private static void define(byte[] definitions, int[] slots, int entries, boolean hasGaps) {
    if (hasGaps) {
      for (int e = 0; e < entries; e++) {
        if (slots[e] >= 0) {
          definitions[e]++;
        }
      }
    } else {
      for (int e = 0; e < entries; e++) {
        definitions[e]++;
      }
    }
  }

  private void define(ArrowBuf validity) {
    int first = firstSlot();
    if (first < 0) {
      return;
    }
    int last = lastSlot();
    int firstByte = first >>> 3;
    int bytes = (last >>> 3) - firstByte + 1;
    if (bytes <= SPARSE_BYTES_MAX * (long) entries) {
      if (bits.length < bytes) {
        bits = new byte[bytes];
      }
      validity.getBytes(firstByte, bits, 0, bytes);
      for (int e = 0; e < entries; e++) {
        int slot = slots[e];
        if (slot >= 0) {
          int valid = bits[(slot >>> 3) - firstByte] >>> (slot & 7) & 1;
          definitions[e] += (byte) valid;
          slots[e] = slot | valid - 1; // -1 where null
        }
      }
    } else {
      for (int e = 0; e < entries; e++) {
        int slot = slots[e];
        if (slot >= 0) {
          int valid = validity.getByte(slot >>> 3) >>> (slot & 7) & 1;
          definitions[e] += (byte) valid;
          slots[e] = slot | valid - 1;
        }
      }
    }
  }

  /** The first slot that is not a gap, -1 when all are. */
  private int firstSlot() {
    for (int e = 0; e < entries; e++) {
      if (slots[e] >= 0) {
        return slots[e];
      }
    }
    return -1;
  }

  private int lastSlot() {
    for (int e = entries - 1; e >= 0; e--) {
      if (slots[e] >= 0) {
        return slots[e];
      }
    }
    return -1;
  }

  private void refuseNulls(ArrowBuf validity, Step step) {
    for (int e = 0; e < entries; e++) {
      int slot = slots[e];
      if (slot >= 0 && (validity.getByte(slot >>> 3) >>> (slot & 7) & 1) == 0) {
        throw new IllegalArgumentException(
            "Cannot write column "
                + leaf
                + ": "
                + step.name()
                + " is required but a row has null. The data files do not keep to the schema");
      }
    }
  }

  /** Opens lists: one entry for each element, or one for an empty list. Says if any was empty. */
  private boolean expand(ArrowBuf offset, byte repetition) {
    long needed = 0;
    for (int e = 0; e < entries; e++) {
      int slot = slots[e];
      needed +=
          slot < 0
              ? 1
              : Math.max(1, offset.getInt((slot + 1L) << 2) - offset.getInt((long) slot << 2));
    }
    int capacity = Math.toIntExact(needed);
    if (otherSlots.length < capacity) {
      otherSlots = new int[capacity];
      otherDefinitions = new byte[capacity];
      otherRepetitions = new byte[capacity];
    }
    boolean hasGaps = false;
    int out = 0;
    for (int e = 0; e < entries; e++) {
      int slot = slots[e];
      int first = slot < 0 ? 0 : offset.getInt((long) slot << 2);
      int last = slot < 0 ? 0 : offset.getInt((slot + 1L) << 2);
      if (first == last) {
        otherSlots[out] = -1;
        otherDefinitions[out] = definitions[e];
        otherRepetitions[out++] = repetitions[e];
        hasGaps = true;
      } else {
        byte defined = (byte) (definitions[e] + 1);
        otherRepetitions[out] = repetitions[e];
        for (int element = first; element < last; element++) {
          otherSlots[out] = element;
          otherDefinitions[out] = defined;
          if (element > first) {
            otherRepetitions[out] = repetition;
          }
          out++;
        }
      }
    }
    int[] oldSlots = slots;
    byte[] oldDefinitions = definitions;
    byte[] oldRepetitions = repetitions;
    slots = otherSlots;
    definitions = otherDefinitions;
    repetitions = otherRepetitions;
    otherSlots = oldSlots;
    otherDefinitions = oldDefinitions;
    otherRepetitions = oldRepetitions;
    entries = out;
    return hasGaps;
  }

  private static int compact(int[] slots, int entries) {
    int count = 0;
    for (int e = 0; e < entries; e++) {
      int slot = slots[e];
      slots[count] = slot;
      count += slot >>> 31 ^ 1;
    }
    return count;
  }

  @Override
  public int entries() {
    return entries;
  }

  @Override
  public int valueCount() {
    return valueCount;
  }

  @Override
  public boolean isAllDefined() {
    return valueCount == entries;
  }

  /** The values' slots in {@link #values()}, ascending; valid up to {@link #valueCount()}. */
  int[] slots() {
    return slots;
  }

  @Override
  public byte[] definitions() {
    return definitions;
  }

  @Override
  public byte[] repetitions() {
    return repetitions;
  }

  @Override
  public long plainBytesMax(int from, int to) {
    if (from == to) {
      return 0;
    }
    // What lies between the values in the vector counts too.
    ArrowBuf offsets = values().getOffsetBuffer();
    long start = offsets.getInt((long) slots[from] << 2);
    long end = offsets.getInt((slots[to - 1] + 1L) << 2);
    return end - start + (long) Integer.BYTES * (to - from);
  }

  @Override
  public int plainBytes(int value) {
    ArrowBuf offsets = values().getOffsetBuffer();
    int slot = slots[value];
    return Integer.BYTES + offsets.getInt((slot + 1L) << 2) - offsets.getInt((long) slot << 2);
  }

  @Override
  public long[] longs(int width, int from, int to, Scratch scratch) {
    ArrowBuf data = values().getDataBuffer();
    return width == Long.BYTES
        ? scratch.longs(data, slots, from, to)
        : scratch.ints(data, slots, from, to);
  }

  @Override
  public byte[] booleans(int from, int to, Scratch scratch) {
    return scratch.bits(values().getDataBuffer(), slots, from, to);
  }

  @Override
  public long byteStrings(int width, int from, int to, Scratch scratch) {
    if (width == 0) {
      return scratch.binaries(values(), slots, from, to);
    }
    scratch.fixed(values().getDataBuffer(), width, slots, from, to);
    return (long) (to - from) * width;
  }
}
