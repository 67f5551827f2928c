package dev.firn.engine.cli;

import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/** A bar on stderr that runs over bytes; nothing before it is begun. Thread-safe. */
final class ByteBar implements AutoCloseable {
  private static final int COLUMNS = 100;

  private final String task;
  private @Nullable ProgressBar bar; // null until it is known how much there is
  private long bytes;

  /**
   * @param task what is shown before the bar
   */
  ByteBar(String task) {
    this.task = task;
  }

  /** Shows the bar; not again, if it is there. */
  synchronized void begin(long allBytes) {
    if (bar == null) {
      boolean small = allBytes < 10 << 20;
      bar =
          new ProgressBarBuilder()
              .setTaskName(task)
              .setInitialMax(Math.max(1, allBytes))
              .setUnit(small ? " KB" : " MB", small ? 1 << 10 : 1 << 20)
              .setStyle(ProgressBarStyle.ASCII)
              .setUpdateIntervalMillis(200)
              .setConsumer(new ConsoleProgressBarConsumer(System.err, COLUMNS))
              .build();
    }
  }

  /** Goes on by so many bytes, to the end at most. */
  synchronized void add(long moreBytes) {
    bytes += moreBytes;
    if (bar != null) {
      bar.stepTo(Math.min(bar.getMax(), bytes));
    }
  }

  synchronized void message(String text) {
    if (bar != null) {
      bar.setExtraMessage(text);
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
