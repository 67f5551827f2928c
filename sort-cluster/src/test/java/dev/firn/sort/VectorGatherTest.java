package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.sort.PhysicalRows.Row;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.util.TransferPair;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class VectorGatherTest {
  private final BufferAllocator allocator = new RootAllocator();
  private final long seed = Long.getLong("firn.test.seed", new Random().nextLong());
  private final Random random = new Random(seed);
  private final Schema schema = RowSorterTest.everything();

  @AfterEach
  void nothingLeaks() {
    allocator.close();
  }

  @RepeatedTest(5)
  void rowsOfAnyTypeInAnyOrderAreCopied() {
    List<Row> rows = new RandomRows(random).rows(schema, 1 + random.nextInt(400));
    int[] chosen = random.ints(random.nextInt(600), 0, rows.size()).toArray();
    List<Row> expected = new ArrayList<>();
    for (int row : chosen) {
      expected.add(rows.get(row));
    }
    try (VectorSchemaRoot source = new PhysicalRows(random).batch(schema, rows, allocator);
        VectorSchemaRoot target = VectorGather.gather(source, chosen, chosen.length, allocator)) {
      assertThat(PhysicalRows.rows(schema, target)).as(rerun()).isEqualTo(expected);
      assertThat(target.getSchema()).isEqualTo(source.getSchema());
      wellFormed(target);
    }
  }

  @RepeatedTest(3)
  void rangesAreCopied() {
    List<Row> rows = new RandomRows(random).rows(schema, 300);
    int from = random.nextInt(200);
    int count = random.nextInt(100);
    int[] range = new int[count];
    for (int i = 0; i < count; i++) {
      range[i] = from + i;
    }
    try (VectorSchemaRoot source = new PhysicalRows(random).batch(schema, rows, allocator);
        VectorSchemaRoot target = VectorGather.gather(source, range, count, allocator)) {
      assertThat(PhysicalRows.rows(schema, target))
          .as(rerun())
          .isEqualTo(rows.subList(from, from + count));
      wellFormed(target);
    }
  }

  @RepeatedTest(3)
  void liveRowsAreCopied() {
    List<Row> rows = new RandomRows(random).rows(schema, 300);
    long[] live = new long[5];
    List<Row> expected = new ArrayList<>();
    for (int i = 0; i < rows.size(); i++) {
      if (random.nextInt(3) > 0) {
        live[i >> 6] |= 1L << i;
        expected.add(rows.get(i));
      }
    }
    try (VectorSchemaRoot source = new PhysicalRows(random).batch(schema, rows, allocator);
        VectorSchemaRoot target = VectorGather.gather(source, live, expected.size(), allocator)) {
      assertThat(PhysicalRows.rows(schema, target)).as(rerun()).isEqualTo(expected);
    }
  }

  @RepeatedTest(3)
  void slicedVectorsAreCopied() {
    List<Row> rows = new RandomRows(random).rows(schema, 200);
    int from = random.nextInt(100);
    int[] chosen = random.ints(80, 0, 100).toArray();
    try (VectorSchemaRoot source = new PhysicalRows(random).batch(schema, rows, allocator)) {
      for (int column = 0; column < schema.columns().size(); column++) {
        TransferPair slice = source.getVector(column).getTransferPair(allocator);
        slice.splitAndTransfer(from, 100);
        try (FieldVector sliced = (FieldVector) slice.getTo();
            FieldVector target = VectorGather.gather(sliced, chosen, chosen.length, allocator)) {
          Types.NestedField field = schema.columns().get(column);
          for (int i = 0; i < chosen.length; i++) {
            Object expected = rows.get(from + chosen[i]).values()[column];
            Object actual = PhysicalRows.value(target, field.type(), i);
            assertThat(new Row(new Object[] {actual}))
                .as("%s, %s, row %s", rerun(), field, i)
                .isEqualTo(new Row(new Object[] {expected}));
          }
        }
      }
    }
  }

  @RepeatedTest(3)
  void anAbsentValidityBufferMeansNoNulls() throws ReflectiveOperationException {
    List<Row> rows = new RandomRows(random).rows(schema, 100);
    int[] chosen = random.ints(80, 0, 100).toArray();
    List<Row> expected = new ArrayList<>();
    for (int row : chosen) {
      expected.add(rows.get(row));
    }
    try (VectorSchemaRoot source = new PhysicalRows(random).batch(schema, rows, allocator)) {
      int dropped = 0;
      for (FieldVector vector : source.getFieldVectors()) {
        dropped += dropValidityWithoutNulls(vector);
      }
      assertThat(dropped).isPositive();
      try (VectorSchemaRoot target =
          VectorGather.gather(source, chosen, chosen.length, allocator)) {
        assertThat(PhysicalRows.rows(schema, target)).as(rerun()).isEqualTo(expected);
      }
    }
  }

  /** Takes away, at all depths, what the C data interface may not bring. */
  private static int dropValidityWithoutNulls(FieldVector vector)
      throws ReflectiveOperationException {
    int dropped = 0;
    for (FieldVector child : vector.getChildrenFromFields()) {
      dropped += dropValidityWithoutNulls(child);
    }
    if (vector.getNullCount() == 0) {
      Class<?> owner = vector.getClass();
      while (Arrays.stream(owner.getDeclaredFields())
          .noneMatch(field -> field.getName().equals("validityBuffer"))) {
        owner = owner.getSuperclass();
      }
      Field validity = owner.getDeclaredField("validityBuffer");
      validity.setAccessible(true);
      vector.getValidityBuffer().close();
      validity.set(vector, vector.getAllocator().getEmpty());
      dropped++;
    }
    return dropped;
  }

  @Test
  void rowsThatDoNotExistAreRefused() {
    List<Row> rows = new RandomRows(random).rows(schema, 10);
    try (VectorSchemaRoot source = new PhysicalRows(random).batch(schema, rows, allocator)) {
      assertThatThrownBy(() -> VectorGather.gather(source, new int[] {10}, 1, allocator))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> VectorGather.gather(source, new int[] {-1}, 1, allocator))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> VectorGather.gather(source, new int[] {1}, 2, allocator))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> VectorGather.gather(source, new long[] {7}, 2, allocator))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void exhaustedMemoryLeavesNothingAllocated() {
    List<Row> rows = new RandomRows(random).rows(schema, 500);
    int[] chosen = random.ints(500, 0, 500).toArray();
    try (VectorSchemaRoot source = new PhysicalRows(random).batch(schema, rows, allocator)) {
      int failures = 0;
      for (long limit = 64; limit < 1 << 20; limit = limit * 5 / 4) {
        try (BufferAllocator small = allocator.newChildAllocator("small", 0, limit)) {
          VectorGather.gather(source, chosen, 500, small).close();
        } catch (OutOfMemoryException e) {
          failures++;
        }
      }
      assertThat(failures).isPositive();
    }
  }

  /** Arrow's own opinion, which it has of everything but maps. */
  private static void wellFormed(VectorSchemaRoot batch) {
    for (FieldVector vector : batch.getFieldVectors()) {
      if (!vector.getField().toString().contains("Map(")) {
        vector.validateFull();
      }
      assertThat(vector.getValueCount()).isEqualTo(batch.getRowCount());
    }
  }

  private String rerun() {
    return "rerun with -Dfirn.test.seed=" + seed;
  }
}
