package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.engine.CompactionOption;
import java.io.FileNotFoundException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.Schema;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FirnTest {
  @TempDir Path directory;
  private CapturedTerminal terminal;

  @BeforeEach
  void makeTable() throws Exception {
    try (HadoopCatalog catalog =
        new HadoopCatalog(new Configuration(), directory.resolve("wh").toString())) {
      ((Catalog) catalog)
          .createTable(
              TableIdentifier.of("db", "orders"),
              new Schema(Types.NestedField.required(1, "id", Types.LongType.get())));
    }
    terminal =
        new CapturedTerminal(
            directory,
            Map.of(
                "FIRN_CATALOG_LOCAL_TYPE",
                "hadoop",
                "FIRN_CATALOG_LOCAL_WAREHOUSE",
                directory.resolve("wh").toString()));
  }

  @Test
  void helpNamesEveryOptionAndTheExitCodes() {
    assertThat(terminal.run("--help")).isZero();
    assertThat(terminal.out()).contains("demo", "plan", "compact", "Exit codes:");
    assertThat(terminal.run("compact", "--help")).isZero();
    for (CompactionOption option : CompactionOption.values()) {
      assertThat(terminal.out()).contains("--" + option.key());
    }
    assertThat(terminal.err()).isEmpty();
  }

  @Test
  void versionNamesIceberg() {
    assertThat(terminal.run("--version")).isZero();
    assertThat(terminal.out()).contains("firn ").contains("Iceberg 1.12.0");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "                                        | A command is missing",
        "compct db.orders                        | did you mean 'compact'?",
        "compact                                 | Missing required parameter: 'TABLE'",
        "compact db.orders x                     | Unmatched argument",
        "compact db.orders --target-file-size=1  | did you mean '--target-file-size-bytes'?",
        "compact db.orders --target-file-size-bytes=big | which is not a size such as 128MB",
        "compact db.orders --option=rewrite-al=true | did you mean 'rewrite-all'?",
        "compact db.orders --option=compression-factor=2 | cannot apply",
        "compact db.orders --partial-progress.max-commits=3 | cannot apply: partial-progress",
        "compact db.orders --rewrite-all --min-input-files=2 | cannot apply: rewrite-all",
        "compact db.orders --min-input-files=-1  | must be a positive whole number",
        "compact db.orders --min-input-files=3 --option=min-input-files=4 | is '3' but --option",
        "compact db.orders --min-input-files=99999999999 | at most 2147483647 but was",
        "compact db.orders --option=zzz=1        | unknown option 'zzz'",
        "compact db.orders --output=xml          | xml",
        "compact db.orders --sort=table          | has none",
        "compact db.orders --sort=idd            | did you mean 'id'?",
        "compact db.orders --where=              | : it is empty",
        "compact db.orders --where=id=~          | Cannot use the where predicate",
        "compact db.orders --memory=much         | --memory is 'much'",
        "compact db.orders --snapshot-property=firn.run-id=x | choose other names",
        "compact orders                          | it must be namespace.table",
        "compact db.order                        | has no table db.order; did you mean 'db.orders'?",
        "compact bd.orders                       | nor a namespace bd; did you mean 'db'?",
        "compact db.orders --catalog=locl        | did you mean 'local'?",
        "compact db.orders --catalog=warehouse   | not configured; there is 'local'",
        "compact db.orders --config=none.yaml    | none.yaml: no such file",
        "plan db.orders --where=idd=3            | did you mean 'id'?",
        "compact db.orders --strategy=zorder     | must be one of size, overlap",
        "plan db.orders --strategy=overlap --rewrite-all | cannot apply: strategy overlap",
      })
  void usageErrorsEndWithTwoAndSayWhy(String line, String message) {
    String[] args = line == null || line.isBlank() ? new String[0] : line.trim().split(" +");
    assertThat(terminal.run(args)).isEqualTo(2);
    assertThat(terminal.err()).contains(message).doesNotContain("\tat ");
    assertThat(terminal.lastErrLine())
        .isEqualTo("firn: usage error, nothing was started (exit code 2)");
    assertThat(terminal.out()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--zorder=nope               | there is no column 'nope'",
        "--zorder=id --sort=id       | Only one of --sort, --zorder and --hilbert",
        "--zorder=id --hilbert=id    | Only one of --sort, --zorder and --hilbert",
        "--hilbert=id --curve-input=rank | --hilbert always runs over ranks",
        "--curve-input=rank          | --curve-input is given without --zorder",
        "--zorder=bucket(8,id)       | is not just a column",
        "--zorder=id,id              | 'id'",
        "--zorder=id --curve-input=rank --var-length-contribution=8 | belongs to z-order over bytes",
      })
  void o12CurvesThatCannotBeAreUsageErrors(String flags, String message) {
    List<String> line = new ArrayList<>(List.of("compact", "db.orders"));
    line.addAll(List.of(flags.trim().split(" +")));
    assertThat(terminal.run(line.toArray(String[]::new))).isEqualTo(2);
    assertThat(terminal.err()).contains(message);
  }

  @Test
  void aStackTraceComesOnlyWithDebug() {
    assertThat(terminal.run("plan", "db.order", "--debug")).isEqualTo(2);
    assertThat(terminal.err()).contains("\tat dev.firn");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void otherFailuresNameTheirKind(boolean debug) {
    assertThat(Failures.report(new IllegalStateException("odd"), terminal.terminal(), debug))
        .isEqualTo(1);
    assertThat(terminal.err()).contains("IllegalStateException: odd");
    assertThat(terminal.err().contains("\tat ")).isEqualTo(debug);
    assertThat(terminal.lastErrLine()).isEqualTo("firn: failed (exit code 1)");
  }

  @Test
  void aCatalogThatCannotBeReachedIsNamedWithTheInnermostReason() {
    assertThat(
            terminal.run(
                "plan",
                "db.orders",
                "--catalog=far",
                "--type=jdbc",
                "--uri=jdbc:nosuchdatabase:x",
                "--warehouse=" + directory))
        .isEqualTo(1);
    assertThat(terminal.err())
        .contains("Cannot open the catalog 'far': ", "No suitable driver", "Nothing was started")
        .doesNotContain("\tat ");
  }

  @Test
  void exceptionsHaveTheExitCodesPromised() {
    assertThat(Failures.codeOf(new UsageException("x"))).isEqualTo(ExitCode.USAGE);
    assertThat(Failures.codeOf(new ValidationException("x"))).isEqualTo(ExitCode.CONFLICT);
    assertThat(
            Failures.codeOf(
                new RuntimeException(new CommitStateUnknownException(new Exception("x")))))
        .isEqualTo(ExitCode.UNKNOWN);
    assertThat(Failures.codeOf(new dev.firn.engine.parquet.UnsupportedTableException("x")))
        .isEqualTo(ExitCode.INPUT);
    assertThat(Failures.codeOf(new java.io.UncheckedIOException(new FileNotFoundException("x"))))
        .as("a file that the table's metadata names and that is not there")
        .isEqualTo(ExitCode.INPUT);
    assertThat(Failures.codeOf(new OutOfMemoryError("heap"))).isEqualTo(ExitCode.RESOURCES);
    assertThat(
            Failures.codeOf(
                new java.io.UncheckedIOException(
                    new java.io.IOException("No space left on device"))))
        .isEqualTo(ExitCode.RESOURCES);
    for (ExitCode code : ExitCode.values()) {
      assertThat(ExitCode.of(code.code())).isEqualTo(code);
    }
  }
}
