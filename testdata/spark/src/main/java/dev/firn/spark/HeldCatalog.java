package dev.firn.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.encryption.EncryptionManager;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;
import org.jspecify.annotations.Nullable;

/**
 * A Hadoop catalog whose first commit is held up, so that another engine can commit before it. When
 * the commit is about to be made, a file appears at {@value #HELD}; it goes on as soon as there is
 * one at {@value #RELEASE}.
 */
public final class HeldCatalog extends HadoopCatalog {
  static final String HELD = "hold.held";
  static final String RELEASE = "hold.release";

  private static final Duration PATIENCE = Duration.ofMinutes(5);

  private final AtomicBoolean first = new AtomicBoolean(true);

  @Override
  protected TableOperations newTableOps(TableIdentifier identifier) {
    return new HeldOperations(super.newTableOps(identifier));
  }

  private void holdUp() {
    try {
      Files.createFile(file(HELD));
      long deadline = System.nanoTime() + PATIENCE.toNanos();
      while (!Files.exists(file(RELEASE))) {
        if (System.nanoTime() > deadline) {
          throw new IllegalStateException("Nobody made " + file(RELEASE) + " in " + PATIENCE);
        }
        Thread.sleep(10);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot hold up a commit", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while a commit was held up", e);
    }
  }

  private Path file(String property) {
    return Path.of(Objects.requireNonNull(properties().get(property), property));
  }

  private final class HeldOperations implements TableOperations {
    private final TableOperations delegate;

    HeldOperations(TableOperations delegate) {
      this.delegate = delegate;
    }

    @Override
    public void commit(@Nullable TableMetadata base, TableMetadata metadata) {
      if (first.getAndSet(false)) {
        holdUp();
      }
      delegate.commit(base, metadata);
    }

    @Override
    public TableMetadata current() {
      return delegate.current();
    }

    @Override
    public TableMetadata refresh() {
      return delegate.refresh();
    }

    @Override
    public FileIO io() {
      return delegate.io();
    }

    @Override
    public EncryptionManager encryption() {
      return delegate.encryption();
    }

    @Override
    public String metadataFileLocation(String fileName) {
      return delegate.metadataFileLocation(fileName);
    }

    @Override
    public LocationProvider locationProvider() {
      return delegate.locationProvider();
    }

    @Override
    public TableOperations temp(TableMetadata uncommitted) {
      return delegate.temp(uncommitted);
    }

    @Override
    public long newSnapshotId() {
      return delegate.newSnapshotId();
    }

    @Override
    public boolean requireStrictCleanup() {
      return delegate.requireStrictCleanup();
    }
  }
}
