package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.PageType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The option {@code encoding}: which pages and encodings output files have. */
class EncodingTest {
  private static final Schema SCHEMA =
      new Schema(
          required(1, "ascending", Types.LongType.get()),
          optional(2, "random", Types.LongType.get()),
          optional(3, "few", Types.StringType.get()),
          optional(4, "sorted", Types.StringType.get()),
          optional(5, "measure", Types.DoubleType.get()),
          optional(6, "noise", Types.DoubleType.get()),
          optional(7, "flag", Types.BooleanType.get()),
          optional(8, "day", Types.DateType.get()),
          optional(9, "price", Types.DecimalType.of(25, 2)));

  private static final List<String> COLUMNS =
      SCHEMA.columns().stream().map(Types.NestedField::name).toList();
  private static final Set<Encoding> OF_VERSION_1 =
      Set.of(Encoding.PLAIN, Encoding.PLAIN_DICTIONARY);

  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws Exception {
    scratch = Files.createDirectory(directory.resolve("scratch"));
  }

  private static List<Record> rows(int from, int to) {
    Random random = new Random(from);
    Rows rows = Rows.of(SCHEMA);
    double measure = 20;
    for (int i = from; i < to; i++) {
      measure += random.nextInt(5) / 16D - 0.125;
      rows.add(
          1_700_000_000_000L + i * 37L + random.nextInt(20),
          i % 10 == 3 ? null : random.nextLong(),
          "few " + i % 7,
          "customer/eu-central/" + String.format("%09d", i),
          measure,
          random.nextDouble(),
          random.nextInt(5) > 0,
          LocalDate.ofEpochDay(18_000 + i / 50),
          new java.math.BigDecimal("12345678901234.50").add(new java.math.BigDecimal(i)));
    }
    return rows.list();
  }

  private Table table(Map<String, String> properties) {
    TableBuilder builder = TableBuilder.at(directory.resolve("table")).schema(SCHEMA);
    properties.forEach(builder::property);
    return builder.create();
  }

  /* Sources of all kinds: version 1 and 2, forced encodings, rows deleted. */
  private Table mixed() throws Exception {
    Table table = table(Map.of());
    TableFiles files = TableFiles.of(table);
    int from = 0;
    for (WriterVersion version : WriterVersion.values()) {
      for (double forced : new double[] {0, 1}) {
        SpliceSources.Settings settings = new SpliceSources.Settings();
        settings.version = version;
        settings.forcedShare = forced;
        settings.seed = from;
        settings.pageRows = 400;
        DataFile file = SpliceSources.write(table, SCHEMA, rows(from, from + 1200), settings);
        files.append(file);
        files.deletePositions(Map.of(file, LongStream.range(500, 600).toArray()));
        from += 1200;
      }
    }
    return table;
  }

  private CompactionReport compact(Table table, String encoding, boolean splices) throws Exception {
    return Runs.checked(
        table, Runs.all(scratch).option("encoding", encoding).option("splice", "" + splices));
  }

  private static ParquetTruth truth(DataFile file) throws Exception {
    return ParquetTruth.of(TableBefore.path(file.location()));
  }

  private static DataFile only(Table table) {
    List<DataFile> files = TableRows.dataFiles(table, table.currentSnapshot());
    assertThat(files).hasSize(1);
    return files.get(0);
  }

  @ParameterizedTest(name = "splice {0}")
  @ValueSource(booleans = {true, false})
  void parquetV1LeavesNoOtherPagesWhateverTheSourcesHave(boolean splices) throws Exception {
    Table table = mixed();
    CompactionReport report = compact(table, "parquet-v1", splices);
    try (ParquetTruth truth = truth(only(table))) {
      for (String column : COLUMNS) {
        assertThat(truth.pageTypes(column)).as(column).containsOnly(PageType.DATA_PAGE);
        assertThat(OF_VERSION_1).as(column).containsAll(truth.encodings(column));
      }
    }
    if (splices) {
      assertThat(report.moved().spliced() + report.moved().filtered())
          .as("of version 1")
          .isPositive();
      assertThat(report.moved().reasons().keySet())
          .contains("page of version 2, not parquet-v1", "DELTA_BINARY_PACKED, not parquet-v1")
          .allMatch(reason -> reason.endsWith(", not parquet-v1"));
      assertThat(report.moved().transcoded()).isPositive();
    }
  }

