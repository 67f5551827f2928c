package dev.firn.engine;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnIndex;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.DataPageHeader;
import org.apache.parquet.format.DataPageHeaderV2;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.OffsetIndex;
import org.apache.parquet.format.PageHeader;
import org.apache.parquet.format.PageLocation;
import org.apache.parquet.format.PageType;
import org.apache.parquet.format.Util;

/** Ways in which a Parquet file can say what is not so. Files are changed in place. */
final class ParquetLies {

  /** Changes the first row group of a file. */
  record Lie(String name, Telling telling) {
    @Override
    public String toString() {
      return name;
    }
  }

  @FunctionalInterface
  private interface Telling {
    /** Says whether the lie could be told of this file. */
    boolean tell(Parts file) throws IOException;
  }

  @FunctionalInterface
  private interface OfHeader {
    boolean change(PageHeader header);
  }

  @FunctionalInterface
  private interface OfChunk {
    boolean change(ColumnChunk chunk) throws IOException;
  }

  /** What is before the footer, and the footer. */
  private static final class Parts {
    private byte[] body;
    private final FileMetaData footer;

    Parts(byte[] file) throws IOException {
      int length = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).getInt(file.length - 8);
      int start = file.length - 8 - length;
      body = Arrays.copyOf(file, start);
      footer = Util.readFileMetaData(new ByteArrayInputStream(file, start, length));
    }

    byte[] bytes() throws IOException {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      out.write(body);
      Util.writeFileMetaData(footer, out);
      int length = out.size() - body.length;
      out.write(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(length).array());
      out.write("PAR1".getBytes(java.nio.charset.StandardCharsets.US_ASCII));
      return out.toByteArray();
    }

    ColumnChunk chunk(String column) {
      return footer.getRow_groups().get(0).getColumns().stream()
          .filter(chunk -> chunk.getMeta_data().getPath_in_schema().get(0).equals(column))
          .findFirst()
          .orElseThrow();
    }

    static long start(ColumnMetaData chunk) {
      return chunk.isSetDictionary_page_offset()
          ? chunk.getDictionary_page_offset()
          : chunk.getData_page_offset();
    }

    /* The place of the nth data page's header; -1 for the dictionary's. */
    int pageAt(String column, int nth) throws IOException {
      ColumnMetaData chunk = chunk(column).getMeta_data();
      int at = (int) start(chunk);
      int page = chunk.isSetDictionary_page_offset() ? -1 : 0;
      while (page < nth) {
        ByteArrayInputStream in = new ByteArrayInputStream(body, at, body.length - at);
        PageHeader header = Util.readPageHeader(in);
        at = body.length - in.available() + header.getCompressed_page_size();
        page++;
      }
      return at;
    }

    boolean header(String column, int nth, OfHeader change) throws IOException {
      int at = pageAt(column, nth);
      ByteArrayInputStream in = new ByteArrayInputStream(body, at, body.length - at);
      PageHeader header = Util.readPageHeader(in);
      int length = body.length - at - in.available();
      if (!change.change(header)) {
        return false;
      }
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      Util.writePageHeader(header, out);
      if (out.size() != length) {
        return false;
      }
      System.arraycopy(out.toByteArray(), 0, body, at, length);
      return true;
    }

