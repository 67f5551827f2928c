package dev.firn.engine;

import dev.firn.commit.CommitSettings;
import dev.firn.engine.parquet.PageEncodings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.jspecify.annotations.Nullable;

/**
 * What a compaction is to do: parsed and checked once, immutable.
 *
 * @param options values of {@link CompactionOption}s by key, all known and of the right form
 * @param filter files that may hold matching rows are candidates, whole
 * @param branch the branch that is compacted
 * @param layout how output rows are laid out
 * @param snapshotProperties added to the summary of each snapshot committed
 * @param memoryBytes what the process may use in all: heap, Arrow and native memory
 * @param scratch directory for row groups in flight; must exist and be writable at the run's start
 * @param threads threads that encode and compress
 * @param runId names the run in snapshot summaries and in the report
 */
public record CompactionSettings(
    Map<String, String> options,
    Expression filter,
    String branch,
    Layout layout,
    Map<String, String> snapshotProperties,
    long memoryBytes,
    Path scratch,
    int threads,
    String runId) {

  /** Options of Spark's action that have no meaning here, and why. */
  private static final Map<String, String> OF_SPARK_ONLY =
      Map.of(
          "compression-factor", "Firn measures the compression ratio while it writes",
          "shuffle-partitions-per-file", "Firn does not shuffle");

  public CompactionSettings {
    options = Map.copyOf(options);
    snapshotProperties = Map.copyOf(snapshotProperties);
    if (memoryBytes <= 0) {
      throw new IllegalArgumentException("memory must be positive but was " + memoryBytes);
    }
    if (threads <= 0) {
      throw new IllegalArgumentException("threads must be positive but was " + threads);
    }
    if (branch.isBlank()) {
      throw new IllegalArgumentException("branch must not be blank");
    }
    options.forEach(CompactionSettings::checkOption);
    checkTogether(options);
    checkLayout(options, layout);
    // Refuses keys that commits set themselves.
    new CommitSettings(runId, 1, false, 0, true, snapshotProperties, Duration.ZERO, 1);
  }

  private static void checkOption(String key, String value) {
    String sparkOnly = OF_SPARK_ONLY.get(key);
    if (sparkOnly != null) {
      throw new IllegalArgumentException("Option " + key + " cannot apply: " + sparkOnly);
    }
    CompactionOption.of(key)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "Unknown option '"
                        + key
                        + "'; the nearest known one is '"
                        + CompactionOption.nearest(key)
                        + "'"))
        .checked(value);
  }

  private static void checkTogether(Map<String, String> options) {
    if (!CompactionOption.PARTIAL_PROGRESS_ENABLED.flag(options, false)) {
      refuseWith(
          options,
          "partial-progress.enabled is not true",
          CompactionOption.PARTIAL_PROGRESS_MAX_COMMITS,
          CompactionOption.PARTIAL_PROGRESS_MAX_FAILED_COMMITS);
    }
    if (CompactionOption.REWRITE_ALL.flag(options, false)) {
      refuseWith(
          options,
          "rewrite-all takes every file",
          CompactionOption.MIN_INPUT_FILES,
          CompactionOption.DELETE_FILE_THRESHOLD,
          CompactionOption.DELETE_RATIO_THRESHOLD);
    }
    if (CompactionOption.isByOverlap(options)) {
      if (CompactionOption.REWRITE_ALL.flag(options, false)) {
        throw new IllegalArgumentException(
            "Option "
                + CompactionOption.REWRITE_ALL.key()
                + " cannot apply: strategy overlap chooses files by their overlap");
      }
      refuseWith(
          options,
          "strategy overlap takes files that overlap, and takes all that hang together as a group",
          CompactionOption.MIN_INPUT_FILES,
          CompactionOption.DELETE_FILE_THRESHOLD,
          CompactionOption.DELETE_RATIO_THRESHOLD,
          CompactionOption.MAX_FILE_GROUP_SIZE_BYTES,
          CompactionOption.MAX_FILE_GROUP_INPUT_FILES);
    } else {
      refuseWith(
          options,
          "strategy is not overlap",
          CompactionOption.MAX_OVERLAP_DEPTH,
          CompactionOption.MAX_WRITE_AMPLIFICATION);
    }
    if (CompactionOption.KEEP_PARTITION_SPEC.flag(options, false)) {
      refuseWith(
          options,
          "keep-partition-spec gives outputs the spec of their inputs",
          CompactionOption.OUTPUT_SPEC_ID);
    }
  }

  private static void checkLayout(Map<String, String> options, Layout layout) {
    boolean sorted = layout instanceof Layout.TableOrder || layout instanceof Layout.Sorted;
    if (CompactionOption.isByOverlap(options) && !sorted) {
      throw new IllegalArgumentException(
          "Strategy overlap cannot apply to a run that does not sort its rows: bounds of files tell"
              + " of their overlap on a sort order only. Sort, or set strategy to size.");
    }
    if (!(layout instanceof Layout.ZOrder zOrder) || zOrder.input() != Layout.CurveInput.BYTES) {
      refuseWith(
          options,
          "it belongs to z-order over bytes, which this run does not do",
          CompactionOption.VAR_LENGTH_CONTRIBUTION,
          CompactionOption.MAX_OUTPUT_SIZE);
    }
  }

  private static void refuseWith(
      Map<String, String> options, String reason, CompactionOption... refused) {
    for (CompactionOption option : refused) {
      if (options.containsKey(option.key())) {
        throw new IllegalArgumentException("Option " + option.key() + " cannot apply: " + reason);
      }
    }
  }

  boolean partialProgress() {
    return CompactionOption.PARTIAL_PROGRESS_ENABLED.flag(options, false);
  }

  int commitsMax() {
    return CompactionOption.PARTIAL_PROGRESS_MAX_COMMITS.count(options, 10);
  }

  int failedCommitsMax() {
    return CompactionOption.PARTIAL_PROGRESS_MAX_FAILED_COMMITS.count(options, commitsMax());
  }

  boolean useStartingSequenceNumber() {
    return CompactionOption.USE_STARTING_SEQUENCE_NUMBER.flag(options, true);
  }

  boolean removeDanglingDeletes() {
    return CompactionOption.REMOVE_DANGLING_DELETES.flag(options, false);
  }

  boolean splices() {
    return CompactionOption.SPLICE.flag(options, true);
  }

  PageEncodings encodings() {
    return PageEncodings.of(options.getOrDefault(CompactionOption.ENCODING.key(), "auto"));
  }

  boolean verify() {
    return CompactionOption.VERIFY.flag(options, false);
  }

  boolean rewriteAll() {
    return CompactionOption.REWRITE_ALL.flag(options, false);
  }

  boolean keepPartitionSpec() {
    return CompactionOption.KEEP_PARTITION_SPEC.flag(options, false);
  }

  boolean allowFormatChange() {
    return CompactionOption.ALLOW_FORMAT_CHANGE.flag(options, false);
  }

  long groupBytesMax() {
    return CompactionOption.MAX_FILE_GROUP_SIZE_BYTES.bytes(
        options, RewriteDataFiles.MAX_FILE_GROUP_SIZE_BYTES_DEFAULT);
  }

  int varLengthContribution() {
    return CompactionOption.VAR_LENGTH_CONTRIBUTION.count(options, 8);
  }

  int maxOutputSize() {
    return CompactionOption.MAX_OUTPUT_SIZE.count(options, Integer.MAX_VALUE);
  }

  int concurrentGroupsMax() {
    return CompactionOption.MAX_CONCURRENT_FILE_GROUP_REWRITES.count(options, 5);
  }

  /** Settings with all defaults: bin-pack of the main branch. */
  public static Builder builder() {
    return new Builder();
  }

  /** Collects settings; {@link #build()} checks them. Not thread-safe. */
  public static final class Builder {
    private final Map<String, String> options = new LinkedHashMap<>();
    private final Map<String, String> snapshotProperties = new LinkedHashMap<>();
    private Expression filter = Expressions.alwaysTrue();
    private String branch = SnapshotRef.MAIN_BRANCH;
    private @Nullable Layout layout; // null: as the strategy has it
    private long memoryBytes = MemoryShares.defaultTotalBytes();
    private Path scratch = Path.of(System.getProperty("java.io.tmpdir"));
    private int threads = Runtime.getRuntime().availableProcessors();

    private Builder() {}

    /** Sets an option by its name. */
    public Builder option(String key, String value) {
      checkOption(key, value);
      options.put(key, CompactionOption.of(key).orElseThrow().checked(value));
      return this;
    }

    /** Sets options by name. */
    public Builder options(Map<String, String> values) {
      values.forEach(this::option);
      return this;
    }

    /** Narrows the candidates, in addition to earlier filters. */
    public Builder filter(Expression expression) {
      filter = Expressions.and(filter, expression);
      return this;
    }

    public Builder branch(String name) {
      branch = name;
      return this;
    }

    /** Bin-pack if not called, or the table's sort order where the strategy needs one. */
    public Builder layout(Layout value) {
      layout = value;
      return this;
    }

    public Builder snapshotProperty(String key, String value) {
      snapshotProperties.put(key, value);
      return this;
    }

    public Builder memoryBytes(long bytes) {
      memoryBytes = bytes;
      return this;
    }

    public Builder scratch(Path directory) {
      scratch = directory;
      return this;
    }

    public Builder threads(int count) {
      threads = count;
      return this;
    }

    private Layout layoutOrDefault() {
      if (layout != null) {
        return layout;
      }
      return CompactionOption.isByOverlap(options) ? new Layout.TableOrder() : new Layout.BinPack();
    }

    /**
     * The settings.
     *
     * @throws IllegalArgumentException if something is unknown, of the wrong form or cannot apply
     */
    public CompactionSettings build() {
      return new CompactionSettings(
          options,
          filter,
          branch,
          layoutOrDefault(),
          snapshotProperties,
          memoryBytes,
          scratch,
          threads,
          UUID.randomUUID().toString());
    }
  }
}
