package dev.firn.engine.parquet;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.statistics.SizeStatistics;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.format.DataPageHeader;
import org.apache.parquet.format.DataPageHeaderV2;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.PageHeader;
import org.apache.parquet.format.PageType;
import org.apache.parquet.format.converter.ParquetMetadataConverter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.internal.column.columnindex.ColumnIndex;
import org.apache.parquet.internal.column.columnindex.OffsetIndex;
import org.apache.parquet.io.ParquetDecodingException;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.jspecify.annotations.Nullable;

/**
 * The pages of a column chunk that is spliced: where they are, which rows they have and what is
 * known of their values. Made from headers, indexes and the footer alone. Thread-safe.
 */
final class SourceChunk {

  /**
   * Where a chunk comes from, and what its file says of it.
   *
   * @param location of the file, for messages
   * @param rowGroup ordinal, for messages
   * @param rows of the row group
   * @param entries of the chunk, nulls among them
   * @param bytes of its pages
   * @param columnIndexBytes of the index that follows them, 0 if there is none
   * @param offsetIndexBytes of the other index, which follows that
   * @param statistics of the chunk, null if there are none
   * @param sizes of the chunk, null if there are none
   * @param createdBy the writer of the file; readers work around bugs of old ones. Null if unknown
   */
  record Origin(
      String location,
      int rowGroup,
      long rows,
      long entries,
      int bytes,
      int columnIndexBytes,
      int offsetIndexBytes,
      CompressionCodecName codec,
      org.apache.parquet.format.@Nullable Statistics statistics,
      org.apache.parquet.format.@Nullable SizeStatistics sizes,
      @Nullable String createdBy) {}

  /**
   * A data page.
   *
   * @param number among the data pages of the chunk
   * @param at where its content begins in the chunk
   * @param length of its content
   * @param firstRow in the row group
   */
  record Page(
      PageHeader header, int number, int at, int length, int firstRow, int rows, int entries) {

    boolean isV2() {
      return header.getType() == PageType.DATA_PAGE_V2;
    }

    Encoding encoding() {
      return isV2()
          ? header.getData_page_header_v2().getEncoding()
          : header.getData_page_header().getEncoding();
    }

    /** The encoding as parquet-java names it. */
    org.apache.parquet.column.Encoding columnEncoding() {
      return org.apache.parquet.column.Encoding.valueOf(encoding().name());
    }

    boolean isOfIds() {
      return encoding() == Encoding.PLAIN_DICTIONARY || encoding() == Encoding.RLE_DICTIONARY;
    }

    int endRow() {
      return firstRow + rows;
    }
  }

  /**
   * What the file says of the values of a data page.
   *
   * @param nulls -1 if that is not known
   * @param statistics with the nulls if they are known; null if that is not enough
   * @param isExact whether the bounds in {@code statistics} are values of the page
   * @param sizes null if they are not known
   */
  record Known(
      int nulls,
      @Nullable Statistics<?> statistics,
      boolean isExact,
      @Nullable SizeStatistics sizes) {}

  /** The indexes of a chunk; each null if there is none, or none that can be read. */
  private record Indexes(@Nullable ColumnIndex ofColumn, @Nullable OffsetIndex ofOffsets) {}

  /* Indexes have bounds of at most 64 bytes each, unless a writer was told otherwise. */
  private static final int BOUND_BYTES_MAX = 128;

  private final RawChunk raw;
  private final ColumnDescriptor column;
  private final PrimitiveType type; // as the output has it, for statistics
  private final Origin origin;
  private final List<Page> pages = new ArrayList<>();
  private @Nullable PageHeader dictionaryHeader; // null if there is none
  private int dictionaryAt;
  private volatile @Nullable SourceDictionary dictionary; // null before it is needed
  private volatile @Nullable Indexes indexes; // the same

