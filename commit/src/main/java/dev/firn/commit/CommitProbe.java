package dev.firn.commit;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.CleanableFailure;
import org.jspecify.annotations.Nullable;

/**
 * A table's operations that remember what was asked of the catalog, so that "provably not
 * committed" is a fact and not a guess from an exception's type (C12).
 *
 * <p>Used by one committing thread at a time; owns nothing.
 */
final class CommitProbe extends ForwardingOperations {
  private TableMetadata refreshed;
  private @Nullable TableMetadata landed; // null until the catalog has accepted a commit
  private int tries;
  private boolean unsettled;
  private final List<String> metadataFiles = Collections.synchronizedList(new ArrayList<>());

  CommitProbe(TableOperations operations) {
    super(operations);
    this.refreshed = operations.current();
  }

  /** Forgets earlier batches. */
  void reset() {
    landed = null;
    tries = 0;
    unsettled = false;
    metadataFiles.clear();
  }

  /**
   * The manifests and manifest lists that were written since this was asked before, or since {@link
   * #reset}, and are there. Iceberg leaves those of an attempt that failed in a way it does not
   * expect.
   */
  List<String> takeMetadataFiles() {
    List<String> there;
    synchronized (metadataFiles) {
      there = new ArrayList<>(metadataFiles);
      metadataFiles.clear();
    }
    there.removeIf(location -> !io().newInputFile(location).exists());
    return there;
  }

  @Override
  public String metadataFileLocation(String fileName) {
    String location = operations.metadataFileLocation(fileName);
    metadataFiles.add(location);
    return location;
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
}
