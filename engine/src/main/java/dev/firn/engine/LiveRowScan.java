package dev.firn.engine;

import dev.firn.deletes.DeleteLimits;
import dev.firn.deletes.GroupDeletes;
import dev.firn.engine.parquet.RowBatches;
import dev.firn.engine.parquet.RowGroupView;
import dev.firn.engine.parquet.SourceFile;
import dev.firn.engine.parquet.TableReader;
import dev.firn.engine.verify.RowHasher;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.jspecify.annotations.Nullable;

/**
 * Reads the live rows of data files, row groups side by side, within a share of memory.
 *
 * <p>Delete files are read anew in each {@link #read}. Instances are thread-safe.
 */
final class LiveRowScan {

  /** Data files whose deletes are held at once. */
  private static final int FILES_MAX = 1000;

  /** What a row group takes when decoded, compared with its pages, if it is not narrow. */
  private static final int DECODED_FACTOR = 3;

  /**
   * Data files with their deletes, all read by one reader.
   *
   * @param tasks whole files
   * @param specs the specs of their partition tuples and of those of the deletes, by id
   * @param deletes the delete files of a data file
   */
  record Files(
      List<FileScanTask> tasks,
      Map<Integer, PartitionSpec> specs,
      Function<FileScanTask, List<DeleteFile>> deletes,
      RowGroupFeed.Opener opener) {

    /** The same, of some of the data files. */
    Files only(List<FileScanTask> some) {
      return new Files(some, specs, deletes, opener);
    }
  }

  /** Takes live rows; used by one thread at a time. */
  @FunctionalInterface
  interface Visitor {
    /**
     * @param firstPosition position in the data file of the batch's first row
     * @param liveRows bits set in {@code live}, at least one
     */
    void accept(
        FileScanTask task, long firstPosition, VectorSchemaRoot batch, long[] live, int liveRows)
        throws IOException;
  }

  /**
   * What a scan reads with.
   *
   * @param schema the schema whose types the keys of deletes are compared in
   * @param historic the other schemas of the table
   * @param columns the columns of batches
   * @param oneNan ids of columns in which one NaN is as good as another
   * @param fetchers threads that fetch row groups ahead
   * @param workers threads that decode; null for the calling thread alone
   * @param threads how many of them
   * @param decodeBytes what row groups in work may take together
   * @param progressed hears of bytes read
   */
  record Means(
      Schema schema,
      Collection<Schema> historic,
      Schema columns,
      Set<Integer> oneNan,
      TableReader reader,
      DeleteLimits deleteLimits,
      BufferAllocator memory,
      ExecutorService fetchers,
      @Nullable ExecutorService workers,
      int threads,
      long decodeBytes,
      LongConsumer progressed) {}

  private final Means means;

  LiveRowScan(Means means) {
    this.means = means;
  }

  /** The columns of the batches. */
  Schema columns() {
    return means.columns();
  }

  /** A hasher of the batches. */
  RowHasher hasher() {
    return new RowHasher(means.columns(), means.oneNan());
  }

  /**
   * The columns of which readers see the partition's value and not the file's (S2): partitions do
   * not tell NaNs apart (D9), so that rows of one may be written into the file of another.
   */
  static Set<Integer> identitySources(Collection<PartitionSpec> specs) {
    return specs.stream()
        .flatMap(spec -> spec.fields().stream())
        .filter(field -> field.transform().isIdentity())
        .map(PartitionField::sourceId)
        .collect(Collectors.toSet());
  }

  /**
   * Reads all live rows.
   *
   * @param visitors makes a visitor for each thread
   * @throws RowsLostException if rows read less rows deleted are not the rows visited (C26)
   */
  void read(Files files, Supplier<Visitor> visitors) throws IOException {
    List<FileScanTask> tasks = files.tasks();
    for (int first = 0; first < tasks.size(); first += FILES_MAX) {
      readPart(files, tasks.subList(first, Math.min(tasks.size(), first + FILES_MAX)), visitors);
    }
  }

