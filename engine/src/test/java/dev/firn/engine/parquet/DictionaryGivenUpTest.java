package dev.firn.engine.parquet;

import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.Rows;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.function.IntFunction;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;
import org.apache.parquet.column.EncodingStats;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When a dictionary is given up sooner than parquet-java would, and when it is not. */
class DictionaryGivenUpTest {
  private static final Schema SCHEMA = new Schema(required(1, "text", Types.StringType.get()));
  private static final int PAGE_ROWS = 3000;
  private static final int ROWS = 12 * PAGE_ROWS;

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

  private Table table(String codec) {
    return fixture.table(
        SCHEMA,
        Map.of(
            "write.parquet.page-row-limit",
            "" + PAGE_ROWS,
            "write.parquet.dict-size-bytes",
            "200000",
            "write.parquet.compression-codec",
            codec));
  }

  private static List<Record> rows(IntFunction<String> text) {
    Rows rows = Rows.of(SCHEMA);
    for (int row = 0; row < ROWS; row++) {
      rows.add(text.apply(row));
    }
    return rows.list();
  }

  /** Writes each list as a row group. */
  private DataFile write(Table table, List<List<Record>> rowGroups) throws IOException {
    DataFileOutput.Options options =
        new DataFileOutput.Options(
            table.spec(),
            null,
            new OutputSizes(1L << 40, 0, 1L << 41),
            -1,
            UUID.randomUUID().toString(),
            0);
    try (DataFileOutput output =
        DataFileOutput.create(table, table.schema(), options, Runnable::run, 1)) {
      for (List<Record> rows : rowGroups) {
        long[] live = new long[(rows.size() + 63) / 64];
        for (int row = 0; row < rows.size(); row++) {
          live[row >>> 6] |= 1L << row;
        }
        try (VectorSchemaRoot batch = Batches.of(SCHEMA, rows, allocator)) {
          output.append(batch, live, rows.size());
        }
        output.endRowGroup();
      }
      DataFile file = output.finish().get(0);
      List<Record> all = new ArrayList<>();
      rowGroups.forEach(all::addAll);
      assertThat(ParquetFixture.texts(ParquetFixture.rows(file, SCHEMA), SCHEMA))
          .isEqualTo(ParquetFixture.texts(all, SCHEMA));
      return file;
    }
  }

  private static List<EncodingStats> stats(DataFile file) {
    return ParquetFixture.footer(ParquetFixture.path(file)).getBlocks().stream()
        .map(block -> block.getColumns().get(0).getEncodingStats())
        .toList();
  }

  private static int dictionaryPages(EncodingStats stats) {
    return stats.getDataEncodings().stream()
        .filter(org.apache.parquet.column.Encoding::usesDictionary)
        .mapToInt(stats::getNumDataPagesEncodedAs)
        .sum();
  }

  private static long bytes(String path) {
    return ParquetFixture.footer(path).getBlocks().stream()
        .mapToLong(BlockMetaData::getCompressedSize)
        .sum();
  }

  @Test
  void ascendingKeysThatRepeatAreSmallerWithoutOne() throws IOException {
    Table table = table("zstd");
    List<Record> rows = rows(row -> "customer-" + (100_000_000 + row / 3));
    DataFile file = write(table, List.of(rows));
    assertThat(dictionaryPages(stats(file).get(0))).isEqualTo(1);
    assertThat(bytes(ParquetFixture.path(file)))
        .isLessThan(bytes(fixture.reference(table, SCHEMA, rows).location()) * 2 / 3);
  }

  @Test
  void uncompressedTheyAreNot() throws IOException {
    Table table = table("uncompressed");
    List<Record> rows = rows(row -> "customer-" + (100_000_000 + row / 3));
    DataFile file = write(table, List.of(rows));
    assertThat(dictionaryPages(stats(file).get(0))).isGreaterThan(5);
    assertThat(bytes(ParquetFixture.path(file)))
        .isLessThanOrEqualTo(
            (long) (bytes(fixture.reference(table, SCHEMA, rows).location()) * 1.01));
  }

  /* Most values of the second page are new, but the dictionary will hold them all. */
  @Test
  void oneThatWillCeaseToGrowIsKept() throws IOException {
    Table table = table("zstd");
    Random random = new Random(3);
    List<Record> rows = rows(row -> "customer-" + (100_000_000 + random.nextInt(6000)));
    DataFile file = write(table, List.of(rows));
    assertThat(dictionaryPages(stats(file).get(0))).isEqualTo(ROWS / PAGE_ROWS);
    assertThat(bytes(ParquetFixture.path(file)))
        .isLessThanOrEqualTo(
            (long) (bytes(fixture.reference(table, SCHEMA, rows).location()) * 1.01));
  }

  @Test
  void aColumnThatGaveUpGetsOneWhenItsValuesRepeat() throws IOException {
    Table table = table("zstd");
    Random random = new Random(4);
    List<Record> different = rows(row -> Long.toHexString(random.nextLong()));
    List<Record> few = rows(row -> "value " + random.nextInt(50));
    List<EncodingStats> stats =
        stats(write(table, List.of(different, different, few, different, few)));
    assertThat(stats.stream().map(DictionaryGivenUpTest::dictionaryPages))
        .containsExactly(0, 0, ROWS / PAGE_ROWS, 0, ROWS / PAGE_ROWS);
  }

  @Test
  void whatWasLearnedHoldsUntilTheColumnBeginsOtherwise() {
    EncodingHistory history = new EncodingHistory();
    assertThat(history.isTrialDue()).isTrue();
    assertThat(history.gaveUpWith(EncodingHistory.SAMPLE_VALUES)).isFalse();
    history.dictionary(false, 2000);
    assertThat(history.isTrialDue()).isFalse();
    assertThat(history.gaveUpWith(2048)).isTrue();
    assertThat(history.gaveUpWith(1990)).isTrue();
    assertThat(history.gaveUpWith(1800)).isFalse();
    for (int page = 0; page < 64; page++) {
      history.pageEnded();
    }
    assertThat(history.isTrialDue()).isTrue();
    history.dictionary(true, 1800);
    assertThat(history.gaveUpWith(2048)).isFalse();
  }
}
