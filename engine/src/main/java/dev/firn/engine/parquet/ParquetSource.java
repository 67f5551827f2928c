package dev.firn.engine.parquet;

import dev.firn.io.RangeReader;
import dev.firn.io.TargetException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.FileMetaData;

/**
 * A Parquet file. The wanted column chunks of a row group are fetched into a view, a Parquet file
 * of its own in the scratch directory, which is then decoded.
 */
final class ParquetSource extends SourceFile {
  private final ParquetFooter footer;
  private final ViewSchema view;
  private final Projection projection;
  private final Schema layout;
  private final RangeReader ranges;
  private final Path scratch;
  private final int batchRows;
  private final long decodeBytesMax;
  private final NativeMemory nativeMemory;
  private final PageToolsPool pageTools;
  private final List<RowGroup> rowGroups = new ArrayList<>();
  private final long rows;

  ParquetSource(
      ParquetFooter footer,
      ViewSchema view,
      Projection projection,
      Schema layout,
      long recordCount,
      RangeReader ranges,
      Path scratch,
      int batchRows,
      long decodeBytesMax,
      NativeMemory nativeMemory,
      PageToolsPool pageTools) {
    this.footer = footer;
    this.view = view;
    this.projection = projection;
    this.layout = layout;
    this.ranges = ranges;
    this.scratch = scratch;
    this.batchRows = batchRows;
    this.decodeBytesMax = decodeBytesMax;
    this.nativeMemory = nativeMemory;
    this.pageTools = pageTools;
    footer.checkChunks(view);
    long position = 0;
    List<org.apache.parquet.format.RowGroup> groups = footer.metadata().getRow_groups();
    for (int ordinal = 0; ordinal < groups.size(); ordinal++) {
      org.apache.parquet.format.RowGroup group = groups.get(ordinal);
      if (group.getNum_rows() > 0) {
        rowGroups.add(rowGroup(ordinal, position, group));
      }
      position += group.getNum_rows();
    }
    if (position != recordCount) {
      throw ParquetFooter.corrupt(
          footer.location(),
          "its footer counts " + position + " rows, the table's metadata " + recordCount);
    }
    this.rows = position;
  }

  private RowGroup rowGroup(
      int ordinal, long firstPosition, org.apache.parquet.format.RowGroup group) {
    long compressed = 0;
    long uncompressed = 0;
    for (ViewSchema.Leaf leaf : view.leaves) {
      ColumnMetaData chunk = group.getColumns().get(leaf.chunk()).getMeta_data();
      compressed += chunk.getTotal_compressed_size();
      uncompressed += chunk.getTotal_uncompressed_size();
    }
    return new RowGroup(
        ordinal,
        firstPosition,
        group.getNum_rows(),
        compressed,
        uncompressed,
        DecodedSize.of(group, view));
  }

  @Override
  public boolean decodesWhole() {
    return decodeBytesMax == Long.MAX_VALUE;
  }

  @Override
  public String location() {
    return footer.location();
  }

  @Override
  public List<RowGroup> rowGroups() {
    return List.copyOf(rowGroups);
  }

  @Override
  public long rows() {
    return rows;
  }

  /** The row group with that ordinal, which has rows. */
  RowGroup rowGroup(int ordinal) {
    for (RowGroup group : rowGroups) {
      if (group.ordinal() == ordinal) {
        return group;
      }
    }
    throw new IllegalArgumentException("There is no row group " + ordinal);
  }

  @Override
  public RowGroupView fetch(RowGroup group) throws IOException {
    if (view.leaves.isEmpty()) {
      return new ParquetView(this, group, null);
    }
    Path file =
        onScratch(
            group.ordinal(), scratch, () -> Files.createTempFile(scratch, "view-", ".parquet"));
    try {
      write(group.ordinal(), file);
      return new ParquetView(this, group, file);
    } catch (Throwable failure) {
      Files.deleteIfExists(file);
      throw failure;
    }
  }

  private <T> T onScratch(int rowGroup, Path file, ScratchException.Step<T> step)
      throws ScratchException {
    return ScratchException.writing(footer.location(), rowGroup, file, step);
  }

