package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.PrimitiveIterator;
import java.util.Random;
import java.util.Set;
import java.util.function.Predicate;
import java.util.zip.CRC32;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ColumnReader;
import org.apache.parquet.column.impl.ColumnReadStoreImpl;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.column.statistics.SizeStatistics;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.column.values.bloomfilter.BloomFilter;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.PageEncodingStats;
import org.apache.parquet.format.PageHeader;
import org.apache.parquet.format.PageType;
import org.apache.parquet.format.Util;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.internal.column.columnindex.BoundaryOrder;
import org.apache.parquet.internal.column.columnindex.ColumnIndex;
import org.apache.parquet.internal.column.columnindex.OffsetIndex;
import org.apache.parquet.io.LocalInputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.io.api.Converter;
import org.apache.parquet.io.api.GroupConverter;
import org.apache.parquet.io.api.PrimitiveConverter;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveComparator;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;

/**
 * Holds what a Parquet file says of its pages against what is in them, as parquet-java reads them:
 * footer, page headers, column and offset index, size statistics, bloom filters.
 */
final class ParquetTruth implements AutoCloseable {
  private final Path path;
  private final byte[] bytes;
  private final FileMetaData raw;
  private final ParquetFileReader reader;
  private final MessageType schema;
  private final List<Map<ColumnDescriptor, List<Entry>>> entries = new ArrayList<>();

  /** A value, or where one is missing, with its levels. */
  private record Entry(int repetition, int definition, Object value) {}

  private record Page(
      PageHeader header, long at, int bytes, int firstEntry, int entries, long firstRow) {
    boolean isV2() {
      return header.getType() == PageType.DATA_PAGE_V2;
    }

    Encoding encoding() {
      return isV2()
          ? header.getData_page_header_v2().getEncoding()
          : header.getData_page_header().getEncoding();
    }

    boolean isOfIds() {
      return encoding() == Encoding.PLAIN_DICTIONARY || encoding() == Encoding.RLE_DICTIONARY;
    }
  }

  private ParquetTruth(Path path) throws IOException {
    this.path = path;
    this.bytes = Files.readAllBytes(path);
    int length = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt(bytes.length - 8);
    this.raw =
        Util.readFileMetaData(new ByteArrayInputStream(bytes, bytes.length - 8 - length, length));
    this.reader = ParquetFileReader.open(new LocalInputFile(path));
    this.schema = reader.getFileMetaData().getSchema();
  }

  static ParquetTruth of(Path path) throws IOException {
    return new ParquetTruth(path);
  }

  /**
   * Checks everything.
   *
   * @param bloomFilters names of columns that are to have one
   */
  void check(Set<String> bloomFilters) throws IOException {
    for (int group = 0; group < reader.getRowGroups().size(); group++) {
      BlockMetaData block = reader.getRowGroups().get(group);
      Map<ColumnDescriptor, List<Entry>> columns = entries(group);
      for (ColumnDescriptor column : schema.getColumns()) {
        ColumnChunkMetaData chunk = chunk(block, column);
        check(group, block, column, chunk, columns.get(column), bloomFilters);
      }
    }
  }

  private Map<ColumnDescriptor, List<Entry>> entries(int group) throws IOException {
    while (entries.size() <= group) {
      PageReadStore store = reader.readRowGroup(entries.size());
      entries.add(read(store, schema, store.getRowCount()));
    }
    return entries.get(group);
  }

  private static ColumnChunkMetaData chunk(BlockMetaData block, ColumnDescriptor column) {
    return block.getColumns().stream()
        .filter(chunk -> Arrays.equals(chunk.getPath().toArray(), column.getPath()))
        .findFirst()
        .orElseThrow();
  }

  /** How many data pages the column chunks of a column have, row group by row group. */
  List<Integer> pageCounts(String column) throws IOException {
    List<Integer> counts = new ArrayList<>();
    for (BlockMetaData block : reader.getRowGroups()) {
      for (ColumnChunkMetaData chunk : block.getColumns()) {
        if (chunk.getPath().toDotString().equals(column)) {
          counts.add(reader.readOffsetIndex(chunk).getPageCount());
        }
      }
    }
    return counts;
  }

  /** The paths of all leaf columns, dotted. */
  List<String> columns() {
    return schema.getColumns().stream().map(column -> String.join(".", column.getPath())).toList();
  }

