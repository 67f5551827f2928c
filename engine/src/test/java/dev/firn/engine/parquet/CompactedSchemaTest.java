package dev.firn.engine.parquet;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.engine.Compaction;
import dev.firn.engine.CompactionListener;
import dev.firn.engine.CompactionReport;
import dev.firn.engine.CompactionSettings;
import dev.firn.testdata.LocalFileIO;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.mapping.MappingUtil;
import org.apache.iceberg.mapping.NameMappingParser;
import org.apache.iceberg.types.Types;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.io.ColumnIOFactory;
import org.apache.parquet.io.RecordReader;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Files of other writers and older schemas, compacted; outputs are read by Parquet's own reader.
 */
class CompactedSchemaTest {
  private static final byte[] MALFORMED = {(byte) 0xFF, 'a', (byte) 0xC3};

  @TempDir Path directory;

  private void compact(Table table) {
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
    assertThat(report.groups().committed()).isPositive();
    table.refresh();
  }

  /** The rows of the live files as Parquet's example reader has them. */
  private static List<Group> rows(Table table, String partition) throws IOException {
    List<Group> rows = new ArrayList<>();
    for (DataFile file : TableRows.dataFiles(table, table.currentSnapshot())) {
      if (table.specs().get(file.specId()).partitionToPath(file.partition()).equals(partition)) {
        try (ParquetFileReader reader =
            ParquetFixture.reader(LocalFileIO.path(file.location()).toString())) {
          MessageType schema = reader.getFileMetaData().getSchema();
          for (PageReadStore pages = reader.readNextRowGroup();
              pages != null;
              pages = reader.readNextRowGroup()) {
            RecordReader<Group> records =
                new ColumnIOFactory()
                    .getColumnIO(schema)
                    .getRecordReader(pages, new GroupRecordConverter(schema));
            for (long row = 0; row < pages.getRowCount(); row++) {
              rows.add(records.read());
            }
          }
        }
      }
    }
    return rows;
  }

  private DataFile migrated(Table table, String name, Integer part) throws IOException {
    DataFile file =
        new HandMadeParquet(
                directory.resolve(name),
                "optional double d; optional int32 id; optional int96 ts;"
                    + " optional int32 u (UINT_32); optional binary s (UTF8);"
                    + " optional group l (LIST) { repeated group bag {"
                    + " optional int32 array_element; } }")
            .row(
                row -> {
                  row.add("d", Double.NaN);
                  row.add("id", -1);
                  row.add("ts", Binary.fromConstantByteArray(int96(-719_162, 1_999)));
                  row.add("u", (int) 4_000_000_000L);
                  row.add("s", Binary.fromConstantByteArray(MALFORMED));
                  Group list = row.addGroup("l");
                  list.addGroup("bag").add("array_element", 5);
                  list.addGroup("bag");
                })
            .row(row -> row.add("ts", Binary.fromConstantByteArray(int96(-1, 0))))
            .write();
    StructLike tuple = GenericRecord.create(table.spec().partitionType());
    tuple.set(0, part);
    return DataFiles.builder(table.spec()).copy(file).withPartition(tuple).build();
  }

  private static byte[] int96(int day, long nanos) {
    return ByteBuffer.allocate(12)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(nanos)
        .putInt(day + 2_440_588)
        .array();
  }

