package dev.firn.commit;

import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.encryption.EncryptionManager;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;

/** A table's operations, to be watched by who extends this. Owns nothing. */
abstract class ForwardingOperations implements TableOperations {
  final TableOperations operations;

  ForwardingOperations(TableOperations operations) {
    this.operations = operations;
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
