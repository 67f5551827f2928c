package dev.firn.engine.cli;

import dev.firn.engine.CompactionListener;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.jspecify.annotations.Nullable;

/** Shows a run's progress on stderr. Closing it ends the display. */
interface Progress extends CompactionListener, AutoCloseable {

  /** A bar on a terminal, lines elsewhere. */
  static Progress on(Terminal terminal) {
    return terminal.interactive() ? new Bar() : new Lines(terminal.err(), 5_000);
  }

  @Override
  void close();

  /** One bar that runs over the input bytes. Thread-safe. */
  final class Bar implements Progress {
    private static final int COLUMNS = 100;

    private @Nullable ProgressBar bar; // null until the plan says how much there is
    private long bytes;
    private int groups;
    private int done;

    @Override
    public synchronized void planned(int planned, long inputBytes) {
      groups = planned;
      if (planned > 0 && bar == null) {
        boolean small = inputBytes < 10 << 20;
        bar =
            new ProgressBarBuilder()
                .setTaskName("compacting")
                .setInitialMax(Math.max(1, inputBytes))
                .setUnit(small ? " KB" : " MB", small ? 1 << 10 : 1 << 20)
                .setStyle(ProgressBarStyle.ASCII)
                .setUpdateIntervalMillis(200)
                .setConsumer(new ConsoleProgressBarConsumer(System.err, COLUMNS))
                .build();
      }
    }

    @Override
    public synchronized void progressed(long inputBytes) {
      bytes += inputBytes;
      if (bar != null) {
        bar.stepTo(Math.min(bar.getMax(), bytes));
      }
    }

    @Override
    public synchronized void rewritten(RewriteFileGroup group) {
      done++;
      if (bar != null) {
        bar.setExtraMessage(" group " + done + " of " + groups);
        if (done == groups) {
          bar.stepTo(bar.getMax());
        }
      }
    }

    @Override
    public synchronized void close() {
      if (bar != null) {
        bar.close();
        bar = null;
      }
    }
  }

  /** Plain lines, for logs; a line for a finished group at most every so often. Thread-safe. */
  final class Lines implements Progress {
    private final PrintWriter err;
    private final long intervalMillis;
    private int groups;
    private int done;
    private long bytes;
    private long bytesDone;
    private long lastLine = System.nanoTime();

    Lines(PrintWriter err, long intervalMillis) {
      this.err = err;
      this.intervalMillis = intervalMillis;
    }

    @Override
    public synchronized void planned(int planned, long inputBytes) {
      groups = planned;
      bytes = inputBytes;
      if (planned > 0) {
        say("%s with %s to rewrite", groups(planned), ByteSize.format(inputBytes));
      }
    }

    @Override
    public synchronized void progressed(long inputBytes) {
      bytesDone += inputBytes;
    }

    @Override
    public synchronized void rewritten(RewriteFileGroup group) {
      done++;
      if (System.nanoTime() - lastLine >= intervalMillis * 1_000_000) {
        say(
            "%d of %d groups rewritten, %s of %s",
            done, groups, ByteSize.format(Math.min(bytes, bytesDone)), ByteSize.format(bytes));
      }
    }

    @Override
    public synchronized void committed(long snapshotId, List<RewriteFileGroup> committed) {
      say("snapshot %d committed with %s", snapshotId, groups(committed.size()));
    }

    @Override
    public synchronized void failed(RewriteFileGroup group, String message) {
      say("group %d failed: %s", group.info().globalIndex(), message);
    }

    private static String groups(int count) {
      return count + (count == 1 ? " group" : " groups");
    }

    private void say(String form, Object... values) {
      err.println("firn: " + String.format(Locale.ROOT, form, values));
      err.flush();
      lastLine = System.nanoTime();
    }

    @Override
    public void close() {}
  }
}
