package dev.firn.engine;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import dev.firn.deletes.GroupDeletes;
import dev.firn.engine.parquet.SpliceTotals;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What a run did. Printed for people, and as one JSON object whose names are those given here.
 *
 * @param snapshotBefore id of the snapshot the run was first planned on, null if the branch is
 *     empty
 * @param snapshotsCommitted ids in the order of the commits
 * @param rows rows read are all rows of the committed groups' inputs, deleted or not
 * @param bytes bytes of committed groups' input files, and of the files they became
 * @param moved how the columns of those inputs were moved
 * @param peakMemoryBytes peak resident memory of the process so far
 * @param memory the limit, its named parts, and the peak of each
 */
@JsonPropertyOrder({
  "run_id",
  "table",
  "branch",
  "snapshot_before",
  "snapshots_committed",
  "groups",
  "data_files",
  "delete_files_removed",
  "unmatched_deletes",
  "rows",
  "bytes",
  "moved",
  "seconds",
  "peak_memory_bytes",
  "memory",
  "failures"
})
public record CompactionReport(
    @JsonProperty("run_id") String runId,
    @JsonProperty("table") String table,
    @JsonProperty("branch") String branch,
    @JsonProperty("snapshot_before") @Nullable Long snapshotBefore,
    @JsonProperty("snapshots_committed") List<Long> snapshotsCommitted,
    @JsonProperty("groups") Groups groups,
    @JsonProperty("data_files") DataFiles dataFiles,
    @JsonProperty("delete_files_removed") long deleteFilesRemoved,
    @JsonProperty("unmatched_deletes") UnmatchedDeletes unmatchedDeletes,
    @JsonProperty("rows") Rows rows,
    @JsonProperty("bytes") Bytes bytes,
    @JsonProperty("moved") Moved moved,
    @JsonProperty("seconds") Seconds seconds,
    @JsonProperty("peak_memory_bytes") long peakMemoryBytes,
    @JsonProperty("memory") MemoryUse memory,
    @JsonProperty("failures") List<Failure> failures) {

  public CompactionReport {
    snapshotsCommitted = List.copyOf(snapshotsCommitted);
    failures = List.copyOf(failures);
  }

  public record Groups(int planned, int committed, int failed) {}

  public record DataFiles(long rewritten, long added) {}

  /**
   * Delete rows that deleted no row of the committed group which they were read for. Each group
   * counts for itself: what matches nothing in one may match in another, or in files that were not
   * rewritten.
   *
   * @param positionsElsewhere rows of position delete files that name no data file of the group
   * @param positionsBeyond positions that the data file does not have, of position delete files
   * @param positionsRepeated rows of position delete files that name a row again
   * @param vectorPositionsBeyond positions that the data file does not have, of deletion vectors
   * @param equalityKeys different keys of equality deletes that no row has in the data files of the
   *     group that they apply to
   */
  public record UnmatchedDeletes(
      @JsonProperty("positions_elsewhere") long positionsElsewhere,
      @JsonProperty("positions_beyond") long positionsBeyond,
      @JsonProperty("positions_repeated") long positionsRepeated,
      @JsonProperty("vector_positions_beyond") long vectorPositionsBeyond,
      @JsonProperty("equality_keys") long equalityKeys) {

    static final UnmatchedDeletes NONE = new UnmatchedDeletes(0, 0, 0, 0, 0);

    /** All of them. */
    @JsonIgnore
    public long sum() {
      return positionsElsewhere
          + positionsBeyond
          + positionsRepeated
          + vectorPositionsBeyond
          + equalityKeys;
    }

    UnmatchedDeletes plus(GroupDeletes.Unmatched group) {
      return new UnmatchedDeletes(
          positionsElsewhere + group.positionsElsewhere(),
          positionsBeyond + group.positionsBeyond(),
          positionsRepeated + group.positionsRepeated(),
          vectorPositionsBeyond + group.vectorPositionsBeyond(),
          equalityKeys + group.equalityKeys());
    }
  }

  /**
   * Rows of committed groups.
   *
   * @param carriedOver rows written that delete files of the same commits delete, because others
   *     deleted them from the inputs meanwhile
   * @param verified rows written that were read back and compared with the inputs' before the
   *     commit
   */
  public record Rows(
      long read,
      long deleted,
      long written,
      @JsonProperty("carried_over") long carriedOver,
      long verified) {}

  public record Bytes(long read, long written) {}

  /**
   * How the columns of committed groups were moved, in compressed bytes of the inputs, those of
   * delete files and footers left out. Columns that an input does not have count nothing.
   *
   * @param spliced bytes of pages that were copied as they are, or with another codec
   * @param filtered bytes of pages whose rows were moved in the encoding that the pages have
   * @param transcoded bytes of columns that were decoded and encoded
   * @param reasons the transcoded bytes by the reason why the columns could not be spliced
   */
  public record Moved(
      @JsonProperty("bytes_spliced") long spliced,
      @JsonProperty("bytes_filtered") long filtered,
      @JsonProperty("bytes_transcoded") long transcoded,
      @JsonProperty("transcoded_because") Map<String, Long> reasons) {

    public Moved {
      reasons = Collections.unmodifiableMap(new TreeMap<>(reasons));
    }

    static Moved of(SpliceTotals totals) {
      return new Moved(
          totals.copiedBytes() + totals.recompressedBytes(),
          totals.filteredBytes(),
          totals.transcodedBytesInAll(),
          totals.transcodedBytes());
    }
  }

  public record Seconds(double total, double plan, double rewrite, double commit) {}

  /**
   * A group that was not committed.
   *
   * @param group index of the group in its plan, 0 for the run as a whole
   */
  public record Failure(int group, FailureKind kind, String message) {}

  /** Why a group was not committed, as far as callers act differently. */
  public enum FailureKind {
    /** Others changed the group's inputs; a new run plans it anew. */
    @JsonProperty("conflict")
    CONFLICT(4),
    /** The commit may have happened or not; nothing was deleted. */
    @JsonProperty("unknown")
    UNKNOWN(5),
    /** A file is not what the metadata says, or of a kind Firn does not do. */
    @JsonProperty("corrupt")
    CORRUPT(6),
    @JsonProperty("unsupported")
    UNSUPPORTED(6),
    /** The outputs, read back, do not hold the rows of the inputs. */
    @JsonProperty("mismatch")
    MISMATCH(8),
    /** The limit named is too small for the group. */
    @JsonProperty("memory")
    MEMORY(7),
    @JsonProperty("disk")
    DISK(7),
    /** The run was asked to end before its end. */
    @JsonProperty("stopped")
    STOPPED(9),
    /** Anything else. */
    @JsonProperty("other")
    OTHER(1);

    private final int exitCode;

    FailureKind(int exitCode) {
      this.exitCode = exitCode;
    }

    /** The kind of a failure, told from what was thrown and its causes. */
    public static FailureKind of(Throwable failure) {
      return FailureKinds.of(failure);
    }

    /** Exit code of a run in which nothing was committed and this is the reason. */
    public int exitCode() {
      return exitCode;
    }
  }

  /** The exit code that a command ends with: 0, 1, 3, 4, 5, 6, 7, 8 or 9. */
  @JsonIgnore
  public int exitCode() {
    if (failures.isEmpty()) {
      return 0;
    }
    if (failures.stream().anyMatch(failure -> failure.kind() == FailureKind.UNKNOWN)) {
      return FailureKind.UNKNOWN.exitCode();
    }
    if (failures.stream().anyMatch(failure -> failure.kind() == FailureKind.STOPPED)) {
      return FailureKind.STOPPED.exitCode();
    }
    if (groups.committed() > 0) {
      return 3;
    }
    return failures.stream()
        .filter(failure -> failure.kind() != FailureKind.CONFLICT)
        .findFirst()
        .map(failure -> failure.kind().exitCode())
        .orElse(FailureKind.CONFLICT.exitCode());
  }
}
