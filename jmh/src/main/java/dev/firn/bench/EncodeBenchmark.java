package dev.firn.bench;

import dev.firn.engine.parquet.DataFileOutput;
import dev.firn.engine.parquet.OutputSizes;
import dev.firn.engine.parquet.PageEncodings;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetWriter;
import org.apache.iceberg.io.FileAppender;
import org.apache.iceberg.parquet.Parquet;
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
 * What does a row of one column cost to encode as Parquet, by column, and by row as Iceberg's
 * generic writer does it? Measured: vectors, or records, in memory to finished file with metrics;
 * one thread, no disk. The score is time for a row.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "--add-opens=java.base/java.nio=ALL-UNNAMED")
@NullUnmarked // JMH sets the fields
public class EncodeBenchmark {
  static final int ROWS = 200_000;
  private static final OutputSizes ONE_FILE = new OutputSizes(1L << 40, 0, 1L << 41);

  @Param({
    "LONG_UNIQUE",
    "LONG_FEW",
    "DATE",
    "DOUBLE",
    "TEXT_FEW",
    "TEXT_UNIQUE",
    "TEXT_ASCENDING",
    "LIST"
  })
  public Column column;

  @Param({"uncompressed", "zstd"})
  public String codec;

  /** What the option of the same name has: of {@link #byColumn} only. */
  @Param("auto")
  public String encoding;

  private Path directory;
  private BufferAllocator allocator;
  private Table table;
  private Schema schema;
  private VectorSchemaRoot batch;
  private long[] live;
  private List<Record> records;

  @Setup(Level.Trial)
  public void open() throws IOException {
    directory = Files.createTempDirectory("firn-bench");
    allocator = new RootAllocator();
    schema = column.schema();
    table =
        Tables.withIo(
            TableBuilder.at(directory.resolve("t"))
                .schema(schema)
                .property("write.parquet.compression-codec", codec)
                .create(),
            io -> new NowhereIO());
    batch = column.batch(ROWS, allocator);
    live = Column.all(ROWS);
    records = column.records(ROWS);
    agrees();
  }

  /** Wrong code is not worth timing. */
  private void agrees() throws IOException {
    DataFile file = byColumn();
    Metrics metrics = byRow();
    if (file.recordCount() != metrics.recordCount()
        || !file.valueCounts().equals(metrics.valueCounts())
        || !file.nullValueCounts().equals(metrics.nullValueCounts())
        || !file.lowerBounds().equals(metrics.lowerBounds())
        || !file.upperBounds().equals(metrics.upperBounds())) {
      throw new IllegalStateException("The writers disagree on " + column);
    }
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    batch.close();
    allocator.close();
    delete(directory);
  }

  static void delete(Path directory) throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  /** Firn: one column of an Arrow batch. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public DataFile byColumn() throws IOException {
    DataFileOutput.Options options =
        new DataFileOutput.Options(
            table.spec(),
            null,
            ONE_FILE,
            ROWS,
            UUID.randomUUID().toString(),
            0,
            PageEncodings.of(encoding));
    try (DataFileOutput output = DataFileOutput.create(table, schema, options, Runnable::run, 1)) {
      output.append(batch, live, ROWS);
      return output.finish().get(0);
    }
  }

  /** Iceberg's generic writer: one record after the other. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public Metrics byRow() throws IOException {
    FileAppender<Record> appender =
        Parquet.write(table.io().newOutputFile("nowhere"))
            .forTable(table)
            .createWriterFunc(type -> GenericParquetWriter.create(schema, type))
            .build();
    try (appender) {
      appender.addAll(records);
    }
    return appender.metrics();
  }
}
