package dev.firn.engine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.FileScanTask;

/**
 * Cuts files into groups whose sort keys lie apart, so that what is written from one group does not
 * overlap with what is written from another (O11).
 *
 * <p>Files whose key ranges hang together stay together, however large that is: a group alone can
 * tell which of its keys come first. Others fill a group as far as its limits allow.
 */
final class SortGroups {
  private SortGroups() {}

  private record Placed(FileScanTask task, KeyRange range) {}

  /**
   * The groups, by their first keys, as are the files in each.
   *
   * @param bytesMax bytes of the files of a group, where it holds more than what hangs together
   * @param filesMax files of a group, likewise
   */
  static List<List<FileScanTask>> of(
      Iterable<FileScanTask> tasks, KeyBounds bounds, long bytesMax, long filesMax) {
    List<Placed> files = new ArrayList<>();
    tasks.forEach(task -> files.add(new Placed(task, bounds.of(task.file()))));
    files.sort(
        (left, right) -> {
          int first = Arrays.compareUnsigned(left.range.first(), right.range.first());
          return first != 0 ? first : Arrays.compareUnsigned(left.range.last(), right.range.last());
        });
    List<List<FileScanTask>> groups = new ArrayList<>();
    List<FileScanTask> group = new ArrayList<>();
    List<FileScanTask> together = new ArrayList<>();
    KeyRange reach = null; // of the files in together, which is empty before the first
    for (Placed file : files) {
      if (reach != null && reach.precedes(file.range)) {
        group = add(together, group, groups, bytesMax, filesMax);
        together = new ArrayList<>();
        reach = null;
      }
      together.add(file.task);
      if (reach == null || Arrays.compareUnsigned(reach.last(), file.range.last()) < 0) {
        reach = file.range;
      }
    }
    group = add(together, group, groups, bytesMax, filesMax);
    if (!group.isEmpty()) {
      groups.add(group);
    }
    return groups;
  }

  /** Adds files that stay together to a group, or begins another with them. */
  private static List<FileScanTask> add(
      List<FileScanTask> together,
      List<FileScanTask> group,
      List<List<FileScanTask>> full,
      long bytesMax,
      long filesMax) {
    boolean fits =
        group.size() + together.size() <= filesMax && bytes(group) + bytes(together) <= bytesMax;
    if (!group.isEmpty() && !fits) {
      full.add(group);
      return together;
    }
    group.addAll(together);
    return group;
  }

  private static long bytes(List<FileScanTask> tasks) {
    return tasks.stream().mapToLong(FileScanTask::length).sum();
  }
}
