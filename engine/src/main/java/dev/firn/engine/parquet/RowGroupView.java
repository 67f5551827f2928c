package dev.firn.engine.parquet;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.arrow.memory.BufferAllocator;
import org.jspecify.annotations.Nullable;

/**
 * The wanted columns of one row group, fetched. Reading it hands its file over to the batches;
 * closing it, harmless at any time before that or after, deletes the file.
 */
public final class RowGroupView implements Closeable {
  private final SourceFile source;
  private final SourceFile.RowGroup group;

  /** Null if nothing of the file is wanted: all columns are filled in. */
  private final @Nullable Path file;

  private boolean read = false;

  RowGroupView(SourceFile source, SourceFile.RowGroup group, @Nullable Path file) {
    this.source = source;
    this.group = group;
    this.file = file;
  }

  public SourceFile.RowGroup rowGroup() {
    return group;
  }

  /**
   * Opens the rows. Once only; closing the batches deletes the view.
   *
   * @param allocator counts the decoded row group while the batches are open
   */
  public RowBatches read(BufferAllocator allocator) throws IOException {
    if (read) {
      throw new IllegalStateException("A view is read once");
    }
    ViewBatches batches = new ViewBatches(source, group, file, allocator);
    read = true;
    return batches;
  }

  /** Deletes the view unless it was read. */
  @Override
  public void close() throws IOException {
    if (!read && file != null) {
      Files.deleteIfExists(file);
    }
  }
}
