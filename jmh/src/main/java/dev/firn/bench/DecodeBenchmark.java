package dev.firn.bench;

import dev.firn.engine.parquet.DataFileOutput;
import dev.firn.engine.parquet.OutputSizes;
import dev.firn.engine.parquet.RowBatches;
import dev.firn.engine.parquet.SourceFile;
import dev.firn.engine.parquet.TableReader;
import dev.firn.io.RangeReader;
import dev.firn.testdata.TableBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetReaders;
import org.apache.iceberg.io.CloseableIterable;
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
 * What does a row of one column cost to read, by row group through a view file, and by row as
 * Iceberg's generic reader does it? Measured: opening a local data file in the page cache, footer,
 * view file, decoding into vectors or records. The score is time for a row.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "--add-opens=java.base/java.nio=ALL-UNNAMED")
@NullUnmarked // JMH sets the fields
public class DecodeBenchmark {
  static final int ROWS = 1_000_000;

  @Param({"LONG_UNIQUE", "LONG_FEW", "DOUBLE", "TEXT_FEW", "TEXT_UNIQUE", "LIST"})
  public Column column;

  private Path directory;
  private BufferAllocator allocator;
  private Table table;
  private Schema schema;
  private DataFile file;
  private FileScanTask task;
  private RangeReader ranges;
  private TableReader reader;

  @Setup(Level.Trial)
  public void open() throws IOException {
    directory = Files.createTempDirectory("firn-bench");
    allocator = new RootAllocator();
    schema = column.schema();
    table =
        TableBuilder.at(directory.resolve("t"))
            .schema(schema)
            .property("write.parquet.compression-codec", "zstd")
            .create();
    DataFileOutput.Options options =
        new DataFileOutput.Options(
            table.spec(),
            null,
            new OutputSizes(1L << 40, 0, 1L << 41),
            ROWS,
            UUID.randomUUID().toString(),
            0);
    try (DataFileOutput output = DataFileOutput.create(table, schema, options, Runnable::run, 1);
        VectorSchemaRoot batch = column.batch(ROWS, allocator)) {
      output.append(batch, Column.all(ROWS), ROWS);
      file = output.finish().get(0);
    }
    table.newAppend().appendFile(file).commit();
    try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
      task = tasks.iterator().next();
    }
    ranges = RangeReader.over(table.io(), 4);
    reader =
        new TableReader(
            table.io(), schema, table.specs(), null, ranges, allocator, directory, 32_768);
    if (byColumn() != byRow()) {
      throw new IllegalStateException("The readers disagree on " + column);
    }
  }

  @TearDown(Level.Trial)
  public void close() throws Exception {
    reader.close();
    ranges.close();
    allocator.close();
    EncodeBenchmark.delete(directory);
  }

  /** Firn: batches of a row group. Gives the values that are not null. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long byColumn() throws IOException {
    long values = 0;
    SourceFile source = reader.open(task, schema);
    for (SourceFile.RowGroup rowGroup : source.rowGroups()) {
      try (RowBatches batches = source.read(rowGroup, allocator)) {
        while (batches.next()) {
          VectorSchemaRoot batch = batches.batch();
          values += batch.getRowCount() - batch.getVector(0).getNullCount();
        }
      }
    }
    return values;
  }

  /** Iceberg's generic reader. Gives the values that are not null. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long byRow() throws IOException {
    long values = 0;
    try (CloseableIterable<Record> rows =
        Parquet.read(table.io().newInputFile(file.location()))
            .project(schema)
            .createReaderFunc(type -> GenericParquetReaders.buildReader(schema, type))
            .reuseContainers()
            .build()) {
      for (Record row : rows) {
        values += row.get(0) == null ? 0 : 1;
      }
    }
    return values;
  }
}