  /** The types of the data pages of a column, row group by row group. */
  List<PageType> pageTypes(String column) throws IOException {
    return dataPages(column).stream().map(page -> page.header().getType()).toList();
  }

  /** The encodings of the data pages of a column, row group by row group. */
  List<Encoding> encodings(String column) throws IOException {
    return dataPages(column).stream().map(Page::encoding).toList();
  }

  private List<Page> dataPages(String column) throws IOException {
    List<Page> found = new ArrayList<>();
    for (int group = 0; group < reader.getRowGroups().size(); group++) {
      for (ColumnChunkMetaData chunk : reader.getRowGroups().get(group).getColumns()) {
        if (chunk.getPath().toDotString().equals(column)) {
          ColumnDescriptor of = schema.getColumnDescription(chunk.getPath().toArray());
          found.addAll(pages(chunk, entries(group).get(of), new ArrayList<>()));
        }
      }
    }
    return found;
  }

  // ---- a chunk

  private void check(
      int group,
      BlockMetaData block,
      ColumnDescriptor column,
      ColumnChunkMetaData chunk,
      List<Entry> of,
      Set<String> bloomFilters)
      throws IOException {
    String name = String.join(".", column.getPath()) + " in row group " + group + " of " + path;
    assertThat(chunk.getValueCount()).as("values of %s", name).isEqualTo(of.size());
    assertThat(of.stream().filter(entry -> entry.repetition() == 0).count())
        .as("rows of %s", name)
        .isEqualTo(block.getRowCount());
    List<PageHeader> dictionaries = new ArrayList<>();
    List<Page> pages = pages(chunk, of, dictionaries);
    checkSizes(name, group, column, chunk, pages, dictionaries);
    checkHeaders(name, column, pages, of);
    checkOrder(name, pages, of);
    OffsetIndex offsets = reader.readOffsetIndex(chunk);
    assertThat(offsets).as("offset index of %s", name).isNotNull();
    checkOffsets(name, offsets, pages);
    checkStatistics(name, column, chunk.getStatistics(), of, true);
    checkColumnIndex(name, column, chunk, pages, of);
    checkSizeStatistics(name, column, chunk, offsets, pages, of);
    checkBloomFilter(name, column, chunk, pages, of, bloomFilters);
  }

  /* All pages of the chunk, dictionaries apart; the checksums are checked. */
  private List<Page> pages(ColumnChunkMetaData chunk, List<Entry> of, List<PageHeader> dictionaries)
      throws IOException {
    int at = (int) chunk.getStartingPos();
    int end = (int) (at + chunk.getTotalSize());
    List<Page> pages = new ArrayList<>();
    int entry = 0;
    long row = 0;
    while (at < end) {
      ByteArrayInputStream in = new ByteArrayInputStream(bytes, at, end - at);
      PageHeader header = Util.readPageHeader(in);
      int content = end - in.available();
      int length = header.getCompressed_page_size();
      if (header.isSetCrc()) {
        CRC32 crc = new CRC32();
        crc.update(bytes, content, length);
        assertThat(header.getCrc())
            .as("checksum at %d in %s", at, path)
            .isEqualTo((int) crc.getValue());
      }
      if (header.getType() == PageType.DICTIONARY_PAGE) {
        assertThat(pages).as("pages before the dictionary").isEmpty();
        dictionaries.add(header);
      } else {
        int count =
            header.isSetData_page_header_v2()
                ? header.getData_page_header_v2().getNum_values()
                : header.getData_page_header().getNum_values();
        pages.add(new Page(header, at, content + length - at, entry, count, row));
        for (int i = 0; i < count; i++) {
          row += of.get(entry++).repetition() == 0 ? 1 : 0;
        }
      }
      at = content + length;
    }
    assertThat(at).as("end of the chunk").isEqualTo(end);
    assertThat(entry).as("values in pages").isEqualTo(of.size());
    return pages;
  }

