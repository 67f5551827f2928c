package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;
import org.apache.parquet.column.page.DataPageV2;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.io.LocalInputFile;
import org.apache.parquet.schema.MessageType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Each write property changes what a compaction writes, and in the same way as it changes what
 * Iceberg's writer writes: footers are compared.
 */
class WritePropertiesTest {
  /** A column of few values, one of many, one nested in a list with a name that Avro forbids. */
  private static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.LongType.get()),
          optional(2, "few", Types.StringType.get()),
          optional(3, "many", Types.StringType.get()),
          optional(
              4,
              "odd one",
              Types.ListType.ofOptional(
                  5, Types.StructType.of(optional(6, "in-side", Types.LongType.get())))));

  private static final int ROWS = 2000;

  private static final Map<String, String> traitsByDefault = new TreeMap<>();

  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
  }

  private static List<Record> rows() {
    Random random = new Random(7);
    Types.StructType inner = SCHEMA.findType("odd one").asListType().elementType().asStructType();
    Rows rows = Rows.of(SCHEMA);
    for (int i = 0; i < ROWS; i++) {
      List<Record> elements = new ArrayList<>();
      for (int e = i % 3; e > 0; e--) {
        elements.add(Rows.struct(inner, (long) random.nextInt(50)));
      }
      rows.add((long) i, "value " + i % 7, Long.toHexString(random.nextLong()), elements);
    }
    return rows.list();
  }

  private static boolean isV2(
      ParquetFileReader reader, PageReadStore pages, ColumnChunkMetaData chunk) {
    MessageType schema = reader.getFooter().getFileMetaData().getSchema();
    return pages.getPageReader(schema.getColumnDescription(chunk.getPath().toArray())).readPage()
        instanceof DataPageV2;
  }

  /** What is to be seen in a footer of a column, summed up over row groups. */
  private static Map<String, String> traits(DataFile file) throws IOException {
    Map<String, String> traits = new TreeMap<>();
    Path path = TableBefore.path(file.location());
    try (ParquetFileReader reader = ParquetFileReader.open(new LocalInputFile(path))) {
      List<BlockMetaData> blocks = reader.getFooter().getBlocks();
      for (BlockMetaData block : blocks) {
        PageReadStore pages = reader.readNextRowGroup();
        for (ColumnChunkMetaData chunk : block.getColumns()) {
          traits.put(
              String.join("/", chunk.getPath().toArray()),
              chunk.getCodec()
                  + (isV2(reader, pages, chunk) ? " v2" : " v1")
                  + (chunk.getEncodingStats().hasDictionaryEncodedPages() ? " dictionary" : "")
                  + (chunk.getEncodingStats().hasNonDictionaryEncodedPages() ? " plain" : "")
                  + (chunk.getStatistics().hasNonNullValue() ? " statistics" : "")
                  + (chunk.getBloomFilterOffset() > 0
                      ? " bloom of " + chunk.getBloomFilterLength()
                      : ""));
        }
      }
    }
    return traits;
  }

  private static int rowGroups(DataFile file) throws IOException {
    try (ParquetFileReader reader =
        ParquetFileReader.open(new LocalInputFile(TableBefore.path(file.location())))) {
      return reader.getFooter().getBlocks().size();
    }
  }

  private static int pages(DataFile file, int column) throws IOException {
    try (ParquetFileReader reader =
        ParquetFileReader.open(new LocalInputFile(TableBefore.path(file.location())))) {
      ColumnChunkMetaData chunk = reader.getFooter().getBlocks().get(0).getColumns().get(column);
      return reader.readOffsetIndex(chunk).getPageCount();
    }
  }

  private int tables;

  /** Two files with Iceberg's defaults, compacted after the properties are set. */
  private Table table(Map<String, String> properties) {
    Table table = TableBuilder.at(directory.resolve("table-" + tables++)).schema(SCHEMA).create();
    TableFiles files = TableFiles.of(table);
    files.append(rows().subList(0, ROWS / 2));
    files.append(rows().subList(ROWS / 2, ROWS));
    var update = table.updateProperties();
    properties.forEach(update::set);
    update.commit();
    return table;
  }

  private List<DataFile> compacted(Map<String, String> properties) {
    Table table = table(properties);
    Runs.of(table, Runs.all(scratch).option("splice", "false"));
    return TableRows.dataFiles(table, table.currentSnapshot());
  }

  private static DataFile byIceberg(Table table) {
    return TableFiles.of(table).data(rows());
  }

  static Stream<Arguments> properties() {
    Map<String, Map<String, String>> cases = new LinkedHashMap<>();
    for (String codec : List.of("uncompressed", "snappy", "zstd", "lz4_raw")) {
      cases.put("few/" + codec, Map.of("write.parquet.compression-codec", codec));
    }
    cases.put("few/v2", Map.of("write.parquet.page-version", "v2"));
    cases.put("few/dict", Map.of("write.parquet.dict-size-bytes", "64"));
    cases.put("few/no-dict", Map.of("write.parquet.dict-encoding-enabled.column.few", "false"));
    cases.put("few/no-stats", Map.of("write.parquet.stats-enabled.column.few", "false"));
    cases.put("many/bloom", Map.of("write.parquet.bloom-filter-enabled.column.many", "true"));
    cases.put(
        "many/bloom-fpp",
        Map.of(
            "write.parquet.bloom-filter-enabled.column.many",
            "true",
            "write.parquet.bloom-filter-ndv.column.many",
            "3000",
            "write.parquet.bloom-filter-fpp.column.many",
            "0.4"));
    cases.put(
        "many/bloom-max",
        Map.of(
            "write.parquet.bloom-filter-enabled.column.many",
            "true",
            "write.parquet.bloom-filter-max-bytes",
            "1024"));
    cases.put(
        "odd_x20one/list/element/in_x2Dside/bloom",
        Map.of(
            "write.parquet.bloom-filter-enabled.column.odd one.element.in-side",
            "true",
            "write.parquet.bloom-filter-ndv.column.odd one.element.in-side",
            "500",
            "write.parquet.dict-encoding-enabled.column.odd one.element.in-side",
            "false")); // no filter comes beside a dictionary
    cases.put(
        "odd_x20one/list/element/in_x2Dside/no-dict",
        Map.of("write.parquet.dict-encoding-enabled.column.odd one.element.in-side", "false"));
    cases.put(
        "odd_x20one/list/element/in_x2Dside/no-stats",
        Map.of("write.parquet.stats-enabled.column.odd one.element.in-side", "false"));
    return cases.entrySet().stream()
        .map(
            one -> {
              String column = one.getKey().substring(0, one.getKey().lastIndexOf('/'));
              return Arguments.of(one.getKey(), column, one.getValue());
            });
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("properties")
  void m11m12EachPropertyOfAColumnHasTheEffectThatItHasInIceberg(
      String name, String column, Map<String, String> properties) throws IOException {
    Table table = table(properties);
    Runs.of(table, Runs.all(scratch).option("splice", "false"));
    List<DataFile> files = TableRows.dataFiles(table, table.currentSnapshot());
    assertThat(files).hasSize(1);
    Map<String, String> traits = traits(files.get(0));
    assertThat(traits).isEqualTo(traits(byIceberg(table)));
    assertThat(traits.get(column))
        .as("without the property")
        .isNotNull()
        .isNotEqualTo(traitsByDefault().get(column));
    assertThat(traits.get(column).contains("bloom")).isEqualTo(name.contains("bloom"));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("properties")
  void m11m12EachPropertyOfAColumnHasItsEffectOnSplicedPagesToo(
      String name, String column, Map<String, String> properties) throws IOException {
    Table table = table(properties);
    Runs.of(table, Runs.all(scratch));
    DataFile file = TableRows.dataFiles(table, table.currentSnapshot()).get(0);
    Map<String, String> byIceberg = traits(byIceberg(table));
    traits(file)
        .forEach(
            (path, traits) -> {
              // Where a dictionary becomes too large, Iceberg's writer gives the first page up too.
              Set<String> expected = new HashSet<>(List.of(byIceberg.get(path).split(" ")));
              Set<String> found = new HashSet<>(List.of(traits.split(" ")));
              if (properties.containsKey("write.parquet.dict-size-bytes")) {
                found.remove("dictionary");
              }
              assertThat(found).as(path).isEqualTo(expected);
            });
  }

  private Map<String, String> traitsByDefault() throws IOException {
    if (traitsByDefault.isEmpty()) {
      traitsByDefault.putAll(traits(compacted(Map.of()).get(0)));
    }
    return traitsByDefault;
  }

  @Test
  void m11CompressionLevelIsKept() {
    long fast =
        compacted(
                Map.of(
                    "write.parquet.compression-codec", "zstd",
                    "write.parquet.compression-level", "1"))
            .get(0)
            .fileSizeInBytes();
    long small =
        compacted(
                Map.of(
                    "write.parquet.compression-codec", "zstd",
                    "write.parquet.compression-level", "19"))
            .get(0)
            .fileSizeInBytes();
    assertThat(small).isLessThan(fast);
  }

  @Test
  void m11RowGroupsAndPagesHaveTheSizesAsked() throws IOException {
    Map<String, String> rowGroups =
        Map.of(
            "write.parquet.row-group-size-bytes", "30000",
            "write.parquet.row-group-check-min-record-count", "10",
            "write.parquet.row-group-check-max-record-count", "50");
    Table table = table(rowGroups);
    Runs.of(table, Runs.all(scratch).option("splice", "false")); // counts as Iceberg's writer does
    DataFile file = TableRows.dataFiles(table, table.currentSnapshot()).get(0);
    assertThat(rowGroups(file)).isGreaterThan(1).isCloseTo(rowGroups(byIceberg(table)), within2());
    assertThat(rowGroups(compacted(Map.of()).get(0))).isOne();

    DataFile byRows = compacted(Map.of("write.parquet.page-row-limit", "100")).get(0);
    assertThat(pages(byRows, 0)).isEqualTo(ROWS / 100);
    DataFile byBytes = compacted(Map.of("write.parquet.page-size-bytes", "2000")).get(0);
    assertThat(pages(byBytes, 2)).isGreaterThan(10);
    assertThat(pages(compacted(Map.of()).get(0), 0)).isOne();
  }

  private static org.assertj.core.data.Offset<Integer> within2() {
    return org.assertj.core.data.Offset.offset(2);
  }

  @Test
  void m11m19TargetSizeOfTheTableIsKeptUnlessTheCallerHasAnother() {
    Map<String, String> small =
        Map.of(
            "write.target-file-size-bytes", "12000",
            "write.parquet.row-group-size-bytes", "10000",
            "write.parquet.row-group-check-min-record-count", "10");
    Table table = table(small);
    Runs.of(table, Runs.all(scratch));
    List<DataFile> files = TableRows.dataFiles(table, table.currentSnapshot());
    assertThat(files)
        .hasSizeGreaterThan(1)
        .allMatch(file -> file.fileSizeInBytes() >= 12000 * 3 / 4)
        .allMatch(file -> file.fileSizeInBytes() <= 12000 * 9 / 5);
    Runs.of(table, Runs.all(scratch).option("target-file-size-bytes", "1000000"));
    assertThat(TableRows.dataFiles(table, table.currentSnapshot())).hasSize(1);
  }
}
