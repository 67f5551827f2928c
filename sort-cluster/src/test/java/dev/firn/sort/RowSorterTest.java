package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.sort.Orders.Key;
import dev.firn.sort.PhysicalRows.Row;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortDirection;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class RowSorterTest {
  private static final long PLENTY = 1L << 30;

  private final BufferAllocator allocator = UsedMemory.allocator();
  private final long seed = Long.getLong("firn.test.seed", new Random().nextLong());
  private final Random random = new Random(seed);

  @AfterEach
  void nothingLeaks() {
    allocator.close();
  }

  /** Every primitive type, row lineage, and nested types several levels deep. */
  static Schema everything() {
    List<Types.NestedField> fields = new ArrayList<>();
    int id = 1;
    for (Type type : Orders.TYPES) {
      fields.add(Types.NestedField.of(id, id % 4 != 0, "c" + id, type));
      id++;
    }
    Type deep =
        Types.StructType.of(
            Types.NestedField.optional(101, "s", Types.StringType.get()),
            Types.NestedField.optional(
                102, "l", Types.ListType.ofOptional(103, Types.DoubleType.get())),
            Types.NestedField.required(104, "b", Types.BooleanType.get()),
            Types.NestedField.optional(
                105,
                "m",
                Types.MapType.ofOptional(
                    106, 107, Types.StringType.get(), Types.DecimalType.of(30, 2))));
    fields.add(Types.NestedField.optional(100, "deep", deep));
    fields.add(
        Types.NestedField.optional(
            110,
            "lists",
            Types.ListType.ofOptional(
                111,
                Types.ListType.ofRequired(
                    112,
                    Types.StructType.of(
                        Types.NestedField.optional(113, "x", Types.IntegerType.get()),
                        Types.NestedField.optional(114, "y", Types.BinaryType.get()))))));
    fields.add(
        Types.NestedField.required(
            120,
            "map",
            Types.MapType.ofRequired(
                121,
                122,
                Types.LongType.get(),
                Types.ListType.ofOptional(123, Types.UUIDType.get()))));
    fields.add(MetadataColumns.ROW_ID);
    fields.add(MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER);
    return new Schema(fields);
  }

  @RepeatedTest(8)
  void o9o10RandomRowsComeBackBitForBitInStableOrder() throws IOException {
    Schema schema = everything();
    List<Key> keys = new ArrayList<>();
    for (int i = random.nextInt(4); i >= 0; i--) {
      String column =
          random.nextInt(5) == 0 ? "deep.s" : "c" + (1 + random.nextInt(Orders.TYPES.size()));
      keys.add(Key.random(schema, column, random));
    }
    List<Row> expected = new ArrayList<>();
    List<Row> sorted = new ArrayList<>();
    Sortedness sortedness = Sortedness.of(schema, Orders.order(schema, keys));
    try (RowSorter sorter =
        RowSorter.inMemory(schema, Orders.order(schema, keys), allocator, PLENTY)) {
      for (int batches = random.nextInt(6); batches >= 0; batches--) {
        int count = random.nextInt(random.nextInt(4) == 0 ? 3000 : 300);
        addRandom(sorter, schema, count, expected);
      }
      assertThat(sorter.rows()).isEqualTo(expected.size());
      sorter.drain(
          1 + random.nextInt(500),
          batch -> {
            sorted.addAll(PhysicalRows.rows(schema, batch));
            sortedness.add(batch);
          });
    }
    expected.sort(Orders.comparator(schema, keys));
    assertThat(sorted)
        .as("rerun with -Dfirn.test.seed=" + seed + ", order " + keys)
        .isEqualTo(expected);
    assertThat(sortedness.sorted()).isTrue();
    assertThat(sortedness.rows()).isEqualTo(expected.size());
  }

  private void addRandom(RowSorter sorter, Schema schema, int count, List<Row> expected)
      throws IOException {
    List<Row> rows = new RandomRows(random).rows(schema, count);
    add(sorter, schema, rows, expected, random.nextInt(3));
  }

  /**
   * @param liveness 0 keeps about half of the rows, 1 none, 2 and more all
   */
  private void add(
      RowSorter sorter, Schema schema, List<Row> rows, List<Row> expected, int liveness)
      throws IOException {
    long[] live = new long[(rows.size() + 63) / 64 + random.nextInt(2)];
    int liveRows = 0;
    for (int i = 0; i < rows.size(); i++) {
      if (liveness > 1 || (liveness == 0 && random.nextBoolean())) {
        live[i >> 6] |= 1L << i;
        liveRows++;
        expected.add(rows.get(i));
      }
    }
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      sorter.add(batch, live, liveRows);
    }
  }

  @RepeatedTest(4)
  void o9ManyEqualAndLongKeysSortStably() throws IOException {
    Schema schema =
        new Schema(
            Types.NestedField.optional(1, "s", Types.StringType.get()),
            Types.NestedField.required(2, "n", Types.LongType.get()));
    List<Key> keys =
        List.of(
            new Key(
                "s",
                Expressions.ref("s"),
                SortDirection.values()[random.nextInt(2)],
                NullOrder.values()[random.nextInt(2)]));
    String[] strings = new String[1 + random.nextInt(300)];
    for (int i = 0; i < strings.length; i++) {
      strings[i] =
          "https://example.com/".repeat(random.nextInt(3))
              + "x".repeat(random.nextInt(40))
              + random.nextInt(5);
    }
    List<Row> expected = new ArrayList<>();
    List<Row> sorted = new ArrayList<>();
    try (RowSorter sorter =
        RowSorter.inMemory(schema, Orders.order(schema, keys), allocator, PLENTY)) {
      for (int batch = 0; batch < 5; batch++) {
        List<Row> rows = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
          String s = random.nextInt(50) == 0 ? null : strings[random.nextInt(strings.length)];
          rows.add(new Row(new Object[] {s, (long) batch << 32 | i}));
        }
        add(sorter, schema, rows, expected, 2);
      }
      sorter.drain(8192, batch -> sorted.addAll(PhysicalRows.rows(schema, batch)));
    }
    expected.sort(Orders.comparator(schema, keys));
    assertThat(sorted.equals(expected)).as("rerun with -Dfirn.test.seed=" + seed).isTrue();
  }

  @Test
  void aBatchOfMoreRowsThanAChunkHasComesBackWhole() throws IOException {
    Schema schema =
        new Schema(
            Types.NestedField.optional(1, "n", Types.IntegerType.get()),
            Types.NestedField.required(2, "i", Types.LongType.get()));
    List<Key> keys = List.of(Key.random(schema, "n", random));
    List<Row> rows = new RandomRows(random).rows(schema, 150_000);
    List<Row> expected = new ArrayList<>();
    List<Row> sorted = new ArrayList<>();
    try (RowSorter sorter =
        RowSorter.inMemory(schema, Orders.order(schema, keys), allocator, PLENTY)) {
      add(sorter, schema, rows, expected, 2);
      add(sorter, schema, rows, expected, 0);
      sorter.drain(100_000, batch -> sorted.addAll(PhysicalRows.rows(schema, batch)));
    }
    expected.sort(Orders.comparator(schema, keys));
    assertThat(sorted.equals(expected))
        .as("rerun with -Dfirn.test.seed=" + seed + ", order " + keys)
        .isTrue();
  }

  @Test
  void keysThatPartOneByOneNeedNoDeepStack() throws IOException {
    Schema schema = new Schema(Types.NestedField.required(1, "s", Types.StringType.get()));
    SortOrder order = SortOrder.builderFor(schema).asc("s").build();
    List<Row> rows = new ArrayList<>();
    for (int length = 8000; length >= 0; length -= 2) {
      rows.add(new Row(new Object[] {"a".repeat(length)}));
    }
    List<Row> sorted = new ArrayList<>();
    try (RowSorter sorter = RowSorter.inMemory(schema, order, allocator, PLENTY)) {
      add(sorter, schema, rows, new ArrayList<>(), 2);
      sorter.drain(1000, batch -> sorted.addAll(PhysicalRows.rows(schema, batch)));
    }
    Collections.reverse(rows);
    assertThat(sorted.equals(rows)).isTrue();
  }

  @Test
  void unsortedOrderKeepsTheInputOrder() throws IOException {
    Schema schema = everything();
    List<Row> expected = new ArrayList<>();
    List<Row> drained = new ArrayList<>();
    try (RowSorter sorter = RowSorter.inMemory(schema, SortOrder.unsorted(), allocator, PLENTY)) {
      addRandom(sorter, schema, 1000, expected);
      addRandom(sorter, schema, 1000, expected);
      sorter.drain(100, batch -> drained.addAll(PhysicalRows.rows(schema, batch)));
    }
    assertThat(drained).as("rerun with -Dfirn.test.seed=" + seed).isEqualTo(expected);
  }

  @Test
  void noRowsGiveNoBatch() throws IOException {
    Schema schema = everything();
    try (RowSorter sorter = RowSorter.inMemory(schema, SortOrder.unsorted(), allocator, PLENTY)) {
      add(sorter, schema, List.of(), new ArrayList<>(), 2);
      add(sorter, schema, new RandomRows(random).rows(schema, 70), new ArrayList<>(), 1);
      sorter.drain(100, batch -> assertThat(batch.getRowCount()).isNull());
    }
  }

  @Test
  void largeRowsComeInBatchesOfFewRows() throws IOException {
    Schema schema = new Schema(Types.NestedField.required(1, "s", Types.StringType.get()));
    SortOrder order = SortOrder.builderFor(schema).desc("s").build();
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < 64; i++) {
      rows.add(new Row(new Object[] {"x".repeat(100_000) + (char) ('0' + i)}));
    }
    List<Integer> sizes = new ArrayList<>();
    List<Row> sorted = new ArrayList<>();
    // A batch may take a 32nd of the memory: ten of these rows.
    try (RowSorter sorter = RowSorter.inMemory(schema, order, allocator, 32_000_000)) {
      add(sorter, schema, rows, new ArrayList<>(), 2);
      sorter.drain(
          1000,
          batch -> {
            sizes.add(batch.getRowCount());
            sorted.addAll(PhysicalRows.rows(schema, batch));
          });
    }
    assertThat(sizes).hasSizeBetween(6, 8).allMatch(size -> size < 11);
    Collections.reverse(rows);
    assertThat(sorted).isEqualTo(rows);
  }

  @Test
  void memoryIsReleasedWhileDraining() throws IOException {
    Schema schema = new Schema(Types.NestedField.required(1, "n", Types.LongType.get()));
    SortOrder order = SortOrder.builderFor(schema).asc("n").build();
    try (RowSorter sorter = RowSorter.inMemory(schema, order, allocator, PLENTY)) {
      for (int batch = 0; batch < 10; batch++) {
        List<Row> rows = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
          rows.add(new Row(new Object[] {batch * 20_000L + i}));
        }
        add(sorter, schema, rows, new ArrayList<>(), 2);
      }
      List<Long> held = new ArrayList<>();
      held.add(sorter.bytesHeld());
      sorter.drain(20_000, batch -> held.add(sorter.bytesHeld()));
      assertThat(held).hasSize(11).isSortedAccordingTo((a, b) -> Long.compare(b, a));
      assertThat(held.get(10)).isLessThan(held.get(0) / 2);
    }
  }

  @Test
  void rowsBeyondTheLimitAreRefusedWithWhatAllWouldNeed() {
    Schema schema =
        new Schema(
            Types.NestedField.required(1, "n", Types.LongType.get()),
            Types.NestedField.required(2, "s", Types.StringType.get()));
    SortOrder order = SortOrder.builderFor(schema).asc("n").build();
    try (RowSorter sorter = RowSorter.inMemory(schema, order, allocator, 4 << 20)) {
      sorter.expectRows(1_000_000);
      List<Row> rows = new ArrayList<>();
      for (int i = 0; i < 10_000; i++) {
        rows.add(new Row(new Object[] {random.nextLong(), "0123456789"}));
      }
      assertThatThrownBy(
              () -> {
                for (int i = 0; i < 100; i++) {
                  add(sorter, schema, rows, new ArrayList<>(), 2);
                }
              })
          .isInstanceOfSatisfying(
              SortMemoryException.class,
              e -> {
                assertThat(e.bytesMax()).isEqualTo(4 << 20);
                // 8 + 10 + 4 payload, 8 key, 28 index a row, and what rounding adds.
                assertThat(e.bytesNeeded()).isBetween(50_000_000L, 130_000_000L);
              });
      assertThat(sorter.bytesHeld()).isLessThanOrEqualTo(4 << 20);
    }
  }

  @Test
  void anExhaustedParentIsAMemoryFailureToo() {
    Schema schema = everything();
    SortOrder order = SortOrder.builderFor(schema).asc("c12").desc("c3").build();
    List<Row> rows = new RandomRows(random).rows(schema, 2000);
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      long[] live = new long[32];
      Arrays.fill(live, -1L);
      live[31] >>>= 64 * 32 - 2000;
      // Every amount of memory up to what suffices fails somewhere else, and never leaks.
      int failures = 0;
      for (long limit = 1 << 12; limit < 1 << 26; limit = limit * 9 / 8) {
        try (BufferAllocator parent = allocator.newChildAllocator("parent", 0, limit);
            RowSorter sorter = RowSorter.inMemory(schema, order, parent, PLENTY)) {
          sorter.add(batch, live, 2000);
          sorter.add(batch, live, 2000);
          sorter.drain(300, drained -> {});
        } catch (SortMemoryException e) {
          failures++;
        } catch (IOException e) {
          throw new AssertionError(e);
        }
      }
      assertThat(failures).isBetween(10, 80);
    }
  }

  @Test
  void aFailingSinkLeavesNothingBehind() throws IOException {
    Schema schema = everything();
    try (RowSorter sorter = RowSorter.inMemory(schema, SortOrder.unsorted(), allocator, PLENTY)) {
      add(sorter, schema, new RandomRows(random).rows(schema, 500), new ArrayList<>(), 2);
      assertThatThrownBy(
              () ->
                  sorter.drain(
                      100,
                      batch -> {
                        throw new IOException("full");
                      }))
          .hasMessage("full");
      assertThatThrownBy(() -> sorter.drain(100, batch -> {}))
          .isInstanceOf(IllegalStateException.class);
      sorter.close();
    }
  }

  @Test
  void aBatchOfAnotherShapeIsRefused() {
    Schema schema = new Schema(Types.NestedField.required(1, "n", Types.LongType.get()));
    List<Row> rows = new RandomRows(random).rows(schema, 10);
    try (RowSorter wide =
            RowSorter.inMemory(everything(), SortOrder.unsorted(), allocator, PLENTY);
        RowSorter sorter = RowSorter.inMemory(schema, SortOrder.unsorted(), allocator, PLENTY);
        VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      assertThatThrownBy(() -> wide.add(batch, new long[] {1}, 1))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> sorter.add(batch, new long[] {3}, 1))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> sorter.add(batch, new long[] {1L << 10}, 1))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> sorter.add(batch, new long[0], 0))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }
}