  private void checkSizes(
      String name,
      int group,
      ColumnDescriptor column,
      ColumnChunkMetaData chunk,
      List<Page> pages,
      List<PageHeader> dictionaries) {
    ColumnMetaData stored =
        raw.getRow_groups().get(group).getColumns().stream()
            .map(of -> of.getMeta_data())
            .filter(of -> of.getPath_in_schema().equals(List.of(column.getPath())))
            .findFirst()
            .orElseThrow();
    long uncompressed = 0;
    Map<Encoding, Integer> counts = new HashMap<>();
    for (Page page : pages) {
      uncompressed +=
          page.bytes()
              - page.header().getCompressed_page_size()
              + page.header().getUncompressed_page_size();
      counts.merge(page.encoding(), 1, Integer::sum);
      if (page.isOfIds()) {
        assertThat(dictionaries).as("dictionaries of %s", name).hasSize(1);
      }
    }
    long headerBytes = 0;
    for (PageHeader dictionary : dictionaries) {
      headerBytes =
          pages.get(0).at() - chunk.getStartingPos() - dictionary.getCompressed_page_size();
      uncompressed += headerBytes + dictionary.getUncompressed_page_size();
    }
    assertThat(chunk.getTotalUncompressedSize())
        .as("total_uncompressed_size of %s", name)
        .isEqualTo(uncompressed);
    assertThat(stored.getData_page_offset())
        .as("data_page_offset of %s", name)
        .isEqualTo(pages.get(0).at());
    if (dictionaries.isEmpty()) {
      assertThat(chunk.getDictionaryPageOffset()).as("dictionary of %s", name).isZero();
    } else {
      assertThat(chunk.getDictionaryPageOffset())
          .as("dictionary_page_offset of %s", name)
          .isEqualTo(chunk.getStartingPos());
    }
    Map<Encoding, Integer> said = new HashMap<>();
    for (PageEncodingStats stats : stored.getEncoding_stats()) {
      if (stats.getPage_type() != PageType.DICTIONARY_PAGE) {
        said.merge(stats.getEncoding(), stats.getCount(), Integer::sum);
      }
    }
    assertThat(said).as("encoding_stats of %s", name).isEqualTo(counts);
    assertThat(stored.getEncodings()).as("encodings of %s", name).containsAll(counts.keySet());
  }

  private static long nulls(List<Entry> of) {
    return of.stream().filter(entry -> entry.value() == null).count();
  }

  private static List<Entry> of(Page page, List<Entry> entries) {
    return entries.subList(page.firstEntry(), page.firstEntry() + page.entries());
  }

  /* No writer goes back to a dictionary after deltas, and DuckDB cannot read it: the numbers end up
  behind the memory that the deltas were in. */
  private static void checkOrder(String name, List<Page> pages, List<Entry> of) {
    boolean hasOthers = false;
    for (Page page : pages) {
      if (page.isOfIds()) {
        assertThat(hasOthers).as("%s has a dictionary behind %s", name, pages).isFalse();
      }
      hasOthers |=
          !page.isOfIds()
              && page.encoding() != Encoding.PLAIN
              && nulls(of(page, of)) < page.entries();
    }
  }

  private void checkHeaders(
      String name, ColumnDescriptor column, List<Page> pages, List<Entry> entries) {
    for (Page page : pages) {
      List<Entry> in = of(page, entries);
      if (page.entries() > 0) {
        assertThat(in.get(0).repetition()).as("a page of %s begins a row", name).isZero();
      }
      if (page.isV2()) {
        assertThat((long) page.header().getData_page_header_v2().getNum_nulls())
            .as("num_nulls of a page of %s", name)
            .isEqualTo(nulls(in));
        assertThat((long) page.header().getData_page_header_v2().getNum_rows())
            .as("num_rows of a page of %s", name)
            .isEqualTo(in.stream().filter(entry -> entry.repetition() == 0).count());
      }
      org.apache.parquet.format.Statistics stored =
          page.isV2()
              ? page.header().getData_page_header_v2().getStatistics()
              : page.header().getData_page_header().getStatistics();
      if (stored != null) {
        Statistics<?> statistics =
            new org.apache.parquet.format.converter.ParquetMetadataConverter()
                .fromParquetStatistics(raw.getCreated_by(), stored, column.getPrimitiveType());
        checkStatistics("a page of " + name, column, statistics, in, false);
      }
    }
  }

