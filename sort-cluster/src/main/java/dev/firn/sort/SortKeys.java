package dev.firn.sort;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortDirection;
import org.apache.iceberg.SortField;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.transforms.Transform;
import org.apache.iceberg.types.Type;
import org.jspecify.annotations.Nullable;

/**
 * Order-preserving binary keys: rows compare as their keys do as unsigned bytes (O1). No key is the
 * beginning of another.
 *
 * <p>Those of a sort order are equal for equal rows and only for them. Strings are in UTF-8 byte
 * order (O2), NaN of any bits is one value after all others and -0 comes before 0 (O3), UUIDs are
 * in unsigned byte order (O4). Those of a curve are equal for all rows of a cell of the curve
 * (O12).
 *
 * <p>Immutable and thread-safe.
 */
public final class SortKeys {

  private final List<KeyPart> parts;
  private final int fixedBytes;
  private final boolean variable;

  private SortKeys(List<? extends KeyPart> parts) {
    this.parts = List.copyOf(parts);
    int bytes = 0;
    boolean anyVariable = false;
    for (KeyPart part : parts) {
      bytes = Math.addExact(bytes, part.fixedBytes());
      anyVariable |= part.variable();
    }
    this.fixedBytes = bytes;
    this.variable = anyVariable;
  }

  /**
   * The keys of an order.
   *
   * @param schema the schema that batches follow; the order's sources are found in it by field id
   * @throws IllegalArgumentException if the schema lacks a source (O8), or a transform is unknown
   *     or does not take the source's type (O6); names the field
   */
  public static SortKeys of(Schema schema, SortOrder order) {
    List<KeyPart> parts = new ArrayList<>();
    for (SortField field : order.fields()) {
      FieldPart part = part(schema, order, field);
      if (part != null) {
        parts.add(part);
      }
    }
    return new SortKeys(parts);
  }

  /**
   * The keys of a partition spec: rows have equal keys that belong to the same partition, and only
   * they (D9). Fields that are void are null in every row and not in the keys.
   *
   * @param schema the schema that batches follow; the spec's sources are found in it by field id
   * @throws IllegalArgumentException if the schema lacks a source, or a transform is unknown or
   *     does not take the source's type (P5); names the field
   */
  public static SortKeys ofPartitions(Schema schema, PartitionSpec spec) {
    List<KeyPart> parts = new ArrayList<>();
    for (PartitionField field : spec.fields()) {
      String what = "partition spec " + spec.specId();
      FieldPart part =
          part(
              schema,
              null,
              what,
              field.sourceId(),
              field.transform(),
              false,
              NullOrder.NULLS_FIRST);
      if (part != null) {
        parts.add(part);
      }
    }
    return new SortKeys(parts);
  }

  /**
   * The keys of a z-order as Iceberg's Spark procedure defines it (O12), byte for byte: rows of the
   * same cell of the curve have equal keys. Nulls come with the smallest values.
   *
   * @param columns names of columns, those of structs with dots. Iceberg leaves out columns that
   *     the partition spec takes as they are: the caller does.
   * @param varLengthContribution how many bytes of a text or binary value count
   * @param maxOutputSize how many bytes a key has at most
   * @throws IllegalArgumentException if a column is not in the schema, named twice or of a type
   *     that Spark's z-order does not take, or a limit is not positive or lets keys become too long
   */
  public static SortKeys zOrder(
      Schema schema, List<String> columns, int varLengthContribution, int maxOutputSize) {
    return new SortKeys(
        List.of(ZOrderPart.of(schema, columns, varLengthContribution, maxOutputSize)));
  }

  /**
   * The keys of a z-order over the ranks of values: how values are written, how skewed they are and
   * what texts begin with does not matter to it. Of one column, its plain order.
   *
   * @throws IllegalArgumentException if the schema lacks a column or has another type for it than
   *     was sampled
   */
  public static SortKeys zOrder(Schema schema, ColumnRanks ranks) {
    return curve(schema, ranks, false);
  }

