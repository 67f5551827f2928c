package dev.firn.engine.parquet;

import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.FaultyFileIO;
import dev.firn.testdata.LocalFileIO;
import dev.firn.testdata.Rows;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.RejectedExecutionException;
import java.util.stream.Stream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Row groups and files are written while rows are appended: here, when the test says so. */
class WriteBehindTest {
  private static final Schema SCHEMA = new Schema(required(1, "id", Types.LongType.get()));
  private static final int ROWS = 4000;

  @TempDir Path directory;
  private ParquetFixture fixture;
  private BufferAllocator allocator;
  private final Queue<Runnable> later = new ArrayDeque<>();

  @BeforeEach
  void open() {
    fixture = new ParquetFixture(directory);
    allocator = new RootAllocator();
  }

  @AfterEach
  void close() {
    allocator.close();
  }

  private Table table(String rowGroupBytes) {
    return fixture.table(
        SCHEMA,
        Map.of(
            "write.parquet.row-group-size-bytes",
            rowGroupBytes,
            "write.parquet.compression-codec",
            "uncompressed"));
  }

  private DataFileOutput output(Table table, OutputSizes sizes) {
    return DataFileOutput.create(
        table,
        SCHEMA,
        new DataFileOutput.Options(table.spec(), null, sizes, -1, UUID.randomUUID().toString(), 0),
        later::add,
        1);
  }

  private static OutputSizes oneFile() {
    return new OutputSizes(1L << 40, 0, 1L << 41);
  }

  private static List<Record> rows(int seed) {
    Random random = new Random(seed);
    Rows rows = Rows.of(SCHEMA);
    for (int i = 0; i < ROWS; i++) {
      rows.add(random.nextLong());
    }
    return rows.list();
  }

  private static long[] live(int rows) {
    long[] live = new long[(rows + 63) / 64];
    for (int row = 0; row < rows; row++) {
      live[row >>> 6] |= 1L << row;
    }
    return live;
  }

  private void append(DataFileOutput output, List<Record> rows) throws IOException {
    try (VectorSchemaRoot batch = Batches.of(SCHEMA, rows, allocator)) {
      output.append(batch, live(rows.size()), rows.size());
    }
  }

  private void splice(DataFileOutput output, Table table, List<Record> rows) throws IOException {
    DataFile file = fixture.reference(table, SCHEMA, rows);
    try (ReaderFixture fixture = new ReaderFixture(table);
        SourceFile source =
            fixture.reader.openToSplice(
                ReaderFixture.task(table, file), SCHEMA, allocator, Long.MAX_VALUE);
        SplicedView view = (SplicedView) source.fetch(source.rowGroups().get(0))) {
      output.splice(view, live(rows.size()), rows.size(), allocator);
    }
  }

  private static List<Path> dataFiles(Table table) throws IOException {
    Path data = LocalFileIO.path(table.location()).resolve("data");
    if (!Files.exists(data)) {
      return List.of();
    }
    try (Stream<Path> files = Files.walk(data)) {
      return files.filter(Files::isRegularFile).toList();
    }
  }

  @Test
  void rowsAreAppendedBeforeTheLastRowGroupIsWritten() throws IOException {
    Table table = table("134217728");
    try (DataFileOutput output = output(table, oneFile())) {
      append(output, rows(1));
      output.endRowGroupBehind();
      assertThat(output.writesBehind()).isTrue();
      assertThat(later).hasSize(1);
      assertThat(output.memoryBytes()).isGreaterThan(ROWS * 8L);
      assertThat(output.memoryBytesOfRowGroup()).isZero();
      assertThat(output.bytesWritten()).isGreaterThan(ROWS * 8L);

      append(output, rows(2));
      assertThat(dataFiles(table)).isEmpty();
      assertThat(output.memoryBytes()).isGreaterThan(ROWS * 16L);

      later.remove().run();
      assertThat(dataFiles(table)).hasSize(1);
      assertThat(output.memoryBytes()).as("without what is written").isLessThan(ROWS * 16L);
      output.awaitWrites();
      assertThat(output.writesBehind()).isFalse();

      DataFile file = output.finish().get(0);
      assertThat(file.recordCount()).isEqualTo(2L * ROWS);
      List<Record> all = new ArrayList<>(rows(1));
      all.addAll(rows(2));
      assertThat(ParquetFixture.texts(ParquetFixture.rows(file, SCHEMA), SCHEMA))
          .isEqualTo(ParquetFixture.texts(all, SCHEMA));
    }
  }

