package dev.firn.engine.parquet;

import java.io.IOException;
import org.apache.arrow.vector.VectorSchemaRoot;

/** Rows of one row group, batch after batch, in file order. Not thread-safe. */
public interface RowBatches extends AutoCloseable {

  /**
   * Moves to the next batch.
   *
   * @return false after the last row
   * @throws CorruptFileException if the file's bytes cannot be decoded
   */
  boolean next() throws IOException;

  /** The current batch, in the physical layout; owned here and valid until {@link #next()}. */
  VectorSchemaRoot batch();

  /**
   * The current batch, given to the caller, who closes it; it is valid after {@link #next()} and
   * after this is closed. To be called last of all that is asked about it.
   */
  VectorSchemaRoot take();

  /**
   * Checks that the current batch has what the table requires, in the rows that are live: a column
   * may be required since those of its rows that are null were deleted.
   *
   * @param live a bit for each row, bit 0 of word 0 first
   * @throws CorruptFileException if a required field of a live row is null (S7)
   */
  void refuseNulls(long[] live);

  /** The position in the file of the current batch's first row. */
  long firstPosition();

  @Override
  void close() throws IOException;
}
