package dev.firn.engine;

import dev.firn.commit.PartitionTuple;
import dev.firn.engine.FileDecision.Reason;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.StreamSupport;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RewriteJobOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.actions.BinPackRewriteFilePlanner;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.util.ContentFileUtil;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.iceberg.util.StructLikeWrapper;
import org.jspecify.annotations.Nullable;

/**
 * Iceberg's planner with its own groups, which remembers on request what it saw at each of its
 * steps, so that the plan can say why a file was taken or left. Not thread-safe, for one plan.
 *
 * <p>Iceberg's groups take every file of another spec than the table's current one for a file of
 * the null partition, whatever the spec of the outputs is (P2). Here a file that has the spec which
 * it is to keep is in a group of its partition, and all others are in groups of their own; where
 * rows are sorted, together with the files of the partitions that their rows may come into (O11).
 */
final class ExplainingPlanner extends BinPackRewriteFilePlanner {
  private final Expression filter;
  private final long snapshotId;
  private final boolean keepSpecs;
  private final RewriteJobOrder jobOrder;
  private final int filesMax;
  private final boolean explain;
  private final boolean rewriteAll;
  private final long minFileSize;
  private final long maxFileSize;
  private final int deleteFileThreshold;
  private final double deleteRatioThreshold;
  private final Layout layout;
  private final @Nullable KeyBounds bounds;

  /** Null where it does not matter which groups write to one partition. */
  private final @Nullable SharedPartitions shared;

  private final boolean byOverlap;
  private final int overlapDepthMax;
  private final double writeAmplificationMax;
  private final long groupBytesMax;
  private final long groupFilesMax;

  private final List<FileScanTask> seen = new ArrayList<>();
  private final Set<String> inKeptGroups = new HashSet<>();

  /** Why files are left whose spec no file may be written with, by location. */
  private final Map<String, String> unwritable = new HashMap<>();

  /** What was found of the overlaps of each file, by location; empty unless chosen by them. */
  private final Map<String, Overlap> overlaps = new HashMap<>();

  /**
   * What files a file overlaps with.
   *
   * @param depth the most others that cover one place of its range
   * @param tooDeep whether that is more than the limit
   */
  private record Overlap(int depth, boolean tooDeep) {}

  /**
   * Files that overlap too much and hang together.
   *
   * @param depth the greatest of theirs
   */
  private record OverlapSet(Part part, List<FileScanTask> tasks, int depth) {}

  /**
   * Files that can be rewritten together.
   *
   * @param specId of the outputs
   * @param partition of inputs and outputs, null for inputs of other specs and many partitions
   */
  private record Part(int specId, @Nullable StructLikeWrapper partition) {}

  private record PartFiles(Part part, List<FileScanTask> tasks) {
    /** Rows of both may come into one partition. */
    PartFiles with(PartFiles other) {
      List<FileScanTask> both = new ArrayList<>(tasks);
      both.addAll(other.tasks);
      return new PartFiles(new Part(part.specId, null), both);
    }
  }

