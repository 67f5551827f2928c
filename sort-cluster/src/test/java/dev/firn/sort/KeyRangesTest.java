package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.firn.sort.Orders.Key;
import dev.firn.sort.PhysicalRows.Row;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class KeyRangesTest {
  private static final Schema LONGS =
      new Schema(NestedField.required(1, "c", Types.LongType.get()));
  private static final SortKeys LONG_KEYS =
      SortKeys.of(LONGS, SortOrder.builderFor(LONGS).asc("c").build());

  private final BufferAllocator allocator = new RootAllocator();
  private final long seed = Long.getLong("firn.test.seed", new Random().nextLong());
  private final Random random = new Random(seed);

  @AfterEach
  void nothingLeaks() {
    allocator.close();
  }

  @RepeatedTest(30)
  void eachRowFallsIntoOneRangeEqualKeysIntoTheSameAndRangesFollowOneAnother() {
    List<NestedField> fields = new ArrayList<>();
    List<Key> order = new ArrayList<>();
    for (int c = 1; c <= 1 + random.nextInt(3); c++) {
      Type type = Orders.TYPES.get(random.nextInt(Orders.TYPES.size()));
      fields.add(NestedField.optional(c, "c" + c, type));
    }
    Schema schema = new Schema(fields);
    fields.forEach(field -> order.add(Key.random(schema, field.name(), random)));
    Comparator<Row> comparator = Orders.comparator(schema, order);
    SortKeys keys = SortKeys.of(schema, Orders.order(schema, order));
    List<Row> rows = new RandomRows(random).rows(schema, 1 + random.nextInt(300));
    int wanted = 1 + random.nextInt(8);
    long[] live = new long[(rows.size() + 63) / 64];
    IntStream.range(0, rows.size())
        .filter(row -> random.nextInt(5) > 0)
        .forEach(row -> live[row >>> 6] |= 1L << row);
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      KeySampler sampler = new KeySampler(keys, allocator, seed, 50, 1 << 20);
      sampler.add(batch, live, LiveRows.count(batch, live));
      KeyRanges ranges = sampler.ranges(wanted);
      assertThat(ranges.count()).isBetween(1, wanted);
      int[] rangeOf = new int[rows.size()];
      Arrays.fill(rangeOf, -1);
      long[] selected = new long[live.length];
      Arrays.fill(selected, -1);
      int total = 0;
      for (int range = 0; range < ranges.count(); range++) {
        int liveRows = LiveRows.count(batch, live);
        int count = ranges.select(keys, batch, live, liveRows, range, selected, allocator);
        total += count;
        int[] inRange = LiveRows.of(batch, selected, count);
        for (int row : inRange) {
          assertThat(rangeOf[row]).as("rerun with -Dfirn.test.seed=%s", seed).isEqualTo(-1);
          rangeOf[row] = range;
        }
      }
      assertThat(total).isEqualTo(LiveRows.count(batch, live));
      int[] liveRows = LiveRows.of(batch, live, total);
      for (int l : liveRows) {
        for (int r : liveRows) {
          if (rangeOf[l] < rangeOf[r] && comparator.compare(rows.get(l), rows.get(r)) >= 0) {
            assertThat(comparator.compare(rows.get(l), rows.get(r)))
                .as("rerun with -Dfirn.test.seed=%s: %s", seed, order)
                .isNegative();
          }
        }
      }
    }
  }

  private KeyRanges ranges(long[] values, int count) {
    KeySampler sampler = new KeySampler(LONG_KEYS, allocator, seed);
    for (int from = 0; from < values.length; from += 10_000) {
      long[] some = Arrays.copyOfRange(values, from, Math.min(values.length, from + 10_000));
      try (VectorSchemaRoot batch = batch(some)) {
        sampler.add(batch, all(some.length), some.length);
      }
    }
    assertThat(sampler.rows()).isEqualTo(values.length);
    return sampler.ranges(count);
  }

  private int[] sizes(KeyRanges ranges, long[] values) {
    int[] found = new int[values.length];
    int[] sizes = new int[ranges.count()];
    try (VectorSchemaRoot batch = batch(values)) {
      ranges.rangesOf(
          LONG_KEYS,
          batch,
          IntStream.range(0, values.length).toArray(),
          values.length,
          found,
          allocator);
    }
    Arrays.stream(found).forEach(range -> sizes[range]++);
    return sizes;
  }

  @Test
  void rangesHaveAboutAsManyRowsEach() {
    long[] values = random.longs(200_000).map(value -> value >>> random.nextInt(60)).toArray();
    for (int wanted : new int[] {2, 7, 40}) {
      KeyRanges ranges = ranges(values, wanted);
      assertThat(ranges.count()).isEqualTo(wanted);
      int[] sizes = sizes(ranges, values);
      for (int range = 0; range < wanted; range++) {
        double share = (double) sizes[range] / values.length;
        assertThat(share)
            .as("rerun with -Dfirn.test.seed=%s: %s of %s", seed, range, wanted)
            .isCloseTo(1.0 / wanted, within(0.3 / wanted));
        assertThat(ranges.share(range)).isCloseTo(share, within(0.3 / wanted));
      }
    }
  }

  @Test
  void aFrequentKeyHasARangeToItselfAndSpoilsNoOther() {
    long[] values =
        IntStream.range(0, 60_000)
            .mapToLong(i -> i % 10 < 6 ? 5_000_000 : random.nextInt(10_000_000))
            .toArray();
    KeyRanges ranges = ranges(values, 10);
    int[] sizes = sizes(ranges, values);
    Arrays.sort(sizes);
    int greatest = sizes[sizes.length - 1];
    assertThat(greatest / 60_000.0).isBetween(0.59, 0.65);
    for (int i = 0; i < sizes.length - 1; i++) {
      assertThat(sizes[i] / 60_000.0)
          .as("rerun with -Dfirn.test.seed=%s", seed)
          .isCloseTo(0.1, within(0.05));
    }
  }

  @Test
  void equalKeysAndNoKeysMakeOneRange() {
    assertThat(ranges(new long[1000], 8).count()).isEqualTo(1);
    assertThat(ranges(new long[1000], 8).share(0)).isEqualTo(1);
    assertThat(ranges(new long[0], 8).count()).isEqualTo(1);
    assertThat(sizes(ranges(new long[0], 8), new long[] {1, 2})).containsExactly(2);
    SortKeys none = SortKeys.of(LONGS, SortOrder.unsorted());
    KeySampler sampler = new KeySampler(none, allocator, seed);
    try (VectorSchemaRoot batch = batch(new long[] {3, 4})) {
      sampler.add(batch, all(2), 2);
      assertThat(sampler.ranges(3).count()).isEqualTo(1);
    }
  }

  @Test
  void longKeysLowerTheSampleAndAreCutByTheirBeginnings() {
    Schema schema = new Schema(NestedField.required(1, "c", Types.StringType.get()));
    SortKeys keys = SortKeys.of(schema, SortOrder.builderFor(schema).asc("c").build());
    List<Row> rows =
        IntStream.range(0, 3000)
            .mapToObj(i -> new Row(new Object[] {random.nextInt(1 << 30) + "x".repeat(3000)}))
            .toList();
    KeySampler sampler = new KeySampler(keys, allocator, seed, 2000, 200_000);
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      sampler.add(batch, all(3000), 3000);
      assertThat(sampler.sampled()).isBetween(60, 190);
      KeyRanges ranges = sampler.ranges(4);
      assertThat(ranges.count()).isEqualTo(4);
      for (int range = 0; range < 4; range++) {
        assertThat(ranges.select(keys, batch, all(3000), 3000, range, new long[47], allocator))
            .isBetween(150, 1500);
      }
    }
  }

  @Test
  void curvesAreCutToo() {
    RankSampler sampler = new RankSampler(LONGS, List.of("c"), NullOrder.NULLS_FIRST, seed);
    assertThat(SortKeys.hilbert(LONGS, sampler.ranks()).fixedBytes()).isEqualTo(8);
    Schema schema =
        new Schema(
            NestedField.required(1, "a", Types.LongType.get()),
            NestedField.required(2, "b", Types.LongType.get()));
    SortKeys keys = SortKeys.zOrder(schema, List.of("a", "b"), 8, Integer.MAX_VALUE);
    List<Row> rows = new RandomRows(random).rows(schema, 2000);
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      KeySampler curve = new KeySampler(keys, allocator, seed);
      curve.add(batch, all(2000), 2000);
      KeyRanges ranges = curve.ranges(5);
      int total = 0;
      long[] into = new long[32];
      for (int range = 0; range < ranges.count(); range++) {
        total += ranges.select(keys, batch, all(2000), 2000, range, into, allocator);
      }
      assertThat(total).isEqualTo(2000);
    }
  }

  @Test
  void whatCannotBeIsRefused() {
    KeyRanges ranges = ranges(new long[] {1, 2, 3}, 2);
    assertThatThrownBy(() -> ranges(new long[1], 0)).hasMessageContaining("but was 0");
    try (VectorSchemaRoot batch = batch(new long[100])) {
      assertThatThrownBy(
              () -> ranges.select(LONG_KEYS, batch, new long[2], 0, 2, new long[2], allocator))
          .hasMessageContaining("Range 2 does not exist");
      assertThatThrownBy(
              () -> ranges.select(LONG_KEYS, batch, new long[2], 0, 1, new long[1], allocator))
          .hasMessageContaining("into has 1 words");
      assertThatThrownBy(
              () -> ranges.select(LONG_KEYS, batch, new long[1], 0, 1, new long[2], allocator))
          .hasMessageContaining("live has 1 words for 100 rows");
      assertThatThrownBy(
              () -> ranges.select(LONG_KEYS, batch, all(100), 99, 1, new long[2], allocator))
          .hasMessageContaining("live has 100 rows and should have 99");
    }
  }

  private VectorSchemaRoot batch(long[] values) {
    List<Row> rows = Arrays.stream(values).mapToObj(v -> new Row(new Object[] {v})).toList();
    return new PhysicalRows(random).batch(LONGS, rows, allocator);
  }

  private static long[] all(int rows) {
    long[] live = new long[(rows + 63) / 64];
    IntStream.range(0, rows).forEach(row -> live[row >>> 6] |= 1L << row);
    return live;
  }
}
