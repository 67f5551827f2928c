package dev.firn.engine;

import dev.firn.commit.PartitionTuple;
import dev.firn.engine.parquet.CorruptFileException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.io.CloseableIterable;

/**
 * The live data files of a snapshot with the delete files that apply to them, from a plain scan.
 *
 * @param tasks whole files
 * @param specs the table's specs by id, with the types that they had when the snapshot was made:
 *     the scan of a snapshot reads partition tuples by its schema, of before a promotion
 * @param unpruned the deletes that the planner may have pruned wrongly (H5, D18, D19)
 */
record SnapshotFiles(
    List<FileScanTask> tasks, Map<Integer, PartitionSpec> specs, UnprunedDeletes unpruned) {

  /**
   * Scans a snapshot.
   *
   * @param wanted which data files to keep, by location
   * @throws CorruptFileException if the metadata contradicts itself (D5, D6)
   */
  static SnapshotFiles of(Table table, Snapshot snapshot, Predicate<String> wanted) {
    try {
      return of(table, table, snapshot, wanted);
    } catch (RuntimeException e) {
      Table plannable = LostFields.hindered(e) ? LostFields.plannable(table, snapshot) : null;
      if (plannable == null) {
        throw e;
      }
      return of(table, plannable, snapshot, wanted);
    }
  }

  /**
   * @param scanned what is scanned in place of the table (D14)
   */
  private static SnapshotFiles of(
      Table table, Table scanned, Snapshot snapshot, Predicate<String> wanted) {
    List<FileScanTask> tasks = new ArrayList<>();
    try (CloseableIterable<FileScanTask> all =
        scanned.newScan().useSnapshot(snapshot.snapshotId()).ignoreResiduals().planFiles()) {
      for (FileScanTask task : all) {
        if (wanted.test(task.file().location())) {
          tasks.add(task);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(
          "Cannot scan snapshot " + snapshot.snapshotId() + " of " + table.name(), e);
    } catch (ValidationException | IllegalArgumentException e) {
      throw new CorruptFileException(
          "Cannot scan snapshot "
              + snapshot.snapshotId()
              + " of "
              + table.name()
              + ": "
              + e.getMessage()
              + ". Nothing was changed.",
          e);
    }
    Map<Integer, PartitionSpec> specs = new HashMap<>(table.specs());
    for (FileScanTask task : tasks) {
      specs.put(task.file().specId(), task.spec());
    }
    return new SnapshotFiles(tasks, specs, UnprunedDeletes.of(table, snapshot, specs));
  }

  /**
   * Removes from both lists the files that hold the same rows by the metadata alone: the same data
   * file with the same sequence number, row ids, partition and deletes. A file that one snapshot
   * has more often is left there.
   *
   * @return how many were removed from each
   */
  static long removeShared(SnapshotFiles one, SnapshotFiles other, boolean lineage) {
    Map<Identity, Integer> counts = new HashMap<>();
    for (FileScanTask task : other.tasks) {
      counts.merge(other.identity(task, lineage), 1, Integer::sum);
    }
    Map<Identity, Integer> shared = new HashMap<>();
    one.tasks.removeIf(
        task -> {
          Identity identity = one.identity(task, lineage);
          if (counts.getOrDefault(identity, 0) <= shared.getOrDefault(identity, 0)) {
            return false;
          }
          shared.merge(identity, 1, Integer::sum);
          return true;
        });
    long removed = shared.values().stream().mapToLong(Integer::longValue).sum();
    other.tasks.removeIf(
        task ->
            Objects.requireNonNullElse(
                    shared.computeIfPresent(
                        other.identity(task, lineage), (identity, count) -> count - 1),
                    -1)
                >= 0);
    return removed;
  }

  /** What decides which rows a data file has, and their values. */
  private record Identity(
      String location,
      long sequenceNumber,
      long firstRowId,
      PartitionTuple partition,
      TreeSet<String> deletes) {}

  private Identity identity(FileScanTask task, boolean lineage) {
    TreeSet<String> deletes = new TreeSet<>();
    for (DeleteFile delete : unpruned.of(task)) {
      deletes.add(
          delete.location()
              + " "
              + delete.contentOffset()
              + " "
              + delete.contentSizeInBytes()
              + " "
              + delete.dataSequenceNumber());
    }
    Long firstRowId = task.file().firstRowId();
    return new Identity(
        task.file().location(),
        Objects.requireNonNullElse(task.file().dataSequenceNumber(), -1L),
        firstRowId == null || !lineage ? -1 : firstRowId,
        PartitionTuple.of(task.file()),
        deletes);
  }
}
