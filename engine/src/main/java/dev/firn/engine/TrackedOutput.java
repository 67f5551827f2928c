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

  TrackedOutput(DataFileOutput output, RowOrigins origins) {
    this.output = output;
    this.origins = origins;
    this.log = origins.log();
  }

  /** See {@link DataFileOutput#beside}. */
  TrackedOutput beside() {
    return new TrackedOutput(output.beside(), origins);
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
  }

  /** See {@link DataFileOutput#append}. */
  void append(VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins from)
      throws IOException {
    output.append(batch, live, liveRows);
    from.addTo(log, live, batch.getRowCount());
  }

  List<DataFile> finish() throws IOException {
    List<DataFile> written = output.finish();
    log.finish(written);
    return written;
  }

  @Override
  public void close() {
    output.close();
  }
}
