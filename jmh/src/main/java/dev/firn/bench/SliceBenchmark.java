package dev.firn.bench;

import static org.apache.iceberg.types.Types.NestedField.optional;

import dev.firn.engine.parquet.RowBatches;
import dev.firn.engine.parquet.SourceFile;
import dev.firn.engine.parquet.TableReader;
import dev.firn.io.RangeReader;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What does it cost to decode a row group part by part? Measured: a million rows of twenty columns
 * as Iceberg's Java writer lays them out, in one row group of a local file in the page cache, to
 * batches. The score is time for all of it.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(value = 1, jvmArgsAppend = "--add-opens=java.base/java.nio=ALL-UNNAMED")
@NullUnmarked // JMH sets the fields
public class SliceBenchmark {
  private static final int COLUMNS = 20;

  /** The limit of memory in MB; 0 for none, which decodes the row group whole. */
  @Param({"0", "128", "64", "32", "16"})
  public int limit;

  @Param("1000000")
  public int rowGroupRows;

  private Path directory;
  private BufferAllocator allocator;
  private Schema schema;
  private FileScanTask task;
  private RangeReader ranges;
  private TableReader reader;

  @Setup(Level.Trial)
  public void open() throws IOException {
    directory = Files.createTempDirectory("firn-bench");
    allocator = new RootAllocator();
    List<Types.NestedField> fields = new ArrayList<>();
    for (int i = 0; i < COLUMNS; i++) {
      fields.add(optional(i + 1, "c" + i, type(i)));
    }
    schema = new Schema(fields);
    Table table =
        TableBuilder.at(directory.resolve("t"))
            .schema(schema)
            .property("write.parquet.row-group-size-bytes", Integer.toString(1 << 30))
            .create();
    TableFiles.of(table).append(rows());
    try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
      task = tasks.iterator().next();
    }
    ranges = RangeReader.over(table.io(), 4);
    reader =
        new TableReader(
            table.io(),
            schema,
            table.specs(),
            null,
            ranges,
            allocator,
            directory,
            8192,
            limit == 0 ? Long.MAX_VALUE : (long) limit << 20);
    if (decode() != rowGroupRows) {
      throw new IllegalStateException("Rows are missing");
    }
  }

  private static Type type(int column) {
    return switch (column % 5) {
      case 0, 1 -> Types.LongType.get();
      case 2 -> Types.DoubleType.get();
      case 3 -> Types.IntegerType.get();
      default -> Types.StringType.get();
    };
  }

  /** Rows that are made as they are asked for. */
  private List<Record> rows() {
    Random random = new Random(42);
    return new AbstractList<>() {
      @Override
      public Record get(int row) {
        GenericRecord record = GenericRecord.create(schema);
        for (int i = 0; i < COLUMNS; i++) {
          record.set(i, random.nextInt(10) == 0 ? null : value(i, random));
        }
        return record;
      }

      @Override
      public int size() {
        return rowGroupRows;
      }
    };
  }

  /** Half of the columns repeat their values, half do not. */
  private static Object value(int column, Random random) {
    boolean few = column / 5 % 2 == 0;
    return switch (column % 5) {
      case 0, 1 -> few ? (long) random.nextInt(1000) : random.nextLong();
      case 2 -> few ? random.nextInt(500) / 10.0 : random.nextDouble();
      case 3 -> few ? random.nextInt(3650) : random.nextInt();
      default -> "value-" + (few ? random.nextInt(1000) : random.nextLong());
    };
  }

  @TearDown(Level.Trial)
  public void close() throws Exception {
    reader.close();
    ranges.close();
    allocator.close();
    EncodeBenchmark.delete(directory);
  }

  /** All batches. Gives their rows. */
  @Benchmark
  public long decode() throws IOException {
    long rows = 0;
    try (SourceFile source = reader.open(task, schema)) {
      for (SourceFile.RowGroup rowGroup : source.rowGroups()) {
        try (RowBatches batches = source.read(rowGroup, allocator)) {
          while (batches.next()) {
            rows += batches.batch().getRowCount();
          }
        }
      }
    }
    return rows;
  }
}
