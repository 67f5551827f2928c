package dev.firn.engine;

import java.util.List;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.jspecify.annotations.Nullable;

/**
 * The file groups of a run, on a pinned snapshot.
 *
 * @param table the table's name
 * @param branch the branch planned on
 * @param snapshotId the snapshot planned on, null if the branch is empty: then nothing is planned
 * @param groups what is to be rewritten, in the order it is worked on
 * @param groupPartitions each group's partition as a path, empty for old specs and unpartitioned
 * @param decisions the reason for each data file; empty unless the plan was asked to explain
 * @param memory how the memory would be split
 * @param memoryBytesNeeded 0 if that is enough, else the least with which the plan can be run
 * @param scratchBytes what sorting would put on scratch disk at once, about
 */
public record CompactionPlan(
    String table,
    String branch,
    @Nullable Long snapshotId,
    List<RewriteFileGroup> groups,
    List<String> groupPartitions,
    List<FileDecision> decisions,
    MemoryUse memory,
    long memoryBytesNeeded,
    long scratchBytes) {

  public CompactionPlan {
    groups = List.copyOf(groups);
    groupPartitions = List.copyOf(groupPartitions);
    decisions = List.copyOf(decisions);
  }

  /** Bytes of all input files. */
  public long inputBytes() {
    return groups.stream().mapToLong(RewriteFileGroup::inputFilesSizeInBytes).sum();
  }

  /** Data files taken. */
  public int inputFiles() {
    return groups.stream().mapToInt(RewriteFileGroup::inputFileNum).sum();
  }
}
