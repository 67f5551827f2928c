package dev.firn.deletes;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.deletes.Deletes;
import org.apache.iceberg.deletes.PositionDeleteIndex;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.io.CloseableIterable;

/**
 * A table of Iceberg's in-memory catalog, so that sequence numbers and scan tasks are Iceberg's
 * own, with rows in a {@link RowsInMemory}.
 */
final class TableInMemory implements AutoCloseable {
  static final DeleteLimits NO_LIMIT = new DeleteLimits(Long.MAX_VALUE);

  private final InMemoryCatalog catalog = new InMemoryCatalog();
  final ExecutorService threads = Executors.newFixedThreadPool(3);
  final Table table;
  final RowsInMemory rows = new RowsInMemory();
  private int fileCount;

  TableInMemory(Schema schema, PartitionSpec spec, int formatVersion) {
    catalog.initialize("memory", Map.of());
    catalog.createNamespace(Namespace.of("db"));
    table =
        catalog.createTable(
            TableIdentifier.of("db", "t"),
            schema,
            spec,
            Map.of("format-version", String.valueOf(formatVersion)));
  }

  PartitionSpec spec() {
    return table.spec();
  }

  /** A row from field ids and values by turns. */
  static Map<Integer, Object> row(Object... idsAndValues) {
    Map<Integer, Object> row = new HashMap<>();
    for (int i = 0; i < idsAndValues.length; i += 2) {
      row.put((Integer) idsAndValues[i], idsAndValues[i + 1]);
    }
    return row;
  }

  @SafeVarargs
  final DataFile data(PartitionSpec spec, StructLike partition, Map<Integer, Object>... content) {
    return dataAt("memory://t/data-" + fileCount++ + ".parquet", spec, partition, content);
  }

  @SafeVarargs
  final DataFile dataAt(
      String location, PartitionSpec spec, StructLike partition, Map<Integer, Object>... content) {
    rows.put(location, Arrays.asList(content));
    DataFiles.Builder builder =
        DataFiles.builder(spec)
            .withPath(location)
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(1000)
            .withRecordCount(content.length);
    if (spec.isPartitioned()) {
      builder.withPartition(partition);
    }
    return builder.build();
  }

  /** A data file of which only the metadata is here. */
  DataFile dataOfRows(PartitionSpec spec, long rows) {
    return DataFiles.builder(spec)
        .withPath("memory://t/data-" + fileCount++ + ".parquet")
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(1000)
        .withRecordCount(rows)
        .build();
  }

  /** An equality delete file of which only the metadata is here. */
  DeleteFile equalityOfRows(PartitionSpec spec, int[] ids, long rows) {
    return FileMetadata.deleteFileBuilder(spec)
        .ofEqualityDeletes(ids)
        .withPath("memory://t/eq-" + fileCount++ + ".parquet")
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(100)
        .withRecordCount(rows)
        .build();
  }

  @SafeVarargs
  final DeleteFile equality(
      PartitionSpec spec, StructLike partition, int[] ids, Map<Integer, Object>... content) {
    String location = "memory://t/eq-" + fileCount++ + ".parquet";
    rows.put(location, Arrays.asList(content));
    FileMetadata.Builder builder =
        FileMetadata.deleteFileBuilder(spec)
            .ofEqualityDeletes(ids)
            .withPath(location)
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(100)
            .withRecordCount(content.length);
    if (spec.isPartitioned()) {
      builder.withPartition(partition);
    }
    return builder.build();
  }

  /** A position delete file with the paths and positions by turns. */
  DeleteFile positions(PartitionSpec spec, StructLike partition, Object... pathsAndPositions) {
    List<Map<Integer, Object>> content = new ArrayList<>();
    for (int i = 0; i < pathsAndPositions.length; i += 2) {
      content.add(
          row(RowsInMemory.PATH, pathsAndPositions[i], RowsInMemory.POS, pathsAndPositions[i + 1]));
    }
    String location = "memory://t/pos-" + fileCount++ + ".parquet";
    rows.put(location, content);
    FileMetadata.Builder builder =
        FileMetadata.deleteFileBuilder(spec)
            .ofPositionDeletes()
            .withPath(location)
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(100)
            .withRecordCount(content.size());
    if (spec.isPartitioned()) {
      builder.withPartition(partition);
    }
    return builder.build();
  }

