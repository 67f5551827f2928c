package dev.firn.commit;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.actions.RewriteFileGroup;

/** A group with what committing it asks about: its files by location, and their partitions. */
final class GroupFiles {
  private final RewriteFileGroup group;
  private final Map<String, DataFile> inputs;
  private final Map<PartitionTuple, DataFile> oldestInputs;
  private final List<DataFile> outputs;
  private final boolean keepsPartition;

  private GroupFiles(
      RewriteFileGroup group,
      Map<String, DataFile> inputs,
      Map<PartitionTuple, DataFile> oldestInputs,
      List<DataFile> outputs,
      boolean keepsPartition) {
    this.group = group;
    this.inputs = inputs;
    this.oldestInputs = oldestInputs;
    this.outputs = outputs;
    this.keepsPartition = keepsPartition;
  }

  /**
   * Reads a finished group and checks what must hold of it alone.
   *
   * @throws IllegalStateException if the group must not be committed (C15, C26, D31)
   */
  static GroupFiles of(RewriteFileGroup group) {
    Map<String, DataFile> inputs = new LinkedHashMap<>();
    Map<PartitionTuple, DataFile> oldestInputs = new HashMap<>();
    Set<String> splits = new HashSet<>();
    for (FileScanTask task : group.fileScanTasks()) {
      String location = task.file().location();
      if (!splits.add(task.start() + " " + location)) {
        throw refused(group, "its input " + location + " is planned twice");
      }
      inputs.put(location, task.file());
      oldestInputs.merge(
          PartitionTuple.of(task.file()),
          task.file(),
          (one, other) -> sequenceNumber(one) <= sequenceNumber(other) ? one : other);
    }
    if (inputs.isEmpty()) {
      throw refused(group, "it has no inputs");
    }

    List<DataFile> outputs = new ArrayList<>(group.addedFiles());
    Set<String> outputLocations = new HashSet<>();
    long rowsRemoved = inputs.values().stream().mapToLong(DataFile::recordCount).sum();
    long rowsAdded = 0;
    boolean keepsPartition = oldestInputs.size() == 1;
    for (DataFile output : outputs) {
      if (output.recordCount() <= 0) {
        throw refused(group, "its output " + output.location() + " has no rows");
      }
      if (inputs.containsKey(output.location()) || !outputLocations.add(output.location())) {
        throw refused(group, "the location of its output " + output.location() + " is not new");
      }
      rowsAdded += output.recordCount();
      keepsPartition = keepsPartition && oldestInputs.containsKey(PartitionTuple.of(output));
    }
    if (rowsAdded > rowsRemoved) {
      throw refused(
          group, "its outputs have " + rowsAdded + " rows but its inputs only " + rowsRemoved);
    }
    return new GroupFiles(group, inputs, oldestInputs, outputs, keepsPartition);
  }

  RewriteFileGroup group() {
    return group;
  }

  /** The distinct input files by location. */
  Map<String, DataFile> inputs() {
    return inputs;
  }

  /** Of each partition that has inputs, the input with the smallest data sequence number. */
  Map<PartitionTuple, DataFile> oldestInputs() {
    return oldestInputs;
  }

  List<DataFile> outputs() {
    return outputs;
  }

  /** Whether every output has the one spec and partition that all inputs have (H2, H3). */
  boolean keepsPartition() {
    return keepsPartition;
  }

  /** The data sequence number that deletes are compared with; 0 in format version 1. */
  static long sequenceNumber(DataFile file) {
    return Objects.requireNonNullElse(file.dataSequenceNumber(), 0L);
  }

  static List<RewriteFileGroup> groups(List<GroupFiles> batch) {
    return batch.stream().map(GroupFiles::group).toList();
  }

  private static IllegalStateException refused(RewriteFileGroup group, String reason) {
    return new IllegalStateException(
        "Cannot commit file group "
            + group.info().globalIndex()
            + ": "
            + reason
            + ". Nothing of it was committed and its files are as they were.");
  }
}
