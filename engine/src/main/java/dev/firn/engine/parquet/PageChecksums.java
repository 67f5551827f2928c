package dev.firn.engine.parquet;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.DataPageHeaderV2;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.PageHeader;
import org.apache.parquet.format.PageType;
import org.jspecify.annotations.Nullable;

/**
 * Holds the pages of a view against the checksums in their headers, where the writer put any, as
 * Iceberg's does.
 *
 * <p>Decoding alone does not tell: of flipped bits in a page, most decode, into other values. Once
 * rewritten, such values would look sound for ever.
 */
final class PageChecksums {
  /** Enough for most headers; longer ones, of long minima and maxima, are read again. */
  private static final int HEADER_BYTES = 512;

  private static final int HEADER_BYTES_MAX = 16 << 20;
  private static final int BUFFER_BYTES = 256 << 10;
  private static final int TRAILER_BYTES = Integer.BYTES + ParquetFooter.MAGIC.length;

  private final FileChannel channel;
  private final String location;
  private final int rowGroup;
  private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);

  private PageChecksums(FileChannel channel, String location, int rowGroup) {
    this.channel = channel;
    this.location = location;
    this.rowGroup = rowGroup;
  }

  /**
   * Checks all pages of a view and tells where they are. What cannot be understood is left for the
   * decoder to refuse.
   *
   * @param leaves of the view
   * @param location the file that the view was taken from, for the message
   * @param rowGroup the ordinal of the row group there, for the message
   * @throws CorruptFileException if a page is not what its checksum says
   */
  static ViewPages check(Path view, List<ViewSchema.Leaf> leaves, String location, int rowGroup)
      throws IOException {
    try (FileChannel channel = FileChannel.open(view, StandardOpenOption.READ)) {
      return new PageChecksums(channel, location, rowGroup).check(leaves);
    }
  }

  private ViewPages check(List<ViewSchema.Leaf> leaves) throws IOException {
    FileMetaData footer = footer();
    List<ColumnChunk> columns = footer.getRow_groups().get(0).getColumns();
    List<ViewPages.Chunk> chunks = new ArrayList<>(columns.size());
    for (int i = 0; i < columns.size(); i++) {
      chunks.add(checkChunk(columns.get(i), leaves.get(i).lists()));
    }
    return new ViewPages(footer, chunks);
  }

  private FileMetaData footer() throws IOException {
    long end = channel.size() - TRAILER_BYTES;
    int length = read(end, Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN).getInt();
    byte[] footer = new byte[length];
    ByteBuffer into = ByteBuffer.wrap(footer);
    readFully(into, end - length);
    return ThriftBytes.fileMetaData(footer);
  }

  private ViewPages.Chunk checkChunk(ColumnChunk chunk, int lists) throws IOException {
    ColumnMetaData column = chunk.getMeta_data();
    long start = ParquetFooter.start(chunk);
    long position = start;
    long end = position + column.getTotal_compressed_size();
    long values = 0;
    ViewPages.Page dictionary = null;
    List<ViewPages.Page> pages = new ArrayList<>();
    boolean understood = true;
    while (values < column.getNum_values() && position < end) {
      Page page = page(position, end);
      if (page == null) {
        return new ViewPages.Chunk(dictionary, pages, false);
      }
      PageHeader header = page.header;
      long data = position + page.headerBytes;
      int length = header.getCompressed_page_size();
      if (length < 0 || length > end - data) {
        return new ViewPages.Chunk(dictionary, pages, false);
      }
      if (header.isSetCrc()) {
        checkPage(column, position, data, length, header.getCrc());
      }
      ViewPages.Page facts = facts(header, position, page.headerBytes, lists, end);
      if (header.getType() == PageType.DICTIONARY_PAGE && position == start) {
        dictionary = facts;
      } else {
        understood &= isData(header);
        pages.add(facts);
      }
      values += values(header);
      position = data + length;
    }
    return new ViewPages.Chunk(dictionary, pages, understood && values == column.getNum_values());
  }

  private static boolean isData(PageHeader header) {
    return header.getType() == PageType.DATA_PAGE && header.isSetData_page_header()
        || header.getType() == PageType.DATA_PAGE_V2 && header.isSetData_page_header_v2();
  }

  private ViewPages.Page facts(
      PageHeader header, long position, int headerBytes, int lists, long end) throws IOException {
    long values = values(header);
    long rows = ViewPages.Page.ROWS_UNKNOWN;
    Encoding encoding = null;
    if (header.getType() == PageType.DICTIONARY_PAGE && header.isSetDictionary_page_header()) {
      values = header.getDictionary_page_header().getNum_values();
    } else if (header.isSetData_page_header()) {
      encoding = header.getData_page_header().getEncoding();
    } else if (header.isSetData_page_header_v2()) {
      DataPageHeaderV2 second = header.getData_page_header_v2();
      encoding = second.getEncoding();
      int levels = second.getRepetition_levels_byte_length();
      if (lists == 0 || beginsRow(position + headerBytes, levels, lists, end)) {
        rows = second.getNum_rows();
      }
    }
    return new ViewPages.Page(
        position,
        (long) headerBytes + header.getCompressed_page_size(),
        header.getUncompressed_page_size(),
        values,
        rows,
        encoding);
  }

  /** Whether the first repetition level of a page is 0, as the format asks of its second kind. */
  private boolean beginsRow(long position, int levelBytes, int lists, long end) throws IOException {
    int length = (int) Math.min(Math.min(levelBytes, 8), end - position);
    if (length < 2) {
      return false;
    }
    ByteBuffer levels = read(position, length);
    boolean packed = (levels.get(0) & 1) != 0;
    int at = 0;
    while (levels.get(at) < 0) { // the length of the first run goes on
      at++;
      if (at + 1 >= length) {
        return false;
      }
    }
    int bits = Integer.SIZE - Integer.numberOfLeadingZeros(lists);
    int first = levels.get(at + 1);
    return (packed ? first & (1 << bits) - 1 : first) == 0;
  }

  private record Page(PageHeader header, int headerBytes) {}

  /** The header at a position; null if there is none that can be read. */
  private @Nullable Page page(long position, long end) throws IOException {
    for (long room = HEADER_BYTES; ; room *= 8) {
      int length = (int) Math.min(Math.min(room, HEADER_BYTES_MAX), end - position);
      byte[] bytes = new byte[length];
      readFully(ByteBuffer.wrap(bytes), position);
      ByteBuffer at = ByteBuffer.wrap(bytes);
      try {
        PageHeader header = ThriftBytes.pageHeader(at);
        return new Page(header, at.position());
      } catch (IOException malformed) {
        if (length < room) {
          return null;
        }
      }
    }
  }

  private static long values(PageHeader header) {
    if (header.getType() == PageType.DATA_PAGE && header.isSetData_page_header()) {
      return header.getData_page_header().getNum_values();
    }
    if (header.getType() == PageType.DATA_PAGE_V2 && header.isSetData_page_header_v2()) {
      return header.getData_page_header_v2().getNum_values();
    }
    return 0;
  }

  private void checkPage(ColumnMetaData column, long page, long data, int length, int expected)
      throws IOException {
    CRC32 crc = new CRC32();
    for (int done = 0; done < length; ) {
      int count = Math.min(BUFFER_BYTES, length - done);
      crc.update(read(data + done, count));
      done += count;
    }
    if ((int) crc.getValue() != expected) {
      throw ParquetFooter.corrupt(
          location,
          "a page of column "
              + String.join(".", column.getPath_in_schema())
              + " in row group "
              + rowGroup
              + " ("
              + length
              + " bytes, "
              + (page - ParquetFooter.MAGIC.length)
              + " bytes into what was fetched) does not have the checksum in its header: its bytes"
              + " have changed since it was written");
    }
  }

  private ByteBuffer read(long position, int length) throws IOException {
    buffer.clear().limit(length);
    readFully(buffer, position);
    return buffer.flip();
  }

  private void readFully(ByteBuffer into, long position) throws IOException {
    long at = position;
    while (into.hasRemaining()) {
      int count = channel.read(into, at);
      if (count < 0) {
        throw new IOException("The view of " + location + " ends at " + at);
      }
      at += count;
    }
  }
}
