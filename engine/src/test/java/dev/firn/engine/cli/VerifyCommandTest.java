package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableFiles;
import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class VerifyCommandTest {
  @TempDir Path directory;
  private HadoopCatalog catalog;
  private Table table;

  @BeforeEach
  void makeTable() {
    catalog = new HadoopCatalog(new Configuration(), directory.resolve("wh").toString());
    table =
        ((Catalog) catalog)
            .createTable(
                TableIdentifier.of("db", "orders"),
                new Schema(
                    Types.NestedField.required(1, "id", Types.LongType.get()),
                    Types.NestedField.optional(2, "note", Types.StringType.get())));
    for (long file = 0; file < 6; file++) {
      append(file);
    }
  }

  @AfterEach
  void close() throws Exception {
    catalog.close();
  }

  private DataFile append(long file) {
    return TableFiles.of(table)
        .append(Rows.of(table.schema()).add(file, "note " + file).add(file + 100, null).list());
  }

  private CapturedTerminal terminal() {
    return new CapturedTerminal(
        directory,
        Map.of(
            "FIRN_CATALOG_LOCAL_TYPE",
            "hadoop",
            "FIRN_CATALOG_LOCAL_WAREHOUSE",
            directory.resolve("wh").toString()));
  }

  @Test
  void afterACompactionTheRowsAreTheSame() {
    assertThat(terminal().run("compact", "db.orders")).isZero();
    CapturedTerminal terminal = terminal();
    assertThat(terminal.run("verify", "db.orders")).isZero();
    assertThat(terminal.out()).contains("rows compared", "12", "2 columns compared");
    assertThat(terminal.lastErrLine())
        .isEqualTo("firn: done: both snapshots hold the same rows (exit code 0)");
  }

  @Test
  void snapshotsThatDifferEndWithEightAndNameTheRows() throws Exception {
    long before = table.currentSnapshot().snapshotId();
    DataFile appended = append(7);
    CapturedTerminal terminal = terminal();
    assertThat(terminal.run("verify", "db.orders", "--from", "" + before)).isEqualTo(8);
    assertThat(terminal.out())
        .contains("The rows differ", "to: 2 rows of " + appended.location())
        .contains("position 0: id = 7, note = 'note 7'")
        .contains("6 data files are in both");
    assertThat(terminal.lastErrLine()).isEqualTo("firn: the rows are not the same (exit code 8)");

    CapturedTerminal json = terminal();
    assertThat(json.run("verify", "db.orders", "--full", "--output=json")).isEqualTo(8);
    JsonNode report = new ObjectMapper().readTree(json.out());
    assertThat(report.get("same").asBoolean()).isFalse();
    assertThat(report.get("from").asLong()).isEqualTo(before);
    assertThat(report.get("rows").get("from").asLong()).isEqualTo(12);
    assertThat(report.get("rows").get("to").asLong()).isEqualTo(14);
    assertThat(report.get("data_files").get("shared").asLong()).isZero();
    JsonNode difference = report.get("difference");
    assertThat(difference.get("columns")).extracting(JsonNode::asText).contains("id", "note");
    assertThat(difference.get("files").get(0).get("file").asText()).isEqualTo(appended.location());
    assertThat(difference.get("files").get(0).get("side").asText()).isEqualTo("to");
    assertThat(difference.get("examples").get(0).get("values").get("id").asText()).isEqualTo("7");
    assertThat(json.err()).contains("data files with");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "verify                          | Missing required parameter: 'TABLE'",
        "verify db.orders --from=12      | 12 is neither",
        "verify db.orders --branch=none  | branch none is not there",
        "verify db.orders --form=12      | did you mean '--from'?",
        "verify db.order                 | did you mean 'db.orders'?",
        "verify db.orders --memory=much  | --memory is 'much'",
      })
  void usageErrorsEndWithTwo(String line, String message) {
    CapturedTerminal terminal = terminal();
    assertThat(terminal.run(line.trim().split(" +"))).isEqualTo(2);
    assertThat(terminal.err()).contains(message).doesNotContain("\tat ");
    assertThat(terminal.out()).isEmpty();
  }

  @Test
  void scratchThatIsMissingEndsWithSeven() {
    CapturedTerminal terminal = terminal();
    assertThat(terminal.run("verify", "db.orders", "--scratch=none")).isEqualTo(7);
    assertThat(terminal.err()).contains("Nothing was started").doesNotContain("\tat ");
    assertThat(terminal.out()).isEmpty();
  }

  @Test
  void helpNamesTheOptions() {
    CapturedTerminal terminal = terminal();
    assertThat(terminal.run("verify", "--help")).isZero();
    assertThat(terminal.out()).contains("--from", "--to", "--branch", "--full", "--memory");
    assertThat(terminal.run("--help")).isZero();
    assertThat(terminal.out()).contains("verify");
  }
}
