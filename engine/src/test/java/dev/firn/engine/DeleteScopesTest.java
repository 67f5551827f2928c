package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableFiles.Position;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.ContentFileUtil;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which rows and columns a delete file is about, on real tables. */
class DeleteScopesTest {
  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
  }

  private static List<DataFile> files(Table table) {
    return TableRows.dataFiles(table, table.currentSnapshot());
  }

  @Test
  void d12d13AKeyThatIsNoColumnAnyMoreIsReadAndNotWritten() {
    Schema schema =
        new Schema(
            required(1, "id", Types.LongType.get()),
            optional(2, "v", Types.StringType.get()),
            optional(3, "s", Types.StructType.of(optional(4, "x", Types.IntegerType.get()))));
    Table table = TableBuilder.at(directory.resolve("table")).schema(schema).create();
    Types.StructType struct = schema.findType("s").asStructType();
    TableFiles files = TableFiles.of(table);
    Rows rows = Rows.of(schema);
    for (long id = 0; id < 10; id++) {
      rows.add(id, "v" + id % 3, Rows.struct(struct, (int) id));
    }
    files.append(rows.list());
    Rows keys = Rows.of(schema).add(0L, "v1", Rows.struct(struct, 6));
    files.rowDelta(
        List.of(),
        List.of(
            files.equalityDeletes(List.of("v"), keys.list()),
            files.equalityDeletes(List.of("s.x"), keys.list())));
    table.updateSchema().deleteColumn("v").deleteColumn("s").commit();
    table.refresh();
    Runs.of(table, Runs.all(scratch));
    assertThat(files(table)).singleElement().matches(file -> file.recordCount() == 6);
    assertThat(TableRows.liveRecords(table, table.currentSnapshot()))
        .extracting(row -> row.get(0))
        .containsExactlyInAnyOrder(0L, 2L, 3L, 5L, 8L, 9L);
    assertThat(files(table).get(0).valueCounts()).containsOnlyKeys(1);
  }

  /** The upsert's own delete is among those looked up, because a later one applies to its file. */
  @Test
  void d1c3ARowIsNotReachedByItsOwnCommitsDeleteWhenALaterOneApplies() {
    Table table = TableBuilder.at(directory.resolve("table")).schema(SmallTable.SCHEMA).create();
    TableFiles files = TableFiles.of(table);
    files.append(SmallTable.rows(0, 5, "eu"));
    files.upsert(List.of("id"), SmallTable.rows(0, 3, "eu"));
    files.rowDelta(
        List.of(),
        List.of(files.equalityDeletes(List.of("id"), List.of(SmallTable.row(2, "eu", null)))));
    table.refresh();
    Runs.of(table, Runs.all(scratch));
    assertThat(TableRows.liveRecords(table, table.currentSnapshot()))
        .extracting(row -> row.get(0))
        .containsExactlyInAnyOrder(0L, 1L, 3L, 4L);
  }

  /** Without a referenced file; bounds that are cut are equal for files of a common prefix. */
  @Test
  void d22d24PathBoundsThatAreCutDoNotMakeADeleteFileOneOfAFile() {
    Table table = TableBuilder.at(directory.resolve("table")).schema(SmallTable.SCHEMA).create();
    TableFiles files = TableFiles.of(table);
    DataFile a = files.append(SmallTable.rows(0, 10, "eu"));
    DataFile b = files.append(SmallTable.rows(10, 10, "eu"));
    DeleteFile both =
        files.positionDeletes(List.of(Position.of(b, 3), Position.of(a, 0), Position.of(a, 9)));
    DeleteFile one = files.positionDeletes(List.of(Position.of(a, 4), Position.of(a, 5)));
    assertThat(ContentFileUtil.referencedDataFileLocation(one)).isEqualTo(a.location());
    ByteBuffer lower = ByteBuffer.wrap(prefix(a, 16));
    ByteBuffer upper = ByteBuffer.wrap(prefix(a, 16));
    upper.array()[15]++;
    int path = MetadataColumns.DELETE_FILE_PATH.fieldId();
    DeleteFile cut =
        FileMetadata.deleteFileBuilder(table.spec())
            .copy(both)
            .withMetrics(
                new Metrics(
                    3L,
                    both.columnSizes(),
                    both.valueCounts(),
                    both.nullValueCounts(),
                    null,
                    Map.of(path, lower),
                    Map.of(path, upper)))
            .build();
    assertThat(ContentFileUtil.referencedDataFileLocation(cut)).isNull();
    files.rowDelta(List.of(), List.of(cut, one));
    table.refresh();
    List<String> before = TableRows.live(table);
    assertThat(before).hasSize(15);
    Runs.of(table, Runs.all(scratch));
    assertThat(TableRows.live(table)).isEqualTo(before);
    assertThat(files(table)).singleElement().matches(file -> file.recordCount() == 15);
  }

  private static byte[] prefix(DataFile file, int length) {
    return file.location().substring(0, length).getBytes(StandardCharsets.UTF_8);
  }
}
