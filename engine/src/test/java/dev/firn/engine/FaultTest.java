package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.firn.engine.CompactionReport.FailureKind;
import dev.firn.testdata.FaultyFileIO;
import dev.firn.testdata.FaultyFileIO.Call;
import dev.firn.testdata.FaultyTableOperations;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Runs whose storage or catalog fails at every one of its calls in turn. No row is lost, none comes
 * back, no live file is deleted, and after a clean failure nothing is left behind (O-D).
 */
class FaultTest {
  /** Of each kind of call so many are made to fail at most, spread over all; -Dfirn.runs=N. */
  private static final int FAULTS = Integer.getInteger("firn.runs", 5);

  @TempDir Path directory;
  private Path scratch;
  private int tables;

  static Stream<Arguments> calls() {
    return Stream.of(Call.values())
        .filter(call -> call != Call.DELETE)
        .flatMap(call -> Stream.of(Arguments.of(call, 2), Arguments.of(call, 3)));
  }

  @ParameterizedTest
  @MethodSource("calls")
  void c11c12odNoFailingCallLosesARow(Call call, int formatVersion) throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
    long calls = runWithFault(call, 0, formatVersion, false);
    assumeThat(calls).isPositive();
    long step = Math.max(1, calls / FAULTS);
    for (long nth = 1; nth <= calls; nth += step) {
      runWithFault(call, nth, formatVersion, nth % 2 == 0);
    }
  }

  /** Runs once with the nth such call failing, 0 for none; gives the number of calls. */
  private long runWithFault(Call call, long nth, int formatVersion, boolean partialProgress) {
    Table made = SmallTable.withDeletes(directory.resolve("table-" + tables++), formatVersion);
    TableBefore before = TableBefore.of(made);
    List<String> rows = TableBefore.rows(made, made.currentSnapshot());
    Table faulty = Tables.withIo(made, FaultyFileIO::new);
    FaultyFileIO io = (FaultyFileIO) faulty.io();
    long callsBefore = io.calls(call);
    if (nth > 0) {
      io.fail(call, nth);
    }
    CompactionSettings.Builder settings = settings();
    if (partialProgress) {
      settings.option("partial-progress.enabled", "true");
    }
    if (nth % 3 == 1) {
      settings.layout(
          new Layout.Sorted(
              SortOrder.builderFor(made.schema()).desc("id", NullOrder.NULLS_FIRST).build()));
    }
    String what = call + " " + nth + " of v" + formatVersion + (partialProgress ? " partial" : "");
    boolean isUnknown;
    try {
      CompactionReport report =
          new Compaction(faulty, settings.build(), CompactionListener.NONE, Duration.ofMillis(200))
              .run();
      isUnknown =
          report.failures().stream().anyMatch(failure -> failure.kind() == FailureKind.UNKNOWN);
      assertThat(report.exitCode()).as(what + ": %s", report.failures()).isIn(0, 1, 3, 5);
      if (nth == 0 || io.failed() == 0) {
        assertThat(report.failures()).isEmpty();
      }
      if (report.exitCode() == 1) {
        assertThat(report.snapshotsCommitted()).isEmpty();
        assertThat(report.failures())
            .as(what)
            .anyMatch(failure -> failure.message().contains("Made to fail"))
            .allMatch(failure -> failure.message().length() < 3000);
      }
    } catch (RuntimeException e) {
      // "An exception means that nothing was committed."
      assertThat(e).as(what).hasStackTraceContaining("Made to fail");
      made.refresh();
      assertThat(made.currentSnapshot().summary()).as(what).doesNotContainKey("firn.run-id");
      isUnknown = false;
    }
    check(what, before, rows, TableBuilder.open(TableBefore.path(made.location())), isUnknown);
    // Iceberg leaves manifests open when their first byte cannot be read or written.
    assertThat(io.openStreams().keySet())
        .as(what)
        .allMatch(location -> location.contains("/metadata/"));
    return io.calls(call) - callsBefore;
  }

  private CompactionSettings.Builder settings() {
    return CompactionSettings.builder()
        .option("rewrite-all", "true")
        .memoryBytes(512L << 20)
        .scratch(scratch)
        .threads(2);
  }

  private void check(
      String what, TableBefore before, List<String> rows, Table after, boolean isUnknown) {
    assertThat(TableBefore.rows(after, after.currentSnapshot())).as(what).isEqualTo(rows);
    before.checkHistory(after, "main");
    if (isUnknown) {
      before.checkKept(after);
    } else {
      before.checkFiles(after, what);
    }
    assertThat(scratch).as(what).isEmptyDirectory();
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void outputsThatCannotBeDeletedAreLeftAndSaid(int formatVersion) throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
    Table made = SmallTable.withDeletes(directory.resolve("table"), formatVersion);
    TableBefore before = TableBefore.of(made);
    List<String> rows = TableBefore.rows(made, made.currentSnapshot());
    Table faulty = Tables.withIo(made, FaultyFileIO::new);
    FaultyFileIO io = (FaultyFileIO) faulty.io();
    io.fail(Call.CLOSE, 2, location -> location.endsWith(".parquet"));
    io.failAll(Call.DELETE, location -> true);
    CompactionReport report =
        new Compaction(faulty, settings().build(), CompactionListener.NONE).run();
    assertThat(report.exitCode()).isEqualTo(1);
    assertThat(report.failures()).anyMatch(failure -> failure.message().contains("Made to fail"));
    Table after = TableBuilder.open(directory.resolve("table"));
    assertThat(TableBefore.rows(after, after.currentSnapshot())).isEqualTo(rows);
    before.checkKept(after);
    assertThat(io.openStreams()).isEmpty();
    assertThat(scratch).isEmptyDirectory();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 7, 1000})
  void c8LostRacesCostNoRewrite(int lost) throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
    Table made = SmallTable.withDeletes(directory.resolve("table"), 2);
    TableBefore before = TableBefore.of(made);
    List<String> rows = TableBefore.rows(made, made.currentSnapshot());
    FaultyTableOperations operations = FaultyTableOperations.of(made).failCommits(lost);
    List<Integer> rewritten = new ArrayList<>();
    CompactionReport report =
        new Compaction(
                operations.table(),
                settings().build(),
                new CompactionListener() {
                  @Override
                  public synchronized void rewritten(
                      org.apache.iceberg.actions.RewriteFileGroup group) {
                    rewritten.add(group.info().globalIndex());
                  }
                })
            .run();
    assertThat(report.exitCode()).isEqualTo(lost == 1000 ? 4 : 0);
    if (lost < 1000) {
      assertThat(rewritten).as("groups rewritten").hasSize(report.groups().planned());
    } else {
      assertThat(report.failures())
          .allMatch(failure -> failure.kind() == FailureKind.CONFLICT)
          .hasSize(report.groups().planned());
    }
    check("lost " + lost, before, rows, TableBuilder.open(directory.resolve("table")), false);
  }

  @Test
  void c11ACommitThatDidHappenUnheardIsFound() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
    Table made = SmallTable.withDeletes(directory.resolve("table"), 2);
    TableBefore before = TableBefore.of(made);
    List<String> rows = TableBefore.rows(made, made.currentSnapshot());
    FaultyTableOperations operations = FaultyTableOperations.of(made).unknownAfterCommit(1);
    CompactionReport report =
        new Compaction(
                operations.table(),
                settings().build(),
                CompactionListener.NONE,
                Duration.ofSeconds(5))
            .run();
    assertThat(report.exitCode()).isZero();
    assertThat(report.groups().committed()).isEqualTo(report.groups().planned());
    check("unknown, done", before, rows, TableBuilder.open(directory.resolve("table")), false);
  }

  @Test
  void c11WhileInDoubtNothingIsDeletedAndNothingRedone() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
    Table made = SmallTable.withDeletes(directory.resolve("table"), 2);
    TableBefore before = TableBefore.of(made);
    List<String> rows = TableBefore.rows(made, made.currentSnapshot());
    FaultyTableOperations operations = FaultyTableOperations.of(made).unknownWithoutCommit(1);
    CompactionReport report =
        new Compaction(
                operations.table(),
                settings().build(),
                CompactionListener.NONE,
                Duration.ofMillis(300))
            .run();
    assertThat(report.exitCode()).isEqualTo(5);
    assertThat(report.failures())
        .hasSize(report.groups().planned())
        .allMatch(failure -> failure.kind() == FailureKind.UNKNOWN)
        .allMatch(failure -> failure.message().contains("firn.run-id=" + report.runId()));
    Table after = TableBuilder.open(directory.resolve("table"));
    check("unknown, not done", before, rows, after, true);
    assertThat(TableBefore.paths(after).size())
        .as("outputs are kept")
        .isGreaterThan(before.paths().size());
    // What was in doubt does not stand in the way of the next run.
    CompactionReport next =
        new Compaction(after, settings().build(), CompactionListener.NONE).run();
    assertThat(next.exitCode()).isZero();
    assertThat(Map.copyOf(after.currentSnapshot().summary()))
        .containsEntry("firn.run-id", next.runId());
  }
}
