package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Rows that come back or go away when a compaction is planned and committed with Iceberg 1.12.0
 * alone, on real files; and the same with Firn. Rows are counted by the oracle, not by Iceberg's
 * scans. When one of the tests of Iceberg alone fails, Iceberg has learnt to prevent it.
 */
class HazardsTest {
  private static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.LongType.get()),
          optional(2, "v", Types.StringType.get()),
          optional(3, "w", Types.StringType.get()),
          optional(4, "u", Types.UUIDType.get()));

  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
  }

  // ---- H1

  @Test
  void h1IcebergAloneDropsAConcurrentEqualityDelete() {
    Table table = twoFiles();
    Plain plain = new Plain(table);
    deleteIds(table, 1);
    TableFiles.of(table).append(List.of(row(9)));
    assertThat(ids(table)).containsExactly(2L, 3L, 4L, 9L);

    plain.commit(true);
    assertThat(ids(table)).as("1 is back").containsExactly(1L, 2L, 3L, 4L, 9L);
  }

  @Test
  void h1IcebergAloneDropsTheFirstOfTwoConcurrentEqualityDeletes() {
    Table table = twoFiles();
    Plain plain = new Plain(table);
    deleteIds(table, 1);
    deleteIds(table, 2);
    assertThat(ids(table)).containsExactly(3L, 4L);

    plain.commit(true);
    assertThat(ids(table)).as("1 is back").containsExactly(1L, 3L, 4L);
  }

  @Test
  void h1FirnKeepsAConcurrentEqualityDelete() {
    Table table = twoFiles();
    compact(
        table,
        other -> {
          deleteIds(other, 1);
          TableFiles.of(other).append(List.of(row(9)));
        });
    assertThat(ids(table)).containsExactly(2L, 3L, 4L, 9L);
  }

  @Test
  void h1FirnKeepsBothOfTwoConcurrentEqualityDeletes() {
    Table table = twoFiles();
    compact(
        table,
        other -> {
          deleteIds(other, 1);
          deleteIds(other, 2);
        });
    assertThat(ids(table)).containsExactly(3L, 4L);
  }

  // ---- H2, H3

  /** A file of spec 0, v=a; the current spec is by w. */
  private Table evolved() {
    Table table = create(2, spec -> spec.identity("v"));
    TableFiles.of(table).append(List.of(row(1), row(2)));
    table.updateSpec().removeField("v").addField("w").commit();
    table.refresh();
    return table;
  }

  private static void deleteInOldSpec(Table table, long id) {
    TableFiles files = TableFiles.of(table).spec(table.specs().get(0));
    files.rowDelta(List.of(), List.of(files.equalityDeletes(List.of("id"), List.of(row(id)))));
  }

  private static void deleteInNewSpec(Table table, long id) {
    TableFiles files = TableFiles.of(table);
    files.rowDelta(List.of(), List.of(files.equalityDeletes(List.of("id"), List.of(row(id)))));
  }

  @Test
  void h2IcebergAloneLosesAConcurrentDeleteOfTheOldSpec() {
    Table table = evolved();
    Plain plain = new Plain(table);
    deleteInOldSpec(table, 1);
    assertThat(ids(table)).containsExactly(2L);

    plain.commit(true);
    assertThat(ids(table)).as("1 is back").containsExactly(1L, 2L);
  }

  @Test
  void h2FirnKeepsAConcurrentDeleteOfTheOldSpec() {
    Table table = evolved();
    compact(table, other -> deleteInOldSpec(other, 1));
    assertThat(ids(table)).containsExactly(2L);
    assertThat(files(table)).allMatch(file -> file.specId() == table.spec().specId());
  }

  @Test
  void h3IcebergAloneExposesRowsToADeleteOfTheNewSpec() {
    Table table = evolved();
    Plain plain = new Plain(table);
    deleteInNewSpec(table, 1);
    assertThat(ids(table)).as("other spec, other scope").containsExactly(1L, 2L);

    plain.commit(true);
    assertThat(ids(table)).as("1 is gone").containsExactly(2L);
  }

  @Test
  void h3FirnKeepsRowsFromADeleteOfTheNewSpec() {
    Table table = evolved();
    compact(table, other -> deleteInNewSpec(other, 1));
    assertThat(ids(table)).containsExactly(1L, 2L);
    assertThat(files(table)).allMatch(file -> file.specId() == table.spec().specId());
  }

  @Test
  void h2h3OutputsInAnotherPartitionOfTheSameSpecAreNotWritten() {
    Table table = create(2, spec -> spec.identity("v"));
    TableFiles files = TableFiles.of(table);
    files.append(List.of(row(1), row(2)));
    files.append(List.of(row(3, "b", "z", null)));
    compact(table, other -> deleteInOldSpec(other, 1));
    assertThat(ids(table)).containsExactly(2L, 3L);
    assertThat(files(table))
        .allMatch(file -> file.dataSequenceNumber() <= 2)
        .extracting(file -> String.valueOf(file.partition().get(0, Object.class)))
        .containsExactlyInAnyOrder("a", "b");
  }

  // ---- H4

  /** Deletes a key, then replaces the equality delete by what it deletes, as a vector. */
  private static void deleteAndConvert(Table table, long id, DataFile file, long position) {
    deleteIds(table, id);
    DeleteFile live = TableRows.deleteFiles(table, table.currentSnapshot()).get(0);
    DeleteFile vector = TableFiles.of(table).vector(file, position);
    table
        .newRewrite()
        .validateFromSnapshot(table.currentSnapshot().snapshotId())
        .rewriteFiles(Set.of(), Set.of(live), Set.of(), Set.of(vector))
        .commit();
    table.refresh();
  }

  @Test
  void h4IcebergAloneLosesAVectorThatAReplaceMade() {
    Table table = create(3, spec -> spec);
    DataFile file = TableFiles.of(table).append(List.of(row(1), row(2)));
    Plain plain = new Plain(table);
    deleteAndConvert(table, 1, file, 0);
    assertThat(ids(table)).containsExactly(2L);

    plain.commit(true);
    assertThat(ids(table)).as("1 is back").containsExactly(1L, 2L);
  }

  @Test
  void h4FirnKeepsAVectorThatAReplaceMade() {
    Table table = create(3, spec -> spec);
    DataFile file = TableFiles.of(table).append(List.of(row(1), row(2)));
    compact(table, other -> deleteAndConvert(other, 1, file, 0));
    assertThat(ids(table)).containsExactly(2L);
  }

  // ---- H5

  private Table uuids() {
    Table table = create(2, spec -> spec);
    TableFiles.of(table).append(List.of(uuidRow(1, 0x10), uuidRow(2, 0x20), uuidRow(3, 0xF0)));
    return table;
  }

  private static Record uuidRow(long id, int first) {
    return row(id, "a", "z", new UUID((long) first << 56, 0));
  }

  private static void deleteUuid(Table table, int first) {
    TableFiles files = TableFiles.of(table);
    files.rowDelta(
        List.of(), List.of(files.equalityDeletes(List.of("u"), List.of(uuidRow(0, first)))));
  }

  @Test
  void h5IcebergAloneDoesNotPlanAnEqualityDeleteOnUuids() {
    Table table = uuids();
    deleteUuid(table, 0x20);
    assertThat(ids(table)).containsExactly(1L, 3L);

    new Plain(table).commit(true);
    assertThat(ids(table)).as("2 is back").containsExactly(1L, 2L, 3L);
  }

  @Test
  void h5IcebergAloneMissesAConcurrentEqualityDeleteOnUuids() {
    Table table = uuids();
    Plain plain = new Plain(table);
    deleteUuid(table, 0x20);
    assertThat(ids(table)).containsExactly(1L, 3L);

    plain.commit(false);
    assertThat(ids(table)).as("2 is back").containsExactly(1L, 2L, 3L);
  }

  @Test
  void h5FirnAppliesAnEqualityDeleteOnUuids() {
    Table table = uuids();
    deleteUuid(table, 0x20);
    compact(table, other -> {});
    assertThat(ids(table)).containsExactly(1L, 3L);
    assertThat(files(table)).singleElement().matches(file -> file.recordCount() == 2);
  }

  @Test
  void h5FirnKeepsAConcurrentEqualityDeleteOnUuids() {
    for (String starting : List.of("true", "false")) {
      Table table = uuids();
      compact(
          table,
          settings().option("use-starting-sequence-number", starting),
          other -> deleteUuid(other, 0x20));
      assertThat(ids(table)).as("starting sequence number: %s", starting).containsExactly(1L, 3L);
    }
  }

  // ---- H6

  /** The key is id; the delete file also holds the column v, with a value of its own. */
  private Table deleteWithAColumnMore() {
    Table table = create(2, spec -> spec);
    TableFiles files = TableFiles.of(table);
    files.append(List.of(row(1, "b", "z", null), row(2, "b", "z", null)));
    Schema keys = SCHEMA.select("id", "v");
    files.rowDelta(
        List.of(),
        List.of(files.equalityDeletes(List.of(1), keys, List.of(Rows.row(keys, 1L, "q")))));
    assertThat(ids(table)).containsExactly(2L);
    return table;
  }

  @Test
  void h6IcebergAloneFiltersDeletesLikeRows() {
    Table table = deleteWithAColumnMore();
    new Plain(table, scan -> scan.filter(Expressions.equal("v", "b"))).commit(true);
    assertThat(ids(table)).as("1 is back").containsExactly(1L, 2L);
  }

  @Test
  void h6FirnFiltersFilesAlone() {
    Table table = deleteWithAColumnMore();
    compact(table, settings().filter(Expressions.equal("v", "b")), other -> {});
    assertThat(ids(table)).containsExactly(2L);
    assertThat(files(table)).singleElement().matches(file -> file.recordCount() == 1);
  }

  // ---- compactions

  /** A compaction with what Iceberg has: its scan, its commit. Made when it is planned. */
  private static final class Plain {
    private final Table table;
    private final Snapshot start;
    private final List<DataFile> inputs = new ArrayList<>();
    private final List<DataFile> outputs = new ArrayList<>();

    Plain(Table table) {
      this(table, scan -> scan.ignoreResiduals().includeColumnStats());
    }

    Plain(Table table, UnaryOperator<TableScan> narrowed) {
      table.refresh();
      this.table = table;
      this.start = table.currentSnapshot();
      List<Record> rows = new ArrayList<>();
      try (CloseableIterable<FileScanTask> tasks = narrowed.apply(table.newScan()).planFiles()) {
        for (FileScanTask task : tasks) {
          assertThat(task.deletes()).as("deletes that the scan found").isEmpty();
          inputs.add(task.file());
          rows.addAll(TableRows.inFile(table, task.file()));
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      outputs.add(TableFiles.of(table).data(rows));
    }

    void commit(boolean startingSequenceNumber) {
      table.refresh();
      RewriteFiles rewrite = table.newRewrite().validateFromSnapshot(start.snapshotId());
      if (startingSequenceNumber) {
        rewrite.dataSequenceNumber(start.sequenceNumber());
      }
      inputs.forEach(rewrite::deleteFile);
      outputs.forEach(rewrite::addFile);
      rewrite.commit();
      table.refresh();
    }
  }

  private CompactionSettings.Builder settings() {
    return Runs.all(scratch);
  }

  private void compact(Table table, Consumer<Table> other) {
    compact(table, settings(), other);
  }

  /** Compacts with Firn; when the first files are written, the other commits. */
  private static void compact(
      Table table, CompactionSettings.Builder settings, Consumer<Table> other) {
    table.refresh();
    Set<String> before = FileTruth.locations(table);
    Runs.beside(table, settings, other);
    assertThat(FileTruth.locations(table)).doesNotContainAnyElementsOf(before);
  }

  // ---- tables

  private int tables;

  private Table create(int formatVersion, UnaryOperator<PartitionSpec.Builder> spec) {
    return TableBuilder.at(directory.resolve("table-" + tables++))
        .schema(SCHEMA)
        .partitionBy(spec)
        .formatVersion(formatVersion)
        .create();
  }

  private Table twoFiles() {
    Table table = create(2, spec -> spec);
    TableFiles files = TableFiles.of(table);
    files.append(List.of(row(1), row(2)));
    files.append(List.of(row(3), row(4)));
    return table;
  }

  private static Record row(long id) {
    return row(id, "a", "z", null);
  }

  private static Record row(long id, String v, String w, UUID u) {
    return Rows.row(SCHEMA, id, v, w, u);
  }

  private static void deleteIds(Table table, long id) {
    TableFiles files = TableFiles.of(table);
    files.rowDelta(List.of(), List.of(files.equalityDeletes(List.of("id"), List.of(row(id)))));
  }

  private static List<Long> ids(Table table) {
    table.refresh();
    return TableRows.liveRecords(table, table.currentSnapshot()).stream()
        .map(row -> (Long) row.getField("id"))
        .sorted()
        .toList();
  }

  private static List<DataFile> files(Table table) {
    return TableRows.dataFiles(table, table.currentSnapshot());
  }
}
