package dev.firn.bench;

import dev.firn.sort.RowSorter;
import dev.firn.sort.SortKeys;
import java.io.IOException;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What does a row cost to sort in memory by one column? Measured: copying the rows in, keys, sort
 * and copying them out in order; one thread. The score is time for a row.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "--add-opens=java.base/java.nio=ALL-UNNAMED")
@NullUnmarked // JMH sets the fields
public class SortBenchmark {
  static final int ROWS = 500_000;

  @Param({"LONG_UNIQUE", "LONG_FEW", "DATE", "DOUBLE", "TEXT_FEW", "TEXT_UNIQUE"})
  public Column column;

  private BufferAllocator allocator;
  private Schema schema;
  private SortOrder order;
  private VectorSchemaRoot batch;
  private long[] live;
  private long[] unsorted;

  @Setup(Level.Trial)
  public void open() throws IOException {
    allocator = new RootAllocator();
    schema = column.schema();
    order = SortOrder.builderFor(schema).asc("c").build();
    batch = column.batch(ROWS, allocator);
    live = Column.all(ROWS);
    unsorted = new Random(42).longs(ROWS).toArray();
    SortKeys keys = SortKeys.of(schema, order);
    try (RowSorter sorter = RowSorter.inMemory(schema, order, allocator, Long.MAX_VALUE / 2)) {
      sorter.add(batch, live, ROWS);
      sorter.drain(
          8192,
          sorted -> {
            for (int row = 1; row < sorted.getRowCount(); row++) {
              if (keys.compare(sorted, row - 1, sorted, row) > 0) {
                throw new IllegalStateException("Rows of " + column + " are out of order");
              }
            }
          });
    }
  }

  @TearDown(Level.Trial)
  public void close() {
    batch.close();
    allocator.close();
  }

  /** The limit: as many longs in no order, copied and sorted by Java's library. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long[] limitSortLongs() {
    long[] sorted = unsorted.clone();
    Arrays.sort(sorted);
    return sorted;
  }

  /** Rows in and out. Gives how many came out. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long sort() throws IOException {
    long[] rows = new long[1];
    try (RowSorter sorter = RowSorter.inMemory(schema, order, allocator, Long.MAX_VALUE / 2)) {
      sorter.add(batch, live, ROWS);
      sorter.drain(8192, sorted -> rows[0] += sorted.getRowCount());
    }
    return rows[0];
  }
}
