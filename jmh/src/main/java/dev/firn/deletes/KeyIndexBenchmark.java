package dev.firn.deletes;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
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
 * What does an equality delete cost to take into the key index, and a row to look up? Measured:
 * batches of keys in Arrow vectors, their hashes, and the index; one thread. The score is time for
 * a key, over all sizes the index has on its way, or for a row.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
    value = 1,
    jvmArgsAppend = {"-Xmx4g", "-XX:+UseParallelGC", "--add-opens=java.base/java.nio=ALL-UNNAMED"})
@NullUnmarked // JMH sets the fields
public class KeyIndexBenchmark {
  static final int ROWS = 8192;
  private static final int BATCHES = 64;
  private static final long SEQUENCE_NUMBER = 7;

  /** What a key is made of. */
  public enum Keys {
    LONG,
    /** A long and a text of twelve bytes. */
    LONG_AND_TEXT
  }

  @Param public Keys form;

  @Param({"10000", "1000000"})
  public int count;

  private BufferAllocator allocator;
  private KeyBatch batchKeys;
  private KeyIndex index;
  private KeyIndex filling;
  private int filled;
  private VectorSchemaRoot filler;
  private List<VectorSchemaRoot> missing;
  private List<VectorSchemaRoot> hundredth;
  private List<VectorSchemaRoot> held;
  private int next;
  private long[] asked;
  private long[] live;
  private long[] table;

  private List<Types.NestedField> fields() {
    Types.NestedField number = Types.NestedField.optional(1, "a", Types.LongType.get());
    Types.NestedField text = Types.NestedField.optional(2, "b", Types.StringType.get());
    return form == Keys.LONG ? List.of(number) : List.of(number, text);
  }

  private KeyIndex empty() {
    return KeyIndex.of(
        fields(), SequenceMarks.of(List.of(SEQUENCE_NUMBER)), new KeyMemory(Long.MAX_VALUE / 2));
  }

  @Setup(Level.Trial)
  public void fill() {
    allocator = new RootAllocator();
    batchKeys = new KeyBatch(fields(), form == Keys.LONG ? new int[] {0} : new int[] {0, 1});
    index = empty();
    filler = batch(LongStream.range(0, ROWS).toArray());
    for (int from = 0; from < count; from += ROWS) {
      addNext(index, from);
    }
    if (index.size() != count) {
      throw new IllegalStateException("The index has " + index.size() + " keys, not " + count);
    }
    missing = batches(0);
    hundredth = batches(1);
    held = batches(100);
    asked = new long[ROWS / 64];
    Arrays.fill(asked, -1);
    live = asked.clone();
    for (int i = 0; i < BATCHES; i++) {
      expect(lookUp(missing.get(i)), 0);
      expect(lookUp(hundredth.get(i)), ROWS / 100);
      expect(lookUp(held.get(i)), ROWS);
    }
    filling = empty();
    table = new long[Math.max(16, Integer.highestOneBit(count) * 2)];
  }

  private static void expect(int deleted, int expected) {
    if (deleted != expected) {
      throw new IllegalStateException(deleted + " of " + ROWS + " rows deleted, not " + expected);
    }
  }

  @TearDown(Level.Trial)
  public void close() {
    filler.close();
    for (List<VectorSchemaRoot> batches : List.of(missing, hundredth, held)) {
      batches.forEach(VectorSchemaRoot::close);
    }
    allocator.close();
  }

  /** As many different values in no order. */
  private static long key(long number) {
    long mixed = (number + 1) * 0x9E3779B97F4A7C15L;
    return (mixed ^ mixed >>> 29) * 0xBF58476D1CE4E5B9L;
  }

