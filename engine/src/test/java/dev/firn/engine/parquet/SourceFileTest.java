package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.CountingFileIO;
import dev.firn.testdata.LocalFileIO;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.Tables;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SourceFileTest {
  @TempDir Path directory;
  private Table table;

  @BeforeEach
  void makeTable() {
    table =
        TableBuilder.at(directory.resolve("table"))
            .schema(
                Types.NestedField.required(1, "id", Types.LongType.get()),
                Types.NestedField.optional(2, "text", Types.StringType.get()),
                Types.NestedField.optional(
                    3, "list", Types.ListType.ofOptional(4, Types.IntegerType.get())),
                Types.NestedField.optional(5, "d", Types.DoubleType.get()))
            .create();
  }

  /** A file of row groups of 1000 rows, of about 40 kB each. */
  private DataFile file(int rows) {
    Random random = new Random(7);
    Rows content = Rows.of(table.schema());
    for (long id = 0; id < rows; id++) {
      byte[] text = new byte[20];
      random.nextBytes(text);
      List<Object> list = new ArrayList<>();
      for (int i = random.nextInt(4); i > 0; i--) {
        list.add(i == 3 ? null : random.nextInt());
      }
      content.add(
          id,
          new String(text, StandardCharsets.ISO_8859_1),
          id % 5 == 0 ? null : list,
          random.nextDouble());
    }
    List<Record> records = content.list();
    return TableFiles.of(table).rowGroupRows(1000).codec("uncompressed").append(records);
  }

  private DataFile file(DataFile file, long size, long rows) {
    return DataFiles.builder(table.spec())
        .withPath(file.location())
        .withFormat(file.format())
        .withFileSizeInBytes(size)
        .withRecordCount(rows)
        .build();
  }

  private Schema columns(int... ids) {
    return new Schema(Arrays.stream(ids).mapToObj(id -> table.schema().findField(id)).toList());
  }

  @Test
  void rowGroupsAreThoseOfTheFile() throws Exception {
    DataFile file = file(2500);
    try (ReaderFixture fixture = new ReaderFixture(table);
        SourceFile source = fixture.reader.open(ReaderFixture.task(table, file), table.schema())) {
      assertThat(source.rows()).isEqualTo(2500);
      assertThat(source.rowGroups()).extracting("ordinal").containsExactly(0, 1, 2);
      assertThat(source.rowGroups()).extracting("firstPosition").containsExactly(0L, 1000L, 2000L);
      assertThat(source.rowGroups()).extracting("rows").containsExactly(1000L, 1000L, 500L);
      assertThat(source.rowGroups().get(0).compressedBytes()).isBetween(30_000L, 80_000L);
      assertThat(source.rowGroups().get(0).uncompressedBytes()).isBetween(30_000L, 80_000L);
    }
  }

  @Test
  void onlyTheWantedChunksAreFetched() throws Exception {
    DataFile file = file(5000);
    Table counted = Tables.withIo(table, CountingFileIO::new);
    CountingFileIO io = (CountingFileIO) counted.io();
    try (ReaderFixture fixture = new ReaderFixture(counted, 4096)) {
      io.reset();
      try (SourceFile source = fixture.reader.open(ReaderFixture.task(table, file), columns(5))) {
        assertThat(io.bytesRead(file.location())).isEqualTo(ParquetFooter.TAIL_BYTES);
        assertThat(source.rowGroups().get(0).compressedBytes()).isBetween(8000L, 9000L);
        for (SourceFile.RowGroup group : source.rowGroups()) {
          io.reset();
          fixture.reader.open(ReaderFixture.task(table, file), columns(5)).fetch(group).close();
          assertThat(io.bytesRead(file.location()) - ParquetFooter.TAIL_BYTES)
              .isEqualTo(group.compressedBytes());
        }
      }
      assertThat(fixture.lines(file, columns(5))).hasSize(5000);
      assertThat(io.openStreams()).isEmpty();
    }
  }

  @Test
  void smallFilesAreReadWithOneRequest() throws Exception {
    DataFile file = file(900);
    assertThat(file.fileSizeInBytes()).isLessThan(ParquetFooter.TAIL_BYTES);
    try (ReaderFixture fixture = new ReaderFixture(table, 4096)) {
      assertThat(fixture.lines(file)).hasSize(900).isEqualTo(fixture.expected(file));
      assertThat(fixture.ranges.bytesRead()).isEqualTo(file.fileSizeInBytes());
    }
  }

  @Test
  void footersLongerThanTheTailAreReadWhole() throws Exception {
    StringBuilder fields = new StringBuilder();
    List<Types.NestedField> columns = new ArrayList<>();
    for (int id = 1; id <= 2000; id++) {
      fields.append("optional int32 a_rather_long_name_of_a_column_").append(id);
      fields.append(" = ").append(id).append("; ");
      columns.add(Types.NestedField.optional(id, "c" + id, Types.IntegerType.get()));
    }
    DataFile file =
        new HandMadeParquet(directory.resolve("wide.parquet"), fields.toString())
            .row(row -> row.add("a_rather_long_name_of_a_column_2000", 7))
            .write();
    Schema schema = new Schema(columns.get(0), columns.get(1999));
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      assertThat(fixture.lines(file, schema)).containsExactly("{\"c1\":null,\"c2000\":7}");
    }
  }

  @Test
  void viewsCanBeFetchedAheadAndDroppedUnread() throws Exception {
    DataFile file = file(3000);
    try (ReaderFixture fixture = new ReaderFixture(table, 4096);
        SourceFile source = fixture.reader.open(ReaderFixture.task(table, file), table.schema())) {
      RowGroupView second = source.fetch(source.rowGroups().get(1));
      RowGroupView third = source.fetch(source.rowGroups().get(2));
      assertThat(fixture.views()).hasSize(2);
      third.close();
      third.close();
      assertThat(fixture.views()).hasSize(1);
      try (RowBatches batches = second.read(fixture.allocator)) {
        assertThat(batches.next()).isTrue();
        assertThat(batches.firstPosition()).isEqualTo(1000);
        second.close();
        assertThatThrownBy(() -> second.read(fixture.allocator))
            .isInstanceOf(IllegalStateException.class);
        batches.close();
      }
      assertThat(fixture.views()).isEmpty();
      assertThat(fixture.allocator.getAllocatedMemory()).isZero();
    }
  }

  @Test
  void memoryDependsOnTheRowGroupAndNotOnTheFile() throws Exception {
    List<Long> peaks = new ArrayList<>();
    List<Long> nativePeaks = new ArrayList<>();
    for (int rows : new int[] {2000, 40_000}) {
      DataFile file = file(rows);
      try (ReaderFixture fixture = new ReaderFixture(table, 256)) {
        long counted = 0;
        try (BufferAllocator child = fixture.allocator.newChildAllocator("c", 0, 1 << 20);
            SourceFile source =
                fixture.reader.open(ReaderFixture.task(table, file), table.schema())) {
          for (SourceFile.RowGroup group : source.rowGroups()) {
            try (RowBatches batches = source.read(group, child)) {
              while (batches.next()) {
                counted += batches.batch().getRowCount();
              }
            }
            assertThat(child.getAllocatedMemory()).isZero();
          }
          peaks.add(child.getPeakMemoryAllocation());
        }
        assertThat(counted).isEqualTo(rows);
        nativePeaks.add(fixture.reader.decodedBytesPeak());
        for (int i = 0; i < 100 && fixture.reader.decodedBytes() > 0; i++) {
          Thread.sleep(20);
        }
        assertThat(fixture.reader.decodedBytes()).isZero();
      }
    }
    assertThat(peaks.get(0)).isPositive();
    assertThat(peaks.get(1)).isLessThan(2 * peaks.get(0));
    assertThat(nativePeaks.get(0)).isPositive();
    // Threads of the decoder free late, so that a row group or two may overlap.
    assertThat(nativePeaks.get(1)).isLessThan(4 * nativePeaks.get(0));
  }

  @Test
  void c26AFileWithOtherThanTheRecordedRowsIsCorrupt() throws Exception {
    DataFile file = file(100);
    assertOpenFails(
        file(file, file.fileSizeInBytes(), 99), CorruptFileException.class, "100 rows", "99");
  }

  private void assertOpenFails(
      DataFile file, Class<? extends RuntimeException> type, String... words) throws Exception {
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      assertThatThrownBy(() -> fixture.reader.open(ReaderFixture.task(table, file), table.schema()))
          .isInstanceOf(type)
          .hasMessageContaining(file.location())
          .hasMessageContainingAll(words);
    }
  }

  @Test
  void filesThatAreNoParquetFilesAreCorrupt() throws Exception {
    DataFile file = file(3000);
    long size = file.fileSizeInBytes();
    assertOpenFails(file(file, size - 1, 3000), CorruptFileException.class, "ends as it does");
    assertOpenFails(file(file, 3, 3000), CorruptFileException.class, "3 bytes");
    Path path = LocalFileIO.path(file.location());
    byte[] sound = Files.readAllBytes(path);

    byte[] encrypted = sound.clone();
    encrypted[encrypted.length - 1] = 'E';
    Files.write(path, encrypted);
    assertOpenFails(file(file, size, 3000), UnsupportedFileException.class, "encrypted");

    byte[] longFooter = sound.clone();
    longFooter[longFooter.length - 5] = 0x7F;
    Files.write(path, longFooter);
    assertOpenFails(file(file, size, 3000), CorruptFileException.class, "footer claims");

    byte[] noFooter = sound.clone();
    Arrays.fill(noFooter, noFooter.length - 200, noFooter.length - 8, (byte) 0xFF);
    Files.write(path, noFooter);
    assertOpenFails(file(file, size, 3000), CorruptFileException.class, "footer");
  }

  @Test
  void damagedPagesFailOrReadAndNothingLeaks() throws Exception {
    DataFile file = file(1000);
    Path path = LocalFileIO.path(file.location());
    byte[] sound = Files.readAllBytes(path);
    long seed = Long.getLong("firn.test.seed", 20261130L);
    Random random = new Random(seed);
    int failed = 0;
    for (int i = 0; i < 40; i++) {
      byte[] damaged = sound.clone();
      int at = random.nextInt(damaged.length);
      // Page headers and levels are where a flipped byte does harm.
      for (int b = at; b < Math.min(damaged.length, at + 40); b++) {
        damaged[b] = (byte) random.nextInt();
      }
      Files.write(path, damaged);
      try (ReaderFixture fixture = new ReaderFixture(table, 100)) {
        fixture.lines(file, table.schema());
      } catch (CorruptFileException | UnsupportedFileException refused) {
        failed++;
        assertThat(refused)
            .as("rerun with -Dfirn.test.seed=" + seed)
            .hasMessageContaining(file.location());
      }
    }
    assertThat(failed).as("rerun with -Dfirn.test.seed=" + seed).isPositive();
  }

  @Test
  void aFlippedBitInAPageNeverPassesAsAValue() throws Exception {
    DataFile file = file(1000);
    Path path = LocalFileIO.path(file.location());
    byte[] sound = Files.readAllBytes(path);
    List<String> lines;
    try (ReaderFixture fixture = new ReaderFixture(table, 100)) {
      lines = fixture.lines(file, table.schema());
    }
    long seed = Long.getLong("firn.test.seed", 20261130L);
    Random random = new Random(seed);
    int refused = 0;
    for (int i = 0; i < 60; i++) {
      byte[] damaged = sound.clone();
      damaged[4 + random.nextInt(damaged.length - 2000)] ^= (byte) (1 << random.nextInt(8));
      Files.write(path, damaged);
      try (ReaderFixture fixture = new ReaderFixture(table, 100)) {
        // What a header says of minima, say, is not covered and not needed.
        assertThat(fixture.lines(file, table.schema()))
            .as("rerun with -Dfirn.test.seed=" + seed)
            .isEqualTo(lines);
      } catch (CorruptFileException | UnsupportedFileException e) {
        refused++;
        assertThat(e).hasMessageContaining(file.location());
      }
    }
    assertThat(refused).as("rerun with -Dfirn.test.seed=" + seed).isGreaterThan(40);
  }

  @Test
  void aChangedPageIsNamedWithItsColumn() throws Exception {
    DataFile file = file(1000);
    Path path = LocalFileIO.path(file.location());
    byte[] damaged = Files.readAllBytes(path);
    damaged[damaged.length / 2] ^= 1;
    Files.write(path, damaged);
    try (ReaderFixture fixture = new ReaderFixture(table, 100)) {
      assertThatThrownBy(() -> fixture.lines(file, table.schema()))
          .isInstanceOf(CorruptFileException.class)
          .hasMessageContainingAll(file.location(), "does not have the checksum in its header");
      assertThat(fixture.views()).isEmpty();
    }
  }

  @Test
  void afterAFailureInTheMiddleNothingIsLeft() throws Exception {
    DataFile file = file(2000);
    int failed = 0;
    try (ReaderFixture fixture = new ReaderFixture(table, 100);
        SourceFile source = fixture.reader.open(ReaderFixture.task(table, file), table.schema())) {
      for (long limit = 100; limit < 200_000; limit += limit / 20) {
        try (BufferAllocator small = fixture.allocator.newChildAllocator("small", 0, limit)) {
          try (RowBatches batches = source.read(source.rowGroups().get(0), small)) {
            while (batches.next()) {
              assertThat(batches.batch().getRowCount()).isEqualTo(100);
            }
          } catch (org.apache.arrow.memory.OutOfMemoryException expected) {
            failed++;
          }
          assertThat(fixture.views()).isEmpty();
          assertThat(small.getAllocatedMemory()).isZero();
        }
      }
    }
    assertThat(failed).isPositive();
    Files.write(LocalFileIO.path(file.location()), new byte[5]);
    DataFile second = file(2000);
    try (ReaderFixture fixture = new ReaderFixture(table, 100);
        SourceFile source =
            fixture.reader.open(ReaderFixture.task(table, second), table.schema())) {
      Files.delete(LocalFileIO.path(second.location()));
      assertThatThrownBy(() -> source.fetch(source.rowGroups().get(0)))
          .hasMessageContaining(second.location());
      assertThat(fixture.views()).isEmpty();
    }
  }

  @Test
  void aBatchConsumerThatThrowsLeavesNothing() throws Exception {
    DataFile file = file(2000);
    try (ReaderFixture fixture = new ReaderFixture(table, 100)) {
      assertThatThrownBy(
              () ->
                  fixture.reader.readKeys(
                      ReaderFixture.task(table, file),
                      columns(1),
                      (batch, first) -> {
                        if (first > 0) {
                          throw new IllegalStateException("enough");
                        }
                      }))
          .hasMessage("enough");
      assertThat(fixture.views()).isEmpty();
      assertThat(fixture.allocator.getAllocatedMemory()).isZero();
    }
  }

  @Test
  void emptyFilesHaveNoRowGroups() throws Exception {
    DataFile file =
        new HandMadeParquet(directory.resolve("empty.parquet"), "required int64 id = 1;").write();
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      assertThat(fixture.lines(file, columns(1))).isEmpty();
    }
  }

  @Test
  void s12s13s14TypesThatAreNotSupportedAreRefusedByName() {
    SupportedTypes.check(table.schema());
    Schema variant =
        new Schema(
            Types.NestedField.optional(
                1,
                "s",
                Types.StructType.of(Types.NestedField.optional(2, "v", Types.VariantType.get()))));
    assertThatThrownBy(() -> SupportedTypes.check(variant))
        .isInstanceOf(UnsupportedTableException.class)
        .hasMessageContaining("column s.v is of type variant");
    assertThatThrownBy(
            () ->
                SupportedTypes.check(
                    new Schema(Types.NestedField.optional(1, "u", Types.UnknownType.get()))))
        .as("nothing to write")
        .hasMessageContaining("column u is of type unknown");
    assertThatThrownBy(
            () ->
                SupportedTypes.check(
                    new Schema(
                        Types.NestedField.optional(
                            1, "l", Types.ListType.ofOptional(2, Types.GeometryType.crs84())))))
        .hasMessageContaining("l.element");
  }

  /* A page whose numbers stand for far more bytes than it has, behind one that is as others are. */
  @Test
  void aChunkWithAPageThatFirnDoesNotDecodeIsReadToItsEnd() throws Exception {
    Rows content = Rows.of(table.schema());
    String large = "L".repeat(150_000);
    for (long id = 0; id < 2500; id++) {
      content.add(id, id < 1000 || id >= 2000 ? "v" + id % 10 : large, null, 0.5 * id);
    }
    DataFile file =
        TableFiles.of(table)
            .property("write.parquet.page-row-limit", "1000")
            .property("write.parquet.page-size-bytes", "1000000000")
            .append(content.list());
    try (ReaderFixture fixture = new ReaderFixture(table, 700);
        SourceFile source = fixture.reader.open(ReaderFixture.task(table, file), columns(2, 1, 5));
        RowBatches batches = source.read(source.rowGroups().get(0), fixture.allocator)) {
      long id = 0;
      while (batches.next()) {
        VarBinaryVector texts = (VarBinaryVector) batches.batch().getVector(0);
        BigIntVector ids = (BigIntVector) batches.batch().getVector(1);
        Float8Vector halves = (Float8Vector) batches.batch().getVector(2);
        assertThat(batches.firstPosition()).isEqualTo(id);
        for (int row = 0; row < batches.batch().getRowCount(); row++, id++) {
          boolean isLarge = id >= 1000 && id < 2000;
          assertThat(texts.getValueLength(row)).isEqualTo(isLarge ? 150_000 : 2);
          assertThat(texts.get(row)[1])
              .isEqualTo(isLarge ? (byte) 'L' : (byte) ('0' + (int) (id % 10)));
          assertThat(ids.get(row)).isEqualTo(id);
          assertThat(halves.get(row)).isEqualTo(0.5 * id);
        }
      }
      assertThat(id).isEqualTo(2500);
    }
  }

  @Test
  void nothingIsLeftWhenThereIsNoRoomForABatch() throws Exception {
    DataFile file = file(1000);
    try (ReaderFixture fixture = new ReaderFixture(table, 100);
        SourceFile source =
            fixture.reader.open(ReaderFixture.task(table, file), columns(1, 2, 5))) {
      boolean fits = false;
      for (long room = 1; !fits; room *= 2) {
        try (BufferAllocator small = fixture.allocator.newChildAllocator("small", 0, room);
            RowBatches batches = source.read(source.rowGroups().get(0), small)) {
          int rows = 0;
          while (batches.next()) {
            rows += batches.batch().getRowCount();
          }
          assertThat(rows).isEqualTo(1000);
          fits = true;
        } catch (OutOfMemoryException tooSmall) {
          assertThat(room).isLessThan(1 << 20);
        }
      }
    }
  }
}
