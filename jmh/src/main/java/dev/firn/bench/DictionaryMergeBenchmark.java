package dev.firn.bench;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;
import org.apache.parquet.column.Encoding;
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
 * What does a row cost to splice where every file has a dictionary of its own? Measured: as in
 * {@link SpliceBenchmark}, with eight files whose dictionaries become one, so that the numbers in
 * the pages change; one thread. The score is time for a row.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@Fork(value = 1, jvmArgsAppend = "--add-opens=java.base/java.nio=ALL-UNNAMED")
@NullUnmarked // JMH sets the fields
public class DictionaryMergeBenchmark {
  static final int FILES = 8;
  static final int FILE_ROWS = 100_000;
  static final int ROWS = FILES * FILE_ROWS;
  private static final int ENTRIES = 4000;

  /** The share of a file's values that all other files have, too. */
  @Param({"1", "0.5", "0"})
  public double shared;

  @Param({"true", "false"})
  public boolean text;

  private StoredRows stored;
  private long[] live;
  private int[] numbers;
  private int[] mapping;

  @Setup(Level.Trial)
  public void write() throws IOException {
    Schema schema =
        new Schema(
            Types.NestedField.optional(
                1, "c", text ? Types.StringType.get() : Types.LongType.get()));
    Random random = new Random(42);
    List<List<Record>> files = new ArrayList<>();
    for (int file = 0; file < FILES; file++) {
      List<Record> records = new ArrayList<>(FILE_ROWS);
      for (int row = 0; row < FILE_ROWS; row++) {
        int value = random.nextInt(ENTRIES);
        long number = value < shared * ENTRIES ? value : (file + 1L) * ENTRIES + value;
        GenericRecord record = GenericRecord.create(schema);
        record.set(0, text ? "value-" + number : (Object) number);
        records.add(record);
      }
      files.add(records);
    }
    stored = new StoredRows(schema, "v1", files);
    if (!stored.encodings().contains(Encoding.PLAIN_DICTIONARY)) {
      throw new IllegalStateException("The pages are " + stored.encodings());
    }
    live = Column.all(FILE_ROWS);
    stored.check(live, FILE_ROWS);
    numbers = random.ints(ROWS, 0, ENTRIES).toArray();
    mapping = random.ints(ENTRIES, 0, FILES * ENTRIES).toArray();
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    stored.close();
  }

  /** Firn: pages of numbers, whose dictionaries are merged. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public DataFile merge() throws IOException {
    return stored.splice(live, FILE_ROWS);
  }

  /** The part of it that reads. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long fetch() throws IOException {
    return stored.fetch();
  }

  /** The limit: numbers in memory turned into others, neither packed nor compressed. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public int limitNumbers() {
    int sum = 0;
    for (int number : numbers) {
      sum += mapping[number];
    }
    return sum;
  }
}
