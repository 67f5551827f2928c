package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.sort.PhysicalRows.Row;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.stream.IntStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SharedGatherTest {
  private static final int ROWS = 300;

  private final BufferAllocator allocator = new RootAllocator();
  private final long seed = Long.getLong("firn.test.seed", new Random().nextLong());
  private final Random random = new Random(seed);
  private final Schema schema = RowSorterTest.everything();
  private final ExecutorService pool = Executors.newFixedThreadPool(2);
  private final List<Runnable> late = new ArrayList<>();

  enum Other {
    POOL,
    AT_ONCE,
    LATE,
    REJECTS
  }

  private Executor executor(Other other) {
    return switch (other) {
      case POOL -> pool;
      case AT_ONCE -> Runnable::run;
      case LATE -> late::add;
      case REJECTS ->
          task -> {
            throw new RejectedExecutionException("no thread");
          };
    };
  }

  @AfterEach
  void nothingLeaks() {
    pool.shutdown();
    allocator.close();
    late.forEach(Runnable::run); // they find nothing to do, though all memory is gone
  }

  private List<FieldVector> gather(
      VectorSchemaRoot source, int[] chosen, BufferAllocator memory, Other other) {
    ColumnGather[] columns = VectorGather.columnsOf(List.of(source.getFieldVectors()));
    int[] order = IntStream.range(0, columns.length).map(i -> columns.length - 1 - i).toArray();
    return SharedGather.gather(
        columns, order, Selection.ofRows(chosen, chosen.length), memory, executor(other));
  }

  @ParameterizedTest
  @EnumSource(Other.class)
  void columnsAreThoseThatOneThreadGathers(Other other) {
    List<Row> rows = new RandomRows(random).rows(schema, ROWS);
    try (VectorSchemaRoot source = new PhysicalRows(random).batch(schema, rows, allocator)) {
      for (int round = 0; round < 20; round++) {
        int[] chosen = random.ints(random.nextInt(600), 0, ROWS).toArray();
        List<Row> expected = new ArrayList<>();
        for (int row : chosen) {
          expected.add(rows.get(row));
        }
        try (VectorSchemaRoot target =
            VectorGather.root(gather(source, chosen, allocator, other), chosen.length)) {
          assertThat(PhysicalRows.rows(schema, target)).as(rerun()).isEqualTo(expected);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Other.class)
  void exhaustedMemoryLeavesNothingAllocated(Other other) {
    List<Row> rows = new RandomRows(random).rows(schema, ROWS);
    int[] chosen = random.ints(ROWS, 0, ROWS).toArray();
    try (VectorSchemaRoot source = new PhysicalRows(random).batch(schema, rows, allocator)) {
      int failures = 0;
      for (long limit = 64; limit < 1 << 20; limit = limit * 5 / 4) {
        try (BufferAllocator small = allocator.newChildAllocator("small", 0, limit)) {
          gather(source, chosen, small, other).forEach(FieldVector::close);
        } catch (OutOfMemoryException e) {
          failures++;
        }
      }
      assertThat(failures).as(rerun()).isPositive();
    }
  }

  @Test
  void whatGoesWrongOnTheOtherThreadIsThrown() {
    List<Row> rows = new RandomRows(random).rows(schema, ROWS);
    try (VectorSchemaRoot source = new PhysicalRows(random).batch(schema, rows, allocator)) {
      ColumnGather[] columns = VectorGather.columnsOf(List.of(source.getFieldVectors()));
      assertThatThrownBy(
              () ->
                  SharedGather.gather(
                      new ColumnGather[] {columns[0], columns[1]},
                      new int[] {0, 2}, // there is no column 2
                      Selection.ofRows(new int[] {0}, 1),
                      allocator,
                      Runnable::run))
          .isInstanceOf(ArrayIndexOutOfBoundsException.class);
    }
  }

  @Test
  void anInterruptIsKeptAndChangesNothing() {
    List<Row> rows = new RandomRows(random).rows(schema, ROWS);
    int[] all = IntStream.range(0, ROWS).toArray();
    try (VectorSchemaRoot source = new PhysicalRows(random).batch(schema, rows, allocator)) {
      Thread.currentThread().interrupt();
      try (VectorSchemaRoot target =
          VectorGather.root(gather(source, all, allocator, Other.POOL), ROWS)) {
        assertThat(Thread.interrupted()).isTrue();
        assertThat(PhysicalRows.rows(schema, target)).as(rerun()).isEqualTo(rows);
      }
    }
  }

  private String rerun() {
    return "rerun with -Dfirn.test.seed=" + seed;
  }
}
