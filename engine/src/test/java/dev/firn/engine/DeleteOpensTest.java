package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.CountingFileIO;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import dev.firn.testdata.Tables;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Table;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * How often files are opened and how much of them is read. A delete file is opened once, however
 * many data files it touches; opened here means that its footer is read once and its rows once.
 */
class DeleteOpensTest {
  private static final int FILES = 6;

  /** Footers are read with their length first; what lies between is a guess of so many bytes. */
  private static final long FOOTER_SLACK = 64L << 10;

  @TempDir Path directory;

  private Table table(int formatVersion) {
    return TableBuilder.at(directory.resolve("t"))
        .schema(SmallTable.SCHEMA)
        .formatVersion(formatVersion)
        .create();
  }

  private List<DataFile> append(Table table, int rows) {
    List<DataFile> files = new ArrayList<>();
    for (int i = 0; i < FILES; i++) {
      files.add(TableFiles.of(table).append(SmallTable.rows(i * rows, rows, "eu")));
    }
    return files;
  }

  private CountingFileIO compact(Table table) {
    table.refresh();
    List<String> before = TableBefore.rows(table, table.currentSnapshot());
    Table counted = Tables.withIo(table, CountingFileIO::new);
    CountingFileIO io = (CountingFileIO) counted.io();
    CompactionReport report =
        new Compaction(
                counted,
                CompactionSettings.builder()
                    .option("rewrite-all", "true")
                    .memoryBytes(512L << 20)
                    .scratch(directory)
                    .threads(2)
                    .build(),
                CompactionListener.NONE)
            .run();
    assertThat(report.failures()).isEmpty();
    assertThat(report.groups().committed()).isEqualTo(1);
    table.refresh();
    assertThat(TableBefore.rows(table, table.currentSnapshot())).isEqualTo(before);
    return io;
  }

  private static void openedOnce(CountingFileIO io, DeleteFile delete, int opensMax) {
    assertThat(io.opens(delete.location()))
        .as("opens of %s in %s", delete.location(), io.opensByLocation())
        .isBetween(1L, (long) opensMax);
    assertThat(io.bytesRead(delete.location()))
        .isLessThanOrEqualTo(2 * delete.fileSizeInBytes() + 16);
  }

  @Test
  void positionDeletes() {
    Table table = table(2);
    List<DataFile> files = append(table, 50);
    List<TableFiles.Position> positions = new ArrayList<>();
    files.forEach(file -> positions.add(TableFiles.Position.of(file, 7)));
    DeleteFile all = TableFiles.of(table).positionDeletes(positions);
    DeleteFile one = TableFiles.of(table).positionDeletes(files.get(2), 1, 2, 3);
    TableFiles.of(table).rowDelta(List.of(), List.of(all, one));
    CountingFileIO io = compact(table);
    openedOnce(io, all, 2);
    openedOnce(io, one, 2);
  }

  @Test
  void equalityDeletes() {
    Table table = table(2);
    append(table, 50);
    TableFiles files = TableFiles.of(table);
    DeleteFile ids = files.equalityDeletes(List.of("id"), SmallTable.rows(40, 100, "eu"));
    DeleteFile notes = files.equalityDeletes(List.of("note"), SmallTable.rows(200, 10, "eu"));
    files.rowDelta(List.of(), List.of(ids, notes));
    CountingFileIO io = compact(table);
    openedOnce(io, ids, 2);
    openedOnce(io, notes, 2);
  }

  @Test
  void d29VectorsOfOnePuffinAreReadByThemselves() {
    Table table = table(3);
    Map<DataFile, long[]> deleted = new LinkedHashMap<>();
    append(table, 50).forEach(file -> deleted.put(file, new long[] {1, 2, 30}));
    TableFiles.of(table).deletePositions(deleted);
    table.refresh();
    List<DeleteFile> vectors = TableRows.deleteFiles(table, table.currentSnapshot());
    assertThat(vectors.stream().map(DeleteFile::location).distinct()).hasSize(1);
    long blobs = vectors.stream().mapToLong(DeleteFile::contentSizeInBytes).sum();
    CountingFileIO io = compact(table);
    String puffin = vectors.get(0).location();
    assertThat(io.opens(puffin)).isBetween(1L, (long) vectors.size());
    assertThat(io.bytesRead(puffin)).as("no footer is read (D28)").isEqualTo(blobs);
  }

  @Test
  void filesAreReadOnceAndKeysByTheirColumns() {
    Table table = table(2);
    List<DataFile> files = append(table, 20_000);
    CountingFileIO clean = compact(table);
    for (DataFile file : files) {
      assertThat(clean.bytesRead(file.location()))
          .as("bytes of a file of %d", file.fileSizeInBytes())
          .isBetween(file.fileSizeInBytes() * 9 / 10, file.fileSizeInBytes() + FOOTER_SLACK);
    }
    TableFiles of = TableFiles.of(table);
    table.refresh();
    DataFile whole = TableRows.dataFiles(table, table.currentSnapshot()).get(0);
    of.rowDelta(
        List.of(), List.of(of.equalityDeletes(List.of("region"), SmallTable.rows(0, 1, "xx"))));
    CountingFileIO keys = compact(table);
    long regionBytes = whole.columnSizes().get(2);
    assertThat(regionBytes).isLessThan(whole.fileSizeInBytes() / 10);
    assertThat(keys.bytesRead(whole.location()))
        .as("bytes of a file of %d, %d of them keys", whole.fileSizeInBytes(), regionBytes)
        .isLessThanOrEqualTo(whole.fileSizeInBytes() + regionBytes + 2 * FOOTER_SLACK);
  }
}
