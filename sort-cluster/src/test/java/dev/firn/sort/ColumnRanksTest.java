package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.firn.sort.Orders.Key;
import dev.firn.sort.PhysicalRows.Row;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortDirection;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ColumnRanksTest {
  private static final long[] NO_LIMIT = {RankSampler.ROWS_MAX, RankSampler.BYTES_MAX};

  private final BufferAllocator allocator = new RootAllocator();
  private final long seed = Long.getLong("firn.test.seed", new Random().nextLong());
  private final Random random = new Random(seed);

  static List<Type> types() {
    return Orders.TYPES;
  }

  @AfterEach
  void nothingLeaks() {
    allocator.close();
  }

  private ColumnRanks ranks(Schema schema, List<String> columns, NullOrder nulls, List<Row> rows) {
    return sampled(schema, columns, nulls, rows, NO_LIMIT).ranks();
  }

  /** Shows rows in batches, with others between that are not live. */
  private RankSampler sampled(
      Schema schema, List<String> columns, NullOrder nulls, List<Row> rows, long[] limits) {
    RankSampler sampler = new RankSampler(schema, columns, nulls, seed, (int) limits[0], limits[1]);
    RandomRows others = new RandomRows(new Random(seed + 1));
    int done = 0;
    while (done < rows.size()) {
      int count = Math.min(rows.size() - done, 1 + random.nextInt(3000));
      List<Row> batchRows = new ArrayList<>();
      long[] live = new long[(2 * count + 63) / 64];
      for (int i = 0; i < count; i++) {
        if (random.nextInt(8) == 0) {
          batchRows.addAll(others.rows(schema, 1));
        }
        live[batchRows.size() >>> 6] |= 1L << batchRows.size();
        batchRows.add(rows.get(done + i));
      }
      try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, batchRows, allocator)) {
        sampler.add(batch, live, count);
      }
      done += count;
    }
    assertThat(sampler.rows()).isEqualTo(rows.size());
    return sampler;
  }

  private long[] ranksOf(ColumnRanks ranks, int column, Schema schema, List<Row> rows) {
    RankColumn of = ranks.columns().get(column);
    int count = rows.size();
    long[] result = new long[count];
    int[] all = IntStream.range(0, count).toArray();
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      ColumnPath.Leaf leaf = RankCurvePart.paths(schema, ranks).get(column).leaf(batch, all, count);
      of.ranks(leaf.vector(), all, leaf.nulls(), 0, count, result, new int[count]);
    }
    return result;
  }

  @ParameterizedTest
  @MethodSource("types")
  void ranksAreMonotoneInTheValueAndNullsHaveTheirOwn(Type type) {
    Schema schema =
        new Schema(
            NestedField.optional(7, "c", type), NestedField.optional(8, "d", Types.LongType.get()));
    List<Row> seen = new RandomRows(random).rows(schema, random.nextInt(3) * 150);
    List<Row> looked = new ArrayList<>(new RandomRows(random).rows(schema, 150));
    looked.addAll(seen);
    for (NullOrder nulls : NullOrder.values()) {
      Key key = new Key("c", Expressions.ref("c"), SortDirection.ASC, nulls);
      Comparator<Row> order = Orders.comparator(schema, List.of(key));
      ColumnRanks ranks = ranks(schema, List.of("c", "d"), nulls, seen);
      long[] ofLooked = ranksOf(ranks, 0, schema, looked);
      Integer[] sorted = IntStream.range(0, looked.size()).boxed().toArray(Integer[]::new);
      Arrays.sort(sorted, Comparator.comparing(looked::get, order));
      for (int i = 1; i < sorted.length; i++) {
        Row before = looked.get(sorted[i - 1]);
        Row after = looked.get(sorted[i]);
        long step = ofLooked[sorted[i]] - ofLooked[sorted[i - 1]];
        boolean onlyOneNull = before.values()[0] == null ^ after.values()[0] == null;
        assertThat(step)
            .as("rerun with -Dfirn.test.seed=%s: %s, %s and %s", seed, key, before, after)
            .isBetween(onlyOneNull ? 1L : 0L, order.compare(before, after) == 0 ? 0L : 1L << 16);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("types")
  void rankOfASampledValueIsTheMiddleOfItsShare(Type type) {
    Schema schema =
        new Schema(
            NestedField.required(7, "c", type), NestedField.optional(8, "d", Types.LongType.get()));
    List<Row> rows = new RandomRows(random).rows(schema, 400);
    Key key = new Key("c", Expressions.ref("c"), SortDirection.ASC, NullOrder.NULLS_LAST);
    Comparator<Row> order = Orders.comparator(schema, List.of(key));
    long[] ranks =
        ranksOf(ranks(schema, List.of("c", "d"), NullOrder.NULLS_LAST, rows), 0, schema, rows);
    for (int i = 0; i < rows.size(); i++) {
      Row row = rows.get(i);
      long before = rows.stream().filter(other -> order.compare(other, row) < 0).count();
      long with = rows.stream().filter(other -> order.compare(other, row) == 0).count();
      long expected = Math.min((1 << 16) - 2, (2 * before + with) * (1 << 16) / (2 * rows.size()));
      assertThat(ranks[i]).as("rerun with -Dfirn.test.seed=%s: %s", seed, row).isEqualTo(expected);
    }
  }

  @Test
  void nullsHaveTheirShareAtTheirEnd() {
    Schema schema = longs(2, true);
    List<Row> rows = rows(1000, i -> new Row(new Object[] {i % 5 < 2 ? null : (long) i, 1L}));
    long[] first = ranksOf(ranks(schema, names(2), NullOrder.NULLS_FIRST, rows), 0, schema, rows);
    long[] last = ranksOf(ranks(schema, names(2), NullOrder.NULLS_LAST, rows), 0, schema, rows);
    assertThat(first[0] / 65536.0).isCloseTo(0.2, within(0.001));
    assertThat(first[2] / 65536.0).isCloseTo(0.4, within(0.002));
    assertThat(last[0] / 65536.0).isCloseTo(0.8, within(0.001));
    assertThat(last[2] / 65536.0).isCloseTo(0.0, within(0.002));
  }

  @Test
  void skewSpoilsNeitherTheFrequentNorTheOtherValues() {
    // Half of the rows have one value, the others numbers spread over all magnitudes.
    Schema schema = longs(2, false);
    List<Row> rows =
        rows(
            200_000,
            i ->
                new Row(
                    new Object[] {
                      random.nextBoolean() ? 1000L : random.nextLong() >>> random.nextInt(60), 0L
                    }));
    ColumnRanks ranks = ranks(schema, names(2), NullOrder.NULLS_FIRST, rows);
    List<Row> looked = rows.subList(0, 50_000);
    long[] found = ranksOf(ranks, 0, schema, looked);
    long frequent = ranksOf(ranks, 0, schema, rows(1, i -> new Row(new Object[] {1000L, 0L})))[0];
    long[] others = Arrays.stream(found).filter(rank -> rank != frequent).sorted().toArray();
    assertThat(others.length / 50_000.0).isCloseTo(0.5, within(0.02));
    // The others fill the ranks beside the frequent value's share evenly.
    long below = Arrays.stream(others).filter(rank -> rank < frequent).count();
    double start = below / 50_000.0;
    for (int i = 0; i < others.length; i += 500) {
      double expected = i < below ? i / 50_000.0 : i / 50_000.0 + 0.5;
      assertThat(others[i] / 65536.0)
          .as("rerun with -Dfirn.test.seed=%s: rank %s of others", seed, i)
          .isCloseTo(expected, within(0.025));
    }
    assertThat(frequent / 65536.0).isCloseTo(start + 0.25, within(0.025));
  }

  @Test
  void sharedBeginningsOfTextsDoNotMatter() {
    Schema schema =
        new Schema(
            NestedField.required(1, "c1", Types.StringType.get()),
            NestedField.required(2, "c2", Types.LongType.get()));
    String beginning = "https://shop.example.com/catalogue/".repeat(3);
    List<Row> rows =
        rows(
            20_000,
            i ->
                new Row(
                    new Object[] {beginning + String.format("%08d", random.nextInt(1 << 24)), 0L}));
    long[] found = ranksOf(ranks(schema, names(2), NullOrder.NULLS_FIRST, rows), 0, schema, rows);
    Arrays.sort(found);
    for (int i = 0; i < found.length; i += 100) {
      assertThat(found[i] / 65536.0).isCloseTo(i / 20_000.0, within(0.001));
    }
    assertThat(Arrays.stream(found).distinct().count()).isGreaterThan(8000);
  }

  @Test
  void cellsOfTheCurveAreBalancedHoweverSkewedTheColumns() {
    Schema schema = longs(2, false);
    List<Row> rows =
        rows(
            100_000,
            i ->
                new Row(
                    new Object[] {
                      (long) Math.exp(random.nextDouble() * 40),
                      (long) (1e6 * random.nextGaussian())
                    }));
    ColumnRanks ranks = ranks(schema, names(2), NullOrder.NULLS_FIRST, rows);
    for (SortKeys keys : List.of(SortKeys.zOrder(schema, ranks), SortKeys.hilbert(schema, ranks))) {
      int[] cells = new int[256];
      try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
        RowKeys encoded =
            keys.encode(batch, IntStream.range(0, 100_000).toArray(), 100_000, allocator);
        assertThat(keys.fixedBytes()).isEqualTo(4);
        for (int i = 0; i < 100_000; i++) {
          cells[encoded.bytes()[4 * i] & 0xFF]++;
        }
      }
      // Values near 1 are few and frequent: their cells hold more.
      assertThat(Arrays.stream(cells).max().orElseThrow())
          .as("rerun with -Dfirn.test.seed=%s", seed)
          .isLessThan(3 * 100_000 / 256);
      assertThat(Arrays.stream(cells).filter(count -> count > 100_000 / 256 / 2).count())
          .isGreaterThan(230);
    }
  }

  @Test
  void theSameRowsAndSeedGiveTheSameKeys() {
    Schema schema = longs(3, true);
    List<Row> rows = new RandomRows(random).rows(schema, 20_000);
    List<RowKeys> keys = new ArrayList<>();
    try (VectorSchemaRoot batch =
        new PhysicalRows(random).batch(schema, rows.subList(0, 500), allocator)) {
      for (int run = 0; run < 2; run++) {
        ColumnRanks ranks =
            sampled(schema, names(3), NullOrder.NULLS_LAST, rows, new long[] {1000, 1 << 30})
                .ranks();
        keys.add(
            SortKeys.hilbert(schema, ranks)
                .encode(batch, IntStream.range(0, 500).toArray(), 500, allocator));
      }
    }
    assertThat(keys.get(0).bytes()).isEqualTo(keys.get(1).bytes());
  }

  @Test
  void theCurveIsThatOfTheRanks() {
    for (int columns = 2; columns <= ColumnRanks.COLUMNS_MAX; columns++) {
      Schema schema = longs(columns, true);
      List<Row> rows = new RandomRows(random).rows(schema, 1500);
      ColumnRanks ranks = ranks(schema, names(columns), NullOrder.NULLS_LAST, rows);
      int bits = Math.min(16, 64 / columns);
      long[][] axes = new long[columns][];
      for (int c = 0; c < columns; c++) {
        axes[c] = ranksOf(ranks, c, schema, rows);
        assertThat(Arrays.stream(axes[c])).allMatch(rank -> rank >>> bits == 0);
      }
      long[] curve = new long[rows.size()];
      RankCurvePart.interleave(axes, bits, curve.length, curve);
      hasKeys(SortKeys.zOrder(schema, ranks), schema, rows, curve, bits * columns);
      HilbertCurve.transpose(axes, bits, rows.size());
      RankCurvePart.interleave(axes, bits, curve.length, curve);
      hasKeys(SortKeys.hilbert(schema, ranks), schema, rows, curve, bits * columns);
    }
  }

  private void hasKeys(SortKeys keys, Schema schema, List<Row> rows, long[] curve, int bits) {
    int count = rows.size();
    assertThat(keys.variable()).isFalse();
    assertThat(keys.fixedBytes()).isEqualTo((bits + 7) / 8);
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      byte[] bytes =
          keys.encode(batch, IntStream.range(0, count).toArray(), count, allocator).bytes();
      for (int i = 0; i < count; i++) {
        long key = 0;
        for (int at = 0; at < 8; at++) {
          boolean in = at < keys.fixedBytes();
          key = key << 8 | (in ? bytes[i * keys.fixedBytes() + at] & 0xFF : 0);
        }
        assertThat(key).isEqualTo(curve[i] << (64 - bits));
      }
    }
  }

  @Test
  void aCurveOfOneColumnIsItsOrder() {
    Schema schema = new Schema(NestedField.optional(1, "c1", Types.StringType.get()));
    List<Row> rows = new RandomRows(random).rows(schema, 100);
    ColumnRanks ranks = ranks(schema, names(1), NullOrder.NULLS_LAST, rows);
    Key key = new Key("c1", Expressions.ref("c1"), SortDirection.ASC, NullOrder.NULLS_LAST);
    SortKeys plain = SortKeys.of(schema, Orders.order(schema, List.of(key)));
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      for (int row = 0; row < 100; row++) {
        byte[] expected = plain.encode(batch, row);
        assertThat(SortKeys.hilbert(schema, ranks).encode(batch, row)).isEqualTo(expected);
        assertThat(SortKeys.zOrder(schema, ranks).encode(batch, row)).isEqualTo(expected);
      }
    }
  }

  @Test
  void nothingSampledOrNothingButNullsMakesKeysAllTheSame() {
    Schema schema = longs(2, true);
    List<Row> nulls = rows(100, i -> new Row(new Object[] {null, null}));
    for (List<Row> seen : List.of(List.<Row>of(), nulls)) {
      for (NullOrder order : NullOrder.values()) {
        ColumnRanks ranks = ranks(schema, names(2), order, seen);
        List<Row> looked = new RandomRows(random).rows(schema, 200);
        long[] found = ranksOf(ranks, 0, schema, looked);
        assertThat(Arrays.stream(found).distinct().count()).isEqualTo(2);
        SortKeys keys = SortKeys.hilbert(schema, ranks);
        try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, nulls, allocator)) {
          assertThat(keys.compare(batch, 0, batch, 99)).isZero();
        }
      }
    }
  }

  @Test
  void longValuesLowerTheSampleAndKeepItInItsMemory() {
    Schema schema =
        new Schema(
            NestedField.optional(1, "c1", Types.BinaryType.get()),
            NestedField.optional(2, "c2", Types.LongType.get()));
    List<Row> rows =
        rows(
            20_000,
            i -> {
              byte[] bytes = new byte[i % 10 == 0 ? 5000 : 200];
              random.nextBytes(bytes);
              return new Row(new Object[] {ByteBuffer.wrap(bytes), (long) i});
            });
    RankSampler sampler =
        sampled(schema, names(2), NullOrder.NULLS_FIRST, rows, new long[] {10_000, 500_000});
    assertThat(sampler.sampled()).isBetween(500_000 / 1300 / 3, 500_000 / 290);
    long[] found = ranksOf(sampler.ranks(), 0, schema, rows);
    Arrays.sort(found);
    for (int i = 0; i < found.length; i += 1000) {
      assertThat(found[i] / 65536.0).isCloseTo(i / 20_000.0, within(0.2));
    }
  }

  @Test
  void fieldsOfStructsAreRanked() {
    Schema schema =
        new Schema(
            NestedField.optional(
                1, "s", Types.StructType.of(NestedField.required(2, "f", Types.IntegerType.get()))),
            NestedField.optional(3, "b", Types.IntegerType.get()));
    List<Row> rows = new RandomRows(random).rows(schema, 300);
    long[] found =
        ranksOf(ranks(schema, List.of("s.f", "b"), NullOrder.NULLS_LAST, rows), 0, schema, rows);
    for (int i = 0; i < rows.size(); i++) {
      if (rows.get(i).values()[0] == null) {
        assertThat(found[i]).isEqualTo(Arrays.stream(found).max().orElseThrow());
      }
    }
  }

  @Test
  void columnsThatCannotBeAreRefusedByName() {
    Schema many = longs(17, true);
    assertThatThrownBy(() -> new RankSampler(many, names(17), NullOrder.NULLS_LAST, 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("17 columns")
        .hasMessageContaining("at most 16");
    Schema list =
        new Schema(
            NestedField.optional(1, "l", Types.ListType.ofOptional(2, Types.LongType.get())));
    assertThatThrownBy(() -> new RankSampler(list, List.of("l"), NullOrder.NULLS_LAST, 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("l (field 1) of type list");
    ColumnRanks ranks = ranks(many, names(2), NullOrder.NULLS_LAST, List.of());
    Schema other = new Schema(NestedField.optional(1, "c1", Types.IntegerType.get()));
    assertThatThrownBy(() -> SortKeys.hilbert(other, ranks))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("c1 (field 1): it was sampled as long and the schema has int");
  }

  private static Schema longs(int columns, boolean optional) {
    List<NestedField> fields = new ArrayList<>();
    for (int c = 1; c <= columns; c++) {
      fields.add(NestedField.of(c, optional, "c" + c, Types.LongType.get()));
    }
    return new Schema(fields);
  }

  private static List<String> names(int columns) {
    return IntStream.rangeClosed(1, columns).mapToObj(c -> "c" + c).toList();
  }

  private static List<Row> rows(int count, IntFunction<Row> row) {
    return IntStream.range(0, count).mapToObj(row).toList();
  }
}
