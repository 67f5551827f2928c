package dev.firn.engine.parquet;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.PageHeader;
import org.apache.parquet.format.PageType;
import org.apache.parquet.format.Util;
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
   * Checks all pages of a view. What cannot be understood is left for the decoder to refuse.
   *
   * @param location the file that the view was taken from, for the message
   * @param rowGroup the ordinal of the row group there, for the message
   * @throws CorruptFileException if a page is not what its checksum says
   */
  static void check(Path view, String location, int rowGroup) throws IOException {
    try (FileChannel channel = FileChannel.open(view, StandardOpenOption.READ)) {
      new PageChecksums(channel, location, rowGroup).check();
    }
  }

  private void check() throws IOException {
    for (ColumnChunk chunk : footer().getRow_groups().get(0).getColumns()) {
      checkChunk(chunk);
    }
  }

  private FileMetaData footer() throws IOException {
    long end = channel.size() - TRAILER_BYTES;
    int length = read(end, Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN).getInt();
    byte[] footer = new byte[length];
    ByteBuffer into = ByteBuffer.wrap(footer);
    readFully(into, end - length);
    return Util.readFileMetaData(new ByteArrayInputStream(footer));
  }

  private void checkChunk(ColumnChunk chunk) throws IOException {
    ColumnMetaData column = chunk.getMeta_data();
    long position = ParquetFooter.start(chunk);
    long end = position + column.getTotal_compressed_size();
    long values = 0;
    while (values < column.getNum_values() && position < end) {
      Page page = page(position, end);
      if (page == null) {
        return;
      }
      PageHeader header = page.header;
      long data = position + page.headerBytes;
      int length = header.getCompressed_page_size();
      if (length < 0 || length > end - data) {
        return;
      }
      if (header.isSetCrc()) {
        checkPage(column, position, data, length, header.getCrc());
      }
      values += values(header);
      position = data + length;
    }
  }

  private record Page(PageHeader header, int headerBytes) {}

  /** The header at a position; null if there is none that can be read. */
  private @Nullable Page page(long position, long end) throws IOException {
    for (long room = HEADER_BYTES; ; room *= 8) {
      int length = (int) Math.min(Math.min(room, HEADER_BYTES_MAX), end - position);
      byte[] bytes = new byte[length];
      readFully(ByteBuffer.wrap(bytes), position);
      ByteArrayInputStream in = new ByteArrayInputStream(bytes);
      try {
        PageHeader header = Util.readPageHeader(in);
        return new Page(header, length - in.available());
      } catch (IOException | RuntimeException malformed) {
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
