package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;

import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;

/** Tables of a few rows with deletes of every kind that their format version has. */
final class SmallTable {
  static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.LongType.get()),
          required(2, "region", Types.StringType.get()),
          optional(3, "note", Types.StringType.get()));

  private SmallTable() {}

  /**
   * Four files in two partitions; position deletes (file- and partition-scoped, or vectors) and
   * equality deletes apply to them.
   */
  static Table withDeletes(Path directory, int formatVersion) {
    Table table =
        TableBuilder.at(directory)
            .schema(SCHEMA)
            .partitionBy(spec -> spec.identity("region"))
            .formatVersion(formatVersion)
            .property("commit.retry.min-wait-ms", "1")
            .property("commit.retry.max-wait-ms", "2")
            .create();
    TableFiles files = TableFiles.of(table).rowGroupRows(4);
    DataFile a = files.append(rows(0, 10, "eu"));
    DataFile b = files.append(rows(10, 10, "us"));
    DataFile c = files.append(rows(20, 10, "eu"));
    DataFile d = files.append(rows(30, 10, "us"));
    files.deletePositions(Map.of(a, new long[] {0, 9}));
    if (formatVersion == 2) {
      List<TableFiles.Position> positions =
          List.of(TableFiles.Position.of(b, 1), TableFiles.Position.of(d, 8));
      files.rowDelta(List.of(), List.of(files.partitionOf(b).positionDeletes(positions)));
    } else {
      files.deletePositions(Map.of(b, new long[] {1}, d, new long[] {4, 5, 6, 7}));
    }
    files.rowDelta(
        List.of(),
        List.of(
            files.partitionOf(c).equalityDeletes(List.of("id"), rows(3, 2, "eu")),
            files.partitionOf(d).equalityDeletes(List.of("note"), rows(31, 1, "us"))));
    files.upsert(List.of("id"), rows(24, 3, "eu"));
    table.refresh();
    return table;
  }

  static List<Record> rows(int firstId, int count, String region) {
    List<Record> rows = new ArrayList<>();
    for (int id = firstId; id < firstId + count; id++) {
      rows.add(row(id, region, "note " + id));
    }
    return rows;
  }

  static Record row(long id, String region, String note) {
    Record row = GenericRecord.create(SCHEMA);
    row.set(0, id);
    row.set(1, region);
    row.set(2, note);
    return row;
  }

  /** The live data files of a partition, oldest first. */
  static List<DataFile> files(Table table, String region) {
    return TableRows.dataFiles(table, table.currentSnapshot()).stream()
        .filter(file -> region.equals(String.valueOf(file.partition().get(0, Object.class))))
        .sorted(java.util.Comparator.comparing(DataFile::fileSequenceNumber))
        .toList();
  }
}