  /**
   * @param bounds key ranges of files on the order that rows are sorted by, null if by none
   * @throws IllegalArgumentException if an option is not right for the table
   */
  ExplainingPlanner(
      Table table,
      Expression filter,
      long snapshotId,
      Layout layout,
      @Nullable KeyBounds bounds,
      Map<String, String> options,
      boolean explain) {
    super(table, filter, snapshotId, true);
    this.filter = filter;
    this.snapshotId = snapshotId;
    this.explain = explain;
    this.keepSpecs = CompactionOption.KEEP_PARTITION_SPEC.flag(options, false);
    this.jobOrder =
        RewriteJobOrder.fromName(
            options.getOrDefault(
                CompactionOption.REWRITE_JOB_ORDER.key(),
                RewriteDataFiles.REWRITE_JOB_ORDER_DEFAULT));
    this.filesMax = CompactionOption.MAX_FILES_TO_REWRITE.count(options, Integer.MAX_VALUE);
    this.rewriteAll = CompactionOption.REWRITE_ALL.flag(options, false);
    OutputBand band = OutputBand.of(table, options);
    this.minFileSize = band.minBytes();
    this.maxFileSize = band.maxBytes();
    this.deleteFileThreshold =
        CompactionOption.DELETE_FILE_THRESHOLD.count(options, DELETE_FILE_THRESHOLD_DEFAULT);
    this.deleteRatioThreshold =
        PropertyUtil.propertyAsDouble(
            options, DELETE_RATIO_THRESHOLD, DELETE_RATIO_THRESHOLD_DEFAULT);
    this.layout = layout;
    this.bounds = bounds;
    this.byOverlap = CompactionOption.isByOverlap(options);
    this.overlapDepthMax =
        CompactionOption.MAX_OVERLAP_DEPTH.count(
            options, CompactionOption.MAX_OVERLAP_DEPTH_DEFAULT);
    this.writeAmplificationMax =
        PropertyUtil.propertyAsDouble(
            options,
            CompactionOption.MAX_WRITE_AMPLIFICATION.key(),
            CompactionOption.MAX_WRITE_AMPLIFICATION_DEFAULT);
    this.groupBytesMax =
        CompactionOption.MAX_FILE_GROUP_SIZE_BYTES.bytes(
            options, MAX_FILE_GROUP_SIZE_BYTES_DEFAULT);
    this.groupFilesMax =
        CompactionOption.MAX_FILE_GROUP_INPUT_FILES.count(options, Integer.MAX_VALUE);
    if (byOverlap && (bounds == null || !bounds.tellOverlaps())) {
      throw new IllegalArgumentException(
          "Cannot choose files of "
              + table.name()
              + " by their overlap: "
              + (bounds == null ? "rows are not sorted" : bounds.whyUntold())
              + ". Set "
              + CompactionOption.STRATEGY.key()
              + " to size, or sort by another order.");
    }
    init(options);
    this.shared =
        layout instanceof Layout.BinPack || keepSpecs || byOverlap || table.specs().size() == 1
            ? null
            : new SharedPartitions(table, spec(outputSpecId()));
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

  /**
   * The groups, in the order they are to be worked on.
   *
   * @throws IOException if the scan cannot be closed
   */
  List<RewriteFileGroup> groups() throws IOException {
    List<RewriteFileGroup> groups = byOverlap ? groupsByOverlap() : groupsBySize();
    groups.sort(RewriteFileGroup.comparator(jobOrder));
    return groups;
  }

  private List<RewriteFileGroup> groupsBySize() throws IOException {
    List<RewriteFileGroup> groups = new ArrayList<>();
    int filesLeft = filesMax;
    for (PartFiles part : partsThatShareNoPartition()) {
      int indexInPart = 0;
      for (List<FileScanTask> tasks : planFileGroups(part.tasks)) {
        if (filesLeft > 0 && !tasks.isEmpty()) {
          List<FileScanTask> taken = tasks.subList(0, Math.min(tasks.size(), filesLeft));
          filesLeft -= taken.size();
          groups.add(group(part.part, groups.size() + 1, ++indexInPart, tasks, taken));
        }
      }
    }
    return groups;
  }

  /**
   * Where rows are sorted, parts whose rows may come into one partition are one part: what is
   * written from one group would overlap there with what is written from another (O11).
   */
  private List<PartFiles> partsThatShareNoPartition() throws IOException {
    List<PartFiles> parts = new ArrayList<>();
    List<PartFiles> left = new ArrayList<>();
    parts()
        .forEach(
            (part, tasks) -> {
              if (part.partition() != null || shared == null) {
                parts.add(new PartFiles(part, tasks));
              } else {
                Map<PartitionTuple, List<FileScanTask>> own = new LinkedHashMap<>();
                tasks.forEach(
                    task ->
                        own.computeIfAbsent(
                                PartitionTuple.of(task.file()), tuple -> new ArrayList<>())
                            .add(task));
                own.values().forEach(some -> parts.add(new PartFiles(part, some)));
              }
            });
    if (shared == null || parts.stream().allMatch(part -> part.part.partition() != null)) {
      return parts;
    }
    List<PartFiles> joining = new ArrayList<>();
    List<List<DataFile>> files = new ArrayList<>();
    for (PartFiles part : parts) {
      List<DataFile> wanted = new ArrayList<>();
      (rewriteAll ? part.tasks : filterFiles(part.tasks)).forEach(task -> wanted.add(task.file()));
      if (wanted.isEmpty()) {
        left.add(part);
      } else {
        joining.add(part);
        files.add(wanted);
      }
    }
    int[] numbers = shared.joined(files, outputSpecId());
    Map<Integer, PartFiles> joined = new LinkedHashMap<>();
    for (int i = 0; i < numbers.length; i++) {
      joined.merge(numbers[i], joining.get(i), PartFiles::with);
    }
    left.addAll(joined.values());
    return left;
  }

  /** A group for each set of files that overlap too much: each is taken whole, or not at all. */
  private List<RewriteFileGroup> groupsByOverlap() throws IOException {
    List<OverlapSet> sets = new ArrayList<>();
    for (Map.Entry<Part, List<FileScanTask>> part : parts().entrySet()) {
      sets.addAll(overlapSets(part.getKey(), part.getValue()));
    }
    if (filesMax < Integer.MAX_VALUE) {
      sets.sort(Comparator.comparingInt(OverlapSet::depth).reversed());
    }
    List<RewriteFileGroup> groups = new ArrayList<>();
    Map<Part, Integer> groupsOfPart = new HashMap<>();
    int filesLeft = filesMax;
    for (OverlapSet set : sets) {
      if (set.tasks.size() <= filesLeft) {
        filesLeft -= set.tasks.size();
        int indexInPart = groupsOfPart.merge(set.part, 1, Integer::sum);
        groups.add(group(set.part, groups.size() + 1, indexInPart, set.tasks, set.tasks));
      }
    }
    return groups;
  }

  private List<OverlapSet> overlapSets(Part part, List<FileScanTask> tasks) {
    if (explain) {
      seen.addAll(tasks);
    }
    if (part.partition() == null) {
      return List.of(); // their rows go to partitions whose files are not among them
    }
    KeyBounds keys = Objects.requireNonNull(bounds);
    OverlapSelection selection =
        OverlapSelection.of(
            tasks.stream().map(task -> keys.of(task.file())).toList(),
            tasks.stream().mapToLong(FileScanTask::length).toArray(),
            overlapDepthMax,
            writeAmplificationMax);
    int[] depths = selection.depths();
    List<OverlapSet> sets = new ArrayList<>();
    for (int[] set : selection.sets()) {
      sets.add(
          new OverlapSet(
              part,
              Arrays.stream(set).mapToObj(tasks::get).toList(),
              Arrays.stream(set).map(file -> depths[file]).max().orElse(0)));
    }
    if (explain) {
      sets.forEach(set -> set.tasks.forEach(task -> inKeptGroups.add(task.file().location())));
      for (int file = 0; file < depths.length; file++) {
        overlaps.put(
            tasks.get(file).file().location(),
            new Overlap(depths[file], selection.coversTooDeep(file)));
      }
    }
    return sets;
  }

  /** The files that may be rewritten, those first that were met first. */
  private Map<Part, List<FileScanTask>> parts() throws IOException {
    Map<Part, List<FileScanTask>> parts = new LinkedHashMap<>();
    try (CloseableIterable<FileScanTask> tasks = scan().planFiles()) {
      for (FileScanTask task : tasks) {
        PartitionSpec spec = spec(task.file().specId());
        if (keepSpecs && !PartitionSpecs.isWritable(spec)) {
          keep(task, spec);
        } else {
          parts.computeIfAbsent(partOf(task, spec), part -> new ArrayList<>()).add(task);
        }
      }
    }
    return parts;
  }

  private TableScan scan() {
    TableScan scan =
        table()
            .newScan()
            .useSnapshot(snapshotId)
            .filter(filter)
            .caseSensitive(true)
            .ignoreResiduals(); // H6
    // The scan's schema is the snapshot's. A column that it lacks is in no file.
    Schema schema = scan.schema();
    List<String> columns = new ArrayList<>();
    Set<Integer> ids = new LinkedHashSet<>();
    if (bounds != null) {
      ids.addAll(bounds.fieldIds());
    }
    if (shared != null) {
      ids.addAll(shared.fieldIds());
    }
    for (int id : ids) {
      String name = schema.findColumnName(id);
      if (name != null) {
        columns.add(name);
      }
    }
    return columns.isEmpty() ? scan : scan.includeColumnStats(columns);
  }

  private void keep(FileScanTask task, PartitionSpec spec) {
    if (explain) {
      seen.add(task);
      unwritable.put(task.file().location(), PartitionSpecs.whyUnwritable(spec));
    }
  }

  private Part partOf(FileScanTask task, PartitionSpec spec) {
    boolean keepsSpec = keepSpecs || spec.specId() == outputSpecId();
    return keepsSpec
        ? new Part(
            spec.specId(),
            StructLikeWrapper.forType(spec.partitionType()).set(task.file().partition()))
        : new Part(outputSpecId(), null);
  }

  private PartitionSpec spec(int specId) {
    return Objects.requireNonNull(table().specs().get(specId));
  }

  private RewriteFileGroup group(
      Part part,
      int globalIndex,
      int indexInPart,
      List<FileScanTask> packed,
      List<FileScanTask> taken) {
    StructLikeWrapper partition = part.partition();
    long bytes = inputSize(packed);
    return new RewriteFileGroup(
        ImmutableRewriteDataFiles.FileGroupInfo.builder()
            .globalIndex(globalIndex)
            .partitionIndex(indexInPart)
            .partition(
                partition == null
                    ? GenericRecord.create(spec(part.specId()).partitionType())
                    : partition.get())
            .build(),
        new ArrayList<>(taken),
        part.specId(),
        writeMaxFileSize(),
        inputSplitSize(bytes),
        expectedOutputFiles(bytes));
  }

  @Override
  protected Iterable<List<FileScanTask>> planFileGroups(Iterable<FileScanTask> tasks) {
    if (explain) {
      tasks.forEach(seen::add);
    }
    // Lazy, and not to be walked twice.
    List<List<FileScanTask>> groups = new ArrayList<>();
    (layout instanceof Layout.BinPack ? super.planFileGroups(tasks) : sortedGroups(tasks))
        .forEach(groups::add);
    if (explain) {
      groups.forEach(group -> group.forEach(task -> inKeptGroups.add(task.file().location())));
    }
    return groups;
  }

  /** As Iceberg's groups, but cut so that outputs of one do not overlap with those of another. */
  private Iterable<List<FileScanTask>> sortedGroups(Iterable<FileScanTask> tasks) {
    Iterable<FileScanTask> wanted = rewriteAll ? tasks : filterFiles(tasks);
    List<List<FileScanTask>> groups = new ArrayList<>();
    if (bounds != null) {
      groups.addAll(SortGroups.of(wanted, bounds, groupBytesMax, groupFilesMax));
    } else if (wanted.iterator().hasNext()) {
      groups.add(StreamSupport.stream(wanted.spliterator(), false).toList());
    }
    return rewriteAll ? groups : filterFileGroups(groups);
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
    String kept = unwritable.get(task.file().location());
    if (kept != null) {
      return decision(task, null, Reason.UNWRITABLE_SPEC, kept);
    }
    return byOverlap ? overlapDecision(task, group) : sizeDecision(task, group);
  }

  private FileDecision overlapDecision(FileScanTask task, @Nullable Integer group) {
    Overlap overlap = overlaps.get(task.file().location());
    if (overlap == null) {
      return decision(
          task,
          null,
          Reason.OTHER_SPEC,
          "its rows go to partitions of spec "
              + outputSpecId()
              + ": overlap is looked at within a partition. Set strategy to size, or"
              + " keep-partition-spec");
    }
    String detail =
        String.format(
            Locale.ROOT,
            "%d other %s a part of its key range, limit %d",
            overlap.depth,
            overlap.depth == 1 ? "file covers" : "files cover",
            overlapDepthMax);
    if (group != null) {
      return decision(task, group, Reason.OVERLAP, detail);
    }
    if (!overlap.tooDeep) {
      return decision(task, null, Reason.IN_ORDER, detail);
    }
    return inKeptGroups.contains(task.file().location())
        ? decision(
            task, null, Reason.FILES_CAP, "max-files-to-rewrite is reached; it would be: " + detail)
        : decision(
            task,
            null,
            Reason.WRITE_BUDGET,
            String.format(
                Locale.ROOT,
                "%s; over the write budget: with what it overlaps, more than %s bytes for each new"
                    + " one",
                detail,
                BigDecimal.valueOf(writeAmplificationMax).stripTrailingZeros().toPlainString()));
  }

  private FileDecision sizeDecision(FileScanTask task, @Nullable Integer group) {
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
