package dev.firn.sort;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executor;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.jspecify.annotations.Nullable;

/**
 * Takes rows and gives them back in the order of a sort order. Rows that the order does not tell
 * apart keep the order they came in, and none is dropped (O9). All columns, nested ones and row
 * lineage too, come back bit for bit (O10).
 *
 * <p>Rows are kept in memory. A sorter that spills writes them to scratch files as sorted runs when
 * its memory is full, and merges the runs when it is drained; then their number has no limit.
 *
 * <p>Use: {@link #add} as often as wanted, {@link #drain} once, {@link #close}. When one of them
 * has failed, all that is left is to close. Not thread-safe.
 */
public final class RowSorter implements AutoCloseable {

  /** Var-width data, and all data, of a drained batch stay about below this. */
  private static final long BATCH_BYTES_MAX = 64L << 20;

  private static final long MERGED_BYTES_MAX = 16L << 20;

  /** With less, runs of half of it would be too short. */
  private static final long AHEAD_BYTES_MIN = 32L << 20;

  private enum State {
    ADDING,
    DRAINED,
    FAILED,
    CLOSED
  }

  /**
   * What a sort has done.
   *
   * @param rowsInOrder rows that came in order, as sorted files do, and were merged, not sorted
   * @param runs sorted runs that did not fit in memory and were spilled; runs made of runs not
   *     counted
   * @param bytesSpilled what was written to scratch files in all, before compression
   * @param bytesWritten what was written to scratch files in all
   * @param scratchBytesPeak the most that the scratch files took at once
   * @param mergeRounds how often the rows were read back that were read back most often: 0 where
   *     nothing was spilled, 1 where all runs were merged at once
   * @param memoryBytesPeak the most memory of the allocator that was held at once
   */
  public record Stats(
      long rowsInOrder,
      long runs,
      long bytesSpilled,
      long bytesWritten,
      long scratchBytesPeak,
      int mergeRounds,
      long memoryBytesPeak) {}

  private final SortKeys keys;
  private final int width;
  private final long memoryBytesMax;
  private final long batchBytesMax;
  private final BufferAllocator memory;
  private final RowBuffer buffer;
  private final @Nullable ExternalSort external; // null if all stays in memory
  private final @Nullable Executor spillers;

  private long rows;
  private long expectedRows;
  private long rowsInOrder;
  private State state = State.ADDING;

  private RowSorter(
      Schema schema,
      SortKeys keys,
      BufferAllocator allocator,
      long memoryBytesMax,
      @Nullable Spill spill,
      SortedRun.Opener opener,
      int chunksMax,
      @Nullable Executor spillers) {
    this.spillers = spillers;
    this.keys = keys;
    this.width = schema.columns().size();
    this.memoryBytesMax = memoryBytesMax;
    this.batchBytesMax = Math.min(BATCH_BYTES_MAX, memoryBytesMax / 32);
    this.memory = allocator.newChildAllocator("row-sorter", 0, memoryBytesMax);
    this.buffer = new RowBuffer(keys, Math.min(MERGED_BYTES_MAX, memoryBytesMax / 16), memory);
    this.external =
        spill == null
            ? null
            : new ExternalSort(
                schema,
                keys,
                spill,
                opener,
                memory,
                memoryBytesMax,
                batchBytesMax,
                chunksMax,
                spillers);
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
    return inMemory(schema, SortKeys.of(schema, order), allocator, memoryBytesMax);
  }

  /**
   * A sorter that holds all rows in memory.
   *
   * @param keys of rows that follow the schema
   * @see #inMemory(Schema, SortOrder, BufferAllocator, long)
   */
  public static RowSorter inMemory(
      Schema schema, SortKeys keys, BufferAllocator allocator, long memoryBytesMax) {
    if (memoryBytesMax <= 0) {
      throw new IllegalArgumentException(
          "memoryBytesMax must be positive but was " + memoryBytesMax);
    }
    return new RowSorter(
        schema,
        keys,
        allocator,
        memoryBytesMax,
        null,
        SortedRun.Opener.DISK,
        RowBuffer.CHUNKS_MAX,
        null);
  }

