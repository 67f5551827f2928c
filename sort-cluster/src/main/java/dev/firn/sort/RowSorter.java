package dev.firn.sort;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.jspecify.annotations.Nullable;

/**
 * Takes rows, keeps them in memory, and gives them back in the order of a sort order. Rows that the
 * order does not tell apart keep the order they came in, and none is dropped (O9). All columns,
 * nested ones and row lineage too, come back bit for bit (O10).
 *
 * <p>Use: {@link #add} as often as wanted, {@link #drain} once, {@link #close}. Not thread-safe.
 */
public final class RowSorter implements AutoCloseable {

  /** Var-width data, and all data, of a drained batch stay about below this. */
  private static final long BATCH_BYTES_MAX = 64L << 20;

  /** Smaller additions are kept apart and merged: a chunk costs objects, however few its rows. */
  private static final int CHUNK_ROWS_MIN = RowChunk.ROWS_MAX / 4;

  private static final long MERGED_BYTES_MAX = 16L << 20;
  private static final int CHUNKS_MAX = 1 << 16;

  private enum State {
    ADDING,
    DRAINED,
    CLOSED
  }

  private final SortKeys keys;
  private final int width;
  private final long memoryBytesMax;
  private final long batchBytesMax;
  private final BufferAllocator memory;
  private final List<RowChunk> chunks = new ArrayList<>();

  /* Additions too small for a chunk of their own, which come after all chunks. */
  private final List<RowChunk> small = new ArrayList<>();
  private int smallRows;
  private long smallBytes;

  private long rows;
  private long expectedRows;
  private State state = State.ADDING;

  private RowSorter(SortKeys keys, int width, BufferAllocator allocator, long memoryBytesMax) {
    this.keys = keys;
    this.width = width;
    this.memoryBytesMax = memoryBytesMax;
    this.batchBytesMax = Math.min(BATCH_BYTES_MAX, memoryBytesMax / 32);
    this.memory = allocator.newChildAllocator("row-sorter", 0, memoryBytesMax);
  }

  /**
   * A sorter that holds all rows in memory.
   *
   * @param schema what batches follow, in the physical layout of docs/ARCHITECTURE.md; may have
   *     trailing row lineage columns
   * @param order bound to {@code schema} or to one with the same field ids
   * @param allocator all memory that counts comes from it, through a child of the sorter's own
   * @param memoryBytesMax the limit for everything that the sorter holds: rows, keys, index and,
   *     while draining, one batch. Beside it stand a few bytes of heap for each row of the batch at
   *     hand.
   * @throws IllegalArgumentException if the schema lacks a source of the order or a transform is
   *     unknown (O6, O8)
   */
  public static RowSorter inMemory(
      Schema schema, SortOrder order, BufferAllocator allocator, long memoryBytesMax) {
    if (memoryBytesMax <= 0) {
      throw new IllegalArgumentException(
          "memoryBytesMax must be positive but was " + memoryBytesMax);
    }
    return new RowSorter(
        SortKeys.of(schema, order), schema.columns().size(), allocator, memoryBytesMax);
  }

  /** Says how many rows will come in all, so that running out of memory can say what they need. */
  public void expectRows(long allRows) {
    expectedRows = allRows;
  }

  /**
   * Copies the live rows of a batch.
   *
   * @param live bit 0 of word 0 is row 0; bits past the last row are clear
   * @param liveRows how many bits are set
   * @throws SortMemoryException if the rows, together with what draining needs, do not fit; then
   *     the sorter can only be closed
   */
  public void add(VectorSchemaRoot batch, long[] live, int liveRows) {
    checkState(State.ADDING);
    int batchRows = batch.getRowCount();
    if (batch.getFieldVectors().size() != width) {
      throw new IllegalArgumentException(
          "The batch has " + batch.getFieldVectors().size() + " columns, the schema " + width);
    }
    if (live.length < (batchRows + 63L) >>> 6) {
      throw new IllegalArgumentException(
          "live has " + live.length + " words for " + batchRows + " rows");
    }
    if (liveRows == 0) {
      return;
    }
    if (rows + liveRows > Integer.MAX_VALUE) {
      throw new IllegalStateException(
          "Cannot sort more than " + Integer.MAX_VALUE + " rows at once. Make smaller groups.");
    }
    int[] selected = VectorGather.liveRows(live, liveRows, batchRows);
    int count = liveRows;
    ColumnGather[] columns = VectorGather.columnsOf(List.of(batch.getFieldVectors()));
    try {
      for (int from = 0; from < count; from += RowChunk.ROWS_MAX) {
        int to = Math.min(count, from + RowChunk.ROWS_MAX);
        addRows(batch, columns, Arrays.copyOfRange(selected, from, to));
      }
    } catch (OutOfMemoryException e) {
      throw outOfMemory(bytes(columns, selected), count, e);
    }
    long needed = memory.getAllocatedMemory() + reserve(rows);
    if (needed > memoryBytesMax) {
      throw outOfMemory(0, 0, null);
    }
  }

