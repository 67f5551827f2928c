package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Two million rows of two longs and a string: sorted, complete, and the time they take logged. */
class RowSorterScaleTest {
  private static final Logger LOG = LoggerFactory.getLogger(RowSorterScaleTest.class);
  private static final int BATCH_ROWS = 1 << 16;
  private static final int BATCHES = 31;
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.optional(1, "id", Types.LongType.get()),
          Types.NestedField.optional(2, "day", Types.LongType.get()),
          Types.NestedField.optional(3, "name", Types.StringType.get()));

  @ParameterizedTest
  @ValueSource(strings = {"id", "day,id", "name", "day,name"})
  void twoMillionRows(String columns) throws Exception {
    SortOrder.Builder builder = SortOrder.builderFor(SCHEMA);
    for (String column : columns.split(",")) {
      builder.asc(column);
    }
    SortOrder order = builder.build();
    Sortedness sortedness = Sortedness.of(SCHEMA, order);
    long[] sums = new long[2];
    try (BufferAllocator allocator = new RootAllocator();
        RowSorter sorter = RowSorter.inMemory(SCHEMA, order, allocator, 1L << 30)) {
      SplittableRandom random = new SplittableRandom(42);
      long nanosAdding = 0;
      for (int i = 0; i < BATCHES; i++) {
        try (VectorSchemaRoot batch = batch(random, allocator)) {
          sums[0] += sum(batch);
          long[] live = new long[BATCH_ROWS / 64];
          Arrays.fill(live, -1L);
          long start = System.nanoTime();
          sorter.add(batch, live, BATCH_ROWS);
          nanosAdding += System.nanoTime() - start;
        }
      }
      long held = sorter.bytesHeld();
      long[] nanosChecking = {0};
      long start = System.nanoTime();
      sorter.drain(
          BATCH_ROWS,
          batch -> {
            long from = System.nanoTime();
            sums[1] += sum(batch);
            sortedness.add(batch);
            nanosChecking[0] += System.nanoTime() - from;
          });
      long nanosDraining = System.nanoTime() - start - nanosChecking[0];
      LOG.info(
          "{}: add {} ms, drain {} ms, {} bytes a row",
          columns,
          nanosAdding / 1_000_000,
          nanosDraining / 1_000_000,
          held / (BATCHES * BATCH_ROWS));
    }
    assertThat(sortedness.rows()).isEqualTo((long) BATCHES * BATCH_ROWS);
    assertThat(sortedness.descents()).isZero();
    assertThat(sums[1]).isEqualTo(sums[0]);
  }

  private static long sum(VectorSchemaRoot batch) {
    long sum = 0;
    for (int row = 0; row < batch.getRowCount(); row++) {
      long id = batch.getVector(0).getDataBuffer().getLong(8L * row);
      long day = batch.getVector(1).getDataBuffer().getLong(8L * row);
      int end = batch.getVector(2).getOffsetBuffer().getInt(4L * row + 4);
      byte last = batch.getVector(2).getDataBuffer().getByte(end - 1);
      sum += id * 31 + day * 17 + id * last;
    }
    return sum;
  }

  private static VectorSchemaRoot batch(SplittableRandom random, BufferAllocator allocator) {
    List<FieldVector> vectors = new ArrayList<>();
    SCHEMA.columns().forEach(f -> vectors.add(PhysicalRows.field(f).createVector(allocator)));
    BigIntVector ids = (BigIntVector) vectors.get(0);
    BigIntVector days = (BigIntVector) vectors.get(1);
    VarBinaryVector names = (VarBinaryVector) vectors.get(2);
    ids.allocateNew(BATCH_ROWS);
    days.allocateNew(BATCH_ROWS);
    names.allocateNew(BATCH_ROWS * 24L, BATCH_ROWS);
    for (int row = 0; row < BATCH_ROWS; row++) {
      ids.set(row, random.nextLong(1_000_000_000));
      days.set(row, random.nextInt(365));
      names.set(row, ("customer-" + random.nextInt(3_000_000)).getBytes(StandardCharsets.US_ASCII));
    }
    vectors.forEach(vector -> vector.setValueCount(BATCH_ROWS));
    return new VectorSchemaRoot(
        vectors.stream().map(FieldVector::getField).toList(), vectors, BATCH_ROWS);
  }
}