  private void write(int ordinal, Path file) throws IOException {
    org.apache.parquet.format.RowGroup group = footer.metadata().getRow_groups().get(ordinal);
    List<RangeReader.Range> chunks = new ArrayList<>();
    List<ColumnChunk> columns = new ArrayList<>();
    long end = ParquetFooter.MAGIC.length;
    long uncompressed = 0;
    for (ViewSchema.Leaf leaf : view.leaves) {
      ColumnChunk chunk = group.getColumns().get(leaf.chunk());
      ColumnMetaData old = chunk.getMeta_data();
      long start = ParquetFooter.start(chunk);
      long shift = end - start;
      ColumnMetaData moved =
          new ColumnMetaData(
              leaf.type(),
              old.getEncodings(),
              leaf.path(),
              old.getCodec(),
              old.getNum_values(),
              old.getTotal_uncompressed_size(),
              old.getTotal_compressed_size(),
              old.getData_page_offset() + shift);
      if (start != old.getData_page_offset()) {
        moved.setDictionary_page_offset(end);
      }
      columns.add(new ColumnChunk(end).setMeta_data(moved));
      addRange(chunks, start, old.getTotal_compressed_size(), end);
      end += old.getTotal_compressed_size();
      uncompressed += old.getTotal_uncompressed_size();
    }
    if (decodeBytesMax < Long.MAX_VALUE) {
      end += addOffsetIndexes(group, chunks, columns, end);
    }
    FileMetaData metadata =
        new FileMetaData(
            footer.metadata().getVersion(),
            view.elements,
            group.getNum_rows(),
            List.of(
                new org.apache.parquet.format.RowGroup(
                    columns, uncompressed, group.getNum_rows())));
    if (footer.metadata().isSetCreated_by()) {
      // Readers work around bugs of old writers by their name.
      metadata.setCreated_by(footer.metadata().getCreated_by());
    }
    long last = end;
    try (FileChannel channel =
        onScratch(
            ordinal,
            file,
            () -> FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.READ))) {
      onScratch(ordinal, file, () -> writeFully(channel, ByteBuffer.wrap(ParquetFooter.MAGIC), 0));
      fetch(ordinal, chunks, file, channel);
      onScratch(ordinal, file, () -> writeFully(channel, ParquetFooter.trailer(metadata), last));
    }
  }

  /**
   * Adds the offset indexes of leaves in lists, which say at which rows their pages begin, to what
   * is fetched and to the footer of the view. Their own offsets stay those of the file.
   *
   * @return their bytes
   */
  private long addOffsetIndexes(
      org.apache.parquet.format.RowGroup group,
      List<RangeReader.Range> ranges,
      List<ColumnChunk> columns,
      long target) {
    long end = target;
    for (int i = 0; i < columns.size(); i++) {
      ColumnChunk chunk = group.getColumns().get(view.leaves.get(i).chunk());
      long start = chunk.getOffset_index_offset();
      long length = chunk.getOffset_index_length();
      boolean there =
          view.leaves.get(i).lists() > 0
              && chunk.isSetOffset_index_offset()
              && chunk.isSetOffset_index_length()
              && start >= ParquetFooter.MAGIC.length
              && length > 0
              && start <= footer.fileLength() - length;
      if (there) {
        columns.get(i).setOffset_index_offset(end).setOffset_index_length((int) length);
        addRange(ranges, start, length, end);
        end += length;
      }
    }
    return end - target;
  }

  /**
   * How a row group is decoded in parts.
   *
   * @param pages of its view
   * @param leaves those that are to be decoded
   * @return empty if it is decoded whole
   */
  List<RowSlices.Segment> segments(
      RowGroup group, FileChannel file, ViewPages pages, List<Integer> leaves) throws IOException {
    if (decodeBytesMax == Long.MAX_VALUE) {
      return List.of();
    }
    List<ColumnChunk> chunks = footer.metadata().getRow_groups().get(group.ordinal()).getColumns();
    List<ColumnChunk> stored = new ArrayList<>();
    view.leaves.forEach(leaf -> stored.add(chunks.get(leaf.chunk())));
    return RowSlices.plan(file, pages, view.leaves, stored, leaves, decodeBytesMax);
  }

  static void addRange(List<RangeReader.Range> ranges, long offset, long length, long target) {
    if (!ranges.isEmpty()) {
      RangeReader.Range last = ranges.get(ranges.size() - 1);
      if (last.offset() + last.length() == offset) {
        ranges.set(
            ranges.size() - 1,
            new RangeReader.Range(last.offset(), last.length() + length, last.targetOffset()));
        return;
      }
    }
    ranges.add(new RangeReader.Range(offset, length, target));
  }

  private void fetch(int ordinal, List<RangeReader.Range> chunks, Path file, FileChannel channel)
      throws IOException {
    byte[] whole = footer.whole();
    if (whole == null) {
      try {
        ranges.read(footer.location(), footer.fileLength(), chunks, channel);
      } catch (TargetException e) {
        onScratch(
            ordinal,
            file,
            () -> {
              throw e.getCause() instanceof IOException why ? why : e;
            });
      }
      return;
    }
    for (RangeReader.Range chunk : chunks) {
      ByteBuffer bytes =
          ByteBuffer.wrap(whole, Math.toIntExact(chunk.offset()), Math.toIntExact(chunk.length()));
      onScratch(ordinal, file, () -> writeFully(channel, bytes, chunk.targetOffset()));
    }
  }

  /** Gives the position after the bytes. */
  static long writeFully(FileChannel channel, ByteBuffer bytes, long position) throws IOException {
    long at = position;
    while (bytes.hasRemaining()) {
      at += channel.write(bytes, at);
    }
    return at;
  }

  ViewSchema view() {
    return view;
  }

  Path scratch() {
    return scratch;
  }

  Projection projection() {
    return projection;
  }

  Schema layout() {
    return layout;
  }

  int batchRows() {
    return batchRows;
  }

  NativeMemory nativeMemory() {
    return nativeMemory;
  }

  /** The name of a leaf in the file. */
  String nameOf(ViewSchema.Leaf leaf) {
    ColumnChunk chunk = footer.metadata().getRow_groups().get(0).getColumns().get(leaf.chunk());
    return String.join(".", chunk.getMeta_data().getPath_in_schema());
  }

  PageToolsPool pageTools() {
    return pageTools;
  }

  /** See {@link TableReader}. */
  long decodeBytesMax() {
    return decodeBytesMax;
  }
}
