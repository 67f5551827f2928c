package dev.firn.engine.cli;

import dev.firn.engine.Verification;
import java.io.PrintWriter;

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
    private final ByteBar bar = new ByteBar("verifying");

    @Override
    public void planned(long files, long inputBytes) {
      bar.begin(inputBytes);
    }

    @Override
    public void progressed(long inputBytes) {
      bar.add(inputBytes);
    }

    @Override
    public void close() {
      bar.close();
    }
  }

  /** Plain lines, for logs, at most every so often. Thread-safe. */
  final class Lines implements VerifyProgress {
    private final SparseLines lines;
    private long bytes;
    private long bytesDone;

    Lines(PrintWriter err, long intervalMillis) {
      this.lines = new SparseLines(err, intervalMillis);
    }

    @Override
    public synchronized void planned(long files, long inputBytes) {
      bytes = inputBytes;
      lines.say("%,d data files with %s to compare", files, ByteSize.format(inputBytes));
    }

    @Override
    public synchronized void progressed(long inputBytes) {
      bytesDone += inputBytes;
      if (lines.isDue()) {
        if (bytesDone <= bytes) {
          lines.say("%s of %s read", ByteSize.format(bytesDone), ByteSize.format(bytes));
        } else {
          lines.say("looking for the rows that differ");
        }
      }
    }

    @Override
    public void close() {}
  }
}