  /**
   * @param raw its count is taken over and released by {@link #close()}; after a failure it is the
   *     caller's still
   * @param column as the file has it, of the same physical type as the output's
   * @param type as the output has it
   * @throws CorruptFileException if the pages are not what the footer says, or one is not what its
   *     checksum says
   * @throws UnsupportedPageException if a page can only be decoded by another reader
   */
  SourceChunk(RawChunk raw, ColumnDescriptor column, PrimitiveType type, Origin origin) {
    this.raw = raw;
    this.column = column;
    this.type = type;
    this.origin = origin;
    try {
      read();
    } catch (MalformedPageException | IOException malformed) {
      throw corrupt(malformed.getMessage());
    }
  }

  private void read() throws IOException {
    List<PageHeader> headers = new ArrayList<>();
    List<Integer> places = new ArrayList<>();
    long entries = 0;
    int at = 0;
    while (entries < origin.entries()) {
      if (at >= origin.bytes()) {
        throw new MalformedPageException("it ends after " + entries + " values");
      }
      ByteBuffer rest = raw.slice(at, origin.bytes() - at);
      PageHeader header = ThriftBytes.pageHeader(rest);
      int content = origin.bytes() - rest.remaining();
      int length = header.getCompressed_page_size();
      if (length < 0 || length > origin.bytes() - content) {
        throw new MalformedPageException("a page is said to have " + length + " bytes");
      }
      check(header, content, length);
      if (header.getType() == PageType.DICTIONARY_PAGE && headers.isEmpty() && at == 0) {
        if (!header.isSetDictionary_page_header()) {
          throw new MalformedPageException("its dictionary page has no header");
        }
        dictionaryHeader = header;
        dictionaryAt = content;
      } else {
        entries += entries(header);
        headers.add(header);
        places.add(content);
      }
      at = content + length;
    }
    if (entries != origin.entries()) {
      throw new MalformedPageException(
          "its pages have " + entries + " values, the footer says " + origin.entries());
    }
    long row = 0;
    for (int page = 0; page < headers.size(); page++) {
      PageHeader header = headers.get(page);
      long rows = rows(header, page, headers.size());
      if (rows < 0 || row + rows > origin.rows()) {
        throw new MalformedPageException("its pages have more rows than the row group");
      }
      pages.add(
          new Page(
              header,
              page,
              places.get(page),
              header.getCompressed_page_size(),
              (int) row,
              (int) rows,
              entries(header)));
      row += rows;
    }
    if (row != origin.rows()) {
      throw new MalformedPageException(
          "its pages have " + row + " rows, the row group has " + origin.rows());
    }
  }

  private void check(PageHeader header, int content, int length) {
    if (!header.isSetCrc()) {
      return;
    }
    CRC32 crc = new CRC32();
    crc.update(raw.slice(content, length));
    if ((int) crc.getValue() != header.getCrc()) {
      throw new MalformedPageException(
          "a page of "
              + length
              + " bytes does not have the checksum in its header: its bytes have changed since it"
              + " was written");
    }
  }

  private int entries(PageHeader header) {
    Encoding encoding;
    int entries;
    if (header.getType() == PageType.DATA_PAGE && header.isSetData_page_header()) {
      DataPageHeader first = header.getData_page_header();
      encoding = first.getEncoding();
      entries = first.getNum_values();
    } else if (header.getType() == PageType.DATA_PAGE_V2 && header.isSetData_page_header_v2()) {
      DataPageHeaderV2 second = header.getData_page_header_v2();
      encoding = second.getEncoding();
      entries = second.getNum_values();
    } else {
      throw new UnsupportedPageException("it has a page of type " + header.getType());
    }
    if (entries < 0) {
      throw new MalformedPageException("a page is said to have " + entries + " values");
    }
    PrimitiveTypeName type = column.getPrimitiveType().getPrimitiveTypeName();
    if (encoding == null || !PageContent.supports(encoding, type)) {
      throw new UnsupportedPageException("encoding " + encoding);
    }
    if (entries * 16L + header.getUncompressed_page_size() > PageTools.PAGE_MEMORY_BYTES_MAX) {
      throw new UnsupportedPageException("a page of " + entries + " values");
    }
    return entries;
  }

