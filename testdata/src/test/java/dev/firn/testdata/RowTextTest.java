package dev.firn.testdata;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

final class RowTextTest {
  @Test
  void numbersHaveOneTextEach() {
    assertThat(RowText.value(-12, Types.IntegerType.get())).isEqualTo("-12");
    assertThat(RowText.value(3.0f, Types.FloatType.get())).isEqualTo("\"0x1.8p1\"");
    assertThat(RowText.value(-0.0, Types.DoubleType.get())).isEqualTo("\"-0x0.0p0\"");
    assertThat(RowText.value(Double.NaN, Types.DoubleType.get())).isEqualTo("\"NaN\"");
    assertThat(RowText.value(Float.NEGATIVE_INFINITY, Types.FloatType.get()))
        .isEqualTo("\"-Infinity\"");
    assertThat(RowText.value(new BigDecimal("-0.01"), Types.DecimalType.of(9, 2)))
        .isEqualTo("\"-0.01\"");
    assertThat(RowText.value(new BigDecimal("1E+3"), Types.DecimalType.of(9, 2)))
        .isEqualTo("\"1000.00\"");
    assertThat(RowText.value(null, Types.LongType.get())).isEqualTo("null");
  }

  @Test
  void stringsEscapeOnlyWhatTheyMust() {
    assertThat(RowText.value("\"\\\n\r\t\u0001\u007F/\uD83D\uDE00", Types.StringType.get()))
        .isEqualTo("\"\\\"\\\\\\n\\r\\t\\u0001\u007F/\uD83D\uDE00\"");
  }

  @Test
  void bytesAreHexAndAreNotConsumed() {
    ByteBuffer bytes = ByteBuffer.wrap(new byte[] {9, 0, 0x7F, -1}, 1, 3);
    assertThat(RowText.value(bytes, Types.BinaryType.get())).isEqualTo("\"007fff\"");
    assertThat(RowText.value(bytes, Types.BinaryType.get())).isEqualTo("\"007fff\"");
    assertThat(RowText.value(new byte[] {-128}, Types.FixedType.ofLength(1))).isEqualTo("\"80\"");
    assertThat(RowText.value(new UUID(-1, 1), Types.UUIDType.get()))
        .isEqualTo("\"ffffffff-ffff-ffff-0000-000000000001\"");
  }

  @Test
  void timesHaveAllTheirDigits() {
    LocalDateTime time = LocalDateTime.of(1969, 12, 31, 23, 59, 1, 1000);
    assertThat(RowText.value(LocalDate.of(1, 1, 1), Types.DateType.get()))
        .isEqualTo("\"0001-01-01\"");
    assertThat(RowText.value(LocalTime.MIDNIGHT, Types.TimeType.get()))
        .isEqualTo("\"00:00:00.000000\"");
    assertThat(RowText.value(time, Types.TimestampType.withoutZone()))
        .isEqualTo("\"1969-12-31T23:59:01.000001\"");
    OffsetDateTime elsewhere = time.atOffset(ZoneOffset.ofHours(2));
    assertThat(RowText.value(elsewhere, Types.TimestampType.withZone()))
        .isEqualTo("\"1969-12-31T21:59:01.000001Z\"");
    assertThat(RowText.value(elsewhere, Types.TimestampNanoType.withZone()))
        .isEqualTo("\"1969-12-31T21:59:01.000001000Z\"");
    // S16: INT96 in a column without zone
    assertThat(RowText.value(elsewhere, Types.TimestampType.withoutZone()))
        .isEqualTo("\"1969-12-31T21:59:01.000001\"");
  }

  @Test
  void mapsAreSortedByTheBytesOfTheirEntries() {
    Types.MapType type =
        Types.MapType.ofOptional(1, 2, Types.StringType.get(), Types.LongType.get());
    // U+FFFD comes before U+1F600 in UTF-8, after it in UTF-16
    assertThat(RowText.value(Map.of("\uD83D\uDE00", 1L, "\uFFFD", 2L, "a", 3L), type))
        .isEqualTo("[[\"a\",3],[\"\uFFFD\",2],[\"\uD83D\uDE00\",1]]");
    assertThat(RowText.value(Map.of(), type)).isEqualTo("[]");
  }

  @Test
  void rowsAreObjectsInTheOrderOfTheSchemaAndLinesAreSorted() {
    Types.StructType struct = Types.StructType.of(optional(3, "x", Types.IntegerType.get()));
    Schema schema =
        new Schema(
            optional(1, "a b", Types.ListType.ofOptional(4, Types.BooleanType.get())),
            optional(2, "s", struct));
    List<String> lines =
        RowText.sortedLines(
            Rows.of(schema)
                .add(null, Rows.struct(struct, 1))
                .add(Arrays.asList(true, null), null)
                .add(List.of(), null)
                .add(List.of(), null)
                .list(),
            schema);
    assertThat(lines)
        .containsExactly(
            "{\"a b\":[],\"s\":null}",
            "{\"a b\":[],\"s\":null}",
            "{\"a b\":[true,null],\"s\":null}",
            "{\"a b\":null,\"s\":{\"x\":1}}");
  }
}
