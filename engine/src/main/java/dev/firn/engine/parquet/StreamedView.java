package dev.firn.engine.parquet;

import java.io.IOException;
import org.apache.arrow.memory.BufferAllocator;

/** A whole file that is streamed: nothing of it is fetched ahead. */
final class StreamedView implements RowGroupView {
  private final StreamedSource source;
  private final SourceFile.RowGroup group;
  private boolean read = false;

  StreamedView(StreamedSource source, SourceFile.RowGroup group) {
    this.source = source;
    this.group = group;
  }

  @Override
  public SourceFile.RowGroup rowGroup() {
    return group;
  }

  @Override
  public RowBatches read(BufferAllocator allocator) throws IOException {
    if (read) {
      throw new IllegalStateException("A view is read once");
    }
    read = true;
    return new StreamedBatches(source, allocator);
  }

  @Override
  public void close() {}
}
