package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.FaultyTableOperations;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.expressions.Expressions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Position deletes and vectors land on inputs while they are rewritten. They hold on the outputs,
 * and no group is rewritten twice: the table ends with the rows of its twin, to which the same was
 * done without a compaction (C5, H4).
 */
class CarryOverTest {
  /** What lands, with the table's format version if it needs one. */
  private record Landing(int version, Consumer<Table> commits) {}

  private static final Map<String, Landing> LANDINGS = new LinkedHashMap<>();

  private static void landing(String name, int version, Consumer<Table> commits) {
    LANDINGS.put(name, new Landing(version, commits));
  }

  static {
    landing(
        "positions of each input",
        0,
        table -> {
          for (String region : List.of("eu", "us")) {
            for (DataFile input : inputs(table, region)) {
              files(table).deletePositions(Map.of(input, new long[] {2, 7}));
            }
          }
        });
    landing(
        "positions that are deleted already",
        0,
        table ->
            files(table).deletePositions(Map.of(inputs(table, "eu").get(0), new long[] {0, 3, 9})));
    landing(
        "all rows of an input",
        0,
        table ->
            files(table)
                .deletePositions(
                    Map.of(inputs(table, "us").get(0), new long[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})));
    landing(
        "a vector, replaced by larger ones",
        3,
        table -> {
          for (long position : new long[] {3, 5, 6}) {
            files(table).deletePositions(Map.of(inputs(table, "eu").get(1), new long[] {position}));
          }
        });
    landing(
        "positions in one file for a whole partition, and of a file that came meanwhile",
        2,
        table -> {
          DataFile appended = files(table).append(SmallTable.rows(100, 4, "us"));
          List<DataFile> inputs = inputs(table, "us");
          deletePartition(table, List.of(inputs.get(0), inputs.get(1), appended), 4);
        });
    landing(
        "positions in two files for a whole partition",
        2,
        table -> {
          deletePartition(table, inputs(table, "us"), 2);
          deletePartition(table, inputs(table, "us"), 6);
        });
    landing(
        "positions for a whole partition that name no input",
        2,
        table -> {
          DataFile one = files(table).append(SmallTable.rows(100, 4, "us"));
          DataFile other = files(table).append(SmallTable.rows(110, 4, "us"));
          deletePartition(table, List.of(one, other), 1);
        });
    landing(
        "an upsert and positions",
        0,
        table -> {
          files(table).upsert(List.of("id"), SmallTable.rows(11, 4, "us"));
          files(table).deletePositions(Map.of(inputs(table, "us").get(0), new long[] {6}));
          files(table).upsert(List.of("id"), SmallTable.rows(27, 2, "eu"));
        });
    landing(
        "keys, replaced by the positions of their rows",
        0,
        table -> {
          DeleteFile keys =
              files(table).equalityDeletes(List.of("id"), SmallTable.rows(21, 2, "eu"));
          files(table).rowDelta(List.of(), List.of(keys));
          convert(table, inputs(table, "eu").get(1), 1, 2);
        });
  }

  @TempDir static Path scratch;
  @TempDir Path directory;

  private static TableFiles files(Table table) {
    return TableFiles.of(table).rowGroupRows(3);
  }

  /** The two files of a region that were there first. */
  private static List<DataFile> inputs(Table table, String region) {
    table.refresh();
    return SmallTable.files(table, region).subList(0, 2);
  }

  private static void deletePartition(Table table, List<DataFile> files, long position) {
    List<TableFiles.Position> positions = new ArrayList<>();
    files.forEach(file -> positions.add(TableFiles.Position.of(file, position)));
    files(table)
        .rowDelta(
            List.of(), List.of(files(table).partitionOf(files.get(0)).positionDeletes(positions)));
  }

  /** Takes the newest equality deletes away and deletes positions instead, in a REPLACE. */
  private static void convert(Table table, DataFile file, long... positions) {
    table.refresh();
    Snapshot snapshot = table.currentSnapshot();
    DeleteFile keys =
        TableRows.deleteFiles(table, snapshot).stream()
            .filter(delete -> delete.dataSequenceNumber() == snapshot.sequenceNumber())
            .findFirst()
            .orElseThrow();
    boolean vectors = TableUtil.formatVersion(table) >= 3;
    RewriteFiles rewrite = table.newRewrite().deleteFile(keys);
    rewrite
        .addFile(
            vectors
                ? files(table).vector(file, positions)
                : files(table).positionDeletes(file, positions))
        .commit();
    table.refresh();
    assertThat(table.currentSnapshot().operation()).isEqualTo(DataOperations.REPLACE);
  }

  static Stream<Arguments> landings() {
    List<Arguments> cases = new ArrayList<>();
    List<Map<String, String>> options =
        List.of(
            Map.of(),
            Map.of("partial-progress.enabled", "true", "max-file-group-input-files", "2"),
            Map.of("partial-progress.enabled", "true", "use-starting-sequence-number", "false"));
    LANDINGS.forEach(
        (name, landing) -> {
          for (int version : new int[] {2, 3}) {
            for (boolean sort : new boolean[] {false, true}) {
              for (Map<String, String> option : options.subList(sort ? 1 : 0, sort ? 3 : 2)) {
                boolean byKeys = name.contains("upsert") || name.contains("keys");
                boolean redone = byKeys && option.containsKey("use-starting-sequence-number");
                if ((landing.version() == 0 || landing.version() == version) && !redone) {
                  cases.add(Arguments.of(name, version, sort, option));
                }
              }
            }
          }
        });
    return cases.stream();
  }