  private long rows(PageHeader header, int page, int pageCount) {
    if (column.getMaxRepetitionLevel() == 0) {
      return entries(header);
    }
    if (header.isSetData_page_header_v2()) {
      return header.getData_page_header_v2().getNum_rows();
    }
    OffsetIndex offsetIndex = indexes(pageCount).ofOffsets();
    if (offsetIndex == null) {
      throw new UnsupportedPageException("rows of a list without an offset index");
    }
    return offsetIndex.getLastRowIndex(page, origin.rows())
        - offsetIndex.getFirstRowIndex(page)
        + 1;
  }

  /** What the file says of a page; not kept. */
  Known known(Page page) {
    boolean isInFooter = isInFooter();
    Statistics<?> statistics = isInFooter ? stored(origin.statistics()) : null;
    if (statistics == null || !isKnown(statistics, page)) {
      statistics = indexed(page.number());
    }
    if (statistics == null) {
      statistics = ofHeader(page.header());
    }
    int nulls = -1;
    if (column.getMaxDefinitionLevel() == 0) {
      nulls = 0;
    } else if (page.header().isSetData_page_header_v2()) {
      nulls = page.header().getData_page_header_v2().getNum_nulls();
    } else if (statistics != null && statistics.isNumNullsSet()) {
      nulls = (int) statistics.getNumNulls();
    }
    if (statistics != null) {
      boolean isKnown = nulls >= 0 && (statistics.hasNonNullValue() || nulls == page.entries());
      if (isKnown) {
        statistics.setNumNulls(nulls);
      } else {
        statistics = null;
      }
    }
    SizeStatistics sizes = isInFooter ? sizesOfChunk() : null;
    return new Known(
        nulls,
        statistics,
        statistics != null && isExact(statistics),
        sizes == null ? indexedSizes(page.number()) : sizes);
  }

  /* Whether the footer says of the chunk what an index says of its one page. Of writers without
  indexes, some do not count what is null since a struct around it is: no leaf in a struct is taken,
  and no chunk without an index. Bounds are kept on the heap, so not longer ones than in indexes. */
  private boolean isInFooter() {
    org.apache.parquet.format.Statistics stored = origin.statistics();
    return pages.size() == 1
        && origin.columnIndexBytes() > 0
        && column.getMaxDefinitionLevel() <= 1
        && column.getMaxRepetitionLevel() == 0
        && stored != null
        && boundBytes(stored.min_value) + boundBytes(stored.max_value) <= BOUND_BYTES_MAX
        && boundBytes(stored.min) + boundBytes(stored.max) <= BOUND_BYTES_MAX;
  }

  private static int boundBytes(@Nullable ByteBuffer bound) {
    return bound == null ? 0 : bound.remaining();
  }

  private static boolean isKnown(Statistics<?> statistics, Page page) {
    return statistics.isNumNullsSet()
        && (statistics.hasNonNullValue() || statistics.getNumNulls() == page.entries());
  }

  private @Nullable Statistics<?> indexed(int page) {
    ColumnIndex index = indexes(pages.size()).ofColumn();
    if (index == null) {
      return null;
    }
    Statistics.Builder builder = Statistics.getBuilderForReading(type);
    if (!index.getNullPages().get(page)) {
      builder
          .withMin(bytes(index.getMinValues().get(page)))
          .withMax(bytes(index.getMaxValues().get(page)));
    }
    List<Long> nulls = index.getNullCounts();
    if (nulls != null && nulls.size() > page) {
      builder.withNumNulls(nulls.get(page));
    }
    return build(builder);
  }

  private @Nullable Statistics<?> ofHeader(PageHeader header) {
    org.apache.parquet.format.Statistics stored =
        header.isSetData_page_header_v2()
            ? header.getData_page_header_v2().getStatistics()
            : header.getData_page_header().getStatistics();
    return stored(stored);
  }

  private @Nullable Statistics<?> stored(org.apache.parquet.format.@Nullable Statistics stored) {
    if (stored == null) {
      return null;
    }
    try {
      return new ParquetMetadataConverter().fromParquetStatistics(origin.createdBy(), stored, type);
    } catch (RuntimeException malformed) {
      return null; // as if it had none
    }
  }

