package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.CountingFileIO;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Groups whose rows go to the partitions of another spec (P3). */
class FanOutTest {
  private static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.LongType.get()),
          optional(2, "part", Types.IntegerType.get()),
          optional(3, "text", Types.StringType.get()));

  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
  }

  private CompactionSettings.Builder settings(long megabytes) {
    return CompactionSettings.builder()
        .option("rewrite-all", "true")
        .option("max-concurrent-file-group-rewrites", "1")
        .memoryBytes(megabytes << 20)
        .scratch(scratch)
        .threads(2);
  }

  /** Unpartitioned files, then a spec by part. */
  private Table table(int formatVersion, List<List<Record>> files) {
    Table table =
        TableBuilder.at(directory.resolve("t"))
            .schema(SCHEMA)
            .formatVersion(formatVersion)
            .create();
    for (List<Record> rows : files) {
      TableFiles.of(table).rowGroupRows(1000).append(rows);
    }
    table.updateSpec().addField("part").commit();
    table.refresh();
    return table;
  }

  private static List<Record> rows(int from, int count, int partitions, int textLength) {
    Rows rows = Rows.of(SCHEMA);
    Random random = new Random(from);
    for (int id = from; id < from + count; id++) {
      int part = random.nextInt(partitions + 1);
      rows.add((long) id, part == partitions ? null : part, ("x" + id).repeat(textLength / 5));
    }
    return rows.list();
  }

  /** The ids in each file, in the order of its rows, by partition value. */
  private static Map<Object, List<Long>> idsByPartition(Table table) {
    Map<Object, List<Long>> ids = new HashMap<>();
    for (DataFile file : TableRows.dataFiles(table, table.currentSnapshot())) {
      List<Long> ofFile =
          TableRows.inFile(table, file).stream().map(row -> (Long) row.getField("id")).toList();
      ids.merge(
          String.valueOf(file.partition().get(0, Object.class)),
          ofFile,
          (one, other) -> {
            List<Long> both = new ArrayList<>(one);
            both.addAll(other);
            return both;
          });
    }
    return ids;
  }

  private Compaction run(Table table, CompactionSettings settings) throws IOException {
    List<String> live = TableRows.live(table);
    Set<String> before = FileTruth.locations(table);
    Compaction compaction = new Compaction(table, settings, CompactionListener.NONE);
    CompactionReport report = compaction.run();
    assertThat(report.failures()).isEmpty();
    table.refresh();
    assertThat(TableRows.live(table)).isEqualTo(live);
    FileTruth.check(table, before);
    assertThat(scratch).isEmptyDirectory();
    return compaction;
  }

  @Test
  void p3ThousandsOfPartitionsTakeLittleMemoryAndFewOpenFiles() throws Exception {
    int partitions = 5_000;
    int perFile = 15_000;
    Table made =
        table(
            2,
            List.of(
                rows(0, perFile, partitions, 400),
                rows(perFile, perFile, partitions, 400),
                rows(2 * perFile, perFile, partitions, 400)));
    CountingFileIO[] io = new CountingFileIO[1];
    Table table = Tables.withIo(made, files -> io[0] = new CountingFileIO(files));
    MemoryShares shares = MemoryShares.of(64L << 20);
    Compaction compaction = new Compaction(table, settings(64).build(), CompactionListener.NONE);
    assertThat(compaction.run().failures()).isEmpty();
    assertThat(compaction.arrowPeakBytes())
        .as("memory for decoding and sorting, less than the rows have")
        .isLessThanOrEqualTo(shares.allocatorBytes())
        .isLessThan(3L * perFile * 400);
    assertThat(io[0].outputsOpenMax()).isBetween(1, FanOut.OPEN_OUTPUTS_MAX + 1);
    table.refresh();
    List<DataFile> written = TableRows.dataFiles(table, table.currentSnapshot());
    Path data = TableBefore.path(table.location()).resolve("data");
    String before = "read_parquet('" + data + "/*.parquet')";
    String after =
        "read_parquet('"
            + data
            + "/part=*/*.parquet', hive_partitioning=false, filename=true, file_row_number=true)";
    try (DuckDb duck = DuckDb.open()) {
      long distinct = duck.number("select count(distinct coalesce(part, -1)) from " + before);
      assertThat(distinct).isGreaterThan(partitions - 10);
      assertThat(written).as("a file for each partition").hasSize((int) distinct);
      String content = "select sum(hash(id, part, text))::hugeint % 1000000007 + count(*) from ";
      assertThat(duck.number(content + after)).isEqualTo(duck.number(content + before));
      assertThat(
              duck.number(
                  "select count(*) from "
                      + after
                      + " where regexp_extract(filename, 'part=([^/]*)', 1)"
                      + " <> coalesce(part::varchar, 'null')"))
          .as("rows in another partition")
          .isZero();
      assertThat(
              duck.number(
                  "select count(*) from (select id, lag(id) over"
                      + " (partition by filename order by file_row_number) as previous from "
                      + after
                      + ") where previous > id and previous // 15000 = id // 15000"))
          .as("rows that do not keep the order of their file")
          .isZero();
    }
    assertThat(written.stream().mapToLong(DataFile::recordCount).sum()).isEqualTo(3L * perFile);
    assertThat(scratch).isEmptyDirectory();
  }

  @Test
  void p3RowsOfFewPartitionsGoStraightToAnOpenFileEach() throws IOException {
    Table table = table(2, List.of(rows(0, 9000, 4, 400), rows(9000, 9000, 4, 400)));
    Compaction compaction = run(table, settings(512).build());
    assertThat(compaction.arrowPeakBytes())
        .as("no row is kept to be sorted")
        .isLessThan(18_000 * 400);
    assertThat(idsByPartition(table).values())
        .hasSize(5)
        .allSatisfy(
            of -> {
              assertThat(of.stream().filter(id -> id < 9000)).isSorted();
              assertThat(of.stream().filter(id -> id >= 9000)).isSorted();
            });
  }

  @Test
  void p3AFanOutReadsItsRowsOnce() throws IOException {
    // Each file has partitions of its own, as after a change from months to days.
    List<List<Record>> files = new ArrayList<>();
    Random random = new Random(1);
    for (int file = 0; file < 20; file++) {
      Rows rows = Rows.of(SCHEMA);
      for (int row = 0; row < 1500; row++) {
        String text = new BigInteger(1200, random).toString(16);
        rows.add((long) file * 10_000 + row, file * 10 + row / 150, text);
      }
      files.add(rows.list());
    }
    Table made = table(2, files);
    CountingFileIO[] io = new CountingFileIO[1];
    Table table = Tables.withIo(made, delegate -> io[0] = new CountingFileIO(delegate));
    long inputBytes =
        TableRows.dataFiles(table, table.currentSnapshot()).stream()
            .mapToLong(DataFile::fileSizeInBytes)
            .sum();
    Compaction compaction =
        new Compaction(
            table,
            settings(64)
                .layout(new Layout.Sorted(SortOrder.builderFor(SCHEMA).desc("id").build()))
                .build(),
            CompactionListener.NONE);
    io[0].reset();
    assertThat(compaction.run().failures()).isEmpty();
    assertThat(io[0].bytesRead()).as("bytes read").isBetween(inputBytes, 2 * inputBytes);
    table.refresh();
    assertThat(idsByPartition(table).values())
        .hasSize(200)
        .allSatisfy(
            of -> assertThat(of).hasSize(150).isSortedAccordingTo((a, b) -> Long.compare(b, a)));
  }

  @Test
  void m9p3SortedWithinEachPartition() throws IOException {
    Table table = table(3, List.of(rows(0, 9000, 40, 400), rows(9000, 9000, 40, 400)));
    table.replaceSortOrder().desc("id").commit();
    table.refresh();
    run(table, settings(64).layout(new Layout.TableOrder()).build());
    assertThat(TableRows.dataFiles(table, table.currentSnapshot()))
        .hasSize(41)
        .allMatch(file -> file.sortOrderId() == table.sortOrder().orderId());
    assertThat(idsByPartition(table).values())
        .allSatisfy(of -> assertThat(of).isSortedAccordingTo((a, b) -> Long.compare(b, a)));
  }

  @Test
  void p3o10APartitionThatDoesNotFitInMemoryIsSortedOnScratchDisk() throws IOException {
    List<Record> rows = new ArrayList<>(rows(0, 3000, 3, 400));
    for (int id = 3000; id < 93_000; id++) {
      rows.add(Rows.row(SCHEMA, (long) id, 77, ("z" + (id * 7919L) % 90_000).repeat(60)));
    }
    Table table = table(2, List.of(rows));
    List<String> live = TableRows.live(table);
    CompactionReport report =
        new Compaction(
                table,
                settings(64)
                    .layout(new Layout.Sorted(SortOrder.builderFor(SCHEMA).asc("text").build()))
                    .build(),
                CompactionListener.NONE)
            .run();
    assertThat(report.failures()).isEmpty();
    assertThat(report.memory().peakScratchBytes()).as("bytes of sorted runs").isPositive();
    table.refresh();
    assertThat(TableRows.live(table)).isEqualTo(live);
    for (DataFile file : TableRows.dataFiles(table, table.currentSnapshot())) {
      assertThat(TableRows.inFile(table, file).stream().map(row -> (String) row.getField("text")))
          .isSorted();
    }
  }

  @Test
  void p3DeletedRowsAreNeitherCountedNorWritten() throws IOException {
    Table table = table(2, List.of(rows(0, 3000, 10, 20), rows(3000, 3000, 10, 20)));
    List<DataFile> files = TableRows.dataFiles(table, table.currentSnapshot());
    TableFiles writer = TableFiles.of(table);
    long[] all = java.util.stream.LongStream.range(0, 1000).toArray();
    writer.deletePositions(Map.of(files.get(0), all));
    TableFiles old = writer.spec(table.specs().get(0));
    Rows keys = Rows.of(SCHEMA);
    for (long id = 0; id < 6000; id += 60) {
      keys.add(id, null, null);
    }
    old.rowDelta(List.of(), List.of(old.equalityDeletes(List.of("id"), keys.list())));
    table.refresh();
    run(table, settings(64).build());
    Set<Long> ids = new HashSet<>();
    idsByPartition(table).values().forEach(ids::addAll);
    assertThat(ids).hasSizeBetween(4900, 5000);
  }

  @Test
  void p2p3ToUnpartitionedIsOnePartition() throws IOException {
    Table table = table(2, List.of(rows(0, 500, 5, 20)));
    run(table, settings(64).build());
    table.updateSpec().removeField("part").commit();
    table.refresh();
    run(table, settings(64).build());
    assertThat(TableRows.dataFiles(table, table.currentSnapshot())).hasSize(1);
    table.updateSpec().addField(Expressions.bucket("id", 3)).commit();
    table.refresh();
    run(table, settings(64).build());
    assertThat(TableRows.dataFiles(table, table.currentSnapshot())).hasSize(3);
  }
}
