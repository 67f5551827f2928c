package dev.firn.sort;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.stream.IntStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.FieldVector;
import org.jspecify.annotations.Nullable;

/**
 * Where rows and their keys lie: chunks first, whose numbers are fixed, then blocks of runs, which
 * come and go. A row is the number of its source and its number in it. Owns none of the memory. Not
 * thread-safe.
 */
final class RowSources {
  private final ColumnGather[] columns;
  private final int[] costlyFirst; // the places of all columns
  private final @Nullable Executor gatherers;
  private final List<ColumnGather> variable = new ArrayList<>();
  private final long fixedRowBytes;
  private final boolean variableKeys;
  private final int fixedKeyBytes;
  private long[] keys;
  private long[] offsets;
  private boolean scattered;
  private int[] free = new int[16];
  private int frees;

  /**
   * @param shape empty vectors of the columns' types; not looked at if there are chunks
   * @param gatherers runs a task now, later or not at all, which gathers columns; null if there is
   *     no other thread
   */
  RowSources(
      List<RowChunk> chunks,
      List<FieldVector> shape,
      SortKeys sortKeys,
      @Nullable Executor gatherers) {
    this.gatherers = gatherers;
    columns =
        VectorGather.columnsOf(
            chunks.isEmpty() ? List.of(shape) : chunks.stream().map(RowChunk::vectors).toList());
    variableKeys = sortKeys.variable();
    fixedKeyBytes = sortKeys.fixedBytes();
    int count = Math.max(1, chunks.size());
    keys = new long[count];
    offsets = new long[variableKeys ? count : 0];
    for (int c = 0; c < chunks.size(); c++) {
      keys[c] = chunks.get(c).keys().keysAddress();
      if (variableKeys) {
        offsets[c] = chunks.get(c).keys().offsetsAddress();
      }
    }
    long fixed = 0;
    for (ColumnGather column : columns) {
      if (column.variable()) {
        variable.add(column);
      } else {
        fixed += column.bytes(0, 0, 1);
      }
    }
    fixedRowBytes = fixed;
    costlyFirst =
        IntStream.range(0, columns.length)
            .boxed()
            .sorted(Comparator.comparing(column -> !columns[column].variable()))
            .mapToInt(Integer::intValue)
            .toArray();
  }

  /** Takes a block among the sources and returns its number there. */
  int add(RunBlock block) {
    if (frees == 0) {
      int count = keys.length;
      int more = Math.max(16, count);
      keys = Arrays.copyOf(keys, count + more);
      if (variableKeys) {
        offsets = Arrays.copyOf(offsets, count + more);
      }
      for (ColumnGather column : columns) {
        column.reserve(count + more);
      }
      free = new int[count + more];
      for (int source = count + more; source > count; source--) {
        free[frees++] = source - 1;
      }
    }
    int source = free[--frees];
    BlockBuffers buffers = block.buffers();
    buffers.rewind();
    keys[source] = buffers.next();
    if (variableKeys) {
      offsets[source] = buffers.next();
    }
    for (ColumnGather column : columns) {
      column.load(source, block.rows(), buffers);
    }
    return source;
  }

  /** Gives a block's number to blocks to come. */
  void remove(int source) {
    free[frees++] = source;
  }

  /** The address of each source's keys. Changes when blocks come. */
  long[] keyAddresses() {
    return keys;
  }

  /** The address of each source's key offsets; empty where keys have one length. */
  long[] keyOffsetAddresses() {
    return offsets;
  }

  int fixedKeyBytes() {
    return fixedKeyBytes;
  }

  /** The length of each key in a block; -1 where keys differ in length. */
  int fixedKeyStep() {
    return variableKeys ? -1 : fixedKeyBytes;
  }

  long key(int source, int row) {
    return keys[source]
        + (variableKeys
            ? MemoryUtil.getInt(offsets[source] + ((long) row << 2))
            : (long) row * fixedKeyBytes);
  }

  long keyBytes(int source, int row) {
    if (!variableKeys) {
      return fixedKeyBytes;
    }
    long at = offsets[source] + ((long) row << 2);
    return MemoryUtil.getInt(at + 4) - MemoryUtil.getInt(at);
  }

  /** Writes the bytes of each row, without its key. */
  void measure(int[] source, int[] row, int count, long[] bytes) {
    Arrays.fill(bytes, 0, count, fixedRowBytes);
    for (ColumnGather column : variable) {
      column.addBytes(source, row, count, bytes);
    }
  }

  /** Adds the bytes of each row's key. */
  void addKeyBytes(int[] source, int[] row, int count, long[] bytes) {
    if (variableKeys) {
      for (int i = 0; i < count; i++) {
        bytes[i] += 4 + keyBytes(source[i], row[i]);
      }
    } else {
      for (int i = 0; i < count; i++) {
        bytes[i] += fixedKeyBytes;
      }
    }
  }

