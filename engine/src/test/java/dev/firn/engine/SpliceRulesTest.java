package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.LocalFileIO;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.mapping.MappingUtil;
import org.apache.iceberg.mapping.NameMapping;
import org.apache.iceberg.mapping.NameMappingParser;
import org.apache.iceberg.parquet.ParquetUtil;
import org.apache.iceberg.types.Types;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.PageType;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.LocalInputFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What splicing does with files that differ from the table, and with how small they are. */
class SpliceRulesTest {
  private static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.LongType.get()),
          optional(2, "text", Types.StringType.get()),
          optional(3, "number", Types.IntegerType.get()),
          optional(4, "tags", Types.ListType.ofOptional(5, Types.StringType.get())));

  @TempDir Path directory;

  private TableBuilder builder(int formatVersion) {
    return TableBuilder.at(directory.resolve("table")).schema(SCHEMA).formatVersion(formatVersion);
  }

  private static List<Record> rows(Schema schema, int from, int to) {
    Rows rows = Rows.of(schema);
    IntStream.range(from, to).forEach(i -> rows.add(values(schema, i)));
    return rows.list();
  }

  private static Object[] values(Schema schema, int i) {
    return schema.columns().stream()
        .map(
            field ->
                switch (field.name()) {
                  case "id" -> (Object) (long) i;
                  case "text" -> i % 9 == 4 && field.isOptional() ? null : "text " + i % 50;
                  case "number" ->
                      i % 5 == 0 && field.isOptional() ? null : (Object) (i * 7 % 1000);
                  case "tags" ->
                      i % 11 == 0 ? null : i % 11 == 1 ? List.of() : List.of("a" + i % 3, "b" + i);
                  default -> throw new IllegalArgumentException(field.name());
                })
        .toArray();
  }

  /** Splices, checks rows and files, and gives the report. */
  private CompactionReport splice(Table table, String... options) throws Exception {
    CompactionSettings.Builder settings =
        Runs.all(Files.createTempDirectory(directory, "scratch")).memoryBytes(1L << 30).threads(2);
    for (int i = 0; i < options.length; i += 2) {
      settings.option(options[i], options[i + 1]);
    }
    return Runs.checked(table, settings);
  }

  private static ParquetTruth truth(DataFile file) throws IOException {
    return ParquetTruth.of(TableBefore.path(file.location()));
  }

  private static List<DataFile> outputs(Table table) {
    return TableRows.dataFiles(table, table.currentSnapshot());
  }

  private static List<BlockMetaData> rowGroups(DataFile file) throws IOException {
    try (ParquetFileReader reader =
        ParquetFileReader.open(new LocalInputFile(TableBefore.path(file.location())))) {
      return reader.getRowGroups();
    }
  }

  @Test
  void tinyFilesBecomeOneRowGroupOfFewPages() throws Exception {
    Table table = builder(2).create();
    for (int file = 0; file < 50; file++) {
      TableFiles.of(table).append(rows(SCHEMA, file * 100, file * 100 + 100));
    }
    CompactionReport report = splice(table);
    assertThat(report.moved().reasons()).isEmpty();
    assertThat(outputs(table)).hasSize(1);
    DataFile output = outputs(table).get(0);
    assertThat(rowGroups(output)).hasSize(1);
    try (ParquetTruth truth = truth(output)) {
      for (String column : List.of("id", "text", "number", "tags.list.element")) {
        assertThat(truth.pageCounts(column).get(0)).as("pages of %s", column).isLessThan(6);
      }
    }
  }

  /* What is kept of a page in memory must be little beside its bytes. */
  @Test
  void pagesThatAreStoredInFewBytesAreJoinedHoweverLargeTheyAreBefore() throws Exception {
    Table table = builder(2).create();
    SpliceSources.Settings settings = new SpliceSources.Settings();
    settings.dictionaryBytes = 1; // plain pages of 8 kB
    settings.codec = CompressionCodecName.ZSTD;
    Random random = new Random(5);
    for (int file = 0; file < 40; file++) {
      List<Record> rows = rows(SCHEMA, file * 1000, file * 1000 + 1000);
      rows.forEach(row -> row.setField("text", random.nextLong() + " " + random.nextLong()));
      TableFiles.of(table).append(SpliceSources.write(table, SCHEMA, rows, settings));
    }
    CompactionReport report = splice(table);
    assertThat(report.moved().reasons()).isEmpty();
    assertThat(outputs(table)).hasSize(1);
    try (ParquetTruth truth = truth(outputs(table).get(0))) {
      assertThat(truth.pageCounts("id").get(0)).isLessThan(6);
      assertThat(truth.pageCounts("text").get(0)).isEqualTo(40);
    }
  }

  @Test
  void rowGroupsHaveTheTablesSizeWhateverTheInputsHad() throws Exception {
    Table table =
        builder(2)
            .property("write.parquet.row-group-size-bytes", "30000")
            .property("write.parquet.compression-codec", "uncompressed")
            .create();
    for (int file = 0; file < 12; file++) {
      SpliceSources.Settings settings = new SpliceSources.Settings();
      settings.pageRows = 150;
      settings.dictionaryBytes = 500; // one that is copied is copied whole
      settings.rowGroupRows = file % 3 == 0 ? 10_000 : 200;
      TableFiles.of(table)
          .append(
              SpliceSources.write(
                  table,
                  SCHEMA,
                  rows(SCHEMA, file * 3000, file * 3000 + (file % 3 == 0 ? 3000 : 500)),
                  settings));
    }
    splice(table);
    List<Long> sizes = new ArrayList<>();
    for (DataFile output : outputs(table)) {
      rowGroups(output).forEach(block -> sizes.add(block.getCompressedSize()));
    }
    assertThat(sizes.size()).isGreaterThan(5);
    assertThat(sizes.subList(0, sizes.size() - 1))
        .as("bytes of row groups")
        .allMatch(size -> size > 20_000 && size < 42_000);
  }

  @Test
  void aColumnThatIsRequiredInTheFileKeepsItsValuesInPagesOfVersion2() throws Exception {
    Table table = builder(2).create();
    Schema ofFile =
        new Schema(
            required(1, "id", Types.LongType.get()),
            required(2, "text", Types.StringType.get()),
            required(3, "number", Types.IntegerType.get()),
            SCHEMA.findField("tags"));
    SpliceSources.Settings settings = new SpliceSources.Settings();
    settings.pageRows = 1000;
    for (int from : new int[] {0, 10_000}) {
      TableFiles.of(table)
          .append(SpliceSources.write(table, ofFile, rows(ofFile, from, from + 7000), settings));
    }
    DataFile first = outputs(table).get(0);
    TableFiles.of(table).deletePositions(Map.of(first, LongStream.range(2000, 2100).toArray()));
    CompactionReport report = splice(table, "target-file-size-bytes", "100000000");
    assertThat(report.moved().reasons()).isEmpty();
    try (ParquetTruth truth = truth(outputs(table).get(0))) {
      assertThat(truth.pageTypes("text")).contains(PageType.DATA_PAGE_V2);
      assertThat(truth.pageTypes("number")).contains(PageType.DATA_PAGE_V2);
      assertThat(truth.pageTypes("id")).containsOnly(PageType.DATA_PAGE);
    }
    splice(table);
  }

  @Test
  void l1l2l11InheritedAndStoredLineageIsKept() throws Exception {
    Table table = builder(3).create();
    TableFiles files = TableFiles.of(table);
    DataFile a = files.append(rows(SCHEMA, 0, 3000));
    files.append(rows(SCHEMA, 3000, 3500));
    files.deletePositions(Map.of(a, new long[] {0, 7, 1500, 2999}));
    splice(table);
    assertThat(outputs(table)).hasSize(1);
    DataFile stored = outputs(table).get(0);
    files.append(rows(SCHEMA, 5000, 9000));
    files.deletePositions(Map.of(stored, LongStream.range(100, 400).toArray()));
    CompactionReport report = splice(table);
    assertThat(report.moved().spliced() + report.moved().filtered()).isPositive();
    splice(table);
  }

  @Test
  void s2s3s25OnlyColumnsThatTheFileHasDifferentlyAreDecoded() throws Exception {
    Table table = builder(3).partitionBy(spec -> spec.identity("number")).create();
    List<Record> before = rows(SCHEMA, 0, 4000);
    before.forEach(row -> row.setField("number", 7));
    TableFiles.of(table).append(before);
    table
        .updateSchema()
        .addColumn("added", Types.StringType.get())
        .addColumn("filled", Types.StringType.get(), null, Literal.of("default"))
        .deleteColumn("tags")
        .commit();
    table.refresh();
    Rows after = Rows.of(table.schema());
    IntStream.range(4000, 8000)
        .forEach(i -> after.add((long) i, "text", 7, i % 2 == 0 ? null : "x" + i % 30, "y"));
    TableFiles.of(table).append(after.list());
    CompactionReport report = splice(table);
    assertThat(report.moved().spliced()).isPositive();
    assertThat(outputs(table)).hasSize(1);
    table.updateSchema().updateColumn("number", Types.LongType.get()).commit();
    table.refresh();
    report = splice(table);
    assertThat(report.moved().spliced()).isPositive();
  }

  @Test
  void s6PromotedColumnsAreDecodedAndTheReportTellsWhy() throws Exception {
    Table table = builder(2).create();
    TableFiles.of(table).append(rows(SCHEMA, 0, 3000));
    table.updateSchema().updateColumn("number", Types.LongType.get()).commit();
    table.refresh();
    Rows after = Rows.of(table.schema());
    IntStream.range(3000, 5000).forEach(i -> after.add((long) i, "t" + i, 1L << 40, List.of("z")));
    TableFiles.of(table).append(after.list());
    CompactionReport report = splice(table);
    assertThat(report.moved().reasons()).containsOnlyKeys("of another type in the file");
    assertThat(report.moved().transcoded()).isPositive();
    assertThat(report.moved().spliced()).isGreaterThan(report.moved().transcoded());
  }

  @Test
  void s23FilesOfOtherFormatsStandBetweenSplicedOnes() throws Exception {
    Table table = builder(2).create();
    int from = 0;
    for (FileFormat format :
        List.of(
            FileFormat.PARQUET,
            FileFormat.ORC,
            FileFormat.PARQUET,
            FileFormat.AVRO,
            FileFormat.PARQUET)) {
      DataFile file = TableFiles.of(table).format(format).append(rows(SCHEMA, from, from + 1000));
      TableFiles.of(table).deletePositions(Map.of(file, new long[] {1, 500, 999}));
      from += 1000;
    }
    CompactionReport report = splice(table);
    assertThat(outputs(table)).hasSize(1);
    assertThat(report.moved().spliced() + report.moved().filtered()).isPositive();
    assertThat(report.moved().reasons()).containsOnlyKeys("file in ORC", "file in AVRO");
  }

  @Test
  void pagesWithAnotherCodecCountAmongTheOutputsPages() throws Exception {
    Table table = builder(2).create();
    for (int i = 0; i < 4; i++) {
      TableFiles.of(table).append(rows(SCHEMA, i * 25_000, (i + 1) * 25_000));
    }
    table.updateProperties().set("write.parquet.compression-codec", "uncompressed").commit();
    CompactionReport report = splice(table);
    long peak =
        report.memory().shares().stream()
            .filter(share -> share.name().startsWith("output pages"))
            .findFirst()
            .orElseThrow()
            .peakBytes();
    assertThat(report.moved().transcoded()).isZero();
    assertThat(peak).isGreaterThan(report.bytes().written() / 2);
  }

  @Test
  void s8FilesWithoutIdsAreSplicedByTheirNameMapping() throws Exception {
    Schema allOptional =
        new Schema(
            optional(1, "id", Types.LongType.get()),
            SCHEMA.findField("text"),
            SCHEMA.findField("number"),
            SCHEMA.findField("tags"));
    Table table =
        builder(2).schema(allOptional).property("write.parquet.page-row-limit", "5000").create();
    NameMapping mapping = MappingUtil.create(table.schema());
    table
        .updateProperties()
        .set(TableProperties.DEFAULT_NAME_MAPPING, NameMappingParser.toJson(mapping))
        .commit();
    for (String codec : List.of("zstd", "snappy", "lz4_raw", "uncompressed")) {
      Path file =
          LocalFileIO.path(table.locationProvider().newDataLocation("duck-" + codec + ".parquet"));
      Files.createDirectories(file.getParent());
      try (DuckDb duckDb = DuckDb.open()) {
        duckDb.run(
            "copy (select range as id, case when range % 9 = 4 then null else 'text ' || range % 70"
                + " end as text, (range * 7 % 1000)::integer as number, case when range % 11 = 0"
                + " then null when range % 11 = 1 then [] else ['a', 'b' || range] end as tags"
                + " from range(6000)) to '"
                + file
                + "' (format parquet, row_group_size 2500, codec '"
                + codec
                + "', parquet_version '"
                + (codec.equals("zstd") || codec.equals("lz4_raw") ? "V2" : "V1")
                + "')");
      }
      DataFile added = described(table, file);
      TableFiles.of(table).append(added);
      TableFiles.of(table).deletePositions(Map.of(added, new long[] {5}));
    }
    CompactionReport report = splice(table);
    assertThat(report.moved().spliced()).as("%s", report.moved()).isPositive();
    assertThat(report.moved().reasons()).containsOnlyKeys("rows of a list without an offset index");
    splice(table);
  }

  /* No writer goes back to a dictionary after deltas, and DuckDB crashes. The pages are looked at by
  ParquetTruth; files come in any order. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void numbersOfADictionaryDoNotFollowDeltas(boolean hasDeletes) throws Exception {
    Schema schema =
        new Schema(
            optional(1, "number", Types.LongType.get()),
            optional(2, "text", Types.StringType.get()));
    for (WriterVersion version : WriterVersion.values()) {
      Table table =
          TableBuilder.at(directory.resolve("order-" + version))
              .schema(schema)
              .formatVersion(2)
              .create();
      Random random = new Random(5);
      SpliceSources.Settings settings = new SpliceSources.Settings();
      settings.version = version;
      settings.pageRows = 2000;
      for (int file = 0; file < 8; file++) {
        int distinct = file % 2 == 0 ? Integer.MAX_VALUE : 50;
        List<Record> rows = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
          Record row = GenericRecord.create(schema);
          if (random.nextInt(10) > 0) {
            long value = random.nextInt(distinct);
            row.setField("number", value * value);
            row.setField("text", "text " + value * 31);
          }
          rows.add(row);
        }
        DataFile written = SpliceSources.write(table, schema, rows, settings);
        TableFiles.of(table).append(written);
        if (hasDeletes) {
          TableFiles.of(table).deletePositions(Map.of(written, new long[] {1, 2500, 4999}));
        }
      }
      assertThat(splice(table).moved().reasons()).isEmpty();
      for (String column : List.of("number", "text")) {
        try (ParquetTruth truth = truth(outputs(table).get(0))) {
          Set<Encoding> encodings = Set.copyOf(truth.encodings(column));
          if (version == WriterVersion.PARQUET_1_0) {
            assertThat(encodings)
                .containsExactlyInAnyOrder(Encoding.PLAIN, Encoding.PLAIN_DICTIONARY);
          } else {
            assertThat(encodings)
                .containsAnyOf(Encoding.DELTA_BINARY_PACKED, Encoding.DELTA_BYTE_ARRAY);
          }
        }
      }
    }
  }

  /* DuckDB writes no indexes, and does not count what is null since the struct around it is. */
  @Test
  void m4m5NullsThatAWriterDoesNotCountAreCounted() throws Exception {
    Schema schema =
        new Schema(
            optional(1, "id", Types.LongType.get()),
            optional(
                2,
                "s",
                Types.StructType.of(
                    optional(3, "x", Types.LongType.get()),
                    optional(4, "text", Types.StringType.get()))),
            optional(5, "flat", Types.LongType.get()));
    for (String version : List.of("V1", "V2")) {
      Table table = TableBuilder.at(directory.resolve("nulls-" + version)).schema(schema).create();
      table
          .updateProperties()
          .set(
              TableProperties.DEFAULT_NAME_MAPPING,
              NameMappingParser.toJson(MappingUtil.create(table.schema())))
          .commit();
      for (int from : new int[] {0, 5000}) {
        Path file =
            LocalFileIO.path(table.locationProvider().newDataLocation("duck" + from + ".parquet"));
        Files.createDirectories(file.getParent());
        try (DuckDb duckDb = DuckDb.open()) {
          duckDb.run(
              "copy (select range as id, case when range % 5 = 0 then null else {'x':"
                  + " (hash(range) >> 1)::bigint, 'text': 'text ' || hash(range)} end as s,"
                  + " case when range % 7 = 0 then null else (hash(range) >> 2)::bigint end"
                  + " as flat from range("
                  + from
                  + ", "
                  + (from + 5000)
                  + ")) to '"
                  + file
                  + "' (format parquet, codec 'zstd', parquet_version '"
                  + version
                  + "')");
        }
        TableFiles.of(table).append(described(table, file));
      }
      CompactionReport report = splice(table);
      assertThat(report.moved().spliced()).as("%s", report.moved()).isPositive();
      Map<Integer, Long> nulls = new HashMap<>();
      for (DataFile output : outputs(table)) {
        output.nullValueCounts().forEach((id, count) -> nulls.merge(id, count, Long::sum));
      }
      assertThat(nulls).containsEntry(3, 2000L).containsEntry(4, 2000L).containsEntry(5, 1429L);
    }
  }

  /* A file as its footer describes it. */
  private static DataFile described(Table table, Path file) throws IOException {
    String location = LocalFileIO.location(file);
    return DataFiles.builder(PartitionSpec.unpartitioned())
        .withPath(location)
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(Files.size(file))
        .withMetrics(
            ParquetUtil.fileMetrics(
                table.io().newInputFile(location),
                MetricsConfig.forTable(table),
                MappingUtil.create(table.schema())))
        .build();
  }

  @Test
  void whatIsCorruptIsRefusedAndNothingIsLeft() throws Exception {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    Random random = new Random(seed);
    List<String> believed = new ArrayList<>();
    for (ParquetLies.Lie lie : ParquetLies.all()) {
      SpliceSources.Settings settings = new SpliceSources.Settings();
      settings.version = WriterVersion.values()[random.nextInt(2)];
      settings.checksums = random.nextInt(3) == 0;
      settings.pageRows = 300;
      settings.codec =
          random.nextBoolean() ? CompressionCodecName.ZSTD : CompressionCodecName.SNAPPY;
      boolean deletes = random.nextBoolean();
      Path place = Files.createTempDirectory(directory, "lie");
      String outcome = outcome(place, settings, lie, deletes);
      if (!outcome.isEmpty()) {
        believed.add(lie + " (" + settings + (deletes ? ", deletes" : "") + "): " + outcome);
      }
    }
    assertThat(believed).as("rerun with -Dfirn.test.seed=" + seed).isEmpty();
  }

  /* Empty if it was refused in a typed way, or if the rows are those that parquet-java reads. */
  private String outcome(
      Path place, SpliceSources.Settings settings, ParquetLies.Lie lie, boolean deletes)
      throws Exception {
    Table table =
        TableBuilder.at(place.resolve("table"))
            .schema(SCHEMA)
            .property("write.parquet.compression-codec", "zstd")
            .property("write.parquet.page-row-limit", "400") // pages of 300 rows are not joined
            .create();
    DataFile file = SpliceSources.write(table, SCHEMA, rows(SCHEMA, 0, 1500), settings);
    if (!ParquetLies.tell(TableBefore.path(file.location()), lie)) {
      return ""; // does not apply
    }
    TableFiles.of(table)
        .append(
            DataFiles.builder(PartitionSpec.unpartitioned())
                .copy(file)
                .withFileSizeInBytes(Files.size(TableBefore.path(file.location())))
                .build());
    if (deletes) {
      TableFiles.of(table)
          .deletePositions(
              Map.of(file, LongStream.range(0, 1500).filter(i -> i % 37 == 0).toArray()));
    }
    List<String> expected;
    try {
      expected = TableRows.live(table);
    } catch (RuntimeException | LinkageError | OutOfMemoryError unreadable) {
      expected = null;
    }
    table.refresh();
    long snapshot = table.currentSnapshot().snapshotId();
    Set<Path> paths = TableBefore.paths(table);
    Path scratch = Files.createDirectory(place.resolve("scratch"));
    String how;
    try {
      CompactionReport report =
          new Compaction(
                  table,
                  CompactionSettings.builder()
                      .option("rewrite-all", "true")
                      .memoryBytes(512L << 20)
                      .scratch(scratch)
                      .threads(1)
                      .build(),
                  CompactionListener.NONE)
              .run();
      table.refresh();
      if (report.failures().isEmpty()) {
        // Pages that are copied are not looked into: what could not be read cannot be read then.
        try {
          return TableRows.live(table).equals(expected) ? "" : "other rows than the input's";
        } catch (RuntimeException | LinkageError | OutOfMemoryError unreadable) {
          return expected == null ? "" : "the output cannot be read: " + unreadable;
        }
      }
      CompactionReport.Failure failure = report.failures().get(0);
      how = failure.toString();
      if (failure.kind().exitCode() != 6) {
        return "untyped failure " + how;
      }
    } catch (RuntimeException refused) {
      how = refused.toString();
      if (CompactionReport.FailureKind.of(refused).exitCode() != 6) {
        return "untyped exception " + how;
      }
    }
    table.refresh();
    try (Stream<Path> left = Files.list(scratch)) {
      return table.currentSnapshot().snapshotId() != snapshot
          ? "committed, and " + how
          : !TableBefore.paths(table).equals(paths)
              ? "orphans after " + how
              : left.findAny().isPresent() ? "scratch files after " + how : "";
    }
  }
}
