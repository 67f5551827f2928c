package dev.firn.commit;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.CleanableFailure;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A table's operations for commits that Iceberg makes by itself. When a commit fails, they look
 * whether it has landed all the same, as it has when only the answer was lost, or when something
 * below tried again and was refused: Iceberg would commit a second time and then delete the
 * manifests of the first, without which the branch cannot be read (C11, C12).
 *
 * <p>Where an attempt fails in a way that Iceberg does not expect it leaves the manifests of the
 * attempts before. They are deleted here, if all attempts were provably refused (C12, O-D).
 */
final class SettledOperations extends ForwardingOperations {
  private static final Logger LOG = LoggerFactory.getLogger(SettledOperations.class);

  private final List<String> metadataFiles = Collections.synchronizedList(new ArrayList<>());
  private boolean mayHaveLanded;

  private SettledOperations(TableOperations operations) {
    super(operations);
  }

  /**
   * Takes a step that commits to the table, and looks after its commits.
   *
   * @param step is given a table that shares the handle's metadata
   */
  static <T> T committing(Table table, Function<Table, T> step) {
    if (!(table instanceof HasTableOperations has)) {
      return step.apply(table);
    }
    SettledOperations operations = new SettledOperations(has.operations());
    try {
      return step.apply(new BaseTable(operations, table.name()));
    } catch (RuntimeException e) {
      operations.cleanUp(table.name());
      throw e;
    }
  }

  @Override
  public String metadataFileLocation(String fileName) {
    String location = operations.metadataFileLocation(fileName);
    metadataFiles.add(location);
    return location;
  }

  @Override
  public void commit(TableMetadata base, TableMetadata metadata) {
    boolean earlier = mayHaveLanded;
    mayHaveLanded = true; // an Error leaves it so
    try {
      operations.commit(base, metadata);
    } catch (RuntimeException e) {
      Set<Long> present = present(e);
      Set<Long> added = added(base, metadata);
      if (present == null || added.isEmpty() || !present.containsAll(added)) {
        mayHaveLanded = earlier || present == null || !(e instanceof CleanableFailure);
        throw e;
      }
    }
  }

  private static Set<Long> added(TableMetadata base, TableMetadata metadata) {
    Set<Long> added = new HashSet<>();
    metadata.snapshots().forEach(snapshot -> added.add(snapshot.snapshotId()));
    base.snapshots().forEach(snapshot -> added.remove(snapshot.snapshotId()));
    return added;
  }

  /** The snapshots that are there, null if that cannot be found out. */
  private @Nullable Set<Long> present(RuntimeException failure) {
    try {
      Set<Long> present = new HashSet<>();
      for (Snapshot snapshot : operations.refresh().snapshots()) {
        present.add(snapshot.snapshotId());
      }
      return present;
    } catch (RuntimeException e) {
      failure.addSuppressed(e);
      return null;
    }
  }

  private void cleanUp(String name) {
    if (mayHaveLanded) {
      return;
    }
    for (String location : List.copyOf(metadataFiles)) {
      try {
        if (io().newInputFile(location).exists()) {
          io().deleteFile(location);
        }
      } catch (RuntimeException e) {
        LOG.warn(
            "Cannot delete {}, which is not part of {}; remove it as an orphan", location, name, e);
      }
    }
  }
}