  /** The blob that Iceberg writes for these positions. */
  static byte[] blob(Long... positions) {
    PositionDeleteIndex index =
        Deletes.toPositionIndex(CloseableIterable.withNoopClose(Arrays.asList(positions)));
    java.nio.ByteBuffer buffer = index.serialize();
    byte[] blob = new byte[buffer.remaining()];
    buffer.get(blob);
    return blob;
  }

  DeleteFile vector(DataFile file, String puffin, long offset, Long... positions) {
    byte[] blob = blob(positions);
    DeleteFile vector =
        vectorMetadata(
            file.location(),
            file,
            puffin,
            offset,
            blob.length,
            new TreeSet<>(Arrays.asList(positions)).size());
    rows.put(vector, blob);
    return vector;
  }

  DeleteFile vectorMetadata(
      String referenced, DataFile file, String puffin, long offset, long size, long cardinality) {
    PartitionSpec spec = table.specs().get(file.specId());
    FileMetadata.Builder builder =
        FileMetadata.deleteFileBuilder(spec)
            .ofPositionDeletes()
            .withPath(puffin)
            .withFormat(FileFormat.PUFFIN)
            .withFileSizeInBytes(1000)
            .withReferencedDataFile(referenced)
            .withContentOffset(offset)
            .withContentSizeInBytes(size)
            .withRecordCount(cardinality);
    if (spec.isPartitioned()) {
      builder.withPartition(file.partition());
    }
    return builder.build();
  }

  void append(DataFile... files) {
    commit(List.of(files), List.of());
  }

  void delete(DeleteFile... files) {
    commit(List.of(), List.of(files));
  }

  void commit(List<DataFile> data, List<DeleteFile> deletes) {
    RowDelta delta = table.newRowDelta();
    data.forEach(delta::addRows);
    deletes.forEach(delta::addDeletes);
    delta.commit();
  }

  /** The tasks of all data files, ordered by location. */
  List<FileScanTask> tasks() throws IOException {
    List<FileScanTask> tasks = new ArrayList<>();
    try (CloseableIterable<FileScanTask> planned = table.newScan().ignoreResiduals().planFiles()) {
      planned.forEach(tasks::add);
    }
    tasks.sort(Comparator.comparing(task -> task.file().location()));
    return tasks;
  }

  GroupDeletes resolve(List<FileScanTask> tasks) throws IOException {
    return resolve(tasks, FileScanTask::deletes, NO_LIMIT);
  }

  GroupDeletes resolve(List<FileScanTask> tasks, DeleteLimits limits) throws IOException {
    return resolve(tasks, FileScanTask::deletes, limits);
  }

  GroupDeletes resolve(
      List<FileScanTask> tasks,
      Function<FileScanTask, List<DeleteFile>> deletes,
      DeleteLimits limits)
      throws IOException {
    return GroupDeletes.resolve(
        table.specs(),
        table.schema(),
        table.schemas().values(),
        tasks,
        deletes,
        rows,
        limits,
        threads);
  }

  /** The deleted positions of each data file by location. */
  Map<String, List<Long>> deleted() throws IOException {
    List<FileScanTask> tasks = tasks();
    Map<String, List<Long>> deleted = new HashMap<>();
    GroupDeletes deletes = resolve(tasks);
    for (FileScanTask task : tasks) {
      deleted.put(
          task.file().location(), positions(deletes.deletedRows(task), task.file().recordCount()));
    }
    return deleted;
  }

  /** The deleted positions below a number of rows, through the face of {@link DeletedRows}. */
  static List<Long> positions(DeletedRows deleted, long rows) {
    List<Long> positions = new ArrayList<>();
    for (long row = 0; row < rows; row++) {
      if (deleted.anyIn(row, 1)) {
        positions.add(row);
      }
    }
    if (positions.size() != deleted.count()) {
      throw new AssertionError("count is " + deleted.count() + ", positions are " + positions);
    }
    return positions;
  }

  @Override
  public void close() throws IOException {
    threads.shutdown();
    rows.close();
    catalog.close();
  }
}
