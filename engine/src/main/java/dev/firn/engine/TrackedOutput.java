package dev.firn.engine;

import dev.firn.engine.parquet.DataFileOutput;
import dev.firn.engine.parquet.SpliceTotals;
import dev.firn.engine.parquet.SplicedView;
import java.io.IOException;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.StructLike;

/**
 * Data files being written, and a note of where each of their rows came from. All rows of a group
 * go through one of these. Closing discards what is not finished. Used by one thread.
 */
final class TrackedOutput implements AutoCloseable {
  private static final int WRITE_BEHIND_DIVISOR = 16;

  private final DataFileOutput output;
  private final RowOrigins origins;
  private final RowOrigins.Log log;
  private final long memoryBytesMax;
  private final MemoryPeaks.Gauge pagesHeld;
  private final long bloomFilterBytesMax;
  private final MemoryPeaks.Gauge bloomFiltersHeld;
  private long held;
  private long bloomFilters;

  /**
   * @param memoryBytesMax what the pages of an open row group may take: it is ended when it has
   *     more
   * @param bloomFilterBytesMax what the bloom filters of an open file's row groups may take: it is
   *     ended when it has more
   * @param peaks counts them
   */
  TrackedOutput(
      DataFileOutput output,
      RowOrigins origins,
      long memoryBytesMax,
      long bloomFilterBytesMax,
      MemoryPeaks peaks) {
    this(
        output,
        origins,
        memoryBytesMax,
        peaks.outputPagesHeld(),
        bloomFilterBytesMax,
        peaks.bloomFiltersHeld());
  }

  private TrackedOutput(
      DataFileOutput output,
      RowOrigins origins,
      long memoryBytesMax,
      MemoryPeaks.Gauge pagesHeld,
      long bloomFilterBytesMax,
      MemoryPeaks.Gauge bloomFiltersHeld) {
    this.output = output;
    this.origins = origins;
    this.log = origins.log();
    this.memoryBytesMax = memoryBytesMax;
    this.pagesHeld = pagesHeld;
    this.bloomFilterBytesMax = bloomFilterBytesMax;
    this.bloomFiltersHeld = bloomFiltersHeld;
  }

  /** See {@link DataFileOutput#beside}. */
  TrackedOutput beside() {
    return new TrackedOutput(
        output.beside(), origins, memoryBytesMax, pagesHeld, bloomFilterBytesMax, bloomFiltersHeld);
  }

  /** See {@link DataFileOutput#partition}. */
  void partition(StructLike partition) {
    output.partition(partition);
  }

  /** See {@link DataFileOutput#partition(StructLike, long)}. */
  void partition(StructLike partition, long rows) {
    output.partition(partition, rows);
  }

  /** See {@link DataFileOutput#memoryBytes}. */
  long memoryBytes() {
    return output.memoryBytes();
  }

  /** See {@link DataFileOutput#rowsWritten}. */
  long rowsWritten() {
    return output.rowsWritten();
  }

  /** See {@link DataFileOutput#endRowGroup}. */
  void endRowGroup() throws IOException {
    output.endRowGroup();
    hold(output.memoryBytes(), output.bloomFilterBytes());
    if (bloomFilters > bloomFilterBytesMax) {
      endFile();
    }
  }

  /** See {@link DataFileOutput#bloomFilterBytes}. */
  long bloomFilterBytes() {
    return output.bloomFilterBytes();
  }

  /** See {@link DataFileOutput#endFile}. */
  void endFile() throws IOException {
    output.endFile();
    hold(output.memoryBytes(), output.bloomFilterBytes());
  }

  private void hold(long pages, long filters) {
    pagesHeld.add(pages - held);
    held = pages;
    bloomFiltersHeld.add(filters - bloomFilters);
    bloomFilters = filters;
  }

  /** See {@link DataFileOutput#append}. */
  void append(VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins from)
      throws IOException {
    output.append(batch, live, liveRows);
    from.addTo(log, live, batch.getRowCount());
    limitMemory(Long.MAX_VALUE);
  }

  /*
   * A row group ends a little before its memory is full, so that there is room for the next while it
   * is written; when that is full too, the write is waited for. What is counted is what both have.
   */
  private void limitMemory(long heldBytesMax) throws IOException {
    hold(output.memoryBytes(), output.bloomFilterBytes());
    boolean isOverLimit =
        held > memoryBytesMax
            || output.heldBytes() > heldBytesMax
            || bloomFilters > bloomFilterBytesMax;
    if (isOverLimit && output.writesBehind()) {
      output.awaitWrites();
      hold(output.memoryBytes(), output.bloomFilterBytes());
    }
    if (output.memoryBytesOfRowGroup() > lessRoom(memoryBytesMax)
        || output.heldBytesOfRowGroup() > lessRoom(heldBytesMax)) {
      output.endRowGroupBehind();
      hold(output.memoryBytes(), output.bloomFilterBytes());
    }
    if (bloomFilters > bloomFilterBytesMax) {
      endFile();
    }
  }

  private static long lessRoom(long bytesMax) {
    return bytesMax - bytesMax / WRITE_BEHIND_DIVISOR;
  }

  /**
   * See {@link DataFileOutput#splice}.
   *
   * @param heldBytesMax what column chunks of inputs may take that pages were copied from: the row
   *     group is ended when it is more
   */
  void splice(
      SplicedView view,
      long[] live,
      int liveRows,
      BatchOrigins from,
      BufferAllocator memory,
      long heldBytesMax)
      throws IOException {
    output.splice(view, live, liveRows, memory);
    from.addTo(log, live, Math.toIntExact(view.rowGroup().rows()));
    limitMemory(heldBytesMax);
  }

  /** See {@link DataFileOutput#spliceTotals}. */
  SpliceTotals spliceTotals() {
    return output.spliceTotals();
  }

  List<DataFile> finish() throws IOException {
    List<DataFile> written = output.finish();
    hold(0, 0);
    log.finish(written);
    return written;
  }

  @Override
  public void close() {
    hold(0, 0);
    output.close();
  }
}
