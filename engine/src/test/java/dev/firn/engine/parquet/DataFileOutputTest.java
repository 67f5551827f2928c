package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DataFileOutputTest {
  private static final OutputSizes ONE_FILE = new OutputSizes(1L << 40, 0, 1L << 41);

  @TempDir Path directory;
  private ParquetFixture fixture;
  private BufferAllocator allocator;

  @BeforeEach
  void open() {
    fixture = new ParquetFixture(directory);
    allocator = new RootAllocator();
  }

  @AfterEach
  void close() {
    allocator.close();
  }

  private static long seed() {
    return Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
  }

  private DataFileOutput output(
      Table table, Schema columns, OutputSizes sizes, long rows, int threads) {
    return DataFileOutput.create(
        table,
        columns,
        new DataFileOutput.Options(
            table.spec(), null, sizes, rows, UUID.randomUUID().toString(), 7),
        ForkJoinPool.commonPool(),
        threads);
  }

  private void append(DataFileOutput output, Schema columns, List<Record> rows) throws IOException {
    try (VectorSchemaRoot batch = Batches.of(columns, rows, allocator)) {
      long[] live = new long[(rows.size() + 63) / 64];
      for (int i = 0; i < rows.size(); i++) {
        live[i >>> 6] |= 1L << i;
      }
      output.append(batch, live, rows.size());
    }
  }

  private DataFile writeOne(Table table, Schema columns, List<Record> rows, int batchRows)
      throws IOException {
    try (DataFileOutput output = output(table, columns, ONE_FILE, rows.size(), 2)) {
      for (int from = 0; from < rows.size(); from += batchRows) {
        append(output, columns, rows.subList(from, Math.min(rows.size(), from + batchRows)));
      }
      List<DataFile> files = output.finish();
      assertThat(files).hasSize(1);
      return files.get(0);
    }
  }

  @Test
  void everyTypeReadsBackInIcebergAndDuckDb() throws IOException {
    long seed = seed();
    Schema schema = RandomRows.everyType();
    Table table = fixture.table(schema, PartitionSpec.unpartitioned(), Map.of());
    schema = table.schema();
    List<Record> rows = new RandomRows(seed).rows(schema, 3000);

    DataFile file = writeOne(table, schema, rows, 700);

    assertThat(ParquetFixture.texts(ParquetFixture.rows(file, schema), schema))
        .as("rerun with -Dfirn.test.seed=" + seed)
        .isEqualTo(ParquetFixture.texts(rows, schema));
    DataFile reference = fixture.reference(table, schema, rows);
    assertThat(ParquetFixture.differenceInDuckDb(ParquetFixture.path(file), reference.location()))
        .as("rerun with -Dfirn.test.seed=" + seed)
        .isZero();
  }

  @RepeatedTest(30)
  void m1RandomSchemasReadBackAndHaveIcebergsMetrics() throws IOException {
    long seed = seed();
    String rerun = "rerun with -Dfirn.test.seed=" + seed;
    RandomRows random = new RandomRows(seed);
    Schema schema = random.schema(1 + random.random().nextInt(6));
    String pageVersion = random.random().nextBoolean() ? "v1" : "v2";
    Table table =
        fixture.table(
            schema,
            PartitionSpec.unpartitioned(),
            Map.of(
                "write.parquet.page-version",
                pageVersion,
                "write.parquet.page-size-bytes",
                String.valueOf(200 + random.random().nextInt(5000)),
                "write.parquet.row-group-size-bytes",
                String.valueOf(10_000 + random.random().nextInt(50_000)),
                "write.parquet.row-group-check-min-record-count",
                "10"));
    schema = table.schema();
    List<Record> rows = random.rows(schema, random.random().nextInt(1500) + 1);

    DataFile file = writeOne(table, schema, rows, 1 + random.random().nextInt(600));

    assertThat(ParquetFixture.texts(ParquetFixture.rows(file, schema), schema))
        .as(rerun)
        .isEqualTo(ParquetFixture.texts(rows, schema));
    DataFile reference = fixture.reference(table, schema, rows);
    assertThat(ParquetFixture.differenceInDuckDb(ParquetFixture.path(file), reference.location()))
        .as(rerun)
        .isZero();
    assertSameMetrics(file, reference, rerun);
    assertFooterAgrees(file, reference, rerun);
  }

  private static void assertSameMetrics(DataFile file, DataFile reference, String rerun) {
    assertThat(file.recordCount()).as(rerun).isEqualTo(reference.recordCount());
    assertThat(file.valueCounts()).as("values " + rerun).isEqualTo(reference.valueCounts());
    assertThat(file.nullValueCounts()).as("nulls " + rerun).isEqualTo(reference.nullValueCounts());
    assertThat(file.nanValueCounts()).as("nans " + rerun).isEqualTo(reference.nanValueCounts());
    assertThat(file.lowerBounds()).as("lower " + rerun).isEqualTo(reference.lowerBounds());
    assertThat(file.upperBounds()).as("upper " + rerun).isEqualTo(reference.upperBounds());
    assertThat(file.columnSizes().keySet())
        .as("sizes " + rerun)
        .isEqualTo(reference.columnSizes().keySet());
  }

  private static void assertFooterAgrees(DataFile file, DataFile reference, String rerun)
      throws IOException {
    String path = ParquetFixture.path(file);
    ParquetMetadata footer = ParquetFixture.footer(path);
    ParquetMetadata expected = ParquetFixture.footer(reference.location());
    assertThat(footer.getFileMetaData().getSchema())
        .as(rerun)
        .isEqualTo(expected.getFileMetaData().getSchema());
    assertThat(footer.getFileMetaData().getKeyValueMetaData())
        .as(rerun)
        .isEqualTo(expected.getFileMetaData().getKeyValueMetaData());
    assertThat(footer.getFileMetaData().getCreatedBy())
        .isEqualTo(expected.getFileMetaData().getCreatedBy());
    assertThat(file.splitOffsets())
        .as("M7 " + rerun)
        .isEqualTo(footer.getBlocks().stream().map(b -> b.getStartingPos()).toList());
    assertThat(file.fileSizeInBytes()).as("M8").isEqualTo(Files.size(Path.of(path)));
    assertThat(footer.getBlocks().stream().mapToLong(b -> b.getRowCount()).sum())
        .isEqualTo(file.recordCount());
  }

  @Test
  void rowsThatAreNotLiveAreSkipped() throws IOException {
    long seed = seed();
    RandomRows random = new RandomRows(seed);
    Schema schema = random.schema(5);
    Table table = fixture.table(schema, PartitionSpec.unpartitioned(), Map.of());
    schema = table.schema();
    List<Record> rows = random.rows(schema, 1000);
    for (int keep : new int[] {2, 10, 90}) {
      List<Record> expected = new ArrayList<>();
      long[] live = new long[16];
      for (int i = 0; i < rows.size(); i++) {
        if (random.random().nextInt(100) < keep) {
          live[i >>> 6] |= 1L << i;
          expected.add(rows.get(i));
        }
      }
      try (DataFileOutput output = output(table, schema, ONE_FILE, -1, 1);
          VectorSchemaRoot batch = Batches.of(schema, rows, allocator)) {
        output.append(batch, live, expected.size());
        List<DataFile> files = output.finish();
        assertThat(ParquetFixture.texts(ParquetFixture.rows(files.get(0), schema), schema))
            .as("rerun with -Dfirn.test.seed=" + seed)
            .isEqualTo(ParquetFixture.texts(expected, schema));
        assertThat(output.rowsWritten()).isEqualTo(expected.size());
      }
    }
  }

  @Test
  void d31NoRowsMakeNoFile() throws IOException {
    Schema schema = RandomRows.everyType();
    Table table = fixture.table(schema, PartitionSpec.unpartitioned(), Map.of());
    try (DataFileOutput output = output(table, table.schema(), ONE_FILE, 0, 1)) {
      assertThat(output.finish()).isEmpty();
    }
    assertThat(Path.of(table.location(), "data")).doesNotExist();
  }

  @Test
  void discardLeavesNoFile() throws IOException {
    Schema schema = RandomRows.everyType();
    Table table =
        fixture.table(
            schema,
            PartitionSpec.unpartitioned(),
            Map.of("write.parquet.row-group-size-bytes", "20000"));
    List<Record> rows = new RandomRows(1).rows(table.schema(), 2000);
    DataFileOutput output =
        output(table, table.schema(), new OutputSizes(50_000, 0, 100_000), -1, 2);
    append(output, table.schema(), rows);
    assertThat(output.bytesWritten()).isPositive();
    output.close();
    output.close();
    try (var files = Files.walk(Path.of(table.location(), "data"))) {
      assertThat(files.filter(Files::isRegularFile).filter(f -> f.toString().endsWith(".parquet")))
          .isEmpty();
    }
    assertThatThrownBy(output::finish).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void parallelEncodingGivesTheSameFile() throws IOException {
    long seed = seed();
    RandomRows random = new RandomRows(seed);
    Schema schema = random.schema(8);
    Table table = fixture.table(schema, PartitionSpec.unpartitioned(), Map.of());
    List<Record> rows = random.rows(table.schema(), 3000);
    List<byte[]> contents = new ArrayList<>();
    for (int threads : new int[] {1, 4}) {
      try (DataFileOutput output = output(table, table.schema(), ONE_FILE, -1, threads)) {
        append(output, table.schema(), rows);
        contents.add(Files.readAllBytes(Path.of(ParquetFixture.path(output.finish().get(0)))));
      }
    }
    assertThat(contents.get(1))
        .as("rerun with -Dfirn.test.seed=" + seed)
        .isEqualTo(contents.get(0));
  }
}
