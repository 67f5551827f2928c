package dev.firn.engine.parquet;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.jspecify.annotations.Nullable;

/** A row group of a Parquet file. Reading it hands its view file over to the batches. */
final class ParquetView implements RowGroupView {
  /* Dictionaries are on the heap: leaves beyond that are decoded by Arrow. */
  private static final long DICTIONARY_BYTES_MAX = Runtime.getRuntime().maxMemory() / 16;

  /* More bytes than that are not decoded to make a batch full. */
  private static final long LEAF_BYTES_MAX = 8L << 20;

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
      return new ViewBatches(source, group, List.of(), () -> {}, allocator);
    }
    ViewPages pages =
        PageChecksums.check(file, source.view().leaves, source.location(), group.ordinal());
    OpenView view = new OpenView(source.pageTools(), file);
    boolean done = false;
    try {
      ViewBatches batches = new ViewBatches(source, group, rows(pages, view), view, allocator);
      done = true;
      read = true;
      return batches;
    } finally {
      if (!done) {
        view.channel.close();
      }
    }
  }

  private List<LeafRows> rows(ViewPages pages, OpenView view) throws IOException {
    List<LeafRows> rows = new ArrayList<>();
    List<Integer> others = new ArrayList<>();
    List<ViewSchema.Leaf> leaves = source.view().leaves;
    List<ColumnChunk> columns = pages.metadata().getRow_groups().get(0).getColumns();
    long bytesMax = Math.min(LEAF_BYTES_MAX, source.decodeBytesMax() / 2 / leaves.size());
    long dictionaryBytes = 0;
    for (int place = 0; place < leaves.size(); place++) {
      ViewSchema.Leaf leaf = leaves.get(place);
      ViewPages.Chunk located = pages.chunks().get(place);
      ColumnMetaData metadata = columns.get(place).getMeta_data();
      long ofDictionary = dictionaryBytes(located.dictionary());
      if (dictionaryBytes + ofDictionary > DICTIONARY_BYTES_MAX
          || !ViewChunk.supports(leaf, located, metadata, group.rows())) {
        others.add(place);
        continue;
      }
      dictionaryBytes += ofDictionary;
      RowSlices.Segment whole = RowSlices.whole(pages, List.of(place));
      rows.add(
          new PagedRows(
              new ViewChunk(
                  view.channel,
                  leaf,
                  located,
                  metadata,
                  source.location(),
                  "column " + source.nameOf(leaf) + " in row group " + group.ordinal()),
              group.rows(),
              source.batchRows(),
              bytesMax,
              source.nativeMemory(),
              view::tools,
              () -> decoded(whole, pages)));
    }
    if (!others.isEmpty()) {
      rows.addAll(decoded(others, pages, view));
    }
    return rows;
  }

  private static long dictionaryBytes(ViewPages.@Nullable Page dictionary) {
    return dictionary == null ? 0 : dictionary.uncompressedBytes() + 8 * dictionary.values();
  }

  private List<DecodedRows> decoded(List<Integer> leaves, ViewPages pages, OpenView view)
      throws IOException {
    List<RowSlices.Segment> segments = source.segments(group, view.channel, pages, leaves);
    List<DecodedRows> rows = new ArrayList<>();
    if (!segments.isEmpty()) {
      segments.forEach(segment -> rows.add(decoded(segment, pages)));
    } else if (leaves.size() < source.view().leaves.size()) {
      rows.add(decoded(RowSlices.whole(pages, leaves), pages));
    } else {
      rows.add(new DecodedRows(source, group, 0, group.rows(), () -> view.file));
    }
    return rows;
  }

  private DecodedRows decoded(RowSlices.Segment segment, ViewPages pages) {
    if (file == null) {
      throw new IllegalStateException("Nothing of the file is wanted");
    }
    SegmentFile part = new SegmentFile(source, group.ordinal(), pages.metadata(), segment, file);
    return new DecodedRows(source, group, segment.firstRow(), segment.rows(), part::write);
  }

  /** A view file that is read. Closing it deletes the file. */
  private static final class OpenView implements Closeable {
    final Path file;
    final FileChannel channel;
    private final PageToolsPool pool;
    private @Nullable PageTools tools; // null before they are needed

    OpenView(PageToolsPool pool, Path file) throws IOException {
      this.pool = pool;
      this.file = file;
      this.channel = FileChannel.open(file, StandardOpenOption.READ);
    }

    PageTools tools() {
      if (tools == null) {
        tools = pool.borrow();
      }
      return tools;
    }

    @Override
    public void close() throws IOException {
      if (tools != null) {
        pool.giveBack(tools);
        tools = null;
      }
      try {
        channel.close();
      } finally {
        Files.deleteIfExists(file);
      }
    }
  }

  @Override
  public void close() throws IOException {
    if (!read && file != null) {
      Files.deleteIfExists(file);
    }
  }
}
