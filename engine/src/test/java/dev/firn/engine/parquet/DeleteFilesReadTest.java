package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.PositionDeleteIndex;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class DeleteFilesReadTest {
  private static final Schema POSITIONS =
      new Schema(MetadataColumns.DELETE_FILE_PATH, MetadataColumns.DELETE_FILE_POS);

  @TempDir Path directory;

  private List<String> read(Table table, DeleteFile file, Schema columns) throws Exception {
    List<String> lines = new ArrayList<>();
    try (ReaderFixture fixture = new ReaderFixture(table, 3)) {
      fixture.reader.readDeletes(
          file,
          columns,
          (batch, first) -> {
            assertThat(first).isEqualTo(lines.size());
            lines.addAll(PhysicalRows.lines(batch, columns));
          });
    }
    return lines;
  }

  private Table table(Types.NestedField... columns) {
    return TableBuilder.at(directory.resolve("table")).schema(columns).create();
  }

  @ParameterizedTest
  @EnumSource(
      value = FileFormat.class,
      names = {"PARQUET", "AVRO", "ORC"})
  void d27PositionDeletesOfAllFormatsWithARowColumn(FileFormat format) throws Exception {
    Table table = table(Types.NestedField.required(1, "id", Types.IntegerType.get()));
    Record row = Rows.row(table.schema(), 5);
    List<TableFiles.Position> positions =
        List.of(
            new TableFiles.Position("s3a://b//x%20y.parquet", 7, row),
            new TableFiles.Position("file:/ä", 0, row),
            new TableFiles.Position("file:/ä", 3, row),
            new TableFiles.Position("file:/ä", 1L << 40, row));
    DeleteFile file = TableFiles.of(table).format(format).positionDeletes(positions);
    assertThat(read(table, file, POSITIONS))
        .containsExactly(
            "{\"file_path\":\"s3a://b//x%20y.parquet\",\"pos\":7}",
            "{\"file_path\":\"file:/ä\",\"pos\":0}",
            "{\"file_path\":\"file:/ä\",\"pos\":3}",
            "{\"file_path\":\"file:/ä\",\"pos\":1099511627776}");
    assertThat(read(table, file, new Schema(MetadataColumns.DELETE_FILE_POS)))
        .containsExactly("{\"pos\":7}", "{\"pos\":0}", "{\"pos\":3}", "{\"pos\":1099511627776}");
  }

  @Test
  void d27PositionDeletesWithoutIdsAreKnownByTheirNames() throws Exception {
    Table table = table(Types.NestedField.required(1, "id", Types.IntegerType.get()));
    DataFile written =
        new HandMadeParquet(
                directory.resolve("deletes.parquet"),
                "required binary file_path (UTF8); required int64 pos;")
            .row(row -> row.append("file_path", "f").append("pos", 4L))
            .write();
    DeleteFile file =
        FileMetadata.deleteFileBuilder(table.spec())
            .ofPositionDeletes()
            .withPath(written.location())
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(written.fileSizeInBytes())
            .withRecordCount(1)
            .build();
    assertThat(read(table, file, POSITIONS)).containsExactly("{\"file_path\":\"f\",\"pos\":4}");
    DeleteFile equality =
        FileMetadata.deleteFileBuilder(table.spec())
            .ofEqualityDeletes(1)
            .withPath(written.location())
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(written.fileSizeInBytes())
            .withRecordCount(1)
            .build();
    assertThatThrownBy(() -> read(table, equality, table.schema()))
        .isInstanceOf(UnsupportedFileException.class)
        .hasMessageContaining("no field ids");
  }

  @ParameterizedTest
  @EnumSource(
      value = FileFormat.class,
      names = {"PARQUET", "AVRO", "ORC"})
  void d16D20EqualityDeletesOfAllTypesAndFormats(FileFormat format) throws Exception {
    Table table =
        table(
            Types.NestedField.optional(1, "bool", Types.BooleanType.get()),
            Types.NestedField.optional(2, "i", Types.IntegerType.get()),
            Types.NestedField.optional(3, "l", Types.LongType.get()),
            Types.NestedField.optional(4, "f", Types.FloatType.get()),
            Types.NestedField.optional(5, "d", Types.DoubleType.get()),
            Types.NestedField.optional(6, "date", Types.DateType.get()),
            Types.NestedField.optional(7, "t", Types.TimeType.get()),
            Types.NestedField.optional(8, "ts", Types.TimestampType.withoutZone()),
            Types.NestedField.optional(9, "s", Types.StringType.get()),
            Types.NestedField.optional(10, "u", Types.UUIDType.get()),
            Types.NestedField.optional(11, "fix", Types.FixedType.ofLength(3)),
            Types.NestedField.optional(12, "bin", Types.BinaryType.get()),
            Types.NestedField.optional(13, "d9", Types.DecimalType.of(9, 2)),
            Types.NestedField.optional(14, "d18", Types.DecimalType.of(18, 2)),
            Types.NestedField.optional(15, "d38", Types.DecimalType.of(38, 2)));
    List<Record> rows =
        Rows.of(table.schema())
            .add(
                true,
                -1,
                1L << 40,
                0.5f,
                -0.0,
                LocalDate.of(1969, 12, 31),
                LocalTime.of(1, 2, 3, 4000),
                // ORC itself cannot hold a fraction of the last second before 1970.
                LocalDateTime.of(1969, 12, 31, 23, 59, 58, 999_999_000),
                "ä",
                UUID.fromString("f0000000-0000-4000-8000-000000000001"),
                new byte[] {1, 2, (byte) 255},
                ByteBuffer.wrap(new byte[] {0, (byte) 128}),
                new BigDecimal("-1.50"),
                new BigDecimal("-1234567890.50"),
                new BigDecimal("-123456789012345678901234567890.50"))
            .add(new Object[15])
            .list();
    List<String> names = table.schema().columns().stream().map(Types.NestedField::name).toList();
    DeleteFile file = TableFiles.of(table).format(format).equalityDeletes(names, rows);
    List<String> expected =
        rows.stream().map(row -> dev.firn.testdata.RowText.line(row, table.schema())).toList();
    assertThat(read(table, file, table.schema())).containsExactlyElementsOf(expected);

    Schema promoted =
        new Schema(
            Types.NestedField.optional(2, "i", Types.LongType.get()),
            Types.NestedField.optional(4, "f", Types.DoubleType.get()),
            Types.NestedField.optional(13, "d9", Types.DecimalType.of(20, 2)));
    assertThat(read(table, file, promoted))
        .containsExactly(
            "{\"i\":-1,\"f\":\"0x1.0p-1\",\"d9\":\"-1.50\"}",
            "{\"i\":null,\"f\":null,\"d9\":null}");
  }

  @ParameterizedTest
  @EnumSource(
      value = FileFormat.class,
      names = {"PARQUET", "AVRO", "ORC"})
  void d19NestedKeysOfAllFormatsAreLeaves(FileFormat format) throws Exception {
    Types.StructType struct =
        Types.StructType.of(Types.NestedField.optional(3, "x", Types.IntegerType.get()));
    Table table =
        table(
            Types.NestedField.optional(1, "id", Types.IntegerType.get()),
            Types.NestedField.optional(2, "s", struct));
    List<Record> rows =
        Rows.of(table.schema())
            .add(1, Rows.struct(struct, 7))
            .add(2, null)
            .add(3, Rows.struct(struct, (Object) null))
            .list();
    DeleteFile file = TableFiles.of(table).format(format).equalityDeletes(List.of("s.x"), rows);
    assertThat(read(table, file, new Schema(table.schema().findField("s.x"))))
        .containsExactly("{\"x\":7}", "{\"x\":null}", "{\"x\":null}");
  }

  @Test
  void d28DeletionVectorsAreReadFromTheirPlaceInThePuffinFile() throws Exception {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .formatVersion(3)
            .schema(Types.NestedField.required(1, "id", Types.IntegerType.get()))
            .create();
    TableFiles files = TableFiles.of(table);
    DataFile one = files.append(Rows.of(table.schema()).add(1).add(2).list());
    DataFile two = files.append(Rows.of(table.schema()).add(1).add(2).add(3).list());
    List<DeleteFile> vectors =
        files.vectors(java.util.Map.of(one, new long[] {1}, two, new long[] {0, 2}));
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      for (DeleteFile vector : vectors) {
        byte[] blob = fixture.reader.readDeletionVector(vector);
        assertThat(blob).hasSize(vector.contentSizeInBytes().intValue());
        List<Long> positions = new ArrayList<>();
        PositionDeleteIndex.deserialize(blob, vector).forEach(positions::add);
        assertThat(positions)
            .isEqualTo(
                vector.referencedDataFile().equals(one.location()) ? List.of(1L) : List.of(0L, 2L));
      }
    }
  }

  @Test
  void aDeleteFileWithOtherThanTheRecordedRowsIsCorrupt() throws Exception {
    Table table = table(Types.NestedField.required(1, "id", Types.IntegerType.get()));
    for (FileFormat format : List.of(FileFormat.PARQUET, FileFormat.AVRO)) {
      DeleteFile file =
          TableFiles.of(table)
              .format(format)
              .positionDeletes(List.of(new TableFiles.Position("f", 1, null)));
      DeleteFile wrong =
          FileMetadata.deleteFileBuilder(table.spec()).copy(file).withRecordCount(2).build();
      assertThatThrownBy(() -> read(table, wrong, POSITIONS))
          .isInstanceOf(CorruptFileException.class)
          .hasMessageContaining(file.location())
          .hasMessageContaining("1 rows")
          .hasMessageContaining("2");
    }
  }
}
