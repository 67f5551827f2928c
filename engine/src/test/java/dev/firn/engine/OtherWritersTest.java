package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Another writer commits between plan and commit. The table ends with the rows that its twin has,
 * to which the same was done without a compaction, and nothing is left to be done by hand: groups
 * whose inputs changed are planned anew.
 */
class OtherWritersTest {
  /** What the other writer does; the same for the table and for its twin. */
  private static final Map<String, Consumer<Table>> OTHERS = new LinkedHashMap<>();

  static {
    OTHERS.put("append", table -> files(table).append(SmallTable.rows(100, 3, "eu")));
    OTHERS.put(
        "delete keys",
        table ->
            files(table)
                .rowDelta(
                    List.of(),
                    List.of(
                        files(table)
                            .equalityDeletes(List.of("id"), SmallTable.rows(20, 2, "eu")))));
    OTHERS.put(
        "delete keys that are not there",
        table ->
            files(table)
                .rowDelta(
                    List.of(),
                    List.of(
                        files(table)
                            .equalityDeletes(List.of("id"), SmallTable.rows(900, 2, "us")))));
    OTHERS.put("upsert", table -> files(table).upsert(List.of("id"), SmallTable.rows(11, 4, "us")));
    OTHERS.put(
        "delete positions",
        table -> files(table).deletePositions(Map.of(oldest(table, "eu"), new long[] {1, 2})));
    OTHERS.put(
        "delete all rows of an input",
        table ->
            files(table)
                .deletePositions(
                    Map.of(oldest(table, "us"), new long[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})));
    OTHERS.put(
        "delete an input", table -> table.newDelete().deleteFile(oldest(table, "eu")).commit());
    OTHERS.put(
        "overwrite an input",
        table ->
            table
                .newOverwrite()
                .deleteFile(oldest(table, "us"))
                .addFile(files(table).data(SmallTable.rows(10, 2, "us")))
                .commit());
    OTHERS.put(
        "delete a partition",
        table -> table.newDelete().deleteFromRowFilter(Expressions.equal("region", "us")).commit());
    OTHERS.put(
        "add a column",
        table -> table.updateSchema().addColumn("more", Types.IntegerType.get()).commit());
    OTHERS.put("drop a column", table -> table.updateSchema().deleteColumn("note").commit());
    OTHERS.put(
        "rename a column", table -> table.updateSchema().renameColumn("note", "text").commit());
    OTHERS.put(
        "drop a column and add it again",
        table -> {
          table.updateSchema().deleteColumn("note").commit();
          table.updateSchema().addColumn("note", Types.StringType.get()).commit();
        });
    OTHERS.put(
        "add a column and delete keys of it",
        table -> {
          table.updateSchema().addColumn("more", Types.IntegerType.get()).commit();
          Record key = SmallTable.row(0, "eu", null).copy();
          Record wide = org.apache.iceberg.data.GenericRecord.create(table.schema());
          wide.setField("id", key.getField("id"));
          wide.setField("region", "eu");
          files(table)
              .rowDelta(
                  List.of(), List.of(files(table).equalityDeletes(List.of("more"), List.of(wide))));
        });
    OTHERS.put(
        "change the spec",
        table -> table.updateSpec().addField(Expressions.bucket("id", 2)).commit());
    OTHERS.put(
        "change the spec and append",
        table -> {
          table.updateSpec().addField(Expressions.bucket("id", 2)).commit();
          TableFiles files = files(table);
          files.append(
              files.dataByPartition(SmallTable.rows(200, 4, "eu")).toArray(new DataFile[0]));
        });
    OTHERS.put("change the order", table -> table.replaceSortOrder().asc("id").commit());
    OTHERS.put("set a property", table -> table.updateProperties().set("a.property", "b").commit());
    OTHERS.put(
        "expire",
        table -> {
          files(table).append(SmallTable.rows(300, 1, "eu"));
          table
              .expireSnapshots()
              .expireOlderThan(System.currentTimeMillis() + 1000)
              .retainLast(1)
              .cleanExpiredFiles(false)
              .commit();
        });
    OTHERS.put(
        "compact too",
        table -> new Compaction(table, settings(Map.of()).build(), CompactionListener.NONE).run());
    OTHERS.put(
        "compact too, in another order",
        table ->
            new Compaction(
                    table,
                    settings(Map.of("use-starting-sequence-number", "false")).build(),
                    CompactionListener.NONE)
                .run());
  }