  private void readPart(Files files, List<FileScanTask> tasks, Supplier<Visitor> visitors)
      throws IOException {
    GroupDeletes deletes =
        GroupDeletes.resolve(
            files.specs(),
            means.schema(),
            means.historic(),
            tasks,
            files.deletes(),
            means.reader(),
            means.deleteLimits(),
            means.fetchers());
    long expected = 0;
    for (FileScanTask task : tasks) {
      expected += task.file().recordCount() - deletes.deletedRows(task).count();
    }
    try (RowGroupFeed feed =
        new RowGroupFeed(
            files.opener(),
            tasks,
            deletes::deletedRows,
            (task, rowGroup) -> true,
            means.fetchers())) {
      Part part = new Part(feed);
      long visited = means.workers() == null ? part.run(visitors.get()) : run(part, visitors);
      if (visited != expected) {
        throw new RowsLostException(
            "Data files have "
                + expected
                + " live rows but "
                + visited
                + " were read, of "
                + tasks.get(0).file().location()
                + " and "
                + (tasks.size() - 1)
                + " others; nothing was changed");
      }
    }
  }

  private long run(Part part, Supplier<Visitor> visitors) throws IOException {
    List<Future<Long>> futures = new ArrayList<>();
    try {
      for (int i = 0; i < means.threads(); i++) {
        Visitor visitor = visitors.get();
        futures.add(Objects.requireNonNull(means.workers()).submit(() -> part.run(visitor)));
      }
      long visited = 0;
      for (Future<Long> future : futures) {
        visited += Results.of(future);
      }
      return visited;
    } finally {
      part.stopped.set(true);
      Results.settle(futures); // before the feed that they take from is closed
    }
  }

  /** Row groups that several threads take one after the other. */
  private final class Part {
    private final RowGroupFeed feed;
    private final AtomicBoolean stopped = new AtomicBoolean();
    private long bytesInWork;

    Part(RowGroupFeed feed) {
      this.feed = feed;
    }

    /** Takes row groups until there are no more; returns the live rows visited. */
    long run(Visitor visitor) throws IOException {
      long visited = 0;
      try {
        for (RowGroupFeed.Piece piece = next(); piece != null; piece = next()) {
          long bytes = decodedBytes(piece.rowGroup());
          try (RowGroupView view = piece.view()) {
            begin(bytes);
            try {
              visited += visit(piece, view, visitor);
            } finally {
              end(bytes);
            }
          }
          means.progressed().accept(piece.rowGroup().compressedBytes());
        }
        return visited;
      } catch (Throwable failure) {
        stopped.set(true);
        throw failure;
      }
    }

    private RowGroupFeed.@Nullable Piece next() throws IOException {
      synchronized (feed) {
        return stopped.get() ? null : feed.next();
      }
    }

    private long visit(RowGroupFeed.Piece piece, RowGroupView view, Visitor visitor)
        throws IOException {
      try (RowBatches rows = view.read(means.memory())) {
        return LiveRows.forEach(
            rows,
            piece.deleted(),
            (batch, firstPosition, live, liveRows) ->
                visitor.accept(piece.task(), firstPosition, batch, live, liveRows));
      }
    }

    private long decodedBytes(SourceFile.RowGroup group) {
      return Math.max(
          group.uncompressedBytes() * DECODED_FACTOR,
          group.rows() * Long.BYTES * means.columns().columns().size());
    }

    /** Waits until the row group fits beside those in work; one alone always may. */
    private synchronized void begin(long bytes) throws IOException {
      try {
        while (bytesInWork > 0 && bytesInWork + bytes > means.decodeBytes()) {
          wait();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("Interrupted: nothing was changed");
      }
      bytesInWork += bytes;
    }

    private synchronized void end(long bytes) {
      bytesInWork -= bytes;
      notifyAll();
    }
  }
}
