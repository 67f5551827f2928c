package dev.firn.sort;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.TypeUtil;
import org.jspecify.annotations.Nullable;

/**
 * The part of a sort that does not fit in memory. Spills a full buffer as a sorted run, or as the
 * continuation of the last run where its rows may follow that; merges runs in rounds where they are
 * more than one merge may take or has blocks for; then merges all, with what is still in memory.
 * The runs stay in the order of their rows, so equal rows do too (O9). Not thread-safe.
 */
final class ExternalSort implements AutoCloseable {

  /** Blocks of runs have about so many bytes at most: large reads, and many fit. */
  private static final long BLOCK_BYTES_MAX = 1L << 20;

  private static final long BLOCK_BYTES_MIN = 4L << 10;

  /** A block is this part of the memory: so many runs, about, can be merged at once. */
  private static final int BLOCKS = 256;

  /** More runs are merged before all rows are there: each holds a file open. */
  private static final int OPEN_RUNS_MAX = 512;

  /** Rows are taken from the buffer, or from a merge of runs, so many at a time. */
  private static final int ROWS_AT_ONCE = 1 << 15;

  /** Or so many at first: what a block's rows have just been measured by is still in the caches. */
  private static final int ROWS_MEASURED_MIN = 1 << 12;

  private static final long BYTES_MIN = 128L << 10;

  /** What each buffer of a batch may take beside its bytes, by rounding. */
  private static final long BUFFER_BYTES = 64;

  private final SortKeys keys;
  private final Spill spill;
  private final SortedRun.Opener opener;
  private final BufferAllocator memory;
  private final long memoryBytesMax;
  private final long batchBytesMax;
  private final int chunksMax;
  private final long blockBytes;
  private final int stagingBytes;
  private final long writerBytes;
  private final Schema schema;
  private final @Nullable Executor spillers; // null if rows wait while others are spilled

  /* Set when the first batch comes. */
  private List<FieldVector> shape = List.of();
  private ColumnGather[] shapeColumns = {};
  private int buffers;

  private @Nullable FutureTask<Boolean> spilling; // the last spill on another thread

  /* While a spill is under way, it alone uses these. */
  private final List<SortedRun> runs = new ArrayList<>();
  private int rowsMeasured = ROWS_MEASURED_MIN;
  private @Nullable BlockWriter writer; // there while runs are written
  private long rowBytesMax; // of rows that are larger than a batch should be

  private long rowsInOrder;
  private long runsSpilled;
  private long bytesSpilled;
  private long bytesWritten;
  private long scratchBytesPeak;
  private int mergeRounds;
  private volatile long scratchBytes;
  private volatile RowSorter.Stats stats = new RowSorter.Stats(0, 0, 0, 0, 0, 0, 0);

  ExternalSort(
      Schema schema,
      SortKeys keys,
      Spill spill,
      SortedRun.Opener opener,
      BufferAllocator memory,
      long memoryBytesMax,
      long batchBytesMax,
      int chunksMax,
      @Nullable Executor spillers) {
    this.spillers = spillers;
    this.schema = schema;
    this.keys = keys;
    this.spill = spill;
    this.opener = opener;
    this.memory = memory;
    this.memoryBytesMax = memoryBytesMax;
    this.batchBytesMax = batchBytesMax;
    this.chunksMax = chunksMax;
    long part = Long.highestOneBit(memoryBytesMax / BLOCKS);
    this.blockBytes = Math.max(BLOCK_BYTES_MIN, Math.min(BLOCK_BYTES_MAX, part));
    this.stagingBytes = Math.toIntExact(2 * blockBytes);
    this.writerBytes = BlockWriter.bytes(stagingBytes, spillers != null);
  }

  /**
   * What sorting by spilling takes at least: two runs' blocks, a batch, and buffers for reading and
   * writing.
   */
  static long bytesMin(Schema schema, long rowBytesMax) {
    int fields = TypeUtil.indexById(schema.asStruct()).size();
    return BYTES_MIN + 3L * fields * 8 * BUFFER_BYTES + 12 * rowBytesMax;
  }