  private void addRows(VectorSchemaRoot batch, ColumnGather[] columns, int[] selected) {
    int count = selected.length;
    SortKeys.Encoding encoding = keys.prepare(batch, selected, count);
    if (encoding.bytes() > Integer.MAX_VALUE && count > 1) {
      addRows(batch, columns, Arrays.copyOf(selected, count / 2));
      addRows(batch, columns, Arrays.copyOfRange(selected, count / 2, count));
      return;
    }
    long before = memory.getAllocatedMemory();
    RowChunk chunk = RowChunk.copyOf(batch, columns, selected, count, keys, encoding, memory);
    rows += count;
    long bytes = memory.getAllocatedMemory() - before;
    long mergedBytesMax = Math.min(MERGED_BYTES_MAX, memoryBytesMax / 16);
    if (smallRows + count > RowChunk.ROWS_MAX || smallBytes + bytes > mergedBytesMax) {
      mergeSmall(chunk);
    }
    if (count >= CHUNK_ROWS_MIN || bytes > mergedBytesMax) {
      mergeSmall(chunk);
      keep(chunk);
    } else {
      small.add(chunk);
      smallRows += count;
      smallBytes += bytes;
    }
  }

  /**
   * Makes one chunk of all small ones.
   *
   * @param following a chunk that has no owner yet; closed when merging fails
   */
  private void mergeSmall(@Nullable RowChunk following) {
    if (small.isEmpty()) {
      return;
    }
    try {
      if (small.size() == 1) {
        keep(small.get(0));
      } else {
        keep(RowChunk.merge(small, memory));
        small.forEach(RowChunk::close);
      }
    } catch (Throwable failure) {
      if (following != null) {
        following.close();
      }
      throw failure;
    }
    small.clear();
    smallRows = 0;
    smallBytes = 0;
  }

  private void keep(RowChunk chunk) {
    chunks.add(chunk);
    if (chunks.size() > CHUNKS_MAX) {
      throw new IllegalStateException(
          "Cannot sort "
              + rows
              + " rows at once: they came in too many pieces. Make smaller"
              + " groups.");
    }
  }

  private static long bytes(ColumnGather[] columns, int[] selected) {
    long bytes = 0;
    for (ColumnGather column : columns) {
      for (int row : selected) {
        bytes += column.bytes(0, row, row + 1);
      }
    }
    return bytes;
  }

  /** What draining takes beside rows and keys: the index, room to sort it, and a batch. */
  private long reserve(long sortedRows) {
    long index = sortedRows * (keys.isUnsorted() ? 4 : 4 + KeySort.ROW_BYTES);
    return index + 2 * batchBytesMax;
  }

  private SortMemoryException outOfMemory(
      long bytesMore, int rowsMore, @Nullable OutOfMemoryException cause) {
    long rowsSeen = rows + rowsMore;
    long needed = memory.getAllocatedMemory() + bytesMore + reserve(rowsSeen);
    if (expectedRows > rowsSeen) {
      needed = (long) Math.ceil((double) needed / rowsSeen * expectedRows);
    }
    needed = Math.max(needed, memoryBytesMax + 1);
    String message =
        "Cannot sort "
            + (expectedRows > rowsSeen
                ? expectedRows + " rows in memory: they need about "
                : rowsSeen + " rows or more in memory: they need at least about ")
            + needed
            + " bytes and the limit is "
            + memoryBytesMax
            + ". No row has been written. Give the sort more memory or make smaller groups.";
    return cause == null
        ? new SortMemoryException(message, needed, memoryBytesMax)
        : new SortMemoryException(message, needed, memoryBytesMax, cause);
  }

  /** How many rows are in the sorter. */
  public long rows() {
    return rows;
  }

  /** The bytes of all rows, keys and indexes that the sorter holds now. */
  public long bytesHeld() {
    return state == State.CLOSED ? 0 : memory.getAllocatedMemory();
  }

