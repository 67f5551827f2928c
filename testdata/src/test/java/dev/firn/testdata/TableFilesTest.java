package dev.firn.testdata;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

final class TableFilesTest {
  private static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.LongType.get()),
          optional(2, "name", Types.StringType.get()),
          optional(3, "s", Types.StructType.of(optional(4, "x", Types.IntegerType.get()))));

  @TempDir Path directory;

  private TableBuilder builder() {
    return TableBuilder.at(directory.resolve("table")).schema(SCHEMA);
  }

  private static Record row(long id, String name) {
    return Rows.row(SCHEMA, id, name, null);
  }

  private static List<Record> rows(int from, int to) {
    List<Record> rows = new ArrayList<>();
    for (int id = from; id < to; id++) {
      Record s = id % 3 == 0 ? null : Rows.struct(SCHEMA.findType("s").asStructType(), id % 5);
      rows.add(Rows.row(SCHEMA, (long) id, id % 4 == 0 ? null : "n" + id, s));
    }
    return rows;
  }

  private static List<Long> liveIds(Table table) {
    return TableRows.liveRecords(table, table.currentSnapshot()).stream()
        .map(row -> (Long) row.getField("id"))
        .sorted()
        .toList();
  }

  static Stream<Arguments> formats() {
    List<FileFormat> all = List.of(FileFormat.PARQUET, FileFormat.AVRO, FileFormat.ORC);
    return all.stream().flatMap(data -> all.stream().map(delete -> Arguments.of(data, delete)));
  }

  @ParameterizedTest
  @MethodSource("formats")
  void d27AllFormatsOfDataAndDeletesAreWrittenAndRead(FileFormat data, FileFormat delete)
      throws Exception {
    Table table = builder().create();
    TableFiles files = TableFiles.of(table);
    DataFile a = files.format(data).append(rows(0, 20));
    DataFile b = files.format(data).append(rows(20, 40));
    TableFiles deletes = files.format(delete);
    files.rowDelta(
        List.of(),
        List.of(
            deletes.positionDeletes(a, 3, 1, 1, 100),
            deletes.positionDeletes(
                List.of(
                    TableFiles.Position.of(b, 5),
                    TableFiles.Position.of(a, 5),
                    TableFiles.Position.of(b, 0))),
            deletes.positionDeletes(
                List.of(new TableFiles.Position(b.location(), 1, rows(21, 22).get(0)))),
            deletes.equalityDeletes(List.of("id"), rows(10, 12)),
            deletes.equalityDeletes(List.of("name", "s.x"), rows(30, 32))));

    List<Long> expected = new ArrayList<>();
    for (long id = 0; id < 40; id++) {
      expected.add(id);
    }
    expected.removeAll(List.of(3L, 1L, 25L, 5L, 20L, 21L, 10L, 11L, 30L, 31L));
    assertThat(liveIds(table)).isEqualTo(expected);
    try (CloseableIterable<Record> generics = IcebergGenerics.read(table).build()) {
      assertThat(generics).hasSize(expected.size());
    }
  }

  @Test
  void d19LeafOfANullStructIsNull() {
    Table table = builder().create();
    TableFiles files = TableFiles.of(table);
    Types.StructType s = SCHEMA.findType("s").asStructType();
    files.append(
        Rows.of(SCHEMA)
            .add(1L, "a", null)
            .add(2L, "b", Rows.struct(s, new Object[] {null}))
            .add(3L, "c", Rows.struct(s, 7))
            .list());
    Record key = Rows.row(SCHEMA, 9L, null, Rows.struct(s, new Object[] {null}));
    files.rowDelta(List.of(), List.of(files.equalityDeletes(List.of("s.x"), List.of(key))));
    assertThat(liveIds(table)).containsExactly(3L);
  }

  @Test
  void d1UpsertKeepsItsOwnRows() {
    Table table = builder().partitionBy(spec -> spec.bucket("id", 3)).create();
    TableFiles files = TableFiles.of(table);
    files.append(files.dataByPartition(rows(0, 10)).toArray(DataFile[]::new));
    files.upsert(List.of("id"), List.of(row(3, "new"), row(4, "new"), row(77, "new")));
    assertThat(TableRows.live(table))
        .hasSize(11)
        .contains(
            "{\"id\":3,\"name\":\"new\",\"s\":null}",
            "{\"id\":4,\"name\":\"new\",\"s\":null}",
            "{\"id\":77,\"name\":\"new\",\"s\":null}");
  }

  @Test
  void d29VectorsShareAPuffinFileAndReplaceOlderOnes() {
    Table table = builder().formatVersion(3).create();
    TableFiles files = TableFiles.of(table);
    DataFile a = files.append(rows(0, 10));
    DataFile b = files.append(rows(10, 20));
    files.deletePositions(Map.of(a, new long[] {0, 1}, b, new long[] {9}));
    files.deletePositions(Map.of(a, new long[] {5}));
    List<DeleteFile> deletes = TableRows.deleteFiles(table, table.currentSnapshot());
    assertThat(deletes).extracting(DeleteFile::recordCount).containsExactlyInAnyOrder(3L, 1L);
    assertThat(liveIds(table)).hasSize(16).doesNotContain(0L, 1L, 5L, 19L);
  }

  @Test
  void l2RowIdsAreInheritedByPosition() {
    Table table = builder().formatVersion(3).create();
    TableFiles files = TableFiles.of(table);
    files.append(rows(0, 3));
    DataFile b = files.append(rows(3, 6));
    files.deletePositions(Map.of(b, new long[] {0}));
    Record moved = Rows.row(TableRows.schema(table), 50L, "moved", null, 77L, 1L);
    files.schema(TableRows.schema(table)).append(List.of(moved));
    assertThat(TableRows.live(table))
        .contains(
            "{\"id\":4,\"name\":null,\"s\":{\"x\":4},\"_row_id\":4,\"_last_updated_sequence_number\":2}",
            "{\"id\":50,\"name\":\"moved\",\"s\":null,\"_row_id\":77,\"_last_updated_sequence_number\":1}");
  }

  @ParameterizedTest
  @EnumSource(
      value = FileFormat.class,
      names = {"PARQUET", "AVRO", "ORC"})
  void lineageIsStoredInEveryFormat(FileFormat format) {
    Table table = builder().formatVersion(3).create();
    Record moved = Rows.row(TableRows.schema(table), 5L, "moved", null, 77L, 0L);
    Record fresh = Rows.row(TableRows.schema(table), 6L, "fresh", null, null, null);
    TableFiles.of(table)
        .format(format)
        .schema(TableRows.schema(table))
        .append(List.of(moved, fresh));
    assertThat(TableRows.live(table))
        .containsExactly(
            "{\"id\":5,\"name\":\"moved\",\"s\":null,\"_row_id\":77,\"_last_updated_sequence_number\":0}",
            "{\"id\":6,\"name\":\"fresh\",\"s\":null,\"_row_id\":1,\"_last_updated_sequence_number\":1}");
  }

  @Test
  void rowGroupsHaveTheAskedNumberOfRows() {
    Table table = builder().create();
    DataFile file = TableFiles.of(table).rowGroupRows(30).append(rows(0, 100));
    assertThat(file.splitOffsets()).hasSize(4);
  }

  @Test
  void hadoopTablesOpenTheSameTable() {
    Table table = builder().create();
    TableFiles.of(table).append(rows(0, 10));
    Table other = new HadoopTables().load(table.location());
    assertThat(TableRows.live(other)).isEqualTo(TableRows.live(table)).hasSize(10);
    TableFiles.of(other).append(rows(10, 15));
    table.refresh();
    assertThat(TableRows.live(table)).hasSize(15);
  }
}