  @TempDir static Path scratch;
  @TempDir Path directory;

  private static TableFiles files(Table table) {
    return TableFiles.of(table).rowGroupRows(3);
  }

  private static DataFile oldest(Table table, String region) {
    table.refresh();
    return SmallTable.files(table, region).get(0);
  }

  private static CompactionSettings.Builder settings(Map<String, String> options) {
    return CompactionSettings.builder()
        .option("rewrite-all", "true")
        .options(options)
        .memoryBytes(512L << 20)
        .scratch(scratch)
        .threads(2);
  }

  static Stream<Arguments> others() {
    List<Map<String, String>> options =
        List.of(
            Map.of(),
            Map.of("use-starting-sequence-number", "false"),
            Map.of("partial-progress.enabled", "true", "max-file-group-input-files", "2"));
    int start = 0;
    List<Arguments> cases = new ArrayList<>();
    for (String other : OTHERS.keySet()) {
      for (int i = 0; i < options.size(); i++) {
        cases.add(Arguments.of(other, 2 + (start + i) % 2, options.get(i)));
      }
      start++;
    }
    return cases.stream();
  }

  @ParameterizedTest
  @MethodSource("others")
  void c7c13c18c19oaWhatOthersCommitMeanwhileHolds(
      String other, int version, Map<String, String> options) throws IOException {
    Table table = SmallTable.withDeletes(directory.resolve("table"), version);
    Table twin = SmallTable.withDeletes(directory.resolve("twin"), version);
    TableBefore before = TableBefore.of(table);
    Table otherHandle = Tables.another(table);
    OTHERS.get(other).accept(twin);
    CompactionListener committing =
        new CompactionListener() {
          private boolean done;

          @Override
          public synchronized void rewritten(RewriteFileGroup group) {
            if (!done) {
              done = true;
              OTHERS.get(other).accept(otherHandle);
            }
          }
        };
    CompactionReport report = new Compaction(table, settings(options).build(), committing).run();
    assertThat(report.failures()).as("failures").isEmpty();
    check(table, twin, before, !other.equals("expire"));
  }

  @Test
  void aWriterThatNeverRestsIsKeptUpWith() throws IOException {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 3);
    Table twin = SmallTable.withDeletes(directory.resolve("twin"), 3);
    TableBefore before = TableBefore.of(table);
    Table otherHandle = Tables.another(table);
    List<Integer> rounds = new ArrayList<>();
    CompactionReport report =
        new Compaction(
                table,
                settings(Map.of("max-concurrent-file-group-rewrites", "1")).build(),
                new CompactionListener() {
                  @Override
                  public synchronized void rewritten(RewriteFileGroup group) {
                    long position = rounds.size();
                    rounds.add(group.info().globalIndex());
                    for (Table one : Arrays.asList(otherHandle, twin)) {
                      one.refresh();
                      files(one).deletePositions(Map.of(oldest(one, "eu"), new long[] {position}));
                      files(one).deletePositions(Map.of(oldest(one, "us"), new long[] {position}));
                    }
                  }
                })
            .run();
    assertThat(report.failures()).isEmpty();
    assertThat(rounds).as("groups rewritten, none twice").hasSize(2);
    check(table, twin, before, true);
  }

  private void check(Table table, Table twin, TableBefore before, boolean history)
      throws IOException {
    Table after = TableBuilder.open(TableBefore.path(table.location()));
    twin.refresh();
    assertThat(TableBefore.rows(after, after.currentSnapshot()))
        .as("rows of the table and of its twin")
        .isEqualTo(TableBefore.rows(twin, twin.currentSnapshot()));
    assertThat(after.schema().sameSchema(twin.schema())).isTrue();
    if (history) {
      assertThat(after.snapshots()).hasSizeGreaterThan(2);
      before.checkRows(after);
    }
    before.checkFiles(after, "the run");
    FileTruth.check(after, before.dataFiles());
    assertThat(TableRows.dataFiles(after, after.currentSnapshot())).isNotEmpty();
    assertThat(Files.list(scratch)).isEmpty();
  }
}
