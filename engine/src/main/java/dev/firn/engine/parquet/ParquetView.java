package dev.firn.engine.parquet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.jspecify.annotations.Nullable;

/** A row group of a Parquet file. Reading it hands its view file over to the batches. */
final class ParquetView implements RowGroupView {
  private final ParquetSource source;
  private final SourceFile.RowGroup group;

  /** Null if nothing of the file is wanted: all columns are filled in. */
  private final @Nullable Path file;

  private boolean read = false;

  ParquetView(ParquetSource source, SourceFile.RowGroup group, @Nullable Path file) {
    this.source = source;
    this.group = group;
    this.file = file;
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
    if (file == null) {
      read = true;
      return new ViewBatches(source, group, List.of(), null, allocator);
    }
    ViewPages pages =
        PageChecksums.check(file, source.view().leaves, source.location(), group.ordinal());
    List<RowSlices.Segment> segments = source.segments(group, file, pages);
    List<DecodedRows> rows = new ArrayList<>();
    if (segments.isEmpty()) {
      rows.add(new DecodedRows(source, group, 0, group.rows(), () -> file));
    }
    for (RowSlices.Segment segment : segments) {
      SegmentFile part = new SegmentFile(source, group.ordinal(), pages.metadata(), segment, file);
      rows.add(new DecodedRows(source, group, segment.firstRow(), segment.rows(), part::write));
    }
    ViewBatches batches = new ViewBatches(source, group, rows, file, allocator);
    read = true;
    return batches;
  }

  @Override
  public void close() throws IOException {
    if (!read && file != null) {
      Files.deleteIfExists(file);
    }
  }
}
