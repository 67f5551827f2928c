package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.GoldenTables;
import dev.firn.testdata.LocalFileIO;
import dev.firn.testdata.RowText;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.Util;
import org.apache.parquet.io.api.Binary;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Row groups that are decoded part by part, against the readers that decode them whole. */
class RowSlicesTest {
  @TempDir Path directory;

  private static long seed() {
    return Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
  }

  private Table table(Schema schema) {
    return TableBuilder.at(directory.resolve("table")).formatVersion(3).schema(schema).create();
  }

  /** The same file without offset indexes, as other writers have it. */
  private static DataFile withoutOffsetIndex(DataFile file) throws IOException {
    Path path = LocalFileIO.path(file.location());
    byte[] bytes = Files.readAllBytes(path);
    int length = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt(bytes.length - 8);
    int end = bytes.length - 8 - length;
    FileMetaData footer = Util.readFileMetaData(new ByteArrayInputStream(bytes, end, length));
    footer
        .getRow_groups()
        .forEach(
            group ->
                group
                    .getColumns()
                    .forEach(
                        chunk -> {
                          chunk.unsetOffset_index_offset();
                          chunk.unsetOffset_index_length();
                        }));
    ByteBuffer trailer = ParquetFooter.trailer(footer);
    byte[] changed = Arrays.copyOf(bytes, end + trailer.remaining());
    trailer.get(changed, end, trailer.remaining());
    Files.write(path, changed);
    return HandMadeParquet.dataFile(path, file.recordCount());
  }

  private static List<RowSlices.Segment> segments(
      ReaderFixture fixture, DataFile file, Schema columns) throws IOException {
    List<RowSlices.Segment> segments = new ArrayList<>();
    try (SourceFile source =
        fixture.reader.open(ReaderFixture.task(fixture.table, file), columns)) {
      for (SourceFile.RowGroup group : source.rowGroups()) {
        try (RowGroupView fetched = source.fetch(group)) {
          Path view = fixture.views().get(0);
          ParquetSource parquet = (ParquetSource) source;
          ViewPages pages =
              PageChecksums.check(
                  view, parquet.view().leaves, source.location(), fetched.rowGroup().ordinal());
          List<Integer> all = IntStream.range(0, parquet.view().leaves.size()).boxed().toList();
          try (FileChannel channel = FileChannel.open(view)) {
            segments.addAll(parquet.segments(group, channel, pages, all));
          }
        }
      }
    }
    return segments;
  }

  private static List<String> lines(List<Record> rows, Schema schema) {
    return rows.stream().map(row -> RowText.line(row, schema)).toList();
  }

  @RepeatedTest(20)
  void s1SlicedRowGroupsReadAsTheyWereWritten() throws Exception {
    long seed = seed();
    Random random = new Random(seed);
    RandomRows content = new RandomRows(seed);
    boolean every = random.nextInt(4) == 0;
    Table table = table(every ? RandomRows.everyType() : content.schema(1 + random.nextInt(8)));
    Schema schema = table.schema();
    List<Record> rows = content.rows(schema, 1 + random.nextInt(every ? 600 : 2000));
    TableFiles files =
        TableFiles.of(table)
            .codec(List.of("zstd", "gzip", "snappy", "uncompressed").get(random.nextInt(4)))
            .property("write.parquet.page-version", random.nextBoolean() ? "v1" : "v2")
            .property("write.parquet.page-size-bytes", "" + (64 << random.nextInt(8)))
            .property("write.parquet.page-row-limit", "" + (1 + random.nextInt(500)))
            .property("write.parquet.dict-size-bytes", "" + (64 << random.nextInt(10)));
    if (random.nextBoolean()) {
      files = files.rowGroupRows(100 + random.nextInt(1000));
    }
    DataFile file = files.append(rows);
    if (random.nextInt(3) == 0) {
      file = withoutOffsetIndex(file);
    }
    // At 1 byte each slice is a page.
    long limit = random.nextInt(3) == 0 ? 1 : 1L << random.nextInt(22);
    try (ReaderFixture fixture = new ReaderFixture(table, 1 + random.nextInt(700), limit)) {
      assertThat(fixture.lines(file, schema))
          .as("rerun with -Dfirn.test.seed=" + seed)
          .isEqualTo(lines(rows, schema));
    }
  }

  static List<String> goldenTables() {
    return GoldenTables.names();
  }

