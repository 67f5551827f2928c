package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.LocalFileIO;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.FileMetaData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that one reader opens to be spliced, of which one may serve the next. */
class SpliceSourceTest {
  @TempDir Path directory;

  private Table table(int formatVersion) {
    return TableBuilder.at(directory.resolve("table"))
        .formatVersion(formatVersion)
        .schema(
            Types.NestedField.optional(1, "id", Types.LongType.get()),
            Types.NestedField.optional(2, "p", Types.IntegerType.get()),
            Types.NestedField.optional(3, "n", Types.IntegerType.get()),
            Types.NestedField.optional(4, "d", Types.DoubleType.get()))
        .partitionBy(spec -> spec.identity("p"))
        .create();
  }

  private static List<DataFile> files(Table table, int... partitions) {
    Rows rows = Rows.of(table.schema());
    boolean isWide = table.schema().findType("n").typeId() == Types.LongType.get().typeId();
    for (int p : partitions) {
      for (int i = 0; i < 7; i++) {
        Object n = isWide ? (Object) (1L << 40 | i) : (Object) i;
        rows.add((long) i, p, i % 3 == 0 ? null : n, i + p == 4 ? Double.NaN : i);
      }
    }
    List<DataFile> files = TableFiles.of(table).dataByPartition(rows.list());
    TableFiles.of(table).append(files.toArray(new DataFile[0]));
    return files;
  }

  /** The rows of a file, none of whose columns is spliced. */
  private static List<String> lines(ReaderFixture fixture, DataFile file, Schema columns)
      throws IOException {
    List<String> lines = new ArrayList<>();
    try (SourceFile source =
        fixture.reader.openToSplice(
            ReaderFixture.task(fixture.table, file), columns, fixture.allocator, 0)) {
      for (SourceFile.RowGroup group : source.rowGroups()) {
        try (RowGroupView view = source.fetch(group);
            RowBatches batches = view.read(fixture.allocator)) {
          while (batches.next()) {
            lines.addAll(PhysicalRows.lines(batches.batch(), columns));
          }
        }
      }
    }
    return lines;
  }

