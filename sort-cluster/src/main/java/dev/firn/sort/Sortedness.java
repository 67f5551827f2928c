package dev.firn.sort;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;

/**
 * Counts where rows, shown batch after batch, break a sort order: each row that comes before its
 * predecessor by the order is a descent. Sorted rows have none, shuffled ones one for about every
 * other row. Holds one batch of keys; not thread-safe.
 */
public final class Sortedness {
  private final SortKeys keys;
  private byte[] last = {};
  private long rows;
  private long descents;

  private Sortedness(SortKeys keys) {
    this.keys = keys;
  }

  /**
   * @param schema what batches follow
   * @throws IllegalArgumentException as {@link SortKeys#of}
   */
  public static Sortedness of(Schema schema, SortOrder order) {
    return new Sortedness(SortKeys.of(schema, order));
  }

  /** Counts the rows of a batch, all of them, as following those of the last one. */
  public void add(VectorSchemaRoot batch) {
    int[] all = new int[batch.getRowCount()];
    Arrays.setAll(all, i -> i);
    // In pieces, so that long keys need little memory.
    for (int from = 0; from < all.length; from += 4096) {
      add(batch, Arrays.copyOfRange(all, from, Math.min(all.length, from + 4096)));
    }
  }

  private void add(VectorSchemaRoot batch, int[] selected) {
    int count = selected.length;
    SortKeys.Encoding encoding = keys.prepare(batch, selected, count);
    // The last key comes first, then the batch's, then, if lengths differ, where those start.
    int bytes = Math.toIntExact(encoding.bytes());
    ByteBuffer buffer = ByteBuffer.allocateDirect(last.length + bytes + 4 * (count + 1));
    long before = MemoryUtil.getByteBufferAddress(buffer);
    long first = before + last.length;
    long offsets = keys.variable() ? first + bytes : 0;
    buffer.put(last);
    encoding.write(first, offsets);
    long beforeBytes = last.length;
    for (int i = 0; i < count; i++) {
      long key = first + keyStart(offsets, i);
      long keyBytes = first + keyStart(offsets, i + 1) - key;
      if (rows > 0 && Memory.compare(before, beforeBytes, key, keyBytes) > 0) {
        descents++;
      }
      rows++;
      before = key;
      beforeBytes = keyBytes;
    }
    last = new byte[(int) beforeBytes];
    MemoryUtil.copyFromMemory(before, last, 0, beforeBytes);
    Reference.reachabilityFence(buffer);
  }

  private long keyStart(long offsets, int row) {
    return offsets == 0
        ? (long) row * keys.fixedBytes()
        : MemoryUtil.getInt(offsets + ((long) row << 2));
  }

  /** The rows counted. */
  public long rows() {
    return rows;
  }

  /** How many rows come before their predecessor by the order. */
  public long descents() {
    return descents;
  }

  /** Whether all rows counted are in order. */
  public boolean sorted() {
    return descents == 0;
  }
}