  static SortMemoryException tooLittle(
      long needed, long memoryBytesMax, @Nullable Throwable cause) {
    long named = Math.max(needed, memoryBytesMax + 1);
    String message =
        "Cannot sort with "
            + memoryBytesMax
            + " bytes of memory, even by spilling: blocks of two runs and a batch take at least"
            + " about "
            + named
            + " bytes. Give the sort more memory.";
    return cause == null
        ? new SortMemoryException(message, named, memoryBytesMax)
        : new SortMemoryException(message, named, memoryBytesMax, cause);
  }

  private SortMemoryException tooLittle(@Nullable Throwable cause) {
    long largest = rowBytesMax;
    for (SortedRun run : runs) {
      largest = Math.max(largest, run.blockBytesMax() > blockBytes ? run.blockBytesMax() : 0);
    }
    long needed = bytesMin(schema, largest);
    if (needed <= memoryBytesMax) {
      needed = memory.getAllocatedMemory() + memoryBytesMax / 16; // somebody else took it
    }
    return tooLittle(needed, memoryBytesMax, cause);
  }

  /** Whether rows were spilled. Waits until no rows are being spilled. */
  boolean hasRuns() throws IOException {
    settle();
    return !runs.isEmpty();
  }

  // ---- adding

  /** Adds rows to the buffer, which is spilled before it would not fit any more. */
  void add(VectorSchemaRoot batch, ColumnGather[] columns, int[] selected, RowBuffer buffer)
      throws IOException {
    shape(batch, columns);
    long bytesAtMost = 0;
    for (ColumnGather column : columns) {
      bytesAtMost += column.bytes(0, 0, batch.getRowCount());
    }
    try {
      for (int from = 0; from < selected.length; from += RowChunk.ROWS_MAX) {
        int to = Math.min(selected.length, from + RowChunk.ROWS_MAX);
        int[] piece = Arrays.copyOfRange(selected, from, to);
        add(batch, columns, piece, bytesAtMost, buffer);
      }
    } catch (OutOfMemoryException e) {
      throw tooLittle(e);
    }
  }

  private void shape(VectorSchemaRoot batch, ColumnGather[] columns) {
    if (shapeColumns.length == 0) {
      List<FieldVector> vectors = new ArrayList<>();
      for (FieldVector vector : batch.getFieldVectors()) {
        vectors.add(vector.getField().createVector(memory));
      }
      shape = vectors;
      shapeColumns = VectorGather.columnsOf(List.of(vectors));
      buffers = RowSources.blockBuffers(shapeColumns, keys);
    }
    for (int column = 0; column < columns.length; column++) {
      if (!columns[column].isLike(shapeColumns[column])) {
        throw new IllegalArgumentException(
            "Cannot sort "
                + columns[column].field()
                + " together with "
                + shapeColumns[column].field());
      }
    }
  }

  /**
   * @param bytesAtMost what the rows have without keys, or more
   */
  private void add(
      VectorSchemaRoot batch,
      ColumnGather[] columns,
      int[] selected,
      long bytesAtMost,
      RowBuffer buffer)
      throws IOException {
    int count = selected.length;
    SortKeys.Encoding encoding = keys.prepare(batch, selected, count);
    long bytes = bytesAtMost + encoding.bytes();
    if (bytes > batchBytesMax) {
      bytes = bytes(columns, selected) + encoding.bytes();
    }
    if (bytes > batchBytesMax && count > 1) {
      int pieces = (int) Math.min(count, 2 + bytes / batchBytesMax);
      for (int i = 0; i < pieces; i++) {
        int from = (int) ((long) count * i / pieces);
        int to = (int) ((long) count * (i + 1) / pieces);
        add(batch, columns, Arrays.copyOfRange(selected, from, to), Long.MAX_VALUE / 2, buffer);
      }
      return;
    }
    if (bytes > batchBytesMax) {
      rowBytesMax = Math.max(rowBytesMax, bytes);
    }
    if (buffer.rows() > 0 && !fits(buffer, bytes, count)) {
      spillAhead(buffer);
    }
    if (!fits(buffer, bytes, count)) {
      settle(); // the rows that are being spilled are in their way
      if (!fitsAlone(buffer, bytes, count)) {
        throw tooLittle(null);
      }
    }
    try {
      buffer.add(batch, columns, selected, encoding);
    } catch (OutOfMemoryException e) {
      if (buffer.rows() == 0 && spilling == null) {
        throw e;
      }
      settle();
      if (buffer.rows() > 0) {
        spill(buffer);
      }
      buffer.add(batch, columns, selected, encoding);
    }
  }

