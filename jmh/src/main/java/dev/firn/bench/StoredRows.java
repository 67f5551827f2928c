package dev.firn.bench;

import dev.firn.engine.parquet.DataFileOutput;
import dev.firn.engine.parquet.OutputSizes;
import dev.firn.engine.parquet.RowGroupView;
import dev.firn.engine.parquet.SourceFile;
import dev.firn.engine.parquet.SplicedView;
import dev.firn.engine.parquet.TableReader;
import dev.firn.io.RangeReader;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetReaders;
import org.apache.iceberg.data.parquet.GenericParquetWriter;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileAppender;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.parquet.Parquet;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.page.DataPage;
import org.apache.parquet.column.page.DataPageV1;
import org.apache.parquet.column.page.DataPageV2;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.column.page.PageReader;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.io.LocalInputFile;

/**
 * A table of files of one row group each, written by Iceberg's generic writer, whose row groups are
 * fetched and moved into an output.
 */
final class StoredRows implements AutoCloseable {
  private static final OutputSizes ONE_FILE = new OutputSizes(1L << 40, 0, 1L << 41);

  private final Path directory = Files.createTempDirectory("firn-bench");
  private final BufferAllocator allocator = new RootAllocator();
  private final Schema schema;
  private final Table table;
  private final Table nowhere;
  private final RangeReader ranges;
  private final TableReader reader;
  private final List<FileScanTask> tasks = new ArrayList<>();
  private final Set<Encoding> encodings = new TreeSet<>();
  private long bytes;
  private long rows;

  /**
   * @param pageVersion v1 or v2
   * @param files the rows of each file
   */
  StoredRows(Schema schema, String pageVersion, List<List<Record>> files) throws IOException {
    this.schema = schema;
    this.table =
        TableBuilder.at(directory.resolve("t"))
            .schema(schema)
            .property("write.parquet.compression-codec", "zstd")
            .property("write.parquet.page-version", pageVersion)
            .property("write.parquet.row-group-size-bytes", String.valueOf(1 << 30))
            .create();
    this.nowhere = Tables.withIo(table, io -> new NowhereIO());
    for (List<Record> records : files) {
      Path path = directory.resolve("source-" + rows + ".parquet");
      OutputFile file = table.io().newOutputFile(path.toString());
      FileAppender<Record> appender =
          Parquet.write(file)
              .forTable(table)
              .createWriterFunc(type -> GenericParquetWriter.create(schema, type))
              .build();
      try (appender) {
        appender.addAll(records);
      }
      DataFile written =
          DataFiles.builder(table.spec())
              .withInputFile(file.toInputFile())
              .withMetrics(appender.metrics())
              .withFormat(org.apache.iceberg.FileFormat.PARQUET)
              .build();
      table.newAppend().appendFile(written).commit();
      rows += records.size();
      try (ParquetFileReader footer = ParquetFileReader.open(new LocalInputFile(path))) {
        for (ColumnChunkMetaData chunk : footer.getRowGroups().get(0).getColumns()) {
          encodings.addAll(chunk.getEncodings());
          bytes += chunk.getTotalSize();
        }
      }
    }
    try (CloseableIterable<FileScanTask> planned = table.newScan().planFiles()) {
      planned.forEach(tasks::add);
    }
    this.ranges = RangeReader.over(table.io(), 4);
    this.reader =
        new TableReader(
            table.io(), schema, table.specs(), null, ranges, allocator, directory, 32_768);
  }

  /** Of the data pages, the dictionaries and the levels. */
  Set<Encoding> encodings() {
    return encodings;
  }

  /** Of the column chunks. */
  long bytes() {
    return bytes;
  }

  long rows() {
    return rows;
  }

  /** The data pages of the files as they are before compression. */
  List<byte[]> pages() throws IOException {
    List<byte[]> pages = new ArrayList<>();
    for (FileScanTask task : tasks) {
      Path path = Path.of(URI.create(task.file().location()).getPath());
      try (ParquetFileReader file = ParquetFileReader.open(new LocalInputFile(path))) {
        PageReadStore group = file.readNextRowGroup();
        for (ColumnDescriptor column : file.getFileMetaData().getSchema().getColumns()) {
          PageReader reader = group.getPageReader(column);
          for (DataPage page = reader.readPage(); page != null; page = reader.readPage()) {
            BytesInput bytes =
                page instanceof DataPageV2 second
                    ? second.getData()
                    : ((DataPageV1) page).getBytes();
            pages.add(bytes.toByteArray());
          }
        }
      }
    }
    return pages;
  }

  /** Moves the live rows into one file that is not kept. */
  DataFile splice(long[] live, int liveRows) throws IOException {
    return move(nowhere, live, liveRows);
  }

  /** Fetches all row groups and moves nothing. */
  long fetch() throws IOException {
    long fetched = 0;
    for (FileScanTask task : tasks) {
      SourceFile source = reader.openToSplice(task, schema, allocator, Long.MAX_VALUE);
      for (SourceFile.RowGroup group : source.rowGroups()) {
        try (RowGroupView view = source.fetch(group)) {
          fetched += view.rowGroup().rows();
        }
      }
    }
    return fetched;
  }

  private DataFile move(Table target, long[] live, int liveRows) throws IOException {
    DataFileOutput.Options options =
        new DataFileOutput.Options(
            target.spec(), null, ONE_FILE, 0, UUID.randomUUID().toString(), 0);
    try (DataFileOutput output = DataFileOutput.create(target, schema, options, Runnable::run, 1)) {
      for (FileScanTask task : tasks) {
        SourceFile source = reader.openToSplice(task, schema, allocator, Long.MAX_VALUE);
        for (SourceFile.RowGroup group : source.rowGroups()) {
          try (RowGroupView view = source.fetch(group)) {
            output.splice((SplicedView) view, live, liveRows, allocator);
          }
        }
      }
      if (output.spliceTotals().transcodedBytesInAll() > 0) {
        throw new IllegalStateException("Transcoded: " + output.spliceTotals());
      }
      return output.finish().get(0);
    }
  }

  /** Wrong code is not worth timing: the rows of a spliced file are read by Iceberg's reader. */
  void check(long[] live, int liveRows) throws IOException {
    List<Record> expected = new ArrayList<>();
    for (FileScanTask task : tasks) {
      List<Record> all = read(task.file().location());
      for (int row = 0; row < all.size(); row++) {
        if ((live[row >>> 6] >>> row & 1) != 0) {
          expected.add(all.get(row));
        }
      }
    }
    DataFile spliced = move(table, live, liveRows);
    if (!read(spliced.location()).equals(expected)) {
      throw new IllegalStateException("The spliced file has other rows");
    }
  }

  private List<Record> read(String location) throws IOException {
    try (CloseableIterable<Record> rows =
        Parquet.read(table.io().newInputFile(location))
            .project(schema)
            .createReaderFunc(type -> GenericParquetReaders.buildReader(schema, type))
            .build()) {
      List<Record> records = new ArrayList<>();
      rows.forEach(records::add);
      return records;
    }
  }

  @Override
  public void close() throws IOException {
    reader.close();
    ranges.close();
    allocator.close();
    EncodeBenchmark.delete(directory);
  }
}
