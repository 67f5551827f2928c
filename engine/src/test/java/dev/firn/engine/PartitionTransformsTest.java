package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.UpdatePartitionSpec;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Term;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.StructLikeWrapper;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Rows are spread over partitions as Iceberg's own transforms say. */
class PartitionTransformsTest {
  private static final List<String> TIMES = List.of("year", "month", "day", "hour");
  private static final List<String> DATES = List.of("year", "month", "day");

  @TempDir Path directory;

  private static Arguments of(Type type, List<String> transforms, Object... values) {
    return Arguments.of(type, transforms, Arrays.asList(values));
  }

  static Stream<Arguments> types() {
    List<String> identityAndBucket = List.of("identity", "bucket");
    List<String> all = List.of("identity", "bucket", "truncate");
    LocalDateTime before = LocalDateTime.parse("1969-12-31T23:59:59.999999");
    LocalDateTime epoch = LocalDateTime.parse("1970-01-01T00:00:00");
    LocalDateTime nanos = LocalDateTime.parse("1969-12-31T22:59:59.999999999");
    return Stream.of(
        of(Types.BooleanType.get(), List.of("identity"), true, false),
        of(Types.IntegerType.get(), all, -1, 0, 1, -3, -4, 7, Integer.MIN_VALUE, Integer.MAX_VALUE),
        of(Types.LongType.get(), all, -1L, 0L, -3L, -4L, 34L, Long.MIN_VALUE, Long.MAX_VALUE),
        of(
            Types.FloatType.get(),
            List.of("identity"),
            0.0f,
            -0.0f,
            Float.NaN,
            Float.intBitsToFloat(0xFFC00001),
            Float.NEGATIVE_INFINITY,
            1.5f),
        of(
            Types.DoubleType.get(),
            List.of("identity"),
            0.0,
            -0.0,
            Double.NaN,
            Double.longBitsToDouble(0xFFF8000000000001L),
            Double.MIN_VALUE,
            1.5),
        of(
            Types.DateType.get(),
            Stream.concat(identityAndBucket.stream(), DATES.stream()).toList(),
            LocalDate.parse("1969-12-31"),
            LocalDate.parse("1970-01-01"),
            LocalDate.parse("0001-01-01"),
            LocalDate.parse("1968-02-29"),
            LocalDate.parse("9999-12-31")),
        of(
            Types.TimeType.get(),
            identityAndBucket,
            LocalTime.MIDNIGHT,
            LocalTime.parse("23:59:59.999999")),
        of(
            Types.TimestampType.withoutZone(),
            Stream.concat(identityAndBucket.stream(), TIMES.stream()).toList(),
            before,
            epoch,
            before.minusHours(1),
            LocalDateTime.parse("0001-01-01T00:00:00.000001"),
            LocalDateTime.parse("9999-12-31T23:59:59.999999")),
        of(
            Types.TimestampType.withZone(),
            TIMES,
            before.atOffset(ZoneOffset.UTC),
            epoch.atOffset(ZoneOffset.UTC),
            OffsetDateTime.parse("2024-02-29T23:30:00Z"),
            OffsetDateTime.parse("2024-03-01T00:30:00Z")),
        of(
            Types.TimestampNanoType.withoutZone(), // the oracle cannot read identity partitions
            Stream.concat(Stream.of("bucket"), TIMES.stream()).toList(),
            nanos,
            nanos.plusNanos(1),
            epoch,
            LocalDateTime.parse("1900-01-01T00:00:00.000000001")),
        of(
            Types.DecimalType.of(9, 2),
            all,
            new BigDecimal("-0.01"),
            new BigDecimal("0.00"),
            new BigDecimal("0.04"),
            new BigDecimal("-9999999.99")),
        of(
            Types.DecimalType.of(18, 2),
            all,
            new BigDecimal("-0.04"),
            new BigDecimal("9999999999999999.99")),
        of(
            Types.DecimalType.of(38, 0),
            all,
            new BigDecimal("-1"),
            new BigDecimal("128"),
            new BigDecimal("99999999999999999999999999999999999999")),
        of(
            Types.StringType.get(),
            all,
            "",
            "null",
            "a/b=c %25",
            "\uD83D\uDE00\uD83D\uDE00\uD83D\uDE00\uD83D\uDE00",
            "abcd",
            "abce",
            "\u00E9t\u00E9"),
        of(
            Types.UUIDType.get(),
            identityAndBucket,
            UUID.fromString("00000000-0000-0000-0000-000000000001"),
            UUID.fromString("f0000000-0000-4000-8000-000000000001")),
        of(
            Types.FixedType.ofLength(3), // nor of these
            List.of("bucket"),
            new byte[] {0, 0, 0},
            new byte[] {-1, -1, 1}),
        of(
            Types.BinaryType.get(),
            all,
            ByteBuffer.wrap(new byte[0]),
            ByteBuffer.wrap(new byte[] {-1, 0, 7, 8}),
            ByteBuffer.wrap(new byte[] {-1, 0, 7, 9}),
            ByteBuffer.wrap("null".getBytes(StandardCharsets.UTF_8))));
  }