  private static long bytes(ColumnGather[] columns, int[] selected) {
    long[] bytes = new long[selected.length];
    for (ColumnGather column : columns) {
      column.addBytes(null, selected, selected.length, bytes);
    }
    return Arrays.stream(bytes).sum();
  }

  private boolean fits(RowBuffer buffer, long bytes, int count) {
    return spillers == null
        ? fitsAlone(buffer, bytes, count)
        : isCountable(buffer, count) && fitsHalf(buffer, bytes, count);
  }

  /** Whether there is room for as many rows that are being spilled. */
  private boolean fitsHalf(RowBuffer buffer, long bytes, int count) {
    long merging = memoryBytesMax / 16; // small additions
    long half = (memoryBytesMax - merging - batchReserve() - stagingBytes - writerBytes) / 2;
    return buffer.bytes() + growth(buffer, bytes, count) <= half;
  }

  private boolean fitsAlone(RowBuffer buffer, long bytes, int count) {
    return isCountable(buffer, count)
        && memory.getAllocatedMemory()
                + growth(buffer, bytes, count)
                + batchReserve()
                + stagingBytes
                + writerBytes
            <= memoryBytesMax;
  }

  private boolean isCountable(RowBuffer buffer, int count) {
    return (long) buffer.rows() + count <= Integer.MAX_VALUE / 2 && !buffer.isFull(chunksMax);
  }

  /** What rows to come, and sorting them with those that are there, take beside these. */
  private long growth(RowBuffer buffer, long bytes, int count) {
    long rows = (long) buffer.rows() + count;
    // Each buffer of the copy may be rounded to twice its size.
    long copy = 2 * bytes + buffers * (BUFFER_BYTES + count / 4);
    return copy + rounded(4 * rows) + rounded(KeySort.ROW_BYTES * rows);
  }

  /** What gathering rows takes, for a batch or a block. */
  private long batchReserve() {
    long largest = Math.max(rowBytesMax, Math.max(batchBytesMax, blockBytes));
    return 2 * largest + buffers * BUFFER_BYTES;
  }

  // ---- spilling

  private BlockWriter writer() {
    BlockWriter open = writer;
    if (open == null) {
      open = new BlockWriter(buffers, stagingBytes, memory, spillers);
      writer = open;
    }
    return open;
  }

  private void closeWriter() {
    BlockWriter open = writer;
    if (open != null) {
      writer = null;
      bytesSpilled += open.bytesBefore();
      bytesWritten += open.bytesAfter();
      open.close();
    }
    publish();
  }

  /** Spills on another thread, if there is one, so that the buffer can be filled meanwhile. */
  private void spillAhead(RowBuffer buffer) throws IOException {
    settle();
    if (spillers == null || runs.size() >= openRunsMax() || !fitsHalf(buffer, 0, 0)) {
      spill(buffer);
      return;
    }
    RowBuffer full = buffer.take();
    FutureTask<Boolean> task =
        new FutureTask<>(
            () -> {
              try (full) {
                spill(full);
                return true;
              } catch (OutOfMemoryException e) {
                throw tooLittle(e);
              }
            });
    try {
      spillers.execute(task);
      spilling = task;
    } catch (Throwable failure) {
      full.close();
      throw failure;
    }
  }

  /** Waits for the spill that is under way. What it failed with is thrown here. */
  private void settle() throws IOException {
    FutureTask<Boolean> task = spilling;
    if (task == null) {
      return;
    }
    try {
      task.get();
      spilling = null;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      InterruptedIOException interrupted =
          new InterruptedIOException("Interrupted while rows were spilled");
      interrupted.initCause(e);
      throw interrupted;
    } catch (ExecutionException e) {
      throw SpillException.of(e);
    }
  }

