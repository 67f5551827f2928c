package dev.firn.testdata;

import org.apache.iceberg.io.FileIO;

/**
 * A FileIO that tells a watcher of each file before it is opened, created or deleted. May be used
 * by any thread, if the watcher may.
 */
public final class WatchedFileIO extends DelegatingFileIO {
  /** Hears of calls in the thread that makes them, before they reach storage. */
  public interface Watcher {
    /** A file is about to be opened to read. */
    default void opening(String location) {}

    /** A file is about to be created. */
    default void creating(String location) {}

    /** A file is about to be deleted. */
    default void deleting(String location) {}
  }

  private final transient Watcher watcher;

  /** Does what {@code delegate} does. */
  public WatchedFileIO(FileIO delegate, Watcher watcher) {
    super(delegate);
    this.watcher = watcher;
  }

  @Override
  void beforeOpen(String location) {
    watcher.opening(location);
  }

  @Override
  void beforeCreate(String location) {
    watcher.creating(location);
  }

  @Override
  void beforeDelete(String location) {
    watcher.deleting(location);
  }
}
