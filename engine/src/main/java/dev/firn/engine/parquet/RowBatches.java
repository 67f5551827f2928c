package dev.firn.engine.parquet;

import java.io.IOException;
import org.apache.arrow.vector.VectorSchemaRoot;

/** Rows of one row group, batch after batch, in file order. Not thread-safe. */
public interface RowBatches extends AutoCloseable {

  /**
   * Moves to the next batch.
   *
   * @return false after the last row
   * @throws CorruptFileException if the file's bytes cannot be decoded, or a column that is
   *     required holds a null (S7)
   */
  boolean next() throws IOException;

  /** The current batch, in the physical layout; owned here and valid until {@link #next()}. */
  VectorSchemaRoot batch();

  /** The position in the file of the current batch's first row. */
  long firstPosition();

  @Override
  void close() throws IOException;
}