  /** Waits for the spill that is under way, interrupted or not, whatever becomes of it. */
  private void settleAnyway() {
    FutureTask<Boolean> task = spilling;
    boolean interrupted = false;
    while (task != null && !task.isDone()) {
      try {
        task.get();
      } catch (InterruptedException e) {
        interrupted = true;
      } catch (ExecutionException e) {
        break; // rows are given up
      }
    }
    spilling = null;
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private int openRunsMax() {
    return Math.max(OPEN_RUNS_MAX, spill.fanInMax());
  }

  /** Writes all rows of the buffer, sorted, and empties it. */
  private void spill(RowBuffer buffer) throws SpillException {
    List<RowChunk> chunks = buffer.chunks();
    RowSources sources = new RowSources(chunks, shape, keys, spillers);
    try (SortedRows sorted = SortedRows.of(chunks, buffer.rows(), sources, memory)) {
      int from = 0;
      if (sorted.natural()) {
        rowsInOrder += sorted.count();
        if (sorted.firstRunEnd() < sorted.count() && lastRunContinuedBy(sorted, 0)) {
          // The rest begins a run of its own, which what comes next may continue.
          from = sorted.firstRunEnd();
          write(sorted, 0, from, runs.get(runs.size() - 1));
        }
      }
      sorted.sort(from);
      if (!lastRunContinuedBy(sorted, from)) {
        runs.add(SortedRun.create(spill.directory(), 0, opener));
        runsSpilled++;
      }
      write(sorted, from, sorted.count(), runs.get(runs.size() - 1));
    }
    buffer.clear();
    noteScratch();
    if (runs.size() > openRunsMax()) {
      mergeSome();
    }
  }

  private boolean lastRunContinuedBy(SortedRows sorted, int number) {
    int id = sorted.id(number);
    RowSources sources = sorted.sources();
    return !runs.isEmpty()
        && runs.get(runs.size() - 1)
            .isContinuedBy(
                sources.key(id >>> 16, id & 0xFFFF), sources.keyBytes(id >>> 16, id & 0xFFFF));
  }

  private void write(SortedRows sorted, int from, int to, SortedRun run) throws SpillException {
    RowSources sources = sorted.sources();
    int[] source = new int[Math.min(ROWS_AT_ONCE, to - from)];
    int[] row = new int[source.length];
    long[] bytes = new long[source.length];
    BlockWriter open = writer();
    open.start(run);
    for (int at = from; at < to; ) {
      int most = Math.min(Math.min(source.length, rowsMeasured), to - at);
      sorted.read(at, most, source, row);
      sources.measure(source, row, most, bytes);
      sources.addKeyBytes(source, row, most, bytes);
      boolean last = at + most == to;
      int written = sources.write(source, row, most, bytes, blockTarget(), last, run, open, memory);
      if (written == most && !last) {
        rowsMeasured = Math.min(ROWS_AT_ONCE, 2 * rowsMeasured); // a block has room for more
      }
      at += written;
    }
    open.flush(run);
  }

  /**
   * A little less than a block, which has the buffers' lengths and rounding to eight bytes,
   * validity bits, and its own end: what is larger takes the double.
   */
  private long blockTarget() {
    return Math.max(blockBytes / 2, blockBytes - blockBytes / 32 - 24L * buffers);
  }

  private void noteScratch() {
    long stored = 0;
    for (SortedRun run : runs) {
      stored += run.storedBytes();
    }
    scratchBytesPeak = Math.max(scratchBytesPeak, stored);
    publish();
  }

  // ---- merging

  private long blockRoom(SortedRun run) {
    return rounded(run.blockBytesMax());
  }

  private long rounded(long bytes) {
    return memory.getRoundingPolicy().getRoundedSize(bytes);
  }

  private long largestBlockReserve() {
    long largest = Math.max(batchBytesMax, blockBytes);
    for (SortedRun run : runs) {
      largest = Math.max(largest, run.blockBytesMax());
    }
    return 2 * largest + buffers * BUFFER_BYTES;
  }

  /** Whether runs can be merged at once beside what else is held. */
  private boolean fit(List<SortedRun> some, long held) {
    long needed = held + stagingBytes + largestBlockReserve();
    for (SortedRun run : some) {
      needed += blockRoom(run);
    }
    return needed <= memoryBytesMax;
  }

  /** Merges neighbouring runs to one, as many as are too many, and such as are short. */
  private void mergeSome() throws SpillException {
    int count = runs.size();
    long largest = 0;
    for (SortedRun run : runs) {
      largest = Math.max(largest, blockRoom(run));
    }
    long held = memory.getAllocatedMemory() + (writer == null ? writerBytes : 0);
    long room = memoryBytesMax - held - stagingBytes - largestBlockReserve();
    int most = (int) Math.max(2, Math.min(spill.fanInMax(), room / largest));
    int wanted = Math.max(2, Math.min(most, count - most + 1));
    for (int size = wanted; size >= 2; size--) {
      int best = -1;
      long bestBytes = Long.MAX_VALUE;
      for (int from = 0; from + size <= count; from++) {
        List<SortedRun> some = runs.subList(from, from + size);
        long bytes = some.stream().mapToLong(SortedRun::storedBytes).sum();
        if (bytes < bestBytes && fit(some, held)) {
          best = from;
          bestBytes = bytes;
        }
      }
      if (best >= 0) {
        merge(best, size);
        return;
      }
    }
    throw tooLittle(null);
  }

  private void merge(int first, int count) throws SpillException {
    List<SortedRun> inputs = List.copyOf(runs.subList(first, first + count));
    int level = 1 + inputs.stream().mapToInt(SortedRun::level).max().orElse(0);
    RowSources sources = new RowSources(List.of(), shape, keys, spillers);
    int[] source = new int[ROWS_AT_ONCE];
    int[] row = new int[ROWS_AT_ONCE];
    long[] bytes = new long[ROWS_AT_ONCE];
    BlockWriter open = writer();
    SortedRun merged = SortedRun.create(spill.directory(), level, opener);
    try (BlockReader reader = new BlockReader(buffers, stagingBytes, memory);
        RunMerge merge =
            new RunMerge(
                inputs, 0, 0, sources, reader, memory, memoryBytesMax - largestBlockReserve())) {
      open.start(merged);
      for (int n = merge.pick(source, row); n > 0; n = merge.pick(source, row)) {
        sources.measure(source, row, n, bytes);
        sources.addKeyBytes(source, row, n, bytes);
        sources.write(source, row, n, bytes, blockTarget(), true, merged, open, memory);
      }
      open.flush(merged);
    } catch (Throwable failure) {
      merged.close();
      throw failure;
    }
    runs.add(first, merged);
    noteScratch();
    runs.removeAll(inputs);
    inputs.forEach(SortedRun::close);
    mergeRounds = Math.max(mergeRounds, level);
    publish();
  }

  /** Gives all rows of the runs, and those of the buffer that come after them, in order. */
  void drain(RowBuffer buffer, int batchRows, RowSink sink) throws IOException {
    SortedRows sorted = null;
    try {
      try {
        if (buffer.rows() > 0) {
          long held = memory.getAllocatedMemory() - (writer == null ? 0 : writerBytes);
          if (runs.size() < spill.fanInMax() && fit(runs, held + rounded(4L * buffer.rows()))) {
            List<RowChunk> chunks = buffer.chunks();
            RowSources sources = new RowSources(chunks, shape, keys, spillers);
            sorted = SortedRows.of(chunks, buffer.rows(), sources, memory);
            sorted.sort(0);
            rowsInOrder += sorted.natural() ? sorted.count() : 0;
          } else {
            spill(buffer);
          }
        }
        while (runs.size() > spill.fanInMax() || (sorted == null && !fit(runs, finalHeld()))) {
          mergeSome();
        }
        closeWriter();
      } catch (OutOfMemoryException e) {
        throw tooLittle(e);
      }
      for (SortedRun run : runs) {
        mergeRounds = Math.max(mergeRounds, run.level() + 1);
      }
      publish();
      merge(sorted, batchRows, sink);
    } finally {
      if (sorted != null) {
        sorted.close();
      }
    }
  }

  private long finalHeld() {
    return memory.getAllocatedMemory() - (writer == null ? 0 : writerBytes);
  }

  private void merge(@Nullable SortedRows last, int batchRows, RowSink sink) throws IOException {
    RowSources sources =
        last == null ? new RowSources(List.of(), shape, keys, spillers) : last.sources();
    sources.scattered(false); // most rows come from blocks, which are in order
    long ids = last == null ? 0 : last.ids();
    int idCount = last == null ? 0 : last.count();
    long rows = idCount + runs.stream().mapToLong(SortedRun::rows).sum();
    int[] source = new int[(int) Math.min(batchRows, rows)];
    int[] row = new int[source.length];
    long[] bytes = new long[source.length];
    boolean cuts = source.length * rowBytesMax(last) > batchBytesMax;
    long keepBelow = memoryBytesMax - largestBlockReserve();
    try (BlockReader reader = reader();
        RunMerge merge = merge(ids, idCount, sources, reader, keepBelow)) {
      for (int n = pick(merge, source, row); n > 0; n = pick(merge, source, row)) {
        if (cuts) {
          sources.measure(source, row, n, bytes);
        }
        for (int at = 0; at < n; ) {
          int batch = cuts ? RowSources.cut(bytes, at, n, batchBytesMax) : n;
          List<FieldVector> vectors;
          try {
            vectors = sources.gather(sources.selection(source, row, at, at + batch), memory);
          } catch (OutOfMemoryException e) {
            throw tooLittle(e);
          }
          try (VectorSchemaRoot root = VectorGather.root(vectors, batch)) {
            at += batch;
            sink.accept(root);
          }
        }
      }
    }
  }

  /** What the largest of all rows takes, about. */
  private long rowBytesMax(@Nullable SortedRows last) {
    long largest = last == null ? 0 : last.rowBytesMax();
    for (SortedRun run : runs) {
      largest = Math.max(largest, run.rowBytesMax());
    }
    return largest;
  }

  private BlockReader reader() {
    try {
      return new BlockReader(buffers, stagingBytes, memory);
    } catch (OutOfMemoryException e) {
      throw tooLittle(e);
    }
  }

  private RunMerge merge(
      long ids, int idCount, RowSources sources, BlockReader reader, long keepBelow)
      throws SpillException {
    try {
      return new RunMerge(runs, ids, idCount, sources, reader, memory, keepBelow);
    } catch (OutOfMemoryException e) {
      throw tooLittle(e);
    }
  }

  private int pick(RunMerge merge, int[] source, int[] row) throws SpillException {
    try {
      return merge.pick(source, row);
    } catch (OutOfMemoryException e) {
      throw tooLittle(e);
    }
  }

  private void publish() {
    scratchBytes = runs.stream().mapToLong(SortedRun::storedBytes).sum();
    BlockWriter open = writer;
    stats =
        new RowSorter.Stats(
            rowsInOrder,
            runsSpilled,
            bytesSpilled + (open == null ? 0 : open.bytesBefore()),
            bytesWritten + (open == null ? 0 : open.bytesAfter()),
            scratchBytesPeak,
            mergeRounds,
            0);
  }

  /** What the scratch files take, after the last spill or merge that is done. On any thread. */
  long scratchBytes() {
    return scratchBytes;
  }

  /** What has been done by all spills and merges that are done. On any thread. */
  RowSorter.Stats stats(long rowsInOrderInMemory, long memoryBytesPeak) {
    RowSorter.Stats done = stats;
    return new RowSorter.Stats(
        done.rowsInOrder() + rowsInOrderInMemory,
        done.runs(),
        done.bytesSpilled(),
        done.bytesWritten(),
        done.scratchBytesPeak(),
        done.mergeRounds(),
        memoryBytesPeak);
  }

  /** Closing twice is harmless. */
  @Override
  public void close() {
    settleAnyway();
    closeWriter();
    runs.forEach(SortedRun::close);
    runs.clear();
    shape.forEach(FieldVector::close);
  }
}