  /**
   * The keys of a Hilbert curve over the ranks of values. Of one column, its plain order.
   *
   * @throws IllegalArgumentException as for {@link #zOrder(Schema, ColumnRanks)}
   */
  public static SortKeys hilbert(Schema schema, ColumnRanks ranks) {
    return curve(schema, ranks, true);
  }

  private static SortKeys curve(Schema schema, ColumnRanks ranks, boolean hilbert) {
    if (ranks.columns().size() > 1) {
      return new SortKeys(List.of(RankCurvePart.of(schema, ranks, hilbert)));
    }
    ColumnPath path = RankCurvePart.paths(schema, ranks).get(0);
    SortOrder order =
        SortOrder.builderFor(schema)
            .sortBy(schema.findColumnName(path.fieldId()), SortDirection.ASC, ranks.nullOrder())
            .build();
    return of(schema, order);
  }

  private static @Nullable FieldPart part(Schema schema, SortOrder order, SortField field) {
    return part(
        schema,
        order.schema(),
        "sort order " + order.orderId(),
        field.sourceId(),
        field.transform(),
        field.direction() == SortDirection.DESC,
        field.nullOrder());
  }

  /**
   * Null for a void field, which is null in every row and orders nothing.
   *
   * @param other knows names of fields that {@code schema} may lack; null for none
   */
  private static @Nullable FieldPart part(
      Schema schema,
      @Nullable Schema other,
      String what,
      int sourceId,
      Transform<?, ?> transform,
      boolean descending,
      NullOrder nullOrder) {
    String name = transform.toString();
    if (name.equals("void")) {
      return null;
    }
    ColumnPath path = ColumnPath.find(schema, sourceId);
    if (path == null) {
      String source = other == null ? null : other.findColumnName(sourceId);
      throw new IllegalArgumentException(
          "Cannot sort by field "
              + sourceId
              + (source == null ? "" : " (" + source + ")")
              + " of "
              + what
              + ": the schema has no such field outside of lists and maps. Sort by another order.");
    }
    Type type = path.type();
    KeyColumn column = null;
    if (type.isPrimitiveType() && transform.canTransform(type)) {
      column = KeyColumn.of(name, type, descending);
    }
    if (column == null) {
      throw new IllegalArgumentException(
          "Cannot sort by "
              + name
              + " of "
              + path.description()
              + " of type "
              + type
              + ", in "
              + what
              + ": the transform is unknown or does not take that type. Sort by another order.");
    }
    return new FieldPart(path, column, nullOrder == NullOrder.NULLS_FIRST);
  }

  /** The keys that order rows by these and, where these are equal, by the others. */
  public SortKeys then(SortKeys others) {
    List<KeyPart> both = new ArrayList<>(parts);
    both.addAll(others.parts);
    return new SortKeys(both);
  }

  /** Whether nothing orders the rows: all keys are empty. */
  boolean isUnsorted() {
    return parts.isEmpty();
  }

  /** Whether keys differ in length. */
  boolean variable() {
    return variable;
  }

  /** The length of all keys, where they do not differ. */
  int fixedBytes() {
    return fixedBytes;
  }

  /** The key of one row. Meant for a few rows: whole batches cost less a row in the sorter. */
  public byte[] encode(VectorSchemaRoot batch, int row) {
    if (row < 0 || row >= batch.getRowCount()) {
      throw new IllegalArgumentException(
          "Row " + row + " does not exist: the batch has " + batch.getRowCount() + " rows");
    }
    Encoding encoding = prepare(batch, new int[] {row}, 1);
    ByteBuffer bytes = ByteBuffer.allocateDirect(Math.toIntExact(encoding.bytes()));
    encoding.write(MemoryUtil.getByteBufferAddress(bytes), 0);
    byte[] key = new byte[bytes.remaining()];
    bytes.get(key);
    return key;
  }

  /**
   * The keys of some rows.
   *
   * @param rows numbers of rows of the batch
   * @param count how many of them count
   * @param allocator for memory that is released before this returns
   */
  public RowKeys encode(VectorSchemaRoot batch, int[] rows, int count, BufferAllocator allocator) {
    Encoding encoding = prepare(batch, rows, count);
    byte[] bytes = new byte[Math.toIntExact(encoding.bytes())];
    int[] offsets = new int[count + 1];
    try (KeyBlock block = encode(encoding, allocator)) {
      if (bytes.length > 0) {
        block.keys().getBytes(0, bytes);
      }
      for (int i = 0; i <= count; i++) {
        offsets[i] =
            block.offsets() == null ? i * fixedBytes : block.offsets().getInt((long) i << 2);
      }
    }
    return new RowKeys(bytes, offsets);
  }

