package dev.firn.sort;

import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;

/**
 * The order of rows in chunks: their ids, at first as the rows came, then sorted. An id is the
 * number of the row's chunk in its upper 16 bits and the row in the chunk in its lower 16. Owns the
 * ids. Not thread-safe.
 */
final class SortedRows implements AutoCloseable {
  private final RowSources sources;
  private final int count;
  private final BufferAllocator memory;
  private ArrowBuf ids;
  private int @Nullable [] bounds; // null if the rows came in no order

  private SortedRows(RowSources sources, ArrowBuf ids, int count, BufferAllocator memory) {
    this.sources = sources;
    this.ids = ids;
    this.count = count;
    this.memory = memory;
  }

  /**
   * The rows as they came.
   *
   * @param sources the chunks' rows
   */
  static SortedRows of(
      List<RowChunk> chunks, int count, RowSources sources, BufferAllocator memory) {
    ArrowBuf ids = memory.buffer(4L * count);
    long at = ids.memoryAddress();
    for (int c = 0; c < chunks.size(); c++) {
      int rows = chunks.get(c).rows();
      for (int row = 0; row < rows; row++) {
        MemoryUtil.putInt(at, c << 16 | row);
        at += 4;
      }
    }
    SortedRows rows = new SortedRows(sources, ids, count, memory);
    rows.bounds = NaturalRuns.bounds(sources, ids.memoryAddress(), count);
    return rows;
  }

  int count() {
    return count;
  }

  RowSources sources() {
    return sources;
  }

  /** Whether the rows came as few sequences that are in order. */
  boolean natural() {
    return bounds != null;
  }

  /** Where the first sequence of rows that came in order ends; to be asked before sorting. */
  int firstRunEnd() {
    int[] found = bounds;
    return found == null ? 1 : found[1];
  }

  /**
   * Sorts the rows from {@code from} on.
   *
   * @param from 0, or {@link #firstRunEnd} where they came as sequences that are in order
   */
  void sort(int from) {
    if (from == count) {
      return;
    }
    int[] found = bounds;
    sources.scattered(found == null);
    if (found == null) {
      KeySort.sort(
          ids,
          count,
          sources.keyAddresses(),
          sources.keyOffsetAddresses(),
          sources.fixedKeyBytes(),
          memory);
      return;
    }
    int first = from == 0 ? 0 : 1;
    if (found.length - 1 - first < 2) {
      return; // in order
    }
    ArrowBuf merged = memory.buffer(4L * count);
    MemoryUtil.copyMemory(ids.memoryAddress(), merged.memoryAddress(), 4L * from);
    NaturalRuns.merge(
        sources, ids.memoryAddress(), found, first, merged.memoryAddress() + 4L * from);
    ids.close();
    ids = merged;
  }

  /** The address of the ids. */
  long ids() {
    return ids.memoryAddress();
  }

  int id(int i) {
    return MemoryUtil.getInt(ids.memoryAddress() + ((long) i << 2));
  }

  /** Reads the rows numbered {@code [from, from + rows)} by the order. */
  void read(int from, int rows, int[] source, int[] row) {
    long at = ids.memoryAddress() + ((long) from << 2);
    for (int i = 0; i < rows; i++) {
      int id = MemoryUtil.getInt(at + ((long) i << 2));
      source[i] = id >>> 16;
      row[i] = id & 0xFFFF;
    }
  }

  /** What the largest row takes, without its key. */
  long rowBytesMax() {
    int[] source = new int[Math.min(1 << 14, count)];
    int[] row = new int[source.length];
    long[] bytes = new long[source.length];
    long largest = 0;
    for (int at = 0; at < count; at += source.length) {
      int rows = Math.min(source.length, count - at);
      read(at, rows, source, row);
      sources.measure(source, row, rows, bytes);
      for (int i = 0; i < rows; i++) {
        largest = Math.max(largest, bytes[i]);
      }
    }
    return largest;
  }

  /** Closing twice is not allowed. The chunks stay. */
  @Override
  public void close() {
    ids.close();
  }
}
