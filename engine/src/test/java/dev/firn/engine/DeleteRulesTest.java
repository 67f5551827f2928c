package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.engine.CompactionReport.FailureKind;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Rules of deletes from planning to the rows that are left, on real files. */
class DeleteRulesTest {
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.required(1, "id", Types.IntegerType.get()),
          Types.NestedField.optional(2, "part", Types.StringType.get()),
          Types.NestedField.optional(3, "u", Types.UUIDType.get()),
          Types.NestedField.optional(4, "f", Types.DoubleType.get()),
          Types.NestedField.optional(
              5,
              "s",
              Types.StructType.of(Types.NestedField.optional(6, "x", Types.StringType.get()))));

  @TempDir Path directory;

  private Table table(int formatVersion, boolean partitioned) {
    TableBuilder builder =
        TableBuilder.at(directory.resolve("t")).schema(SCHEMA).formatVersion(formatVersion);
    return (partitioned ? builder.partitionBy(spec -> spec.identity("part")) : builder).create();
  }

  private static Record row(int id, String part) {
    Record row = GenericRecord.create(SCHEMA);
    row.set(0, id);
    row.set(1, part);
    return row;
  }

  private static Record row(int id, String part, UUID u, Double f) {
    Record row = row(id, part);
    row.set(2, u);
    row.set(3, f);
    return row;
  }

  /** A row with a struct that holds {@code x}, be it null. */
  private static Record nested(int id, String part, String x) {
    Record row = row(id, part);
    Record struct = GenericRecord.create(SCHEMA.findType("s").asStructType());
    struct.set(0, x);
    row.set(4, struct);
    return row;
  }

  /** The ids that the compacted files hold, which are those that the oracle says. */
  private List<Object> compact(Table table, long deleted) {
    table.refresh();
    List<Object> live = new ArrayList<>();
    TableRows.liveRecords(table, table.currentSnapshot())
        .forEach(row -> live.add(((Number) row.getField("id")).intValue()));
    CompactionReport report =
        new Compaction(
                table,
                CompactionSettings.builder()
                    .option("rewrite-all", "true")
                    .memoryBytes(512L << 20)
                    .scratch(directory)
                    .threads(2)
                    .build(),
                CompactionListener.NONE)
            .run();
    assertThat(report.failures()).isEmpty();
    assertThat(report.rows().deleted()).isEqualTo(deleted);
    table.refresh();
    List<Object> ids = new ArrayList<>();
    for (DataFile file : TableRows.dataFiles(table, table.currentSnapshot())) {
      TableRows.inFile(table, file)
          .forEach(row -> ids.add(((Number) row.getField("id")).intValue()));
    }
    assertThat(ids).containsExactlyInAnyOrderElementsOf(live);
    return ids;
  }

  private static int plannedDeletes(Table table) throws Exception {
    table.refresh();
    int deletes = 0;
    try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
      for (FileScanTask task : tasks) {
        deletes += task.deletes().size();
      }
    }
    return deletes;
  }

  @Test
  void d8AnUnpartitionedSpecIsGlobalAlsoWhereSpecZeroIsPartitioned() {
    Table table = table(2, true);
    TableFiles.of(table)
        .dataByPartition(List.of(row(1, "a"), row(2, "a"), row(1, "b")))
        .forEach(file -> table.newAppend().appendFile(file).commit());
    table.updateSpec().removeField("part").commit();
    assertThat(table.specs().get(0).isPartitioned()).isTrue();
    assertThat(table.spec().isUnpartitioned()).isTrue();
    TableFiles files = TableFiles.of(table).spec(table.spec());
    files.rowDelta(List.of(), List.of(files.equalityDeletes(List.of("id"), List.of(row(1, "z")))));
    assertThat(compact(table, 2)).containsExactly(2);
  }

  @Test
  void h5d18UuidAndFloatKeysAreNotPrunedByBounds() throws Exception {
    Table table = table(2, false);
    TableFiles files = TableFiles.of(table);
    // bounds of unsigned bytes, read as signed numbers, have their ends the wrong way round
    UUID low = new UUID(0x10L << 56, 0);
    UUID high = new UUID(0xF0L << 56, 0);
    UUID between = new UUID(0x20L << 56, 0);
    files.append(
        List.of(
            row(1, "a", low, 1.0),
            row(2, "a", between, 2.0),
            row(3, "a", high, Double.NaN),
            row(4, "a", high, 4.0)));
    DeleteFile byUuid = files.equalityDeletes(List.of("u"), List.of(row(0, "z", between, 0.0)));
    DeleteFile byFloat = files.equalityDeletes(List.of("f"), List.of(row(0, "z", low, Double.NaN)));
    files.rowDelta(List.of(), List.of(byUuid, byFloat));
    assertThat(plannedDeletes(table)).as("what Iceberg's planner attaches").isLessThan(2);
    assertThat(compact(table, 2)).containsExactlyInAnyOrder(1, 4);
  }

  @Test
  void d10d11d19NullsNestedLeavesAndSeveralSetsOfKeys() {
    Table table = table(2, false);
    TableFiles files = TableFiles.of(table);
    files.append(
        List.of(
            row(1, null), // null in part and, without a struct, in s.x
            nested(2, "a", "gone"),
            nested(3, null, null),
            nested(4, "b", "kept"),
            row(5, "b"),
            nested(6, "c", "kept")));
    files.rowDelta(
        List.of(),
        List.of(
            // s.x is null in rows 1, 3 and 5: below a null struct too
            files.equalityDeletes(List.of("s.x", "part"), List.of(nested(0, null, null))),
            files.equalityDeletes(List.of("s.x"), List.of(nested(0, "z", "gone"))),
            files.equalityDeletes(List.of("part", "id"), List.of(row(6, null), row(6, "c")))));
    assertThat(compact(table, 4)).containsExactlyInAnyOrder(4, 5);
  }

  @Test
  void d16PromotedKeysAreComparedInTheCurrentType() {
    Table table = table(2, false);
    TableFiles files = TableFiles.of(table);
    files.append(List.of(row(1, "a"), row(2, "a")));
    files.rowDelta(List.of(), List.of(files.equalityDeletes(List.of("id"), List.of(row(1, "a")))));
    table.updateSchema().updateColumn("id", Types.LongType.get()).commit();
    Record late = GenericRecord.create(table.schema());
    late.set(0, 7L);
    Record again = late.copy("id", 1L);
    TableFiles now = TableFiles.of(table);
    now.append(List.of(late, again));
    now.rowDelta(
        List.of(), List.of(now.equalityDeletes(List.of("id"), List.of(late.copy("id", 2L), late))));
    assertThat(compact(table, 3)).containsExactly(1);
  }

  @Test
  void d4AVectorReplacesPositionDeletesOfBeforeTheUpgrade() {
    Table table = table(2, false);
    TableFiles files = TableFiles.of(table);
    DataFile file = files.append(List.of(row(0, "a"), row(1, "a"), row(2, "a"), row(3, "a")));
    files.rowDelta(List.of(), List.of(files.positionDeletes(file, 1)));
    table.updateProperties().set("format-version", "3").commit();
    TableFiles now = TableFiles.of(table);
    now.rowDelta(
        List.of(),
        List.of(now.vector(file, 1, 2), now.equalityDeletes(List.of("id"), List.of(row(3, "a")))));
    assertThat(compact(table, 3)).containsExactly(0);
  }

  /** Plan and run say which file is corrupt, and nothing is committed or left behind. */
  private void corrupt(Table table, DataFile file, String words) {
    table.refresh();
    Set<Path> paths = TableBefore.paths(table);
    long snapshot = table.currentSnapshot().snapshotId();
    CompactionSettings settings = Runs.all(directory).build();
    for (ThrowingCallable attempt :
        List.<ThrowingCallable>of(
            () -> new Compaction(table, settings, CompactionListener.NONE).plan(),
            () -> new Compaction(table, settings, CompactionListener.NONE).run())) {
      assertThatThrownBy(attempt)
          .hasMessageContainingAll(file.location(), words)
          .satisfies(e -> assertThat(FailureKind.of(e)).isEqualTo(FailureKind.CORRUPT));
    }
    table.refresh();
    assertThat(table.currentSnapshot().snapshotId()).isEqualTo(snapshot);
    assertThat(TableBefore.paths(table)).isEqualTo(paths);
  }

  @Test
  void d5TwoVectorsOfOneFileAreNeitherChosenFromNorMerged() {
    Table table = table(3, false);
    TableFiles files = TableFiles.of(table);
    DataFile file = files.append(List.of(row(0, "a"), row(1, "a"), row(2, "a")));
    files.append(List.of(row(3, "a")));
    files.rowDelta(List.of(), List.of(files.vector(file, 0)));
    files.rowDelta(List.of(), List.of(files.vector(file, 1)));
    corrupt(table, file, "DV");
  }

  @Test
  void d6AVectorThatIsOlderThanItsFileIsCorrupt() {
    Table table = table(3, false);
    TableFiles files = TableFiles.of(table);
    files.append(List.of(row(3, "a")));
    DataFile file = files.data(List.of(row(0, "a"), row(1, "a")));
    files.rowDelta(List.of(), List.of(files.vector(file, 0)));
    files.append(file);
    corrupt(table, file, "sequence number");
  }

  @Test
  void d6AVectorOfAnotherPartitionIsCorrupt() {
    Table table = table(3, true);
    TableFiles files = TableFiles.of(table);
    DataFile file = files.append(List.of(row(0, "a"), row(1, "a")));
    DataFile other = files.append(List.of(row(0, "b"), row(1, "b")));
    files.rowDelta(List.of(), List.of(moved(files.vector(file, 0), table.spec(), other)));
    corrupt(table, file, "partition");
  }

  @Test
  void d6AVectorOfAnotherSpecIsCorrupt() {
    Table table = table(3, true);
    TableFiles files = TableFiles.of(table);
    DataFile file = files.append(List.of(row(0, "a"), row(1, "a")));
    table.updateSpec().addField(Expressions.bucket("id", 2)).commit();
    DataFile other = files.spec(table.spec()).append(List.of(row(0, "a")));
    files.rowDelta(List.of(), List.of(moved(files.vector(file, 0), table.spec(), other)));
    corrupt(table, file, "spec");
  }

  @Test
  void d6PositionDeletesOfOneFileInAnotherPartitionAreCorrupt() {
    Table table = table(2, true);
    TableFiles files = TableFiles.of(table);
    DataFile file = files.append(List.of(row(0, "a"), row(1, "a")));
    DataFile other = files.append(List.of(row(0, "b"), row(1, "b")));
    DeleteFile deletes = files.positionDeletes(file, 0);
    files.rowDelta(
        List.of(),
        List.of(
            FileMetadata.deleteFileBuilder(table.spec())
                .copy(deletes)
                .withPartition(other.partition())
                .build()));
    corrupt(table, file, "partition");
  }

  /** A vector that says it is of the spec and partition of another data file. */
  private static DeleteFile moved(DeleteFile vector, PartitionSpec spec, DataFile to) {
    return FileMetadata.deleteFileBuilder(spec)
        .ofPositionDeletes()
        .withPath(vector.location())
        .withFormat(vector.format())
        .withPartition(to.partition())
        .withReferencedDataFile(vector.referencedDataFile())
        .withRecordCount(vector.recordCount())
        .withContentOffset(vector.contentOffset())
        .withContentSizeInBytes(vector.contentSizeInBytes())
        .withFileSizeInBytes(vector.fileSizeInBytes())
        .build();
  }

  @ParameterizedTest
  @EnumSource(names = {"PARQUET", "AVRO"}) // Iceberg's reader of ORC has no defaults
  void d17RowsOfBeforeAColumnWasAddedHaveItsInitialDefaultAsKey(FileFormat format) {
    Table table = table(3, false);
    TableFiles old = TableFiles.of(table).format(format);
    old.append(List.of(nested(0, "a", "x"), row(1, "b"), nested(2, "c", null)));
    table
        .updateSchema()
        .addColumn("c", Types.IntegerType.get(), Literal.of(7))
        .addColumn("s", "y", Types.IntegerType.get(), null, Literal.of(8))
        .commit();
    table
        .updateSchema()
        .updateColumnDefault("c", Literal.of(9))
        .updateColumnDefault("s.y", Literal.of(9))
        .commit();
    TableFiles now = TableFiles.of(table);
    Schema schema = table.schema();
    Types.StructType struct = schema.findType("s").asStructType();
    now.append(
        List.of(
            Rows.row(schema, 3, "a", null, null, Rows.struct(struct, "x", 5), 7),
            Rows.row(schema, 4, "a", null, null, null, 9),
            Rows.row(schema, 5, "a", null, null, Rows.struct(struct, "x", 8), null)));
    Record key = Rows.row(schema, 0, "b", null, null, Rows.struct(struct, "z", 8), 7);
    Record never = Rows.row(schema, 0, "c", null, null, Rows.struct(struct, "z", 9), 9);
    now.rowDelta(
        List.of(),
        List.of(
            now.equalityDeletes(List.of("part", "c"), List.of(key, never)),
            now.equalityDeletes(List.of("s.y", "c"), List.of(key, never)),
            now.equalityDeletes(List.of("s.y"), List.of(never))));
    // 0 and 2 by their defaults of both; 1, whose struct is null, by that of c
    assertThat(compact(table, 3)).containsExactlyInAnyOrder(3, 4, 5);
  }
}
