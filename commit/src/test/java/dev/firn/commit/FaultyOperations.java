package dev.firn.commit;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.encryption.EncryptionManager;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;

/** Table operations that do as scripted around single commits and refreshes, else as the real. */
final class FaultyOperations implements TableOperations {
  /** What happens instead of one commit; may run the real one. */
  interface Fault {
    void commit(Runnable real);
  }

  private final TableOperations real;
  final RecordingFileIO io;
  private final Queue<Fault> faults = new ArrayDeque<>();
  private final Queue<Runnable> refreshes = new ArrayDeque<>();
  private final AtomicInteger running = new AtomicInteger();
  int runningMax;
  int commits;

  FaultyOperations(TableOperations real) {
    this.real = real;
    this.io = new RecordingFileIO(real.io());
  }

  /** Scripts the next commit that has no script yet. */
  FaultyOperations onCommit(Fault fault) {
    faults.add(fault);
    return this;
  }

  /** Scripts what happens before the next refresh that has no script yet. */
  FaultyOperations onRefresh(Runnable before) {
    refreshes.add(before);
    return this;
  }

  @Override
  public void commit(TableMetadata base, TableMetadata metadata) {
    runningMax = Math.max(runningMax, running.incrementAndGet());
    try {
      commits++;
      Fault fault = faults.poll();
      if (fault == null) {
        real.commit(base, metadata);
      } else {
        fault.commit(() -> real.commit(base, metadata));
      }
    } finally {
      running.decrementAndGet();
    }
  }

  @Override
  public TableMetadata refresh() {
    Runnable before = refreshes.poll();
    if (before != null) {
      before.run();
    }
    return real.refresh();
  }

  @Override
  public TableMetadata current() {
    return real.current();
  }

  @Override
  public FileIO io() {
    return io;
  }

  @Override
  public EncryptionManager encryption() {
    return real.encryption();
  }

  @Override
  public String metadataFileLocation(String fileName) {
    return real.metadataFileLocation(fileName);
  }

  @Override
  public LocationProvider locationProvider() {
    return real.locationProvider();
  }

  @Override
  public long newSnapshotId() {
    return real.newSnapshotId();
  }
}
