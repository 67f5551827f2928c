package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.LocalFileIO;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.avro.file.DataFileWriter;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.util.Utf8;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.orc.OrcFile;
import org.apache.orc.TypeDescription;
import org.apache.orc.Writer;
import org.apache.orc.storage.ql.exec.vector.BytesColumnVector;
import org.apache.orc.storage.ql.exec.vector.ListColumnVector;
import org.apache.orc.storage.ql.exec.vector.LongColumnVector;
import org.apache.orc.storage.ql.exec.vector.VectorizedRowBatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Files in Avro and ORC, of Iceberg's writers and of others. */
class StreamedFilesTest {
  @TempDir Path directory;

  private TableBuilder table(Types.NestedField... columns) {
    return TableBuilder.at(directory.resolve("table")).formatVersion(3).schema(columns);
  }

  private static List<String> lines(Table table, DataFile file, int batchRows) throws Exception {
    try (ReaderFixture fixture = new ReaderFixture(table, batchRows)) {
      return fixture.lines(file, table.schema());
    }
  }

  private static DataFile live(Table table) {
    return TableRows.dataFiles(table, table.currentSnapshot()).get(0);
  }

  // ---- types

  static Stream<Arguments> typesAndFormats() {
    LocalDateTime before = LocalDateTime.of(1969, 12, 31, 23, 59, 58, 999_999_000);
    LocalDateTime late = LocalDateTime.of(9999, 12, 31, 23, 59, 59, 999_999_000);
    Map<Type, List<Object>> values = new LinkedHashMap<>();
    values.put(Types.BooleanType.get(), List.of(true, false));
    values.put(Types.IntegerType.get(), List.of(Integer.MIN_VALUE, 0));
    values.put(Types.LongType.get(), List.of(Long.MIN_VALUE, Long.MAX_VALUE));
    values.put(
        Types.FloatType.get(),
        List.of(-0.0f, Float.NaN, Float.intBitsToFloat(0xFFC0_1234), Float.MIN_VALUE));
    values.put(
        Types.DoubleType.get(),
        List.of(-0.0, Double.NaN, Double.longBitsToDouble(0xFFF8_0000_0000_1234L)));
    values.put(Types.DecimalType.of(9, 2), List.of(new BigDecimal("-9999999.99")));
    values.put(Types.DecimalType.of(18, 0), List.of(new BigDecimal("-999999999999999999")));
    values.put(
        Types.DecimalType.of(38, 10),
        List.of(new BigDecimal("-9999999999999999999999999999.9999999999")));
    values.put(
        Types.DateType.get(), List.of(LocalDate.EPOCH.minusDays(1), LocalDate.MIN.withYear(1)));
    values.put(Types.TimeType.get(), List.of(LocalTime.MIN, LocalTime.of(23, 59, 59, 999_999_000)));
    values.put(Types.TimestampType.withoutZone(), List.of(before, late));
    values.put(
        Types.TimestampType.withZone(),
        List.of(before.atOffset(ZoneOffset.UTC), late.atOffset(ZoneOffset.UTC)));
    values.put(
        Types.TimestampNanoType.withoutZone(),
        List.of(before.plusNanos(999), before.minusNanos(1)));
    values.put(
        Types.TimestampNanoType.withZone(), List.of(before.plusNanos(1).atOffset(ZoneOffset.UTC)));
    values.put(Types.StringType.get(), List.of("", "\uD83D\uDE00 \u0000"));
    values.put(Types.UUIDType.get(), List.of(new UUID(-1, 1), new UUID(0, 0)));
    values.put(Types.FixedType.ofLength(3), List.of(new byte[] {-1, 0, 1}));
    values.put(
        Types.BinaryType.get(),
        List.of(ByteBuffer.wrap(new byte[0]), ByteBuffer.wrap(new byte[] {-1, 0})));
    return values.entrySet().stream()
        .flatMap(
            type ->
                Stream.of(FileFormat.AVRO, FileFormat.ORC)
                    .filter(
                        format ->
                            format == FileFormat.AVRO
                                || type.getKey().typeId() != Type.TypeID.TIMESTAMP_NANO)
                    .map(format -> Arguments.of(type.getKey(), format, type.getValue())));
  }

