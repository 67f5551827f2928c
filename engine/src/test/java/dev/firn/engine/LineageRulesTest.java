package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.engine.parquet.UnsupportedTableException;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.io.LocalInputFile;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Row ids and last updated numbers are the same before and after, row by row. */
class LineageRulesTest {
  /** Of a row: its id and its last updated number. */
  private record Lineage(Long rowId, Long lastUpdated) {}

  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
  }

  /** By the column id, which no two rows share. */
  private static Map<Long, Lineage> lineage(Table table, Snapshot snapshot) {
    Map<Long, Lineage> lineage = new TreeMap<>();
    for (Record row : TableRows.liveRecords(table, snapshot)) {
      Lineage of =
          new Lineage(
              (Long) row.getField("_row_id"), (Long) row.getField("_last_updated_sequence_number"));
      assertThat(lineage.put((Long) row.getField("id"), of)).as("one row of an id").isNull();
    }
    return lineage;
  }

  private static Map<Long, Lineage> lineage(Table table) {
    table.refresh();
    return lineage(table, table.currentSnapshot());
  }

  private static long nextRowId(Table table) {
    table.refresh();
    return ((HasTableOperations) table).operations().current().nextRowId();
  }

  private static List<DataFile> files(Table table) {
    return TableRows.dataFiles(table, table.currentSnapshot());
  }

  private Table v3() {
    return TableBuilder.at(directory.resolve("table"))
        .schema(SmallTable.SCHEMA)
        .formatVersion(3)
        .create();
  }

  // ---- layouts

  static Stream<Arguments> layouts() {
    SortOrder byNote =
        SortOrder.builderFor(SmallTable.SCHEMA).desc("note", NullOrder.NULLS_FIRST).build();
    return Stream.of(
        Arguments.of(new Layout.BinPack(), Map.of()),
        Arguments.of(new Layout.BinPack(), Map.of("target-file-size-bytes", "1500")),
        Arguments.of(new Layout.BinPack(), Map.of("use-starting-sequence-number", "false")),
        Arguments.of(
            new Layout.BinPack(),
            Map.of("partial-progress.enabled", "true", "max-file-group-input-files", "2")),
        Arguments.of(new Layout.Sorted(byNote), Map.of()),
        Arguments.of(new Layout.Sorted(byNote), Map.of("target-file-size-bytes", "1500")));
  }

  /** Vectors, equality deletes and an upsert are there; twice over, as ids are then stored. */
  @ParameterizedTest
  @MethodSource("layouts")
  void l1l2l4o13EachRowKeepsItsLineage(Layout layout, Map<String, String> options)
      throws IOException {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 3);
    Map<Long, Lineage> before = lineage(table);
    assertThat(before.values()).extracting(Lineage::lastUpdated).contains(1L, 2L, 3L, 4L);
    for (int run = 1; run <= 2; run++) {
      Runs.of(table, Runs.all(scratch).layout(layout).options(options));
      assertThat(lineage(table)).as("run %d", run).isEqualTo(before);
    }
    for (DataFile file : files(table)) {
      checkStored(file);
    }
  }

  /** Both columns are in the file, by their ids, without a null. */
  private static void checkStored(DataFile file) throws IOException {
    try (ParquetFileReader reader =
        ParquetFileReader.open(new LocalInputFile(TableBefore.path(file.location())))) {
      for (BlockMetaData block : reader.getFooter().getBlocks()) {
        List<Integer> ids = new ArrayList<>();
        for (ColumnChunkMetaData chunk : block.getColumns()) {
          int id = chunk.getPrimitiveType().getId().intValue();
          if (id == MetadataColumns.ROW_ID.fieldId()
              || id == MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER.fieldId()) {
            ids.add(id);
            assertThat(chunk.getStatistics().getNumNulls()).as("nulls of %s", chunk).isZero();
          }
        }
        assertThat(ids)
            .as("lineage columns of %s", file.location())
            .containsExactly(
                MetadataColumns.ROW_ID.fieldId(),
                MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER.fieldId());
      }
    }
  }

  @Test
  void l2l4RowsBehindADeletedOneKeepThePositionsThatTheyHad() {
    Table table = v3();
    TableFiles files = TableFiles.of(table);
    files.append(SmallTable.rows(0, 100, "eu"));
    DataFile second = files.append(SmallTable.rows(100, 3, "eu"));
    files.deletePositions(Map.of(second, new long[] {0}));
    Runs.of(table, Runs.all(scratch).filter(Expressions.greaterThan("id", 99L)));
    assertThat(lineage(table))
        .containsEntry(101L, new Lineage(101L, 2L))
        .containsEntry(102L, new Lineage(102L, 2L))
        .hasSize(102);
  }

  @Test
  void l4ACompactionUpdatesNoRow() {
    Table table = v3();
    TableFiles.of(table).append(SmallTable.rows(0, 3, "eu"));
    for (int i = 0; i < 4; i++) {
      TableFiles.of(table).append(SmallTable.rows(10 + i, 1, "eu"));
    }
    Runs.of(table, Runs.all(scratch));
    assertThat(files(table)).singleElement().matches(file -> file.dataSequenceNumber() == 5);
    assertThat(lineage(table)).containsEntry(0L, new Lineage(0L, 1L));
    assertThat(lineage(table)).containsEntry(13L, new Lineage(6L, 5L));
  }

  // ---- what commits assign

  @Test
  void l5n5IdsOfOthersNeverOverlap() {
    Table table = v3();
    TableFiles files = TableFiles.of(table);
    files.append(SmallTable.rows(0, 10, "eu"));
    files.append(SmallTable.rows(10, 10, "eu"));
    long next = nextRowId(table);
    Runs.of(table, Runs.all(scratch));
    Snapshot compaction = table.currentSnapshot();
    assertThat(compaction.firstRowId()).isEqualTo(next);
    assertThat(nextRowId(table)).isEqualTo(next + compaction.addedRows());
    assertThat(files(table)).singleElement().matches(file -> file.firstRowId() >= next);
    assertThat(compaction.dataManifests(table.io()))
        .allMatch(manifest -> manifest.firstRowId() != null);
    assertThat(compaction.deleteManifests(table.io()))
        .allMatch(manifest -> manifest.firstRowId() == null);
    long afterwards = nextRowId(table);
    files.append(SmallTable.rows(20, 10, "eu"));
    Map<Long, Lineage> lineage = lineage(table);
    assertThat(lineage.values()).extracting(Lineage::rowId).doesNotHaveDuplicates();
    assertThat(lineage.get(20L).rowId()).isGreaterThanOrEqualTo(afterwards);
  }

  @Test
  void l5IdsAreAssignedAnewWhenAnotherCommitComesFirst() {
    Table table = v3();
    TableFiles.of(table).append(SmallTable.rows(0, 10, "eu"));
    TableFiles.of(table).append(SmallTable.rows(10, 10, "eu"));
    Map<Long, Lineage> before = lineage(table);
    Runs.beside(
        table,
        Runs.all(scratch),
        other -> TableFiles.of(other).append(SmallTable.rows(100, 7, "eu")));
    Map<Long, Lineage> after = lineage(table);
    assertThat(after).containsAllEntriesOf(before).hasSize(27);
    assertThat(after.get(100L)).isEqualTo(new Lineage(20L, 3L));
    assertThat(after.values()).extracting(Lineage::rowId).doesNotHaveDuplicates();
    for (DataFile file : files(table)) {
      assertThat(file.firstRowId() + file.recordCount()).isLessThanOrEqualTo(nextRowId(table));
    }
    assertThat(files(table)).extracting(DataFile::firstRowId).contains(20L).hasSize(2);
  }

  /** What is deleted meanwhile goes; what stays has the lineage that it had. */
  @ParameterizedTest
  @MethodSource("layouts")
  void l1l2c5RowsBesideThoseThatAreDeletedMeanwhileKeepTheirLineage(
      Layout layout, Map<String, String> options) {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 3);
    Map<Long, Lineage> expected = lineage(table);
    for (long id : new long[] {1, 5, 13, 21, 39}) {
      assertThat(expected.remove(id)).isNotNull();
    }
    List<DataFile> eu = SmallTable.files(table, "eu");
    List<DataFile> us = SmallTable.files(table, "us");
    Runs.beside(
        table,
        Runs.all(scratch).layout(layout).options(options),
        other ->
            TableFiles.of(other)
                .deletePositions(
                    Map.of(
                        eu.get(0), new long[] {1, 5},
                        us.get(0), new long[] {3},
                        eu.get(1), new long[] {1},
                        us.get(1), new long[] {9})));
    assertThat(lineage(table)).isEqualTo(expected);
  }

  @Test
  void l8n5FilesThatAreNotRewrittenKeepTheirFirstRowId() {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(SmallTable.SCHEMA)
            .partitionBy(spec -> spec.identity("region"))
            .formatVersion(3)
            .property("commit.manifest.min-count-to-merge", "2")
            .create();
    TableFiles files = TableFiles.of(table);
    for (int i = 0; i < 4; i++) {
      files.append(
          files.data(SmallTable.rows(100 * i, 10, "eu")),
          files.data(SmallTable.rows(100 * i + 50, 10, "us")));
    }
    table.refresh();
    Map<Long, Lineage> before = lineage(table);
    Map<String, Long> firstRowIds = new TreeMap<>();
    SmallTable.files(table, "us")
        .forEach(file -> firstRowIds.put(file.location(), file.firstRowId()));
    Runs.of(table, Runs.all(scratch).filter(Expressions.equal("region", "eu")));
    assertThat(table.currentSnapshot().dataManifests(table.io()))
        .as("manifests are merged")
        .hasSizeLessThan(4)
        .extracting(ManifestFile::firstRowId)
        .doesNotContainNull();
    Map<String, Long> after = new TreeMap<>();
    SmallTable.files(table, "us").forEach(file -> after.put(file.location(), file.firstRowId()));
    assertThat(after).isEqualTo(firstRowIds).hasSize(4);
    assertThat(lineage(table)).isEqualTo(before);
  }

  // ---- upgraded tables

  private static void upgrade(Table table) {
    table.refresh();
    table.updateProperties().set("format-version", "3").commit();
  }

  @ParameterizedTest
  @MethodSource("layouts")
  void l3l6RowsOfAnUpgradedTableGetTheirIdsBeforeTheyMove(
      Layout layout, Map<String, String> options) {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    upgrade(table);
    assertThat(lineage(table).values())
        .as("no ids without first row ids")
        .containsOnly(new Lineage(null, null));
    CompactionReport report = Runs.of(table, Runs.all(scratch).layout(layout).options(options));
    Snapshot base = table.snapshot(table.snapshot(report.snapshotsCommitted().get(0)).parentId());
    assertThat(base.operation()).as("an append that adds nothing").isEqualTo("append");
    assertThat(base.summary()).doesNotContainKey("added-data-files");
    Map<Long, Lineage> assigned = lineage(table, base);
    assertThat(assigned.values()).extracting(Lineage::rowId).doesNotHaveDuplicates();
    assertThat(assigned.values()).extracting(Lineage::lastUpdated).contains(1L, 2L, 3L, 4L);
    assertThat(lineage(table)).isEqualTo(assigned);
  }

  @Test
  void l6l7FilesOfBeforeAndAfterTheUpgradeShareAGroup() {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    upgrade(table);
    TableFiles files = TableFiles.of(table);
    files.append(SmallTable.rows(100, 5, "eu"));
    table.refresh();
    files.deletePositions(Map.of(SmallTable.files(table, "us").get(1), new long[] {2}));
    Map<Long, Lineage> before = lineage(table);
    assertThat(before.values()).extracting(Lineage::rowId).doesNotContainNull();
    CompactionReport report = Runs.of(table, Runs.all(scratch));
    assertThat(report.snapshotBefore())
        .as("no append is needed")
        .isEqualTo(table.snapshot(report.snapshotsCommitted().get(0)).parentId());
    assertThat(lineage(table)).isEqualTo(before);
  }

  @Test
  void c20l6AnUpgradeBetweenPlanAndCommitChangesNoRowId() {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    List<Map<Long, Lineage>> assigned = new ArrayList<>();
    Runs.beside(
        table,
        Runs.all(scratch),
        other -> {
          upgrade(other);
          TableFiles.of(other).append(SmallTable.rows(100, 5, "eu"));
          assigned.add(lineage(other));
        });
    assertThat(TableUtil.formatVersion(table)).isEqualTo(3);
    assertThat(assigned).hasSize(1);
    assertThat(assigned.get(0).values()).extracting(Lineage::rowId).doesNotContainNull();
    assertThat(lineage(table)).isEqualTo(assigned.get(0));
  }

  @Test
  void c20l6AnUpgradeWithoutACommitOfDataChangesNoRow() {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    List<String> rows = TableBefore.rows(table, table.currentSnapshot());
    Runs.beside(table, Runs.all(scratch), LineageRulesTest::upgrade);
    assertThat(TableBefore.rows(table, table.currentSnapshot())).isEqualTo(rows);
    assertThat(lineage(table).values())
        .as("ids and updates of before the compaction")
        .extracting(Lineage::lastUpdated)
        .contains(1L, 2L, 3L, 4L);
  }

  // ---- mixed groups

  /** One file stores all, one some, one nothing; one is an earlier compaction's. */
  @ParameterizedTest
  @MethodSource("layouts")
  void l1l7FilesThatStoreAndFilesThatInheritShareAGroup(
      Layout layout, Map<String, String> options) {
    Table table = v3();
    Schema stored = MetadataColumns.schemaWithRowLineage(SmallTable.SCHEMA);
    TableFiles files = TableFiles.of(table).rowGroupRows(3);
    files.append(SmallTable.rows(0, 10, "eu"));
    Runs.of(table, Runs.all(scratch));
    files.append(SmallTable.rows(10, 10, "eu"));
    files.append(
        files
            .schema(stored)
            .data(
                Rows.of(stored)
                    .add(20L, "eu", "updated", 7L, null)
                    .add(21L, "eu", "moved", 6L, 1L)
                    .add(22L, "eu", "new", null, null)
                    .add(23L, "eu", null, null, 2L)
                    .list()));
    DataFile old = files(table).get(0);
    files.deletePositions(Map.of(old, new long[] {6, 7}));
    Map<Long, Lineage> before = lineage(table);
    assertThat(before).containsEntry(21L, new Lineage(6L, 1L));
    assertThat(before.get(22L).rowId()).isGreaterThan(19L);
    assertThat(before.get(20L).lastUpdated()).isGreaterThan(3L);
    Runs.of(table, Runs.all(scratch).layout(layout).options(options));
    assertThat(lineage(table)).isEqualTo(before);
  }

  @Test
  void l10AnUpsertedRowHasTheIdThatTheUpsertGaveIt() {
    Table table = v3();
    TableFiles files = TableFiles.of(table);
    files.append(SmallTable.rows(0, 10, "eu"));
    files.upsert(List.of("id"), List.of(SmallTable.row(4, "eu", "again")));
    Map<Long, Lineage> before = lineage(table);
    assertThat(before.get(4L)).isEqualTo(new Lineage(10L, 2L));
    Runs.of(table, Runs.all(scratch));
    assertThat(lineage(table)).isEqualTo(before);
  }

  // ---- the columns

  @Test
  void l9TheTableGetsNoColumns() {
    Table table = v3();
    TableFiles.of(table).append(SmallTable.rows(0, 10, "eu"));
    Runs.of(table, Runs.all(scratch));
    assertThat(table.schema().asStruct()).isEqualTo(SmallTable.SCHEMA.asStruct());
    assertThat(table.schemas()).hasSize(1);
  }

  @Test
  void l9AColumnOfTheirNameIsRefused() {
    Schema schema =
        new Schema(
            required(1, "id", Types.LongType.get()), optional(2, "_row_id", Types.LongType.get()));
    Table table =
        TableBuilder.at(directory.resolve("table")).schema(schema).formatVersion(3).create();
    TableFiles.of(table).append(List.of(Rows.row(schema, 1L, 2L)));
    table.refresh();
    Set<Path> before = TableBefore.paths(table);
    assertThatThrownBy(
            () -> new Compaction(table, Runs.all(scratch).build(), CompactionListener.NONE).run())
        .isInstanceOf(UnsupportedTableException.class)
        .hasMessageContainingAll("local.table", "_row_id", "L9", "nothing was changed");
    assertThat(TableBefore.paths(table)).isEqualTo(before);
  }
}
