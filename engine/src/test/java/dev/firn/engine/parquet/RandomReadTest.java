package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.RandomTable;
import dev.firn.testdata.TableRows;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.io.TempDir;

class RandomReadTest {
  @TempDir Path directory;

  @RepeatedTest(15)
  void s1FilesOfRandomSchemasAndEvolutionsReadAsTheOracleReadsThem() throws Exception {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    RandomTable random =
        RandomTable.seed(seed).formats(FileFormat.PARQUET).rowsMax(300).create(directory);
    Table table = random.table();
    Map<String, DataFile> files = new LinkedHashMap<>();
    for (Snapshot snapshot : table.snapshots()) {
      TableRows.dataFiles(table, snapshot).forEach(file -> files.put(file.location(), file.copy()));
    }
    int batchRows = 1 + new Random(seed).nextInt(100);
    try (ReaderFixture fixture = new ReaderFixture(table, batchRows)) {
      for (DataFile file : files.values()) {
        assertThat(fixture.lines(file))
            .as("rerun with -Dfirn.test.seed=" + seed + ", " + random.history())
            .isEqualTo(fixture.expected(file));
      }
    }
  }
}