  /* A bound of the wrong length is none. */
  private static @Nullable Statistics<?> build(Statistics.Builder builder) {
    try {
      return builder.build();
    } catch (RuntimeException malformed) {
      return null;
    }
  }

  private static byte[] bytes(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.duplicate().get(bytes);
    return bytes;
  }

  /* Bounds of byte strings can have been cut. Zeros may have got another sign than they have. */
  private boolean isExact(Statistics<?> statistics) {
    if (!statistics.hasNonNullValue()) {
      return true;
    }
    return switch (column.getType()) {
      case FLOAT, DOUBLE -> {
        double min = ((Number) statistics.genericGetMin()).doubleValue();
        double max = ((Number) statistics.genericGetMax()).doubleValue();
        yield min != 0 && max != 0;
      }
      case BINARY -> false;
      case FIXED_LEN_BYTE_ARRAY -> {
        int width = column.getTypeLength();
        yield statistics.getMinBytes().length == width && statistics.getMaxBytes().length == width;
      }
      default -> true;
    };
  }

  /* Of a column without histograms of levels. */
  private @Nullable SizeStatistics sizesOfChunk() {
    if (column.getType() != PrimitiveTypeName.BINARY) {
      return new SizeStatistics(type, 0, List.of(), List.of());
    }
    org.apache.parquet.format.SizeStatistics stored = origin.sizes();
    return stored == null || !stored.isSetUnencoded_byte_array_data_bytes()
        ? null
        : new SizeStatistics(
            type, stored.getUnencoded_byte_array_data_bytes(), List.of(), List.of());
  }

  private @Nullable SizeStatistics indexedSizes(int page) {
    ColumnIndex columnIndex = indexes(pages.size()).ofColumn();
    OffsetIndex offsetIndex = indexes(pages.size()).ofOffsets();
    int definitionMax = column.getMaxDefinitionLevel();
    int repetitionMax = column.getMaxRepetitionLevel();
    long unencoded = 0;
    if (column.getType() == PrimitiveTypeName.BINARY) {
      if (offsetIndex == null || offsetIndex.getUnencodedByteArrayDataBytes(page).isEmpty()) {
        return null;
      }
      unencoded = offsetIndex.getUnencodedByteArrayDataBytes(page).get();
    }
    List<Long> repetitions = List.of();
    List<Long> definitions = List.of();
    if (repetitionMax > 0 || definitionMax > 1) {
      if (columnIndex == null) {
        return null;
      }
      repetitions = histogram(columnIndex.getRepetitionLevelHistogram(), page, repetitionMax, 0);
      definitions = histogram(columnIndex.getDefinitionLevelHistogram(), page, definitionMax, 1);
      if (repetitions.isEmpty() && repetitionMax > 0
          || definitions.isEmpty() && definitionMax > 1) {
        return null;
      }
    }
    return new SizeStatistics(type, unencoded, repetitions, definitions);
  }

  private static List<Long> histogram(
      @Nullable List<Long> ofAllPages, int page, int levelMax, int levelsWithout) {
    int levels = levelMax + 1;
    return levelMax <= levelsWithout
            || ofAllPages == null
            || ofAllPages.size() < (page + 1) * levels
        ? List.of()
        : List.copyOf(ofAllPages.subList(page * levels, (page + 1) * levels));
  }

  private Indexes indexes(int pageCount) {
    Indexes known = indexes;
    if (known == null) {
      ColumnIndex ofColumn = columnIndex();
      OffsetIndex ofOffsets = offsetIndex();
      known =
          new Indexes(
              ofColumn == null || ofColumn.getNullPages().size() != pageCount ? null : ofColumn,
              ofOffsets == null || ofOffsets.getPageCount() != pageCount ? null : ofOffsets);
      indexes = known;
    }
    return known;
  }

  private @Nullable ColumnIndex columnIndex() {
    if (origin.columnIndexBytes() == 0) {
      return null;
    }
    try {
      byte[] stored = stored(origin.bytes(), origin.columnIndexBytes());
      return ParquetMetadataConverter.fromParquetColumnIndex(type, ThriftBytes.columnIndex(stored));
    } catch (IOException | RuntimeException malformed) {
      return null; // the pages are looked into then
    }
  }