  /**
   * How many rows from {@code from} on have at most {@code bytesMax} together, one at least.
   *
   * @param bytes of each row
   */
  static int cut(long[] bytes, int from, int to, long bytesMax) {
    long sum = 0;
    for (int i = from; i < to; i++) {
      sum += bytes[i];
      if (sum > bytesMax && i > from) {
        return i - from;
      }
    }
    return to - from;
  }

  /** Rows {@code [from, to)} of a list of rows. */
  Selection selection(int[] source, int[] row, int from, int to) {
    Selection rows =
        from == 0
            ? Selection.ofRows(source, row, to)
            : Selection.ofRows(
                Arrays.copyOfRange(source, from, to), Arrays.copyOfRange(row, from, to), to - from);
    return rows.scattered(scattered);
  }

  /** Says whether rows that are selected lie anywhere, as they do after a sort. */
  void scattered(boolean anywhere) {
    scattered = anywhere;
  }

  /** The rows in new vectors, which the caller closes. */
  List<FieldVector> gather(Selection rows, BufferAllocator memory) {
    return gatherers == null
        ? VectorGather.gather(columns, rows, memory)
        : SharedGather.gather(columns, costlyFirst, rows, memory, gatherers);
  }

  /** The rows' keys in memory of their own; the caller closes them. */
  KeyBlock gatherKeys(Selection rows, BufferAllocator memory) {
    int count = rows.count();
    int[] row = rows.row();
    long bytes = 0;
    for (int i = 0; i < count; i++) {
      bytes += keyBytes(rows.sourceOf(i), row[i]);
    }
    KeyBlock block = KeyBlock.allocate(count, bytes, variableKeys, memory);
    long to = block.keysAddress();
    long at = 0;
    long ends = block.offsetsAddress();
    for (int i = 0; i < count; i++) {
      int source = rows.sourceOf(i);
      long length = keyBytes(source, row[i]);
      if (length > 0) {
        Memory.copy(key(source, row[i]), to + at, length);
      }
      if (variableKeys) {
        MemoryUtil.putInt(ends + ((long) i << 2), (int) at);
      }
      at += length;
    }
    if (variableKeys) {
      MemoryUtil.putInt(ends + ((long) count << 2), (int) at);
    }
    return block;
  }

  /** How many buffers a block has: the keys' and the columns'. */
  static int blockBuffers(ColumnGather[] columns, SortKeys keys) {
    int buffers = keys.variable() ? 2 : 1;
    for (ColumnGather column : columns) {
      buffers += column.blockBuffers();
    }
    return buffers;
  }

  /**
   * Writes rows as blocks behind what a run has. They are flushed by the caller.
   *
   * @param bytes of each row with its key
   * @param blockBytes what a block has at most, about, if it has more than one row
   * @param last false if more rows come, with which the last block should be filled
   * @return how many rows are written: all, or but those of that block
   */
  int write(
      int[] source,
      int[] row,
      int count,
      long[] bytes,
      long blockBytes,
      boolean last,
      SortedRun run,
      BlockWriter writer,
      BufferAllocator memory)
      throws SpillException {
    BlockBuffers buffers = new BlockBuffers();
    int at = 0;
    while (at < count) {
      int rows = cut(bytes, at, count, blockBytes);
      if (at + rows == count && at > 0 && !last) {
        return at;
      }
      long rowBytesMax = 0;
      for (int i = at; i < at + rows; i++) {
        rowBytesMax = Math.max(rowBytesMax, bytes[i]);
      }
      writeBlock(selection(source, row, at, at + rows), rowBytesMax, buffers, run, writer, memory);
      at += rows;
    }
    return count;
  }

  private void writeBlock(
      Selection rows,
      long rowBytesMax,
      BlockBuffers buffers,
      SortedRun run,
      BlockWriter writer,
      BufferAllocator memory)
      throws SpillException {
    int count = rows.count();
    buffers.clear();
    try (KeyBlock block = gatherKeys(rows, memory)) {
      buffers.add(block.keysAddress(), block.bytes());
      if (variableKeys) {
        buffers.add(block.offsetsAddress(), (count + 1L) << 2);
      }
      List<FieldVector> vectors = gather(rows, memory);
      try {
        vectors.forEach(vector -> ColumnGather.addBuffers(vector, buffers));
        int source = rows.sourceOf(count - 1);
        int row = rows.row()[count - 1];
        writer.write(run, buffers, count, rowBytesMax, key(source, row), keyBytes(source, row));
      } finally {
        vectors.forEach(FieldVector::close);
      }
    }
  }
}