  private static Term term(String transform) {
    return switch (transform) {
      case "bucket" -> Expressions.bucket("c", 5);
      case "truncate" -> Expressions.truncate("c", 3);
      case "year" -> Expressions.year("c");
      case "month" -> Expressions.month("c");
      case "day" -> Expressions.day("c");
      case "hour" -> Expressions.hour("c");
      default -> Expressions.ref("c");
    };
  }

  /* Each compaction moves the rows from the partitions of one transform to those of the next. */
  @ParameterizedTest
  @MethodSource("types")
  void d9m10p4p7EveryTransformOfEveryType(Type type, List<String> transforms, List<Object> values) {
    Schema schema = new Schema(required(1, "id", Types.LongType.get()), optional(2, "c", type));
    Table table = TableBuilder.at(directory.resolve("t")).schema(schema).formatVersion(3).create();
    Rows rows = Rows.of(schema);
    long id = 0;
    for (int round = 0; round < 3; round++) {
      for (Object value : values) {
        rows.add(id++, value);
      }
      rows.add(id++, null);
    }
    TableFiles.of(table).append(rows.list());
    List<String> live = TableRows.live(table);
    for (String transform : transforms) {
      UpdatePartitionSpec update = table.updateSpec();
      table.spec().fields().forEach(field -> update.removeField(field.name()));
      update.addField("by_" + transform, term(transform)).commit();
      table.refresh();
      Set<String> before = FileTruth.locations(table);
      CompactionReport report =
          new Compaction(
                  table,
                  CompactionSettings.builder()
                      .option("rewrite-all", "true")
                      .memoryBytes(512L << 20)
                      .scratch(directory)
                      .threads(2)
                      .build(),
                  CompactionListener.NONE)
              .run();
      assertThat(report.failures()).as(transform).isEmpty();
      table.refresh();
      assertThat(TableRows.live(table)).as(transform).isEqualTo(live);
      FileTruth.check(table, before);
      assertThat(TableRows.dataFiles(table, table.currentSnapshot()))
          .as("a file for each partition of %s", transform)
          .hasSize(partitions(table, rows.list()));
    }
  }

  private static int partitions(Table table, List<Record> rows) {
    PartitionKey key = new PartitionKey(table.spec(), table.schema());
    InternalRecordWrapper wrapper = new InternalRecordWrapper(table.schema().asStruct());
    Set<StructLikeWrapper> partitions = new HashSet<>();
    for (Record row : rows) {
      key.partition(wrapper.wrap(row));
      partitions.add(StructLikeWrapper.forType(table.spec().partitionType()).set(key.copy()));
    }
    return partitions.size();
  }
}