  private List<VectorSchemaRoot> batches(int percent) {
    List<VectorSchemaRoot> batches = new ArrayList<>();
    long random = percent;
    for (int i = 0; i < BATCHES; i++) {
      long[] numbers = new long[ROWS];
      int heldRows = ROWS * percent / 100;
      for (int row = 0; row < ROWS; row++) {
        random = random * 6364136223846793005L + 1442695040888963407L;
        // scattered over the batch, as 4099 is prime to its rows
        boolean isHeld = row * 4099 % ROWS < heldRows;
        numbers[row] = (isHeld ? 0 : count) + (random >>> 33) % count;
      }
      batches.add(batch(numbers));
    }
    return batches;
  }

  private VectorSchemaRoot batch(long[] numbers) {
    List<FieldVector> vectors = new ArrayList<>();
    BigIntVector longs = new BigIntVector("1", allocator);
    longs.allocateNew(numbers.length);
    VarBinaryVector texts = new VarBinaryVector("2", allocator);
    texts.allocateNew(12L * numbers.length, numbers.length);
    byte[] text = new byte[12];
    for (int i = 0; i < numbers.length; i++) {
      longs.set(i, key(numbers[i]));
      KeyColumn.LONG.set(text, 0, key(numbers[i]));
      texts.set(i, text);
    }
    longs.setValueCount(numbers.length);
    texts.setValueCount(numbers.length);
    vectors.add(longs);
    if (form == Keys.LONG) {
      texts.close();
    } else {
      vectors.add(texts);
    }
    return new VectorSchemaRoot(vectors);
  }

  private void addNext(KeyIndex to, long from) {
    for (int i = 0; i < ROWS; i++) {
      filler.getVector(0).getDataBuffer().setLong((long) i * Long.BYTES, key(from + i));
      if (form != Keys.LONG) {
        filler.getVector(1).getDataBuffer().setLong(i * 12L, key(from + i));
      }
    }
    int rows = (int) Math.min(ROWS, count - from);
    batchKeys.attach(filler);
    for (int row = 0; row < rows; row += batchKeys.rows()) {
      batchKeys.load(row, rows - row);
      to.add(batchKeys, 0, HashSlice.ALL, SEQUENCE_NUMBER);
    }
  }

  private int lookUp(VectorSchemaRoot batch) {
    System.arraycopy(asked, 0, live, 0, asked.length);
    batchKeys.attach(batch);
    int cleared = 0;
    for (int row = 0; row < ROWS; row += batchKeys.rows()) {
      batchKeys.load(row, ROWS - row);
      cleared += index.clearDeleted(batchKeys, 3, row, asked, live);
    }
    return cleared;
  }

  private VectorSchemaRoot next(List<VectorSchemaRoot> batches) {
    next = next + 1 & BATCHES - 1;
    return batches.get(next);
  }

  /** Keys into an index that begins empty and is begun anew when it has them all. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public KeyIndex build() {
    if (filled + ROWS > count) {
      filling = empty();
      filled = 0;
    }
    addNext(filling, filled);
    filled += ROWS;
    return filling;
  }

  /** Rows that are not deleted. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public int probeNone() {
    return lookUp(next(missing));
  }

  /** Rows of which one in a hundred is deleted. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public int probeHundredth() {
    return lookUp(next(hundredth));
  }

  /** Rows that are all deleted. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public int probeAll() {
    return lookUp(next(held));
  }

  /** The limit: the keys out of the vectors, and their hashes. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public int limitHashes() {
    int hashes = 0;
    batchKeys.attach(next(missing));
    for (int row = 0; row < ROWS; row += batchKeys.rows()) {
      batchKeys.load(row, ROWS - row);
      hashes ^= batchKeys.hashes()[0];
    }
    return hashes;
  }

  /** The limit of a table without a filter: hashes, and one word of it for each row. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long limitHashesAndOneSlot() {
    long found = 0;
    batchKeys.attach(next(missing));
    for (int row = 0; row < ROWS; row += batchKeys.rows()) {
      batchKeys.load(row, ROWS - row);
      int[] hashes = batchKeys.hashes();
      for (int i = 0; i < batchKeys.rows(); i++) {
        found += table[hashes[i] & table.length - 1];
      }
    }
    return found;
  }
}
