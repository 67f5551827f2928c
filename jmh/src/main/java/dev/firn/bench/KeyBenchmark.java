package dev.firn.bench;

import dev.firn.sort.RankSampler;
import dev.firn.sort.RowKeys;
import dev.firn.sort.SortKeys;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.NullOrder;
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
 * What does the key of a row cost? Measured: the keys of a batch as bytes on the heap, of the plain
 * order of the columns and of the curves through them; one thread. The score is time for a row.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "--add-opens=java.base/java.nio=ALL-UNNAMED")
@NullUnmarked // JMH sets the fields
public class KeyBenchmark {
  static final int ROWS = 8192;
  private static final int SAMPLED_ROWS = 100_000;

  /** Kinds of keys. */
  public enum Keys {
    SORT,
    ZORDER_BYTES,
    ZORDER_RANK,
    HILBERT_RANK,
    /** The ranks' curve, and the plain order within its cells. */
    HILBERT_THEN_SORT
  }

  @Param({"SORT", "ZORDER_BYTES", "ZORDER_RANK", "HILBERT_RANK", "HILBERT_THEN_SORT"})
  public Keys keys;

  @Param({
    "LONG_UNIQUE+DOUBLE",
    "LONG_UNIQUE+TEXT_UNIQUE",
    "LONG_UNIQUE+DATE+DOUBLE+LONG_FEW",
    "LONG_UNIQUE+DATE+DOUBLE+TEXT_UNIQUE"
  })
  public String columns;

  private BufferAllocator allocator;
  private VectorSchemaRoot batch;
  private SortKeys encoder;
  private int[] rows;
  private byte[] encoded;
  private byte[] copy;

  @Setup(Level.Trial)
  public void open() {
    allocator = new RootAllocator();
    List<Types.NestedField> fields = new ArrayList<>();
    List<String> names = new ArrayList<>();
    for (String column : columns.split("\\+")) {
      int id = fields.size() + 1;
      names.add("c" + id);
      fields.add(
          Types.NestedField.optional(
              id, "c" + id, Column.valueOf(column).schema().columns().get(0).type()));
    }
    Schema schema = new Schema(fields);
    RankSampler sampler = new RankSampler(schema, names, NullOrder.NULLS_FIRST, 42);
    try (VectorSchemaRoot sample = batch(SAMPLED_ROWS)) {
      sampler.add(sample, Column.all(SAMPLED_ROWS), SAMPLED_ROWS);
    }
    SortOrder.Builder order = SortOrder.builderFor(schema);
    names.forEach(order::asc);
    SortKeys plain = SortKeys.of(schema, order.build());
    encoder =
        switch (keys) {
          case SORT -> plain;
          case ZORDER_BYTES -> SortKeys.zOrder(schema, names, 8, Integer.MAX_VALUE);
          case ZORDER_RANK -> SortKeys.zOrder(schema, sampler.ranks());
          case HILBERT_RANK -> SortKeys.hilbert(schema, sampler.ranks());
          case HILBERT_THEN_SORT -> SortKeys.hilbert(schema, sampler.ranks()).then(plain);
        };
    batch = batch(ROWS);
    rows = new int[ROWS];
    Arrays.setAll(rows, i -> i);
    RowKeys all = keys();
    encoded = all.bytes();
    copy = new byte[encoded.length];
    for (int row = 0; row < ROWS; row++) {
      byte[] key = Arrays.copyOfRange(all.bytes(), all.offsets()[row], all.offsets()[row + 1]);
      if (!Arrays.equals(key, encoder.encode(batch, row))) {
        throw new IllegalStateException("The key of row " + row + " differs in its batch");
      }
    }
  }

  private VectorSchemaRoot batch(int count) {
    List<FieldVector> vectors = new ArrayList<>();
    for (String column : columns.split("\\+")) {
      vectors.add(Column.valueOf(column).batch(count, allocator).getVector(0));
    }
    return new VectorSchemaRoot(
        vectors.stream().map(FieldVector::getField).toList(), vectors, count);
  }

  @TearDown(Level.Trial)
  public void close() {
    batch.close();
    allocator.close();
  }

  /** The keys of all rows of a batch. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public RowKeys keys() {
    return encoder.encode(batch, rows, ROWS, allocator);
  }

  /** The limit: the bytes of the keys copied. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public byte[] limitCopy() {
    System.arraycopy(encoded, 0, copy, 0, encoded.length);
    return copy;
  }
}
