package dev.firn.engine.parquet;

import java.io.Closeable;
import java.io.IOException;
import org.apache.arrow.memory.BufferAllocator;

/**
 * The wanted columns of one row group, fetched or ready to be streamed. Closing it, harmless at any
 * time before it is read or after, releases what was fetched.
 */
public sealed interface RowGroupView extends Closeable
    permits ParquetView, SplicedView, StreamedView {

  SourceFile.RowGroup rowGroup();

  /**
   * Opens the rows. Once only; closing the batches releases the view.
   *
   * @param allocator counts what is decoded while the batches are open
   * @throws CorruptFileException if a page is not what its checksum says, or the file cannot be
   *     decoded
   */
  RowBatches read(BufferAllocator allocator) throws IOException;
}
