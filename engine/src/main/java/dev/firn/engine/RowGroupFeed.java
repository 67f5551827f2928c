package dev.firn.engine;

import dev.firn.deletes.DeletedRows;
import dev.firn.engine.parquet.RowGroupView;
import dev.firn.engine.parquet.SourceFile;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.function.BiPredicate;
import java.util.function.Function;
import org.apache.iceberg.FileScanTask;
import org.jspecify.annotations.Nullable;

/**
 * The row groups of a list of files in order, fetched ahead.
 *
 * <p>Files are opened and the first row group of each fetched while earlier ones are moved, so that
 * many small files cost their bandwidth and not their round trips; of a large file one row group is
 * fetched ahead. Row groups without a live row are never fetched. Belongs to one thread; closing it
 * releases all that was fetched and not taken.
 */
final class RowGroupFeed implements AutoCloseable {

  /** Files opened ahead at most, and their bytes. */
  private static final int FILES_AHEAD_MAX = 16;

  static final long BYTES_AHEAD_MAX = 64L << 20;

  /**
   * A fetched row group.
   *
   * @param view its bytes; the taker closes it
   */
  record Piece(
      FileScanTask task, SourceFile.RowGroup rowGroup, DeletedRows deleted, RowGroupView view) {}

  /** A file and those of its row groups that have live rows. */
  private static final class OpenFile {
    final FileScanTask task;
    final SourceFile source;
    final DeletedRows deleted;
    final Iterator<SourceFile.RowGroup> rest;
    SourceFile.@Nullable RowGroup fetching;
    @Nullable Future<RowGroupView> view;

    OpenFile(
        FileScanTask task,
        SourceFile source,
        DeletedRows deleted,
        BiPredicate<FileScanTask, SourceFile.RowGroup> wanted) {
      this.task = task;
      this.source = source;
      this.deleted = deleted;
      this.rest =
          source.rowGroups().stream()
              .filter(rowGroup -> wanted.test(task, rowGroup) && anyLive(rowGroup, deleted))
              .iterator();
    }
  }

  /** Opens a file with the columns wanted. */
  @FunctionalInterface
  interface Opener {
    SourceFile open(FileScanTask task) throws IOException;
  }

  private final Opener opener;
  private final Function<FileScanTask, DeletedRows> deletedRows;
  private final BiPredicate<FileScanTask, SourceFile.RowGroup> wanted;
  private final ExecutorService fetchers;
  private final Iterator<FileScanTask> tasks;
  private final Deque<Future<OpenFile>> ahead = new ArrayDeque<>();
  private final Deque<Long> aheadBytes = new ArrayDeque<>();
  private final long bytesAheadMax;
  private long bytesAhead;
  private volatile boolean closed;
  private @Nullable OpenFile current;

  /**
   * @param wanted asked on any thread; other row groups are not fetched
   */
  RowGroupFeed(
      Opener opener,
      List<FileScanTask> tasks,
      Function<FileScanTask, DeletedRows> deletedRows,
      BiPredicate<FileScanTask, SourceFile.RowGroup> wanted,
      ExecutorService fetchers) {
    this(opener, tasks, deletedRows, wanted, fetchers, BYTES_AHEAD_MAX);
  }

  /**
   * @param wanted asked on any thread; other row groups are not fetched
   * @param bytesAheadMax no file is opened ahead beyond that, and never beyond {@link
   *     #BYTES_AHEAD_MAX}
   */
  RowGroupFeed(
      Opener opener,
      List<FileScanTask> tasks,
      Function<FileScanTask, DeletedRows> deletedRows,
      BiPredicate<FileScanTask, SourceFile.RowGroup> wanted,
      ExecutorService fetchers,
      long bytesAheadMax) {
    this.bytesAheadMax = Math.min(bytesAheadMax, BYTES_AHEAD_MAX);
    this.opener = opener;
    this.deletedRows = deletedRows;
    this.wanted = wanted;
    this.fetchers = fetchers;
    this.tasks = tasks.iterator();
  }

  /** The next row group, or null after the last. */
  @Nullable Piece next() throws IOException {
    while (true) {
      openAhead();
      if (current == null) {
        Future<OpenFile> next = ahead.poll();
        if (next == null) {
          return null;
        }
        bytesAhead -= aheadBytes.remove();
        current = Results.of(next);
      }
      OpenFile file = current;
      Future<RowGroupView> view = file.view;
      SourceFile.RowGroup rowGroup = file.fetching;
      if (view == null || rowGroup == null) {
        current = null;
        file.source.close();
        continue;
      }
      RowGroupView fetched = Results.of(view);
      file.view = null;
      fetchNext(file);
      return new Piece(file.task, rowGroup, file.deleted, fetched);
    }
  }

  private void openAhead() {
    while (tasks.hasNext()
        && ahead.size() < FILES_AHEAD_MAX
        && (ahead.isEmpty() || bytesAhead < bytesAheadMax)) {
      FileScanTask task = tasks.next();
      ahead.add(fetchers.submit(() -> open(task)));
      aheadBytes.add(task.length());
      bytesAhead += task.length();
    }
  }

  private OpenFile open(FileScanTask task) throws IOException {
    if (closed) {
      throw new CancellationException("The group is given up");
    }
    DeletedRows deleted = deletedRows.apply(task);
    SourceFile source = opener.open(task);
    OpenFile file = new OpenFile(task, source, deleted, wanted);
    try {
      if (file.rest.hasNext()) {
        SourceFile.RowGroup first = file.rest.next();
        file.fetching = first;
        RowGroupView view = source.fetch(first);
        file.view = CompletableFuture.completedFuture(view);
      }
      return file;
    } catch (Throwable failure) {
      source.close();
      throw failure;
    }
  }

  private void fetchNext(OpenFile file) {
    if (file.rest.hasNext()) {
      SourceFile.RowGroup rowGroup = file.rest.next();
      file.fetching = rowGroup;
      file.view = fetchers.submit(() -> file.source.fetch(rowGroup));
    } else {
      file.fetching = null;
    }
  }

  private static boolean anyLive(SourceFile.RowGroup rowGroup, DeletedRows deleted) {
    return rowGroup.rows() > 0
        && (!deleted.anyIn(rowGroup.firstPosition(), rowGroup.rows())
            || LiveRows.countIn(deleted, rowGroup.firstPosition(), rowGroup.rows()) > 0);
  }

  /* Nothing is cancelled: a task that is cancelled while it runs would go on and leave its file and
  its view to nobody. Those that have not begun end at once. */
  @Override
  public void close() {
    closed = true;
    Results.settle(ahead);
    for (Future<OpenFile> future : ahead) {
      try {
        release(Results.of(future));
      } catch (IOException | RuntimeException e) {
        continue; // it failed by itself: nothing is open
      }
    }
    ahead.clear();
    if (current != null) {
      release(current);
      current = null;
    }
  }

  private static void release(OpenFile file) {
    Future<RowGroupView> view = file.view;
    file.view = null;
    if (view != null) {
      Results.settle(List.of(view));
      try {
        Results.of(view).close();
      } catch (IOException | RuntimeException e) {
        file.fetching = null; // the fetch failed by itself: there is no view
      }
    }
    file.source.close();
  }
}
