package dev.firn.engine.cli;

import dev.firn.engine.Verification;
import java.io.PrintWriter;
import java.util.Locale;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/** Shows on stderr how far a verification has read. Closing it ends the display. */
interface VerifyProgress extends Verification.Listener, AutoCloseable {

  /** A bar on a terminal, lines elsewhere. */
  static VerifyProgress on(Terminal terminal) {
    return terminal.interactive() ? new Bar() : new Lines(terminal.err(), 5_000);
  }

  @Override
  void close();

  /** One bar that runs over the bytes read. Thread-safe. */
  final class Bar implements VerifyProgress {
    private static final int COLUMNS = 100;

    private @Nullable ProgressBar bar; // null until it is known how much there is
    private long bytes;

    @Override
    public synchronized void planned(long files, long inputBytes) {
      boolean small = inputBytes < 10 << 20;
      bar =
          new ProgressBarBuilder()
              .setTaskName("verifying")
              .setInitialMax(Math.max(1, inputBytes))
              .setUnit(small ? " KB" : " MB", small ? 1 << 10 : 1 << 20)
              .setStyle(ProgressBarStyle.ASCII)
              .setUpdateIntervalMillis(200)
              .setConsumer(new ConsoleProgressBarConsumer(System.err, COLUMNS))
              .build();
    }

    @Override
    public synchronized void progressed(long inputBytes) {
      bytes += inputBytes;
      if (bar != null) {
        bar.stepTo(Math.min(bar.getMax(), bytes));
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

  /** Plain lines, for logs, at most every so often. Thread-safe. */
  final class Lines implements VerifyProgress {
    private final PrintWriter err;
    private final long intervalMillis;
    private long bytes;
    private long bytesDone;
    private long lastLine = System.nanoTime();

    Lines(PrintWriter err, long intervalMillis) {
      this.err = err;
      this.intervalMillis = intervalMillis;
    }

    @Override
    public synchronized void planned(long files, long inputBytes) {
      bytes = inputBytes;
      say("%,d data files with %s to compare", files, ByteSize.format(inputBytes));
    }

    @Override
    public synchronized void progressed(long inputBytes) {
      bytesDone += inputBytes;
      if (System.nanoTime() - lastLine >= intervalMillis * 1_000_000) {
        if (bytesDone <= bytes) {
          say("%s of %s read", ByteSize.format(bytesDone), ByteSize.format(bytes));
        } else {
          say("looking for the rows that differ");
        }
      }
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
