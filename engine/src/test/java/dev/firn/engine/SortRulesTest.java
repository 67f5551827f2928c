package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortDirection;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The order of rows in files that a compaction has sorted, against orders written down by hand:
 * values are listed as they must come.
 */
class SortRulesTest {
  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
  }

  private static List<DataFile> files(Table table) {
    return TableRows.dataFiles(table, table.currentSnapshot());
  }

  private static List<Record> rowsOf(Table table) {
    assertThat(files(table)).hasSize(1);
    return TableRows.inFile(table, files(table).get(0));
  }

  // ---- values in ascending order

  static Stream<Arguments> ascending() {
    Map<Type, List<Object>> values = new LinkedHashMap<>();
    values.put(Types.BooleanType.get(), List.of(false, true));
    values.put(Types.IntegerType.get(), List.of(Integer.MIN_VALUE, -1, 0, 1, Integer.MAX_VALUE));
    values.put(Types.LongType.get(), List.of(Long.MIN_VALUE, -1L, 0L, 1L, Long.MAX_VALUE));
    values.put(
        Types.FloatType.get(),
        List.of(
            Float.NEGATIVE_INFINITY,
            -1f,
            -0f,
            0f,
            Float.MIN_VALUE,
            Float.POSITIVE_INFINITY,
            Float.NaN));
    values.put(
        Types.DoubleType.get(),
        List.of(
            Double.NEGATIVE_INFINITY,
            -1d,
            -0d,
            0d,
            Double.MIN_VALUE,
            Double.POSITIVE_INFINITY,
            Double.NaN));
    values.put(
        Types.DateType.get(),
        List.of(LocalDate.of(1, 1, 1), LocalDate.of(1969, 12, 31), LocalDate.of(1970, 1, 1)));
    values.put(Types.TimeType.get(), List.of(LocalTime.MIN, LocalTime.NOON, LocalTime.of(23, 59)));
    values.put(
        Types.TimestampType.withoutZone(),
        List.of(
            LocalDateTime.of(1, 1, 1, 0, 0),
            LocalDateTime.of(1969, 12, 31, 23, 59, 59),
            LocalDateTime.of(1970, 1, 1, 0, 0),
            LocalDateTime.of(9999, 1, 1, 0, 0)));
    for (int precision : new int[] {9, 18, 38}) {
      values.put(
          Types.DecimalType.of(precision, 2),
          List.of(
              new BigDecimal("-1000000.00"),
              new BigDecimal("-0.01"),
              new BigDecimal("0.00"),
              new BigDecimal("9.99"),
              new BigDecimal("1000000.00")));
    }
    // U+FFFD before U+1F600, which UTF-16 has the other way round; a prefix comes first.
    values.put(
        Types.StringType.get(),
        List.of("", "a", "a\u0000", "aa", "b", "é", "\uFFFD", "\uD83D\uDE00"));
    values.put(
        Types.BinaryType.get(),
        List.of(bytes(), bytes(0), bytes(0, 0), bytes(0x7F), bytes(0x80), bytes(0xFF)));
    values.put(
        Types.FixedType.ofLength(2),
        List.of(new byte[] {0, 1}, new byte[] {0x7F, 0}, new byte[] {(byte) 0x80, 0}));
    values.put(
        Types.UUIDType.get(),
        List.of(new UUID(0, 0), new UUID(0, -1), new UUID(0x7FL << 56, 0), new UUID(-1, 0)));
    return values.entrySet().stream()
        .flatMap(
            one ->
                Stream.of(SortDirection.values())
                    .flatMap(
                        direction ->
                            Stream.of(NullOrder.values())
                                .map(
                                    nulls ->
                                        Arguments.of(
                                            one.getKey(), one.getValue(), direction, nulls))));
  }

  private static ByteBuffer bytes(int... values) {
    ByteBuffer bytes = ByteBuffer.allocate(values.length);
    IntStream.range(0, values.length).forEach(i -> bytes.put(i, (byte) values[i]));
    return bytes;
  }

  /** All types in one table for each direction and null order; nulls go where the order says. */
  @ParameterizedTest
  @MethodSource("directions")
  void o1o2o3o4o5ValuesOfEachTypeComeInOrder(SortDirection direction, NullOrder nulls) {
    ascending()
        .filter(one -> one.get()[2] == direction && one.get()[3] == nulls)
        .forEach(one -> check((Type) one.get()[0], (List<?>) one.get()[1], direction, nulls));
  }

  static Stream<Arguments> directions() {
    return Stream.of(SortDirection.values())
        .flatMap(
            direction ->
                Stream.of(NullOrder.values()).map(nulls -> Arguments.of(direction, nulls)));
  }

  private void check(Type type, List<?> ascending, SortDirection direction, NullOrder nulls) {
    Schema schema = new Schema(required(1, "id", Types.LongType.get()), optional(2, "c", type));
    Table table =
        TableBuilder.at(directory.resolve(UUID.randomUUID().toString())).schema(schema).create();
    List<Object> expected = new ArrayList<>(ascending);
    if (direction == SortDirection.DESC) {
      Collections.reverse(expected);
    }
    expected.add(nulls == NullOrder.NULLS_FIRST ? 0 : expected.size(), null);
    List<Record> rows = new ArrayList<>();
    for (int i = 0; i < expected.size(); i++) {
      rows.add(Rows.row(schema, (long) i, expected.get(i)));
    }
    List<Record> shuffled = new ArrayList<>(rows);
    Collections.shuffle(shuffled, new Random(3));
    TableFiles.of(table).append(shuffled.subList(0, 2));
    TableFiles.of(table).append(shuffled.subList(2, shuffled.size()));
    SortOrder.Builder order = SortOrder.builderFor(table.schema());
    Layout layout =
        new Layout.Sorted(
            (direction == SortDirection.ASC ? order.asc("c", nulls) : order.desc("c", nulls))
                .build());
    Runs.of(table, Runs.all(scratch).layout(layout));
    assertThat(rowsOf(table).stream().map(row -> row.getField("id")))
        .as("%s %s %s", type, direction, nulls)
        .containsExactlyElementsOf(rows.stream().map(row -> row.getField("id")).toList());
  }

  // ---- transforms

  @Test
  void o6TransformedFieldsComeInTheOrderOfTheirResults() {
    Schema schema = SmallTable.SCHEMA;
    Table table = TableBuilder.at(directory.resolve("table")).schema(schema).create();
    TableFiles.of(table).append(SmallTable.rows(-25, 50, "eu"));
    SortOrder order =
        SortOrder.builderFor(schema)
            .desc(Expressions.truncate("id", 10))
            .asc(Expressions.bucket("note", 4))
            .asc("id")
            .build();
    Runs.of(table, Runs.all(scratch).layout(new Layout.Sorted(order)));
    List<Long> ids = rowsOf(table).stream().map(row -> (Long) row.getField("id")).toList();
    assertThat(ids.stream().map(id -> Math.floorDiv(id, 10L)))
        .isSortedAccordingTo(Comparator.reverseOrder());
    assertThat(ids.get(0)).isBetween(20L, 24L);
    assertThat(ids.subList(ids.size() - 5, ids.size())).allMatch(id -> id < -20);
    assertThat(ids.subList(0, 5)).as("buckets of the notes, not ids").isNotEqualTo(range(20, 25));
    SortedTruth.checkFile(table, order, files(table).get(0));
  }

  private static List<Long> range(long from, long to) {
    return java.util.stream.LongStream.range(from, to).boxed().toList();
  }

  // ---- specs

  @Test
  void o7p2RowsOfAGroupThatMixesSpecsAreSortedByTheOutputsPartitionFirst() {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    table.updateSpec().removeField("region").addField(Expressions.bucket("id", 3)).commit();
    TableFiles files = TableFiles.of(table);
    files.append(files.dataByPartition(SmallTable.rows(200, 30, "us")).toArray(DataFile[]::new));
    table.refresh();
    List<String> rows = TableRows.live(table);
    SortOrder order = SortOrder.builderFor(table.schema()).desc("note").build();
    Runs.of(table, Runs.all(scratch).layout(new Layout.Sorted(order)));
    assertThat(TableRows.live(table)).isEqualTo(rows);
    assertThat(files(table))
        .allMatch(file -> file.specId() == table.spec().specId())
        .allSatisfy(file -> SortedTruth.checkFile(table, order, file));
    assertThat(files(table).stream().map(file -> file.partition().get(0, Integer.class)))
        .contains(0, 1, 2);
  }

  // ---- columns

  @Test
  void o8ARenamedColumnIsFoundById() {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    table.replaceSortOrder().desc("note").commit();
    table.updateSchema().renameColumn("note", "text").commit();
    table.updateSchema().addColumn("note", Types.LongType.get()).commit();
    table.refresh();
    Runs.of(table, Runs.all(scratch).layout(new Layout.TableOrder()));
    for (DataFile file : files(table)) {
      assertThat(TableRows.inFile(table, file).stream().map(row -> (String) row.getField("text")))
          .isSortedAccordingTo(Comparator.reverseOrder());
      assertThat(file.sortOrderId()).isEqualTo(table.sortOrder().orderId());
    }
  }

  // ---- rows

  @Test
  void o9o10EqualRowsAllStayAndNoValueChanges() {
    Schema schema =
        new Schema(
            optional(1, "k", Types.IntegerType.get()),
            optional(2, "d", Types.DoubleType.get()),
            optional(3, "f", Types.FloatType.get()),
            optional(4, "b", Types.BinaryType.get()),
            optional(5, "l", Types.ListType.ofOptional(6, Types.StringType.get())));
    Table table = TableBuilder.at(directory.resolve("table")).schema(schema).create();
    Random random = new Random(5);
    Rows rows = Rows.of(schema);
    for (int i = 0; i < 2000; i++) {
      rows.add(
          i % 3 == 0 ? null : Integer.valueOf(random.nextInt(3)),
          Double.longBitsToDouble(i % 5 == 0 ? 0x7FF8000000000000L + i % 7 : random.nextInt(2)),
          Float.intBitsToFloat(i % 5 == 1 ? 0xFFC00000 + i % 7 : i % 2 << 31),
          i % 4 == 0 ? null : bytes(i % 2, 0xC3, 0x28),
          i % 6 == 0 ? null : new ArrayList<>(Arrays.asList(null, "x" + i % 2)));
    }
    TableFiles files = TableFiles.of(table).rowGroupRows(300);
    files.append(rows.list());
    files.append(rows.list());
    table.refresh();
    List<String> before = exactly(table);
    SortOrder order = SortOrder.builderFor(schema).asc("k").build();
    Runs.of(table, Runs.all(scratch).layout(new Layout.Sorted(order)));
    assertThat(exactly(table)).hasSize(4000).isEqualTo(before);
  }

  /** Live rows with the bits of their floats, sorted. */
  private static List<String> exactly(Table table) {
    List<String> texts = new ArrayList<>();
    for (Record row : TableRows.liveRecords(table, table.currentSnapshot())) {
      ByteBuffer bytes = (ByteBuffer) row.get(3);
      texts.add(
          row.get(0)
              + " "
              + Long.toHexString(Double.doubleToRawLongBits((Double) row.get(1)))
              + " "
              + Integer.toHexString(Float.floatToRawIntBits((Float) row.get(2)))
              + " "
              + (bytes == null ? null : StandardCharsets.ISO_8859_1.decode(bytes.duplicate()))
              + " "
              + row.get(4));
    }
    Collections.sort(texts);
    return texts;
  }

  @Test
  void o11FilesOfOneSortFollowOneAnother() {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(SmallTable.SCHEMA)
            .sortBy(order -> order.asc("note"))
            .property("write.parquet.row-group-size-bytes", "10000")
            .property("write.parquet.row-group-check-min-record-count", "10")
            .create();
    for (int i = 0; i < 4; i++) {
      TableFiles.of(table).append(SmallTable.rows(1000 * i, 1000, "eu"));
    }
    Runs.of(
        table,
        Runs.all(scratch).option("target-file-size-bytes", "8000").layout(new Layout.TableOrder()));
    List<List<String>> ranges = new ArrayList<>();
    for (DataFile file : files(table)) {
      assertThat(file.sortOrderId()).isEqualTo(table.sortOrder().orderId());
      List<String> notes =
          TableRows.inFile(table, file).stream().map(row -> (String) row.getField("note")).toList();
      assertThat(notes).isSorted();
      ranges.add(List.of(notes.get(0), notes.get(notes.size() - 1)));
    }
    ranges.sort(Comparator.comparing(range -> range.get(0)));
    assertThat(ranges).hasSizeGreaterThan(2);
    for (int i = 1; i < ranges.size(); i++) {
      assertThat(ranges.get(i - 1).get(1)).isLessThan(ranges.get(i).get(0));
    }
  }

  @Test
  void d9o1PartitionsOfNullAndOfTheTextNullStayApart() {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(SmallTable.SCHEMA)
            .partitionBy(spec -> spec.identity("note"))
            .create();
    Consumer<String> append =
        note ->
            TableFiles.of(table)
                .append(List.of(SmallTable.row(2, "eu", note), SmallTable.row(1, "eu", note)));
    append.accept(null);
    append.accept("null");
    append.accept(null);
    append.accept("null");
    Runs.of(
        table,
        Runs.all(scratch)
            .layout(new Layout.Sorted(SortOrder.builderFor(table.schema()).asc("id").build())));
    assertThat(files(table)).hasSize(2);
    for (DataFile file : files(table)) {
      assertThat(TableRows.inFile(table, file).stream().map(row -> row.getField("id")))
          .containsExactly(1L, 1L, 2L, 2L);
      assertThat(TableRows.inFile(table, file).stream().map(row -> row.getField("note")).distinct())
          .hasSize(1);
    }
  }
}
