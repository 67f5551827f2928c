package dev.firn.commit;

import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.EnvironmentContext;
import org.apache.iceberg.SnapshotSummary;

/**
 * How the finished groups of one run are committed. Immutable.
 *
 * @param runId written to every snapshot of the run as {@code firn.run-id}
 * @param groupsPerCommit how many groups one commit holds with partial progress
 * @param partialProgress whether groups are committed in batches as they finish; otherwise all of
 *     them land in one commit or none does
 * @param maxFailedCommits how many batches may end without one committed group before {@link
 *     CommitCoordinator#doomed()}
 * @param useStartingSequenceNumber whether outputs keep the planned snapshot's sequence number
 *     (C3), where their spec and partition allow it (H2, H3)
 * @param snapshotProperties the user's additions to each snapshot summary; keys that Iceberg or
 *     Firn write are refused (C22)
 * @param unknownPatience how long a commit of unknown outcome is looked for (C11)
 * @param attemptsMax how many times one batch is committed before a lost race is given up, each
 *     time with Iceberg's own {@code commit.retry.*} retries inside
 */
public record CommitSettings(
    String runId,
    int groupsPerCommit,
    boolean partialProgress,
    int maxFailedCommits,
    boolean useStartingSequenceNumber,
    Map<String, String> snapshotProperties,
    Duration unknownPatience,
    int attemptsMax) {

  private static final Set<String> RESERVED_PREFIXES =
      Set.of("firn.", "wap.", "added-", "deleted-", "removed-", "total-", "manifests-");

  private static final Set<String> RESERVED =
      Set.of(
          "operation",
          "iceberg-version",
          EnvironmentContext.ENGINE_NAME,
          EnvironmentContext.ENGINE_VERSION,
          SnapshotSummary.CHANGED_PARTITION_COUNT_PROP,
          SnapshotSummary.PARTITION_SUMMARY_PROP,
          SnapshotSummary.PUBLISHED_WAP_ID_PROP,
          SnapshotSummary.SOURCE_SNAPSHOT_ID_PROP,
          SnapshotSummary.REPLACE_PARTITIONS_PROP,
          SnapshotSummary.PROCESSED_MANIFEST_ENTRY_COUNT);

  public CommitSettings {
    if (runId.isBlank()) {
      throw new IllegalArgumentException("runId must not be blank");
    }
    if (groupsPerCommit <= 0) {
      throw new IllegalArgumentException(
          "groupsPerCommit must be positive but was " + groupsPerCommit);
    }
    if (maxFailedCommits < 0) {
      throw new IllegalArgumentException(
          "maxFailedCommits must not be negative but was " + maxFailedCommits);
    }
    if (attemptsMax <= 0) {
      throw new IllegalArgumentException("attemptsMax must be positive but was " + attemptsMax);
    }
    Objects.requireNonNull(unknownPatience, "unknownPatience");
    if (unknownPatience.isNegative()) {
      throw new IllegalArgumentException(
          "unknownPatience must not be negative but was " + unknownPatience);
    }
    snapshotProperties = Map.copyOf(snapshotProperties);
    Set<String> refused = new TreeSet<>();
    for (String key : snapshotProperties.keySet()) {
      if (isReserved(key)) {
        refused.add(key);
      }
    }
    if (!refused.isEmpty()) {
      throw new IllegalArgumentException(
          "Cannot set snapshot properties "
              + refused
              + ": Iceberg or Firn writes these keys itself; choose other names.");
    }
  }

  private static boolean isReserved(String key) {
    return RESERVED.contains(key)
        || EnvironmentContext.get().containsKey(key)
        || key.startsWith(SnapshotSummary.CHANGED_PARTITION_PREFIX)
        || RESERVED_PREFIXES.stream().anyMatch(key::startsWith);
  }
}
