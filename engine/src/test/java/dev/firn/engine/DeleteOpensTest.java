package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.CountingFileIO;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Table;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * How often files are opened and how much of them is read. A delete file is opened once, however
 * many data files it touches, and read from end to end then. A small data file is opened once to
 * read its rows, and once more before if equality deletes may reach it, for its key columns.
 */
class DeleteOpensTest {
  private static final int FILES = 6;

  /** Footers are read with their length first; what lies between is a guess of so many bytes. */
  private static final long FOOTER_SLACK = 64L << 10;

  @TempDir Path directory;
  private CompactionReport report;

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
    CountingFileIO io = compactCounted(table);
    table.refresh();
    assertThat(TableBefore.rows(table, table.currentSnapshot())).isEqualTo(before);
    return io;
  }

  private CountingFileIO compactCounted(Table table) {
    Table counted = Tables.withIo(table, CountingFileIO::new);
    CountingFileIO io = (CountingFileIO) counted.io();
    report =
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
    return io;
  }

  private static void openedOnce(CountingFileIO io, DeleteFile delete) {
    assertThat(io.opens(delete.location())).as("opens of %s", delete.location()).isEqualTo(1);
    assertThat(io.bytesRead(delete.location())).isEqualTo(delete.fileSizeInBytes());
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
    openedOnce(io, all);
    openedOnce(io, one);
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
    openedOnce(io, ids);
    openedOnce(io, notes);
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

  /** The delete files of each kind are read side by side, and each once. */
  @Test
  void d29ThousandsOfDeleteFilesOverThousandsOfDataFiles() throws IOException {
    int files = 2_000;
    Table table = table(2);
    TableFiles of = TableFiles.of(table);
    List<DataFile> data = new ArrayList<>();
    for (int i = 0; i < files; i++) {
      data.add(of.data(SmallTable.rows(2 * i, 2, "eu")));
    }
    AppendFiles append = table.newAppend();
    data.forEach(append::appendFile);
    append.commit();
    List<DeleteFile> deletes = new ArrayList<>();
    for (int i = 0; i < files / 2; i++) {
      DataFile one = data.get(2 * i);
      deletes.add(of.positionDeletes(List.of(TableFiles.Position.of(one, 0))));
      // one row of each second file, and one that there is not
      deletes.add(
          of.equalityDeletes(
              List.of("id", "region"),
              List.of(SmallTable.row(4 * i + 3, "eu", "x"), SmallTable.row(4 * i + 2, "us", "x"))));
    }
    // whose bounds do not keep it from any file
    deletes.add(
        of.equalityDeletes(
            List.of("id"),
            List.of(SmallTable.row(-1, "eu", "x"), SmallTable.row(1_000_000, "eu", "x"))));
    of.rowDelta(List.of(), deletes);
    CountingFileIO io = compactCounted(table);
    for (DeleteFile delete : deletes) {
      openedOnce(io, delete);
    }
    for (DataFile file : data) {
      assertThat(io.opens(file.location())).as("keys once, rows once").isEqualTo(2);
    }
    assertThat(report.rows()).isEqualTo(new CompactionReport.Rows(4_000, 2_000, 2_000, 0, 0));
    assertThat(report.unmatchedDeletes())
        .isEqualTo(new CompactionReport.UnmatchedDeletes(0, 0, 0, 0, 1_002));
    table.refresh();
    assertThat(TableRows.liveRecords(table, table.currentSnapshot()))
        .extracting(row -> row.get(0))
        .containsExactlyInAnyOrderElementsOf(
            LongStream.range(0, 2L * files)
                .filter(id -> id % 4 == 1 || id % 4 == 2)
                .boxed()
                .toList());
  }
}