  @ParameterizedTest
  @MethodSource("typesAndFormats")
  void s21s23EachTypeIsReadExactlyAtEachDepth(Type type, FileFormat format, List<Object> values)
      throws Exception {
    Types.NestedField leaf = Types.NestedField.optional(2, "v", type);
    Table table =
        table(
                Types.NestedField.optional(1, "c", type),
                Types.NestedField.optional(3, "s", Types.StructType.of(leaf)),
                Types.NestedField.optional(4, "l", Types.ListType.ofOptional(5, type)),
                Types.NestedField.optional(
                    6, "m", Types.MapType.ofOptional(7, 8, Types.IntegerType.get(), type)))
            .create();
    Types.StructType struct = table.schema().findType("s").asStructType();
    Rows rows = Rows.of(table.schema());
    rows.add(null, null, null, null);
    rows.add(null, Rows.struct(struct, (Object) null), List.of(), Map.of());
    for (Object value : values) {
      rows.add(
          value,
          Rows.struct(struct, value),
          Arrays.asList(null, value),
          Collections.singletonMap(1, value));
    }
    rows.add(null, null, Arrays.asList((Object) null), Collections.singletonMap(2, null));
    TableFiles.of(table).format(format).append(rows.list());
    try (ReaderFixture fixture = new ReaderFixture(table, 2)) {
      assertThat(fixture.lines(live(table))).isEqualTo(fixture.expected(live(table)));
    }
  }

  // ---- what a file lacks

  @ParameterizedTest
  @EnumSource(
      value = FileFormat.class,
      names = {"AVRO", "ORC"})
  void s3S4InitialDefaultsFillWhatIsMissingAtEachDepth(FileFormat format) throws Exception {
    Table table =
        table(
                Types.NestedField.required(1, "id", Types.IntegerType.get()),
                Types.NestedField.optional(
                    2,
                    "s",
                    Types.StructType.of(
                        Types.NestedField.optional(3, "old", Types.IntegerType.get()))))
            .create();
    Types.StructType struct = table.schema().findType("s").asStructType();
    TableFiles.of(table)
        .format(format)
        .append(Rows.of(table.schema()).add(1, Rows.struct(struct, 5)).add(2, null).list());
    table
        .updateSchema()
        .addColumn("d", Types.StringType.get(), null, Literal.of("x"))
        .addColumn("s", "d", Types.LongType.get(), null, Literal.of(7L))
        .updateColumn("id", Types.LongType.get())
        .deleteColumn("s.old")
        .commit();
    table.updateSchema().updateColumnDefault("d", Literal.of("later")).commit();
    table.updateSchema().addColumn("s", "old", Types.StringType.get()).commit();
    assertThat(lines(table, live(table), 5))
        .containsExactly(
            "{\"id\":1,\"s\":{\"d\":7,\"old\":null},\"d\":\"x\"}",
            "{\"id\":2,\"s\":null,\"d\":\"x\"}");
    Schema required = new Schema(Types.NestedField.required(99, "gone", Types.IntegerType.get()));
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      assertThatThrownBy(() -> fixture.lines(live(table), required))
          .isInstanceOf(UnsupportedFileException.class)
          .hasMessageContaining("Missing required field");
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = FileFormat.class,
      names = {"AVRO", "ORC"})
  void theRecordCountMustBeTheManifests(FileFormat format) throws Exception {
    Table table = table(Types.NestedField.required(1, "id", Types.LongType.get())).create();
    DataFile file =
        TableFiles.of(table)
            .format(format)
            .append(Rows.of(table.schema()).add(1L).add(2L).add(3L).list());
    for (long count : new long[] {0, 1, 2, 4}) {
      DataFile wrong = DataFiles.builder(table.spec()).copy(file).withRecordCount(count).build();
      assertThatThrownBy(() -> lines(table, wrong, 2))
          .isInstanceOf(CorruptFileException.class)
          .hasMessageContaining(file.location())
          .hasMessageContaining("the table's metadata " + count);
    }
  }

  @Test
  void batchesAreBoundedByBytes() throws Exception {
    Table table = table(Types.NestedField.required(1, "s", Types.StringType.get())).create();
    String large = "x".repeat(12 << 20);
    DataFile file =
        TableFiles.of(table)
            .format(FileFormat.AVRO)
            .codec("uncompressed")
            .data(Rows.of(table.schema()).add(large).add(large).add(large).add(large).list());
    List<Integer> batches = new ArrayList<>();
    try (ReaderFixture fixture = new ReaderFixture(table, 100)) {
      fixture.reader.readKeys(
          ReaderFixture.task(table, file),
          table.schema(),
          (batch, first) -> batches.add(batch.getRowCount()));
    }
    assertThat(batches).containsExactly(3, 1);
  }

  // ---- other writers