  @Test
  void s2s8s10s16s17s19s24s25MigratedFilesAreWrittenAsTheTableSays() throws IOException {
    Schema schema =
        new Schema(
            optional(1, "id", Types.IntegerType.get()),
            optional(2, "part", Types.IntegerType.get()),
            optional(3, "ts", Types.TimestampType.withoutZone()),
            optional(4, "u", Types.LongType.get()),
            optional(5, "s", Types.StringType.get()),
            optional(6, "d", Types.DoubleType.get()),
            optional(7, "l", Types.ListType.ofOptional(8, Types.IntegerType.get())));
    Table table =
        TableBuilder.at(directory.resolve("t"))
            .schema(schema)
            .partitionBy(spec -> spec.identity("part"))
            .create();
    String mapping =
        NameMappingParser.toJson(MappingUtil.create(schema))
            .replace("\"element\"", "\"array_element\"");
    table.updateProperties().set("schema.name-mapping.default", mapping).commit();
    for (int file = 0; file < 2; file++) {
      TableFiles.of(table).append(migrated(table, "seven-" + file, 7));
      TableFiles.of(table).append(migrated(table, "null-" + file, null));
    }
    table
        .updateSchema()
        .updateColumn("id", Types.LongType.get())
        .updateColumn("part", Types.LongType.get())
        .renameColumn("s", "text")
        .commit();
    compact(table);
    for (String partition : List.of("part=7", "part=null")) {
      List<Group> rows = rows(table, partition);
      assertThat(rows).as(partition).hasSize(4);
      for (Group row : List.of(rows.get(0), rows.get(2))) {
        assertThat(row.getLong("id", 0)).isEqualTo(-1);
        assertThat(row.getFieldRepetitionCount("part"))
            .isEqualTo(partition.equals("part=7") ? 1 : 0);
        assertThat(row.getLong("ts", 0)).as("0001-01-01").isEqualTo(-62_135_596_799_999_999L);
        assertThat(row.getLong("u", 0)).isEqualTo(4_000_000_000L);
        assertThat(row.getBinary("text", 0).getBytes()).isEqualTo(MALFORMED);
        assertThat(row.getDouble("d", 0)).isNaN();
        Group list = row.getGroup("l", 0);
        assertThat(list.getFieldRepetitionCount("list")).isEqualTo(2);
        assertThat(list.getGroup("list", 0).getInteger("element", 0)).isEqualTo(5);
        assertThat(list.getGroup("list", 1).getFieldRepetitionCount("element")).isZero();
      }
      for (Group row : List.of(rows.get(1), rows.get(3))) {
        assertThat(row.getLong("ts", 0)).as("1969-12-31").isEqualTo(-86_400_000_000L);
        for (String column : List.of("id", "u", "text", "d", "l")) {
          assertThat(row.getFieldRepetitionCount(column)).as(column).isZero();
        }
      }
    }
    assertThat(rows(table, "part=7"))
        .allSatisfy(row -> assertThat(row.getLong("part", 0)).isEqualTo(7));
  }

  @Test
  void s1s3s5s6OldFilesAreWrittenInTheCurrentSchema() throws IOException {
    Schema schema =
        new Schema(
            optional(1, "a", Types.IntegerType.get()),
            optional(2, "b", Types.StringType.get()),
            optional(3, "c", Types.FloatType.get()));
    Table table = TableBuilder.at(directory.resolve("t")).schema(schema).formatVersion(3).create();
    for (int file = 0; file < 2; file++) {
      TableFiles.of(table).append(Rows.of(schema).add(1, "old", 0.1f).list());
    }
    table.updateSchema().deleteColumn("b").commit();
    table
        .updateSchema()
        .addColumn("b", Types.StringType.get())
        .addColumn("n", Types.IntegerType.get(), Literal.of(7))
        .updateColumn("a", Types.LongType.get())
        .updateColumn("c", Types.DoubleType.get())
        .renameColumn("a", "first")
        .moveFirst("c")
        .commit();
    table.updateSchema().updateColumnDefault("n", Literal.of(9)).commit();
    compact(table);
    List<Group> rows = rows(table, "");
    assertThat(rows).hasSize(2);
    for (Group row : rows) {
      assertThat(row.getType().getFieldName(0)).isEqualTo("c");
      assertThat(row.getDouble("c", 0)).isEqualTo(0.1f);
      assertThat(row.getLong("first", 0)).isEqualTo(1);
      assertThat(row.getFieldRepetitionCount("b")).as("dropped and added again").isZero();
      assertThat(row.getInteger("n", 0)).as("the initial default").isEqualTo(7);
    }
  }
}
