package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.stream.IntStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.SortOrderComparators;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Term;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.NaNUtil;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KeyBoundsTest {
  private static final Schema SCHEMA =
      new Schema(
          optional(1, "i", Types.IntegerType.get()),
          required(2, "l", Types.LongType.get()),
          optional(3, "f", Types.FloatType.get()),
          optional(4, "d", Types.DoubleType.get()),
          optional(5, "dec", Types.DecimalType.of(12, 3)),
          optional(6, "s", Types.StringType.get()),
          required(7, "b", Types.BinaryType.get()),
          optional(8, "u", Types.UUIDType.get()),
          optional(9, "day", Types.DateType.get()),
          optional(10, "ts", Types.TimestampType.withoutZone()),
          optional(11, "flag", Types.BooleanType.get()),
          required(12, "x", Types.FixedType.ofLength(2)),
          optional(
              13,
              "in",
              Types.StructType.of(
                  optional(14, "n", Types.LongType.get()),
                  required(15, "t", Types.StringType.get()))));

  private static final List<String> COLUMNS =
      List.of("i", "l", "f", "d", "dec", "s", "b", "u", "day", "ts", "flag", "x", "in.n", "in.t");

  private static final int ROUNDS = Integer.getInteger("firn.test.rounds", 12);

  @TempDir Path directory;

  // ---- rows

  private static Record row(Random random) {
    Record row = GenericRecord.create(SCHEMA);
    row.set(0, orNull(random, pick(random, 0, 1, 2, -7, Integer.MIN_VALUE, Integer.MAX_VALUE)));
    row.set(1, pick(random, 0L, 1L, 2L, 3L, -1L, Long.MIN_VALUE, Long.MAX_VALUE));
    row.set(2, orNull(random, pick(random, 0f, -0f, 1f, -1f, Float.NaN, 1f / 0, -1f / 0)));
    row.set(3, orNull(random, pick(random, 0d, -0d, 1d, -1d, 5e-324, Double.NaN, 1d / 0)));
    row.set(
        4,
        orNull(
            random,
            new BigDecimal(
                BigInteger.valueOf(pick(random, 0L, 1L, -1L, 255L, 256L, -999_999_999_999L)), 3)));
    row.set(5, orNull(random, text(random)));
    row.set(6, ByteBuffer.wrap(binary(random)));
    row.set(7, orNull(random, new UUID(random.nextLong(), random.nextLong())));
    row.set(8, orNull(random, LocalDate.ofEpochDay(random.nextInt(900) - 450)));
    row.set(
        9,
        orNull(
            random,
            LocalDateTime.of(1969, 12, 31, 22, 0)
                .plusMinutes(random.nextInt(300))
                .plusNanos(1000)));
    row.set(10, orNull(random, random.nextBoolean()));
    row.set(11, new byte[] {(byte) random.nextInt(3), (byte) -random.nextInt(3)});
    if (random.nextInt(4) > 0) {
      Record struct = GenericRecord.create(SCHEMA.findType(13).asStructType());
      struct.set(0, orNull(random, random.nextInt(5) - 2L));
      struct.set(1, text(random));
      row.set(12, struct);
    }
    return row;
  }

  private static String text(Random random) {
    String start =
        pick(random, "", "a", "abc", "same beginning, ", "\uD83D\uDE00", "\uFFFD", "\uD7FF");
    return start + pick(random, "", "a", "b", "\0", "\uDBFF\uDFFF", "longer than three", "zz");
  }

  private static byte[] binary(Random random) {
    byte[] bytes = new byte[random.nextInt(6)];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = pick(random, (byte) 0, (byte) 1, (byte) 127, (byte) -128, (byte) -1);
    }
    return bytes;
  }

  private static Object orNull(Random random, Object value) {
    return random.nextInt(6) == 0 ? null : value;
  }

  @SafeVarargs
  private static <T> T pick(Random random, T... values) {
    return values[random.nextInt(values.length)];
  }

  // ---- orders

  private static SortOrder order(Random random, List<String> columns) {
    SortOrder.Builder builder = SortOrder.builderFor(SCHEMA);
    int fields = 1 + random.nextInt(3);
    for (int i = 0; i < fields; i++) {
      Term term = term(random, pick(random, columns.toArray(String[]::new)));
      NullOrder nulls = pick(random, NullOrder.values());
      if (random.nextBoolean()) {
        builder.asc(term, nulls);
      } else {
        builder.desc(term, nulls);
      }
    }
    return builder.build();
  }

  private static Term term(Random random, String column) {
    Type type = SCHEMA.findType(column);
    int which = random.nextInt(3);
    return switch (type.typeId()) {
      case INTEGER, LONG, DECIMAL, STRING, BINARY ->
          which == 0
              ? Expressions.truncate(column, 1 + random.nextInt(4))
              : Expressions.ref(column);
      case DATE ->
          which == 0
              ? Expressions.year(column)
              : which == 1 ? Expressions.month(column) : Expressions.ref(column);
      case TIMESTAMP ->
          which == 0
              ? Expressions.day(column)
              : which == 1 ? Expressions.hour(column) : Expressions.ref(column);
      default -> Expressions.ref(column);
    };
  }

  private static boolean hasUuid(SortOrder order) {
    return order.fields().stream().anyMatch(field -> field.sourceId() == 8);
  }

  // ---- the model: a row as a file of its own whose entry tells everything

  private static DataFile alone(Record row) {
    Map<Integer, Long> values = new HashMap<>();
    Map<Integer, Long> nulls = new HashMap<>();
    Map<Integer, Long> nans = new HashMap<>();
    Map<Integer, ByteBuffer> bounds = new HashMap<>();
    StructLike internal = new InternalRecordWrapper(SCHEMA.asStruct()).wrap(row);
    for (String column : COLUMNS) {
      Types.NestedField field = SCHEMA.findField(column);
      Object value = SCHEMA.accessorForField(field.fieldId()).get(internal);
      values.put(field.fieldId(), 1L);
      nulls.put(field.fieldId(), value == null ? 1L : 0L);
      if (field.type().typeId() == Type.TypeID.FLOAT
          || field.type().typeId() == Type.TypeID.DOUBLE) {
        nans.put(field.fieldId(), NaNUtil.isNaN(value) ? 1L : 0L);
      }
      if (value != null && !NaNUtil.isNaN(value)) {
        bounds.put(field.fieldId(), Conversions.toByteBuffer(field.type(), value));
      }
    }
    return DataFiles.builder(PartitionSpec.unpartitioned())
        .withPath("row.parquet")
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(1)
        .withMetrics(new Metrics(1L, null, values, nulls, nans, bounds, bounds))
        .build();
  }

  @Test
  void o1o2o3o5o6KeysCompareAsIcebergsComparatorHasIt() {
    Table table = TableBuilder.inMemory().schema(SCHEMA).create();
    for (int round = 0; round < 400; round++) {
      long seed = Long.getLong("firn.test.seed", System.nanoTime() + round);
      Random random = new Random(seed);
      SortOrder order = order(random, COLUMNS);
      if (hasUuid(order) || wraps(order)) {
        continue;
      }
      KeyBounds bounds = KeyBounds.of(table, SCHEMA, order);
      Comparator<StructLike> comparator = SortOrderComparators.forSchema(SCHEMA, order);
      for (int i = 0; i < 20; i++) {
        Record left = row(random);
        Record right = row(random);
        int expected =
            comparator.compare(
                new InternalRecordWrapper(SCHEMA.asStruct()).wrap(left),
                new InternalRecordWrapper(SCHEMA.asStruct()).wrap(right));
        KeyRange a = bounds.of(alone(left));
        KeyRange b = bounds.of(alone(right));
        String what = order + ": " + left + ", " + right + "; rerun with -Dfirn.test.seed=" + seed;
        boolean exact = Arrays.equals(a.first(), a.last()) && Arrays.equals(b.first(), b.last());
        if (exact) { // all but zeros of floats
          assertThat(Integer.signum(Arrays.compareUnsigned(a.first(), b.first())))
              .as(what)
              .isEqualTo(Integer.signum(expected));
        } else if (expected <= 0) {
          assertThat(Arrays.compareUnsigned(a.first(), b.last())).as(what).isLessThanOrEqualTo(0);
        }
      }
    }
  }

  /** Truncation of numbers near the least one wraps round, which no range can tell. */
  private static boolean wraps(SortOrder order) {
    return order.fields().stream()
        .anyMatch(
            field -> field.sourceId() <= 2 && field.transform().toString().startsWith("truncate"));
  }

  @Test
  void o4UuidsCompareUnsigned() {
    Table table = TableBuilder.inMemory().schema(SCHEMA).create();
    SortOrder order = SortOrder.builderFor(SCHEMA).asc("u").build();
    KeyBounds bounds = KeyBounds.of(table, SCHEMA, order);
    Random random = new Random(7);
    Record low = row(random);
    low.setField("u", new UUID(0x7FL << 56, -1));
    Record high = row(random);
    high.setField("u", new UUID(0x80L << 56, 0));
    assertThat(bounds.of(alone(low)).precedes(bounds.of(alone(high)))).isTrue();
    assertThat(bounds.of(alone(high)).precedes(bounds.of(alone(low)))).isFalse();
  }

  // ---- real files

  private Table table(Random random, int round) {
    TableBuilder builder =
        TableBuilder.at(directory.resolve("table" + round))
            .schema(SCHEMA)
            .property(
                "write.metadata.metrics.default",
                pick(random, "full", "truncate(16)", "truncate(2)", "truncate(1)"));
    if (random.nextInt(3) == 0) {
      builder.property(
          "write.metadata.metrics.column." + pick(random, COLUMNS.toArray(String[]::new)),
          pick(random, "none", "counts"));
    }
    return builder.create();
  }

  private static TableFiles files(Table table, Random random) {
    FileFormat format =
        pick(random, FileFormat.PARQUET, FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO);
    return TableFiles.of(table).format(format);
  }

  @Test
  void m2m3m4NoRangeExcludesAKeyOfItsFile() {
    for (int round = 0; round < 2 * ROUNDS; round++) {
      long seed = Long.getLong("firn.test.seed", System.nanoTime() + round);
      Random random = new Random(seed);
      Table table = table(random, round);
      for (int i = 0; i < 3; i++) {
        List<Record> rows = rows(random, 1 + random.nextInt(12));
        DataFile file = files(table, random).data(rows);
        for (int j = 0; j < 20; j++) {
          SortOrder order = order(random, COLUMNS);
          if (wraps(order)) {
            continue;
          }
          KeyRange range = KeyBounds.of(table, SCHEMA, order).of(file);
          for (Record row : rows) {
            KeyRange key = KeyBounds.of(FULL, SCHEMA, order).of(alone(row));
            assertThat(within(range, key))
                .as(
                    "%s by %s in %s of %s; rerun with -Dfirn.test.seed=%d",
                    row, order, file.format(), rows, seed)
                .isTrue();
          }
        }
      }
    }
  }

  private static final Table FULL =
      TableBuilder.inMemory()
          .schema(SCHEMA)
          .property("write.metadata.metrics.default", "full")
          .create();

  private static boolean within(KeyRange range, KeyRange key) {
    return Arrays.compareUnsigned(range.first(), key.first()) <= 0
        && Arrays.compareUnsigned(key.last(), range.last()) <= 0;
  }

  private static List<Record> rows(Random random, int count) {
    // Few different rows, so that columns are constant at times.
    List<Record> some =
        IntStream.range(0, 1 + random.nextInt(6)).mapToObj(i -> row(random)).toList();
    return IntStream.range(0, count)
        .mapToObj(i -> pick(random, some.toArray(Record[]::new)))
        .toList();
  }

  /** As the files of a run: in order, cut anywhere, through equal keys too. */
  @Test
  void o11FilesThatWereCutFromSortedRowsDoNotOverlap() {
    List<String> columns = COLUMNS.stream().filter(column -> !column.equals("u")).toList();
    for (int round = 0; round < ROUNDS; round++) {
      long seed = Long.getLong("firn.test.seed", System.nanoTime() + round);
      Random random = new Random(seed);
      Table table = table(random, 100 + round);
      SortOrder order = order(random, columns);
      if (wraps(order)) {
        continue;
      }
      Comparator<StructLike> comparator = SortOrderComparators.forSchema(SCHEMA, order);
      List<Record> rows = new ArrayList<>(rows(random, 60));
      IntStream.range(0, 40).forEach(i -> rows.add(row(random)));
      rows.sort(
          (left, right) ->
              comparator.compare(
                  new InternalRecordWrapper(SCHEMA.asStruct()).wrap(left),
                  new InternalRecordWrapper(SCHEMA.asStruct()).wrap(right)));
      KeyBounds bounds = KeyBounds.of(table, SCHEMA, order);
      List<KeyRange> cut = new ArrayList<>();
      for (int at = 0; at < rows.size(); ) {
        int end = Math.min(rows.size(), at + 1 + random.nextInt(30));
        cut.add(bounds.of(TableFiles.of(table).data(rows.subList(at, end))));
        at = end;
      }
      long[] bytes = new long[cut.size()];
      Arrays.fill(bytes, 1);
      assertThat(OverlapSelection.of(cut, bytes, 0, 8).depths())
          .as("%s of %s; rerun with -Dfirn.test.seed=%d", order, table.properties(), seed)
          .containsOnly(0);
    }
  }

  /** Cutting up raises the last byte or character that can be raised, and drops what follows it. */
  @Test
  void o11FilesThatMeetInTheGreatestBytesDoNotOverlap() {
    Table table =
        TableBuilder.at(directory.resolve("greatest"))
            .schema(
                required(1, "b", Types.BinaryType.get()), required(2, "s", Types.StringType.get()))
            .property("write.metadata.metrics.default", "truncate(2)")
            .create();
    String greatest = Character.toString(Character.MAX_CODE_POINT);
    Object[][] rows = {
      {new byte[] {0}, "A"},
      {new byte[] {1, -1, 0}, "a" + greatest + "b"},
      {new byte[] {1, -1, 7}, "a" + greatest + "c"},
      {new byte[] {3}, "d"}
    };
    for (String column : List.of("b", "s")) {
      List<KeyRange> files = new ArrayList<>();
      SortOrder order = SortOrder.builderFor(table.schema()).asc(column).build();
      for (int file = 0; file < 2; file++) {
        List<Record> records = new ArrayList<>();
        for (int row = 2 * file; row < 2 * file + 2; row++) {
          Record record = GenericRecord.create(table.schema());
          record.set(0, ByteBuffer.wrap((byte[]) rows[row][0]));
          record.set(1, rows[row][1]);
          records.add(record);
        }
        DataFile written = TableFiles.of(table).data(records);
        files.add(KeyBounds.of(table, table.schema(), order).of(written));
      }
      assertThat(OverlapSelection.of(files, new long[] {1, 1}, 0, 8).depths())
          .as(column)
          .containsOnly(0);
      assertThat(files).as(column).noneMatch(KeyRange::isPoint);
    }
  }

  @Test
  void s6BoundsFromBeforeAPromotionCount() {
    Table table =
        TableBuilder.at(directory.resolve("promoted"))
            .schema(
                optional(1, "i", Types.IntegerType.get()),
                optional(2, "f", Types.FloatType.get()),
                optional(3, "dec", Types.DecimalType.of(9, 2)))
            .create();
    List<DataFile> files = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      List<Record> rows = new ArrayList<>();
      for (int value = -10 * i; value < 5 - 10 * i; value++) {
        Record row = GenericRecord.create(table.schema());
        row.set(0, value);
        row.set(1, (float) value);
        row.set(2, new BigDecimal(BigInteger.valueOf(value), 2));
        rows.add(row);
      }
      files.add(TableFiles.of(table).append(rows));
    }
    table
        .updateSchema()
        .updateColumn("i", Types.LongType.get())
        .updateColumn("f", Types.DoubleType.get())
        .updateColumn("dec", Types.DecimalType.of(30, 2))
        .commit();
    List<DataFile> live = TableRows.dataFiles(table, table.currentSnapshot());
    for (String column : List.of("i", "f", "dec")) {
      SortOrder order = SortOrder.builderFor(table.schema()).asc(column).build();
      KeyBounds bounds = KeyBounds.of(table, table.schema(), order);
      List<KeyRange> sorted =
          live.stream()
              .map(bounds::of)
              .sorted((left, right) -> Arrays.compareUnsigned(left.first(), right.first()))
              .toList();
      assertThat(sorted.get(0).precedes(sorted.get(1))).as(column).isTrue();
      assertThat(sorted).as(column).noneMatch(KeyRange::isPoint);
    }
  }

  @Test
  void aColumnThatAFileLacksReachesEverywhere() {
    Table table =
        TableBuilder.at(directory.resolve("added"))
            .schema(optional(1, "i", Types.IntegerType.get()))
            .create();
    Record row = GenericRecord.create(table.schema());
    row.set(0, 1);
    TableFiles.of(table).append(List.of(row));
    table.updateSchema().addColumn("later", Types.IntegerType.get()).commit();
    SortOrder order = SortOrder.builderFor(table.schema()).asc("later").build();
    KeyRange range =
        KeyBounds.of(table, table.schema(), order)
            .of(TableRows.dataFiles(table, table.currentSnapshot()).get(0));
    assertThat(range.first()).isEmpty();
    assertThat(range.last()).startsWith(0xFF);
    assertThat(range.isPoint()).isFalse();
  }

  @Test
  void whatBoundsCannotTellIsSaid() {
    Table table =
        TableBuilder.inMemory()
            .schema(SCHEMA)
            .property("write.metadata.metrics.column.s", "counts")
            .create();
    SortOrder byCounts = SortOrder.builderFor(SCHEMA).asc("s").asc("i").build();
    assertThat(KeyBounds.of(table, SCHEMA, byCounts).tellOverlaps()).isFalse();
    assertThat(KeyBounds.of(table, SCHEMA, byCounts).whyUntold()).contains("column s", "counts");
    SortOrder byBucket =
        SortOrder.builderFor(SCHEMA).asc(Expressions.bucket("i", 4)).asc("l").build();
    assertThat(KeyBounds.of(table, SCHEMA, byBucket).tellOverlaps()).isFalse();
    assertThat(KeyBounds.of(table, SCHEMA, byBucket).whyUntold())
        .contains("bucket[4]", "column i", "does not preserve");
    SortOrder bucketLast =
        SortOrder.builderFor(SCHEMA).asc("l").asc(Expressions.bucket("i", 4)).build();
    assertThat(KeyBounds.of(table, SCHEMA, bucketLast).tellOverlaps()).isTrue();
  }
}