  private static void checkOffsets(String name, OffsetIndex offsets, List<Page> pages) {
    assertThat(offsets.getPageCount())
        .as("pages in the offset index of %s", name)
        .isEqualTo(pages.size());
    for (int i = 0; i < pages.size(); i++) {
      Page page = pages.get(i);
      assertThat(offsets.getOffset(i)).as("offset of page %d of %s", i, name).isEqualTo(page.at());
      assertThat(offsets.getCompressedPageSize(i))
          .as("size of page %d of %s", i, name)
          .isEqualTo(page.bytes());
      assertThat(offsets.getFirstRowIndex(i))
          .as("first_row_index of page %d of %s", i, name)
          .isEqualTo(page.firstRow());
    }
  }

  // ---- bounds

  private static boolean isNan(Object value) {
    return value instanceof Float f && f.isNaN() || value instanceof Double d && d.isNaN();
  }

  private static boolean isSame(Object one, Object other) {
    return one instanceof Float f && f == 0 && other instanceof Float g && g == 0
        || one instanceof Double d && d == 0 && other instanceof Double e && e == 0
        || one.equals(other);
  }

  private static void checkStatistics(
      String name,
      ColumnDescriptor column,
      Statistics<?> statistics,
      List<Entry> entries,
      boolean exact) {
    if (statistics == null || statistics.isEmpty()) {
      return;
    }
    if (statistics.isNumNullsSet()) {
      assertThat(statistics.getNumNulls()).as("null_count of %s", name).isEqualTo(nulls(entries));
    }
    if (!statistics.hasNonNullValue()) {
      return;
    }
    PrimitiveComparator<Object> order = column.getPrimitiveType().comparator();
    Object min = null;
    Object max = null;
    boolean hasNan = false;
    for (Entry entry : entries) {
      Object value = entry.value();
      hasNan |= isNan(value);
      if (value != null && !isNan(value)) {
        min = min == null || order.compare(value, min) < 0 ? value : min;
        max = max == null || order.compare(value, max) > 0 ? value : max;
      }
    }
    if (min == null) {
      assertThat(hasNan).as("bounds of %s, which has no values", name).isTrue();
      return;
    }
    Object lower = statistics.genericGetMin();
    Object upper = statistics.genericGetMax();
    assertThat(order.compare(lower, min))
        .as("min %s of %s, its least is %s", lower, name, min)
        .isLessThanOrEqualTo(0);
    assertThat(order.compare(upper, max))
        .as("max %s of %s, its greatest is %s", upper, name, max)
        .isGreaterThanOrEqualTo(0);
    if (exact && !hasNan) {
      assertThat(isSame(lower, min)).as("min %s of %s, its least is %s", lower, name, min).isTrue();
      assertThat(isSame(upper, max))
          .as("max %s of %s, its greatest is %s", upper, name, max)
          .isTrue();
    }
  }

  private Object bound(ColumnDescriptor column, ByteBuffer stored) {
    ByteBuffer little = stored.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    return switch (column.getType()) {
      case BOOLEAN -> little.get(little.position()) != 0;
      case INT32 -> little.getInt(little.position());
      case INT64 -> little.getLong(little.position());
      case FLOAT -> little.getFloat(little.position());
      case DOUBLE -> little.getDouble(little.position());
      default -> Binary.fromConstantByteBuffer(little);
    };
  }

