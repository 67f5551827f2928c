package dev.firn.engine;

import dev.firn.engine.parquet.DataFileOutput;
import java.io.IOException;
import java.util.List;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.StructLike;

/**
 * Data files being written, and a note of where each of their rows came from. All rows of a group
 * go through one of these. Closing discards what is not finished. Used by one thread.
 */
final class TrackedOutput implements AutoCloseable {
  private final DataFileOutput output;
  private final RowOrigins origins;
  private final RowOrigins.Log log;
  private final long memoryBytesMax;
  private final MemoryPeaks.Gauge pagesHeld;
  private long held;

  /**
   * @param memoryBytesMax what the pages of an open row group may take: it is ended when it has
   *     more
   * @param pagesHeld counts them
   */
  TrackedOutput(
      DataFileOutput output, RowOrigins origins, long memoryBytesMax, MemoryPeaks.Gauge pagesHeld) {
    this.output = output;
    this.origins = origins;
    this.log = origins.log();
    this.memoryBytesMax = memoryBytesMax;
    this.pagesHeld = pagesHeld;
  }

  /** See {@link DataFileOutput#beside}. */
  TrackedOutput beside() {
    return new TrackedOutput(output.beside(), origins, memoryBytesMax, pagesHeld);
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
    hold(output.memoryBytes());
  }

  private void hold(long bytes) {
    pagesHeld.add(bytes - held);
    held = bytes;
  }

  /** See {@link DataFileOutput#append}. */
  void append(VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins from)
      throws IOException {
    output.append(batch, live, liveRows);
    from.addTo(log, live, batch.getRowCount());
    hold(output.memoryBytes());
    if (held > memoryBytesMax) {
      endRowGroup();
    }
  }

  List<DataFile> finish() throws IOException {
    List<DataFile> written = output.finish();
    hold(0);
    log.finish(written);
    return written;
  }

  @Override
  public void close() {
    hold(0);
    output.close();
  }
}
