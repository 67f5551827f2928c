package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

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
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.io.LocalInputFile;
import org.apache.parquet.schema.Type;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tables with a column of type unknown, which no file holds and which is null in every row. */
class UnknownColumnsTest {
  private static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.LongType.get()),
          optional(2, "u", Types.UnknownType.get()),
          optional(3, "v", Types.StringType.get()));

  @TempDir Path directory;
  private Path scratch;
  private Table table;

  @BeforeEach
  void makeTable() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
    table =
        TableBuilder.at(directory.resolve("t"))
            .schema(SCHEMA)
            .formatVersion(3)
            .property("write.parquet.bloom-filter-enabled.column.u", "true")
            .property("write.metadata.metrics.column.u", "full")
            .create();
  }

  private static List<Record> rows(int from, int to) {
    Rows rows = Rows.of(SCHEMA);
    for (long id = from; id < to; id++) {
      rows.add(id, null, "v" + id % 3);
    }
    return rows.list();
  }

  private List<DataFile> files() {
    return TableRows.dataFiles(table, table.currentSnapshot());
  }

  private static List<String> columns(DataFile file) throws IOException {
    try (ParquetFileReader reader =
        ParquetFileReader.open(new LocalInputFile(TableBefore.path(file.location())))) {
      return reader.getFileMetaData().getSchema().getFields().stream().map(Type::getName).toList();
    }
  }

  /** Compacts; the oracle reads the same rows, of files without the column. */
  private void sameRows(CompactionSettings.Builder settings) throws IOException {
    table.refresh();
    List<String> before = TableRows.live(table);
    Runs.of(table, settings.option("verify", "true"));
    assertThat(TableRows.live(table)).isEqualTo(before);
    for (DataFile file : files()) {
      assertThat(columns(file))
          .containsExactly("id", "v", "_row_id", "_last_updated_sequence_number");
    }
    VerificationReport verified =
        new Verification(
                table,
                VerificationSettings.defaults().withScratch(scratch),
                Verification.Listener.NONE)
            .run();
    assertThat(verified.same()).isTrue();
  }

  private CompactionSettings.Builder settings(boolean sorted) {
    CompactionSettings.Builder settings = Runs.all(scratch);
    return sorted
        ? settings.layout(
            new Layout.Sorted(SortOrder.builderFor(table.schema()).desc("v").asc("id").build()))
        : settings;
  }

  @ParameterizedTest
  @CsvSource({"PARQUET, false", "PARQUET, true", "AVRO, false", "ORC, true"})
  void s12AnUnknownColumnIsNotWrittenAndReadsAsNull(FileFormat format, boolean sorted)
      throws IOException {
    TableFiles files = TableFiles.of(table).format(format);
    DataFile one = files.append(rows(0, 10));
    files.append(rows(10, 20));
    files.deletePositions(Map.of(one, new long[] {0, 7}));
    files.rowDelta(
        List.of(),
        List.of(
            TableFiles.of(table)
                .equalityDeletes(
                    List.of("v", "id"), List.of(rows(4, 5).get(0), rows(12, 13).get(0)))));
    sameRows(settings(sorted));
    assertThat(files()).singleElement().matches(file -> file.recordCount() == 16);
    assertThat(TableRows.liveRecords(table, table.currentSnapshot()))
        .allMatch(row -> row.getField("u") == null);
  }

  @Test
  void s12RowsFindTheirPartitionsBesideAnUnknownColumn() throws IOException {
    TableFiles.of(table).append(rows(0, 10));
    TableFiles.of(table).append(rows(10, 20));
    table.updateSpec().addField("v").addField(Expressions.bucket("id", 2)).commit();
    sameRows(settings(false));
    assertThat(files()).hasSize(6);
  }

  @Test
  void s12DeletesThatLandMeanwhileAreCarriedOverToFilesWithoutTheColumn() {
    DataFile one = TableFiles.of(table).append(rows(0, 10));
    TableFiles.of(table).append(rows(10, 20));
    table.refresh();
    CompactionReport report =
        Runs.beside(
            table,
            settings(true),
            other -> TableFiles.of(other).deletePositions(Map.of(one, new long[] {3, 4})));
    assertThat(report.rows().carriedOver()).isEqualTo(2);
    List<Object> ids = new ArrayList<>();
    TableRows.liveRecords(table, table.currentSnapshot()).forEach(row -> ids.add(row.get(0)));
    assertThat(ids).hasSize(18).doesNotContain(3L, 4L);
  }

  @Test
  void s12AFilterByAnUnknownColumnSelectsFilesThatMayBeNull() throws IOException {
    TableFiles.of(table).append(rows(0, 10));
    TableFiles.of(table).append(rows(10, 20));
    sameRows(settings(false).filter(Expressions.isNull("u")));
    assertThat(files()).hasSize(1);
  }

  @Test
  void s12KeysOfAnUnknownColumnAreRefusedByName() {
    TableFiles files = TableFiles.of(table);
    files.append(rows(0, 10));
    files.rowDelta(List.of(), List.of(files.equalityDeletes(List.of("id", "u"), rows(0, 1))));
    table.refresh();
    CompactionReport report = Runs.reported(table, settings(false), other -> {});
    assertThat(report.exitCode()).isEqualTo(6);
    assertThat(report.failures())
        .singleElement()
        .satisfies(failure -> assertThat(failure.message()).contains("u", "unknown"));
  }

  @Test
  void s6s12AColumnThatHasAnotherTypeNowIsNullWhereItWasUnknown() throws IOException {
    TableFiles.of(table).append(rows(0, 10));
    TableFiles.of(table).append(rows(10, 20));
    sameRows(settings(false));
    TableFiles.of(table).append(rows(20, 30));
    table.refresh();
    // as the spec allows, though Iceberg's own API does not
    Schema promoted =
        new Schema(
            SCHEMA.findField("id"),
            optional(2, "u", Types.IntegerType.get()),
            SCHEMA.findField("v"));
    TableOperations operations = ((HasTableOperations) table).operations();
    operations.commit(operations.current(), operations.current().updateSchema(promoted));
    table.refresh();
    TableFiles.of(table).append(Rows.of(table.schema()).add(30L, 7, "v").list());
    table.refresh();
    List<String> before = TableRows.live(table);
    assertThat(before).hasSize(31).filteredOn(row -> !row.contains("\"u\":null")).hasSize(1);
    Runs.of(table, settings(true).option("verify", "true"));
    assertThat(TableRows.live(table)).isEqualTo(before);
    assertThat(columns(files().get(0))).contains("u");
  }
}