  @ParameterizedTest
  @MethodSource("goldenTables")
  void oaFilesOfOtherWritersReadSlicedAsTheOracleReadsThem(String name) throws Exception {
    Table table = GoldenTables.copyTo(name, directory.resolve(name));
    try (ReaderFixture fixture = new ReaderFixture(table, 1000, 1)) {
      for (DataFile file : TableRows.dataFiles(table, table.currentSnapshot())) {
        if (file.format() == FileFormat.PARQUET) {
          assertThat(fixture.lines(file)).as(file.location()).isEqualTo(fixture.expected(file));
        }
      }
    }
  }

  private static void execute(String sql) throws SQLException {
    try (Connection connection = DriverManager.getConnection("jdbc:duckdb:");
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @Test
  void filesOfDuckDbReadSliced() throws Exception {
    Table table =
        table(
            new Schema(
                NestedField.optional(1, "id", Types.LongType.get()),
                NestedField.optional(2, "text", Types.StringType.get()),
                NestedField.optional(3, "few", Types.StringType.get())));
    for (String version : List.of("V1", "V2")) {
      Path path = directory.resolve(version + ".parquet");
      execute(
          "copy (select i as id, repeat(md5(i::varchar), 10) as text, 'v' || (i % 7) as few"
              + " from range(20000) t(i)) to '"
              + path
              + "' (format parquet, row_group_size 20480, compression snappy, field_ids"
              + " {id: 1, text: 2, few: 3}, parquet_version "
              + version
              + ")");
      DataFile file = HandMadeParquet.dataFile(path, 20_000);
      List<String> whole;
      try (ReaderFixture fixture = new ReaderFixture(table, 4096)) {
        whole = fixture.lines(file, table.schema());
      }
      assertThat(whole.get(19_999)).contains("19999").contains("v0");
      try (ReaderFixture fixture = new ReaderFixture(table, 4096, 1 << 20)) {
        assertThat(fixture.lines(file, table.schema())).isEqualTo(whole);
      }
    }
  }

  private static final Schema MIXED =
      new Schema(
          NestedField.required(1, "id", Types.LongType.get()),
          NestedField.optional(2, "text", Types.StringType.get()),
          NestedField.optional(3, "list", Types.ListType.ofOptional(4, Types.IntegerType.get())),
          NestedField.optional(
              5,
              "map",
              Types.MapType.ofOptional(6, 7, Types.StringType.get(), Types.StringType.get())),
          NestedField.optional(
              8,
              "struct",
              Types.StructType.of(
                  NestedField.optional(9, "a", Types.IntegerType.get()),
                  NestedField.optional(10, "b", Types.StringType.get()))),
          NestedField.optional(11, "never", Types.DoubleType.get()));

  /** Rows whose leaves have pages of very different lengths. */
  private static List<Record> mixed(Schema schema, int count) {
    Random random = new Random(3);
    Rows rows = Rows.of(schema);
    Types.StructType struct = schema.findField("struct").type().asStructType();
    for (long id = 0; id < count; id++) {
      Record nested = org.apache.iceberg.data.GenericRecord.create(struct);
      nested.setField("a", id % 3 == 0 ? null : (int) id);
      nested.setField("b", "b".repeat(random.nextInt(60)) + id);
      rows.add(
          id,
          random.nextInt(8) == 0 ? null : "t" + "x".repeat(random.nextInt(100)) + id,
          id % 5 == 0 ? null : random.ints(random.nextInt(5)).boxed().toList(),
          id % 7 == 0 ? null : Map.of("k" + random.nextInt(3), "v".repeat(random.nextInt(90)) + id),
          id % 11 == 0 ? null : nested,
          null);
    }
    return rows.list();
  }

  @ParameterizedTest
  @ValueSource(strings = {"v1", "v2"})
  void leavesOfOneColumnAreSlicedApart(String version) throws Exception {
    Table table = table(MIXED);
    List<Record> rows = mixed(table.schema(), 20_000);
    DataFile file =
        TableFiles.of(table)
            .property("write.parquet.page-version", version)
            .property("write.parquet.page-size-bytes", "4096")
            .append(rows);
    long limit = 256 << 10;
    try (ReaderFixture fixture = new ReaderFixture(table, 4096, limit)) {
      assertThat(fixture.lines(file, table.schema())).isEqualTo(lines(rows, table.schema()));
      List<RowSlices.Segment> segments = segments(fixture, file, table.schema());
      assertThat(segments.size()).isGreaterThan(20);
      assertThat(segments.stream().filter(segment -> segment.rows() == 20_000))
          .as("a column of nulls alone has one page")
          .hasSize(1);
      assertThat(segments.stream().mapToLong(s -> s.rows() * s.parts().size()).sum())
          .as("no page is decoded twice")
          .isEqualTo(20_000 * 8);
    }
  }

  @Test
  void listsWhosePagesMayBeginAnywhereAreDecodedWhole() throws Exception {
    Table table = table(MIXED);
    List<Record> rows = mixed(table.schema(), 10_000);
    DataFile file =
        withoutOffsetIndex(
            TableFiles.of(table)
                .property("write.parquet.page-version", "v1")
                .property("write.parquet.page-size-bytes", "4096")
                .append(rows));
    try (ReaderFixture fixture = new ReaderFixture(table, 4096, 256 << 10)) {
      assertThat(fixture.lines(file, table.schema())).isEqualTo(lines(rows, table.schema()));
      List<RowSlices.Segment> segments = segments(fixture, file, table.schema());
      assertThat(segments.size()).isGreaterThan(5);
      assertThat(
              segments.stream()
                  .filter(segment -> segment.rows() == 10_000)
                  .mapToInt(segment -> segment.parts().size())
                  .sum())
          .as("the list, keys, values and the column of nulls")
          .isEqualTo(4);
    }
  }

  @Test
  void s6SlicesOfAFileFromBeforeTheSchemaChanged() throws Exception {
    Table table =
        table(
            new Schema(
                NestedField.required(1, "i", Types.IntegerType.get()),
                NestedField.optional(2, "f", Types.FloatType.get()),
                NestedField.optional(3, "d", Types.DecimalType.of(7, 2)),
                NestedField.optional(
                    4,
                    "s",
                    Types.StructType.of(
                        NestedField.optional(5, "a", Types.IntegerType.get()),
                        NestedField.optional(6, "b", Types.StringType.get()))),
                NestedField.optional(7, "gone", Types.StringType.get())));
    DataFile file =
        TableFiles.of(table)
            .property("write.parquet.page-size-bytes", "256")
            .property("write.parquet.page-row-limit", "70")
            .append(new RandomRows(5).rows(table.schema(), 1500));
    table
        .updateSchema()
        .updateColumn("i", Types.LongType.get())
        .updateColumn("f", Types.DoubleType.get())
        .updateColumn("d", Types.DecimalType.of(20, 2))
        .addColumn("s", "c", Types.LongType.get())
        .deleteColumn("gone")
        .deleteColumn("s.b")
        .addColumn("added", Types.StringType.get(), Literal.of("initial"))
        .commit();
    for (long limit : new long[] {1, 8192}) {
      try (ReaderFixture fixture = new ReaderFixture(table, 97, limit)) {
        assertThat(segments(fixture, file, table.schema()).size()).isGreaterThan(3);
        assertThat(fixture.lines(file)).isEqualTo(fixture.expected(file));
      }
    }
  }

  @Test
  void s16SlicesOfOldTimestamps() throws Exception {
    Table table = table(new Schema(NestedField.optional(1, "t", Types.TimestampType.withZone())));
    HandMadeParquet made =
        new HandMadeParquet(directory.resolve("old.parquet"), "optional int96 t = 1;")
            .with(builder -> builder.withPageRowCountLimit(10).withDictionaryEncoding(false));
    for (int i = 0; i < 200; i++) {
      byte[] value =
          ByteBuffer.allocate(12)
              .order(ByteOrder.LITTLE_ENDIAN)
              .putLong(i * 1000L)
              .putInt(2_440_588)
              .array();
      boolean missing = i % 9 == 0;
      made.row(row -> addUnless(missing, row, value));
    }
    DataFile file = made.write();
    List<String> whole;
    try (ReaderFixture fixture = new ReaderFixture(table, 64)) {
      whole = fixture.lines(file, table.schema());
    }
    assertThat(whole).hasSize(200);
    try (ReaderFixture fixture = new ReaderFixture(table, 64, 1)) {
      assertThat(segments(fixture, file, table.schema()).size()).isGreaterThan(10);
      assertThat(fixture.lines(file, table.schema())).isEqualTo(whole);
    }
  }

  private static void addUnless(boolean missing, Group row, byte[] value) {
    if (!missing) {
      row.add("t", Binary.fromConstantByteArray(value));
    }
  }

  @Test
  void rowGroupsBelowTheLimitAreDecodedWhole() throws Exception {
    Table table = table(MIXED);
    DataFile file = TableFiles.of(table).append(mixed(table.schema(), 5000));
    try (ReaderFixture fixture = new ReaderFixture(table, 4096, 16 << 20)) {
      assertThat(segments(fixture, file, table.schema())).isEmpty();
    }
  }

  @Test
  void alignedPagesShareTheirSlices() throws Exception {
    List<NestedField> fields = new ArrayList<>();
    for (int id = 1; id <= 10; id++) {
      fields.add(NestedField.optional(id, "c" + id, Types.LongType.get()));
    }
    Table table = table(new Schema(fields));
    DataFile file =
        TableFiles.of(table)
            .property("write.parquet.page-row-limit", "1000")
            .property("write.parquet.dict-size-bytes", "1000")
            .append(new RandomRows(1).rows(table.schema(), 20_000));
    try (ReaderFixture fixture = new ReaderFixture(table, 4096, 512 << 10)) {
      List<RowSlices.Segment> segments = segments(fixture, file, table.schema());
      assertThat(segments.size()).isLessThan(40);
      assertThat(segments.stream().map(RowSlices.Segment::firstRow).distinct().count())
          .isBetween(3L, 10L);
    }
  }

  @Test
  void slicedRowGroupsTakeAboutTheirLimitOfNativeMemory() throws Exception {
    long seed = seed();
    Random random = new Random(seed);
    List<Type> types = RandomRows.primitives(true);
    List<NestedField> fields = new ArrayList<>();
    for (int id = 1; id <= 8; id++) {
      Type type = id <= 3 ? Types.StringType.get() : types.get(random.nextInt(types.size()));
      fields.add(NestedField.of(id, random.nextBoolean(), "c" + id, type));
    }
    fields.add(
        NestedField.optional(20, "list", Types.ListType.ofOptional(21, Types.LongType.get())));
    Table table = table(new Schema(fields));
    int count = 60_000;
    DataFile file =
        TableFiles.of(table)
            .property("write.parquet.page-version", random.nextBoolean() ? "v1" : "v2")
            .property("write.parquet.page-size-bytes", "65536")
            .property("write.parquet.page-row-limit", "4000")
            .property("write.parquet.dict-size-bytes", "65536")
            .append(new RandomRows(seed).rows(table.schema(), count));
    long whole = nativePeak(table, file, Long.MAX_VALUE);
    StringBuilder peaks = new StringBuilder("rerun with -Dfirn.test.seed=" + seed + "; ");
    peaks.append("whole ").append(whole);
    List<Long> limits = List.of(64L << 10, 1L << 20, 4L << 20);
    List<Long> found = new ArrayList<>();
    for (long limit : limits) {
      long peak = nativePeak(table, file, limit);
      found.add(peak);
      peaks.append(", at ").append(limit).append(": ").append(peak);
    }
    for (int i = 0; i < limits.size(); i++) {
      // The decoder takes memory in pieces of half a megabyte; a slice is a page of each leaf.
      long page = 12 * (64 << 10) * 2;
      assertThat(found.get(i))
          .as(peaks.toString())
          .isLessThan(2 * limits.get(i) + page + (1 << 20));
    }
  }

  private static long nativePeak(Table table, DataFile file, long limit) throws IOException {
    try (ReaderFixture fixture = new ReaderFixture(table, 4096, limit);
        SourceFile source = fixture.reader.open(ReaderFixture.task(table, file), table.schema())) {
      long rows = 0;
      for (SourceFile.RowGroup group : source.rowGroups()) {
        try (RowBatches batches = source.read(group, fixture.allocator)) {
          while (batches.next()) {
            rows += batches.batch().getRowCount();
          }
        }
      }
      assertThat(rows).isEqualTo(file.recordCount());
      return fixture.reader.decodedBytesPeak();
    }
  }

  @Test
  void damagedPagesAreRefusedInTheSliceThatTheyAreIn() throws Exception {
    Table table = table(MIXED);
    DataFile file =
        TableFiles.of(table)
            .codec("zstd")
            .property("write.parquet.page-size-bytes", "4096")
            .append(mixed(table.schema(), 10_000));
    Path path = LocalFileIO.path(file.location());
    byte[] sound = Files.readAllBytes(path);
    Random random = new Random(11);
    for (int round = 0; round < 20; round++) {
      byte[] damaged = sound.clone();
      int at = 1000 + random.nextInt(sound.length / 2);
      for (int i = 0; i < 300; i++) {
        damaged[at + i] = (byte) random.nextInt();
      }
      Files.write(path, damaged);
      try (ReaderFixture fixture = new ReaderFixture(table, 4096, 128 << 10)) {
        assertThatThrownBy(() -> fixture.lines(file, table.schema()))
            .as("damaged at " + at)
            .isInstanceOf(CorruptFileException.class)
            .hasMessageContaining(file.location());
      }
    }
  }
}
