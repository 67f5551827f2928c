package dev.firn.engine.cli;

import java.io.PrintWriter;
import java.util.Locale;

/** Lines of progress for logs, of which some are said at most every so often. Thread-safe. */
final class SparseLines {
  private final PrintWriter err;
  private final long intervalMillis;
  private long lastLine = System.nanoTime();

  SparseLines(PrintWriter err, long intervalMillis) {
    this.err = err;
    this.intervalMillis = intervalMillis;
  }

  /** Whether the last line is long enough ago. */
  synchronized boolean isDue() {
    return System.nanoTime() - lastLine >= intervalMillis * 1_000_000;
  }

  synchronized void say(String form, Object... values) {
    err.println("firn: " + String.format(Locale.ROOT, form, values));
    err.flush();
    lastLine = System.nanoTime();
  }
}
