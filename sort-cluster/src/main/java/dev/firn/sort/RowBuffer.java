package dev.firn.sort;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.jspecify.annotations.Nullable;

/**
 * Rows in memory in the order that they came in, as chunks. Closing twice is harmless, and the
 * buffer is empty then. Not thread-safe.
 */
final class RowBuffer implements AutoCloseable {

  /** Smaller additions are kept apart and merged: a chunk costs objects, however few its rows. */
  private static final int CHUNK_ROWS_MIN = RowChunk.ROWS_MAX / 4;

  /** Where memory is short, so many small ones may stay. */
  private static final int UNMERGED_MAX = 1024;

  /** What the upper half of a row id can number. */
  static final int CHUNKS_MAX = 1 << 16;

  private final SortKeys keys;
  private final BufferAllocator parent;
  private final long mergedBytesMax;
  private BufferAllocator memory; // of the rows alone, so that they can be counted
  private List<RowChunk> chunks = new ArrayList<>();

  /* Additions too small for a chunk of their own, which come after all chunks. */
  private List<RowChunk> small = new ArrayList<>();
  private int smallRows;
  private long smallBytes;
  private int rows;

  /**
   * @param mergedBytesMax small additions are merged to chunks of about this size at most
   */
  RowBuffer(SortKeys keys, long mergedBytesMax, BufferAllocator memory) {
    this.keys = keys;
    this.mergedBytesMax = mergedBytesMax;
    this.parent = memory;
    this.memory = newMemory();
  }

  private BufferAllocator newMemory() {
    return parent.newChildAllocator("rows", 0, parent.getLimit());
  }

  /** A buffer with all rows, which has none any more. The caller closes it. */
  RowBuffer take() {
    RowBuffer taken = new RowBuffer(keys, mergedBytesMax, parent);
    BufferAllocator unused = taken.memory;
    taken.memory = memory;
    taken.chunks = chunks;
    taken.small = small;
    taken.smallRows = smallRows;
    taken.smallBytes = smallBytes;
    taken.rows = rows;
    memory = unused;
    chunks = new ArrayList<>();
    small = new ArrayList<>();
    smallRows = 0;
    smallBytes = 0;
    rows = 0;
    return taken;
  }

  /** What all rows and their keys take. */
  long bytes() {
    return memory.getAllocatedMemory();
  }

  int rows() {
    return rows;
  }

  /** How many chunks there are, all small ones being one. */
  int chunkCount() {
    return chunks.size() + (small.isEmpty() ? 0 : 1);
  }

  /** Whether an addition, and what becomes of small ones, might be a chunk too many. */
  boolean isFull(int chunksMax) {
    return chunks.size() + small.size() + 2 > chunksMax;
  }

  /**
   * Copies rows of a batch, at most {@link RowChunk#ROWS_MAX}. When memory is short, nothing is
   * added.
   */
  void add(
      VectorSchemaRoot batch, ColumnGather[] columns, int[] selected, SortKeys.Encoding encoding) {
    int count = selected.length;
    long before = memory.getAllocatedMemory();
    RowChunk chunk = RowChunk.copyOf(batch, columns, selected, count, keys, encoding, memory);
    long bytes = memory.getAllocatedMemory() - before;
    if (smallRows + count > RowChunk.ROWS_MAX || smallBytes + bytes > mergedBytesMax) {
      mergeSmall(chunk);
    }
    if (count >= CHUNK_ROWS_MIN || bytes > mergedBytesMax) {
      mergeSmall(chunk);
      chunks.add(chunk);
    } else {
      small.add(chunk);
      smallRows += count;
      smallBytes += bytes;
    }
    rows += count;
  }

  /**
   * Makes one chunk of all small ones, if there is memory.
   *
   * @param following a chunk that has no owner yet; closed when merging fails
   */
  private void mergeSmall(@Nullable RowChunk following) {
    if (small.isEmpty()) {
      return;
    }
    try {
      if (small.size() == 1) {
        chunks.add(small.get(0));
      } else {
        chunks.add(RowChunk.merge(small, memory));
        small.forEach(RowChunk::close);
      }
    } catch (OutOfMemoryException e) {
      if (small.size() > UNMERGED_MAX) {
        closeUnowned(following);
        throw e;
      }
      chunks.addAll(small); // as good, for what little memory is left
    } catch (Throwable failure) {
      closeUnowned(following);
      throw failure;
    }
    small.clear();
    smallRows = 0;
    smallBytes = 0;
  }

  private static void closeUnowned(@Nullable RowChunk chunk) {
    if (chunk != null) {
      chunk.close();
    }
  }

  /** All rows, as chunks; no row can be added any more before they are closed. */
  List<RowChunk> chunks() {
    mergeSmall(null);
    return chunks;
  }

  /** Releases all rows; others can be added then. */
  void clear() {
    small.forEach(RowChunk::close);
    small.clear();
    smallRows = 0;
    smallBytes = 0;
    chunks.forEach(RowChunk::close);
    chunks.clear();
    rows = 0;
  }

  @Override
  public void close() {
    clear();
    memory.close();
  }
}
