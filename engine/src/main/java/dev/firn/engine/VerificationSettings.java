package dev.firn.engine;

import java.nio.file.Path;
import org.apache.iceberg.SnapshotRef;
import org.jspecify.annotations.Nullable;

/**
 * Which snapshots of a table are to be compared, and with what. Immutable.
 *
 * @param branch where the snapshots are looked for that are not given
 * @param from id of a snapshot, or name of a branch or tag; null for the newest ancestor of {@code
 *     to} that the run of Firn that committed {@code to} has not committed, or else its parent
 * @param to the same; null for the branch's head
 * @param full whether data files are read too that both have with the same deletes
 * @param memoryBytes what the process may use in all: heap, Arrow and native memory
 * @param scratch directory for row groups in flight; must exist and be writable
 * @param threads threads that decode and hash
 */
public record VerificationSettings(
    String branch,
    @Nullable String from,
    @Nullable String to,
    boolean full,
    long memoryBytes,
    Path scratch,
    int threads) {

  public VerificationSettings {
    if (memoryBytes <= 0) {
      throw new IllegalArgumentException("memory must be positive but was " + memoryBytes);
    }
    if (threads <= 0) {
      throw new IllegalArgumentException("threads must be positive but was " + threads);
    }
    if (branch.isBlank()) {
      throw new IllegalArgumentException("branch must not be blank");
    }
  }

  /** The head of the main branch against what it was made from, with all of this machine. */
  public static VerificationSettings defaults() {
    return new VerificationSettings(
        SnapshotRef.MAIN_BRANCH,
        null,
        null,
        false,
        MemoryShares.defaultTotalBytes(),
        Path.of(System.getProperty("java.io.tmpdir")),
        Runtime.getRuntime().availableProcessors());
  }

  public VerificationSettings withBranch(String name) {
    return new VerificationSettings(name, from, to, full, memoryBytes, scratch, threads);
  }

  /** With the snapshots given; null stands for the default. */
  public VerificationSettings withSnapshots(@Nullable String newFrom, @Nullable String newTo) {
    return new VerificationSettings(branch, newFrom, newTo, full, memoryBytes, scratch, threads);
  }

  public VerificationSettings withFull(boolean read) {
    return new VerificationSettings(branch, from, to, read, memoryBytes, scratch, threads);
  }

  public VerificationSettings withMemoryBytes(long bytes) {
    return new VerificationSettings(branch, from, to, full, bytes, scratch, threads);
  }

  public VerificationSettings withScratch(Path directory) {
    return new VerificationSettings(branch, from, to, full, memoryBytes, directory, threads);
  }

  public VerificationSettings withThreads(int count) {
    return new VerificationSettings(branch, from, to, full, memoryBytes, scratch, count);
  }
}
