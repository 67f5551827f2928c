package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.engine.CompactionReport.FailureKind;
import dev.firn.engine.parquet.CorruptFileException;
import dev.firn.testdata.FaultyTableOperations;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Commits beside other writers, lost answers and crashes, on real files, row by row. */
class CommitRulesTest {
  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
  }

  /** Two files of ten rows: ids 0 to 9 and 10 to 19. */
  private Table table(int formatVersion) {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(SmallTable.SCHEMA)
            .formatVersion(formatVersion)
            .property("commit.retry.min-wait-ms", "1")
            .property("commit.retry.max-wait-ms", "2")
            .create();
    TableFiles.of(table).append(SmallTable.rows(0, 10, "eu"));
    TableFiles.of(table).append(SmallTable.rows(10, 10, "eu"));
    table.refresh();
    return table;
  }

  private static List<Long> ids(Table table) {
    table.refresh();
    return TableRows.liveRecords(table, table.currentSnapshot()).stream()
        .map(row -> (Long) row.getField("id"))
        .sorted()
        .toList();
  }

  /** From 0 to 19, but these. */
  private static List<Long> allBut(long... deleted) {
    List<Long> ids = new ArrayList<>(LongStream.range(0, 20).boxed().toList());
    LongStream.of(deleted).forEach(ids::remove);
    return ids;
  }

  private static List<DataFile> files(Table table) {
    return TableRows.dataFiles(table, table.currentSnapshot());
  }

  private static void deleteKeys(Table table, long... ids) {
    List<Record> keys = new ArrayList<>();
    LongStream.of(ids).forEach(id -> keys.add(SmallTable.row(id, "eu", null)));
    TableFiles files = TableFiles.of(table);
    files.rowDelta(List.of(), List.of(files.equalityDeletes(List.of("id"), keys)));
  }

  private static DataFile holding(Table table, long id) {
    table.refresh();
    return files(table).stream()
        .filter(
            file ->
                TableRows.inFile(table, file).stream()
                    .anyMatch(row -> row.getField("id").equals(id)))
        .findFirst()
        .orElseThrow();
  }

  // ---- what is planned

  @Test
  void c1WhatIsCommittedAfterThePinIsNotReadAndHoldsLater() {
    Table table = table(2);
    TableFiles.of(table).append(SmallTable.rows(50, 1, "eu")); // stays, and with it old deletes
    table.refresh();
    Table other = Tables.another(table);
    long pinned = table.currentSnapshot().sequenceNumber();
    CompactionReport report =
        new Compaction(
                table,
                Runs.all(scratch)
                    .filter(org.apache.iceberg.expressions.Expressions.lessThan("id", 50L))
                    .build(),
                new CompactionListener() {
                  @Override
                  public void planned(int groups, long bytes) {
                    deleteKeys(other, 4);
                    other.updateSchema().renameColumn("note", "text").commit();
                    other.updateSchema().addColumn("more", Types.IntegerType.get()).commit();
                  }
                })
            .run();
    assertThat(report.failures()).isEmpty();
    assertThat(report.rows().deleted()).as("deletes after the pin are not applied").isZero();
    List<Long> expected = new ArrayList<>(allBut(4));
    expected.add(50L);
    assertThat(ids(table)).as("but hold").isEqualTo(expected);
    DataFile output = holding(table, 5);
    assertThat(output.dataSequenceNumber()).isEqualTo(pinned);
    assertThat(output.recordCount()).isEqualTo(20);
  }

  @Test
  void c2c23DeletesOfBeforeThePlanAndExpiredSnapshotsAreNoConflict() {
    Table table = table(2);
    deleteKeys(table, 3);
    table.refresh();
    TableFiles.of(table).deletePositions(Map.of(holding(table, 12), new long[] {2}));
    table.refresh();
    CompactionReport report =
        Runs.beside(
            table,
            Runs.all(scratch),
            other -> {
              TableFiles.of(other).append(SmallTable.rows(100, 1, "eu"));
              other
                  .expireSnapshots()
                  .expireOlderThan(System.currentTimeMillis() + 1000)
                  .retainLast(1)
                  .cleanExpiredFiles(false)
                  .commit();
            });
    assertThat(table.snapshot(report.snapshotBefore())).as("expired").isNull();
    assertThat(report.rows().read()).as("done once").isEqualTo(20);
    List<Long> expected = new ArrayList<>(allBut(3, 12));
    expected.add(100L);
    assertThat(ids(table)).isEqualTo(expected);
  }

  // ---- sequence numbers

  @Test
  void c3AConcurrentUpsertLeavesOnlyTheNewRow() {
    Table table = table(2);
    long pinned = table.currentSnapshot().sequenceNumber();
    Runs.beside(
        table,
        Runs.all(scratch),
        other ->
            TableFiles.of(other)
                .upsert(List.of("id"), List.of(SmallTable.row(7, "eu", "upserted"))));
    assertThat(ids(table)).isEqualTo(allBut());
    assertThat(TableRows.liveRecords(table, table.currentSnapshot()))
        .filteredOn(row -> row.getField("id").equals(7L))
        .singleElement()
        .matches(row -> row.getField("note").equals("upserted"));
    // H1 lets no such output share a commit with all older files: it may have been done anew.
    DataFile output = holding(table, 5);
    assertThat(output.dataSequenceNumber()).isBetween(pinned, pinned + 1);
    assertThat(output.fileSequenceNumber()).isEqualTo(table.currentSnapshot().sequenceNumber());
  }

  @Test
  void c3OutputsHaveThePlannedSequenceNumberAndOlderDeletesDoNotReachThem() {
    Table table = table(2);
    deleteKeys(table, 7);
    TableFiles.of(table).append(SmallTable.rows(7, 1, "eu"));
    table.refresh();
    long pinned = table.currentSnapshot().sequenceNumber();
    Runs.of(table, Runs.all(scratch));
    assertThat(ids(table)).isEqualTo(allBut());
    assertThat(files(table))
        .singleElement()
        .matches(file -> file.dataSequenceNumber() == pinned)
        .matches(file -> file.fileSequenceNumber() == pinned + 1);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void c4WithANewSequenceNumberAConcurrentEqualityDeleteIsNotLost(int formatVersion) {
    Table table = table(formatVersion);
    CompactionReport report =
        Runs.beside(
            table,
            Runs.all(scratch).option("use-starting-sequence-number", "false"),
            other -> deleteKeys(other, 4, 14));
    assertThat(ids(table)).isEqualTo(allBut(4, 14));
    assertThat(report.rows().written()).as("done anew").isEqualTo(18);
    assertThat(files(table).get(0).dataSequenceNumber())
        .isEqualTo(table.currentSnapshot().sequenceNumber());
  }

  // ---- new deletes

  @ParameterizedTest
  @ValueSource(strings = {"file", "partition", "vector", "replaced vector", "after rows", "all"})
  void c5c6ConcurrentPositionDeletesAreNotLost(String kind) {
    boolean vectors = kind.contains("vector");
    Table table = table(vectors ? 3 : 2);
    DataFile first = holding(table, 0);
    DataFile second = holding(table, 10);
    Consumer<Table> other =
        handle -> {
          TableFiles files = TableFiles.of(handle);
          switch (kind) {
            case "file", "vector" -> files.deletePositions(Map.of(first, new long[] {4}));
            case "partition" ->
                files.rowDelta(
                    List.of(),
                    List.of(
                        files
                            .partitionOf(first)
                            .positionDeletes(
                                List.of(
                                    TableFiles.Position.of(first, 4),
                                    TableFiles.Position.of(second, 5)))));
            case "replaced vector" -> {
              files.deletePositions(Map.of(first, new long[] {1}));
              files.deletePositions(Map.of(first, new long[] {2}));
              files.deletePositions(Map.of(first, new long[] {4}));
            }
            case "after rows" -> {
              files.append(SmallTable.rows(30, 1, "eu"));
              files.deletePositions(Map.of(second, new long[] {9}));
            }
            default ->
                files.deletePositions(
                    Map.of(first, LongStream.range(0, 10).toArray(), second, new long[] {3}));
          }
        };
    Runs.beside(table, Runs.all(scratch), other);
    List<Long> expected =
        new ArrayList<>(
            switch (kind) {
              case "file", "vector" -> allBut(4);
              case "partition" -> allBut(4, 15);
              case "replaced vector" -> allBut(1, 2, 4);
              case "after rows" -> allBut(19);
              default -> allBut(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13);
            });
    if (kind.equals("after rows")) {
      expected.add(30L);
    }
    assertThat(ids(table)).isEqualTo(expected);
    assertThat(FileTruth.locations(table)).doesNotContain(first.location(), second.location());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void c9c27WhatLandsBetweenTheLookAndTheSwapIsSeen(int attempt) {
    Table table = table(2);
    FaultyTableOperations operations = FaultyTableOperations.of(table);
    Table other = Tables.another(table);
    for (int nth = 1; nth <= attempt; nth++) {
      long id = nth;
      operations.beforeCommit(nth, () -> deleteKeys(other, id, id + 10));
    }
    CompactionReport report =
        new Compaction(operations.table(), Runs.all(scratch).build(), CompactionListener.NONE)
            .run();
    assertThat(report.failures()).isEmpty();
    assertThat(operations.attempts()).isGreaterThan(attempt);
    assertThat(ids(table)).isEqualTo(attempt == 1 ? allBut(1, 11) : allBut(1, 2, 11, 12));
  }

  // ---- inputs that go

  @Test
  void c7OfTwoCompactorsOneWinsAndNoRowIsDoubled() {
    Table table = table(2);
    CompactionReport report =
        Runs.reported(
            table,
            Runs.all(scratch),
            other ->
                Runs.reported(
                    other,
                    CompactionSettings.builder().option("rewrite-all", "true").scratch(directory),
                    another -> {}));
    assertThat(report.failures()).isEmpty();
    assertThat(report.groups()).isEqualTo(new CompactionReport.Groups(1, 0, 0));
    assertThat(ids(table)).isEqualTo(allBut());
    assertThat(files(table)).hasSize(1);
    assertThat(table.currentSnapshot().summary().get("firn.run-id")).isNotEqualTo(report.runId());
  }

  @Test
  void c7AnInputThatWasOverwrittenIsNotAddedAgain() {
    Table table = table(2);
    Runs.beside(
        table,
        Runs.all(scratch),
        other ->
            other
                .newOverwrite()
                .deleteFile(holding(other, 0))
                .addFile(TableFiles.of(other).data(SmallTable.rows(0, 1, "eu")))
                .commit());
    assertThat(ids(table)).isEqualTo(allBut(1, 2, 3, 4, 5, 6, 7, 8, 9));
  }

  // ---- files

  @Test
  void c13obOldSnapshotsReadAsBeforeAndNoInputIsDeleted() {
    for (int formatVersion : new int[] {2, 3}) {
      Table table = SmallTable.withDeletes(directory.resolve("t" + formatVersion), formatVersion);
      TableBefore before = TableBefore.of(table);
      Runs.of(table, Runs.all(scratch).option("remove-dangling-deletes", "true"));
      before.checkHistory(table, "main");
      before.checkFiles(table, "a compaction");
    }
  }

  @Test
  void c15AFileThatIsLiveTwiceIsReportedBeforeAnyWork() {
    Table table = table(2);
    DataFile first = holding(table, 0);
    DataFile again = DataFiles.builder(table.spec()).copy(first).build();
    table.newFastAppend().appendFile(again).commit();
    table.refresh();
    assertThat(ids(table)).hasSize(30);
    Set<Path> paths = TableBefore.paths(table);
    assertThatThrownBy(
            () -> new Compaction(table, Runs.all(scratch).build(), CompactionListener.NONE).run())
        .isInstanceOf(CorruptFileException.class)
        .hasMessageContainingAll(first.location(), "twice", "nothing was changed");
    assertThat(TableBefore.paths(table)).isEqualTo(paths);
  }

  @Test
  void c15NoRunNamesAFileAsAnotherDid() {
    Table table = table(2);
    Set<String> names = new HashSet<>();
    files(table).forEach(file -> names.add(file.location()));
    for (int run = 0; run < 3; run++) {
      Runs.beside(
          table,
          Runs.all(scratch).option("max-file-group-input-files", "1"),
          other ->
              TableFiles.of(other).deletePositions(Map.of(holding(other, 19), new long[] {0})));
      files(table).forEach(file -> names.add(file.location()));
    }
    assertThat(names).as("two files, and what became of them").hasSizeGreaterThan(2 + 3);
    List<String> stems =
        names.stream().map(name -> name.substring(name.lastIndexOf('/') + 1)).toList();
    assertThat(stems).doesNotHaveDuplicates();
  }

  @Test
  void c26AnEntryWithAWrongRowCountFailsTheGroup() {
    Table table = TableBuilder.at(directory.resolve("table")).schema(SmallTable.SCHEMA).create();
    DataFile file = TableFiles.of(table).data(SmallTable.rows(0, 10, "eu"));
    table
        .newAppend()
        .appendFile(DataFiles.builder(table.spec()).copy(file).withRecordCount(11).build())
        .commit();
    table.refresh();
    TableBefore before = TableBefore.of(table);
    CompactionReport report =
        new Compaction(table, Runs.all(scratch).build(), CompactionListener.NONE).run();
    assertThat(report.failures())
        .singleElement()
        .matches(failure -> failure.kind() == FailureKind.CORRUPT)
        .matches(failure -> failure.message().contains(file.location()));
    assertThat(report.snapshotsCommitted()).isEmpty();
    before.checkFiles(table, "a failure");
  }

  // ---- branches and staged snapshots

  @Test
  void c16ABranchIsCompactedWithItsOwnDeletesAndMainIsNot() {
    Table table = table(3);
    table.manageSnapshots().createBranch("audit").commit();
    TableFiles onBranch = TableFiles.of(table).branch("audit");
    onBranch.append(SmallTable.rows(40, 1, "eu"));
    onBranch.deletePositions(Map.of(holding(table, 0), new long[] {0, 1}));
    deleteKeys(table, 19); // on main
    table.refresh();
    Snapshot main = table.currentSnapshot();
    List<String> rows = TableRows.live(table, "audit");
    Runs.beside(
        table,
        Runs.all(scratch).branch("audit"),
        other -> TableFiles.of(other).branch("audit").append(SmallTable.rows(41, 1, "eu")));
    assertThat(table.currentSnapshot()).isEqualTo(main);
    assertThat(ids(table)).isEqualTo(allBut(19));
    assertThat(TableRows.live(table, "audit")).hasSize(rows.size() + 1).containsAll(rows);
    assertThat(TableRows.dataFiles(table, table.snapshot("audit"))).hasSize(2);
  }

  @Test
  void c17StagedSnapshotsAreLeftAloneAndNothingIsStaged() {
    Table table = table(2);
    table
        .updateProperties()
        .set("write.wap.enabled", "true")
        .set("spark.wap.id", "not-ours")
        .set("spark.wap.branch", "nor-this")
        .commit();
    DataFile staged = TableFiles.of(table).data(SmallTable.rows(60, 1, "eu"));
    table.newAppend().appendFile(staged).set("wap.id", "w1").stageOnly().commit();
    table.refresh();
    long stagedId = com.google.common.collect.Iterables.getLast(table.snapshots()).snapshotId();
    Runs.of(table, Runs.all(scratch));
    assertThat(table.currentSnapshot().summary()).doesNotContainKeys("wap.id", "published-wap-id");
    assertThat(ids(table)).isEqualTo(allBut());
    table.manageSnapshots().cherrypick(stagedId).commit();
    List<Long> expected = new ArrayList<>(allBut());
    expected.add(60L);
    assertThat(ids(table)).isEqualTo(expected);
  }

  // ---- snapshot properties

  @Test
  void c22SnapshotsNameTheRunAndReservedKeysAreRefused() {
    Table table = table(2);
    CompactionReport report = Runs.of(table, Runs.all(scratch).snapshotProperty("team", "tundra"));
    assertThat(table.currentSnapshot().summary())
        .containsEntry("firn.run-id", report.runId())
        .containsEntry("team", "tundra")
        .containsKey("firn.commit-id");
    for (String key : List.of("wap.id", "added-data-files", "total-records", "firn.run-id")) {
      assertThatThrownBy(() -> Runs.all(scratch).snapshotProperty(key, "x").build())
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(key);
    }
  }

  // ---- history

  @Test
  void c8c23ARollbackBehindThePlanIsPlannedAnew() {
    Table table = table(2);
    long first = table.history().get(0).snapshotId();
    Runs.beside(
        table,
        Runs.all(scratch),
        other -> {
          other.manageSnapshots().rollbackTo(first).commit();
          TableFiles.of(other).append(SmallTable.rows(70, 2, "eu"));
        });
    List<Long> expected = new ArrayList<>(LongStream.range(0, 10).boxed().toList());
    expected.add(70L);
    expected.add(71L);
    assertThat(ids(table)).isEqualTo(expected);
  }

  @Test
  void c25GroupsAreCommittedOneByOneAndLaterDeletesHold() {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    List<String> rows = TableBefore.rows(table, table.currentSnapshot());
    CompactionReport report =
        Runs.of(
            table,
            Runs.all(scratch)
                .option("partial-progress.enabled", "true")
                .option("max-file-group-input-files", "1"));
    assertThat(report.snapshotsCommitted()).hasSize(report.groups().planned());
    assertThat(report.rows().read()).as("nothing is done twice").isEqualTo(43);
    assertThat(TableBefore.rows(table, table.currentSnapshot())).isEqualTo(rows);
  }

  // ---- columns

  @Test
  void d15AConcurrentDeleteOnADroppedColumnIsNotLost() {
    Table table = table(2);
    Table behind = Tables.another(table); // plans its delete when the column is there
    table.updateSchema().deleteColumn("note").commit();
    table.refresh();
    Runs.beside(
        table,
        Runs.all(scratch),
        other -> {
          TableFiles files = TableFiles.of(behind).schema(SmallTable.SCHEMA);
          DeleteFile delete =
              files.equalityDeletes(
                  List.of(3), SmallTable.SCHEMA.select("note"), SmallTable.rows(6, 2, "eu"));
          assertThat(delete.content()).isEqualTo(FileContent.EQUALITY_DELETES);
          other.refresh();
          other.newRowDelta().addDeletes(delete).commit();
        });
    assertThat(ids(table)).isEqualTo(allBut(6, 7));
  }

  // ---- crashes

  /** A run that ends in the middle, in a process of its own. */
  static final class Crash {
    private static final int EXIT_CODE = 42;

    private Crash() {}

    /** The table's directory, the scratch directory, and after which step to end. */
    public static void main(String[] args) {
      Table table = TableBuilder.open(Path.of(args[0]));
      new Compaction(
              table,
              Runs.all(Path.of(args[1])).build(),
              new CompactionListener() {
                @Override
                public void rewritten(RewriteFileGroup group) {
                  end("rewritten");
                }

                @Override
                public void committed(long snapshotId, List<RewriteFileGroup> groups) {
                  end("committed");
                }

                private void end(String step) {
                  if (args[2].equals(step)) {
                    Runtime.getRuntime().halt(EXIT_CODE);
                  }
                }
              })
          .run();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"rewritten", "committed"})
  void c14odAfterACrashASecondRunCompletesTheWork(String step) throws Exception {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    TableBefore before = TableBefore.of(table);
    List<String> rows = TableBefore.rows(table, table.currentSnapshot());
    Path crashed = Files.createDirectory(directory.resolve("crashed"));
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--add-opens=java.base/java.nio=ALL-UNNAMED",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                Crash.class.getName(),
                directory.resolve("table").toString(),
                crashed.toString(),
                step)
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("crash.log").toFile())
            .start();
    assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
    assertThat(process.exitValue())
        .as("%s", Files.readString(directory.resolve("crash.log")))
        .isEqualTo(Crash.EXIT_CODE);

    Table after = TableBuilder.open(directory.resolve("table"));
    assertThat(TableBefore.rows(after, after.currentSnapshot())).isEqualTo(rows);
    boolean committed = after.currentSnapshot().summary().containsKey("firn.run-id");
    assertThat(committed).isEqualTo(step.equals("committed"));
    Set<Path> orphans = new HashSet<>(TableBefore.paths(after));
    orphans.removeAll(before.paths());
    assertThat(orphans).as("outputs").isNotEmpty();

    CompactionReport report = Runs.of(after, Runs.all(scratch));
    assertThat(report.rows().written()).isEqualTo(rows.size());
    assertThat(TableBefore.rows(after, after.currentSnapshot())).isEqualTo(rows);
    before.checkHistory(after, "main");
    before.checkKept(after);
    assertThat(TableBefore.paths(after)).as("no run deletes another's files").containsAll(orphans);
    assertThat(FileTruth.locations(after)).hasSize(2);
  }
}