  private @Nullable OffsetIndex offsetIndex() {
    if (origin.offsetIndexBytes() == 0) {
      return null;
    }
    try {
      byte[] stored = stored(origin.bytes() + origin.columnIndexBytes(), origin.offsetIndexBytes());
      return ParquetMetadataConverter.fromParquetOffsetIndex(ThriftBytes.offsetIndex(stored));
    } catch (IOException | RuntimeException malformed) {
      return null;
    }
  }

  private byte[] stored(int from, int length) {
    byte[] bytes = new byte[length];
    raw.slice(from, length).get(bytes);
    return bytes;
  }

  List<Page> pages() {
    return pages;
  }

  CompressionCodecName codec() {
    return origin.codec();
  }

  RawChunk raw() {
    return raw;
  }

  /** Bytes as they are stored. */
  long bytes() {
    return raw.length();
  }

  ColumnDescriptor column() {
    return column;
  }

  /** The content of a page as it is stored; valid as long as the chunk is retained. */
  ByteBuffer stored(Page page) {
    return raw.slice(page.at(), page.length());
  }

  /** The dictionary; null if the chunk has none. */
  @Nullable SourceDictionary dictionary(PageTools tools) throws IOException {
    PageHeader header = dictionaryHeader;
    if (header == null) {
      return null;
    }
    SourceDictionary known = dictionary;
    if (known == null) {
      try {
        tools.decodeDictionary(
            header, raw.slice(dictionaryAt, header.getCompressed_page_size()), codec(), column);
        known = SourceDictionary.of(tools.content());
      } catch (MalformedPageException | ParquetDecodingException malformed) {
        throw corrupt("its dictionary: " + malformed.getMessage());
      }
      dictionary = known;
    }
    return known;
  }

  /**
   * What is in a page. Valid until the tools are used for another.
   *
   * @throws CorruptFileException if the page is not what its header says
   */
  PageRows decode(Page page, PageTools tools) throws IOException {
    SourceDictionary entries = page.isOfIds() ? dictionary(tools) : null;
    int size = entries == null ? 0 : entries.size();
    PageContent content = tools.content();
    try {
      tools.decode(page.header(), stored(page), codec(), column, size);
    } catch (MalformedPageException malformed) {
      throw corrupt(malformed.getMessage());
    }
    if (column.getMaxRepetitionLevel() > 0) {
      checkRows(page, content);
    }
    return new PageRows(content, entries, page.rows());
  }

  /**
   * What is compressed in {@code part} of a page. Valid until the tools are used for another.
   *
   * @throws CorruptFileException if it is not what the codec makes, or not so many bytes
   */
  ByteBuffer inflate(ByteBuffer part, int size, PageTools tools) throws IOException {
    try {
      return tools.inflate(codec(), part, size);
    } catch (MalformedPageException malformed) {
      throw corrupt(malformed.getMessage());
    }
  }

  /** Bytes of levels before the values of a page of the second version. */
  int levelBytes(Page page) {
    try {
      return PageTools.levelBytes(page.header(), page.length());
    } catch (MalformedPageException malformed) {
      throw corrupt(malformed.getMessage());
    }
  }

  private void checkRows(Page page, PageContent content) {
    byte[] repetitions = content.repetitions();
    int rows = 0;
    for (int entry = 0; entry < content.entries(); entry++) {
      rows += repetitions[entry] == 0 ? 1 : 0;
    }
    if (rows != page.rows() || content.entries() > 0 && repetitions[0] != 0) {
      throw corrupt("a page has " + rows + " rows, its index says " + page.rows());
    }
  }

  /** Releases the bytes, unless pages of them are kept elsewhere. */
  void close() {
    raw.release();
  }

  CorruptFileException corrupt(@Nullable String why) {
    return ParquetFooter.corrupt(
        origin.location(),
        "column "
            + String.join(".", column.getPath())
            + " in row group "
            + origin.rowGroup()
            + ": "
            + why);
  }
}
