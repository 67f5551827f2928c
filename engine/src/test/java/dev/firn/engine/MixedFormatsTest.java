package dev.firn.engine;

import static java.util.Locale.ROOT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.engine.parquet.UnsupportedTableException;
import dev.firn.testdata.RandomTable;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Tables whose files are in Avro, ORC and Parquet, compacted to Parquet. */
class MixedFormatsTest {
  private static final List<FileFormat> FORMATS =
      List.of(FileFormat.AVRO, FileFormat.ORC, FileFormat.PARQUET);
  private static final int TABLES = 10;

  @TempDir Path directory;

  static Stream<Arguments> randomTables() {
    long first = Long.getLong("firn.test.seed", new Random().nextInt(1 << 30));
    int tables = Long.getLong("firn.test.seed") == null ? TABLES : 1;
    return Stream.of(List.of(FileFormat.AVRO), List.of(FileFormat.ORC), FORMATS)
        .flatMap(
            formats ->
                LongStream.range(first, first + tables)
                    .mapToObj(seed -> Arguments.of(seed, formats)));
  }

  @ParameterizedTest
  @MethodSource("randomTables")
  void s23RandomTablesKeepTheirLiveRows(long seed, List<FileFormat> formats) throws Exception {
    RandomTable random =
        RandomTable.seed(seed).formats(formats.toArray(new FileFormat[0])).create(directory);
    Table table = random.table();
    String rerun = "rerun with -Dfirn.test.seed=" + seed + "\n" + random;
    List<String> expected = random.expectedRows();
    assertThat(TableRows.live(table)).as(rerun).isEqualTo(expected);
    Set<String> before = FileTruth.locations(table);
    CompactionReport report = compact(table);
    assertThat(report.failures()).as(rerun).isEmpty();
    table.refresh();
    assertThat(TableRows.live(table)).as(rerun).isEqualTo(expected);
    if (table.currentSnapshot() != null) {
      assertThat(TableRows.dataFiles(table, table.currentSnapshot()))
          .as(rerun)
          .allMatch(file -> file.format() == FileFormat.PARQUET);
      FileTruth.check(table, before);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = FileFormat.class,
      names = {"AVRO", "ORC"})
  void m13WithTheOptionATableOfAnotherFormatIsRewrittenAsParquet(FileFormat format)
      throws Exception {
    Table table = table();
    table.updateProperties().set("write.format.default", format.name().toLowerCase(ROOT)).commit();
    for (FileFormat of : FORMATS) {
      TableFiles files = TableFiles.of(table).format(of);
      DataFile file = files.append(rows(table, 0, 20));
      files.rowDelta(List.of(), List.of(files.positionDeletes(file, 0, 7)));
    }
    List<String> live = TableRows.live(table);
    assertThatThrownBy(() -> compact(table))
        .isInstanceOf(UnsupportedTableException.class)
        .hasMessageContaining("allow-format-change");
    assertThat(compact(table, "allow-format-change", "true").failures()).isEmpty();
    table.refresh();
    assertThat(TableRows.live(table)).isEqualTo(live).hasSize(54);
    List<DataFile> written = TableRows.dataFiles(table, table.currentSnapshot());
    assertThat(written).hasSize(1).allMatch(file -> file.format() == FileFormat.PARQUET);
    try (DuckDb duck = DuckDb.open()) {
      duck.check(table, written.get(0));
    }
    assertThat(table.properties())
        .containsEntry("write.format.default", format.name().toLowerCase(ROOT));
  }

  private CompactionReport compact(Table table, String... options) {
    CompactionSettings.Builder settings =
        CompactionSettings.builder()
            .option("rewrite-all", "true")
            .memoryBytes(512L << 20)
            .scratch(directory)
            .threads(2);
    for (int i = 0; i < options.length; i += 2) {
      settings.option(options[i], options[i + 1]);
    }
    return new Compaction(table, settings.build(), CompactionListener.NONE).run();
  }

  private Table table() {
    return TableBuilder.at(directory.resolve("table"))
        .schema(
            Types.NestedField.required(1, "id", Types.LongType.get()),
            Types.NestedField.optional(
                2,
                "s",
                Types.StructType.of(Types.NestedField.optional(3, "key", Types.StringType.get()))))
        .create();
  }

  private static List<Record> rows(Table table, int from, int to) {
    Types.StructType struct = table.schema().findType("s").asStructType();
    Rows rows = Rows.of(table.schema());
    IntStream.range(from, to)
        .forEach(i -> rows.add((long) i, i % 7 == 0 ? null : Rows.struct(struct, "k" + i)));
    return rows.list();
  }

  @Test
  void d25d27DeletesInEachFormatApplyToDataInEach() throws Exception {
    Table table = table();
    List<DataFile> data = new ArrayList<>();
    List<DeleteFile> deletes = new ArrayList<>();
    for (FileFormat format : FORMATS) {
      TableFiles files = TableFiles.of(table).format(format).rowGroupRows(16);
      int first = data.size() * 100;
      DataFile file = files.data(rows(table, first, first + 100));
      data.add(file);
      TableFiles.of(table).append(file);
      for (FileFormat of : FORMATS) {
        int at = 3 + 10 * FORMATS.indexOf(of);
        TableFiles other = TableFiles.of(table).format(of);
        deletes.add(other.positionDeletes(file, at, at + 50));
        List<Record> keys = rows(table, first + at + 1, first + at + 2);
        deletes.add(other.equalityDeletes(List.of("id"), keys));
        deletes.add(
            other.equalityDeletes(List.of("s.key"), rows(table, first + at + 5, first + at + 6)));
      }
    }
    TableFiles.of(table).rowDelta(List.of(), deletes);
    List<String> live = TableRows.live(table);
    assertThat(live).hasSizeLessThan(300 - 9 * 2);
    CompactionReport report = compact(table);
    assertThat(report.failures()).isEmpty();
    table.refresh();
    assertThat(TableRows.live(table)).isEqualTo(live);
    assertThat(report.rows().written()).isEqualTo(live.size());
  }

  @Test
  void aFileThatIsDeletedWholeIsNotRead() throws Exception {
    Table table = table();
    for (FileFormat format : FORMATS) {
      TableFiles files = TableFiles.of(table).format(format);
      DataFile file = files.data(rows(table, 0, 3));
      files.append(file);
      files.rowDelta(List.of(), List.of(files.positionDeletes(file, 0, 1, 2)));
    }
    assertThat(compact(table).failures()).isEmpty();
    table.refresh();
    assertThat(TableRows.live(table)).isEmpty();
  }
}