  private void checkColumnIndex(
      String name,
      ColumnDescriptor column,
      ColumnChunkMetaData chunk,
      List<Page> pages,
      List<Entry> entries)
      throws IOException {
    ColumnIndex index = reader.readColumnIndex(chunk);
    if (index == null) {
      boolean hasNan = entries.stream().anyMatch(entry -> isNan(entry.value()));
      Statistics<?> statistics = chunk.getStatistics();
      assertThat(hasNan || statistics == null || !statistics.hasNonNullValue())
          .as("%s has bounds and NaNs or no column index", name)
          .isTrue();
      return;
    }
    PrimitiveComparator<Object> order = column.getPrimitiveType().comparator();
    List<Object> mins = new ArrayList<>();
    List<Object> maxs = new ArrayList<>();
    assertThat(index.getNullPages()).as("null_pages of %s", name).hasSize(pages.size());
    for (int i = 0; i < pages.size(); i++) {
      List<Entry> in = of(pages.get(i), entries);
      String page = "page " + i + " of " + name;
      assertThat(index.getNullPages().get(i))
          .as("null_pages for %s", page)
          .isEqualTo(nulls(in) == in.size());
      if (index.getNullCounts() != null) {
        assertThat(index.getNullCounts().get(i))
            .as("null_counts for %s", page)
            .isEqualTo(nulls(in));
      }
      if (index.getNullPages().get(i)) {
        continue;
      }
      Object min = bound(column, index.getMinValues().get(i));
      Object max = bound(column, index.getMaxValues().get(i));
      mins.add(min);
      maxs.add(max);
      for (Entry entry : in) {
        if (entry.value() != null && !isNan(entry.value())) {
          assertThat(
                  order.compare(min, entry.value()) <= 0 && order.compare(max, entry.value()) >= 0)
              .as("%s between %s and %s in %s", entry.value(), min, max, page)
              .isTrue();
        }
      }
    }
    int direction =
        index.getBoundaryOrder() == BoundaryOrder.ASCENDING
            ? 1
            : index.getBoundaryOrder() == BoundaryOrder.DESCENDING ? -1 : 0;
    for (int i = 1; i < mins.size(); i++) {
      assertThat(
              direction * order.compare(mins.get(i - 1), mins.get(i)) <= 0
                  && direction * order.compare(maxs.get(i - 1), maxs.get(i)) <= 0)
          .as("boundary order %s of %s at page %d", index.getBoundaryOrder(), name, i)
          .isTrue();
    }
    checkHistogram(index.getDefinitionLevelHistogram(), name, column, pages, entries, false);
    checkHistogram(index.getRepetitionLevelHistogram(), name, column, pages, entries, true);
  }

  private static void checkHistogram(
      List<Long> said,
      String name,
      ColumnDescriptor column,
      List<Page> pages,
      List<Entry> entries,
      boolean ofRepetitions) {
    if (said == null || said.isEmpty()) {
      return;
    }
    List<Long> expected = new ArrayList<>();
    for (Page page : pages) {
      expected.addAll(histogram(column, of(page, entries), ofRepetitions));
    }
    assertThat(said).as("level histograms of the pages of %s", name).isEqualTo(expected);
  }

  private static List<Long> histogram(
      ColumnDescriptor column, List<Entry> entries, boolean ofRepetitions) {
    long[] counts =
        new long
            [1 + (ofRepetitions ? column.getMaxRepetitionLevel() : column.getMaxDefinitionLevel())];
    entries.forEach(entry -> counts[ofRepetitions ? entry.repetition() : entry.definition()]++);
    return Arrays.stream(counts).boxed().toList();
  }

  private static long unencoded(List<Entry> entries) {
    return entries.stream()
        .mapToLong(entry -> entry.value() instanceof Binary binary ? binary.length() : 0)
        .sum();
  }

  private static void checkSizeStatistics(
      String name,
      ColumnDescriptor column,
      ColumnChunkMetaData chunk,
      OffsetIndex offsets,
      List<Page> pages,
      List<Entry> entries) {
    for (int i = 0; i < pages.size(); i++) {
      Optional<Long> said = offsets.getUnencodedByteArrayDataBytes(i);
      if (said.isPresent() && column.getType() == PrimitiveTypeName.BINARY) {
        assertThat(said.get())
            .as("unencoded bytes of page %d of %s", i, name)
            .isEqualTo(unencoded(of(pages.get(i), entries)));
      }
    }
    SizeStatistics sizes = chunk.getSizeStatistics();
    if (sizes == null || !sizes.isValid()) {
      return;
    }
    if (column.getType() == PrimitiveTypeName.BINARY) {
      sizes
          .getUnencodedByteArrayDataBytes()
          .ifPresent(
              said ->
                  assertThat(said).as("unencoded bytes of %s", name).isEqualTo(unencoded(entries)));
    }
    if (!sizes.getDefinitionLevelHistogram().isEmpty()) {
      assertThat(sizes.getDefinitionLevelHistogram())
          .as("definition levels of %s", name)
          .isEqualTo(histogram(column, entries, false));
    }
    if (!sizes.getRepetitionLevelHistogram().isEmpty()) {
      assertThat(sizes.getRepetitionLevelHistogram())
          .as("repetition levels of %s", name)
          .isEqualTo(histogram(column, entries, true));
    }
  }

