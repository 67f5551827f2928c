package dev.firn.engine.parquet;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.FaultyFileIO;
import dev.firn.testdata.LocalFileIO;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.PartitionData;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ColumnReader;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.impl.ColumnReadStoreImpl;
import org.apache.parquet.column.page.DataPage;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.column.page.PageReader;
import org.apache.parquet.column.values.bloomfilter.BloomFilter;
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter;
import org.apache.parquet.hadoop.BloomFilterReader;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.internal.column.columnindex.ColumnIndex;
import org.apache.parquet.internal.column.columnindex.OffsetIndex;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DataFileOutputTest {
  private static final OutputSizes ONE_FILE = new OutputSizes(1L << 40, 0, 1L << 41);

  @TempDir Path directory;
  private ParquetFixture fixture;
  private BufferAllocator allocator;

  @BeforeEach
  void open() {
    fixture = new ParquetFixture(directory);
    allocator = new RootAllocator();
  }

  @AfterEach
  void close() {
    allocator.close();
  }

  private static long seed() {
    return Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
  }

  private static DataFileOutput output(
      Table table, Schema columns, OutputSizes sizes, long rows, int threads) {
    return DataFileOutput.create(
        table,
        columns,
        new DataFileOutput.Options(
            table.spec(), null, sizes, rows, UUID.randomUUID().toString(), 7),
        ForkJoinPool.commonPool(),
        threads);
  }

  private void append(DataFileOutput output, Schema columns, List<Record> rows) throws IOException {
    try (VectorSchemaRoot batch = Batches.of(columns, rows, allocator)) {
      output.append(batch, allLive(rows.size()), rows.size());
    }
  }

  private static long[] allLive(int rows) {
    long[] live = new long[(rows + 63) / 64];
    for (int i = 0; i < rows; i++) {
      live[i >>> 6] |= 1L << i;
    }
    return live;
  }

  private static List<Path> dataFiles(Table table) throws IOException {
    Path data = LocalFileIO.path(table.location()).resolve("data");
    if (!Files.exists(data)) {
      return List.of();
    }
    try (Stream<Path> files = Files.walk(data)) {
      return files.filter(Files::isRegularFile).toList();
    }
  }

  private DataFile writeOne(Table table, Schema columns, List<Record> rows, int batchRows)
      throws IOException {
    try (DataFileOutput output = output(table, columns, ONE_FILE, rows.size(), 2)) {
      for (int from = 0; from < rows.size(); from += batchRows) {
        append(output, columns, rows.subList(from, Math.min(rows.size(), from + batchRows)));
      }
      List<DataFile> files = output.finish();
      assertThat(files).hasSize(1);
      return files.get(0);
    }
  }

  @Test
  void m15EveryTypeReadsBackInIcebergAndDuckDb() throws IOException {
    long seed = seed();
    Schema schema = RandomRows.everyType();
    Table table = fixture.table(schema, Map.of());
    schema = table.schema();
    List<Record> rows = new RandomRows(seed).rows(schema, 3000);

    DataFile file = writeOne(table, schema, rows, 700);

    assertThat(ParquetFixture.texts(ParquetFixture.rows(file, schema), schema))
        .as("rerun with -Dfirn.test.seed=" + seed)
        .isEqualTo(ParquetFixture.texts(rows, schema));
    DataFile reference = fixture.reference(table, schema, rows);
    assertThat(ParquetFixture.differenceInDuckDb(ParquetFixture.path(file), reference.location()))
        .as("rerun with -Dfirn.test.seed=" + seed)
        .isZero();
  }

  @RepeatedTest(15)
  void m1m2m3m4m6m7m8m15RandomSchemasReadBackAndHaveIcebergsMetrics() throws IOException {
    long seed = seed();
    String rerun = "rerun with -Dfirn.test.seed=" + seed;
    RandomRows random = new RandomRows(seed);
    Schema schema = random.schema(1 + random.random().nextInt(6));
    String pageVersion = random.random().nextBoolean() ? "v1" : "v2";
    Table table =
        fixture.table(
            schema,
            Map.of(
                "write.parquet.page-version",
                pageVersion,
                "write.parquet.page-size-bytes",
                String.valueOf(200 + random.random().nextInt(5000)),
                "write.parquet.row-group-size-bytes",
                String.valueOf(10_000 + random.random().nextInt(50_000)),
                "write.parquet.row-group-check-min-record-count",
                "10"));
    schema = table.schema();
    List<Record> rows = random.rows(schema, random.random().nextInt(1500) + 1);

    DataFile file = writeOne(table, schema, rows, 1 + random.random().nextInt(600));

    assertThat(ParquetFixture.texts(ParquetFixture.rows(file, schema), schema))
        .as(rerun)
        .isEqualTo(ParquetFixture.texts(rows, schema));
    DataFile reference = fixture.reference(table, schema, rows);
    assertThat(ParquetFixture.differenceInDuckDb(ParquetFixture.path(file), reference.location()))
        .as(rerun)
        .isZero();
    assertSameMetrics(file, reference, rerun);
    assertFooterAgrees(file, reference, rerun);
  }

  /* Distinct values from one to all, with dictionaries that hold them or not, nulls from none to
  all, rows that are live or not, in pages of any size. */
  @RepeatedTest(25)
  void m7m8m11EverySettingReadsBackWithTheEncodingsOfParquet() throws IOException {
    long seed = seed();
    String rerun = "rerun with -Dfirn.test.seed=" + seed;
    RandomRows random = new RandomRows(seed);
    Random dice = random.random();
    Map<String, String> properties = new HashMap<>();
    properties.put("write.parquet.page-version", dice.nextBoolean() ? "v1" : "v2");
    properties.put(
        "write.parquet.compression-codec",
        List.of("snappy", "gzip", "zstd", "lz4_raw", "uncompressed").get(dice.nextInt(5)));
    properties.put(
        "write.parquet.dict-size-bytes",
        List.of("64", "200", "3000", "2097152").get(dice.nextInt(4)));
    properties.put(
        "write.parquet.page-size-bytes", List.of("300", "5000", "1048576").get(dice.nextInt(3)));
    properties.put(
        "write.parquet.page-row-limit", List.of("7", "300", "20000").get(dice.nextInt(3)));
    List<Types.NestedField> fields = new ArrayList<>();
    List<List<Object>> pools = new ArrayList<>();
    List<org.apache.iceberg.types.Type> types = RandomRows.primitives(true);
    int columns = 2 + dice.nextInt(6);
    for (int c = 0; c < columns; c++) {
      org.apache.iceberg.types.Type type = types.get(dice.nextInt(types.size()));
      boolean isList = dice.nextInt(4) == 0;
      fields.add(
          optional(2 * c + 1, "c" + c, isList ? Types.ListType.ofOptional(2 * c + 2, type) : type));
      if (dice.nextInt(4) == 0) {
        properties.put("write.parquet.dict-encoding-enabled.column.c" + c, "false");
      }
      int distinct = List.of(1, 3, 100, 2000).get(dice.nextInt(4));
      int nulls = List.of(0, 1, 90, 100).get(dice.nextInt(4));
      List<Object> pool = new ArrayList<>();
      for (int i = 0; i < distinct; i++) {
        Object value = random.primitive(type);
        if (isList) {
          List<Object> elements = new ArrayList<>();
          for (int e = dice.nextInt(5); e > 0; e--) {
            elements.add(dice.nextInt(100) < nulls ? null : random.primitive(type));
          }
          value = elements;
        }
        pool.add(dice.nextInt(100) < nulls ? null : value);
      }
      pools.add(pool);
    }
    Table table = fixture.table(new Schema(fields), properties);
    Schema schema = table.schema();
    List<Record> rows =
        rows(
            schema,
            1 + dice.nextInt(4000),
            i -> pools.stream().map(p -> p.get(dice.nextInt(p.size()))).toArray());

    List<Record> expected = new ArrayList<>();
    int liveOfTen = List.of(1, 9, 10).get(dice.nextInt(3));
    DataFile file;
    try (DataFileOutput output = output(table, schema, ONE_FILE, -1, 2)) {
      int batchRows = 1 + dice.nextInt(3000);
      for (int from = 0; from < rows.size(); from += batchRows) {
        List<Record> some = rows.subList(from, Math.min(rows.size(), from + batchRows));
        long[] live = new long[(some.size() + 63) / 64];
        int liveRows = 0;
        for (int i = 0; i < some.size(); i++) {
          if (dice.nextInt(10) < liveOfTen || expected.isEmpty()) {
            live[i >>> 6] |= 1L << i;
            expected.add(some.get(i));
            liveRows++;
          }
        }
        try (VectorSchemaRoot batch = Batches.of(schema, some, allocator)) {
          output.append(batch, live, liveRows);
        }
      }
      file = output.finish().get(0);
    }

    assertThat(ParquetFixture.texts(ParquetFixture.rows(file, schema), schema))
        .as(rerun)
        .isEqualTo(ParquetFixture.texts(expected, schema));
    DataFile reference = fixture.reference(table, schema, expected);
    assertThat(ParquetFixture.differenceInDuckDb(ParquetFixture.path(file), reference.location()))
        .as(rerun)
        .isZero();
    assertSameMetrics(file, reference, rerun);
    assertFooterAgrees(file, reference, rerun);
    List<ColumnChunkMetaData> chunks = columns(file);
    List<ColumnChunkMetaData> expectedChunks =
        ParquetFixture.footer(reference.location()).getBlocks().get(0).getColumns();
    for (int c = 0; c < chunks.size(); c++) {
      assertThat(chunks.get(c).getStatistics())
          .as(rerun)
          .isEqualTo(expectedChunks.get(c).getStatistics());
      if (properties.get("write.parquet.page-size-bytes").equals("1048576")
          && properties.get("write.parquet.page-row-limit").equals("20000")) {
        // Both have one page and judge the dictionary by it.
        assertThat(chunks.get(c).getEncodings())
            .as(chunks.get(c).getPath() + ", " + rerun)
            .isEqualTo(expectedChunks.get(c).getEncodings());
      }
    }
  }

  private static void assertSameMetrics(DataFile file, DataFile reference, String rerun) {
    assertThat(file.recordCount()).as(rerun).isEqualTo(reference.recordCount());
    assertThat(file.valueCounts()).as("values " + rerun).isEqualTo(reference.valueCounts());
    assertThat(file.nullValueCounts()).as("nulls " + rerun).isEqualTo(reference.nullValueCounts());
    assertThat(file.nanValueCounts()).as("nans " + rerun).isEqualTo(reference.nanValueCounts());
    assertThat(file.lowerBounds()).as("lower " + rerun).isEqualTo(reference.lowerBounds());
    assertThat(file.upperBounds()).as("upper " + rerun).isEqualTo(reference.upperBounds());
    assertThat(file.columnSizes().keySet())
        .as("sizes " + rerun)
        .isEqualTo(reference.columnSizes().keySet());
  }

  private static void assertFooterAgrees(DataFile file, DataFile reference, String rerun)
      throws IOException {
    String path = ParquetFixture.path(file);
    ParquetMetadata footer = ParquetFixture.footer(path);
    ParquetMetadata expected = ParquetFixture.footer(reference.location());
    assertThat(footer.getFileMetaData().getSchema())
        .as(rerun)
        .isEqualTo(expected.getFileMetaData().getSchema());
    assertThat(footer.getFileMetaData().getKeyValueMetaData())
        .as(rerun)
        .isEqualTo(expected.getFileMetaData().getKeyValueMetaData());
    assertThat(footer.getFileMetaData().getCreatedBy())
        .isEqualTo(expected.getFileMetaData().getCreatedBy());
    assertThat(file.splitOffsets())
        .as("M7 " + rerun)
        .isEqualTo(footer.getBlocks().stream().map(b -> b.getStartingPos()).toList());
    assertThat(file.fileSizeInBytes()).as("M8").isEqualTo(Files.size(Path.of(path)));
    assertThat(footer.getBlocks().stream().mapToLong(b -> b.getRowCount()).sum())
        .isEqualTo(file.recordCount());
  }

  @Test
  void rowsThatAreNotLiveAreSkipped() throws IOException {
    long seed = seed();
    RandomRows random = new RandomRows(seed);
    Schema schema = random.schema(5);
    Table table = fixture.table(schema, Map.of());
    schema = table.schema();
    List<Record> rows = random.rows(schema, 1000);
    for (int keep : new int[] {2, 10, 90}) {
      List<Record> expected = new ArrayList<>();
      long[] live = new long[16];
      for (int i = 0; i < rows.size(); i++) {
        if (random.random().nextInt(100) < keep) {
          live[i >>> 6] |= 1L << i;
          expected.add(rows.get(i));
        }
      }
      try (DataFileOutput output = output(table, schema, ONE_FILE, -1, 1);
          VectorSchemaRoot batch = Batches.of(schema, rows, allocator)) {
        output.append(batch, live, expected.size());
        List<DataFile> files = output.finish();
        assertThat(ParquetFixture.texts(ParquetFixture.rows(files.get(0), schema), schema))
            .as("rerun with -Dfirn.test.seed=" + seed)
            .isEqualTo(ParquetFixture.texts(expected, schema));
        assertThat(output.rowsWritten()).isEqualTo(expected.size());
      }
    }
  }

  @Test
  void d31NoRowsMakeNoFile() throws IOException {
    Schema schema = RandomRows.everyType();
    Table table = fixture.table(schema, Map.of());
    try (DataFileOutput output = output(table, table.schema(), ONE_FILE, 0, 1)) {
      assertThat(output.finish()).isEmpty();
    }
    assertThat(dataFiles(table)).isEmpty();
  }

  @Test
  void discardLeavesNoFile() throws IOException {
    Schema schema = RandomRows.everyType();
    Table table = fixture.table(schema, Map.of("write.parquet.row-group-size-bytes", "20000"));
    List<Record> rows = new RandomRows(1).rows(table.schema(), 2000);
    DataFileOutput output =
        output(table, table.schema(), new OutputSizes(50_000, 0, 100_000), -1, 2);
    append(output, table.schema(), rows);
    assertThat(output.bytesWritten()).isPositive();
    output.close();
    output.close();
    assertThat(dataFiles(table)).isEmpty();
    assertThatThrownBy(output::finish).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void c15AFileOfTheSameNameIsNeitherWrittenNorDeleted() throws IOException {
    Schema schema = schema(required(1, "id", Types.LongType.get()));
    Table table = fixture.table(schema, Map.of());
    List<Record> rows = rows(table.schema(), 10, i -> new Object[] {(long) i});
    DataFileOutput.Options options =
        new DataFileOutput.Options(table.spec(), null, ONE_FILE, -1, "the-operation", 1);
    try (DataFileOutput output =
        DataFileOutput.create(table, table.schema(), options, ForkJoinPool.commonPool(), 1)) {
      append(output, table.schema(), rows);
      output.finish();
    }
    List<Path> files = dataFiles(table);
    byte[] content = Files.readAllBytes(files.get(0));
    try (DataFileOutput output =
        DataFileOutput.create(table, table.schema(), options, ForkJoinPool.commonPool(), 1)) {
      append(output, table.schema(), rows.subList(0, 5));
      assertThatThrownBy(output::finish).isInstanceOf(AlreadyExistsException.class);
    }
    assertThat(dataFiles(table)).isEqualTo(files).hasSize(1);
    assertThat(files.get(0)).hasBinaryContent(content);
  }

  @Test
  void parallelEncodingGivesTheSameFile() throws IOException {
    long seed = seed();
    RandomRows random = new RandomRows(seed);
    Schema schema = random.schema(8);
    Table table = fixture.table(schema, Map.of());
    List<Record> rows = random.rows(table.schema(), 3000);
    List<byte[]> contents = new ArrayList<>();
    for (int threads : new int[] {1, 4}) {
      try (DataFileOutput output = output(table, table.schema(), ONE_FILE, -1, threads)) {
        append(output, table.schema(), rows);
        contents.add(Files.readAllBytes(Path.of(ParquetFixture.path(output.finish().get(0)))));
      }
    }
    assertThat(contents.get(1))
        .as("rerun with -Dfirn.test.seed=" + seed)
        .isEqualTo(contents.get(0));
  }

  private static Schema schema(Types.NestedField... fields) {
    return new Schema(fields);
  }

  private static List<Record> rows(Schema schema, int count, IntFunction<Object[]> values) {
    List<Record> rows = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      Object[] row = values.apply(i);
      GenericRecord record = GenericRecord.create(schema);
      for (int c = 0; c < row.length; c++) {
        record.set(c, row[c]);
      }
      rows.add(record);
    }
    return rows;
  }

  @ParameterizedTest
  @ValueSource(strings = {"snappy", "gzip", "zstd", "lz4_raw", "uncompressed"})
  void m11CodecOfTheTableIsUsed(String codec) throws IOException {
    Schema schema =
        schema(required(1, "a", Types.LongType.get()), optional(2, "s", Types.StringType.get()));
    Table table = fixture.table(schema, Map.of("write.parquet.compression-codec", codec));
    List<Record> rows =
        rows(schema, 500, i -> new Object[] {(long) i, i % 3 == 0 ? null : "v" + i});

    DataFile file = writeOne(table, schema, rows, 100);

    assertThat(ParquetFixture.rows(file, schema)).isEqualTo(rows);
    assertThat(columns(file).get(0).getCodec().name()).isEqualToIgnoringCase(codec);
    assertThat(ParquetFixture.duckDb("select sum(a) from '" + ParquetFixture.path(file) + "'"))
        .isEqualTo(499L * 250);
  }

  @Test
  void m11AbsentCodecIsGzip() throws IOException {
    Schema schema = schema(required(1, "a", Types.LongType.get()));
    Table table =
        TableBuilder.at(directory.resolve("gzip")).schema(schema).formatVersion(2).create();
    DataFile file = writeOne(table, schema, rows(schema, 10, i -> new Object[] {(long) i}), 10);
    assertThat(columns(file).get(0).getCodec()).isEqualTo(CompressionCodecName.GZIP);
  }

  @ParameterizedTest
  @ValueSource(strings = {"brotli", "lzo", "lz4"})
  void m11CodecThatIsNotOnBoardIsRefusedBeforeWork(String codec) {
    Schema schema = schema(required(1, "a", Types.LongType.get()));
    Table table = fixture.table(schema, Map.of("write.parquet.compression-codec", codec));
    assertThatThrownBy(() -> output(table, schema, ONE_FILE, -1, 1))
        .isInstanceOf(UnsupportedTableException.class)
        .hasMessageContaining(codec)
        .hasMessageContaining("Nothing was written");
  }

  @ParameterizedTest
  @ValueSource(strings = {"zstd", "gzip"})
  void m11CompressionLevelChangesTheSize(String codec) throws IOException {
    Schema schema = schema(required(1, "s", Types.StringType.get()));
    Random random = new Random(5);
    List<Record> rows =
        rows(
            schema,
            20_000,
            i -> new Object[] {"word" + random.nextInt(300) + " and word" + random.nextInt(300)});
    List<Long> sizes = new ArrayList<>();
    for (String level : List.of("1", "9")) {
      Table table =
          fixture.table(
              schema,
              Map.of(
                  "write.parquet.compression-codec", codec,
                  "write.parquet.compression-level", level,
                  "write.parquet.dict-encoding-enabled.column.s", "false"));
      sizes.add(writeOne(table, schema, rows, 20_000).fileSizeInBytes());
    }
    assertThat(sizes.get(1)).isLessThan(sizes.get(0) * 95 / 100);
  }

  private static List<ColumnChunkMetaData> columns(DataFile file) {
    return ParquetFixture.footer(ParquetFixture.path(file)).getBlocks().get(0).getColumns();
  }

  @Test
  void m11PageRowLimitAndPageSizeAreKept() throws IOException {
    Schema schema =
        schema(
            required(1, "a", Types.LongType.get()),
            required(2, "s", Types.StringType.get()),
            optional(3, "l", Types.ListType.ofRequired(4, Types.DoubleType.get())));
    Table table =
        fixture.table(
            schema,
            Map.of(
                "write.parquet.page-row-limit", "300",
                "write.parquet.page-size-bytes", "4000",
                "write.parquet.dict-encoding-enabled.column.s", "false"));
    List<Record> rows =
        rows(
            schema,
            5000,
            i ->
                new Object[] {
                  (long) i, "x".repeat(i % 90), i % 5 == 0 ? null : List.of(1.0 * i, 2.0)
                });

    DataFile file = writeOne(table, schema, rows, 5000);

    assertThat(ParquetFixture.rows(file, schema)).isEqualTo(rows);
    try (ParquetFileReader reader = ParquetFixture.reader(ParquetFixture.path(file))) {
      PageReadStore rowGroup = reader.readNextRowGroup();
      List<ColumnDescriptor> leaves = reader.getFileMetaData().getSchema().getColumns();
      List<Integer> pages = new ArrayList<>();
      for (ColumnDescriptor leaf : leaves) {
        PageReader column = rowGroup.getPageReader(leaf);
        int count = 0;
        for (DataPage page = column.readPage(); page != null; page = column.readPage()) {
          assertThat(page.getUncompressedSize()).isLessThan(4000 + 200);
          assertThat(page.getValueCount()).isLessThanOrEqualTo(600);
          count++;
        }
        pages.add(count);
      }
      assertThat(pages.get(0)).isEqualTo(17); // 5000 / 300: rows decide
      assertThat(pages.get(1)).isBetween(50, 90); // about 240 KB in pages of 4 KB: bytes decide
    }
  }

  @Test
  void pageIndexFindsEveryRow() throws IOException {
    Schema schema =
        schema(required(1, "a", Types.LongType.get()), optional(2, "s", Types.StringType.get()));
    Table table = fixture.table(schema, Map.of("write.parquet.page-row-limit", "100"));
    List<Record> rows =
        rows(
            schema,
            1000,
            i ->
                new Object[] {
                  i * 7L, i / 100 == 4 || i % 10 == 0 ? null : String.format("k%05d", i)
                });

    DataFile file = writeOne(table, schema, rows, 333);

    try (ParquetFileReader reader = ParquetFixture.reader(ParquetFixture.path(file))) {
      List<ColumnChunkMetaData> chunks = reader.getRowGroups().get(0).getColumns();
      OffsetIndex offsets = reader.readOffsetIndex(chunks.get(0));
      ColumnIndex index = reader.readColumnIndex(chunks.get(0));
      assertThat(offsets.getPageCount()).isEqualTo(10);
      for (int page = 0; page < 10; page++) {
        assertThat(offsets.getFirstRowIndex(page)).isEqualTo(page * 100L);
        assertThat(index.getMinValues().get(page).order(ByteOrder.LITTLE_ENDIAN).getLong(0))
            .isEqualTo(page * 700L);
        assertThat(index.getMaxValues().get(page).order(ByteOrder.LITTLE_ENDIAN).getLong(0))
            .isEqualTo(page * 700L + 99 * 7);
      }
      ColumnIndex texts = reader.readColumnIndex(chunks.get(1));
      assertThat(texts.getNullPages()).element(4).isEqualTo(true);
      assertThat(texts.getNullCounts()).element(0).isEqualTo(10L);
    }
    assertThat(
            ParquetFixture.duckDb(
                "select count(*) from '" + ParquetFixture.path(file) + "' where a = 3507"))
        .isEqualTo(1);
    assertThat(
            ParquetFixture.duckDb(
                "select count(*) from '" + ParquetFixture.path(file) + "' where s = 'k00999'"))
        .isEqualTo(1);
  }

  @Test
  void m12BloomFiltersReachNestedAndOddlyNamedColumns() throws IOException {
    Schema schema =
        schema(
            optional(1, "odd name/1", Types.LongType.get()),
            optional(
                2,
                "s",
                Types.StructType.of(
                    optional(3, "x.y", Types.StringType.get()),
                    optional(4, "plain", Types.UUIDType.get()))),
            optional(5, "i", Types.IntegerType.get()),
            optional(6, "f", Types.FloatType.get()),
            optional(7, "d", Types.DoubleType.get()));
    Map<String, String> properties = new HashMap<>();
    for (String column : List.of("odd name/1", "s.x.y", "s.plain", "i", "f", "d")) {
      properties.put("write.parquet.bloom-filter-enabled.column." + column, "true");
    }
    properties.put("write.parquet.bloom-filter-ndv.column.i", "1000");
    properties.put("write.parquet.bloom-filter-fpp.column.i", "0.001");
    properties.put("write.parquet.bloom-filter-max-bytes", "65536");
    properties.put("write.parquet.stats-enabled.column.s.x.y", "false");
    properties.put("write.parquet.dict-encoding-enabled.column.odd name/1", "false");
    properties.put("write.metadata.metrics.column.odd name/1", "counts");
    Table table = fixture.table(schema, properties);
    Types.StructType nested = schema.findType("s").asStructType();
    List<Record> rows =
        rows(
            schema,
            1000,
            i -> {
              GenericRecord s = GenericRecord.create(nested);
              s.set(0, "text" + i);
              s.set(1, new UUID(i, i));
              return new Object[] {(long) i, s, i, (float) i, (double) i};
            });

    DataFile file = writeOne(table, schema, rows, 1000);

    assertThat(ParquetFixture.rows(file, schema)).isEqualTo(rows);
    assertSameMetrics(file, fixture.reference(table, schema, rows), "");
    assertThat(file.lowerBounds()).doesNotContainKey(1).containsKey(5);
    assertThat(file.valueCounts()).containsEntry(1, 1000L);
    List<ColumnChunkMetaData> chunks = columns(file);
    assertThat(chunks.get(0).getEncodings()).doesNotContain(Encoding.PLAIN_DICTIONARY);
    assertThat(chunks.get(1).getStatistics().hasNonNullValue()).isFalse();
    try (ParquetFileReader reader = ParquetFixture.reader(ParquetFixture.path(file))) {
      BloomFilterReader blooms = reader.getBloomFilterDataReader(reader.getRowGroups().get(0));
      BloomFilter longs = blooms.readBloomFilter(chunks.get(0));
      BloomFilter texts = blooms.readBloomFilter(chunks.get(1));
      BloomFilter uuids = blooms.readBloomFilter(chunks.get(2));
      BloomFilter ints = blooms.readBloomFilter(chunks.get(3));
      BloomFilter floats = blooms.readBloomFilter(chunks.get(4));
      BloomFilter doubles = blooms.readBloomFilter(chunks.get(5));
      assertThat(ints.getBitsetSize()).isLessThan(8192);
      assertThat(longs.getBitsetSize()).isEqualTo(65536);
      int wrong = 0;
      for (int i = 0; i < 1000; i++) {
        assertThat(longs.findHash(longs.hash((long) i))).isTrue();
        assertThat(texts.findHash(texts.hash(Binary.fromString("text" + i)))).isTrue();
        assertThat(
                uuids.findHash(
                    uuids.hash(
                        Binary.fromConstantByteArray(
                            ByteBuffer.allocate(16).putLong(i).putLong(i).array()))))
            .isTrue();
        assertThat(ints.findHash(ints.hash(i))).isTrue();
        assertThat(floats.findHash(floats.hash((float) i))).isTrue();
        assertThat(doubles.findHash(doubles.hash((double) i))).isTrue();
        wrong += ints.findHash(ints.hash(i + 5000)) ? 1 : 0;
      }
      assertThat(wrong).isLessThan(20);
    }
  }

  @Test
  void m11m12AdaptiveBloomFilterHasEveryValue() throws IOException {
    Schema schema = schema(optional(1, "a", Types.LongType.get()));
    Table table =
        fixture.table(
            schema,
            Map.of(
                "write.parquet.bloom-filter-enabled.column.a", "true",
                "write.parquet.bloom-filter-adaptive-enabled", "true"));
    DataFile file = writeOne(table, schema, rows(schema, 500, i -> new Object[] {(long) i}), 500);
    try (ParquetFileReader reader = ParquetFixture.reader(ParquetFixture.path(file))) {
      BloomFilter longs =
          reader
              .getBloomFilterDataReader(reader.getRowGroups().get(0))
              .readBloomFilter(columns(file).get(0));
      assertThat(longs.getBitsetSize()).isLessThan(1 << 18);
      for (long i = 0; i < 500; i++) {
        assertThat(longs.findHash(longs.hash(i))).isTrue();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"none", "counts", "truncate(3)", "full"})
  void m1m4m6MetricsModesEqualIcebergs(String mode) throws IOException {
    long seed = seed();
    Schema schema = RandomRows.everyType();
    Table table =
        fixture.table(
            schema,
            Map.of(
                "write.metadata.metrics.default", mode,
                "write.metadata.metrics.column.c1", "full",
                "write.metadata.metrics.column.c9", "truncate(1)",
                "write.metadata.metrics.column.c3", "counts",
                "write.metadata.metrics.column.r3", "none"));
    List<Record> rows = new RandomRows(seed).rows(schema, 300);
    DataFile file = writeOne(table, schema, rows, 300);
    assertSameMetrics(
        file, fixture.reference(table, schema, rows), "rerun with -Dfirn.test.seed=" + seed);
  }

  @Test
  void m1MoreThanAHundredColumns() throws IOException {
    List<Types.NestedField> fields = new ArrayList<>();
    for (int i = 1; i <= 130; i++) {
      fields.add(optional(i, "c" + i, i % 2 == 0 ? Types.DoubleType.get() : Types.LongType.get()));
    }
    Schema schema = new Schema(fields);
    TableBuilder builder = fixture.builder().schema(schema).sortBy(order -> order.asc("c125"));
    Table table = builder.create();
    List<Record> rows = new RandomRows(3).rows(schema, 50);
    DataFile file = writeOne(table, schema, rows, 50);
    assertSameMetrics(file, fixture.reference(table, schema, rows), "");
    assertThat(file.valueCounts()).containsKeys(100, 125).doesNotContainKeys(101, 130);
  }

  @Test
  void m3AllNanHasNoBoundsAndZerosKeepTheirSign() throws IOException {
    Schema schema =
        schema(
            optional(1, "nan", Types.FloatType.get()),
            optional(2, "zero", Types.DoubleType.get()),
            optional(3, "s", Types.StructType.of(optional(4, "f", Types.FloatType.get()))),
            required(5, "inf", Types.DoubleType.get()));
    Table table = fixture.table(schema, Map.of());
    Types.StructType nested = schema.findType("s").asStructType();
    List<Record> rows =
        rows(
            schema,
            90,
            i -> {
              GenericRecord s = GenericRecord.create(nested);
              s.set(0, i % 3 == 0 ? null : Float.valueOf(i));
              return new Object[] {
                Float.NaN, i % 2 == 0 ? 0.0 : -0.0, i % 5 == 0 ? null : s, Double.POSITIVE_INFINITY
              };
            });
    DataFile file = writeOne(table, schema, rows, 40);
    assertSameMetrics(file, fixture.reference(table, schema, rows), "");
    assertThat(file.nanValueCounts()).containsEntry(1, 90L).containsEntry(4, 0L);
    assertThat(file.nullValueCounts()).containsEntry(4, 42L); // those below a null too (M4)
    assertThat(file.lowerBounds()).doesNotContainKey(1);
    assertThat(
            Double.doubleToRawLongBits(
                Conversions.fromByteBuffer(Types.DoubleType.get(), file.lowerBounds().get(2))))
        .isEqualTo(Double.doubleToRawLongBits(-0.0));
    assertThat(
            Double.doubleToRawLongBits(
                Conversions.fromByteBuffer(Types.DoubleType.get(), file.upperBounds().get(2))))
        .isEqualTo(0L);
  }

  @ParameterizedTest
  @ValueSource(strings = {"v1", "v2"})
  void s19s21NanPayloadsAndMalformedTextAreKeptToTheBit(String pageVersion) throws IOException {
    Schema schema =
        schema(
            required(1, "f", Types.FloatType.get()),
            required(2, "d", Types.DoubleType.get()),
            required(3, "s", Types.StringType.get()),
            optional(4, "plain", Types.FloatType.get()));
    Table table =
        fixture.table(
            schema,
            Map.of(
                "write.parquet.page-version",
                pageVersion,
                "write.parquet.dict-encoding-enabled.column.plain",
                "false"));
    int[] floats = {0x7FC00001, 0xFFC12345, 0x7F800001, 0x80000000, 0, 0x7F800000};
    long[] doubles = {0x7FF8000000000001L, 0xFFF8123456789ABCL, 1L << 63, 0L, 1L, 2L};
    byte[][] texts = {
      {(byte) 0xC3},
      {(byte) 0xFF, 0},
      {'a', (byte) 0x80},
      {},
      {(byte) 0xED, (byte) 0xA0, (byte) 0x80},
      {'z'}
    };
    DataFile file;
    try (DataFileOutput output = output(table, schema, ONE_FILE, -1, 1);
        VectorSchemaRoot batch = VectorSchemaRoot.create(Batches.schema(schema), allocator)) {
      batch.allocateNew();
      for (int i = 0; i < 6; i++) {
        ((Float4Vector) batch.getVector(0)).setIndexDefined(i);
        batch.getVector(0).getDataBuffer().setInt(4L * i, floats[i]);
        ((Float8Vector) batch.getVector(1)).setIndexDefined(i);
        batch.getVector(1).getDataBuffer().setLong(8L * i, doubles[i]);
        ((VarBinaryVector) batch.getVector(2)).setSafe(i, texts[i]);
        ((Float4Vector) batch.getVector(3)).setIndexDefined(i);
        batch.getVector(3).getDataBuffer().setInt(4L * i, floats[i]);
      }
      batch.setRowCount(6);
      output.append(batch, allLive(6), 6);
      file = output.finish().get(0);
    }
    List<byte[]> values = new ArrayList<>();
    try (ParquetFileReader reader = ParquetFixture.reader(ParquetFixture.path(file))) {
      PageReadStore rowGroup = reader.readNextRowGroup();
      MessageType type = reader.getFileMetaData().getSchema();
      ColumnReadStoreImpl columns =
          new ColumnReadStoreImpl(
              rowGroup, new GroupRecordConverter(type).getRootConverter(), type, "test");
      ColumnReader f = columns.getColumnReader(type.getColumns().get(0));
      ColumnReader d = columns.getColumnReader(type.getColumns().get(1));
      ColumnReader plain = columns.getColumnReader(type.getColumns().get(3));
      for (int i = 0; i < 6; i++) {
        assertThat(Float.floatToRawIntBits(f.getFloat())).isEqualTo(floats[i]);
        assertThat(Double.doubleToRawLongBits(d.getDouble())).isEqualTo(doubles[i]);
        assertThat(Float.floatToRawIntBits(plain.getFloat())).isEqualTo(floats[i]);
        skip(f);
        skip(d);
        skip(plain);
      }
      ColumnReader s = columns.getColumnReader(type.getColumns().get(2));
      for (int i = 0; i < 6; i++) {
        values.add(s.getBinary().getBytes());
        skip(s);
      }
    }
    assertThat(values).containsExactly(texts);
  }

  private static void skip(ColumnReader column) {
    column.skip();
    column.consume();
  }

  @ParameterizedTest
  @ValueSource(strings = {"v1", "v2"})
  void m18HugeValuesMakeNoHugePagesOrRowGroups(String pageVersion) throws IOException {
    Schema schema =
        schema(required(1, "id", Types.LongType.get()), optional(2, "b", Types.BinaryType.get()));
    Table table =
        fixture.table(
            schema,
            Map.of(
                "write.parquet.page-version",
                pageVersion,
                "write.parquet.row-group-size-bytes",
                String.valueOf(8 << 20)));
    Random random = new Random(4);
    List<Record> rows =
        rows(
            schema,
            140,
            i -> {
              byte[] bytes = new byte[i < 100 ? 3 : 1 << 20];
              random.nextBytes(bytes);
              return new Object[] {(long) i, ByteBuffer.wrap(bytes)};
            });
    DataFile file = writeOne(table, schema, rows, 140);
    assertThat(ParquetFixture.texts(ParquetFixture.rows(file, schema), schema))
        .isEqualTo(ParquetFixture.texts(rows, schema));
    try (ParquetFileReader reader = ParquetFixture.reader(ParquetFixture.path(file))) {
      assertThat(reader.getRowGroups()).hasSizeBetween(5, 7);
      for (BlockMetaData block : reader.getRowGroups()) {
        assertThat(block.getCompressedSize()).isLessThan((8 << 20) + (2 << 20));
      }
      for (PageReadStore rowGroup = reader.readNextRowGroup();
          rowGroup != null;
          rowGroup = reader.readNextRowGroup()) {
        PageReader pages =
            rowGroup.getPageReader(reader.getFileMetaData().getSchema().getColumns().get(1));
        for (DataPage page = pages.readPage(); page != null; page = pages.readPage()) {
          assertThat(page.getUncompressedSize()).isLessThan((2 << 20) + 4096);
        }
      }
    }
  }

  @Test
  void m11RowGroupSizeIsKeptBothWaysOfCounting() throws IOException {
    Schema schema = schema(required(1, "s", Types.StringType.get()));
    Random random = new Random(9);
    List<Record> rows =
        rows(
            schema,
            40_000,
            i -> new Object[] {"0".repeat(50) + Long.toHexString(random.nextLong())});
    List<Integer> rowGroups = new ArrayList<>();
    for (String uncompressed : List.of("false", "true")) {
      Table table =
          fixture.table(
              schema,
              Map.of(
                  "write.parquet.row-group-size-bytes", "200000",
                  "write.parquet.page-size-bytes", "10000",
                  "write.parquet.dict-encoding-enabled.column.s", "false",
                  "write.parquet.row-group-size-track-uncompressed", uncompressed));
      DataFile file = writeOne(table, schema, rows, 10_000);
      List<BlockMetaData> blocks = ParquetFixture.footer(ParquetFixture.path(file)).getBlocks();
      for (BlockMetaData block : blocks.subList(0, blocks.size() - 1)) {
        long bytes =
            uncompressed.equals("true") ? block.getTotalByteSize() : block.getCompressedSize();
        assertThat(bytes).isBetween(180_000L, 215_000L);
      }
      rowGroups.add(blocks.size());
    }
    assertThat(rowGroups.get(1)).isGreaterThan(2 * rowGroups.get(0));
  }

  @Test
  void m10m14PartitionsHaveTheirOwnFilesAndLocations() throws IOException {
    Schema schema =
        schema(required(1, "id", Types.LongType.get()), optional(2, "p", Types.StringType.get()));
    Table table =
        fixture
            .builder()
            .schema(schema)
            .partitionBy(spec -> spec.identity("p"))
            .property("write.object-storage.enabled", "true")
            .create();
    PartitionData tuple = new PartitionData(table.spec().partitionType());
    List<DataFile> files;
    try (DataFileOutput output =
        DataFileOutput.create(
            table,
            schema,
            new DataFileOutput.Options(table.spec(), 3, ONE_FILE, -1, "the-operation", 12),
            ForkJoinPool.commonPool(),
            2)) {
      assertThatThrownBy(() -> append(output, schema, rows(schema, 1, i -> new Object[] {1L, "a"})))
          .isInstanceOf(IllegalStateException.class);
      for (String p : new String[] {"a", "a", "b", null, "null"}) {
        tuple.set(0, p);
        output.partition(tuple);
        append(output, schema, rows(schema, 10, i -> new Object[] {(long) i, p}));
      }
      files = output.finish();
    }
    assertThat(files).hasSize(4);
    assertThat(files.stream().map(f -> f.partition().get(0, String.class)).toList())
        .containsExactly("a", "b", null, "null");
    assertThat(files.stream().map(DataFile::recordCount).toList())
        .containsExactly(20L, 10L, 10L, 10L);
    assertThat(files.stream().map(DataFile::location).distinct()).hasSize(4);
    for (DataFile file : files) {
      assertThat(file.specId()).isEqualTo(table.spec().specId());
      assertThat(file.sortOrderId()).isEqualTo(3);
      assertThat(file.firstRowId()).isNull(); // L5
      assertThat(file.keyMetadata()).isNull();
      assertThat(file.content()).isEqualTo(FileContent.DATA);
      assertThat(file.location()).contains("00012-0-the-operation-");
      assertThat(LocalFileIO.path(file.location())).exists();
      assertThat(file.location()).matches(".*/data/[01]{4}/[01]{4}/[01]{4}/[01]{8}/.*");
      assertThat(ParquetFixture.rows(file, schema)).hasSize((int) file.recordCount());
    }
  }

  @Test
  void m9UnsortedIsZero() throws IOException {
    Schema schema = schema(required(1, "id", Types.LongType.get()));
    Table table = fixture.table(schema, Map.of());
    DataFile file = writeOne(table, schema, rows(schema, 1, i -> new Object[] {1L}), 1);
    assertThat(file.sortOrderId()).isZero();
    assertThat(file.location()).startsWith(table.location() + "/data/00007-0-");
  }

  @Test
  void l1LineageColumnsAreWritten() throws IOException {
    Schema schema = schema(required(1, "id", Types.LongType.get()));
    Table table = fixture.table(schema, Map.of());
    Schema columns = MetadataColumns.schemaWithRowLineage(table.schema());
    List<Record> rows =
        rows(columns, 100, i -> new Object[] {(long) i, 1000L + i, i % 2 == 0 ? null : 5L});
    DataFile file = writeOne(table, columns, rows, 100);
    assertThat(file.firstRowId()).isNull();
    DataFile reference = fixture.reference(table, columns, rows);
    assertSameMetrics(file, reference, "");
    assertFooterAgrees(file, reference, "");
    assertThat(ParquetFixture.differenceInDuckDb(ParquetFixture.path(file), reference.location()))
        .isZero();
  }

  @Test
  void s7NullInARequiredColumnFails() throws IOException {
    Schema schema = schema(optional(1, "id", Types.LongType.get()));
    Schema strict = schema(required(1, "id", Types.LongType.get()));
    Table table = fixture.table(strict, Map.of());
    List<Record> rows = rows(schema, 3, i -> new Object[] {i == 1 ? null : (Object) 1L});
    try (DataFileOutput output = output(table, strict, ONE_FILE, -1, 1);
        VectorSchemaRoot batch = Batches.of(schema, rows, allocator)) {
      assertThatThrownBy(() -> output.append(batch, new long[] {7}, 3))
          .hasMessageContaining("id")
          .hasMessageContaining("required");
      assertThatThrownBy(output::finish).isInstanceOf(IllegalStateException.class);
    }
    try (DataFileOutput output = output(table, strict, ONE_FILE, -1, 1);
        VectorSchemaRoot batch = Batches.of(schema, rows, allocator)) {
      output.append(batch, new long[] {5}, 2); // the row with the null is not live
      assertThat(output.finish().get(0).recordCount()).isEqualTo(2);
    }
  }

  @Test
  void offsetsNeedNotStartAtZero() throws IOException {
    Schema schema =
        schema(
            required(1, "s", Types.StringType.get()),
            required(2, "l", Types.ListType.ofRequired(3, Types.IntegerType.get())));
    Table table = fixture.table(schema, Map.of());
    try (DataFileOutput output = output(table, schema, ONE_FILE, -1, 1);
        VectorSchemaRoot batch =
            Batches.of(
                schema,
                rows(schema, 4, i -> new Object[] {"text" + i, List.of(i, i + 10)}),
                allocator)) {
      // The batch without its first row, as a slice has it: offsets as they were, one later.
      for (int column = 0; column < 2; column++) {
        ArrowBuf offsets = batch.getVector(column).getOffsetBuffer();
        for (int i = 0; i < 4; i++) {
          offsets.setInt(4L * i, offsets.getInt(4L * (i + 1)));
        }
      }
      output.append(batch, new long[] {7}, 3);
      assertThat(ParquetFixture.rows(output.finish().get(0), schema))
          .isEqualTo(rows(schema, 3, i -> new Object[] {"text" + (i + 1), List.of(i + 1, i + 11)}));
    }
  }

  @Test
  void everyFailureOfTheStoreLeavesNothing() throws IOException {
    Schema schema =
        schema(required(1, "id", Types.LongType.get()), optional(2, "s", Types.StringType.get()));
    Table table = fixture.table(schema, Map.of("write.parquet.row-group-size-bytes", "20000"));
    Random random = new Random(1);
    List<Record> rows =
        rows(schema, 3000, i -> new Object[] {random.nextLong(), "v" + random.nextLong()});
    OutputSizes sizes = new OutputSizes(30_000, 0, 60_000);
    FaultyFileIO healthy = new FaultyFileIO(table.io());
    try (DataFileOutput output =
        output(Tables.withIo(table, io -> healthy), schema, sizes, -1, 2)) {
      append(output, schema, rows);
      assertThat(output.finish()).hasSizeGreaterThan(1);
      output.discard(null);
    }
    assertThat(dataFiles(table)).isEmpty();
    for (FaultyFileIO.Call call :
        List.of(FaultyFileIO.Call.CREATE, FaultyFileIO.Call.WRITE, FaultyFileIO.Call.CLOSE)) {
      long calls = healthy.calls(call);
      assertThat(calls).isPositive();
      for (long nth = 1; nth <= calls; nth += Math.max(1, calls / 12)) {
        FaultyFileIO faulty = new FaultyFileIO(table.io()).fail(call, nth);
        try (DataFileOutput output =
            output(Tables.withIo(table, io -> faulty), schema, sizes, -1, 2)) {
          assertThatThrownBy(
                  () -> {
                    append(output, schema, rows);
                    output.finish();
                  })
              .hasStackTraceContaining("Made to fail: " + call);
        }
        assertThat(faulty.openStreams()).as(call + " " + nth).isEmpty();
        assertThat(dataFiles(table)).as(call + " " + nth).isEmpty();
      }
    }
  }

  @RepeatedTest(5)
  void m19FilesAreWithinTheLimitsWithNoSmallRemainder() throws IOException {
    long seed = seed();
    RandomRows random = new RandomRows(seed);
    Schema schema =
        schema(
            required(1, "id", Types.LongType.get()),
            optional(2, "s", Types.StringType.get()),
            optional(3, "d", Types.DoubleType.get()),
            optional(4, "low", Types.IntegerType.get()));
    Table table =
        fixture.table(
            schema,
            Map.of(
                "write.parquet.row-group-size-bytes", "1000000",
                "write.parquet.page-size-bytes", "20000"));
    int count = 20_000 + random.random().nextInt(100_000);
    List<Record> rows =
        rows(
            schema,
            count,
            i ->
                new Object[] {
                  random.random().nextLong(),
                  "prefix-" + random.random().nextInt(1000),
                  random.random().nextDouble(),
                  random.random().nextInt(5)
                });
    long target = 300_000 + random.random().nextInt(400_000);
    OutputSizes sizes = new OutputSizes(target, target * 3 / 4, target * 9 / 5);
    String rerun = "rerun with -Dfirn.test.seed=" + seed;
    try (DataFileOutput output = output(table, schema, sizes, count, 2)) {
      for (int from = 0; from < count; from += 8192) {
        append(output, schema, rows.subList(from, Math.min(count, from + 8192)));
      }
      long estimated = output.bytesWritten();
      List<DataFile> files = output.finish();
      long total = files.stream().mapToLong(DataFile::fileSizeInBytes).sum();
      assertThat(estimated).as(rerun).isBetween(total * 9 / 10, total * 11 / 10);
      assertThat(output.bytesWritten()).isEqualTo(total);
      assertThat(files.stream().mapToLong(DataFile::recordCount).sum()).isEqualTo(count);
      if (total > sizes.minBytes()) {
        for (DataFile file : files) {
          assertThat(file.fileSizeInBytes())
              .as(rerun + " " + files.stream().map(DataFile::fileSizeInBytes).toList())
              .isBetween(sizes.minBytes(), sizes.maxBytes());
        }
      }
    }
  }
}
