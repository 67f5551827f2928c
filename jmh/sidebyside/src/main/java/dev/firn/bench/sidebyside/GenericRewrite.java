package dev.firn.bench.sidebyside;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericDeleteFilter;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetReaders;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.util.StructLikeWrapper;

/**
 * What one would write with Iceberg's library and nothing else: files are put in bins of the target
 * size, and each bin is read and written row by row, one bin on each thread. Bin-pack only, and row
 * lineage is not kept.
 */
final class GenericRewrite {
  private GenericRewrite() {}

  static Work run(Job job) throws Exception {
    long start = System.nanoTime();
    Table table = new Warehouse(Path.of(job.warehouse())).table(job.which());
    Snapshot snapshot = table.currentSnapshot();
    List<FileScanTask> tasks = Warehouse.tasks(table);
    List<DataFile> outputs =
        writeAll(table, bins(table, tasks, job.targetFileSizeBytes()), job.threads());
    RewriteFiles rewrite =
        table
            .newRewrite()
            .validateFromSnapshot(snapshot.snapshotId())
            .dataSequenceNumber(snapshot.sequenceNumber());
    tasks.forEach(task -> rewrite.deleteFile(task.file()));
    outputs.forEach(rewrite::addFile);
    rewrite.commit();
    return Work.since(start);
  }

  /** The output that parts of a partition's files go to until it is full. */
  private static final class Bin {
    final List<FileScanTask> parts = new ArrayList<>();
    long bytes;
  }

  /** Parts of files that go to one output: of one partition, and as large as files are to be. */
  private static List<List<FileScanTask>> bins(
      Table table, List<FileScanTask> tasks, long targetBytes) {
    Map<StructLikeWrapper, Bin> open = new HashMap<>();
    List<List<FileScanTask>> bins = new ArrayList<>();
    for (FileScanTask file : tasks) {
      StructLikeWrapper partition =
          StructLikeWrapper.forType(table.spec().partitionType()).set(file.file().partition());
      for (FileScanTask part : file.split(targetBytes)) {
        Bin bin = open.get(partition);
        if (bin == null || bin.bytes + part.length() > targetBytes) {
          bin = new Bin();
          bins.add(bin.parts);
          open.put(partition, bin);
        }
        bin.parts.add(part);
        bin.bytes += part.length();
      }
    }
    return bins;
  }

  private static List<DataFile> writeAll(Table table, List<List<FileScanTask>> bins, int threads)
      throws InterruptedException, ExecutionException {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<Future<DataFile>> writing = new ArrayList<>();
      for (List<FileScanTask> bin : bins) {
        int number = writing.size();
        writing.add(pool.submit(() -> write(table, bin, number)));
      }
      List<DataFile> files = new ArrayList<>();
      for (Future<DataFile> each : writing) {
        files.add(each.get());
      }
      return files;
    } finally {
      pool.shutdownNow();
    }
  }

  private static DataFile write(Table table, List<FileScanTask> bin, int number)
      throws IOException {
    GenericFileWriterFactory writers =
        new GenericFileWriterFactory.Builder(table)
            .dataFileFormat(FileFormat.PARQUET)
            .dataSchema(table.schema())
            .build();
    OutputFileFactory files =
        OutputFileFactory.builderFor(table, number, number).format(FileFormat.PARQUET).build();
    DataWriter<Record> writer =
        writers.newDataWriter(
            files.newOutputFile(table.spec(), bin.get(0).partition()),
            table.spec(),
            bin.get(0).partition());
    try (writer) {
      for (FileScanTask task : bin) {
        GenericDeleteFilter deletes =
            new GenericDeleteFilter(table.io(), task, table.schema(), table.schema());
        try (CloseableIterable<Record> rows = deletes.filter(read(table, task, deletes))) {
          rows.forEach(writer::write);
        }
      }
    }
    return writer.toDataFile();
  }

  private static CloseableIterable<Record> read(
      Table table, FileScanTask task, GenericDeleteFilter deletes) {
    Schema schema = deletes.requiredSchema();
    return Parquet.read(table.io().newInputFile(task.file().location()))
        .project(schema)
        .createReaderFunc(file -> GenericParquetReaders.buildReader(schema, file))
        .split(task.start(), task.length())
        .build();
  }
}
