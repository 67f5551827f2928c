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
  private final RowOrigins.Log origins;

  TrackedOutput(DataFileOutput output, RowOrigins origins) {
    this.output = output;
    this.origins = origins.log();
  }

  /** See {@link DataFileOutput#partition}. */
  void partition(StructLike partition) {
    output.partition(partition);
  }

  /** See {@link DataFileOutput#append}. */
  void append(VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins from)
      throws IOException {
    output.append(batch, live, liveRows);
    from.addTo(origins, live, batch.getRowCount());
  }

  List<DataFile> finish() throws IOException {
    List<DataFile> written = output.finish();
    origins.finish(written);
    return written;
  }

  @Override
  public void close() {
    output.close();
  }
}
