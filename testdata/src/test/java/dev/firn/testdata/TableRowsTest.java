package dev.firn.testdata;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The oracle against rules that no golden table and no random table shows one by one. */
final class TableRowsTest {
  private static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.LongType.get()),
          optional(2, "v", Types.StringType.get()),
          optional(
              3,
              "s",
              Types.StructType.of(
                  optional(4, "x", Types.IntegerType.get()),
                  optional(5, "y", Types.IntegerType.get()))));

  @TempDir Path directory;

  private TableBuilder builder() {
    return TableBuilder.at(directory.resolve("table")).schema(SCHEMA);
  }

  private static Record row(long id, String v) {
    return Rows.row(SCHEMA, id, v, null);
  }

  private static List<Long> ids(Table table) {
    return TableRows.liveRecords(table, table.currentSnapshot()).stream()
        .map(row -> (Long) row.getField("id"))
        .sorted()
        .toList();
  }

  @Test
  void d2PositionDeletesReachRowsOfTheirOwnCommit() {
    Table table = builder().create();
    TableFiles files = TableFiles.of(table);
    DataFile file = files.data(List.of(row(1, "a"), row(2, "b")));
    files.rowDelta(List.of(file), List.of(files.positionDeletes(file, 0)));
    assertThat(ids(table)).containsExactly(2L);
  }

  @Test
  void d3DataSequenceNumbersDecideNotFileSequenceNumbers() {
    Table table = builder().create();
    TableFiles files = TableFiles.of(table);
    DataFile old = files.append(List.of(row(1, "a"), row(2, "b")));
    files.rowDelta(List.of(), List.of(files.equalityDeletes(List.of("id"), List.of(row(1, "a")))));
    DataFile rewritten = files.data(List.of(row(1, "a"), row(2, "b")));
    table
        .newRewrite()
        .deleteFile(old)
        .addFile(rewritten)
        .dataSequenceNumber(1)
        .validateFromSnapshot(table.currentSnapshot().snapshotId())
        .commit();
    assertThat(ids(table)).containsExactly(2L);
  }

  @Test
  void d5TwoVectorsOfOneFileAreRefused() {
    Table table = builder().formatVersion(3).create();
    TableFiles files = TableFiles.of(table);
    DataFile file = files.append(List.of(row(1, "a"), row(2, "b")));
    DeleteFile one = files.vector(file, 0);
    DeleteFile two = files.vector(file, 1);
    table.newRowDelta().addDeletes(one).commit();
    table.newRowDelta().addDeletes(two).validateFromSnapshot(latest(table)).commit();
    assertThatThrownBy(() -> TableRows.live(table))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("2 deletion vectors");
  }

  private static long latest(Table table) {
    table.refresh();
    return table.currentSnapshot().snapshotId();
  }

  @Test
  void d7d8KeysHoldInTheirPartitionAndEverywhereWhenUnpartitioned() {
    Table table = builder().create();
    TableFiles files = TableFiles.of(table);
    files.append(List.of(row(1, "a"), row(2, "a"), row(3, "a")));
    table.updateSpec().addField(Expressions.ref("v")).commit();
    files.append(files.dataByPartition(List.of(row(1, "a"), row(1, "b"))).toArray(DataFile[]::new));
    assertThat(ids(table)).containsExactly(1L, 1L, 1L, 2L, 3L);
    // in partition v=a of the new spec
    files.rowDelta(List.of(), List.of(files.equalityDeletes(List.of("id"), List.of(row(1, "a")))));
    assertThat(ids(table)).containsExactly(1L, 1L, 2L, 3L);
    // in the old spec, which is unpartitioned
    PartitionSpec unpartitioned = table.specs().get(0);
    files.rowDelta(
        List.of(),
        List.of(files.spec(unpartitioned).equalityDeletes(List.of("id"), List.of(row(1, "zzz")))));
    assertThat(ids(table)).containsExactly(2L, 3L);
  }

  @Test
  void d9PartitionsOfNullAndOfTheStringNullAreTwo() {
    Table table = builder().partitionBy(spec -> spec.identity("v")).create();
    TableFiles files = TableFiles.of(table);
    files.append(
        files.dataByPartition(List.of(row(1, null), row(1, "null"))).toArray(DataFile[]::new));
    files.rowDelta(
        List.of(), List.of(files.equalityDeletes(List.of("id"), List.of(row(1, "null")))));
    assertThat(TableRows.live(table)).containsExactly("{\"id\":1,\"v\":null,\"s\":null}");
  }

  @Test
  void d10NullMatchesNullOnly() {
    Table table = builder().create();
    TableFiles files = TableFiles.of(table);
    files.append(List.of(row(1, null), row(2, "x"), row(3, null), row(4, "y")));
    files.rowDelta(
        List.of(),
        List.of(
            files.equalityDeletes(List.of("v", "id"), List.of(row(1, null), row(4, null))),
            files.equalityDeletes(List.of("v"), List.of(row(0, "x")))));
    assertThat(ids(table)).containsExactly(3L, 4L);
  }

  @ParameterizedTest
  @EnumSource(
      value = FileFormat.class,
      names = {"PARQUET", "AVRO", "ORC"})
  void d13KeysOfDroppedColumnsStillDelete(FileFormat format) {
    Table table = builder().create();
    TableFiles files = TableFiles.of(table).format(format);
    Types.StructType s = SCHEMA.findType("s").asStructType();
    List<Record> rows = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      rows.add(Rows.row(SCHEMA, (long) i, "v" + i, Rows.struct(s, i, 10 + i)));
    }
    files.append(rows);
    files.rowDelta(
        List.of(),
        List.of(
            files.equalityDeletes(List.of("v"), List.of(rows.get(0))),
            files.equalityDeletes(List.of("s.x"), List.of(rows.get(1)))));
    table.updateSchema().deleteColumn("v").deleteColumn("s.x").commit();
    table.updateSchema().addColumn("v", Types.StringType.get()).commit();
    Schema now = table.schema();
    Types.StructType sNow = now.findType("s").asStructType();
    files.append(List.of(Rows.row(now, 100L, Rows.struct(sNow, 1), "v0")));
    // and a key of a column that is gone, committed after it went
    List<Integer> gone = List.of(2);
    files.rowDelta(
        List.of(),
        List.of(
            files.equalityDeletes(
                gone, TypeUtil.select(SCHEMA, java.util.Set.of(2)), List.of(rows.get(2)))));
    assertThat(ids(table)).containsExactly(3L, 4L, 5L, 100L);
    assertThat(TableRows.live(table)).contains("{\"id\":100,\"s\":{\"y\":1},\"v\":\"v0\"}");
  }

  @Test
  void d17RowsWithoutTheColumnHaveItsInitialDefault() {
    Table table = builder().formatVersion(3).create();
    TableFiles files = TableFiles.of(table);
    files.append(List.of(row(1, "old")));
    table.updateSchema().addColumn("c", Types.IntegerType.get(), Literal.of(7)).commit();
    table.updateSchema().updateColumnDefault("c", Literal.of(9)).commit();
    Record key = Rows.row(table.schema(), 2L, "new", null, 7);
    files.append(List.of(Rows.row(table.schema(), 3L, "new", null, null)));
    assertThat(TableRows.live(table).get(0)).contains("\"c\":7");
    files.rowDelta(List.of(), List.of(files.equalityDeletes(List.of("c"), List.of(key))));
    assertThat(ids(table)).containsExactly(3L);
  }

  @ParameterizedTest
  @EnumSource(
      value = FileFormat.class,
      names = {"PARQUET", "AVRO", "ORC"})
  void s11AStructWhoseChildrenAreAllNewIsNullWhereItWasNull(FileFormat format) {
    Table table = builder().create();
    TableFiles files = TableFiles.of(table).format(format);
    Types.StructType s = SCHEMA.findType("s").asStructType();
    files.append(List.of(row(1, "null"), Rows.row(SCHEMA, 2L, "set", Rows.struct(s, 1, 2))));
    table.updateSchema().addColumn("s", "z", Types.IntegerType.get()).commit();
    table.updateSchema().deleteColumn("s.x").deleteColumn("s.y").commit();
    assertThat(TableRows.live(table))
        .containsExactly(
            "{\"id\":1,\"v\":\"null\",\"s\":null}", "{\"id\":2,\"v\":\"set\",\"s\":{\"z\":null}}");
  }

  @Test
  void olderSnapshotsAreReadInTheCurrentSchema() {
    Table table = builder().create();
    TableFiles files = TableFiles.of(table);
    files.append(List.of(row(1, "a")));
    long first = table.currentSnapshot().snapshotId();
    files.append(List.of(row(2, "b")));
    table.updateSchema().renameColumn("v", "w").deleteColumn("s").commit();
    assertThat(TableRows.live(table, first)).containsExactly("{\"id\":1,\"w\":\"a\"}");
    assertThat(TableRows.live(table, "main")).hasSize(2);
    assertThatThrownBy(() -> TableRows.live(table, "nowhere"))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
