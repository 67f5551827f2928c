package dev.firn.bench;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.iceberg.DataFile;
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
 * What does a row of one column cost to splice where no row is deleted? Measured: opening a local
 * file in the page cache, fetching its row group, moving it into a file that is not kept, footer
 * and metrics; one thread. The score is time for a row.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@Fork(value = 1, jvmArgsAppend = "--add-opens=java.base/java.nio=ALL-UNNAMED")
@NullUnmarked // JMH sets the fields
public class SpliceBenchmark {
  static final int ROWS = 400_000;

  @Param({"LONG_UNIQUE", "LONG_FEW", "TEXT_FEW", "TEXT_UNIQUE", "LIST"})
  public Column column;

  private StoredRows stored;
  private long[] live;
  private byte[] source;
  private byte[] copy;

  @Setup(Level.Trial)
  public void write() throws IOException {
    stored = new StoredRows(column.schema(), "v1", List.of(column.records(ROWS)));
    live = Column.all(ROWS);
    stored.check(live, ROWS);
    source = new byte[(int) stored.bytes()];
    copy = new byte[source.length];
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    stored.close();
  }

  /** Firn: pages as they are, into new chunks. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public DataFile splice() throws IOException {
    return stored.splice(live, ROWS);
  }

  /** The part of it that reads: footer, pages and indexes into memory, page headers parsed. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long fetch() throws IOException {
    return stored.fetch();
  }

  /** The limit: the bytes of the column chunk copied once in memory. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public byte[] limitCopy() {
    System.arraycopy(source, 0, copy, 0, source.length);
    return copy;
  }
}
