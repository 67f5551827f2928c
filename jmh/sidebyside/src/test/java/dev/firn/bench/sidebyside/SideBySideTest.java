package dev.firn.bench.sidebyside;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.apache.iceberg.DataFile;
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
    exitCode =
        SideBySide.run(
            "--warehouse=" + warehouse,
            "--rows=" + ROWS,
            "--heap=1g",
            "--cases=equality-deletes,sort",
            "--engines=firn,generics,duckdb,copy",
            "--write=" + document());
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
    assertThat(lines).hasSize(7); // the generics do not sort
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
        .contains("| sort | Firn | ")
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
    Table table = new Warehouse(warehouse).table(Case.SORT);
    FirstState state = FirstState.of(new Warehouse(warehouse).tableDirectory(Case.SORT));
    try {
      DataFile lost = Warehouse.tasks(table).get(0).file();
      table.newDelete().deleteFile(lost).commit();
      assertThat(contents(Case.SORT).hasRowsOf(state.contents())).isFalse();
    } finally {
      state.restore(new Warehouse(warehouse).tableDirectory(Case.SORT));
    }
    assertThat(contents(Case.SORT)).isEqualTo(state.contents());
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

  private static Contents contents(Case which) throws Exception {
    try (LiveRows rows =
        LiveRows.of(new Warehouse(warehouse).table(which), 2, warehouse.resolve("scratch"))) {
      return rows.contents();
    }
  }
}
