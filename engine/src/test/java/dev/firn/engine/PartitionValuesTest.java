package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The values of identity partitions: odd ones, and such as are not in their files. */
class PartitionValuesTest {
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
  void p7d9OddValuesKeepTheirValueAndEachItsPartition() {
    Schema schema =
        new Schema(
            required(1, "id", Types.LongType.get()),
            optional(2, "text", Types.StringType.get()),
            optional(3, "number", Types.DoubleType.get()),
            optional(4, "bytes", Types.BinaryType.get()));
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(schema)
            .partitionBy(spec -> spec.identity("text").identity("number").identity("bytes"))
            .create();
    Rows rows = Rows.of(schema);
    for (long round = 0; round < 2; round++) {
      for (String text : new String[] {null, "null", "", "a/b=c %25+\u00e9\uD83D\uDE00", ".."}) {
        rows.add(round, text, 1d, null);
      }
      for (double number : new double[] {0d, -0d, Double.NaN, Double.NEGATIVE_INFINITY}) {
        rows.add(round, "n", number, null);
      }
      for (byte[] bytes : new byte[][] {{}, {0}, {(byte) 0xFF, '/'}, {'=', '%'}}) {
        rows.add(round, "b", null, ByteBuffer.wrap(bytes));
      }
    }
    TableFiles files = TableFiles.of(table);
    for (Record row : rows.list()) {
      files.append(List.of(row));
    }
    table.refresh();
    List<String> before = TableRows.live(table);
    assertThat(before).hasSize(26);
    Runs.of(table, Runs.all(scratch));
    assertThat(TableRows.live(table)).isEqualTo(before);
    assertThat(files(table)).hasSize(13).allMatch(file -> file.recordCount() == 2);
  }

  /** As a table has them that was migrated from Hive. */
  @Test
  void s2s24AColumnThatIsOnlyInTheTupleIsWritten() throws SQLException {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(SmallTable.SCHEMA)
            .partitionBy(spec -> spec.identity("region"))
            .create();
    Schema inFiles = SmallTable.SCHEMA.select("id", "note");
    TableFiles files = TableFiles.of(table);
    DataFile tuple = files.data(SmallTable.rows(0, 1, "eu"));
    for (long id = 0; id < 3; id++) {
      files.append(
          files
              .partitionOf(tuple)
              .schema(inFiles)
              .data(Rows.of(inFiles).add(id, "note " + id).list()));
    }
    table.refresh();
    List<String> before = TableRows.live(table);
    assertThat(before).hasSize(3).allMatch(row -> row.contains("\"region\":\"eu\""));
    Runs.of(table, Runs.all(scratch));
    assertThat(TableRows.live(table)).isEqualTo(before);
    assertThat(files(table)).hasSize(1);
    try (DuckDb duckDb = DuckDb.open()) {
      duckDb.check(table, files(table).get(0)); // knows nothing of the tuple
    }
  }
}
