package dev.firn.engine;

import dev.firn.deletes.DeletedRows;
import dev.firn.engine.parquet.RowBatches;
import dev.firn.engine.parquet.RowGroupView;
import dev.firn.engine.parquet.SourceFile;
import dev.firn.engine.parquet.SplicedView;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.jspecify.annotations.Nullable;

/**
 * The live rows of a file group, whose deletes are resolved, to be read as often as wanted. Used by
 * one thread.
 */
final class GroupRows {
  private final RunContext run;
  private final List<FileScanTask> tasks;
  private final Map<String, DeletedRows> deleted;
  private final Map<String, Integer> ordinals;
  private final BufferAllocator memory;

  /**
   * @param deleted by location of the data file
   * @param memory for batches
   */
  GroupRows(
      RunContext run,
      RewriteFileGroup group,
      Map<String, DeletedRows> deleted,
      BufferAllocator memory) {
    this(run, group.fileScanTasks(), deleted, ordinals(group), memory);
  }

  private GroupRows(
      RunContext run,
      List<FileScanTask> tasks,
      Map<String, DeletedRows> deleted,
      Map<String, Integer> ordinals,
      BufferAllocator memory) {
    this.run = run;
    this.tasks = tasks;
    this.deleted = deleted;
    this.ordinals = ordinals;
    this.memory = memory;
  }

  /** The ordinal of each input in the group, which origins are told by. */
  static Map<String, Integer> ordinals(RewriteFileGroup group) {
    Map<String, Integer> ordinals = new HashMap<>();
    for (FileScanTask task : group.fileScanTasks()) {
      ordinals.putIfAbsent(task.file().location(), ordinals.size());
    }
    return ordinals;
  }

  /** The rows of some of the files. */
  GroupRows of(List<FileScanTask> some) {
    return new GroupRows(run, some, deleted, ordinals, memory);
  }

  List<FileScanTask> tasks() {
    return tasks;
  }

  BufferAllocator memory() {
    return memory;
  }

  /** How many they are. */
  long count() {
    long rows = 0;
    for (FileScanTask task : tasks) {
      rows += count(task.file());
    }
    return rows;
  }

  private long count(DataFile file) {
    return file.recordCount() - deletedOf(file).count();
  }

  /** Files of the group, whether they are among these or not: ordinals are below that. */
  int inputs() {
    return ordinals.size();
  }

  int input(DataFile file) {
    return Objects.requireNonNull(ordinals.get(file.location()));
  }

  /** Takes the live rows of a batch. */
  @FunctionalInterface
  interface LiveBatches {
    void accept(VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins origins)
        throws IOException;
  }

  /** Decides which row groups are read, and takes their rows. */
  interface RowGroups {
    boolean wants(DataFile file, SourceFile.RowGroup rowGroup);

    /** The rows of the row group follow. */
    default void begin(DataFile file, SourceFile.RowGroup rowGroup) {}

    /** See {@link LiveBatches#accept}. */
    void accept(VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins origins)
        throws IOException;

    /**
     * All rows of the row group have been given.
     *
     * @param liveRows how many they were
     */
    default void end(SourceFile.RowGroup rowGroup, long liveRows) {}
  }

  /** Gives all rows, all columns, in the order of the files, and checks that they were all. */
  void forEachBatch(LiveBatches batches) throws IOException {
    long[] moved = new long[inputs()];
    forEachBatch(
        run.pin().columns(),
        new RowGroups() {
          @Override
          public boolean wants(DataFile file, SourceFile.RowGroup rowGroup) {
            return true;
          }

          @Override
          public void accept(
              VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins origins)
              throws IOException {
            batches.accept(batch, live, liveRows, origins);
            moved[origins.input()] += liveRows;
          }

          @Override
          public void end(SourceFile.RowGroup rowGroup, long liveRows) {
            run.listener().progressed(rowGroup.compressedBytes());
          }
        });
    checkMoved(moved);
  }

  /** Gives the live rows of some row groups in the order of the files. */
  void forEachBatch(Schema columns, RowGroups rowGroups) throws IOException {
    Pipe.Maker<Decoded> decode = to -> decode(columns, rowGroups, to);
    Pipe.Taker<Decoded> take =
        part -> {
          run.stop().check();
          part.giveTo(rowGroups);
        };
    if (run.memory().worksAhead()) {
      Pipe.run(run.ahead(), run.memory().decodeBytesOfRowGroup(), Decoded::bytes, decode, take);
    } else {
      Pipe.run(decode, take);
    }
  }

  /**
   * The next of what is decoded: the beginning of a row group, some of its rows, or its end.
   *
   * @param batch null at the beginning and the end; closed by this
   * @param live empty without rows
   * @param liveRows of the batch, or at the end of all the row group; negative at the beginning
   */
  @SuppressWarnings("ArrayRecordComponent") // handed on once, never compared
  private record Decoded(
      DataFile file,
      SourceFile.RowGroup rowGroup,
      @Nullable VectorSchemaRoot batch,
      long[] live,
      long liveRows,
      BatchOrigins origins)
      implements AutoCloseable {

    void giveTo(RowGroups rowGroups) throws IOException {
      if (batch != null) {
        rowGroups.accept(batch, live, (int) liveRows, origins);
      } else if (liveRows < 0) {
        rowGroups.begin(file, rowGroup);
      } else {
        rowGroups.end(rowGroup, liveRows);
      }
    }

    long bytes() {
      return batch == null ? 0 : Batches.bytes(batch);
    }

    @Override
    public void close() {
      if (batch != null) {
        batch.close();
      }
    }
  }

