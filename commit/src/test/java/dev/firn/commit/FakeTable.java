package dev.firn.commit;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteDataFilesCommitManager;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;

/** A table of metadata and files without content, whose catalog can be made to fail. */
final class FakeTable implements AutoCloseable {
  static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.IntegerType.get()),
          optional(2, "v", Types.StringType.get()),
          optional(3, "w", Types.StringType.get()),
          optional(4, "u", Types.UUIDType.get()));

  static final PartitionSpec BY_V = PartitionSpec.builderFor(SCHEMA).identity("v").build();

  private static final TableIdentifier NAME = TableIdentifier.of("db", "t");

  private final InMemoryCatalog catalog = new InMemoryCatalog();
  private final InMemoryFileIO io;
  final FaultyOperations operations;

  /** The compaction's own handle, with the faults. Everybody else has one of {@link #other}. */
  final Table table;

  private FakeTable(int formatVersion, PartitionSpec spec, Map<String, String> properties) {
    catalog.initialize("fake", Map.of());
    catalog.createNamespace(Namespace.of("db"));
    Map<String, String> all = new HashMap<>(properties);
    all.put("format-version", Integer.toString(formatVersion));
    all.putIfAbsent("commit.retry.min-wait-ms", "1");
    all.putIfAbsent("commit.retry.max-wait-ms", "2");
    Table created = catalog.createTable(NAME, SCHEMA, spec, all);
    this.io = (InMemoryFileIO) created.io();
    this.operations = new FaultyOperations(((HasTableOperations) created).operations());
    this.table = new BaseTable(operations, created.name());
  }

  static FakeTable v2() {
    return new FakeTable(2, PartitionSpec.unpartitioned(), Map.of());
  }

  static FakeTable of(int formatVersion, PartitionSpec spec) {
    return new FakeTable(formatVersion, spec, Map.of());
  }

  static FakeTable of(int formatVersion, PartitionSpec spec, Map<String, String> properties) {
    return new FakeTable(formatVersion, spec, properties);
  }

  /** Another client's handle, fresh. */
  Table other() {
    return catalog.loadTable(NAME);
  }

  InMemoryFileIO io() {
    return io;
  }

  static DataFile dataFile(String name) {
    return dataFile(PartitionSpec.unpartitioned(), "", name, 10);
  }

  static DataFile dataFile(PartitionSpec spec, String partition, String name, long rows) {
    return dataFile(spec, partition, name, rows, null);
  }

  static DataFile dataFile(
      PartitionSpec spec, String partition, String name, long rows, Metrics metrics) {
    DataFiles.Builder builder =
        DataFiles.builder(spec)
            .withPath(path(name))
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(100);
    if (spec.isPartitioned()) {
      builder.withPartitionPath(partition);
    }
    if (metrics != null) {
      builder.withMetrics(metrics);
    }
    return builder.withRecordCount(rows).build();
  }

  static String path(String name) {
    return "memory:/t/data/" + name + ".parquet";
  }

  static DeleteFile equalityDeletes(
      PartitionSpec spec, String partition, String name, int... fieldIds) {
    FileMetadata.Builder builder =
        FileMetadata.deleteFileBuilder(spec)
            .ofEqualityDeletes(fieldIds)
            .withPath(path(name))
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(10)
            .withRecordCount(1);
    if (spec.isPartitioned()) {
      builder.withPartitionPath(partition);
    }
    return builder.build();
  }

  static DeleteFile equalityDeletes(String name) {
    return equalityDeletes(PartitionSpec.unpartitioned(), "", name, 1);
  }

  /** Position deletes of one data file, or of a whole partition if that is null. */
  static DeleteFile positionDeletes(
      PartitionSpec spec, String partition, String name, String referencedName) {
    FileMetadata.Builder builder =
        FileMetadata.deleteFileBuilder(spec)
            .ofPositionDeletes()
            .withPath(path(name))
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(10)
            .withRecordCount(1);
    if (spec.isPartitioned()) {
      builder.withPartitionPath(partition);
    }
    if (referencedName != null) {
      builder.withReferencedDataFile(path(referencedName));
    }
    return builder.build();
  }

  static DeleteFile deletionVector(String name, String referencedName) {
    return deletionVector(PartitionSpec.unpartitioned(), "", name, referencedName);
  }

  static DeleteFile deletionVector(
      PartitionSpec spec, String partition, String name, String referencedName) {
    FileMetadata.Builder builder = FileMetadata.deleteFileBuilder(spec).ofPositionDeletes();
    if (spec.isPartitioned()) {
      builder.withPartitionPath(partition);
    }
    return builder
        .withPath("memory:/t/data/" + name + ".puffin")
        .withFormat(FileFormat.PUFFIN)
        .withFileSizeInBytes(10)
        .withRecordCount(1)
        .withReferencedDataFile(path(referencedName))
        .withContentOffset(4)
        .withContentSizeInBytes(6)
        .build();
  }

  /** Appends unpartitioned files of ten rows in one snapshot. */
  FakeTable append(String... names) {
    List<DataFile> files = new ArrayList<>();
    for (String name : names) {
      files.add(dataFile(name));
    }
    return append(files.toArray(DataFile[]::new));
  }

  FakeTable append(DataFile... files) {
    AppendFiles append = other().newAppend();
    for (DataFile file : files) {
      io().addFile(file.location(), new byte[] {1});
      append.appendFile(file);
    }
    append.commit();
    table.refresh();
    return this;
  }

  FakeTable delete(DeleteFile... files) {
    RowDelta delta = other().newRowDelta();
    for (DeleteFile file : files) {
      delta.addDeletes(file);
    }
    delta.commit();
    return this;
  }

  CommitBase base() {
    return base(SnapshotRef.MAIN_BRANCH);
  }

  CommitBase base(String branch) {
    table.refresh();
    Snapshot snapshot = table.snapshot(branch);
    return new CommitBase(
        snapshot.snapshotId(),
        snapshot.sequenceNumber(),
        TableUtil.formatVersion(table),
        table.schema(),
        branch);
  }

  static CommitSettings settings(int groupsPerCommit) {
    return settings(groupsPerCommit, true, true);
  }

  static CommitSettings settings(
      int groupsPerCommit, boolean partialProgress, boolean startingSequenceNumber) {
    return new CommitSettings(
        "run-1",
        groupsPerCommit,
        partialProgress,
        0,
        startingSequenceNumber,
        Map.of("team", "tundra"),
        Duration.ofMillis(300),
        3);
  }

  CommitCoordinator coordinator(CommitBase base) {
    return new CommitCoordinator(table, base, settings(100));
  }

  /** A group of the named inputs as they are on the base, rewritten into the outputs. */
  RewriteFileGroup group(CommitBase base, List<String> inputs, DataFile... outputs) {
    Map<String, FileScanTask> tasks = tasks(other(), base.snapshotId());
    List<FileScanTask> chosen = new ArrayList<>();
    for (String input : inputs) {
      chosen.add(tasks.get(path(input)));
    }
    return group(chosen, outputs);
  }

  RewriteFileGroup group(List<FileScanTask> tasks, DataFile... outputs) {
    RewriteFileGroup group =
        new RewriteFileGroup(new GroupInfo(7), tasks, table.spec().specId(), 1000, 1000, 1);
    for (DataFile output : outputs) {
      io().addFile(output.location(), new byte[] {2});
    }
    group.setOutputFiles(Set.of(outputs));
    return group;
  }

  static Map<String, FileScanTask> tasks(Table table, long snapshotId) {
    Map<String, FileScanTask> tasks = new TreeMap<>();
    try (CloseableIterable<FileScanTask> planned =
        table
            .newScan()
            .useSnapshot(snapshotId)
            .ignoreResiduals()
            .includeColumnStats()
            .planFiles()) {
      for (FileScanTask task : planned) {
        if (tasks.put(task.file().location(), task) != null) {
          throw new AssertionError(task.file().location() + " is live twice");
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return tasks;
  }

  /** What the reference implementation does with the group. */
  void commitPlainly(CommitBase base, boolean startingSequenceNumber, RewriteFileGroup group) {
    new RewriteDataFilesCommitManager(other(), base.snapshotId(), startingSequenceNumber)
        .commitFileGroups(Set.of(group));
  }

  /** The live data files of main, each with the delete files that apply to it, by name. */
  Map<String, Set<String>> live() {
    return live(SnapshotRef.MAIN_BRANCH);
  }

  Map<String, Set<String>> live(String branch) {
    Table fresh = other();
    Map<String, Set<String>> live = new TreeMap<>();
    tasks(fresh, fresh.snapshot(branch).snapshotId())
        .forEach(
            (path, task) -> {
              Set<String> deletes = new TreeSet<>();
              task.deletes().forEach(delete -> deletes.add(name(delete.location())));
              live.put(name(path), deletes);
            });
    return live;
  }

  static String name(String path) {
    return path.substring(path.lastIndexOf('/') + 1, path.lastIndexOf('.'));
  }

  boolean exists(String name) {
    return io().fileExists(path(name));
  }

  static Metrics uuidMetrics(String lower, String upper) {
    return new Metrics(
        10L,
        Map.of(),
        Map.of(4, 10L),
        Map.of(4, 0L),
        Map.of(),
        Map.of(4, uuidBytes(lower)),
        Map.of(4, uuidBytes(upper)));
  }

  private static ByteBuffer uuidBytes(String first) {
    ByteBuffer bytes = ByteBuffer.allocate(16);
    bytes.put(0, (byte) Integer.parseInt(first, 16));
    return bytes;
  }

  @Override
  public void close() throws IOException {
    catalog.close();
  }

  private record GroupInfo(int globalIndex) implements RewriteDataFiles.FileGroupInfo {
    @Override
    public int partitionIndex() {
      return 0;
    }

    @Override
    public StructLike partition() {
      return null;
    }
  }
}
