package dev.firn.bench.sidebyside;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program on small tables, with the engines that are quick to start. */
class SideBySideTest {
  private static final int ROWS = 100_000;

  @TempDir static Path warehouse;
  private static int exitCode;

  @BeforeAll
  static void runOnce() throws Exception {
    System.setProperty("firn.launcher", Path.of("../../firn").toRealPath().toString());
    exitCode = run("clean,equality-deletes,sort", "--write=" + document());
  }

  private static int run(String cases, String... more) {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "--warehouse=" + warehouse,
                "--rows=" + ROWS,
                "--heap=1g",
                "--cases=" + cases,
                "--engines=firn,generics,duckdb,copy"));
    arguments.addAll(List.of(more));
    return SideBySide.run(arguments.toArray(String[]::new));
  }

  private static Path document() throws Exception {
    return Files.writeString(
        warehouse.resolve("document.md"),
        "before\n<!-- side-by-side: begin -->\nold\n<!-- side-by-side: end -->\nafter\n",
        StandardOpenOption.CREATE_NEW);
  }

  @Test
  void everyEngineIsMeasuredAndLeavesTheSameRows() throws Exception {
    assertThat(exitCode).isZero();
    List<String> lines = Files.readAllLines(warehouse.resolve("results.jsonl"));
    assertThat(lines).hasSize(11); // the generics do not sort
    for (String line : lines) {
      JsonNode result = Json.MAPPER.readTree(line);
      assertThat(result.has("flaw")).as(line).isFalse();
      assertThat(result.get("cpu_seconds").asDouble()).as(line).isPositive();
      assertThat(result.get("wall_seconds").asDouble())
          .as(line)
          .isGreaterThan(result.get("work_seconds").asDouble());
      assertThat(result.get("peak_bytes").asLong()).as(line).isGreaterThan(20 << 20);
      assertThat(result.get("bytes_out").asLong()).as(line).isPositive();
      assertThat(result.get("files_out").asLong()).as(line).isEqualTo(1);
    }
  }

  @Test
  void theTableIsPutIntoTheDocument() throws Exception {
    String text = Files.readString(warehouse.resolve("document.md"));
    assertThat(text).startsWith("before\n").endsWith("after\n").doesNotContain("old");
    assertThat(text)
        .contains("| clean | Firn | ")
        .contains("| equality-deletes | DuckDB `COPY`, no deletes applied | ")
        .contains("| sort | Iceberg generics | – | ");
  }

  @Test
  void tablesAreAtTheirFirstStateAfterwards() throws Exception {
    FirstState state =
        FirstState.of(new Warehouse(warehouse).tableDirectory(Case.EQUALITY_DELETES));
    assertThat(state.contents().deletes()).isEqualTo(20);
    assertThat(state.contents().liveRows()).isEqualTo(ROWS);
    assertThat(contents(Case.EQUALITY_DELETES)).isEqualTo(state.contents());
  }

  @Test
  void rowsThatAnEngineLostAreSeen() throws Exception {
    Table table = new Warehouse(warehouse).table(Case.CLEAN);
    FirstState state = FirstState.of(new Warehouse(warehouse).tableDirectory(Case.CLEAN));
    try {
      DataFile lost = Warehouse.tasks(table).get(0).file();
      table.newDelete().deleteFile(lost).commit();
      assertThat(contents(Case.CLEAN).hasRowsOf(state.contents())).isFalse();
    } finally {
      state.restore(new Warehouse(warehouse).tableDirectory(Case.CLEAN));
    }
    assertThat(contents(Case.CLEAN)).isEqualTo(state.contents());
  }

  @Test
  void rowsOutOfOrderAndDeletesThatStayAreSeen() throws Exception {
    Warehouse tables = new Warehouse(warehouse);
    try (LiveRows rows = LiveRows.of(tables.table(Case.SORT), 2, warehouse.resolve("scratch"))) {
      assertThat(rows.flaws(Layout.SORT)).hasSize(64).allMatch(flaw -> flaw.contains("order"));
      assertThat(rows.flaws(Layout.Z_ORDER)).hasSize(1);
      assertThat(rows.flaws(Layout.BIN_PACK)).isEmpty();
    }
    Table upserted = tables.table(Case.EQUALITY_DELETES);
    try (LiveRows rows = LiveRows.of(upserted, 2, warehouse.resolve("scratch"))) {
      assertThat(rows.flaws(Layout.BIN_PACK)).singleElement().asString().contains("still apply");
    }
  }

  @Test
  void theSameSeedMakesTheSameRows() throws Exception {
    Contents first = contents(Case.SORT);
    FirstState.forget(new Warehouse(warehouse).tableDirectory(Case.SORT));
    assertThat(run("sort", "--generate-only")).isZero();
    assertThat(contents(Case.SORT).hasRowsOf(first)).isTrue();
    try (Stream<FileScanTask> files =
        Warehouse.tasks(new Warehouse(warehouse).table(Case.SORT)).stream()) {
      assertThat(files).hasSize(64);
    }
  }

  private static Contents contents(Case which) throws Exception {
    try (LiveRows rows =
        LiveRows.of(new Warehouse(warehouse).table(which), 2, warehouse.resolve("scratch"))) {
      return rows.contents();
    }
  }
}
