package dev.firn.engine;

import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.encryption.EncryptionManager;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;

/** Operations whose commits pass through someone who may do more, or less. */
final class ScheduledOperations implements TableOperations {
  /** What is done with a commit. */
  interface Commits {
    void commit(TableOperations operations, TableMetadata base, TableMetadata metadata);
  }

  private final TableOperations operations;
  private final Commits commits;

  ScheduledOperations(TableOperations operations, Commits commits) {
    this.operations = operations;
    this.commits = commits;
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
  public void commit(TableMetadata base, TableMetadata metadata) {
    commits.commit(operations, base, metadata);
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
}