  /**
   * A sorter that spills rows that do not fit in memory.
   *
   * @param schema what batches follow, in the physical layout of docs/ARCHITECTURE.md; may have
   *     trailing row lineage columns
   * @param keys of rows that follow the schema
   * @param allocator all memory that counts comes from it, through a child of the sorter's own
   * @param memoryBytesMax the limit for everything that the sorter holds: rows, keys, index, blocks
   *     of runs, buffers for writing and reading, and the batch that is drained. Beside it stand
   *     heap, for a batch and about 60 bytes for each block that is spilled, and about one megabyte
   *     of the compressor.
   * @param spill where to; looked at when memory is full for the first time
   * @throws SortMemoryException if the limit is below {@link #spillingBytesMin} of rows of no size
   */
  public static RowSorter spilling(
      Schema schema, SortKeys keys, BufferAllocator allocator, long memoryBytesMax, Spill spill) {
    return spilling(schema, keys, allocator, memoryBytesMax, spill, null);
  }

  /**
   * A sorter that spills rows that do not fit in memory, a half of it at a time on another thread
   * while more are added, unless memory is short.
   *
   * @param spillers runs at most three tasks at a time: one that sorts and gathers rows while
   *     others are added, which is waited for, and beside it one that helps with some of the
   *     columns and one that writes, which need not run; null if the adding thread is to do all
   *     that. Tasks that have begun end before {@link #close} does.
   * @see #spilling(Schema, SortKeys, BufferAllocator, long, Spill)
   */
  public static RowSorter spilling(
      Schema schema,
      SortKeys keys,
      BufferAllocator allocator,
      long memoryBytesMax,
      Spill spill,
      @Nullable Executor spillers) {
    return spilling(
        schema,
        keys,
        allocator,
        memoryBytesMax,
        spill,
        SortedRun.Opener.DISK,
        RowBuffer.CHUNKS_MAX,
        memoryBytesMax < AHEAD_BYTES_MIN ? null : spillers);
  }

  static RowSorter spilling(
      Schema schema,
      SortKeys keys,
      BufferAllocator allocator,
      long memoryBytesMax,
      Spill spill,
      SortedRun.Opener opener,
      int chunksMax) {
    return spilling(schema, keys, allocator, memoryBytesMax, spill, opener, chunksMax, null);
  }

  static RowSorter spilling(
      Schema schema,
      SortKeys keys,
      BufferAllocator allocator,
      long memoryBytesMax,
      Spill spill,
      SortedRun.Opener opener,
      int chunksMax,
      @Nullable Executor spillers) {
    long least = spillingBytesMin(schema, 0);
    if (memoryBytesMax < least) {
      throw ExternalSort.tooLittle(least, memoryBytesMax, null);
    }
    return new RowSorter(
        schema, keys, allocator, memoryBytesMax, spill, opener, chunksMax, spillers);
  }

  /**
   * The least memory with which a sorter can spill rows of a schema. It is little, and slow: each
   * run is small and only few are merged at once. A hundredth of the data, and 64 MB or more, is a
   * good measure.
   *
   * @param rowBytesMax the size of the largest row, with its sort key; 0 where no row is larger
   *     than a few kilobytes
   */
  public static long spillingBytesMin(Schema schema, long rowBytesMax) {
    return ExternalSort.bytesMin(schema, rowBytesMax);
  }

  /**
   * Says how many rows will come in all, so that running out of memory can say what they need. A
   * sorter that spills need not know.
   */
  public void expectRows(long allRows) {
    expectedRows = allRows;
  }

  /**
   * Copies the live rows of a batch.
   *
   * @param live bit 0 of word 0 is row 0; bits past the last row are clear
   * @param liveRows how many bits are set
   * @throws SortMemoryException if the rows, together with what draining needs, do not fit; where
   *     the sorter spills, if a single row does not
   * @throws SpillException if rows could not be written to the scratch directory
   */
  public void add(VectorSchemaRoot batch, long[] live, int liveRows) throws IOException {
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
    int[] selected = VectorGather.liveRows(live, liveRows, batchRows);
    ColumnGather[] columns = VectorGather.columnsOf(List.of(batch.getFieldVectors()));
    state = State.FAILED; // unless all of it comes to its end
    if (external == null) {
      addInMemory(batch, columns, selected);
    } else {
      external.add(batch, columns, selected, buffer);
      rows += selected.length;
    }
    state = State.ADDING;
  }

  // ---- all in memory

