package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.engine.parquet.UnsupportedTableException;
import dev.firn.testdata.GoldenTables;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tables of Spark, Flink and Iceberg's Java writers, compacted in every way: they hold exactly the
 * rows that they must, old snapshots and other branches too, and no delete is left to apply.
 */
class GoldenTest {
  @TempDir Path directory;

  static Stream<String> tables() {
    return GoldenTables.names().stream();
  }

  @ParameterizedTest
  @MethodSource("tables")
  void oaBinPackKeepsExactlyTheLiveRows(String name) throws IOException {
    Table table = GoldenTables.copyTo(name, directory);
    compactAndCheck(name, table, CompactionSettings.builder());
    if (table.specs().size() == 1) {
      m19ASecondRunPlansNothing(GoldenTables.open(name, directory));
    }
  }

  private void m19ASecondRunPlansNothing(Table table) {
    CompactionSettings defaults = CompactionSettings.builder().scratch(directory).build();
    assertThat(new Compaction(table, defaults, CompactionListener.NONE).plan().groups()).isEmpty();
    CompactionReport report = new Compaction(table, defaults, CompactionListener.NONE).run();
    assertThat(report.groups().planned()).isZero();
    assertThat(report.snapshotsCommitted()).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("tables")
  void oaSortKeepsExactlyTheLiveRows(String name) throws IOException {
    Table table = GoldenTables.copyTo(name, directory);
    compactAndCheck(
        name, table, CompactionSettings.builder().layout(new Layout.Sorted(order(table.schema()))));
  }

  @ParameterizedTest
  @MethodSource("tables")
  void c25oaPartialProgressInManyCommitsKeepsExactlyTheLiveRows(String name) throws IOException {
    Table table = GoldenTables.copyTo(name, directory);
    CompactionSettings.Builder many =
        CompactionSettings.builder()
            .option("partial-progress.enabled", "true")
            .option("max-file-group-input-files", "2");
    if (name.equals("g06d-dropped-source")) {
      // P6: a commit that keeps some files of that spec would take them from under their deletes.
      assertThatThrownBy(() -> new Compaction(table, settings(many), CompactionListener.NONE).run())
          .isInstanceOf(UnsupportedTableException.class)
          .hasMessageContainingAll("a_bucket was dropped", "partial progress");
      return;
    }
    compactAndCheck(name, table, many);
  }

  @Test
  void c16OnlyTheNamedBranchIsCompacted() throws IOException {
    Table table = GoldenTables.copyTo("g14-branches", directory);
    long main = table.currentSnapshot().snapshotId();
    CompactionReport report =
        new Compaction(
                table,
                settings(CompactionSettings.builder().branch("audit")),
                CompactionListener.NONE)
            .run();
    assertThat(report.failures()).isEmpty();
    assertThat(report.groups().committed()).isPositive();
    table.refresh();
    assertThat(table.currentSnapshot().snapshotId()).isEqualTo(main);
    assertThat(TableRows.live(table, "audit"))
        .isEqualTo(GoldenTables.expectedRows("g14-branches", "audit"));
    assertThat(TableRows.live(table)).isEqualTo(GoldenTables.expectedRows("g14-branches"));
    assertThat(table.snapshot("audit").operation()).isEqualTo(DataOperations.REPLACE);
  }

  private CompactionSettings settings(CompactionSettings.Builder builder) {
    return builder
        .option("rewrite-all", "true")
        .memoryBytes(1L << 30)
        .scratch(directory)
        .threads(2)
        .build();
  }

  private void compactAndCheck(String name, Table table, CompactionSettings.Builder builder)
      throws IOException {
    assertThat(TableRows.live(table)).isEqualTo(GoldenTables.expectedRows(name));
    Map<Long, List<String>> snapshotsBefore = new HashMap<>();
    for (Snapshot snapshot : table.snapshots()) {
      snapshotsBefore.put(snapshot.snapshotId(), TableRows.live(table, snapshot.snapshotId()));
    }
    Schema schema = table.schema();
    Set<String> filesBefore = FileTruth.locations(table);

    CompactionReport report =
        new Compaction(table, settings(builder), CompactionListener.NONE).run();

    assertThat(report.failures()).as("failures of %s", name).isEmpty();
    assertThat(report.exitCode()).isZero();
    assertThat(report.groups().committed()).isPositive();
    assertThat(report.rows().read() - report.rows().deleted())
        .as("rows written (C26)")
        .isEqualTo(report.rows().written())
        .isEqualTo(GoldenTables.expectedRows(name).size());

    Table after = GoldenTables.open(name, directory);
    assertThat(TableRows.live(after)).isEqualTo(GoldenTables.expectedRows(name));
    assertThat(after.schema().sameSchema(schema)).as("the schema stays (N11)").isTrue();
    for (Map.Entry<Long, List<String>> before : snapshotsBefore.entrySet()) {
      assertThat(TableRows.live(after, before.getKey()))
          .as("rows of snapshot %d of %s (C13, O-B)", before.getKey(), name)
          .isEqualTo(before.getValue());
    }
    for (Long id : report.snapshotsCommitted()) {
      assertThat(after.snapshot(id).operation()).isEqualTo(DataOperations.REPLACE);
      assertThat(after.snapshot(id).summary()).containsEntry("firn.run-id", report.runId());
    }
    FileTruth.check(after, filesBefore);
    try (CloseableIterable<FileScanTask> tasks = after.newScan().planFiles()) {
      assertThat(tasks).allSatisfy(task -> assertThat(task.deletes()).isEmpty());
    }
  }

  /** By all primitive columns at the top, in turn ascending and descending. */
  private static SortOrder order(Schema schema) {
    SortOrder.Builder order = SortOrder.builderFor(schema);
    boolean ascending = true;
    for (Types.NestedField field : schema.columns()) {
      if (field.type().isPrimitiveType()) {
        if (ascending) {
          order.asc(field.name(), NullOrder.NULLS_LAST);
        } else {
          order.desc(field.name(), NullOrder.NULLS_FIRST);
        }
        ascending = !ascending;
      }
    }
    return order.build();
  }
}