    /* Appends something before the footer and says where. */
    long append(ByteArrayOutputStream what) {
      long at = body.length;
      body = Arrays.copyOf(body, body.length + what.size());
      System.arraycopy(what.toByteArray(), 0, body, (int) at, what.size());
      return at;
    }
  }

  private ParquetLies() {}

  /** Changes the file; false if the lie cannot be told of it: it is as it was then. */
  static boolean tell(Path file, Lie lie) throws IOException {
    Parts parts = new Parts(Files.readAllBytes(file));
    if (!lie.telling().tell(parts)) {
      return false;
    }
    Files.write(file, parts.bytes());
    return true;
  }

  static List<Lie> all() {
    List<Lie> lies = new ArrayList<>();
    for (String column : List.of("id", "text", "number", "tags")) {
      ofHeaders(column, lies);
      ofFooter(column, lies);
      ofIndexes(column, lies);
    }
    return lies;
  }

  private static void ofHeaders(String column, List<Lie> lies) {
    header(lies, column, "one value more", 1, header -> addValues(header, 1));
    header(lies, column, "one value less", 1, header -> addValues(header, -1));
    header(
        lies,
        column,
        "one byte more once decompressed",
        1,
        header -> header.setUncompressed_page_size(header.getUncompressed_page_size() + 1) != null);
    header(
        lies,
        column,
        "one byte less",
        1,
        header -> header.setCompressed_page_size(header.getCompressed_page_size() - 1) != null);
    header(
        lies,
        column,
        "one byte more",
        1,
        header -> header.setCompressed_page_size(header.getCompressed_page_size() + 1) != null);
    header(
        lies,
        column,
        "another encoding",
        1,
        header -> encoding(header, Encoding.BYTE_STREAM_SPLIT));
    header(lies, column, "dictionary numbers or not", 1, ParquetLies::dictionaryOrNot);
    header(lies, column, "one null more", 1, header -> addNulls(header, 1));
    header(lies, column, "one row more", 1, header -> addRows(header, 1));
    header(lies, column, "one row less", 1, header -> addRows(header, -1));
    header(
        lies,
        column,
        "longer levels",
        1,
        header ->
            header.isSetData_page_header_v2()
                && header
                        .getData_page_header_v2()
                        .setDefinition_levels_byte_length(
                            header.getData_page_header_v2().getDefinition_levels_byte_length() + 1)
                    != null);
    header(
        lies,
        column,
        "a page of another kind",
        1,
        header -> {
          header.setType(PageType.INDEX_PAGE);
          return true;
        });
    header(
        lies,
        column,
        "a larger dictionary",
        -1,
        header ->
            header.isSetDictionary_page_header()
                && header
                        .getDictionary_page_header()
                        .setNum_values(header.getDictionary_page_header().getNum_values() + 1)
                    != null);
    lies.add(
        new Lie(
            column + ": bytes of a page changed",
            file -> {
              int at = file.pageAt(column, 2) - 5;
              for (int i = 0; i < 4; i++) {
                file.body[at + i] ^= (byte) 0xA5;
              }
              return true;
            }));
    lies.add(
        new Lie(
            column + ": bytes of the dictionary changed",
            file -> {
              if (!file.chunk(column).getMeta_data().isSetDictionary_page_offset()) {
                return false;
              }
              file.body[file.pageAt(column, 0) - 5] ^= (byte) 0xA5;
              return true;
            }));
    lies.add(
        new Lie(
            column + ": no header where one is",
            file -> {
              int at = file.pageAt(column, 1);
              Arrays.fill(file.body, at, at + 6, (byte) 0xFF);
              return true;
            }));
    header(
        lies,
        column,
        "another checksum",
        1,
        header -> {
          boolean hasOne = header.isSetCrc();
          header.setCrc(hasOne ? header.getCrc() ^ 1 : 0);
          return hasOne;
        });
  }

  private static boolean addValues(PageHeader header, int more) {
    DataPageHeader first = header.getData_page_header();
    DataPageHeaderV2 second = header.getData_page_header_v2();
    if (second != null) {
      second.setNum_values(second.getNum_values() + more);
    } else {
      first.setNum_values(first.getNum_values() + more);
    }
    return true;
  }

  private static boolean addNulls(PageHeader header, int more) {
    DataPageHeaderV2 second = header.getData_page_header_v2();
    if (second == null) {
      return false;
    }
    second.setNum_nulls(second.getNum_nulls() + more);
    return true;
  }

  private static boolean addRows(PageHeader header, int more) {
    DataPageHeaderV2 second = header.getData_page_header_v2();
    if (second == null) {
      return false;
    }
    second.setNum_rows(second.getNum_rows() + more);
    return true;
  }

  private static boolean encoding(PageHeader header, Encoding encoding) {
    if (header.isSetData_page_header_v2()) {
      header.getData_page_header_v2().setEncoding(encoding);
    } else {
      header.getData_page_header().setEncoding(encoding);
    }
    return true;
  }

  private static boolean dictionaryOrNot(PageHeader header) {
    Encoding is =
        header.isSetData_page_header_v2()
            ? header.getData_page_header_v2().getEncoding()
            : header.getData_page_header().getEncoding();
    boolean isOfIds = is == Encoding.PLAIN_DICTIONARY || is == Encoding.RLE_DICTIONARY;
    return encoding(header, isOfIds ? Encoding.PLAIN : Encoding.RLE_DICTIONARY);
  }

  private static void header(
      List<Lie> lies, String column, String name, int page, OfHeader change) {
    lies.add(
        new Lie(
            column + ": " + name,
            file ->
                (page >= 0 || file.chunk(column).getMeta_data().isSetDictionary_page_offset())
                    && file.header(column, page, change)));
  }

  private static void ofFooter(String column, List<Lie> lies) {
    chunk(lies, column, "the chunk ends early", chunk -> addBytes(chunk, -100));
    chunk(lies, column, "the chunk ends late", chunk -> addBytes(chunk, 100));
    chunk(
        lies,
        column,
        "the chunk has a value more",
        chunk ->
            chunk.getMeta_data().setNum_values(chunk.getMeta_data().getNum_values() + 1) != null);
    chunk(
        lies,
        column,
        "the chunk has a value less",
        chunk ->
            chunk.getMeta_data().setNum_values(chunk.getMeta_data().getNum_values() - 1) != null);
    chunk(
        lies,
        column,
        "the chunk is beyond the file",
        chunk -> {
          chunk.getMeta_data().unsetDictionary_page_offset();
          chunk.getMeta_data().setData_page_offset(1L << 40);
          return true;
        });
    chunk(
        lies,
        column,
        "no dictionary where one is needed",
        chunk -> {
          ColumnMetaData of = chunk.getMeta_data();
          if (!of.isSetDictionary_page_offset()) {
            return false;
          }
          long length = of.getData_page_offset() - of.getDictionary_page_offset();
          of.setTotal_compressed_size(of.getTotal_compressed_size() - length);
          of.unsetDictionary_page_offset();
          return true;
        });
  }

  private static boolean addBytes(ColumnChunk chunk, int more) {
    ColumnMetaData of = chunk.getMeta_data();
    of.setTotal_compressed_size(of.getTotal_compressed_size() + more);
    return true;
  }

  private static void chunk(List<Lie> lies, String column, String name, OfChunk change) {
    lies.add(new Lie(column + ": " + name, file -> change.change(file.chunk(column))));
  }

  private static void ofIndexes(String column, List<Lie> lies) {
    lies.add(
        new Lie(
            column + ": column index without the last page",
            file -> columnIndex(file, column, ParquetLies::withoutLast)));
    lies.add(
        new Lie(
            column + ": column index with fewer bounds than pages",
            file ->
                columnIndex(
                    file,
                    column,
                    index -> index.setMin_values(index.getMin_values().subList(0, 1)))));
    lies.add(
        new Lie(
            column + ": column index with bounds of no bytes",
            file ->
                columnIndex(
                    file,
                    column,
                    index -> index.getMin_values().replaceAll(bound -> ByteBuffer.allocate(0)))));
    lies.add(
        new Lie(
            column + ": column index that is none",
            file -> {
              ByteArrayOutputStream noise = new ByteArrayOutputStream();
              noise.writeBytes(new byte[] {(byte) 0xFF, 1, 2, 3, (byte) 0xFF, 0x7F, 9, 9});
              file.chunk(column).setColumn_index_offset(file.append(noise));
              file.chunk(column).setColumn_index_length(noise.size());
              return true;
            }));
    lies.add(
        new Lie(
            column + ": offset index with a row more in a page",
            file -> offsetIndex(file, column, ParquetLies::moveRow)));
    lies.add(
        new Lie(
            column + ": offset index with a page less",
            file ->
                offsetIndex(
                    file,
                    column,
                    index ->
                        index.getPage_locations().remove(index.getPage_locations().size() - 1))));
    lies.add(
        new Lie(
            column + ": offset index with rows in no order",
            file ->
                offsetIndex(
                    file,
                    column,
                    index -> index.getPage_locations().get(1).setFirst_row_index(1L << 40))));
  }

  private static void moveRow(OffsetIndex index) {
    PageLocation second = index.getPage_locations().get(1);
    second.setFirst_row_index(second.getFirst_row_index() + 1);
  }

  private static void withoutLast(ColumnIndex index) {
    int last = index.getNull_pages().size() - 1;
    index.getNull_pages().remove(last);
    index.getMin_values().remove(last);
    index.getMax_values().remove(last);
    index.unsetNull_counts();
    index.unsetDefinition_level_histograms();
    index.unsetRepetition_level_histograms();
  }

  @FunctionalInterface
  private interface OfColumnIndex {
    void change(ColumnIndex index);
  }

  @FunctionalInterface
  private interface OfOffsetIndex {
    void change(OffsetIndex index);
  }

  private static boolean columnIndex(Parts file, String column, OfColumnIndex change)
      throws IOException {
    ColumnChunk chunk = file.chunk(column);
    ColumnIndex index =
        Util.readColumnIndex(
            new ByteArrayInputStream(
                file.body, (int) chunk.getColumn_index_offset(), chunk.getColumn_index_length()));
    change.change(index);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Util.writeColumnIndex(index, out);
    chunk.setColumn_index_offset(file.append(out));
    chunk.setColumn_index_length(out.size());
    return true;
  }

  private static boolean offsetIndex(Parts file, String column, OfOffsetIndex change)
      throws IOException {
    ColumnChunk chunk = file.chunk(column);
    OffsetIndex index =
        Util.readOffsetIndex(
            new ByteArrayInputStream(
                file.body, (int) chunk.getOffset_index_offset(), chunk.getOffset_index_length()));
    change.change(index);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Util.writeOffsetIndex(index, out);
    chunk.setOffset_index_offset(file.append(out));
    chunk.setOffset_index_length(out.size());
    return true;
  }
}
