package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.BaseDeleteLoader;
import org.apache.iceberg.data.DeleteLoader;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetReaders;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.DVFileWriter;
import org.apache.iceberg.deletes.PositionDeleteIndex;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A writer deletes rows by position all the time, as MERGE does, while the table is compacted. The
 * compaction ends, no group is rewritten twice, and every row that the writer deleted stays so.
 *
 * <p>A larger run: {@code -Dfirn.beside.rows=5000000 -Dfirn.beside.millis=1000}.
 */
class BesideAWriterTest {
  private static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.LongType.get()),
          optional(2, "note", Types.StringType.get()),
          optional(3, "amount", Types.DoubleType.get()));

  private static final Schema ID = new Schema(SCHEMA.columns().subList(0, 1));
  private static final long MILLIS = Long.getLong("firn.beside.millis", 200);
  private static final int FILES = 12;

  /** As many in each file. */
  private static final int ROWS = Integer.getInteger("firn.beside.rows", 30_000) / FILES * FILES;

  private static final int ROWS_PER_COMMIT = 40;

  @TempDir Path directory;

  @ParameterizedTest
  @CsvSource({"2, false", "2, true", "3, false", "3, true"})
  void c5EveryDeleteOfAWriterThatNeverRestsStaysInForce(int version, boolean sort)
      throws Exception {
    long seed = Long.getLong("firn.test.seed", System.nanoTime());
    Table table = table(version);
    Writer writer = new Writer(Tables.another(table), new Random(seed));
    List<Integer> rewritten = new ArrayList<>();
    CompactionListener waiting =
        new CompactionListener() {
          @Override
          public synchronized void rewritten(RewriteFileGroup group) {
            rewritten.add(group.info().globalIndex());
            writer.awaitCommits(2);
          }
        };
    CompactionSettings.Builder settings =
        CompactionSettings.builder()
            .option("rewrite-all", "true")
            .option("partial-progress.enabled", "true")
            .option("max-file-group-input-files", "4")
            .memoryBytes(2L << 30)
            .scratch(directory)
            .threads(2);
    if (sort) {
      settings.layout(new Layout.Sorted(SortOrder.builderFor(SCHEMA).asc("note").build()));
    }
    writer.start();
    CompactionReport report;
    int before;
    try {
      writer.awaitCommits(1);
      before = writer.commits();
      report = new Compaction(table, settings.build(), waiting).run();
    } finally {
      writer.end();
    }
    String facts =
        String.format(
            "v%d %s: %d rows, %d commits by the writer, %d of them while the table was compacted, "
                + "%d of its attempts lost; %d groups committed in %d snapshots, %d rows carried "
                + "over, %d rows deleted in all (-Dfirn.test.seed=%d)",
            version,
            sort ? "sort" : "bin-pack",
            ROWS,
            writer.commits(),
            writer.commits() - before,
            writer.lost,
            report.groups().committed(),
            report.snapshotsCommitted().size(),
            report.rows().carriedOver(),
            writer.deleted.cardinality(),
            seed);
    System.out.println(facts);
    assertThat(report.failures()).as(facts).isEmpty();
    // files whose keys overlap are sorted together
    assertThat(rewritten).as(facts).hasSize(sort ? 1 : 3);
    assertThat(report.rows().carriedOver()).as(facts).isPositive();
    assertThat(writer.failure).as(facts).isNull();

    table.refresh();
    BitSet expected = new BitSet();
    expected.set(0, ROWS);
    expected.andNot(writer.deleted);
    BitSet difference = ids(table);
    difference.xor(expected);
    assertThat(difference).as(facts).isEqualTo(new BitSet());
  }

  private Table table(int version) throws IOException {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(SCHEMA)
            .formatVersion(version)
            .property("commit.retry.min-wait-ms", "10")
            .create();
    TableFiles files = TableFiles.of(table);
    Random random = new Random(1);
    List<DataFile> data = new ArrayList<>();
    int perFile = ROWS / FILES;
    for (int file = 0; file < FILES; file++) {
      List<Record> rows = new ArrayList<>();
      for (long id = (long) file * perFile; id < (file + 1L) * perFile; id++) {
        Record row = GenericRecord.create(SCHEMA);
        row.set(0, id);
        row.set(1, "note " + random.nextInt(1000));
        row.set(2, random.nextDouble());
        rows.add(row);
      }
      data.add(files.data(rows));
    }
    files.append(data.toArray(DataFile[]::new));
    table.refresh();
    return table;
  }

  /** The ids of live rows, each of which must be there once; read by Iceberg alone. */
  private static BitSet ids(Table table) throws IOException {
    BitSet ids = new BitSet();
    Snapshot snapshot = table.currentSnapshot();
    List<DeleteFile> deletes = TableRows.deleteFiles(table, snapshot);
    for (DataFile file : TableRows.dataFiles(table, snapshot)) {
      PositionDeleteIndex deleted = deletedPositions(table, file, deletes);
      long[] all = idsOf(table, file);
      for (int position = 0; position < all.length; position++) {
        if (!deleted.isDeleted(position)) {
          assertThat(ids.get((int) all[position])).as("id %s twice", all[position]).isFalse();
          ids.set((int) all[position]);
        }
      }
    }
    return ids;
  }

  private static PositionDeleteIndex deletedPositions(
      Table table, DataFile file, List<DeleteFile> deletes) {
    DeleteLoader loader = new BaseDeleteLoader(delete -> table.io().newInputFile(delete));
    boolean vectors = TableUtil.formatVersion(table) >= 3;
    return loader.loadPositionDeletes(
        deletes.stream()
            .filter(delete -> delete.content() == FileContent.POSITION_DELETES)
            .filter(delete -> !vectors || file.location().equals(delete.referencedDataFile()))
            .toList(),
        file.location());
  }

  private static long[] idsOf(Table table, DataFile file) throws IOException {
    long[] ids = new long[Math.toIntExact(file.recordCount())];
    int count = 0;
    try (CloseableIterable<Record> rows =
        Parquet.read(table.io().newInputFile(file))
            .project(ID)
            .createReaderFunc(type -> GenericParquetReaders.buildReader(ID, type))
            .build()) {
      for (Record row : rows) {
        ids[count++] = (Long) row.get(0);
      }
    }
    return ids;
  }

  /** Deletes random rows, commits, rests a moment; what is deleted is known by id. */
  private static final class Writer extends Thread {
    final BitSet deleted = new BitSet();
    volatile Throwable failure;
    int lost;

    private final Table table;
    private final Random random;
    private final Map<String, long[]> ids = new HashMap<>();
    private int commits;
    private boolean ended;

    Writer(Table table, Random random) {
      super("writer");
      setDaemon(true);
      this.table = table;
      this.random = random;
    }

    @Override
    public void run() {
      try {
        while (!isEnded()) {
          commit();
          TimeUnit.MILLISECONDS.sleep(MILLIS);
        }
      } catch (Throwable e) {
        failure = e;
      }
      synchronized (this) {
        ended = true;
        notifyAll();
      }
    }

    private void commit() throws IOException {
      while (true) {
        table.refresh();
        Snapshot snapshot = table.currentSnapshot();
        Map<DataFile, long[]> positions = new HashMap<>();
        BitSet chosen = new BitSet();
        List<DataFile> files = new ArrayList<>(TableRows.dataFiles(table, snapshot));
        Collections.shuffle(files, random);
        for (DataFile file : files.subList(0, Math.min(3, files.size()))) {
          choose(file, positions, chosen);
        }
        try {
          commit(snapshot, positions);
          deleted.or(chosen);
          synchronized (this) {
            commits++;
            notifyAll();
          }
          return;
        } catch (ValidationException | CommitFailedException e) {
          lost++; // what it deletes from was compacted meanwhile: it looks again, as MERGE does
        }
      }
    }

    private void choose(DataFile file, Map<DataFile, long[]> positions, BitSet chosen)
        throws IOException {
      long[] all = ids.get(file.location());
      if (all == null) {
        all = idsOf(table, file);
        ids.put(file.location(), all);
      }
      int rows = all.length;
      long[] some =
          random.ints(ROWS_PER_COMMIT, 0, rows).sorted().distinct().asLongStream().toArray();
      positions.put(file, some);
      for (long position : some) {
        chosen.set((int) all[(int) position]);
      }
    }

    private void commit(Snapshot snapshot, Map<DataFile, long[]> positions) {
      RowDelta delta =
          table
              .newRowDelta()
              .validateFromSnapshot(snapshot.snapshotId())
              .validateDeletedFiles()
              .validateDataFilesExist(positions.keySet().stream().map(DataFile::location).toList());
      if (TableUtil.formatVersion(table) >= 3) {
        vectors(snapshot, positions, delta);
      } else if (random.nextBoolean()) {
        TableFiles files = TableFiles.of(table);
        positions.forEach((file, some) -> delta.addDeletes(files.positionDeletes(file, some)));
      } else {
        List<TableFiles.Position> all = new ArrayList<>();
        positions.forEach(
            (file, some) -> {
              for (long position : some) {
                all.add(TableFiles.Position.of(file, position));
              }
            });
        delta.addDeletes(TableFiles.of(table).positionDeletes(all));
      }
      delta.commit();
    }

    private void vectors(Snapshot snapshot, Map<DataFile, long[]> positions, RowDelta delta) {
      List<DeleteFile> present = TableRows.deleteFiles(table, snapshot);
      OutputFile puffin =
          table
              .io()
              .newOutputFile(
                  table
                      .locationProvider()
                      .newDataLocation("writer-" + random.nextLong() + ".puffin"));
      DVFileWriter writer =
          new BaseDVFileWriter(
              () -> puffin,
              path -> {
                List<DeleteFile> old =
                    present.stream()
                        .filter(delete -> path.equals(delete.referencedDataFile()))
                        .toList();
                DeleteLoader loader =
                    new BaseDeleteLoader(delete -> table.io().newInputFile(delete));
                return old.isEmpty() ? null : loader.loadPositionDeletes(old, path);
              });
      try (writer) {
        positions.forEach(
            (file, some) -> {
              for (long position : some) {
                writer.delete(
                    file.location(), position, PartitionSpec.unpartitioned(), file.partition());
              }
            });
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      writer.result().deleteFiles().forEach(delta::addDeletes);
      writer.result().rewrittenDeleteFiles().forEach(delta::removeDeletes);
    }

    synchronized int commits() {
      return commits;
    }

    private synchronized boolean isEnded() {
      return ended;
    }

    /** Waits until the writer has committed some more times, or has ended. */
    synchronized void awaitCommits(int more) {
      int until = commits + more;
      try {
        while (commits < until && !ended) {
          wait();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    void end() throws InterruptedException {
      awaitCommits(2); // on what the compaction left
      synchronized (this) {
        ended = true;
      }
      join();
    }
  }
}
