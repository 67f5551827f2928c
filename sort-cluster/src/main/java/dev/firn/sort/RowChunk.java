package dev.firn.sort;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.jspecify.annotations.Nullable;

/**
 * Up to {@link #ROWS_MAX} rows and their keys, in input order, in memory of their own. Closing
 * twice is harmless. Not thread-safe.
 */
final class RowChunk implements AutoCloseable {

  /** What the lower half of a row id can number. */
  static final int ROWS_MAX = 1 << 16;

  private final List<FieldVector> vectors;
  private final int rows;
  private @Nullable KeyBlock keys;

  private RowChunk(List<FieldVector> vectors, int rows, KeyBlock keys) {
    this.vectors = vectors;
    this.rows = rows;
    this.keys = keys;
  }

  /** Copies rows of a batch. */
  static RowChunk copyOf(
      VectorSchemaRoot batch,
      ColumnGather[] columns,
      int[] rows,
      int count,
      SortKeys sortKeys,
      SortKeys.Encoding encoding,
      BufferAllocator memory) {
    KeyBlock keys = sortKeys.encode(encoding, memory);
    try {
      List<FieldVector> vectors =
          VectorGather.gather(columns, Selection.ofRows(rows, count), memory);
      return new RowChunk(vectors, count, keys);
    } catch (Throwable failure) {
      keys.close();
      throw failure;
    }
  }

  /** Copies chunks into one. Together they have at most {@link #ROWS_MAX} rows. */
  static RowChunk merge(List<RowChunk> chunks, BufferAllocator memory) {
    int total = 0;
    List<List<FieldVector>> sources = new ArrayList<>();
    for (RowChunk chunk : chunks) {
      total += chunk.rows;
      sources.add(chunk.vectors);
    }
    int[] source = new int[total];
    int[] row = new int[total];
    int at = 0;
    for (int i = 0; i < chunks.size(); i++) {
      for (int r = 0; r < chunks.get(i).rows; r++) {
        source[at] = i;
        row[at++] = r;
      }
    }
    KeyBlock keys = mergeKeys(chunks, total, memory);
    try {
      List<FieldVector> vectors =
          VectorGather.gather(
              VectorGather.columnsOf(sources), Selection.ofRows(source, row, total), memory);
      return new RowChunk(vectors, total, keys);
    } catch (Throwable failure) {
      keys.close();
      throw failure;
    }
  }

  private static KeyBlock mergeKeys(List<RowChunk> chunks, int total, BufferAllocator memory) {
    long bytes = 0;
    boolean variable = false;
    for (RowChunk chunk : chunks) {
      bytes += chunk.keys().bytes();
      variable |= chunk.keys().offsets() != null;
    }
    KeyBlock merged = KeyBlock.allocate(total, bytes, variable, memory);
    long end = 0;
    int row = 0;
    for (RowChunk chunk : chunks) {
      KeyBlock keys = chunk.keys();
      if (keys.bytes() > 0) {
        MemoryUtil.copyMemory(keys.keysAddress(), merged.keysAddress() + end, keys.bytes());
      }
      if (variable) {
        long from = keys.offsetsAddress();
        long to = merged.offsetsAddress() + ((long) row << 2);
        for (long at = 0; at <= (long) chunk.rows << 2; at += 4) {
          MemoryUtil.putInt(to + at, (int) end + MemoryUtil.getInt(from + at));
        }
      }
      end += keys.bytes();
      row += chunk.rows;
    }
    return merged;
  }

  int rows() {
    return rows;
  }

  List<FieldVector> vectors() {
    return vectors;
  }

  KeyBlock keys() {
    KeyBlock open = keys;
    if (open == null) {
      throw new IllegalStateException("The keys are released");
    }
    return open;
  }

  void releaseKeys() {
    KeyBlock open = keys;
    keys = null;
    if (open != null) {
      open.close();
    }
  }

  @Override
  public void close() {
    releaseKeys();
    vectors.forEach(FieldVector::close);
  }
}
