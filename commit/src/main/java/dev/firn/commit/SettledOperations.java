package dev.firn.commit;

import java.util.HashSet;
import java.util.Set;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;

/**
 * A table's operations for commits that Iceberg makes by itself. When a commit fails, they look
 * whether it has landed all the same, as it has when only the answer was lost, or when something
 * below tried again and was refused: Iceberg would commit a second time and then delete the
 * manifests of the first, without which the branch cannot be read (C11, C12).
 */
final class SettledOperations extends ForwardingOperations {
  private SettledOperations(TableOperations operations) {
    super(operations);
  }

  /** The table, with commits that are looked after; it shares the handle's metadata. */
  static Table table(Table table) {
    return table instanceof HasTableOperations has
        ? new BaseTable(new SettledOperations(has.operations()), table.name())
        : table;
  }

  @Override
  public void commit(TableMetadata base, TableMetadata metadata) {
    try {
      operations.commit(base, metadata);
    } catch (RuntimeException e) {
      if (!landed(base, metadata, e)) {
        throw e;
      }
    }
  }

  private boolean landed(TableMetadata base, TableMetadata metadata, RuntimeException failure) {
    Set<Long> added = new HashSet<>();
    metadata.snapshots().forEach(snapshot -> added.add(snapshot.snapshotId()));
    base.snapshots().forEach(snapshot -> added.remove(snapshot.snapshotId()));
    try {
      Set<Long> present = new HashSet<>();
      for (Snapshot snapshot : operations.refresh().snapshots()) {
        present.add(snapshot.snapshotId());
      }
      return !added.isEmpty() && present.containsAll(added);
    } catch (RuntimeException e) {
      failure.addSuppressed(e);
      return false;
    }
  }
}
