package dev.firn.engine.actions;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.FaultyTableOperations;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortDirection;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.ActionsProvider;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Code that was written for Spark's actions. */
class FirnActionsTest {
  private static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.LongType.get()), optional(2, "region", Types.StringType.get()));

  @TempDir Path directory;
  private Table table;

  @BeforeEach
  void makeTable() {
    table =
        TableBuilder.at(directory.resolve("t"))
            .schema(SCHEMA)
            .partitionBy(spec -> spec.identity("region"))
            .property("commit.retry.min-wait-ms", "1")
            .create();
    TableFiles files = TableFiles.of(table);
    for (int i = 0; i < 6; i++) {
      files.append(rows(10 * i, 10, "eu"));
      files.append(rows(100 + 10 * i, 10, "us"));
    }
    DataFile first = TableRows.dataFiles(table, table.currentSnapshot()).get(0);
    files.deletePositions(Map.of(first, new long[] {0, 1}));
    table.refresh();
  }

  private static List<Record> rows(int from, int count, String region) {
    Rows rows = Rows.of(SCHEMA);
    for (int id = from; id < from + count; id++) {
      rows.add((long) id, region);
    }
    return rows.list();
  }

  private List<String> live() {
    table.refresh();
    return TableRows.live(table);
  }

  @Test
  void binPackCountsAsSparkDoes() {
    List<String> before = live();
    ActionsProvider actions = FirnActions.get();
    RewriteDataFiles.Result result =
        actions
            .rewriteDataFiles(table)
            .binPack()
            .option("min-input-files", "2")
            .options(Map.of("target-file-size-bytes", "134217728"))
            .snapshotProperty("job", "nightly")
            .execute();
    assertThat(result.rewrittenDataFilesCount()).isEqualTo(12);
    assertThat(result.addedDataFilesCount()).isEqualTo(2);
    assertThat(result.rewrittenBytesCount()).isPositive();
    assertThat(result.failedDataFilesCount()).isZero();
    assertThat(result.rewriteFailures()).isEmpty();
    assertThat(result.rewriteResults())
        .hasSize(2)
        .allSatisfy(group -> assertThat(group.rewrittenDataFilesCount()).isEqualTo(6))
        .allSatisfy(group -> assertThat(group.addedDataFilesCount()).isEqualTo(1));
    assertThat(live()).isEqualTo(before);
    assertThat(table.currentSnapshot().summary()).containsEntry("job", "nightly");
  }

  @Test
  void sortTakesTheTablesOrderOrTheCallers() {
    List<String> before = live();
    table.replaceSortOrder().desc("id").commit();
    FirnActions.get().rewriteDataFiles(table).sort().option("rewrite-all", "true").execute();
    assertThat(live()).isEqualTo(before);
    assertThat(ids("eu")).isNotEmpty().isSortedAccordingTo((a, b) -> Long.compare(b, a));
    SortOrder order =
        SortOrder.builderFor(table.schema())
            .sortBy("id", SortDirection.ASC, NullOrder.NULLS_LAST)
            .build();
    FirnActions.withMemory(256L << 20)
        .rewriteDataFiles(table)
        .sort(order)
        .option("rewrite-all", "true")
        .execute();
    assertThat(live()).isEqualTo(before);
    assertThat(ids("eu")).isNotEmpty().isSorted();
  }

  private List<Long> ids(String region) {
    List<Long> ids = new ArrayList<>();
    for (DataFile file : TableRows.dataFiles(table, table.currentSnapshot())) {
      if (region.equals(String.valueOf(file.partition().get(0, Object.class)))) {
        TableRows.inFile(table, file).forEach(row -> ids.add((Long) row.getField("id")));
      }
    }
    return ids;
  }

  @Test
  void filterNarrowsTheCandidates() {
    RewriteDataFiles.Result result =
        FirnActions.get()
            .rewriteDataFiles(table)
            .filter(Expressions.equal("region", "eu"))
            .option("rewrite-all", "true")
            .execute();
    assertThat(result.rewrittenDataFilesCount()).isEqualTo(6);
    assertThat(result.addedDataFilesCount()).isEqualTo(1);
  }

  @Test
  void d34DanglingDeletesAreCounted() {
    RewriteDataFiles.Result result =
        FirnActions.get()
            .rewriteDataFiles(table)
            .option("rewrite-all", "true")
            .option("remove-dangling-deletes", "true")
            .execute();
    assertThat(result.removedDeleteFilesCount()).isEqualTo(1);
    table.refresh();
    assertThat(TableRows.deleteFiles(table, table.currentSnapshot())).isEmpty();
  }

  @Test
  void c16ABranchIsCompactedAlone() {
    table.manageSnapshots().createBranch("audit", table.currentSnapshot().snapshotId()).commit();
    List<String> before = live();
    long main = table.currentSnapshot().snapshotId();
    FirnActions.get()
        .rewriteDataFiles(table)
        .toBranch("audit")
        .option("rewrite-all", "true")
        .execute();
    assertThat(live()).isEqualTo(before);
    assertThat(table.currentSnapshot().snapshotId()).isEqualTo(main);
    assertThat(TableRows.live(table, "audit")).isEqualTo(before);
    assertThat(TableRows.dataFiles(table, table.snapshot("audit"))).hasSize(2);
  }

  @Test
  void nothingToDoIsAnEmptyResult() {
    FirnActions.get().rewriteDataFiles(table).option("rewrite-all", "true").execute();
    long snapshot = table.currentSnapshot().snapshotId();
    RewriteDataFiles.Result result = FirnActions.get().rewriteDataFiles(table).execute();
    assertThat(result.rewriteResults()).isEmpty();
    assertThat(result.rewrittenDataFilesCount()).isZero();
    table.refresh();
    assertThat(table.currentSnapshot().snapshotId()).isEqualTo(snapshot);
  }

  @Test
  void failuresAreTypedAsInSpark() {
    FaultyTableOperations faulty = FaultyTableOperations.of(table).failCommits(1000);
    assertThatThrownBy(
            () ->
                FirnActions.get()
                    .rewriteDataFiles(faulty.table())
                    .option("rewrite-all", "true")
                    .execute())
        .isInstanceOf(CommitFailedException.class);
  }

  @Test
  void curvesAreLayoutsLikeAnyOther() {
    List<String> rows = TableRows.live(table);
    for (boolean hilbert : new boolean[] {false, true}) {
      RewriteDataFiles action =
          FirnActions.get().rewriteDataFiles(table).option("rewrite-all", "true");
      action = hilbert ? action.hilbert("id", "region") : action.zOrder("id", "region");
      assertThat(action.execute().rewrittenDataFilesCount()).isPositive();
      table.refresh();
      assertThat(TableRows.live(table)).isEqualTo(rows);
    }
  }

  @Test
  void whatIsUnknownIsRefused() {
    assertThatThrownBy(() -> FirnActions.get().rewriteDataFiles(table).zOrder("id", "x").execute())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("x");
    assertThatThrownBy(() -> FirnActions.get().rewriteDataFiles(table).option("no-such", "1"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("no-such");
    assertThatThrownBy(() -> FirnActions.get().rewriteDataFiles(table).binPack().sort())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("already");
    assertThatThrownBy(
            () ->
                FirnActions.get().rewriteDataFiles(table).snapshotProperty("firn.x", "1").execute())
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> FirnActions.get().rewriteDataFiles(table).sort().execute())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("sort order");
    assertThatThrownBy(() -> FirnActions.get().deleteOrphanFiles(table))
        .isInstanceOf(UnsupportedOperationException.class);
  }
}
