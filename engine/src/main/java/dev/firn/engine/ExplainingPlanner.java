package dev.firn.engine;

import dev.firn.engine.FileDecision.Reason;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.StreamSupport;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.actions.BinPackRewriteFilePlanner;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.util.ContentFileUtil;
import org.apache.iceberg.util.PropertyUtil;
import org.jspecify.annotations.Nullable;

/**
 * Iceberg's planner, which remembers on request what it saw at each of its steps, so that the plan
 * can say why a file was taken or left. Not thread-safe, for one plan.
 */
final class ExplainingPlanner extends BinPackRewriteFilePlanner {
  private final boolean explain;
  private final boolean rewriteAll;
  private final long minFileSize;
  private final long maxFileSize;
  private final int deleteFileThreshold;
  private final double deleteRatioThreshold;

  private final List<FileScanTask> seen = new ArrayList<>();
  private final Set<String> inKeptGroups = new HashSet<>();

  ExplainingPlanner(
      Table table,
      Expression filter,
      long snapshotId,
      Map<String, String> options,
      boolean explain) {
    super(table, filter, snapshotId, true);
    this.explain = explain;
    this.rewriteAll = CompactionOption.REWRITE_ALL.flag(options, false);
    OutputBand band = OutputBand.of(table, options);
    this.minFileSize = band.minBytes();
    this.maxFileSize = band.maxBytes();
    this.deleteFileThreshold =
        CompactionOption.DELETE_FILE_THRESHOLD.count(options, DELETE_FILE_THRESHOLD_DEFAULT);
    this.deleteRatioThreshold =
        PropertyUtil.propertyAsDouble(
            options, DELETE_RATIO_THRESHOLD, DELETE_RATIO_THRESHOLD_DEFAULT);
    init(options);
  }

  /**
   * The sizes between which a file is left alone.
   *
   * @param targetBytes size that outputs are to have
   * @param minBytes smaller files are rewritten
   * @param maxBytes larger files are rewritten
   */
  record OutputBand(long targetBytes, long minBytes, long maxBytes) {
    static OutputBand of(Table table, Map<String, String> options) {
      long target =
          CompactionOption.TARGET_FILE_SIZE_BYTES.bytes(
              options,
              PropertyUtil.propertyAsLong(
                  table.properties(),
                  TableProperties.WRITE_TARGET_FILE_SIZE_BYTES,
                  TableProperties.WRITE_TARGET_FILE_SIZE_BYTES_DEFAULT));
      return new OutputBand(
          target,
          CompactionOption.MIN_FILE_SIZE_BYTES.bytes(
              options, (long) (target * MIN_FILE_SIZE_DEFAULT_RATIO)),
          CompactionOption.MAX_FILE_SIZE_BYTES.bytes(
              options, (long) (target * MAX_FILE_SIZE_DEFAULT_RATIO)));
    }
  }

  @Override
  protected Iterable<List<FileScanTask>> planFileGroups(Iterable<FileScanTask> tasks) {
    if (explain) {
      tasks.forEach(seen::add);
    }
    Iterable<List<FileScanTask>> groups = super.planFileGroups(tasks);
    if (explain) {
      groups.forEach(group -> group.forEach(task -> inKeptGroups.add(task.file().location())));
    }
    return groups;
  }

  /**
   * The reason for each file that the planner saw, and for each that the filter hid from it.
   *
   * @param planned the groups that the planner returned
   * @param allFiles every data file of the snapshot, whatever the filter
   */
  List<FileDecision> decisions(List<RewriteFileGroup> planned, Iterable<FileScanTask> allFiles) {
    Map<String, Integer> groupOf = new LinkedHashMap<>();
    for (RewriteFileGroup group : planned) {
      group
          .fileScanTasks()
          .forEach(task -> groupOf.put(task.file().location(), group.info().globalIndex()));
    }
    List<FileDecision> decisions = new ArrayList<>();
    Set<String> decided = new HashSet<>();
    for (FileScanTask task : seen) {
      decided.add(task.file().location());
      decisions.add(decision(task, groupOf.get(task.file().location())));
    }
    StreamSupport.stream(allFiles.spliterator(), false)
        .filter(task -> !decided.contains(task.file().location()))
        .forEach(
            task ->
                decisions.add(
                    decision(task, null, Reason.FILTERED, "no row of it can match the filter")));
    return decisions;
  }

  private FileDecision decision(FileScanTask task, @Nullable Integer group) {
    long bytes = task.length();
    Reason wanted = Reason.RIGHT_SIZE;
    String detail =
        String.format(
            Locale.ROOT, "%d bytes lie between %d and %d", bytes, minFileSize, maxFileSize);
    if (rewriteAll) {
      wanted = Reason.REWRITE_ALL;
      detail = "rewrite-all is set";
    } else if (bytes < minFileSize) {
      wanted = Reason.SMALL;
      detail = String.format(Locale.ROOT, "%d bytes, below %d", bytes, minFileSize);
    } else if (bytes > maxFileSize) {
      wanted = Reason.LARGE;
      detail = String.format(Locale.ROOT, "%d bytes, above %d", bytes, maxFileSize);
    } else if (task.deletes().size() >= deleteFileThreshold) {
      wanted = Reason.DELETE_FILES;
      detail = task.deletes().size() + " delete files, threshold " + deleteFileThreshold;
    } else if (!task.deletes().isEmpty() && deletedRatio(task) >= deleteRatioThreshold) {
      wanted = Reason.DELETE_RATIO;
      detail =
          String.format(
              Locale.ROOT,
              "%.1f %% of its rows are deleted, threshold %.1f %%",
              deletedRatio(task) * 100,
              deleteRatioThreshold * 100);
    }
    if (group != null || wanted == Reason.RIGHT_SIZE) {
      return decision(task, group, wanted, detail);
    }
    if (inKeptGroups.contains(task.file().location())) {
      return decision(
          task, null, Reason.FILES_CAP, "max-files-to-rewrite is reached; it would be: " + detail);
    }
    return decision(
        task, null, Reason.GROUP_TOO_SMALL, "too few files or bytes with it; by itself: " + detail);
  }

  private FileDecision decision(
      FileScanTask task, @Nullable Integer group, Reason reason, String detail) {
    DataFile file = task.file();
    return new FileDecision(
        file.location(),
        partitionPath(task.spec(), file),
        file.specId(),
        file.fileSizeInBytes(),
        file.recordCount(),
        task.deletes().size(),
        group,
        reason,
        detail);
  }

  static String partitionPath(PartitionSpec spec, DataFile file) {
    return spec.isUnpartitioned() ? "" : spec.partitionToPath(file.partition());
  }

  private static double deletedRatio(FileScanTask task) {
    long known =
        task.deletes().stream()
            .filter(ContentFileUtil::isFileScoped)
            .mapToLong(ContentFile::recordCount)
            .sum();
    long rows = task.file().recordCount();
    return rows == 0 ? 0 : (double) Math.min(known, rows) / rows;
  }
}