  /** Each with its own constants, lineage and types, whatever came before it (S2, S6, L2). */
  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void filesOfSeveralPartitionsAndSchemasAreReadInTurn(int formatVersion) throws IOException {
    Table table = table(formatVersion);
    files(table, 1, 2);
    table.updateSchema().updateColumn("n", Types.LongType.get()).commit();
    files(table, 2, 3);
    table.updateSchema().addColumn("late", Types.StringType.get()).commit();
    List<DataFile> files = new ArrayList<>();
    table.newScan().planFiles().forEach(task -> files.add(task.file()));
    files.addAll(List.copyOf(files));
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      Schema columns = TableRows.schema(table);
      for (DataFile file : files) {
        assertThat(lines(fixture, file, columns))
            .as(file.location())
            .containsExactlyElementsOf(fixture.expected(file));
      }
    }
  }

  @Test
  void whatIsKnownOfNansIsOfEachFile() throws IOException {
    Table table = table(2);
    List<DataFile> files = files(table, 1, 9);
    DataFile withNan = files.stream().filter(file -> nans(file) == 1).findAny().orElseThrow();
    DataFile without = files.stream().filter(file -> nans(file) == 0).findAny().orElseThrow();
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      for (DataFile file : List.of(without, withNan, without, withNan)) {
        try (SourceFile source =
            fixture.reader.openToSplice(
                ReaderFixture.task(table, file),
                table.schema(),
                fixture.allocator,
                Long.MAX_VALUE)) {
          try (SplicedView view = (SplicedView) source.fetch(source.rowGroups().get(0))) {
            assertThat(view.spliced())
                .filteredOn(leaf -> leaf.leaf() == 3)
                .extracting(SplicedView.Leaf::hasNoNan)
                .containsExactly(file == without);
          }
        }
      }
    }
  }

  private static long nans(DataFile file) {
    return file.nanValueCounts().get(4);
  }

  @Test
  void aProjectionIsNotTakenForAFileWithOtherConstants() throws IOException {
    Table table = table(2);
    DataFile file = files(table, 1).get(0);
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      FileField root =
          ParquetFooter.read(
                  fixture.ranges, file.location(), file.fileSizeInBytes(), ParquetFooter.TAIL_BYTES)
              .schema();
      Projection.FileFacts one = new Projection.FileFacts("one", Map.of(2, 1), null, null);
      Projection.FileFacts other = new Projection.FileFacts("other", Map.of(2, 2), null, null);
      Projection.FileFacts lineage = new Projection.FileFacts("v3", Map.of(2, 1), 0L, 1L);
      Projection projection = Projection.of(root, table.schema(), table.schema(), one, true);
      assertThat(projection.of(one)).isNotNull();
      assertThatThrownBy(() -> projection.of(other)).hasMessageContaining("other");
      assertThatThrownBy(() -> projection.of(lineage)).hasMessageContaining("v3");
    }
  }

  /** Some writers have no indexes, and do not count what is null since the struct around it is. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void m4m5NullsInStructsAreNotTakenFromTheFooter(boolean hasIndexes) throws IOException {
    Table table =
        TableBuilder.at(directory.resolve("nulls"))
            .schema(
                Types.NestedField.optional(
                    1,
                    "s",
                    Types.StructType.of(Types.NestedField.optional(2, "x", Types.LongType.get()))),
                Types.NestedField.optional(3, "flat", Types.LongType.get()))
            .create();
    Rows rows = Rows.of(table.schema());
    Types.StructType struct = table.schema().findType("s").asStructType();
    for (long i = 0; i < 100; i++) {
      rows.add(i % 4 == 0 ? null : Rows.struct(struct, i * i), i % 5 == 0 ? null : i * i);
    }
    DataFile written = TableFiles.of(table).append(rows.list());
    Path path = LocalFileIO.path(written.location());
    byte[] bytes = Files.readAllBytes(path);
    FileMetaData footer;
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      footer =
          ParquetFooter.read(
                  fixture.ranges, written.location(), bytes.length, ParquetFooter.TAIL_BYTES)
              .metadata();
    }
    int body = bytes.length - ParquetFooter.trailer(footer).remaining();
    for (ColumnChunk chunk : footer.getRow_groups().get(0).getColumns()) {
      chunk.getMeta_data().getStatistics().setNull_count(0);
      if (!hasIndexes) {
        chunk.unsetColumn_index_offset();
        chunk.unsetOffset_index_offset();
      }
    }
    ByteBuffer trailer = ParquetFooter.trailer(footer);
    ByteBuffer changed = ByteBuffer.allocate(body + trailer.remaining());
    Files.write(path, changed.put(bytes, 0, body).put(trailer).array());
    DataFile file =
        DataFiles.builder(table.spec())
            .copy(written)
            .withFileSizeInBytes(changed.capacity())
            .build();
    try (ReaderFixture fixture = new ReaderFixture(table);
        SourceFile source =
            fixture.reader.openToSplice(
                ReaderFixture.task(table, file),
                table.schema(),
                fixture.allocator,
                Long.MAX_VALUE);
        SplicedView view = (SplicedView) source.fetch(source.rowGroups().get(0))) {
      for (SplicedView.Leaf leaf : view.spliced()) {
        SourceChunk.Page page = leaf.chunk().pages().get(0);
        if (!hasIndexes) {
          // Then the page is looked into.
          assertThat(leaf.chunk().known(page).nulls()).isEqualTo(-1);
          assertThat(leaf.chunk().known(page).statistics()).isNull();
        } else if (leaf.leaf() == 0) {
          assertThat(leaf.chunk().known(page).nulls()).isEqualTo(25);
        }
      }
    }
  }
}