  /**
   * Gives all rows to the sink, in order, and releases them on the way. To be called once.
   *
   * @param batchRows how many rows a batch has at most; it has fewer where rows are large
   * @throws IOException what the sink throws
   * @throws SortMemoryException if the limit does not let a batch be made
   */
  public void drain(int batchRows, RowSink sink) throws IOException {
    checkState(State.ADDING);
    if (batchRows <= 0) {
      throw new IllegalArgumentException("batchRows must be positive but was " + batchRows);
    }
    state = State.DRAINED;
    if (rows == 0) {
      return;
    }
    try {
      mergeSmall(null);
    } catch (OutOfMemoryException e) {
      throw outOfMemory(0, 0, e);
    }
    try (ArrowBuf ids = sortedIds()) {
      drain(ids.memoryAddress(), batchRows, sink);
    }
  }

  /** The ids of all rows, sorted; releases the keys. */
  private ArrowBuf sortedIds() {
    try {
      ArrowBuf ids = memory.buffer(4L * rows);
      try {
        sort(ids);
        return ids;
      } catch (Throwable failure) {
        ids.close();
        throw failure;
      }
    } catch (OutOfMemoryException e) {
      throw outOfMemory(0, 0, e);
    }
  }

  private void sort(ArrowBuf ids) {
    long at = ids.memoryAddress();
    long[] keyAddresses = new long[chunks.size()];
    long[] offsetAddresses = new long[keys.variable() ? chunks.size() : 0];
    for (int c = 0; c < chunks.size(); c++) {
      RowChunk chunk = chunks.get(c);
      for (int row = 0; row < chunk.rows(); row++) {
        MemoryUtil.putInt(at, c << 16 | row);
        at += 4;
      }
      keyAddresses[c] = chunk.keys().keysAddress();
      if (keys.variable()) {
        offsetAddresses[c] = chunk.keys().offsetsAddress();
      }
    }
    int count = Math.toIntExact(rows);
    KeySort.sort(ids, count, keyAddresses, offsetAddresses, keys.fixedBytes(), memory);
    chunks.forEach(RowChunk::releaseKeys);
  }

  private void drain(long ids, int batchRows, RowSink sink) throws IOException {
    int count = Math.toIntExact(rows);
    ColumnGather[] columns =
        VectorGather.columnsOf(chunks.stream().map(RowChunk::vectors).toList());
    int[] left = chunks.stream().mapToInt(RowChunk::rows).toArray();
    int[] source = new int[Math.min(batchRows, count)];
    int[] row = new int[source.length];
    int drained = 0;
    while (drained < count) {
      int batch = nextBatch(columns, ids + 4L * drained, count - drained, source, row);
      List<FieldVector> vectors;
      try {
        vectors = VectorGather.gather(columns, Selection.ofRows(source, row, batch), memory);
      } catch (OutOfMemoryException e) {
        throw outOfMemory(0, 0, e);
      }
      try (VectorSchemaRoot root = VectorGather.root(vectors, batch)) {
        for (int i = 0; i < batch; i++) {
          if (--left[source[i]] == 0) {
            chunks.get(source[i]).close();
          }
        }
        drained += batch;
        sink.accept(root);
      }
    }
  }

  /** Reads ids until there are enough rows or bytes, and returns how many rows there are. */
  private int nextBatch(ColumnGather[] columns, long ids, int left, int[] source, int[] row) {
    int most = Math.min(left, source.length);
    for (int i = 0; i < most; i++) {
      int id = MemoryUtil.getInt(ids + 4L * i);
      source[i] = id >>> 16;
      row[i] = id & 0xFFFF;
    }
    long fixed = 0;
    List<ColumnGather> variable = new ArrayList<>();
    for (ColumnGather column : columns) {
      if (column.variable()) {
        variable.add(column);
      } else {
        fixed += column.bytes(0, 0, 1);
      }
    }
    long bytes = 0;
    for (int i = 0; i < most; i++) {
      bytes += fixed;
      for (ColumnGather column : variable) {
        bytes += column.bytes(source[i], row[i], row[i] + 1);
      }
      if (bytes > batchBytesMax && i > 0) {
        return i;
      }
    }
    return most;
  }

  private void checkState(State wanted) {
    if (state != wanted) {
      throw new IllegalStateException(
          "The sorter is " + (state == State.CLOSED ? "closed" : "drained"));
    }
  }

  /** Releases all rows. Closing twice is harmless. */
  @Override
  public void close() {
    if (state != State.CLOSED) {
      state = State.CLOSED;
      try (memory) { // fails if anything of it is still held
        small.forEach(RowChunk::close);
        chunks.forEach(RowChunk::close);
      }
    }
  }
}
