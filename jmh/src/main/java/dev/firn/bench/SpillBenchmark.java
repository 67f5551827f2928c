package dev.firn.bench;

import dev.firn.sort.RowSorter;
import dev.firn.sort.SortKeys;
import dev.firn.sort.Spill;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.types.Types;
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
 * What does a row cost to sort when memory is a part of what all rows take? Measured: rows of six
 * columns in, sorted, spilled to the directory for temporary files where they do not fit, merged,
 * and out in order; one thread. The score is time for a row.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(value = 1, jvmArgsAppend = "--add-opens=java.base/java.nio=ALL-UNNAMED")
@NullUnmarked // JMH sets the fields
public class SpillBenchmark {
  static final int ROWS = 1 << 20;
  private static final int BATCH_ROWS = 1 << 14;
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.optional(1, "id", Types.LongType.get()),
          Types.NestedField.optional(2, "day", Types.DateType.get()),
          Types.NestedField.optional(3, "customer", Types.StringType.get()),
          Types.NestedField.optional(4, "price", Types.DoubleType.get()),
          Types.NestedField.optional(5, "status", Types.StringType.get()),
          Types.NestedField.optional(6, "comment", Types.StringType.get()));

  /** What is sorted by: a fixed-width key without order, one with much order, a text. */
  public enum Order {
    ID("id"),
    DAY_ID("day", "id"),
    CUSTOMER("customer"),
    PRESORTED("day");

    private final String[] columns;

    Order(String... columns) {
      this.columns = columns;
    }

    SortOrder order() {
      SortOrder.Builder builder = SortOrder.builderFor(SCHEMA);
      for (String column : columns) {
        builder.asc(column);
      }
      return builder.build();
    }
  }

  @Param({"ID", "DAY_ID", "CUSTOMER", "PRESORTED"})
  public Order order;

  /** Memory is this part of what sorting in memory takes. */
  @Param({"1", "4", "16"})
  public int part;

  private BufferAllocator allocator;
  private Path scratch;
  private SortKeys keys;
  private List<VectorSchemaRoot> batches;
  private long[] live;
  private long memoryBytes;
  private RowSorter.Stats stats;

  @Setup(Level.Trial)
  public void open() throws IOException {
    allocator = new RootAllocator();
    scratch = Files.createTempDirectory("spill-benchmark");
    keys = SortKeys.of(SCHEMA, order.order());
    live = Column.all(BATCH_ROWS);
    batches = new ArrayList<>();
    SplittableRandom random = new SplittableRandom(42);
    for (int i = 0; i < ROWS / BATCH_ROWS; i++) {
      batches.add(batch(i, random));
    }
    memoryBytes = Long.MAX_VALUE / 2;
    sort();
    memoryBytes = part == 1 ? memoryBytes : stats.memoryBytesPeak() / part;
  }

  private VectorSchemaRoot batch(int number, SplittableRandom random) {
    BigIntVector id = new BigIntVector("1", allocator);
    IntVector day = new IntVector("2", allocator);
    VarBinaryVector customer = new VarBinaryVector("3", allocator);
    Float8Vector price = new Float8Vector("4", allocator);
    VarBinaryVector status = new VarBinaryVector("5", allocator);
    VarBinaryVector comment = new VarBinaryVector("6", allocator);
    List<FieldVector> vectors = List.of(id, day, customer, price, status, comment);
    vectors.forEach(vector -> vector.setInitialCapacity(BATCH_ROWS));
    vectors.forEach(FieldVector::allocateNew);
    for (int row = 0; row < BATCH_ROWS; row++) {
      id.set(row, random.nextLong());
      int anyDay = 18_000 + random.nextInt(3650);
      day.set(row, order == Order.PRESORTED ? number * BATCH_ROWS + row : anyDay);
      customer.setSafe(row, text("customer-" + random.nextInt(3_000_000)));
      price.set(row, random.nextInt(1_000_000) / 100.0);
      status.setSafe(row, text("STATUS_" + random.nextInt(5)));
      comment.setSafe(
          row, text("please deliver " + random.nextInt(100) + " of " + random.nextInt()));
    }
    vectors.forEach(vector -> vector.setValueCount(BATCH_ROWS));
    return new VectorSchemaRoot(
        vectors.stream().map(FieldVector::getField).toList(), vectors, BATCH_ROWS);
  }

  private static byte[] text(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    batches.forEach(VectorSchemaRoot::close);
    allocator.close();
    Files.delete(scratch);
  }

  /** Rows in and out. Gives how many came out. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long sort() throws IOException {
    long[] rows = new long[1];
    try (RowSorter sorter =
        RowSorter.spilling(SCHEMA, keys, allocator, memoryBytes, Spill.to(scratch))) {
      for (VectorSchemaRoot batch : batches) {
        sorter.add(batch, live, BATCH_ROWS);
      }
      sorter.drain(BATCH_ROWS, sorted -> rows[0] += sorted.getRowCount());
      stats = sorter.stats();
    }
    return rows[0];
  }
}