  @Test
  void pagesTakeMoreMemoryThanTheirBytesUntilTheyAreWrittenOrDiscarded() throws IOException {
    Table table = table("134217728");
    table.updateProperties().set("write.parquet.page-row-limit", "10").commit();
    long ofPages = ROWS / 10 * 1000L; // their bytes are a tenth of it
    try (DataFileOutput output = output(table, oneFile())) {
      append(output, rows(1));
      long before = output.memoryBytes();
      append(output, rows(2));
      assertThat(output.memoryBytes() - before).isGreaterThan(ofPages);
      assertThat(output.bytesWritten()).isLessThan(ofPages);

      output.endRowGroupBehind();
      append(output, rows(3));
      long open = output.memoryBytesOfRowGroup();
      assertThat(open).isGreaterThan(ofPages);
      assertThat(output.memoryBytes() - open).isGreaterThan(2 * ofPages);
      later.remove().run();
      assertThat(output.memoryBytes()).as("without what is written").isEqualTo(open);
      output.discard(null);
      assertThat(output.memoryBytes()).isZero();
    }
  }

  @Test
  void chunksOfOtherFilesAreCountedUntilTheirPagesAreWrittenOrDiscarded() throws IOException {
    Table table = table("134217728");
    table.updateProperties().set("write.parquet.dict-size-bytes", "1").commit();
    try (DataFileOutput output = output(table, oneFile())) {
      splice(output, table, rows(1));
      assertThat(output.heldBytes()).isBetween(ROWS * 8L, ROWS * 16L - 1);
      splice(output, table, rows(2));
      long twice = output.heldBytes();
      assertThat(twice).isGreaterThan(ROWS * 16L);
      assertThat(allocator.getAllocatedMemory()).isEqualTo(twice);

      output.endRowGroupBehind();
      assertThat(output.heldBytesOfRowGroup()).isZero();
      splice(output, table, rows(3));
      long open = output.heldBytesOfRowGroup();
      assertThat(open).isGreaterThan(ROWS * 8L);
      assertThat(output.heldBytes()).isEqualTo(twice + open);
      later.remove().run();
      assertThat(output.heldBytes()).as("without what is written").isEqualTo(open);
      assertThat(allocator.getAllocatedMemory()).isEqualTo(open);
      output.discard(null);
      assertThat(output.heldBytes()).isZero();
      assertThat(allocator.getAllocatedMemory()).isZero();
    }
  }

  @Test
  void whatNoThreadHasBegunIsWrittenByTheOneThatWaits() throws IOException {
    Table table = table("20000");
    try (DataFileOutput output = output(table, new OutputSizes(60_000, 0, 120_000))) {
      for (int batch = 0; batch < 8; batch++) {
        append(output, rows(batch));
      }
      List<DataFile> files = output.finish();
      assertThat(files).hasSizeGreaterThan(2);
      assertThat(files.stream().mapToLong(DataFile::recordCount).sum()).isEqualTo(8L * ROWS);
      for (DataFile file : files) {
        assertThat(file.fileSizeInBytes()).isEqualTo(Files.size(LocalFileIO.path(file.location())));
      }
      later.forEach(Runnable::run); // they come late and do nothing
      assertThat(dataFiles(table)).hasSameSizeAs(files);
    }
  }

  @Test
  void aWriteThatFailsBehindFailsTheOutputAndLeavesNothing() throws IOException {
    Table table = table("134217728");
    FaultyFileIO faulty = new FaultyFileIO(table.io()).fail(FaultyFileIO.Call.WRITE, 3);
    try (DataFileOutput output = output(Tables.withIo(table, io -> faulty), oneFile())) {
      append(output, rows(1));
      output.endRowGroupBehind();
      later.remove().run();
      append(output, rows(2));
      assertThatThrownBy(output::awaitWrites).hasStackTraceContaining("Made to fail: WRITE");
      assertThatThrownBy(output::finish).isInstanceOf(IllegalStateException.class);
    }
    assertThat(faulty.openStreams()).isEmpty();
    assertThat(dataFiles(table)).isEmpty();
  }

  @Test
  void closingWaitsForWhatIsWrittenAndDeletesIt() throws IOException {
    Table table = table("20000");
    try (DataFileOutput output = output(table, new OutputSizes(60_000, 0, 120_000))) {
      for (int batch = 0; batch < 4; batch++) {
        append(output, rows(batch));
      }
      assertThat(output.writesBehind()).isTrue();
    }
    later.forEach(Runnable::run);
    assertThat(dataFiles(table)).isEmpty();
  }

  @Test
  void aPoolThatTakesNoMoreIsNotNeeded() throws IOException {
    WriteBehind writes =
        new WriteBehind(
            task -> {
              throw new RejectedExecutionException();
            });
    int[] runs = new int[1];
    writes.start(() -> runs[0]++);
    assertThat(runs[0]).isOne();
    writes.await();
    assertThat(writes.isPending()).isFalse();
    writes.start(
        () -> {
          throw new IOException("disk full");
        });
    assertThatThrownBy(writes::await).isInstanceOf(IOException.class).hasMessage("disk full");
    writes.await();
  }
}
