package dev.firn.engine;

import dev.firn.sort.RowKeys;
import dev.firn.sort.SortKeys;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Accessor;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.transforms.Transform;
import org.apache.iceberg.util.SerializableFunction;
import org.jspecify.annotations.Nullable;

/**
 * Numbers the partitions of a spec in the order in which rows of them are met. Which rows are of
 * one partition is told by binary keys, a batch at a time and without an object for each row; the
 * tuple of a partition is computed by Iceberg's transforms from its first row (M10, P4). Not
 * thread-safe.
 */
final class PartitionOrdinals {
  /** What a partition costs on the heap beside its key: its tuple, and its place in the table. */
  private static final int PARTITION_BYTES = 256;

  private final PartitionSpec spec;
  private final long bytesMax;
  private final List<StructLike> partitions = new ArrayList<>();
  private final List<byte[]> keys = new ArrayList<>();
  private int[] hashes = new int[64];
  private int[] slots = new int[128]; // ordinals, plus one; 0 is free
  private long bytes;

  /**
   * @param bytesMax memory for partitions that are known
   */
  PartitionOrdinals(PartitionSpec spec, long bytesMax) {
    this.spec = spec;
    this.bytesMax = bytesMax;
  }

  /** Partitions met so far. */
  int count() {
    return partitions.size();
  }

  StructLike partition(int ordinal) {
    return partitions.get(ordinal);
  }

  /** The partition as a path, to be named in messages. */
  String name(int ordinal) {
    return spec.partitionToPath(partition(ordinal));
  }

  /** Numbers rows of batches that follow a schema. */
  Reader reader(Schema columns) {
    return new Reader(columns);
  }

  /** Takes batches of one schema. */
  final class Reader {
    private final Schema columns;
    private final SortKeys sortKeys;
    private final List<Function<StructLike, @Nullable Object>> values = new ArrayList<>();

    private Reader(Schema columns) {
      this.columns = columns;
      this.sortKeys = SortKeys.ofPartitions(columns, spec);
      for (PartitionField field : spec.fields()) {
        values.add(value(field));
      }
    }

    /* Not Iceberg's PartitionKey, which wants the source columns of void fields too (P8). */
    private Function<StructLike, @Nullable Object> value(PartitionField field) {
      if (field.transform().isVoid()) {
        return row -> null;
      }
      @SuppressWarnings("unchecked")
      Transform<Object, Object> transform = (Transform<Object, Object>) field.transform();
      SerializableFunction<Object, Object> bound =
          transform.bind(columns.findType(field.sourceId()));
      Accessor<StructLike> source = columns.accessorForField(field.sourceId());
      return row -> bound.apply(source.get(row));
    }

    /**
     * The partitions of rows of a batch.
     *
     * @param rows numbers of rows
     * @param count how many of them count
     * @param memory for keys, released before this returns
     * @param ordinals takes an ordinal for each of the rows
     * @throws GroupMemoryException if there are more partitions than memory for them
     */
    void ordinals(
        VectorSchemaRoot batch, int[] rows, int count, BufferAllocator memory, int[] ordinals) {
      RowKeys rowKeys = sortKeys.encode(batch, rows, count, memory);
      byte[] all = rowKeys.bytes();
      int[] offsets = rowKeys.offsets();
      int last = -1;
      byte[] lastKey = {};
      for (int i = 0; i < count; i++) {
        int from = offsets[i];
        int to = offsets[i + 1];
        if (last < 0 || !Arrays.equals(all, from, to, lastKey, 0, lastKey.length)) {
          last = find(all, from, to);
          if (last < 0) {
            StructLike row = new PartitionRow(columns, batch).at(rows[i]);
            Object[] tuple = values.stream().map(value -> value.apply(row)).toArray();
            last = add(Arrays.copyOfRange(all, from, to), new Tuple(tuple));
          }
          lastKey = keys.get(last);
        }
        ordinals[i] = last;
      }
    }
  }

  /** A partition. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Tuple(@Nullable Object[] values) implements StructLike {
    @Override
    public int size() {
      return values.length;
    }

    @Override
    public <T> @Nullable T get(int pos, Class<T> javaClass) {
      return javaClass.cast(values[pos]);
    }

    @Override
    public <T> void set(int pos, T value) {
      throw new UnsupportedOperationException("A partition cannot be changed");
    }
  }

  private int find(byte[] all, int from, int to) {
    int hash = hash(all, from, to);
    for (int slot = hash & slots.length - 1; slots[slot] != 0; slot = slot + 1 & slots.length - 1) {
      int ordinal = slots[slot] - 1;
      byte[] key = keys.get(ordinal);
      if (hashes[ordinal] == hash && Arrays.equals(all, from, to, key, 0, key.length)) {
        return ordinal;
      }
    }
    return -1;
  }

  private int add(byte[] key, StructLike tuple) {
    bytes += PARTITION_BYTES + 2L * key.length;
    if (bytes > bytesMax) {
      throw new GroupMemoryException(
          "The rows of the group belong to more than "
              + count()
              + " partitions of spec "
              + spec.specId()
              + ", and "
              + bytesMax
              + " bytes do not hold more of them. Give more memory or make smaller groups.");
    }
    int ordinal = partitions.size();
    partitions.add(tuple);
    keys.add(key);
    if (ordinal == hashes.length) {
      hashes = Arrays.copyOf(hashes, 2 * ordinal);
      slots = new int[2 * slots.length];
      for (int other = 0; other < ordinal; other++) {
        enter(other);
      }
    }
    hashes[ordinal] = hash(key, 0, key.length);
    enter(ordinal);
    return ordinal;
  }

  private void enter(int ordinal) {
    int slot = hashes[ordinal] & slots.length - 1;
    while (slots[slot] != 0) {
      slot = slot + 1 & slots.length - 1;
    }
    slots[slot] = ordinal + 1;
  }

  private static int hash(byte[] bytes, int from, int to) {
    int hash = 1;
    for (int i = from; i < to; i++) {
      hash = 31 * hash + bytes[i];
    }
    hash *= 0x9E3779B9;
    return hash ^ hash >>> 15;
  }
}