  private void checkBloomFilter(
      String name,
      ColumnDescriptor column,
      ColumnChunkMetaData chunk,
      List<Page> pages,
      List<Entry> entries,
      Set<String> bloomFilters)
      throws IOException {
    BloomFilter filter = reader.readBloomFilter(chunk);
    if (filter == null) {
      assertThat(
              bloomFilters.contains(chunk.getPath().toDotString())
                  && !pages.stream().allMatch(Page::isOfIds))
          .as("%s has pages without dictionary and no bloom filter", name)
          .isFalse();
      return;
    }
    for (Entry entry : entries) {
      Object value = entry.value();
      if (value != null) {
        long hash =
            switch (column.getType()) {
              case INT32 -> filter.hash((int) (Integer) value);
              case INT64 -> filter.hash((long) (Long) value);
              case FLOAT -> filter.hash((float) (Float) value);
              case DOUBLE -> filter.hash((double) (Double) value);
              default -> filter.hash((Binary) value);
            };
        assertThat(filter.findHash(hash)).as("%s in the bloom filter of %s", value, name).isTrue();
      }
    }
  }

  // ---- filters

  /**
   * Reads with filters that parquet-java pushes down to row groups, dictionaries, bloom filters and
   * column indexes: no row is lost, and all columns are at the same rows.
   */
  void checkFilters(Random random, int count) throws IOException {
    List<ColumnDescriptor> columns =
        schema.getColumns().stream()
            .filter(
                column ->
                    column.getMaxRepetitionLevel() == 0
                        && column.getType() != PrimitiveTypeName.BOOLEAN
                        && column.getType() != PrimitiveTypeName.INT96)
            .toList();
    for (int i = 0; i < count && !columns.isEmpty(); i++) {
      ColumnDescriptor column = columns.get(random.nextInt(columns.size()));
      int group = random.nextInt(reader.getRowGroups().size());
      List<Entry> of = entries(group).get(column);
      Object value = of.get(random.nextInt(of.size())).value();
      if (value != null && !isNan(value)) {
        checkFilter(column, value, random.nextInt(3));
      }
    }
  }

  private void checkFilter(ColumnDescriptor column, Object value, int kind) throws IOException {
    PrimitiveComparator<Object> order = column.getPrimitiveType().comparator();
    Predicate<Object> matches =
        other ->
            other != null
                && !isNan(other)
                && (kind == 0
                    ? isSame(other, value)
                    : kind == 1
                        ? order.compare(other, value) <= 0
                        : order.compare(other, value) >= 0);
    FilterPredicate predicate = predicate(column, value, kind);
    ParquetReadOptions options =
        ParquetReadOptions.builder(new PlainParquetConfiguration())
            .withRecordFilter(FilterCompat.get(predicate))
            .useStatsFilter()
            .useDictionaryFilter()
            .useBloomFilter()
            .useColumnIndexFilter()
            .build();
    try (ParquetFileReader filtered = ParquetFileReader.open(new LocalInputFile(path), options)) {
      Set<Long> kept = new HashSet<>();
      for (int i = 0; i < filtered.getRowGroups().size(); i++) {
        BlockMetaData block = filtered.getRowGroups().get(i);
        int group = ordinal(block);
        PageReadStore store = filtered.readFilteredRowGroup(i);
        if (store == null) {
          continue;
        }
        long[] rows = rows(store, block);
        for (long row : rows) {
          kept.add(((long) group << 32) + row);
        }
        Map<ColumnDescriptor, List<Entry>> found = read(store, schema, rows.length);
        for (ColumnDescriptor of : schema.getColumns()) {
          List<List<Entry>> all = byRow(entries(group).get(of));
          List<Entry> expected = new ArrayList<>();
          for (long row : rows) {
            expected.addAll(all.get((int) row));
          }
          assertThat(found.get(of))
              .as("%s of %s with filter %s", of, path, predicate)
              .isEqualTo(expected);
        }
      }
      for (int group = 0; group < reader.getRowGroups().size(); group++) {
        List<Entry> of = entries(group).get(column);
        for (int row = 0; row < of.size(); row++) {
          if (matches.test(of.get(row).value())) {
            assertThat(kept)
                .as("row %d of row group %d of %s with filter %s", row, group, path, predicate)
                .contains(((long) group << 32) + row);
          }
        }
      }
    }
  }

  private int ordinal(BlockMetaData block) {
    for (int group = 0; group < reader.getRowGroups().size(); group++) {
      if (reader.getRowGroups().get(group).getStartingPos() == block.getStartingPos()) {
        return group;
      }
    }
    throw new IllegalStateException("No row group begins at " + block.getStartingPos());
  }

