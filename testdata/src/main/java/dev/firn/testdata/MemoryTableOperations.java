package dev.firn.testdata;

import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.iceberg.LocationProviders;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;
import org.jspecify.annotations.Nullable;

/**
 * Operations of a table whose current metadata is a string that all handles share; the string is
 * exchanged atomically. One instance serves one table handle.
 */
final class MemoryTableOperations implements TableOperations {
  /** The metadata of one version, as it would be in its file. */
  record Version(String location, String json) {}

  private final String location;
  private final AtomicReference<@Nullable Version> shared;
  private final FileIO io;
  private @Nullable Version version; // null until the table is created
  private @Nullable TableMetadata current; // null until the table is created
  private boolean stale = true;

  MemoryTableOperations(String location, AtomicReference<@Nullable Version> shared, FileIO io) {
    this.location = location;
    this.shared = shared;
    this.io = io;
  }

  MemoryTableOperations another() {
    return new MemoryTableOperations(location, shared, io);
  }

  @Override
  public synchronized @Nullable TableMetadata current() {
    return stale ? refresh() : current;
  }

  @Override
  public synchronized @Nullable TableMetadata refresh() {
    Version newest = shared.get();
    if (newest != null && newest != version) {
      current = TableMetadataParser.fromJson(newest.location(), newest.json());
      version = newest;
    }
    stale = false;
    return current;
  }

  @Override
  public synchronized void commit(@Nullable TableMetadata base, TableMetadata metadata) {
    if (base != current()) {
      throw new CommitFailedException("Cannot commit to %s: the base is stale", location);
    }
    if (base == metadata) {
      return;
    }
    stale = true;
    String name = UUID.randomUUID() + ".metadata.json";
    Version next = new Version(metadataFileLocation(name), TableMetadataParser.toJson(metadata));
    if (!shared.compareAndSet(version, next)) {
      throw new CommitFailedException("Cannot commit to %s: another commit came first", location);
    }
  }

  @Override
  public FileIO io() {
    return io;
  }

  @Override
  public String metadataFileLocation(String fileName) {
    return location + "/metadata/" + fileName;
  }

  @Override
  public LocationProvider locationProvider() {
    TableMetadata metadata = current();
    if (metadata == null) {
      throw new NoSuchTableException("There is no table at %s yet", location);
    }
    return LocationProviders.locationsFor(metadata.location(), metadata.properties());
  }

  @Override
  public TableOperations temp(TableMetadata uncommitted) {
    return new UncommittedTableOperations(this, uncommitted);
  }
}
