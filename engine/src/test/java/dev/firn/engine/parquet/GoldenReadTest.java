package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.GoldenTables;
import dev.firn.testdata.TableRows;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class GoldenReadTest {
  @TempDir Path directory;

  static Stream<String> tables() {
    return GoldenTables.names().stream();
  }

  @ParameterizedTest
  @MethodSource("tables")
  void oaParquetDataFilesOfAllSnapshotsReadAsTheOracleReadsThem(String name) throws Exception {
    Table table = GoldenTables.copyTo(name, directory.resolve(name));
    Map<String, DataFile> files = new LinkedHashMap<>();
    for (Snapshot snapshot : table.snapshots()) {
      TableRows.dataFiles(table, snapshot).forEach(file -> files.put(file.location(), file.copy()));
    }
    for (int batchRows : new int[] {64, 100_000}) {
      try (ReaderFixture fixture = new ReaderFixture(table, batchRows)) {
        for (DataFile file : files.values()) {
          if (file.format() == FileFormat.PARQUET) {
            assertThat(fixture.lines(file)).as(file.location()).isEqualTo(fixture.expected(file));
          }
        }
      }
    }
  }
}
