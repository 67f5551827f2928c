package dev.firn.engine.parquet;

import dev.firn.io.RangeReader;
import dev.firn.testdata.RowText;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.stream.Stream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.mapping.NameMapping;
import org.apache.iceberg.mapping.NameMappingParser;

/**
 * A reader over a table, with an allocator that fails when closed if anything leaked, and a scratch
 * directory that must be empty then.
 */
final class ReaderFixture implements AutoCloseable {
  final Table table;
  final BufferAllocator allocator = new RootAllocator();
  final Path scratch;
  final TableReader reader;
  final RangeReader ranges;

  ReaderFixture(Table table) {
    this(table, 5);
  }

  ReaderFixture(Table table, int batchRows) {
    this(table, batchRows, Long.MAX_VALUE);
  }

  ReaderFixture(Table table, int batchRows, long decodeBytesMax) {
    this.table = table;
    this.ranges = RangeReader.over(table.io(), 4);
    String mapping = table.properties().get(TableProperties.DEFAULT_NAME_MAPPING);
    NameMapping names = mapping == null ? null : NameMappingParser.fromJson(mapping);
    try {
      this.scratch = Files.createTempDirectory("firn-reader-test");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    this.reader =
        new TableReader(
            table.io(),
            table.schema(),
            table.specs(),
            names,
            ranges,
            allocator,
            scratch,
            batchRows,
            decodeBytesMax);
  }

  static FileScanTask task(Table table, DataFile file) {
    return new BaseFileScanTask(
        file,
        new DeleteFile[0],
        SchemaParser.toJson(table.schema()),
        PartitionSpecParser.toJson(table.specs().get(file.specId())),
        ResidualEvaluator.unpartitioned(Expressions.alwaysTrue()));
  }

  /** The lines of a file's rows as Firn reads them, in file order. */
  List<String> lines(DataFile file, Schema columns) throws IOException {
    List<String> lines = new ArrayList<>();
    try (SourceFile source = reader.open(task(table, file), columns)) {
      for (SourceFile.RowGroup group : source.rowGroups()) {
        try (RowBatches batches = source.read(group, allocator)) {
          while (batches.next()) {
            if (batches.firstPosition() != lines.size()) {
              throw new AssertionError(
                  "position " + batches.firstPosition() + " at " + lines.size());
            }
            batches.refuseNulls(allOf(batches.batch().getRowCount()));
            lines.addAll(PhysicalRows.lines(batches.batch(), columns));
          }
        }
      }
    }
    return lines;
  }

  private static long[] allOf(int rows) {
    BitSet all = new BitSet();
    all.set(0, rows);
    return Arrays.copyOf(all.toLongArray(), (rows + 63) >>> 6);
  }

  List<String> lines(DataFile file) throws IOException {
    return lines(file, TableRows.schema(table));
  }

  /** The lines of a file's rows as the oracle reads them, in file order. */
  List<String> expected(DataFile file) {
    Schema schema = TableRows.schema(table);
    return TableRows.inFile(table, file).stream().map(row -> RowText.line(row, schema)).toList();
  }

  List<Path> views() throws IOException {
    try (Stream<Path> files = Files.list(scratch)) {
      return files.toList();
    }
  }

  @Override
  public void close() throws IOException {
    reader.close();
    ranges.close();
    allocator.close();
    List<Path> left = views();
    if (!left.isEmpty()) {
      throw new AssertionError("Views are left: " + left);
    }
    Files.delete(scratch);
  }
}