  private static long[] rows(PageReadStore store, BlockMetaData block) {
    Optional<PrimitiveIterator.OfLong> rows = store.getRowIndexes();
    if (rows.isEmpty()) {
      return java.util.stream.LongStream.range(0, block.getRowCount()).toArray();
    }
    java.util.stream.LongStream.Builder all = java.util.stream.LongStream.builder();
    rows.get().forEachRemaining((java.util.function.LongConsumer) all::add);
    return all.build().toArray();
  }

  private static List<List<Entry>> byRow(List<Entry> entries) {
    List<List<Entry>> rows = new ArrayList<>();
    for (Entry entry : entries) {
      if (entry.repetition() == 0) {
        rows.add(new ArrayList<>());
      }
      rows.get(rows.size() - 1).add(entry);
    }
    return rows;
  }

  private static FilterPredicate predicate(ColumnDescriptor column, Object value, int kind) {
    String name = String.join(".", column.getPath());
    return switch (column.getType()) {
      case INT32 -> {
        var of = FilterApi.intColumn(name);
        Integer v = (Integer) value;
        yield kind == 0
            ? FilterApi.eq(of, v)
            : kind == 1 ? FilterApi.ltEq(of, v) : FilterApi.gtEq(of, v);
      }
      case INT64 -> {
        var of = FilterApi.longColumn(name);
        Long v = (Long) value;
        yield kind == 0
            ? FilterApi.eq(of, v)
            : kind == 1 ? FilterApi.ltEq(of, v) : FilterApi.gtEq(of, v);
      }
      case FLOAT -> {
        var of = FilterApi.floatColumn(name);
        Float v = (Float) value;
        yield kind == 0
            ? FilterApi.eq(of, v)
            : kind == 1 ? FilterApi.ltEq(of, v) : FilterApi.gtEq(of, v);
      }
      case DOUBLE -> {
        var of = FilterApi.doubleColumn(name);
        Double v = (Double) value;
        yield kind == 0
            ? FilterApi.eq(of, v)
            : kind == 1 ? FilterApi.ltEq(of, v) : FilterApi.gtEq(of, v);
      }
      default -> {
        var of = FilterApi.binaryColumn(name);
        Binary v = (Binary) value;
        yield kind == 0
            ? FilterApi.eq(of, v)
            : kind == 1 ? FilterApi.ltEq(of, v) : FilterApi.gtEq(of, v);
      }
    };
  }

  // ---- reading

  private Map<ColumnDescriptor, List<Entry>> read(
      PageReadStore store, MessageType type, long rows) {
    ColumnReadStoreImpl columns =
        new ColumnReadStoreImpl(
            store, (GroupConverter) converter(type), type, reader.getFileMetaData().getCreatedBy());
    Map<ColumnDescriptor, List<Entry>> all = new HashMap<>();
    for (ColumnDescriptor column : type.getColumns()) {
      ColumnReader values = columns.getColumnReader(column);
      List<Entry> of = new ArrayList<>();
      for (long row = 0; row < rows; row++) {
        do {
          int definition = values.getCurrentDefinitionLevel();
          Object value =
              definition < column.getMaxDefinitionLevel()
                  ? null
                  : value(values, column.getPrimitiveType());
          of.add(new Entry(values.getCurrentRepetitionLevel(), definition, value));
          values.consume();
        } while (values.getCurrentRepetitionLevel() > 0);
      }
      all.put(column, of);
    }
    return all;
  }

  private static Object value(ColumnReader values, PrimitiveType type) {
    return switch (type.getPrimitiveTypeName()) {
      case BOOLEAN -> values.getBoolean();
      case INT32 -> values.getInteger();
      case INT64 -> values.getLong();
      case FLOAT -> values.getFloat();
      case DOUBLE -> values.getDouble();
      default -> values.getBinary().copy();
    };
  }

  private static Converter converter(Type type) {
    if (type.isPrimitive()) {
      return new PrimitiveConverter() {};
    }
    return new GroupConverter() {
      @Override
      public Converter getConverter(int field) {
        return converter(type.asGroupType().getType(field));
      }

      @Override
      public void start() {}

      @Override
      public void end() {}
    };
  }

  @Override
  public void close() throws IOException {
    reader.close();
  }

  @Override
  public String toString() {
    return Objects.toString(path);
  }
}
