package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.RowText;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/** What a table in a local directory was before a run, to be held against what it is after it. */
final class TableBefore {
  private final Map<Long, List<String>> rows = new LinkedHashMap<>();
  private final Map<String, SnapshotRef> refs;
  private final Schema schema;
  private final Set<String> dataFiles = new HashSet<>();
  private final Set<Path> paths;

  private TableBefore(Table table) {
    this.refs = Map.copyOf(table.refs());
    this.schema = table.schema();
    this.paths = paths(table);
    for (Snapshot snapshot : table.snapshots()) {
      rows.put(snapshot.snapshotId(), rows(table, snapshot));
      TableRows.dataFiles(table, snapshot).forEach(file -> dataFiles.add(file.location()));
    }
  }

  static TableBefore of(Table table) {
    return new TableBefore(table);
  }

  /**
   * The live rows of a snapshot without row lineage, which a format upgrade's first commit gives.
   */
  static List<String> rows(Table table, @Nullable Snapshot snapshot) {
    return RowText.sortedLines(TableRows.liveRecords(table, snapshot), table.schema());
  }

  /** All data files of all snapshots. */
  Set<String> dataFiles() {
    return dataFiles;
  }

  /** Old snapshots hold the rows that they held, if the schema is the same still (C13, O-B). */
  void checkRows(Table after) {
    if (!after.schema().sameSchema(schema)) {
      return;
    }
    for (Map.Entry<Long, List<String>> snapshot : rows.entrySet()) {
      assertThat(rows(after, after.snapshot(snapshot.getKey())))
          .as("rows of snapshot %d (C13, O-B)", snapshot.getKey())
          .isEqualTo(snapshot.getValue());
    }
  }

  /** Old snapshots hold the rows that they held, other refs are where they were (C13, O-B). */
  void checkHistory(Table after, String branch) {
    checkRows(after);
    refs.forEach(
        (name, ref) -> {
          if (!name.equals(branch)) {
            assertThat(after.refs()).as("refs (C16)").containsEntry(name, ref);
          }
        });
  }

  /** The files that were there, but those of metadata. */
  Set<Path> paths() {
    return paths;
  }

  /** No file is gone, and every live file is there (C13). */
  void checkKept(Table after) {
    assertThat(paths(after)).as("files that are still there (O-D)").containsAll(paths);
    assertThat(paths(after)).as("live files").containsAll(reachable(after));
  }

  /** No file is gone, and no data or delete file has come that no snapshot names (O-D). */
  void checkFiles(Table after, String what) {
    checkKept(after);
    Set<Path> come = new TreeSet<>(paths(after));
    come.removeAll(paths);
    come.removeAll(reachable(after));
    assertThat(come).as("orphans (O-D) after %s", what).isEmpty();
  }

  private static Set<Path> reachable(Table table) {
    Set<Path> reachable = new HashSet<>();
    for (Snapshot snapshot : table.snapshots()) {
      TableRows.dataFiles(table, snapshot).forEach(file -> reachable.add(path(file.location())));
      TableRows.deleteFiles(table, snapshot).forEach(file -> reachable.add(path(file.location())));
    }
    return reachable;
  }

  /** The path of a location, which testdata's FileIO takes as it stands. */
  static Path path(String location) {
    return Path.of(location.replaceFirst("^file:/*", "/"));
  }

  /** The files below the table's location, but those of its metadata. */
  static Set<Path> paths(Table table) {
    Path root = path(table.location());
    try (Stream<Path> files = Files.walk(root)) {
      return files
          .filter(Files::isRegularFile)
          .filter(file -> !file.startsWith(root.resolve("metadata")))
          .collect(Collectors.toCollection(TreeSet::new));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
