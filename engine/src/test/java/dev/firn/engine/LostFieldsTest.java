package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Equality deletes on columns of which expiring snapshots has removed the last schema. */
class LostFieldsTest {
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.required(1, "id", Types.LongType.get()),
          Types.NestedField.optional(2, "v", Types.IntegerType.get()),
          Types.NestedField.optional(
              3,
              "s",
              Types.StructType.of(Types.NestedField.optional(4, "x", Types.DecimalType.of(9, 2)))));

  @TempDir Path directory;

  private static Record row(long id, Integer v, String x) {
    Record row = GenericRecord.create(SCHEMA);
    row.set(0, id);
    row.set(1, v);
    if (x != null) {
      Record struct = GenericRecord.create(SCHEMA.findType("s").asStructType());
      struct.set(0, new java.math.BigDecimal(x));
      row.set(2, struct);
    }
    return row;
  }

  /** Rows 0 to 9, of which 1 and 2 go by v, 3 by s.x, and 4 is null in both. */
  private Table table(FileFormat data, FileFormat deletes) {
    Table table = TableBuilder.at(directory.resolve("t")).schema(SCHEMA).formatVersion(2).create();
    TableFiles files = TableFiles.of(table).format(data);
    List<Record> rows = new ArrayList<>();
    for (int id = 0; id < 10; id++) {
      rows.add(row(id, id == 4 ? null : (Integer) (id * 10), id == 4 ? null : id + ".25"));
    }
    files.append(rows.subList(0, 5));
    files.append(rows.subList(5, 10));
    files.format(deletes);
    files.rowDelta(
        List.of(),
        List.of(
            files.equalityDeletes(List.of("v"), List.of(row(1, 10, "0.00"), row(2, 20, "0.00"))),
            files.equalityDeletes(List.of("s.x"), List.of(row(0, 0, "3.25")))));
    table.updateSchema().deleteColumn("v").deleteColumn("s").commit();
    return table;
  }

  private void expire(Table table) {
    Record late = GenericRecord.create(table.schema());
    late.set(0, 100L);
    TableFiles.of(table).append(List.of(late));
    table.refresh();
    table
        .expireSnapshots()
        .expireOlderThan(System.currentTimeMillis() + 1000)
        .retainLast(1)
        .cleanExpiredMetadata(true)
        .commit();
    table.refresh();
    assertThat(table.schemas().values()).noneMatch(schema -> schema.findField(2) != null);
  }

  private List<Long> compact(Table table) throws Exception {
    CompactionReport report =
        new Compaction(
                table,
                CompactionSettings.builder()
                    .option("rewrite-all", "true")
                    .option("verify", "true")
                    .memoryBytes(512L << 20)
                    .scratch(directory)
                    .threads(2)
                    .build(),
                CompactionListener.NONE)
            .run();
    assertThat(report.failures()).isEmpty();
    assertThat(report.groups().committed()).isEqualTo(1);
    assertThat(report.rows().deleted()).isEqualTo(3);
    table.refresh();
    VerificationReport verified =
        new Verification(
                table,
                VerificationSettings.defaults().withScratch(directory),
                Verification.Listener.NONE)
            .run();
    assertThat(verified.same()).isTrue();
    List<Long> ids = new ArrayList<>();
    for (var file : dev.firn.testdata.TableRows.dataFiles(table, table.currentSnapshot())) {
      dev.firn.testdata.TableRows.inFile(table, file).forEach(row -> ids.add((Long) row.get(0)));
    }
    return ids;
  }

  @ParameterizedTest
  @EnumSource(names = {"PARQUET", "AVRO", "ORC"})
  void d14KeysOfAColumnWithoutAnySchemaStillDelete(FileFormat format) throws Exception {
    Table table = table(FileFormat.PARQUET, format);
    expire(table);
    assertThatThrownBy(
            () -> {
              try (CloseableIterable<Record> rows = IcebergGenerics.read(table).build()) {
                rows.forEach(row -> {});
              }
            })
        .as("what Iceberg's own planning says")
        .hasMessageContaining("Cannot find field for ID");
    assertThat(compact(table)).containsExactlyInAnyOrder(0L, 4L, 5L, 6L, 7L, 8L, 9L, 100L);
  }

  @Test
  void d14TheTypesOfOrcAndAvroDataFilesAreLearnedToo() throws Exception {
    Table table = table(FileFormat.ORC, FileFormat.AVRO);
    expire(table);
    assertThat(compact(table)).containsExactlyInAnyOrder(0L, 4L, 5L, 6L, 7L, 8L, 9L, 100L);
  }
}