  @ParameterizedTest(name = "splice {0}")
  @ValueSource(booleans = {true, false})
  void parquetV2HasTheEncodingsThatPay(boolean splices) throws Exception {
    Table table = table(Map.of());
    TableFiles.of(table).append(rows(0, 5000));
    CompactionReport report = compact(table, "parquet-v2", splices);
    try (ParquetTruth truth = truth(only(table))) {
      for (String column : COLUMNS) {
        assertThat(truth.pageTypes(column)).as(column).containsOnly(PageType.DATA_PAGE_V2);
      }
      if (!splices) {
        assertThat(truth.encodings("ascending")).containsOnly(Encoding.DELTA_BINARY_PACKED);
        assertThat(truth.encodings("random")).containsOnly(Encoding.PLAIN);
        assertThat(truth.encodings("few")).containsOnly(Encoding.RLE_DICTIONARY);
        assertThat(truth.encodings("sorted")).containsOnly(Encoding.DELTA_BYTE_ARRAY);
        assertThat(truth.encodings("measure")).doesNotContain(Encoding.PLAIN);
        assertThat(truth.encodings("flag")).containsOnly(Encoding.PLAIN);
      }
    }
    if (splices) {
      assertThat(report.moved().reasons()).containsOnlyKeys("page of version 1, not parquet-v2");
    }
  }

  @Test
  void autoCopiesWhatIsThereAndWritesNoEncodingThatOldReadersRefuse() throws Exception {
    Table table = mixed();
    CompactionReport report = compact(table, "auto", true);
    assertThat(report.moved().reasons()).isEmpty();
    try (ParquetTruth truth = truth(only(table))) {
      assertThat(truth.encodings("ascending")).contains(Encoding.DELTA_BINARY_PACKED);
    }
    compact(table, "auto", false);
    try (ParquetTruth truth = truth(only(table))) {
      for (String column : COLUMNS) {
        assertThat(truth.pageTypes(column)).as(column).containsOnly(PageType.DATA_PAGE);
        assertThat(OF_VERSION_1).as(column).containsAll(truth.encodings(column));
      }
    }
  }

  @Test
  void theOptionGoesBeforeTheTablesPageVersion() throws Exception {
    Table table = table(Map.of("write.parquet.page-version", "v2"));
    TableFiles.of(table).append(rows(0, 5000));
    compact(table, "parquet-v1", true);
    try (ParquetTruth truth = truth(only(table))) {
      for (String column : COLUMNS) {
        assertThat(truth.pageTypes(column)).as(column).containsOnly(PageType.DATA_PAGE);
      }
    }
    compact(table, "auto", true);
    try (ParquetTruth truth = truth(only(table))) {
      assertThat(truth.pageTypes("ascending")).containsOnly(PageType.DATA_PAGE_V2);
    }
  }

  @Test
  void sortedFilesHaveTheEncodingsToo() throws Exception {
    Table table = table(Map.of());
    TableFiles.of(table).append(rows(0, 4000));
    TableFiles.of(table).append(rows(4000, 9000));
    table.replaceSortOrder().asc("few").asc("sorted").commit();
    List<String> before = TableRows.live(table).stream().sorted().toList();
    Runs.of(
        table, Runs.all(scratch).layout(new Layout.TableOrder()).option("encoding", "parquet-v2"));
    assertThat(TableRows.live(table).stream().sorted().toList()).isEqualTo(before);
    try (ParquetTruth truth = truth(only(table))) {
      truth.check(Set.of());
      assertThat(truth.pageTypes("sorted")).containsOnly(PageType.DATA_PAGE_V2);
      assertThat(truth.encodings("sorted")).containsOnly(Encoding.DELTA_BYTE_ARRAY);
    }
  }

  /* Iceberg's vectorized reader fails on deltas of no values. */
  @Test
  void pagesWithoutValuesArePlain() throws Exception {
    Table table = table(Map.of("write.parquet.page-row-limit", "1000"));
    List<Record> rows = rows(0, 4000);
    rows.subList(2000, 3000).forEach(row -> row.setField("sorted", null));
    TableFiles.of(table).append(rows);
    compact(table, "parquet-v2", false);
    try (ParquetTruth truth = truth(only(table))) {
      assertThat(truth.encodings("sorted"))
          .containsExactly(
              Encoding.DELTA_BYTE_ARRAY,
              Encoding.DELTA_BYTE_ARRAY,
              Encoding.PLAIN,
              Encoding.DELTA_BYTE_ARRAY);
    }
  }

  @Test
  void anUnknownEncodingIsRefused() {
    assertThatThrownBy(() -> CompactionSettings.builder().option("encoding", "parquet-v3"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("auto, parquet-v1, parquet-v2");
  }
}
