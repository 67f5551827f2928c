package dev.firn.bench;

import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.iceberg.DataFile;
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
 * What does a row of one column cost to splice where some rows of every page are deleted, by the
 * encoding of the pages and the share of deleted rows? Measured: as in {@link SpliceBenchmark}; the
 * pages are decompressed, taken out of their encoding, filtered, put into it again and compressed;
 * one thread. The score is time for a row of the source.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@Fork(value = 1, jvmArgsAppend = "--add-opens=java.base/java.nio=ALL-UNNAMED")
@NullUnmarked // JMH sets the fields
public class PageFilterBenchmark {
  static final int ROWS = 400_000;

  /** A column and the version of its pages, which give an encoding. */
  public enum Pages {
    LONG_PLAIN(Column.LONG_UNIQUE, "v1", Encoding.PLAIN),
    LONG_DELTA(Column.LONG_UNIQUE, "v2", Encoding.DELTA_BINARY_PACKED),
    LONG_DICTIONARY(Column.LONG_FEW, "v1", Encoding.PLAIN_DICTIONARY),
    DOUBLE_PLAIN(Column.DOUBLE, "v1", Encoding.PLAIN),
    TEXT_PLAIN(Column.TEXT_UNIQUE, "v1", Encoding.PLAIN),
    TEXT_DELTA(Column.TEXT_UNIQUE, "v2", Encoding.DELTA_BYTE_ARRAY),
    TEXT_DICTIONARY(Column.TEXT_FEW, "v1", Encoding.PLAIN_DICTIONARY),
    LIST_DICTIONARY(Column.LIST, "v1", Encoding.PLAIN_DICTIONARY);

    private final Column column;
    private final String version;
    private final Encoding encoding;

    Pages(Column column, String version, Encoding encoding) {
      this.column = column;
      this.version = version;
      this.encoding = encoding;
    }
  }

  @Param public Pages pages;

  @Param({"0.01", "0.05", "0.5"})
  public double deleted;

  private StoredRows stored;
  private long[] live;
  private int liveRows;
  private ZstdChunks zstd;

  @Setup(Level.Trial)
  public void write() throws IOException {
    stored =
        new StoredRows(pages.column.schema(), pages.version, List.of(pages.column.records(ROWS)));
    if (!stored.encodings().contains(pages.encoding)) {
      throw new IllegalStateException("The pages are " + stored.encodings());
    }
    live = new long[(ROWS + 63) / 64];
    liveRows = 0;
    Random random = new Random(7);
    for (int row = 0; row < ROWS; row++) {
      if (random.nextDouble() >= deleted) {
        live[row >>> 6] |= 1L << row;
        liveRows++;
      }
    }
    stored.check(live, liveRows);
    zstd = new ZstdChunks(stored.pages(), 1 - deleted);
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    zstd.close();
    stored.close();
  }

  /** Firn: pages filtered in their encoding. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public DataFile filter() throws IOException {
    return stored.splice(live, liveRows);
  }

  /**
   * The limit: the pages decompressed, and as much of each as stays compressed at zstd's level 3,
   * as the table's default is. Firn takes a lower level where that makes pages no larger.
   */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long limitZstd3() {
    return zstd.run(3);
  }

  /** The same at zstd's level 1. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long limitZstd1() {
    return zstd.run(1);
  }
}