  /**
   * Compares two rows by the order.
   *
   * @return negative, 0 or positive as the left row comes before, with or after the right one
   */
  public int compare(VectorSchemaRoot left, int leftRow, VectorSchemaRoot right, int rightRow) {
    return Arrays.compareUnsigned(encode(left, leftRow), encode(right, rightRow));
  }

  /** The keys of rows of a batch in memory of the allocator; the caller closes them. */
  KeyBlock encode(Encoding encoding, BufferAllocator allocator) {
    KeyBlock block = KeyBlock.allocate(encoding.count(), encoding.bytes(), variable, allocator);
    try {
      encoding.write(block.keysAddress(), block.offsetsAddress());
      return block;
    } catch (Throwable failure) {
      block.close();
      throw failure;
    }
  }

  /**
   * Looks at rows of a batch and measures their keys.
   *
   * @param rows numbers of rows of the batch
   * @param count how many of them count
   */
  Encoding prepare(VectorSchemaRoot batch, int[] rows, int count) {
    KeyPart.Rows[] stretches = new KeyPart.Rows[parts.size()];
    for (int i = 0; i < stretches.length; i++) {
      stretches[i] = parts.get(i).of(batch, rows, count);
    }
    return new Encoding(stretches, rows, count);
  }

  /** Keys of some rows of a batch, measured and ready to write. Valid as long as the batch is. */
  final class Encoding {
    private final KeyPart.Rows[] stretches;
    private final int[] rows;
    private final int count;
    private final int @Nullable [] lengths;
    private final long bytes;

    private Encoding(KeyPart.Rows[] stretches, int[] rows, int count) {
      this.stretches = stretches;
      this.rows = rows;
      this.count = count;
      if (!variable) {
        this.lengths = null;
        this.bytes = (long) count * fixedBytes;
        return;
      }
      int[] measured = new int[count];
      Arrays.fill(measured, fixedBytes);
      for (KeyPart.Rows stretch : stretches) {
        stretch.addLengths(measured);
      }
      long total = 0;
      for (int i = 0; i < count; i++) {
        if (measured[i] < 0) {
          throw new IllegalArgumentException(
              "Cannot sort row " + rows[i] + ": its sort key has more than 2^31 bytes");
        }
        total += measured[i];
      }
      this.lengths = measured;
      this.bytes = total;
    }

    int count() {
      return count;
    }

    /** The length of all keys together. */
    long bytes() {
      return bytes;
    }

    /**
     * Writes the keys one after another.
     *
     * @param keys room for {@link #bytes()}
     * @param offsets room for one int more than there are rows, for where each key starts and the
     *     last ends; 0 for none
     */
    void write(long keys, long offsets) {
      long[] cursors = new long[count];
      long at = 0;
      for (int i = 0; i < count; i++) {
        cursors[i] = keys + at;
        if (offsets != 0) {
          MemoryUtil.putInt(offsets + ((long) i << 2), (int) at);
        }
        at += lengths == null ? fixedBytes : lengths[i];
      }
      if (offsets != 0) {
        MemoryUtil.putInt(offsets + ((long) count << 2), (int) at);
      }
      long[] scratch = new long[count];
      for (KeyPart.Rows stretch : stretches) {
        stretch.write(cursors, scratch);
      }
      assert endAsMeasured(keys, cursors);
    }

    private boolean endAsMeasured(long keys, long[] cursors) {
      long end = keys;
      for (int i = 0; i < count; i++) {
        end += lengths == null ? fixedBytes : lengths[i];
        if (cursors[i] != end) {
          throw new AssertionError(
              "key of row " + rows[i] + " ends " + (cursors[i] - end) + " off");
        }
      }
      return true;
    }
  }
}
