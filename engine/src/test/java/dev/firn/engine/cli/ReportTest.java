package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.firn.engine.CompactionReport;
import dev.firn.engine.CompactionReport.Failure;
import dev.firn.engine.CompactionReport.FailureKind;
import dev.firn.engine.MemoryUse;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ReportTest {
  @Test
  void jsonIsOneObjectOnOneLineWithTheNamesPromised() throws Exception {
    StringWriter text = new StringWriter();
    ReportJson.print(
        report(3, 2, List.of(new Failure(3, FailureKind.CONFLICT, "say \"x\"\nagain"))),
        new PrintWriter(text, true));
    assertThat(text.toString().strip().lines()).hasSize(1);
    JsonNode json = new ObjectMapper().readTree(text.toString());
    assertThat(names(json))
        .containsExactly(
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
            "failures");
    assertThat(names(json.get("groups"))).containsExactly("planned", "committed", "failed");
    assertThat(names(json.get("data_files"))).containsExactly("rewritten", "added");
    assertThat(names(json.get("unmatched_deletes")))
        .containsExactly(
            "positions_elsewhere",
            "positions_beyond",
            "positions_repeated",
            "vector_positions_beyond",
            "equality_keys");
    assertThat(names(json.get("rows")))
        .containsExactly("read", "deleted", "written", "carried_over", "verified");
    assertThat(names(json.get("bytes"))).containsExactly("read", "written");
    assertThat(names(json.get("moved")))
        .containsExactly(
            "bytes_spliced", "bytes_filtered", "bytes_transcoded", "transcoded_because");
    assertThat(names(json.get("seconds"))).containsExactly("total", "plan", "rewrite", "commit");
    assertThat(names(json.get("failures").get(0))).containsExactly("group", "kind", "message");
    assertThat(json.get("failures").get(0).get("kind").asText()).isEqualTo("conflict");
    assertThat(json.get("snapshots_committed").get(0).asLong()).isEqualTo(22L);
  }

  @Test
  void textNamesWhatAPersonAsksFor() {
    StringWriter text = new StringWriter();
    ReportText.print(report(2, 2, List.of()), new PrintWriter(text, true));
    assertThat(text.toString())
        .contains("c.db.t, branch main, run r-1")
        .containsPattern("data files +100 +3\n")
        .containsPattern("rows +1,000,000 +999,000\n")
        .containsPattern("rows deleted +1,000\n")
        .containsPattern("delete files removed +12\n")
        .containsPattern(
            "deletes without a row +1,500 equality keys, 7 positions of other files, 3 positions past"
                + " the end \\(within their group; they may have rows elsewhere\\)\n")
        .containsPattern("groups +2 of 2 committed\n")
        .containsPattern("scratch disk +3.00 MB\n")
        .containsPattern("memory +limit +peak\n")
        .containsPattern("process +2.00 GB +1.00 GB\n")
        .containsPattern("heap +512 MB +256 MB\n");
  }

  @Test
  void theOutcomeIsTheExitCodeInWords() {
    assertThat(ReportText.outcome(report(2, 2, List.of())))
        .isEqualTo("done: 100 files became 3, 12 delete files removed (exit code 0)");
    assertThat(ReportText.outcome(report(0, 0, List.of())))
        .isEqualTo("nothing to do (exit code 0)");
    assertThat(ReportText.outcome(report(2, 0, List.of())))
        .as("others had rewritten the inputs of both groups")
        .isEqualTo(
            "nothing committed, nothing left to do: others had rewritten what was planned"
                + " (exit code 0)");
    assertThat(ReportText.outcome(report(2, 1, List.of(new Failure(1, FailureKind.OTHER, "x")))))
        .isEqualTo("some groups failed, the rest is committed (exit code 3)");
    assertThat(ReportText.outcome(report(2, 0, List.of(new Failure(1, FailureKind.MEMORY, "x")))))
        .isEqualTo("memory or disk does not suffice, nothing was committed (exit code 7)");
    assertThat(ReportText.outcome(report(2, 1, List.of(new Failure(1, FailureKind.UNKNOWN, "x")))))
        .startsWith("commit state unknown")
        .endsWith("(exit code 5)");
  }

  private static List<String> names(JsonNode object) {
    List<String> names = new ArrayList<>();
    object.fieldNames().forEachRemaining(names::add);
    return names;
  }

  private static CompactionReport report(int planned, int committed, List<Failure> failures) {
    return new CompactionReport(
        "r-1",
        "c.db.t",
        "main",
        11L,
        List.of(22L),
        new CompactionReport.Groups(planned, committed, failures.size()),
        new CompactionReport.DataFiles(100, 3),
        12,
        new CompactionReport.UnmatchedDeletes(7, 1, 0, 2, 1_500),
        new CompactionReport.Rows(1_000_000, 1_000, 999_000, 0, 0),
        new CompactionReport.Bytes(5 << 20, 4 << 20),
        new CompactionReport.Moved(3 << 20, 1 << 20, 10, Map.of("not in the file", 10L)),
        new CompactionReport.Seconds(3.5, 0.5, 2.5, 0.5),
        1 << 30,
        new MemoryUse(
            2L << 30, 1L << 30, List.of(new MemoryUse.Share("heap", 1L << 29, 1L << 28)), 3L << 20),
        failures);
  }
}
