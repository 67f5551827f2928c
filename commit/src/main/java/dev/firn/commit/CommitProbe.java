package dev.firn.commit;

import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.encryption.EncryptionManager;
import org.apache.iceberg.exceptions.CleanableFailure;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;
import org.jspecify.annotations.Nullable;

/**
 * A table's operations that remember what was asked of the catalog, so that "provably not
 * committed" is a fact and not a guess from an exception's type (C12).
 *
 * <p>Used by one committing thread at a time; owns nothing.
 */
final class CommitProbe implements TableOperations {
  private final TableOperations operations;
  private TableMetadata refreshed;
  private @Nullable TableMetadata landed; // null until the catalog has accepted a commit
  private int tries;
  private boolean unsettled;

  CommitProbe(TableOperations operations) {
    this.operations = operations;
    this.refreshed = operations.current();
  }

  /** Forgets earlier batches. */
  void reset() {
    landed = null;
    tries = 0;
    unsettled = false;
  }

  /** The metadata that the running commit attempt is based on. */
  TableMetadata refreshed() {
    return refreshed;
  }

  /** The metadata that the catalog accepted since {@link #reset}, or null if it accepted none. */
  @Nullable TableMetadata landed() {
    return landed;
  }

  /** How many times the catalog was asked to commit since {@link #reset}. */
  int tries() {
    return tries;
  }

  /** Whether the catalog's last answer left open if it committed. */
  boolean unsettled() {
    return unsettled;
  }

  @Override
  public TableMetadata current() {
    return operations.current();
  }

  @Override
  public TableMetadata refresh() {
    refreshed = operations.refresh();
    return refreshed;
  }

  @Override
  public void commit(TableMetadata base, TableMetadata metadata) {
    tries++;
    unsettled = true; // an Error leaves it so
    try {
      operations.commit(base, metadata);
      landed = metadata;
      unsettled = false;
    } catch (RuntimeException e) {
      unsettled = !(e instanceof CleanableFailure);
      throw e;
    }
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
