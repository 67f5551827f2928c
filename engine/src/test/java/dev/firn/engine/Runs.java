package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.TableRows;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;

/** Runs of which everything is expected to succeed. */
final class Runs {
  private Runs() {}

  /** Rewrites all files, with little memory and one thread. */
  static CompactionSettings.Builder all(Path scratch) {
    return CompactionSettings.builder()
        .option("rewrite-all", "true")
        .memoryBytes(512L << 20)
        .scratch(scratch)
        .threads(1);
  }

  /** Compacts; the table is refreshed after it, and new files are held against their metadata. */
  static CompactionReport of(Table table, CompactionSettings.Builder settings) {
    return beside(table, settings, other -> {});
  }

  /**
   * As {@link #of}; the rows are what they were, DuckDB reads the files too, and their pages are
   * what indexes and statistics say.
   */
  static CompactionReport checked(Table table, CompactionSettings.Builder settings)
      throws IOException, SQLException {
    table.refresh();
    List<String> live = TableRows.live(table);
    CompactionReport report = of(table, settings);
    assertThat(TableRows.live(table)).isEqualTo(live);
    try (DuckDb duckDb = DuckDb.open()) {
      for (DataFile file : TableRows.dataFiles(table, table.currentSnapshot())) {
        duckDb.check(table, file);
        try (ParquetTruth truth = ParquetTruth.of(TableBefore.path(file.location()))) {
          truth.check(Set.of());
        }
      }
    }
    return report;
  }

  /** Compacts; when the first files are written, another writer commits through its own handle. */
  static CompactionReport beside(
      Table table, CompactionSettings.Builder settings, Consumer<Table> other) {
    table.refresh();
    Set<String> before = FileTruth.locations(table);
    CompactionReport report = reported(table, settings, other);
    assertThat(report.failures()).isEmpty();
    assertThat(report.groups().committed()).isEqualTo(report.groups().planned()).isPositive();
    assertThat(settings.build().scratch()).isEmptyDirectory();
    FileTruth.check(table, table.snapshot(settings.build().branch()), before);
    return report;
  }

  /** As {@link #beside}, whatever comes of it. */
  static CompactionReport reported(
      Table table, CompactionSettings.Builder settings, Consumer<Table> other) {
    Table handle = Tables.another(table);
    CompactionReport report =
        new Compaction(
                table,
                settings.build(),
                new CompactionListener() {
                  private boolean done;

                  @Override
                  public synchronized void rewritten(RewriteFileGroup group) {
                    if (!done) {
                      done = true;
                      other.accept(handle);
                    }
                  }
                })
            .run();
    table.refresh();
    return report;
  }
}