  @ParameterizedTest
  @MethodSource("landings")
  void c5WhatLandsOnInputsHoldsOnOutputs(
      String name, int version, boolean sort, Map<String, String> options) throws IOException {
    Table table = SmallTable.withDeletes(directory.resolve("table"), version);
    Table twin = SmallTable.withDeletes(directory.resolve("twin"), version);
    TableBefore before = TableBefore.of(table);
    Consumer<Table> commits = LANDINGS.get(name).commits();
    commits.accept(twin);
    Table other = Tables.another(table);
    AtomicInteger rewritten = new AtomicInteger();
    CompactionReport report =
        new Compaction(
                table,
                settings(options, sort),
                new CompactionListener() {
                  @Override
                  public synchronized void rewritten(RewriteFileGroup group) {
                    if (rewritten.getAndIncrement() == 0) {
                      commits.accept(other);
                    }
                  }
                })
            .run();
    assertThat(report.failures()).as("failures").isEmpty();
    assertThat(rewritten.get()).as("groups rewritten").isEqualTo(report.groups().planned());
    check(table, twin, before);
  }

  @Test
  void c5WhatLandsBetweenAttemptsIsCarriedOverToo() throws IOException {
    for (int version : new int[] {2, 3}) {
      Table table = SmallTable.withDeletes(directory.resolve("table" + version), version);
      Table twin = SmallTable.withDeletes(directory.resolve("twin" + version), version);
      TableBefore before = TableBefore.of(table);
      Table other = Tables.another(table);
      FaultyTableOperations operations = FaultyTableOperations.of(table);
      for (int attempt = 1; attempt <= 5; attempt++) {
        long position = attempt;
        operations.beforeCommit(
            attempt,
            () -> {
              for (Table one : List.of(other, twin)) {
                DataFile input = inputs(one, position % 2 == 0 ? "eu" : "us").get(1);
                files(one).deletePositions(Map.of(input, new long[] {position}));
              }
            });
      }
      CompactionReport report =
          new Compaction(
                  operations.table(), settings(Map.of(), version == 2), CompactionListener.NONE)
              .run();
      assertThat(report.failures()).as("failures").isEmpty();
      assertThat(operations.attempts()).isGreaterThan(5);
      assertThat(report.rows().carriedOver()).isBetween(1L, 5L);
      check(table, twin, before);
    }
  }

  @Test
  void p9WhatLandsOnInputsOfAnOldSpecHoldsInTheNewOne() throws IOException {
    for (int version : new int[] {2, 3}) {
      Table table = SmallTable.withDeletes(directory.resolve("table" + version), version);
      Table twin = SmallTable.withDeletes(directory.resolve("twin" + version), version);
      for (Table one : List.of(table, twin)) {
        one.updateSpec().addField(Expressions.bucket("id", 3)).commit();
      }
      TableBefore before = TableBefore.of(table);
      Table other = Tables.another(table);
      Consumer<Table> commits =
          one -> {
            files(one).deletePositions(Map.of(inputs(one, "eu").get(1), new long[] {0, 8}));
          };
      commits.accept(twin);
      AtomicInteger rewritten = new AtomicInteger();
      CompactionReport report =
          new Compaction(
                  table,
                  settings(Map.of(), false),
                  new CompactionListener() {
                    @Override
                    public synchronized void rewritten(RewriteFileGroup group) {
                      rewritten.incrementAndGet();
                      commits.accept(other);
                    }
                  })
              .run();
      assertThat(report.failures()).as("failures").isEmpty();
      assertThat(rewritten.get()).isEqualTo(1);
      assertThat(report.rows().carriedOver()).isEqualTo(2);
      check(table, twin, before);
    }
  }

  private CompactionSettings settings(Map<String, String> options, boolean sort) {
    CompactionSettings.Builder settings =
        CompactionSettings.builder()
            .option("rewrite-all", "true")
            .options(options)
            .memoryBytes(512L << 20)
            .scratch(scratch)
            .threads(2);
    return sort ? settings.layout(sorted()).build() : settings.build();
  }

  private static Layout sorted() {
    return new Layout.Sorted(SortOrder.builderFor(SmallTable.SCHEMA).desc("note").build());
  }

  private void check(Table table, Table twin, TableBefore before) throws IOException {
    Table after = TableBuilder.open(TableBefore.path(table.location()));
    twin.refresh();
    List<String> expected = TableBefore.rows(twin, twin.currentSnapshot());
    assertThat(TableBefore.rows(after, after.currentSnapshot()))
        .as("rows of the table and of its twin")
        .isEqualTo(expected);
    before.checkRows(after);
    before.checkFiles(after, "the run");
    FileTruth.check(after, before.dataFiles());
    assertThat(Files.list(scratch)).isEmpty();

    // what was carried over is applied by the next run like any delete
    CompactionReport report =
        new Compaction(after, settings(Map.of(), false), CompactionListener.NONE).run();
    assertThat(report.failures()).isEmpty();
    after.refresh();
    assertThat(TableBefore.rows(after, after.currentSnapshot())).isEqualTo(expected);
    if (TableUtil.formatVersion(after) >= 3) {
      assertThat(TableRows.deleteFiles(after, after.currentSnapshot()))
          .noneMatch(file -> file.referencedDataFile() != null);
    }
  }
}
