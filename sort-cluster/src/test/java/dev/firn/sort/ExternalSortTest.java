package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.sort.Orders.Key;
import dev.firn.sort.PhysicalRows.Row;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExternalSortTest {
  private static final Schema SMALL =
      new Schema(
          Types.NestedField.optional(1, "k", Types.LongType.get()),
          Types.NestedField.required(2, "i", Types.LongType.get()),
          Types.NestedField.optional(3, "s", Types.StringType.get()));

  private final BufferAllocator allocator = UsedMemory.allocator();
  private final long seed = Long.getLong("firn.test.seed", new Random().nextLong());
  private final Random random = new Random(seed);

  @TempDir private Path scratch;

  @AfterEach
  void nothingIsLeft() throws IOException {
    allocator.close();
    try (Stream<Path> files = Files.list(scratch)) {
      assertThat(files).isEmpty();
    }
  }

  private String rerun() {
    return "rerun with -Dfirn.test.seed=" + seed;
  }

  // ---- any rows, any order, any memory

  /** A few columns of any types, nested up to three levels, with row lineage or without. */
  private Schema anySchema() {
    int[] ids = {0};
    List<Types.NestedField> fields = new ArrayList<>();
    for (int i = random.nextInt(6); i >= 0; i--) {
      int id = ++ids[0];
      fields.add(
          Types.NestedField.of(
              id, random.nextBoolean(), "c" + id, anyType(ids, random.nextInt(3))));
    }
    int id = ++ids[0];
    Type key = Orders.TYPES.get(random.nextInt(Orders.TYPES.size()));
    fields.add(Types.NestedField.of(id, random.nextBoolean(), "key", key));
    if (random.nextBoolean()) {
      fields.add(MetadataColumns.ROW_ID);
      fields.add(MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER);
    }
    return new Schema(fields);
  }

  private Type anyType(int[] ids, int depth) {
    if (depth == 0) {
      return Orders.TYPES.get(random.nextInt(Orders.TYPES.size()));
    }
    switch (random.nextInt(4)) {
      case 0:
        List<Types.NestedField> fields = new ArrayList<>();
        for (int i = random.nextInt(3); i >= 0; i--) {
          int id = ++ids[0];
          fields.add(
              Types.NestedField.of(id, random.nextBoolean(), "f" + id, anyType(ids, depth - 1)));
        }
        return Types.StructType.of(fields);
      case 1:
        int element = ++ids[0];
        Type type = anyType(ids, depth - 1);
        return random.nextBoolean()
            ? Types.ListType.ofOptional(element, type)
            : Types.ListType.ofRequired(element, type);
      case 2:
        int keyId = ++ids[0];
        int valueId = ++ids[0];
        Type value = anyType(ids, depth - 1);
        return random.nextBoolean()
            ? Types.MapType.ofOptional(keyId, valueId, Types.StringType.get(), value)
            : Types.MapType.ofRequired(keyId, valueId, Types.LongType.get(), value);
      default:
        return Orders.TYPES.get(random.nextInt(Orders.TYPES.size()));
    }
  }

  @RepeatedTest(40)
  void o9o10RandomRowsComeBackBitForBitInStableOrder() throws IOException {
    randomRows(null);
  }

  @RepeatedTest(20)
  void o9o10RandomRowsThatAreSpilledOnAnotherThreadDoToo() throws IOException {
    ExecutorService spillers = Executors.newFixedThreadPool(1 + random.nextInt(3));
    try {
      randomRows(spillers);
    } finally {
      spillers.shutdown();
    }
  }

  private void randomRows(@Nullable Executor spillers) throws IOException {
    Schema schema = random.nextInt(8) == 0 ? RowSorterTest.everything() : anySchema();
    List<String> candidates = new ArrayList<>();
    schema.columns().stream()
        .filter(field -> field.type().isPrimitiveType())
        .forEach(field -> candidates.add(field.name()));
    List<Key> keys = new ArrayList<>();
    for (int i = random.nextInt(3); i > 0; i--) {
      keys.add(Key.random(schema, candidates.get(random.nextInt(candidates.size())), random));
    }
    SortOrder order = Orders.order(schema, keys);
    List<Row> rows = new RandomRows(random).rows(schema, random.nextInt(6000));
    if (random.nextInt(4) == 0) {
      rows.sort(Orders.comparator(schema, keys));
    }
    long least = RowSorter.spillingBytesMin(schema, 0);
    long memory = least + (long) (least * 10 * random.nextDouble() * random.nextDouble());
    int fanInMax = random.nextBoolean() ? 2 + random.nextInt(6) : Spill.FAN_IN_MAX_DEFAULT;
    List<Row> expected = new ArrayList<>();
    List<Row> sorted = new ArrayList<>();
    RowSorter.Stats stats;
    SortKeys sortKeys = SortKeys.of(schema, order);
    try (RowSorter sorter =
            RowSorter.spilling(
                schema,
                sortKeys,
                allocator,
                memory,
                new Spill(scratch, fanInMax),
                SortedRun.Opener.DISK,
                RowBuffer.CHUNKS_MAX,
                spillers);
        RowSorter inMemory = RowSorter.inMemory(schema, order, allocator, 1L << 30)) {
      for (int from = 0; from < rows.size(); ) {
        int to = Math.min(rows.size(), from + 1 + random.nextInt(1500));
        add(List.of(sorter, inMemory), schema, rows.subList(from, to), expected, random.nextInt(4));
        from = to;
      }
      assertThat(sorter.rows()).isEqualTo(expected.size());
      sorter.drain(
          1 + random.nextInt(500), batch -> sorted.addAll(PhysicalRows.rows(schema, batch)));
      stats = sorter.stats();
      List<Row> sortedInMemory = new ArrayList<>();
      inMemory.drain(500, batch -> sortedInMemory.addAll(PhysicalRows.rows(schema, batch)));
      assertThat(sorted.equals(sortedInMemory)).as(rerun()).isTrue();
    }
    expected.sort(Orders.comparator(schema, keys));
    String what = rerun() + ", order " + keys + ", " + stats + ", of " + memory;
    assertThat(sorted.equals(expected)).as(what).isTrue();
    assertThat(stats.memoryBytesPeak()).as(what).isLessThanOrEqualTo(memory);
    assertThat(stats.mergeRounds() > 0).as(what).isEqualTo(stats.runs() > 0);
  }

  /**
   * @param liveness 0 keeps about half of the rows, more all
   */
  private void add(
      List<RowSorter> sorters, Schema schema, List<Row> rows, List<Row> expected, int liveness)
      throws IOException {
    long[] live = new long[(rows.size() + 63) / 64];
    int liveRows = 0;
    for (int i = 0; i < rows.size(); i++) {
      if (liveness > 0 || random.nextBoolean()) {
        live[i >> 6] |= 1L << i;
        liveRows++;
        expected.add(rows.get(i));
      }
    }
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      for (RowSorter sorter : sorters) {
        sorter.add(batch, live, liveRows);
      }
    }
  }

  // ---- shapes of input

  /** Sorts rows by k ascending, checks them against a stable sort, and returns the stats. */
  private RowSorter.Stats sort(List<Row> rows, long memory, int fanInMax) throws IOException {
    SortOrder order = SortOrder.builderFor(SMALL).asc("k").build();
    List<Row> sorted = new ArrayList<>();
    RowSorter.Stats stats;
    try (RowSorter sorter =
        RowSorter.spilling(
            SMALL, SortKeys.of(SMALL, order), allocator, memory, new Spill(scratch, fanInMax))) {
      addAll(sorter, rows);
      sorter.drain(1000, batch -> sorted.addAll(PhysicalRows.rows(SMALL, batch)));
      stats = sorter.stats();
    }
    List<Row> expected = new ArrayList<>(rows);
    expected.sort(
        Comparator.comparing(
            row -> (Long) row.values()[0], Comparator.nullsFirst(Comparator.naturalOrder())));
    assertThat(sorted.equals(expected)).as(rerun() + ", " + stats).isTrue();
    assertThat(stats.memoryBytesPeak()).isLessThanOrEqualTo(memory);
    return stats;
  }

  private void addAll(RowSorter sorter, List<Row> rows) throws IOException {
    for (int from = 0; from < rows.size(); from += 2000) {
      List<Row> part = rows.subList(from, Math.min(rows.size(), from + 2000));
      add(List.of(sorter), SMALL, part, new ArrayList<>(), 1);
    }
  }

  private static Row row(Long key, long number) {
    return new Row(new Object[] {key, number, "row " + number % 100});
  }

  private List<Row> shuffled(int count) {
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      rows.add(row(random.nextInt(50) == 0 ? null : (long) random.nextInt(count), i));
    }
    return rows;
  }

  @Test
  void o9ManyRunsAreMergedInRoundsAndEqualRowsKeepTheirOrder() throws IOException {
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < 100_000; i++) {
      rows.add(row((long) random.nextInt(300), i));
    }
    RowSorter.Stats stats = sort(rows, 200_000, 6);
    assertThat(stats.runs()).isBetween(40L, 400L);
    assertThat(stats.mergeRounds()).isBetween(2, 5);
    stats = sort(rows, 4 << 20, 256);
    assertThat(stats.runs()).isBetween(2L, 10L);
    assertThat(stats.mergeRounds()).isEqualTo(1);
    assertThat(stats.bytesWritten()).isPositive();
    assertThat(stats.scratchBytesPeak()).isEqualTo(stats.bytesWritten());
  }

  /** Their key has ones alone, as the place of a run has that is at its end. */
  @Test
  void rowsWithTheLargestKeyComeLastAndKeepTheirOrder() throws IOException {
    Schema schema =
        new Schema(
            Types.NestedField.required(1, "k", Types.LongType.get()),
            Types.NestedField.required(2, "i", Types.LongType.get()));
    SortOrder order = SortOrder.builderFor(schema).asc("k").build();
    List<Row> rows = new ArrayList<>();
    for (long i = 0; i < 30_000; i++) {
      rows.add(new Row(new Object[] {Long.MAX_VALUE - Math.max(0, random.nextInt(6) - 3), i}));
    }
    List<Row> sorted = new ArrayList<>();
    try (RowSorter sorter =
        RowSorter.spilling(
            schema, SortKeys.of(schema, order), allocator, 300_000, new Spill(scratch, 5))) {
      for (int from = 0; from < rows.size(); from += 1000) {
        add(List.of(sorter), schema, rows.subList(from, from + 1000), new ArrayList<>(), 1);
      }
      sorter.drain(1000, batch -> sorted.addAll(PhysicalRows.rows(schema, batch)));
      assertThat(sorter.stats().runs()).isGreaterThan(3);
    }
    rows.sort(Comparator.comparing(row -> (Long) row.values()[0]));
    assertThat(sorted.equals(rows)).as(rerun()).isTrue();
  }

  @Test
  void whatFitsIsNotSpilled() throws IOException {
    RowSorter.Stats stats = sort(shuffled(5000), 8 << 20, 256);
    assertThat(stats.runs()).isZero();
    assertThat(stats.bytesWritten()).isZero();
    assertThat(stats.mergeRounds()).isZero();
    assertThat(sort(List.of(), 1 << 20, 2).runs()).isZero();
    assertThat(sort(List.of(row(3L, 1)), 1 << 20, 2).runs()).isZero();
  }

  @Test
  void o9EqualRowsMakeOneRun() throws IOException {
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < 20_000; i++) {
      rows.add(row(7L, i));
    }
    RowSorter.Stats stats = sort(rows, 300_000, 256);
    assertThat(stats.runs()).isEqualTo(1);
    assertThat(stats.rowsInOrder()).isEqualTo(20_000);
  }

  @Test
  void rowsInOrderMakeOneRun() throws IOException {
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < 30_000; i++) {
      rows.add(row(i / 3L, i));
    }
    RowSorter.Stats stats = sort(rows, 300_000, 2);
    assertThat(stats.runs()).isEqualTo(1);
    assertThat(stats.mergeRounds()).isEqualTo(1);
    assertThat(stats.rowsInOrder()).isEqualTo(30_000);
  }

  @Test
  void sortedFilesMakeARunEach() throws IOException {
    List<Row> rows = sortedFiles(4, 10_000, 0);
    RowSorter.Stats stats = sort(rows, 400_000, 256);
    assertThat(stats.runs()).as(rerun()).isBetween(3L, 4L);
    assertThat(stats.rowsInOrder()).as(rerun()).isEqualTo(40_000);
    stats = sort(rows, 1 << 28, 256);
    assertThat(stats.runs()).isZero();
    assertThat(stats.rowsInOrder()).isEqualTo(40_000);
  }

  @Test
  void sortedFilesAreMergedWhereFewOverlap() throws IOException {
    // Each overlaps the one before; the last comes first.
    List<Row> rows = sortedFiles(20, 1000, 600_000);
    assertThat(sort(rows, 1 << 28, 256).rowsInOrder()).isEqualTo(20_000);
    // All overlap: they are sorted.
    rows = sortedFiles(20, 1000, 0);
    assertThat(sort(rows, 1 << 28, 256).rowsInOrder()).isZero();
  }

  /** Files of a range of a million keys each, which begins {@code apart} after that of the next. */
  private List<Row> sortedFiles(int files, int rowsEach, long apart) {
    List<List<Long>> keys = new ArrayList<>();
    for (int file = 0; file < files; file++) {
      List<Long> inOrder = new ArrayList<>();
      for (int i = 0; i < rowsEach; i++) {
        inOrder.add(file * apart + random.nextInt(1_000_000));
      }
      Collections.sort(inOrder);
      keys.add(inOrder);
    }
    Collections.reverse(keys);
    List<Row> rows = new ArrayList<>();
    keys.forEach(file -> file.forEach(key -> rows.add(row(key, rows.size()))));
    return rows;
  }

  @Test
  void reversedRowsMakeManyRuns() throws IOException {
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < 30_000; i++) {
      rows.add(row(-i / 2L, i));
    }
    RowSorter.Stats stats = sort(rows, 400_000, 4);
    assertThat(stats.runs()).isGreaterThan(4);
    assertThat(stats.rowsInOrder()).isZero();
  }

  @Test
  void interleavedAndNearlySortedRows() throws IOException {
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < 40_000; i++) {
      rows.add(row((long) i % 4 * 10_000 + i / 4, i));
    }
    sort(rows, 500_000, 256);
    rows.clear();
    for (int i = 0; i < 40_000; i++) {
      rows.add(row(random.nextInt(2000) == 0 ? random.nextInt(40_000) : (long) i, i));
    }
    sort(rows, 500_000, 256);
  }

  @Test
  void rowsLargerThanABlockAndThanABatch() throws IOException {
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      int length = random.nextInt(10) == 0 ? 100_000 : random.nextInt(20_000);
      char[] chars = new char[length];
      for (int at = 0; at < length; at++) {
        chars[at] = (char) ('!' + random.nextInt(random.nextBoolean() ? 90 : 2));
      }
      rows.add(new Row(new Object[] {(long) random.nextInt(50), (long) i, new String(chars)}));
    }
    RowSorter.Stats stats = sort(rows, RowSorter.spillingBytesMin(SMALL, 100_100), 256);
    assertThat(stats.runs()).as(rerun()).isGreaterThan(1);
    sort(rows, 4 << 20, 256);
  }

  @Test
  void aRowThatDoesNotFitIsRefusedWithWhatItNeeds() throws IOException {
    List<Row> rows =
        new ArrayList<>(List.of(new Row(new Object[] {1L, 2L, "x".repeat(1_000_000)})));
    long least = RowSorter.spillingBytesMin(SMALL, 0);
    assertThatThrownBy(() -> sort(rows, least, 256))
        .isInstanceOfSatisfying(
            SortMemoryException.class,
            e -> {
              assertThat(e.bytesNeeded()).isBetween(4_000_000L, 20_000_000L);
              assertThat(e).hasMessageContaining("even by spilling");
            });
    sort(rows, RowSorter.spillingBytesMin(SMALL, 1_000_030), 256);
    assertThatThrownBy(() -> sort(rows, least - 1, 256))
        .isInstanceOfSatisfying(
            SortMemoryException.class, e -> assertThat(e.bytesNeeded()).isEqualTo(least));
  }

  @Test
  void batchesOfOtherTypesAreRefused() throws IOException {
    Schema other =
        new Schema(
            Types.NestedField.optional(1, "k", Types.IntegerType.get()),
            Types.NestedField.required(2, "i", Types.LongType.get()),
            Types.NestedField.optional(3, "s", Types.StringType.get()));
    SortKeys keys = SortKeys.of(SMALL, SortOrder.unsorted());
    try (RowSorter sorter = RowSorter.spilling(SMALL, keys, allocator, 1 << 20, Spill.to(scratch));
        VectorSchemaRoot batch =
            new PhysicalRows(random)
                .batch(other, new RandomRows(random).rows(other, 3), allocator)) {
      addAll(sorter, shuffled(3));
      assertThatThrownBy(() -> sorter.add(batch, new long[] {7}, 3))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }
}