  private void decode(Schema columns, RowGroups rowGroups, Pipe.Taker<Decoded> to)
      throws IOException {
    long[] none = {};
    try (RowGroupFeed feed =
        new RowGroupFeed(
            task -> run.reader().open(task, columns),
            tasks,
            task -> deletedOf(task.file()),
            (task, rowGroup) -> rowGroups.wants(task.file(), rowGroup),
            run.fetchers())) {
      for (RowGroupFeed.Piece piece = feed.next(); piece != null; piece = feed.next()) {
        DataFile file = piece.task().file();
        SourceFile.RowGroup rowGroup = piece.rowGroup();
        BatchOrigins start = BatchOrigins.neighbours(input(file), rowGroup.firstPosition());
        long moved;
        try (RowGroupView view = piece.view()) {
          to.accept(new Decoded(file, rowGroup, null, none, -1, start));
          try (RowBatches rows = view.read(memory)) {
            moved =
                LiveRows.forEach(
                    rows,
                    piece.deleted(),
                    (batch, firstPosition, live, liveRows) ->
                        to.accept(
                            new Decoded(
                                file,
                                rowGroup,
                                rows.take(),
                                live.clone(),
                                liveRows,
                                BatchOrigins.neighbours(start.input(), firstPosition))));
          }
        }
        to.accept(new Decoded(file, rowGroup, null, none, moved, start));
      }
    }
  }

  private long read(RowGroupFeed.Piece piece, LiveBatches batches) throws IOException {
    int input = input(piece.task().file());
    try (RowGroupView view = piece.view();
        RowBatches rows = view.read(memory)) {
      return LiveRows.forEach(
          rows,
          piece.deleted(),
          (batch, firstPosition, live, liveRows) ->
              batches.accept(batch, live, liveRows, BatchOrigins.neighbours(input, firstPosition)));
    }
  }

  /** Takes the live rows of a row group that can be spliced. */
  @FunctionalInterface
  interface LiveViews {
    /**
     * @param live a bit for each row of the row group
     */
    void accept(SplicedView view, long[] live, int liveRows, BatchOrigins origins)
        throws IOException;
  }

  /**
   * Gives all rows, all columns, in the order of the files, and checks that they were all: row
   * groups of Parquet files to be spliced, others in batches.
   *
   * @return compressed bytes of what was given in batches, by the reason for it
   */
  Map<String, Long> forEachView(LiveViews views, LiveBatches batches) throws IOException {
    Map<String, Long> decoded = new HashMap<>();
    long bytesMax = run.memory().spliceBytesOfGroup();
    long[] moved = new long[inputs()];
    try (RowGroupFeed feed =
        new RowGroupFeed(
            task -> run.reader().openToSplice(task, run.pin().columns(), memory, bytesMax),
            tasks,
            task -> deletedOf(task.file()),
            (task, rowGroup) -> true,
            run.fetchers(),
            run.memory().spliceBytesAheadOfGroup())) {
      for (RowGroupFeed.Piece piece = feed.next(); piece != null; piece = feed.next()) {
        DataFile file = piece.task().file();
        if (piece.view() instanceof SplicedView view) {
          moved[input(file)] += splice(piece, view, views);
        } else {
          moved[input(file)] += read(piece, batches);
          decoded.merge(
              file.format() == FileFormat.PARQUET ? "too many rows" : "file in " + file.format(),
              piece.rowGroup().compressedBytes(),
              Long::sum);
        }
        run.listener().progressed(piece.rowGroup().compressedBytes());
      }
    }
    checkMoved(moved);
    return decoded;
  }

  private long splice(RowGroupFeed.Piece piece, SplicedView view, LiveViews views)
      throws IOException {
    try (view) {
      run.stop().check();
      SourceFile.RowGroup group = piece.rowGroup();
      int rows = Math.toIntExact(group.rows());
      long[] live = new long[LiveRows.words(rows)];
      LiveRows.setAll(live, rows);
      int liveRows = rows - piece.deleted().clearDeleted(group.firstPosition(), rows, live);
      views.accept(
          view,
          live,
          liveRows,
          BatchOrigins.neighbours(input(piece.task().file()), group.firstPosition()));
      return liveRows;
    }
  }

  private DeletedRows deletedOf(DataFile file) {
    return Objects.requireNonNull(deleted.get(file.location()), file::location);
  }

  /**
   * Counts file by file: rows lost from one and doubled from another do not add up (C26).
   *
   * @param moved rows by the file's ordinal
   */
  void checkMoved(long[] moved) {
    for (FileScanTask task : tasks) {
      long expected = count(task.file());
      long found = moved[input(task.file())];
      if (found != expected) {
        throw new RowsLostException(
            "Data file "
                + task.file().location()
                + " has "
                + expected
                + " live rows but "
                + found
                + " were moved; its file group is not committed");
      }
    }
  }
}
