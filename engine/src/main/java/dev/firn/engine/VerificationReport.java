package dev.firn.engine;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What comparing two snapshots has shown. Printed for people, and as one JSON object whose names
 * are those given here.
 *
 * @param from id of the older snapshot, usually
 * @param to id of the other
 * @param same whether both hold the same live rows
 * @param rows live rows that were read and compared
 * @param dataFiles data files that both have with the same deletes, not read; and those read
 * @param columns names of the columns compared, with those inside of others
 * @param notCompared names of columns that only one of the snapshots has, or of row lineage that
 *     one of them is too old for
 * @param difference null if they are the same
 * @param peakMemoryBytes peak resident memory of the process so far
 */
@JsonPropertyOrder({
  "table",
  "branch",
  "from",
  "to",
  "same",
  "rows",
  "data_files",
  "columns",
  "not_compared",
  "difference",
  "seconds",
  "peak_memory_bytes"
})
public record VerificationReport(
    @JsonProperty("table") String table,
    @JsonProperty("branch") String branch,
    @JsonProperty("from") long from,
    @JsonProperty("to") long to,
    @JsonProperty("same") boolean same,
    @JsonProperty("rows") Rows rows,
    @JsonProperty("data_files") DataFiles dataFiles,
    @JsonProperty("columns") List<String> columns,
    @JsonProperty("not_compared") List<String> notCompared,
    @JsonProperty("difference") @Nullable Difference difference,
    @JsonProperty("seconds") double seconds,
    @JsonProperty("peak_memory_bytes") long peakMemoryBytes) {

  /** The exit code of a command that finds snapshots different. */
  private static final int DIFFERENT = 8;

  public VerificationReport {
    columns = List.copyOf(columns);
    notCompared = List.copyOf(notCompared);
  }

  public record Rows(long from, long to) {}

  public record DataFiles(long shared, long from, long to) {}

  /** Which of the two snapshots. */
  public enum Side {
    @JsonProperty("from")
    FROM,
    @JsonProperty("to")
    TO
  }

  /**
   * The first partition whose rows differ, by its path.
   *
   * @param partition empty if the table is not partitioned, or if files of several partition specs
   *     are in question, which can only be compared as a whole
   * @param partitions how many partitions differ
   * @param rows live rows of the partition
   * @param columns names of the columns whose values are not the same; if all are, but stand in
   *     other rows, the one without which the rows are the same; empty if there are several such
   * @param complete whether all rows without a counterpart were counted, or only a part for which
   *     there was memory
   * @param files files that hold rows that the other side does not have, or not as often
   * @param examples a few such rows
   */
  public record Difference(
      @JsonProperty("partition") String partition,
      @JsonProperty("partitions") int partitions,
      @JsonProperty("rows") Rows rows,
      @JsonProperty("columns") List<String> columns,
      @JsonProperty("complete") boolean complete,
      @JsonProperty("files") List<DifferingFile> files,
      @JsonProperty("examples") List<Example> examples) {
    public Difference {
      columns = List.copyOf(columns);
      files = List.copyOf(files);
      examples = List.copyOf(examples);
    }
  }

  /**
   * @param rows its rows without a counterpart
   */
  public record DifferingFile(Side side, String file, long rows) {}

  /**
   * A row that the other side does not have, or not as often.
   *
   * @param position in the file
   * @param values as text by the name of the column, cut where long
   */
  public record Example(Side side, String file, long position, Map<String, String> values) {}

  /** The exit code that the command ends with: 0 or 8. */
  @JsonIgnore
  public int exitCode() {
    return same ? 0 : DIFFERENT;
  }
}
