package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.engine.CompactionReport.FailureKind;
import dev.firn.engine.cli.Firn;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs that are asked to end before their end. */
class StopTest {
  @TempDir Path directory;
  @TempDir Path scratch;

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatIsFinishedIsCommittedIfPartsMayBe(boolean partialProgress) {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(SmallTable.SCHEMA)
            .partitionBy(spec -> spec.identity("region"))
            .create();
    for (String region : List.of("a", "b", "c", "d")) {
      TableFiles.of(table).append(SmallTable.rows(0, 20, region));
      TableFiles.of(table).append(SmallTable.rows(20, 20, region));
    }
    table.refresh();
    TableBefore before = TableBefore.of(table);
    List<String> rows = TableRows.live(table);
    Compaction[] compaction = new Compaction[1];
    compaction[0] =
        new Compaction(
            table,
            Runs.all(scratch)
                .layout(new Layout.ZOrder(List.of("id", "note"), Layout.CurveInput.RANK))
                .option("partial-progress.enabled", "" + partialProgress)
                .build(),
            new CompactionListener() {
              @Override
              public void rewritten(RewriteFileGroup group) {
                compaction[0].stop();
              }
            });
    CompactionReport report = compaction[0].run();
    table.refresh();
    assertThat(report.exitCode()).isEqualTo(9);
    assertThat(report.failures()).anyMatch(failure -> failure.kind() == FailureKind.STOPPED);
    if (partialProgress) {
      assertThat(report.groups().committed()).isBetween(1, 3);
    } else {
      assertThat(report.groups().committed()).isZero();
      assertThat(report.snapshotsCommitted()).isEmpty();
    }
    assertThat(TableRows.live(table)).isEqualTo(rows);
    before.checkFiles(table, "a stop");
    assertThat(scratch).isEmptyDirectory();
  }

  @Test
  @DisabledOnOs(OS.WINDOWS)
  void aProcessThatIsAskedToEndLeavesNothing() throws Exception {
    Path warehouse = directory.resolve("wh");
    try (HadoopCatalog catalog =
        new HadoopCatalog(new Configuration(), warehouse.toUri().toString())) {
      Table table =
          catalog.createTable(
              TableIdentifier.of("db", "t"),
              SmallTable.SCHEMA,
              PartitionSpec.builderFor(SmallTable.SCHEMA).identity("region").build());
      TableFiles files = TableFiles.of(table).rowGroupRows(2000);
      for (int i = 0; i < 10; i++) {
        files.append(SmallTable.rows(0, 10_000, "r" + i % 5));
      }
      table.refresh();
      List<String> rows = TableRows.live(table);
      TableBefore before = TableBefore.of(table);
      Process process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-Xmx512m",
                  "--add-opens=java.base/java.nio=ALL-UNNAMED",
                  "-cp",
                  System.getProperty("java.class.path"),
                  Firn.class.getName(),
                  "compact",
                  "db.t",
                  "--type=hadoop",
                  "--warehouse=" + warehouse.toUri(),
                  "--sort=note",
                  "--rewrite-all",
                  "--partial-progress.enabled",
                  "--memory=1g",
                  "--scratch=" + scratch)
              .redirectErrorStream(true)
              .redirectOutput(directory.resolve("log").toFile())
              .start();
      while (process.isAlive() && isEmpty(scratch)) {
        Thread.sleep(20);
      }
      process.destroy();
      assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
      assertThat(process.exitValue())
          .as("%s", Files.readString(directory.resolve("log")))
          .isIn(0, 9); // 0: it was done already
      table.refresh();
      assertThat(TableRows.live(table)).isEqualTo(rows);
      before.checkKept(table);
      Set<Path> come = new TreeSet<>(TableBefore.paths(table));
      come.removeAll(before.paths());
      come.removeIf(file -> file.toString().endsWith(".crc"));
      TableRows.dataFiles(table, table.currentSnapshot())
          .forEach(file -> come.remove(TableBefore.path(file.location())));
      assertThat(come).as("orphans (O-D)").isEmpty();
      assertThat(scratch).isEmptyDirectory();
    }
  }

  private static boolean isEmpty(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.findAny().isEmpty();
    }
  }
}
