package dev.firn.engine;

import dev.firn.engine.parquet.UnsupportedTableException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;

/**
 * Holds against a fault of Iceberg's commits: the type of a partition value whose source column was
 * dropped is not known any more, and a commit that writes a manifest of such files anew writes null
 * in place of the value. Where delete files of the same spec are live, data files and deletes are
 * then in other partitions than before: rows come back or go away (D7, P6).
 */
final class DroppedSources {
  private DroppedSources() {}

  /**
   * Refuses a plan that leaves data files of such a spec behind while deletes of it are live. If
   * all of them are replaced in one commit, their partitions matter no more.
   *
   * @throws UnsupportedTableException naming the spec, and what helps
   */
  static void check(
      Table table, Snapshot snapshot, List<RewriteFileGroup> groups, boolean oneCommit) {
    Set<Integer> lost =
        table.specs().values().stream()
            .filter(PartitionSpecs::isWithoutSource)
            .map(PartitionSpec::specId)
            .collect(Collectors.toSet());
    if (lost.isEmpty() || groups.isEmpty()) {
      return;
    }
    for (ManifestFile deletes : snapshot.deleteManifests(table.io())) {
      int specId = deletes.partitionSpecId();
      if (lost.contains(specId)
          && hasLiveFiles(deletes)
          && hasDataFiles(table, snapshot, specId)
          && !(oneCommit && leavesNone(table, snapshot, specId, groups))) {
        throw new UnsupportedTableException(
            "Cannot compact "
                + table.name()
                + ": "
                + PartitionSpecs.whyUnwritable(Objects.requireNonNull(table.specs().get(specId)))
                + ", and files of its partition spec "
                + specId
                + " have deletes. A commit that keeps some of these files would lose which deletes"
                + " are theirs; nothing was changed. Replace them all in one commit: with"
                + " rewrite-all, without partial progress, without keep-partition-spec");
      }
    }
  }

  /** Whether all live data files of the spec are in the groups. */
  private static boolean leavesNone(
      Table table, Snapshot snapshot, int specId, List<RewriteFileGroup> groups) {
    Set<String> replaced = new HashSet<>();
    groups.forEach(group -> group.rewrittenFiles().forEach(file -> replaced.add(file.location())));
    for (ManifestFile manifest : snapshot.dataManifests(table.io())) {
      if (manifest.partitionSpecId() == specId && hasLiveFiles(manifest)) {
        try (ManifestReader<DataFile> files =
            ManifestFiles.read(manifest, table.io(), table.specs())) {
          for (DataFile file : files) {
            if (!replaced.contains(file.location())) {
              return false;
            }
          }
        } catch (IOException e) {
          throw new UncheckedIOException(
              "Cannot read manifest " + manifest.path() + ": nothing was changed", e);
        }
      }
    }
    return true;
  }

  private static boolean hasDataFiles(Table table, Snapshot snapshot, int specId) {
    return snapshot.dataManifests(table.io()).stream()
        .anyMatch(manifest -> manifest.partitionSpecId() == specId && hasLiveFiles(manifest));
  }

  private static boolean hasLiveFiles(ManifestFile manifest) {
    return manifest.hasAddedFiles() || manifest.hasExistingFiles();
  }
}