  private DataFile avro(String fields, Map<String, Object> row) throws Exception {
    org.apache.avro.Schema schema =
        new org.apache.avro.Schema.Parser()
            .parse("{\"type\":\"record\",\"name\":\"r\",\"fields\":[" + fields + "]}");
    Path file = directory.resolve("other.avro");
    try (DataFileWriter<GenericRecord> writer =
        new DataFileWriter<>(new GenericDatumWriter<>(schema, new GenericData()))) {
      writer.create(schema, file.toFile());
      GenericRecord record = new GenericData.Record(schema);
      row.forEach(record::put);
      writer.append(record);
    }
    return dataFile(file, FileFormat.AVRO, 1);
  }

  private static DataFile dataFile(Path file, FileFormat format, long rows) throws Exception {
    return DataFiles.builder(PartitionSpec.unpartitioned())
        .withPath(LocalFileIO.location(file))
        .withFormat(format)
        .withFileSizeInBytes(Files.size(file))
        .withRecordCount(rows)
        .build();
  }

  @Test
  void s8s23AvroOfOthersIsReadByTheNameMapping() throws Exception {
    DataFile file =
        avro(
            "{\"name\":\"t\",\"type\":{\"type\":\"int\",\"logicalType\":\"time-millis\"}},"
                + "{\"name\":\"ts\",\"type\":[\"null\",{\"type\":\"long\","
                + "\"logicalType\":\"timestamp-millis\"}]},"
                + "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"e\","
                + "\"symbols\":[\"A\",\"B\"]}},"
                + "{\"name\":\"u\",\"type\":[{\"type\":\"string\",\"logicalType\":\"uuid\"},"
                + "\"null\"]},"
                + "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":\"int\"}},"
                + "{\"name\":\"union\",\"type\":[\"int\",\"string\"]},"
                + "{\"name\":\"unmapped\",\"type\":\"int\"}",
            Map.of(
                "t",
                1001,
                "ts",
                -1L,
                "e",
                new GenericData.EnumSymbol(null, "B"),
                "u",
                "f79c3e09-677c-4bbd-a479-3f349cb785e7",
                "m",
                Map.of("k", 5),
                "union",
                1,
                "unmapped",
                2));
    String mapping =
        "[{\"field-id\":1,\"names\":[\"t\"]},{\"field-id\":2,\"names\":[\"ts\",\"x\"]},"
            + "{\"field-id\":3,\"names\":[\"e\"]},{\"field-id\":4,\"names\":[\"u\"]},"
            + "{\"field-id\":5,\"names\":[\"m\"],\"fields\":["
            + "{\"field-id\":6,\"names\":[\"key\"]},{\"field-id\":7,\"names\":[\"value\"]}]},"
            + "{\"field-id\":9,\"names\":[\"union\"]}]";
    Table table =
        table(
                Types.NestedField.optional(1, "time", Types.TimeType.get()),
                Types.NestedField.optional(2, "stamp", Types.TimestampType.withoutZone()),
                Types.NestedField.optional(3, "kind", Types.StringType.get()),
                Types.NestedField.optional(4, "uuid", Types.UUIDType.get()),
                Types.NestedField.optional(
                    5,
                    "map",
                    Types.MapType.ofOptional(6, 7, Types.StringType.get(), Types.LongType.get())),
                Types.NestedField.optional(8, "unmapped", Types.IntegerType.get()))
            .property(TableProperties.DEFAULT_NAME_MAPPING, mapping)
            .create();
    assertThat(lines(table, file, 5))
        .containsExactly(
            "{\"time\":\"00:00:01.001000\",\"stamp\":\"1969-12-31T23:59:59.999000\","
                + "\"kind\":\"B\",\"uuid\":\"f79c3e09-677c-4bbd-a479-3f349cb785e7\","
                + "\"map\":[[\"k\",5]],\"unmapped\":null}");
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      Schema union = new Schema(Types.NestedField.optional(9, "u", Types.IntegerType.get()));
      assertThatThrownBy(() -> fixture.lines(file, union))
          .isInstanceOf(UnsupportedFileException.class)
          .hasMessageContaining(file.location())
          .hasMessageContaining("union");
    }
  }

  @Test
  void s19s23AvroStringsAreBytesNotText() throws Exception {
    byte[] latin = "caf\u00E9".getBytes(StandardCharsets.ISO_8859_1);
    DataFile file =
        avro(
            "{\"name\":\"s\",\"type\":{\"type\":\"string\",\"avro.java.string\":\"String\"},"
                + "\"field-id\":1}",
            Map.of("s", new Utf8(latin)));
    Table table = table(Types.NestedField.optional(1, "s", Types.StringType.get())).create();
    List<byte[]> read = new ArrayList<>();
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      fixture.reader.readKeys(
          ReaderFixture.task(table, file),
          table.schema(),
          (batch, first) -> read.add(((VarBinaryVector) batch.getVector(0)).get(0)));
    }
    assertThat(read).containsExactly(latin);
  }

  @Test
  void s8s23OrcOfOthersIsReadByTheNameMapping() throws Exception {
    TypeDescription schema = TypeDescription.fromString("struct<a:smallint,l:array<string>,x:int>");
    Path file = directory.resolve("other.orc");
    try (Writer writer =
        OrcFile.createWriter(
            new org.apache.hadoop.fs.Path(file.toUri()),
            OrcFile.writerOptions(new Configuration(false)).setSchema(schema))) {
      VectorizedRowBatch batch = schema.createRowBatch();
      for (int row = 0; row < 2; row++) {
        ((LongColumnVector) batch.cols[0]).vector[row] = -row;
        ListColumnVector list = (ListColumnVector) batch.cols[1];
        list.offsets[row] = row;
        list.lengths[row] = row;
        ((BytesColumnVector) list.child).setVal(row, "e".getBytes(StandardCharsets.UTF_8));
      }
      batch.size = 2;
      writer.addRowBatch(batch);
    }
    DataFile data = dataFile(file, FileFormat.ORC, 2);
    String mapping =
        "[{\"field-id\":1,\"names\":[\"a\"]},{\"field-id\":2,\"names\":[\"l\"],\"fields\":["
            + "{\"field-id\":3,\"names\":[\"element\"]}]}]";
    Table table =
        table(
                Types.NestedField.optional(1, "b", Types.LongType.get()),
                Types.NestedField.optional(
                    2, "list", Types.ListType.ofOptional(3, Types.StringType.get())),
                Types.NestedField.optional(5, "x", Types.IntegerType.get()))
            .property(TableProperties.DEFAULT_NAME_MAPPING, mapping)
            .create();
    assertThat(lines(table, data, 5))
        .containsExactly(
            "{\"b\":0,\"list\":[],\"x\":null}", "{\"b\":-1,\"list\":[\"e\"],\"x\":null}");
  }

  @Test
  void orcWithAUnionIsRefused() throws Exception {
    Path file = directory.resolve("union.orc");
    TypeDescription schema = TypeDescription.fromString("struct<u:uniontype<int,string>>");
    OrcFile.createWriter(
            new org.apache.hadoop.fs.Path(file.toUri()),
            OrcFile.writerOptions(new Configuration(false)).setSchema(schema))
        .close();
    Table table = table(Types.NestedField.optional(1, "b", Types.LongType.get())).create();
    assertThatThrownBy(() -> lines(table, dataFile(file, FileFormat.ORC, 0), 5))
        .isInstanceOf(UnsupportedFileException.class)
        .hasMessageContaining("union.orc")
        .hasMessageContaining("uniontype<int,string>");
  }

  @Test
  void filesThatAreNoneAreCorrupt() throws Exception {
    Table table = table(Types.NestedField.optional(1, "s", Types.StringType.get())).create();
    Path file = directory.resolve("none");
    for (FileFormat format : List.of(FileFormat.AVRO, FileFormat.ORC)) {
      for (String content : List.of("PAR1 and some more", "x")) {
        Files.writeString(file, content);
        DataFile none = dataFile(file, format, 1);
        assertThatThrownBy(() -> lines(table, none, 2))
            .as("%s %s", format, content)
            .isInstanceOf(CorruptFileException.class)
            .hasMessageContaining("none");
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = FileFormat.class,
      names = {"AVRO", "ORC"})
  void closingInTheMiddleLeavesNothingOpen(FileFormat format) throws Exception {
    Table table = table(Types.NestedField.required(1, "id", Types.LongType.get())).create();
    Rows rows = Rows.of(table.schema());
    for (long i = 0; i < 100; i++) {
      rows.add(i);
    }
    List<Record> all = rows.list();
    DataFile file = TableFiles.of(table).format(format).append(all);
    try (ReaderFixture fixture = new ReaderFixture(table, 7);
        SourceFile source = fixture.reader.open(ReaderFixture.task(table, file), table.schema())) {
      SourceFile.RowGroup group = source.rowGroups().get(0);
      assertThat(group.compressedBytes()).isEqualTo(file.fileSizeInBytes());
      source.fetch(group).close();
      RowBatches batches = source.read(group, fixture.allocator);
      assertThat(batches.next()).isTrue();
      assertThat(batches.next()).isTrue();
      assertThat(batches.firstPosition()).isEqualTo(7);
      batches.close();
      batches.close();
      assertThat(fixture.allocator.getAllocatedMemory()).isZero();
    }
  }
}
