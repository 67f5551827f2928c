package dev.firn.commit;

import java.util.HashSet;
import java.util.Set;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.encryption.EncryptionManager;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;

/**
 * A table's operations for commits that Iceberg makes by itself. When a commit fails, they look
 * whether it has landed all the same, as it has when only the answer was lost, or when something
 * below tried again and was refused: Iceberg would commit a second time and then delete the
 * manifests of the first, without which the branch cannot be read (C11, C12).
 */
final class SettledOperations implements TableOperations {
  private final TableOperations operations;

  private SettledOperations(TableOperations operations) {
    this.operations = operations;
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

  @Override
  public TableMetadata current() {
    return operations.current();
  }

  @Override
  public TableMetadata refresh() {
    return operations.refresh();
  }

  @Override
  public FileIO io() {
    return operations.io();
  }

  @Override
  public EncryptionManager encryption() {
    return operations.encryption();
  }

  @Override
  public String metadataFileLocation(String fileName) {
    return operations.metadataFileLocation(fileName);
  }

  @Override
  public LocationProvider locationProvider() {
    return operations.locationProvider();
  }

  @Override
  public TableOperations temp(TableMetadata uncommitted) {
    return operations.temp(uncommitted);
  }

  @Override
  public long newSnapshotId() {
    return operations.newSnapshotId();
  }

  /** Always: after an answer that is in doubt, not even manifests are deleted (C12). */
  @Override
  public boolean requireStrictCleanup() {
    return true;
  }
}
