package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.GenericBlobMetadata;
import org.apache.iceberg.GenericStatisticsFile;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.ImmutableGenericPartitionStatisticsFile;
import org.apache.iceberg.ManifestContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.MetadataTableType;
import org.apache.iceberg.MetadataTableUtils;
import org.apache.iceberg.PartitionStatisticsFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StatisticsFile;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.CloseableIterable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a compaction leaves in manifests, snapshots and table metadata. */
class ManifestRulesTest {
  private static final int EXISTING = 0;
  private static final int ADDED = 1;
  private static final int DELETED = 2;

  /** An entry of a data manifest of the snapshot, also of a file that is gone. */
  private record Entry(int status, long snapshotId, Long sequence, Long fileSequence) {}

  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
  }

  private Table withDeletes(int formatVersion) {
    return SmallTable.withDeletes(directory.resolve("table"), formatVersion);
  }

  private static Map<String, Entry> entries(Table table) {
    Map<String, Entry> entries = new HashMap<>();
    Table metadata =
        MetadataTableUtils.createMetadataTableInstance(table, MetadataTableType.ENTRIES);
    try (CloseableIterable<FileScanTask> tasks = metadata.newScan().planFiles()) {
      for (FileScanTask task : tasks) {
        try (CloseableIterable<StructLike> rows = task.asDataTask().rows()) {
          for (StructLike row : rows) {
            StructLike file = row.get(4, StructLike.class);
            if (file.get(0, Integer.class) != FileContent.DATA.id()) {
              continue;
            }
            Entry before =
                entries.put(
                    file.get(1, String.class),
                    new Entry(
                        row.get(0, Integer.class),
                        row.get(1, Long.class),
                        row.get(2, Long.class),
                        row.get(3, Long.class)));
            assertThat(before).as("a file's entry").isNull();
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return entries;
  }

  private static TableMetadata metadata(Table table) {
    return ((HasTableOperations) table).operations().refresh();
  }

  private static List<DeleteFile> deletes(Table table) {
    return TableRows.deleteFiles(table, table.currentSnapshot());
  }

  private static List<DataFile> files(Table table) {
    return TableRows.dataFiles(table, table.currentSnapshot());
  }

  // ---- summary

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void n1n2c21TheSnapshotIsAReplaceWithTrueCounts(int formatVersion) {
    Table table = withDeletes(formatVersion);
    List<DataFile> before = files(table);
    List<DeleteFile> deletesBefore = deletes(table);
    CompactionReport report = Runs.of(table, Runs.all(scratch));
    Snapshot snapshot = table.currentSnapshot();
    List<DataFile> after = files(table);
    List<DeleteFile> deletesAfter = deletes(table);
    long removed = deletesBefore.size() - deletesAfter.size();
    assertThat(snapshot.operation()).isEqualTo(DataOperations.REPLACE);
    Map<String, String> summary = new TreeMap<>(snapshot.summary());
    assertThat(summary)
        .containsEntry("added-data-files", "" + after.size())
        .containsEntry("deleted-data-files", "" + before.size())
        .containsEntry("added-records", "" + rows(after))
        .containsEntry("deleted-records", "" + rows(before))
        .containsEntry("added-files-size", "" + bytes(after))
        .containsEntry("total-data-files", "" + after.size())
        .containsEntry("total-records", "" + rows(after))
        .containsEntry("total-delete-files", "" + deletesAfter.size())
        .containsEntry("changed-partition-count", "2");
    assertThat(Long.parseLong(summary.getOrDefault("removed-delete-files", "0")))
        .isEqualTo(removed)
        .isEqualTo(report.deleteFilesRemoved());
    assertThat(rows(after)).isLessThan(rows(before)).isEqualTo(report.rows().written());
    assertThat(summary.keySet())
        .noneMatch(key -> key.startsWith("added-") && key.contains("delete"));
  }

  private static long rows(List<DataFile> files) {
    return files.stream().mapToLong(DataFile::recordCount).sum();
  }

  private static long bytes(List<DataFile> files) {
    return files.stream().mapToLong(DataFile::fileSizeInBytes).sum();
  }

  // ---- entries

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void n3c3c21EntriesKeepStatusSnapshotAndSequenceNumbersWhenManifestsMerge(int formatVersion) {
    Table table = withDeletes(formatVersion);
    table.updateProperties().set("commit.manifest.min-count-to-merge", "2").commit();
    Map<String, Entry> live = new HashMap<>(entries(table));
    live.values().removeIf(entry -> entry.status() == DELETED);
    Snapshot base = table.currentSnapshot();
    Set<String> eu = locations(SmallTable.files(table, "eu"));
    Set<String> us = locations(SmallTable.files(table, "us"));
    Runs.of(table, Runs.all(scratch).filter(Expressions.equal("region", "eu")));
    Snapshot snapshot = table.currentSnapshot();
    Map<String, Entry> after = entries(table);
    for (String location : eu) {
      Entry was = live.get(location);
      assertThat(after.get(location))
          .as("removed %s", location)
          .isEqualTo(new Entry(DELETED, snapshot.snapshotId(), was.sequence(), was.fileSequence()));
    }
    for (String location : us) {
      Entry was = live.get(location);
      assertThat(after.get(location))
          .as("kept %s", location)
          .isEqualTo(new Entry(EXISTING, was.snapshotId(), was.sequence(), was.fileSequence()));
    }
    Set<String> added = locations(files(table));
    added.removeAll(us);
    assertThat(added).isNotEmpty();
    for (String location : added) {
      assertThat(after.get(location))
          .as("added %s", location)
          .isEqualTo(
              new Entry(
                  ADDED, snapshot.snapshotId(), base.sequenceNumber(), snapshot.sequenceNumber()));
    }
    assertThat(snapshot.dataManifests(table.io())).as("merged").hasSizeLessThan(3);

    TableFiles.of(table).append(SmallTable.rows(500, 3, "us")); // and they stay when merged again
    table.refresh();
    for (DataFile file : files(table)) {
      if (added.contains(file.location())) {
        assertThat(file.dataSequenceNumber()).isEqualTo(base.sequenceNumber());
        assertThat(file.fileSequenceNumber()).isEqualTo(snapshot.sequenceNumber());
      }
    }
  }

  private static Set<String> locations(List<DataFile> files) {
    return files.stream().map(DataFile::location).collect(Collectors.toSet());
  }

  @Test
  void c21IncrementalReadersSeeNothing() throws IOException {
    Table table = withDeletes(2);
    long before = table.currentSnapshot().snapshotId();
    Runs.of(table, Runs.all(scratch));
    try (CloseableIterable<FileScanTask> added =
        table.newIncrementalAppendScan().fromSnapshotExclusive(before).planFiles()) {
      assertThat(added).isEmpty();
    }
  }

  // ---- delete files

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void n4n9d32d33OnlyDeletesOfRemovedFilesGoAndNoneCome(int formatVersion) {
    Table table = withDeletes(formatVersion);
    Map<String, DeleteFile> before = byId(deletes(table));
    Set<String> eu = locations(SmallTable.files(table, "eu"));
    List<String> rows = TableBefore.rows(table, table.currentSnapshot());
    Runs.of(table, Runs.all(scratch).filter(Expressions.equal("region", "eu")));
    Map<String, DeleteFile> after = byId(deletes(table));
    assertThat(TableBefore.rows(table, table.currentSnapshot())).isEqualTo(rows);
    assertThat(before).containsAllEntriesOf(stripped(after, before));
    assertThat(before.keySet()).containsAll(after.keySet());
    Set<String> gone = new java.util.HashSet<>(before.keySet());
    gone.removeAll(after.keySet());
    Set<String> vectorsOfRemoved =
        before.entrySet().stream()
            .filter(entry -> entry.getValue().format() == FileFormat.PUFFIN)
            .filter(entry -> eu.contains(entry.getValue().referencedDataFile()))
            .map(Map.Entry::getKey)
            .collect(Collectors.toSet());
    assertThat(gone).isEqualTo(vectorsOfRemoved).hasSize(formatVersion == 2 ? 0 : 1);
    assertThat(TableUtil.formatVersion(table)).isEqualTo(formatVersion);
    boolean puffins =
        after.values().stream()
            .filter(delete -> delete.content() == FileContent.POSITION_DELETES)
            .allMatch(delete -> delete.format() == FileFormat.PUFFIN);
    assertThat(puffins).isEqualTo(formatVersion == 3);
  }

  private static Map<String, DeleteFile> stripped(
      Map<String, DeleteFile> some, Map<String, DeleteFile> from) {
    return from.entrySet().stream()
        .filter(entry -> some.containsKey(entry.getKey()))
        .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
  }

  /** Several vectors lie in one file (D29). */
  private static Map<String, DeleteFile> byId(List<DeleteFile> deletes) {
    Map<String, DeleteFile> byId = new TreeMap<>();
    for (DeleteFile delete : deletes) {
      assertThat(byId.put(delete.location() + "#" + delete.contentOffset(), delete)).isNull();
    }
    return byId;
  }

  // ---- manifests

  @Test
  void n6EachManifestIsOfOneSpec() {
    Table table = withDeletes(2);
    table.updateSpec().addField(Expressions.bucket("id", 2)).commit();
    TableFiles files = TableFiles.of(table);
    files.append(files.dataByPartition(SmallTable.rows(200, 8, "eu")).toArray(DataFile[]::new));
    table.refresh();
    Runs.of(table, Runs.all(scratch).filter(Expressions.equal("region", "eu")));
    Set<Integer> specs = table.specs().keySet();
    assertThat(specs).hasSize(2);
    for (ManifestFile manifest : table.currentSnapshot().dataManifests(table.io())) {
      for (DataFile file : files(table)) {
        if (manifest.path().equals(file.manifestLocation())) {
          assertThat(file.specId()).isEqualTo(manifest.partitionSpecId());
        }
      }
    }
    assertThat(files(table).stream().map(DataFile::specId)).contains(0, 1);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void n6CommitsAreAsFewAsAsked(int commits) {
    Table table = TableBuilder.at(directory.resolve("table")).schema(SmallTable.SCHEMA).create();
    for (int i = 0; i < 6; i++) {
      TableFiles.of(table).append(SmallTable.rows(10 * i, 5, "eu"));
    }
    CompactionReport report =
        Runs.of(
            table,
            Runs.all(scratch)
                .option("max-file-group-input-files", "1")
                .option("partial-progress.enabled", "true")
                .option("partial-progress.max-commits", "" + commits));
    assertThat(report.groups().committed()).isEqualTo(6);
    assertThat(report.snapshotsCommitted()).hasSize(commits);
  }

  // ---- table metadata

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void n11NothingButTheBranchChanges(int formatVersion) {
    Table table = withDeletes(formatVersion);
    table.replaceSortOrder().asc("id").commit();
    table.manageSnapshots().createTag("tag", table.currentSnapshot().snapshotId()).commit();
    table.manageSnapshots().createBranch("b", table.currentSnapshot().snapshotId()).commit();
    TableMetadata before = metadata(table);
    Runs.of(table, Runs.all(scratch).layout(new Layout.TableOrder()));
    TableMetadata after = metadata(table);
    assertThat(after.properties()).isEqualTo(before.properties());
    assertThat(after.formatVersion()).isEqualTo(before.formatVersion());
    assertThat(after.schemas()).hasSameSizeAs(before.schemas());
    assertThat(after.currentSchemaId()).isEqualTo(before.currentSchemaId());
    assertThat(after.specs()).isEqualTo(before.specs());
    assertThat(after.defaultSpecId()).isEqualTo(before.defaultSpecId());
    assertThat(after.sortOrders()).isEqualTo(before.sortOrders());
    assertThat(after.defaultSortOrderId()).isEqualTo(before.defaultSortOrderId());
    assertThat(after.location()).isEqualTo(before.location());
    assertThat(after.refs().keySet()).isEqualTo(before.refs().keySet());
    assertThat(after.ref("tag")).isEqualTo(before.ref("tag"));
    assertThat(after.ref("b")).isEqualTo(before.ref("b"));
    assertThat(after.snapshots()).hasSize(before.snapshots().size() + 1);
    assertThat(after.currentSnapshot().parentId()).isEqualTo(before.currentSnapshot().snapshotId());
  }

  @Test
  void n7StatisticsStayWithTheirSnapshot() throws IOException {
    Table table = withDeletes(2);
    long snapshot = table.currentSnapshot().snapshotId();
    Path puffin = Files.writeString(directory.resolve("table/metadata/some.stats"), "statistics");
    Path parts = Files.writeString(directory.resolve("table/metadata/parts.parquet"), "partitions");
    StatisticsFile statistics =
        new GenericStatisticsFile(
            snapshot,
            "file:" + puffin,
            10,
            4,
            List.of(
                new GenericBlobMetadata("a-type", snapshot, 7, List.of(1), Map.of("ndv", "5"))));
    PartitionStatisticsFile partitions =
        ImmutableGenericPartitionStatisticsFile.builder()
            .snapshotId(snapshot)
            .path("file:" + parts)
            .fileSizeInBytes(10)
            .build();
    table.updateStatistics().setStatistics(statistics).commit();
    table.updatePartitionStatistics().setPartitionStatistics(partitions).commit();
    Runs.of(table, Runs.all(scratch));
    assertThat(table.statisticsFiles()).containsExactly(statistics);
    assertThat(table.partitionStatisticsFiles()).containsExactly(partitions);
    assertThat(puffin).hasContent("statistics");
    assertThat(parts).hasContent("partitions");
  }

  @Test
  void n8AVersion1TableIsCompactedAndStaysOne() {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(SmallTable.SCHEMA)
            .partitionBy(spec -> spec.identity("region"))
            .formatVersion(1)
            .create();
    TableFiles files = TableFiles.of(table);
    for (int i = 0; i < 3; i++) {
      files.append(SmallTable.rows(10 * i, 10, "eu"));
    }
    table.refresh();
    List<String> rows = TableRows.live(table);
    Runs.beside(
        table,
        Runs.all(scratch),
        other -> TableFiles.of(other).append(SmallTable.rows(100, 1, "us")));
    assertThat(TableUtil.formatVersion(table)).isOne();
    assertThat(files(table)).hasSize(2).allMatch(file -> file.dataSequenceNumber() == 0);
    List<String> expected = new ArrayList<>(rows);
    assertThat(TableRows.live(table)).hasSize(31).containsAll(expected);
    assertThat(table.currentSnapshot().allManifests(table.io()))
        .allMatch(manifest -> manifest.content() == ManifestContent.DATA);
  }

  @ParameterizedTest
  @ValueSource(strings = {"main", "none"})
  void n12ABranchWithoutFilesIsNothingToDo(String branch) {
    Table table = TableBuilder.at(directory.resolve("table")).schema(SmallTable.SCHEMA).create();
    table.manageSnapshots().createBranch("none").commit(); // with an empty snapshot
    table.refresh();
    assertThat(table.refs()).containsOnlyKeys("none");
    CompactionReport report =
        new Compaction(table, Runs.all(scratch).branch(branch).build(), CompactionListener.NONE)
            .run();
    assertThat(report.exitCode()).isZero();
    assertThat(report.groups().planned()).isZero();
    assertThat(report.snapshotsCommitted()).isEmpty();
    table.refresh();
    assertThat(table.snapshots()).hasSize(1);
  }
}
