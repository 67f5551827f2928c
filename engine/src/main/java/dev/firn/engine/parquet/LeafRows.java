package dev.firn.engine.parquet;

import java.io.IOException;
import org.apache.arrow.memory.BufferAllocator;
import org.jspecify.annotations.Nullable;

/**
 * Rows of a row group, of all its leaves or some, decoded some at a time: those that are decoded
 * now end at {@link #decodedEndRow()}. Used by one thread.
 */
sealed interface LeafRows extends AutoCloseable permits DecodedRows, PagedRows {
  /** The place of the first row in the row group. */
  long firstRow();

  /** The place behind the last row. */
  long endRow();

  /** The row before which the next rows must be decoded. */
  long decodedEndRow();

  /** A column's values from a row on that is decoded, or null if they are not among these. */
  Stored.@Nullable Piece column(FileField column, long row);

  /**
   * Decodes the next rows, of which there must be any, in place of those before.
   *
   * @param allocator counts what is decoded
   * @throws CorruptFileException if they cannot be decoded
   */
  void decode(BufferAllocator allocator) throws IOException;

  @Override
  void close() throws IOException;
}