  private void addInMemory(VectorSchemaRoot batch, ColumnGather[] columns, int[] selected) {
    if (rows + selected.length > Integer.MAX_VALUE) {
      throw new IllegalStateException(
          "Cannot sort more than " + Integer.MAX_VALUE + " rows at once. Make smaller groups.");
    }
    try {
      for (int from = 0; from < selected.length; from += RowChunk.ROWS_MAX) {
        int to = Math.min(selected.length, from + RowChunk.ROWS_MAX);
        addRows(batch, columns, Arrays.copyOfRange(selected, from, to));
      }
    } catch (OutOfMemoryException e) {
      throw outOfMemory(bytes(columns, selected), selected.length, e);
    }
    if (buffer.chunkCount() > RowBuffer.CHUNKS_MAX) {
      throw new IllegalStateException(
          "Cannot sort "
              + rows
              + " rows at once: they came in too many pieces. Make smaller groups.");
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
    buffer.add(batch, columns, selected, encoding);
    rows += count;
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

  // ---- draining

  /** How many rows are in the sorter. */
  public long rows() {
    return rows;
  }

  /** The bytes of all rows, keys and indexes that the sorter holds in memory now. */
  public long bytesHeld() {
    return state == State.CLOSED ? 0 : memory.getAllocatedMemory();
  }

  /** What the scratch files take now. */
  public long scratchBytes() {
    return external == null ? 0 : external.scratchBytes();
  }

  /** What has been done so far; complete when all rows are drained. */
  public Stats stats() {
    long peak = memory.getPeakMemoryAllocation();
    return external == null
        ? new Stats(rowsInOrder, 0, 0, 0, 0, 0, peak)
        : external.stats(rowsInOrder, peak);
  }

  /**
   * Gives all rows to the sink, in order, and releases them on the way. To be called once.
   *
   * @param batchRows how many rows a batch has at most; it has fewer where rows are large, or where
   *     memory is short for more blocks of spilled runs
   * @throws IOException what the sink throws
   * @throws SpillException if spilled rows could not be read back, or not be merged in rounds
   * @throws SortMemoryException if the limit does not let a batch be made
   */
  public void drain(int batchRows, RowSink sink) throws IOException {
    checkState(State.ADDING);
    if (batchRows <= 0) {
      throw new IllegalArgumentException("batchRows must be positive but was " + batchRows);
    }
    state = State.FAILED; // unless it comes to its end
    if (external != null && external.hasRuns()) {
      external.drain(buffer, batchRows, sink);
    } else if (rows > 0) {
      drainBuffer(batchRows, sink);
    }
    state = State.DRAINED;
  }

  private void drainBuffer(int batchRows, RowSink sink) throws IOException {
    List<RowChunk> chunks;
    SortedRows sorted;
    try {
      chunks = buffer.chunks();
      RowSources sources = new RowSources(chunks, List.of(), keys, spillers);
      sorted = SortedRows.of(chunks, Math.toIntExact(rows), sources, memory);
    } catch (OutOfMemoryException e) {
      throw outOfMemory(0, 0, e);
    }
    try (sorted) {
      try {
        sorted.sort(0);
      } catch (OutOfMemoryException e) {
        throw outOfMemory(0, 0, e);
      }
      rowsInOrder += sorted.natural() ? sorted.count() : 0;
      chunks.forEach(RowChunk::releaseKeys);
      drain(sorted, chunks, batchRows, sink);
    }
  }

  private void drain(SortedRows sorted, List<RowChunk> chunks, int batchRows, RowSink sink)
      throws IOException {
    RowSources sources = sorted.sources();
    int count = sorted.count();
    int[] left = chunks.stream().mapToInt(RowChunk::rows).toArray();
    int[] source = new int[Math.min(batchRows, count)];
    int[] row = new int[source.length];
    long[] bytes = new long[source.length];
    int drained = 0;
    while (drained < count) {
      int most = Math.min(source.length, count - drained);
      sorted.read(drained, most, source, row);
      sources.measure(source, row, most, bytes);
      int batch = RowSources.cut(bytes, 0, most, batchBytesMax);
      List<FieldVector> vectors;
      try {
        vectors = sources.gather(sources.selection(source, row, 0, batch), memory);
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

  private void checkState(State wanted) {
    if (state != wanted) {
      throw new IllegalStateException(
          switch (state) {
            case ADDING -> "The sorter takes rows";
            case DRAINED -> "The sorter is drained";
            case FAILED -> "The sorter has failed";
            case CLOSED -> "The sorter is closed";
          });
    }
  }

  /** Releases all rows and removes all scratch files. Closing twice is harmless. */
  @Override
  public void close() {
    if (state != State.CLOSED) {
      state = State.CLOSED;
      try (memory) { // fails if anything of it is still held
        buffer.close();
        if (external != null) {
          external.close();
        }
      }
    }
  }
}
