package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.TableBuilder;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.io.api.Binary;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PhysicalTypesTest {
  @TempDir Path directory;
  private int tables = 0;

  private Table table(Type type) {
    return TableBuilder.at(directory.resolve("table" + tables++))
        .schema(Types.NestedField.optional(1, "c", type))
        .formatVersion(3)
        .create();
  }

  /** Values of column c of a file, each as text; the file may hold nulls. */
  private List<String> read(Type type, DataFile file) throws Exception {
    Table table = table(type);
    List<String> values = new ArrayList<>();
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      for (String line : fixture.lines(file, table.schema())) {
        values.add(line.substring("{\"c\":".length(), line.length() - 1).replace("\"", ""));
      }
    }
    return values;
  }

  private HandMadeParquet file(String field) {
    return new HandMadeParquet(directory.resolve("file" + tables + ".parquet"), field);
  }

  private DataFile ints(String field, Integer... values) {
    HandMadeParquet file = file("optional int32 c" + field + " = 1;");
    for (Integer value : values) {
      file.row(row -> add(row, value));
    }
    return file.write();
  }

  private static void add(Group row, Integer value) {
    if (value != null) {
      row.add("c", value);
    }
  }

  private DataFile longs(String field, Long... values) {
    HandMadeParquet file = file("optional int64 c" + field + " = 1;");
    for (Long value : values) {
      file.row(
          row -> {
            if (value != null) {
              row.add("c", value);
            }
          });
    }
    return file.write();
  }

  private DataFile bytes(String type, byte[]... values) {
    HandMadeParquet file = file("optional " + type + " = 1;");
    for (byte[] value : values) {
      file.row(
          row -> {
            if (value != null) {
              row.add("c", Binary.fromConstantByteArray(value));
            }
          });
    }
    return file.write();
  }

  private void refused(Type type, DataFile file, String fileType) {
    assertThatThrownBy(() -> read(type, file))
        .isInstanceOf(UnsupportedFileException.class)
        .hasMessageContaining(file.location())
        .hasMessageContaining("column c")
        .hasMessageContaining(fileType)
        .hasMessageContaining(type.toString());
  }

  @Test
  void s6IntsAndFloatsAreWidened() throws Exception {
    assertThat(read(Types.LongType.get(), ints("", Integer.MIN_VALUE, null, -1, 7)))
        .containsExactly("-2147483648", "null", "-1", "7");
    DataFile floats =
        file("required float c = 1;")
            .row(r -> r.add("c", -0.0f))
            .row(r -> r.add("c", 0.1f))
            .write();
    assertThat(read(Types.DoubleType.get(), floats))
        .containsExactly("-0x0.0p0", Double.toHexString(0.1f));
    refused(Types.IntegerType.get(), longs("", 1L), "INT64");
    refused(Types.StringType.get(), ints("", 1), "INT32");
    refused(Types.DateType.get(), ints("", 1), "INT32");
    refused(Types.IntegerType.get(), ints(" (DATE)", 1), "INT32 DATE");
  }

  @Test
  void s17UnsignedIntsKeepTheirValues() throws Exception {
    assertThat(read(Types.LongType.get(), ints(" (UINT_32)", (int) 4_000_000_000L, null, 1)))
        .containsExactly("4000000000", "null", "1");
    assertThat(read(Types.IntegerType.get(), ints(" (UINT_8)", 255))).containsExactly("255");
    assertThat(read(Types.LongType.get(), ints(" (UINT_16)", 65535))).containsExactly("65535");
    assertThat(read(Types.IntegerType.get(), ints(" (INT_8)", -128))).containsExactly("-128");
    assertThat(read(Types.IntegerType.get(), ints(" (INTEGER(16,true))", -3)))
        .containsExactly("-3");
    refused(Types.LongType.get(), longs(" (UINT_64)", 1L), "UINT_64");
    refused(Types.IntegerType.get(), ints(" (UINT_32)", 1), "UINT_32");
  }

  @Test
  void s15s20TimesAndTimestampsOfOtherUnits() throws Exception {
    Type micros = Types.TimestampType.withoutZone();
    Type zoned = Types.TimestampType.withZone();
    Type nanos = Types.TimestampNanoType.withoutZone();
    assertThat(read(Types.TimeType.get(), ints(" (TIME_MILLIS)", 1, null, 86_399_999)))
        .containsExactly("00:00:00.001000", "null", "23:59:59.999000");
    assertThat(read(micros, longs(" (TIMESTAMP(MILLIS,false))", -1L, null)))
        .containsExactly("1969-12-31T23:59:59.999000", "null");
    assertThat(read(zoned, longs(" (TIMESTAMP_MILLIS)", -1L)))
        .containsExactly("1969-12-31T23:59:59.999000Z");
    assertThat(read(micros, longs(" (TIMESTAMP(NANOS,false))", -1L, 1999L, null)))
        .containsExactly("1969-12-31T23:59:59.999999", "1970-01-01T00:00:00.000001", "null");
    assertThat(read(nanos, longs(" (TIMESTAMP(MICROS,false))", -1L, null)))
        .containsExactly("1969-12-31T23:59:59.999999000", "null");
    assertThat(read(nanos, longs(" (TIMESTAMP(MILLIS,false))", -1L)))
        .containsExactly("1969-12-31T23:59:59.999000000");
    assertThat(read(nanos, longs(" (TIMESTAMP(NANOS,true))", -1L)))
        .containsExactly("1969-12-31T23:59:59.999999999");
    long tooLate = Long.MAX_VALUE / 999;
    assertThatThrownBy(() -> read(nanos, longs(" (TIMESTAMP(MICROS,false))", 1L, tooLate)))
        .isInstanceOf(CorruptFileException.class)
        .hasMessageContaining("column c")
        .hasMessageContaining("overflows");
    refused(Types.TimeType.get(), longs(" (TIME(NANOS,true))", 1L), "TIME_NANOS");
    refused(micros, longs("", 1L), "INT64");
    refused(Types.LongType.get(), longs(" (TIMESTAMP_MICROS)", 1L), "TIMESTAMP_MICROS");
  }

  @Test
  void s6DatesArePromotedToTimestampsWithoutZone() throws Exception {
    DataFile dates = ints(" (DATE)", -1, null, 19_000);
    assertThat(read(Types.TimestampType.withoutZone(), dates))
        .containsExactly("1969-12-31T00:00:00.000000", "null", "2022-01-08T00:00:00.000000");
    assertThat(read(Types.TimestampNanoType.withoutZone(), dates))
        .containsExactly("1969-12-31T00:00:00.000000000", "null", "2022-01-08T00:00:00.000000000");
    assertThat(read(Types.DateType.get(), dates))
        .containsExactly("1969-12-31", "null", "2022-01-08");
    refused(Types.TimestampType.withZone(), dates, "INT32 DATE");
    assertThatThrownBy(() -> read(Types.TimestampNanoType.withoutZone(), ints(" (DATE)", 200_000)))
        .isInstanceOf(CorruptFileException.class)
        .hasMessageContaining("overflows");
  }

  private static byte[] int96(LocalDateTime time) {
    long julianDay = time.toLocalDate().toEpochDay() + 2_440_588;
    return ByteBuffer.allocate(12)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(time.toLocalTime().toNanoOfDay())
        .putInt((int) julianDay)
        .array();
  }

  @ParameterizedTest
  @CsvSource({"true", "false"})
  void s16Int96OfAllYears(boolean dictionary) throws Exception {
    List<LocalDateTime> times =
        List.of(
            LocalDateTime.of(1, 1, 1, 0, 0, 0),
            LocalDateTime.of(1969, 12, 31, 23, 59, 59, 999_999_999),
            LocalDateTime.of(2024, 2, 29, 12, 30, 0, 123_456_789),
            LocalDateTime.of(9999, 12, 31, 23, 59, 59, 999_999_000));
    HandMadeParquet file =
        file("optional int96 c = 1;").with(b -> b.withDictionaryEncoding(dictionary));
    for (LocalDateTime time : times) {
      file.row(row -> row.add("c", Binary.fromConstantByteArray(int96(time))));
    }
    file.row(row -> {});
    DataFile written = file.write();
    assertThat(read(Types.TimestampType.withoutZone(), written))
        .containsExactly(
            "0001-01-01T00:00:00.000000",
            "1969-12-31T23:59:59.999999",
            "2024-02-29T12:30:00.123456",
            "9999-12-31T23:59:59.999999",
            "null");
    assertThat(read(Types.TimestampType.withZone(), written).get(2))
        .isEqualTo("2024-02-29T12:30:00.123456Z");
    HandMadeParquet inRange = file("optional int96 c = 1;");
    inRange.row(row -> row.add("c", Binary.fromConstantByteArray(int96(times.get(1)))));
    assertThat(read(Types.TimestampNanoType.withZone(), inRange.write()))
        .containsExactly("1969-12-31T23:59:59.999999999Z");
    assertThatThrownBy(() -> read(Types.TimestampNanoType.withoutZone(), written))
        .isInstanceOf(CorruptFileException.class)
        .hasMessageContaining("column c");
    assertThat(times.get(1).toInstant(ZoneOffset.UTC).getNano()).isEqualTo(999_999_999);
  }

  /* Each physical type of the file against each of the table. */
  @ParameterizedTest
  @CsvSource({
    "int32, 9",
    "int32, 18",
    "int32, 19",
    "int32, 38",
    "int64, 9",
    "int64, 18",
    "int64, 38",
    "fixed_len_byte_array(4), 9",
    "fixed_len_byte_array(3), 18",
    "fixed_len_byte_array(8), 18",
    "fixed_len_byte_array(4), 38",
    "fixed_len_byte_array(9), 9",
    "fixed_len_byte_array(16), 9",
    "fixed_len_byte_array(16), 20",
    "fixed_len_byte_array(16), 38",
    "binary, 9",
    "binary, 18",
    "binary, 28",
    "binary, 38"
  })
  void s18DecimalsOfAnyPhysicalType(String physical, int precision) throws Exception {
    int filePrecision = physical.equals("int32") || physical.endsWith("(3)") ? 6 : 9;
    List<BigDecimal> values = new ArrayList<>();
    BigInteger max = BigInteger.TEN.pow(filePrecision).subtract(BigInteger.ONE);
    for (BigInteger unscaled :
        List.of(
            BigInteger.ZERO,
            BigInteger.ONE,
            BigInteger.ONE.negate(),
            max,
            max.negate(),
            BigInteger.valueOf(128),
            BigInteger.valueOf(-128),
            BigInteger.valueOf(-129))) {
      values.add(new BigDecimal(unscaled, 2));
    }
    HandMadeParquet file =
        file("optional " + physical + " c (DECIMAL(" + filePrecision + ",2)) = 1;");
    for (BigDecimal value : values) {
      file.row(
          row -> {
            byte[] bytes = value.unscaledValue().toByteArray();
            if (physical.equals("int32")) {
              row.add("c", value.unscaledValue().intValueExact());
            } else if (physical.equals("int64")) {
              row.add("c", value.unscaledValue().longValueExact());
            } else if (physical.equals("binary")) {
              row.add("c", Binary.fromConstantByteArray(bytes));
            } else {
              int width = Integer.parseInt(physical.replaceAll("\\D", ""));
              byte[] wide = new byte[width];
              java.util.Arrays.fill(wide, (byte) (value.signum() < 0 ? -1 : 0));
              System.arraycopy(bytes, 0, wide, width - bytes.length, bytes.length);
              row.add("c", Binary.fromConstantByteArray(wide));
            }
          });
    }
    file.row(row -> {});
    List<String> expected = new ArrayList<>();
    values.forEach(value -> expected.add(value.toPlainString()));
    expected.add("null");
    DataFile written = file.write();
    assertThat(read(Types.DecimalType.of(precision, 2), written))
        .containsExactlyElementsOf(expected);
    refused(Types.DecimalType.of(precision, 3), written, "decimal(" + filePrecision + ", 2)");
    refused(Types.DecimalType.of(4, 2), written, "decimal(" + filePrecision + ", 2)");
  }

  @Test
  void s18DecimalsLargerThanTheyClaimFailLoudly() throws Exception {
    byte[] tenDigits = BigInteger.TEN.pow(10).toByteArray();
    byte[] twentyDigits = BigInteger.TEN.pow(20).negate().toByteArray();
    byte[] fortyDigits = BigInteger.TEN.pow(40).toByteArray();
    for (var oneCase :
        List.of(
            new Object[] {9, tenDigits},
            new Object[] {18, twentyDigits},
            new Object[] {38, fortyDigits},
            new Object[] {9, new byte[0]},
            new Object[] {38, new byte[0]})) {
      int precision = (Integer) oneCase[0];
      DataFile file =
          bytes("binary c (DECIMAL(" + precision + ",2))", new byte[] {1}, (byte[]) oneCase[1]);
      assertThatThrownBy(() -> read(Types.DecimalType.of(precision, 2), file))
          .isInstanceOf(CorruptFileException.class)
          .hasMessageContaining("column c")
          .hasMessageContaining(file.location());
    }
    byte[] widest = BigInteger.TEN.pow(38).subtract(BigInteger.ONE).negate().toByteArray();
    assertThat(read(Types.DecimalType.of(38, 0), bytes("binary c (DECIMAL(38,0))", widest)))
        .containsExactly("-" + "9".repeat(38));
  }

  @Test
  void s18UuidAndFixedNeedTheirExactLength() throws Exception {
    byte[] sixteen = HexFormat.of().parseHex("f0000000000040008000000000000001");
    String plain = "fixed_len_byte_array(16) c";
    assertThat(read(Types.UUIDType.get(), bytes(plain + " (UUID)", sixteen, null)))
        .containsExactly("f0000000-0000-4000-8000-000000000001", "null");
    assertThat(read(Types.UUIDType.get(), bytes(plain, sixteen)))
        .containsExactly("f0000000-0000-4000-8000-000000000001");
    assertThat(read(Types.FixedType.ofLength(16), bytes(plain, sixteen, null)))
        .containsExactly("f0000000000040008000000000000001", "null");
    assertThat(read(Types.BinaryType.get(), bytes(plain, null, sixteen)))
        .containsExactly("null", "f0000000000040008000000000000001");
    refused(Types.FixedType.ofLength(15), bytes(plain, sixteen), "FIXED_LEN_BYTE_ARRAY(16)");
    refused(Types.UUIDType.get(), bytes("fixed_len_byte_array(3) c", new byte[3]), "BYTE_ARRAY(3)");
    refused(Types.FixedType.ofLength(2), bytes("binary c", new byte[2]), "BYTE_ARRAY");
  }

  @Test
  void s19StringsOfAnyAnnotationStayByteExact() throws Exception {
    byte[] malformed = {(byte) 0xC0, (byte) 0x80, (byte) 0xFF, 'a'};
    byte[] empty = {};
    byte[] text = "ä\u0000b".getBytes(StandardCharsets.UTF_8);
    for (String annotation : List.of("", " (UTF8)", " (ENUM)", " (JSON)", " (BSON)", " (STRING)")) {
      DataFile file = bytes("binary c" + annotation, malformed, null, empty, text);
      for (Type type : List.of(Types.StringType.get(), Types.BinaryType.get())) {
        assertThat(rawBytes(type, file))
            .as(annotation)
            .usingRecursiveComparison()
            .isEqualTo(java.util.Arrays.asList(malformed, null, empty, text));
      }
    }
  }

  private List<byte[]> rawBytes(Type type, DataFile file) throws Exception {
    List<byte[]> values = new ArrayList<>();
    Table table = table(type);
    try (ReaderFixture fixture = new ReaderFixture(table, 3);
        SourceFile source = fixture.reader.open(ReaderFixture.task(table, file), table.schema());
        RowBatches batches = source.read(source.rowGroups().get(0), fixture.allocator)) {
      while (batches.next()) {
        FieldVector vector = batches.batch().getVector(0);
        for (int row = 0; row < batches.batch().getRowCount(); row++) {
          values.add(((VarBinaryVector) vector).get(row));
        }
      }
    }
    return values;
  }

  @Test
  void s21FloatBitsAreKept() throws Exception {
    int[] floatBits = {0x7FC00001, 0xFFA00002, 0x80000000, 1, 0x7F800000, 0xFF800000};
    long[] doubleBits = {0x7FF8000000000001L, 0xFFF4000000000002L, Long.MIN_VALUE, 1L};
    Schema schema =
        new Schema(
            Types.NestedField.optional(1, "f", Types.FloatType.get()),
            Types.NestedField.optional(2, "d", Types.DoubleType.get()));
    // parquet-java writes every NaN alike, so other bits are written first and then overwritten.
    HandMadeParquet file =
        file("optional float f = 1; optional double d = 2;")
            .with(
                builder ->
                    builder.withDictionaryEncoding(false).withPageWriteChecksumEnabled(false));
    for (int i = 0; i < floatBits.length; i++) {
      int at = i;
      file.row(
          row -> {
            row.add("f", Float.intBitsToFloat(0x12345600 + at));
            if (at < doubleBits.length) {
              row.add("d", Double.longBitsToDouble(0x1122334455667700L + at));
            }
          });
    }
    DataFile written = file.write();
    Path path = dev.firn.testdata.LocalFileIO.path(written.location());
    byte[] bytes = Files.readAllBytes(path);
    ByteBuffer content = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    for (int at = 0; at < bytes.length - 8; at++) {
      int asFloat = content.getInt(at) - 0x12345600;
      long asDouble = content.getLong(at) - 0x1122334455667700L;
      if (asFloat >= 0 && asFloat < floatBits.length) {
        content.putInt(at, floatBits[asFloat]);
      } else if (asDouble >= 0 && asDouble < doubleBits.length) {
        content.putLong(at, doubleBits[(int) asDouble]);
      }
    }
    Files.write(path, bytes);
    Table table = TableBuilder.at(directory.resolve("floats")).schema(schema).create();
    try (ReaderFixture fixture = new ReaderFixture(table, 100);
        SourceFile source = fixture.reader.open(ReaderFixture.task(table, written), schema);
        RowBatches batches = source.read(source.rowGroups().get(0), fixture.allocator)) {
      assertThat(batches.next()).isTrue();
      Float4Vector floats = (Float4Vector) batches.batch().getVector(0);
      Float8Vector doubles = (Float8Vector) batches.batch().getVector(1);
      for (int i = 0; i < floatBits.length; i++) {
        assertThat(floats.getDataBuffer().getInt(i * 4L)).isEqualTo(floatBits[i]);
      }
      for (int i = 0; i < doubleBits.length; i++) {
        assertThat(doubles.getDataBuffer().getLong(i * 8L)).isEqualTo(doubleBits[i]);
      }
      assertThat(doubles.isNull(5)).isTrue();
    }
  }

  @Test
  void s7NullsInARequiredColumnFailLoudly() throws Exception {
    Table table =
        TableBuilder.at(directory.resolve("required"))
            .schema(Types.NestedField.required(1, "c", Types.IntegerType.get()))
            .create();
    DataFile without = ints("", 1, 2);
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      assertThat(fixture.lines(without, table.schema())).hasSize(2);
    }
    tables++;
    DataFile with = ints("", 1, null);
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      assertThatThrownBy(() -> fixture.lines(with, table.schema()))
          .isInstanceOf(CorruptFileException.class)
          .hasMessageContaining("requires column c")
          .hasMessageContaining(with.location());
    }
  }
}
