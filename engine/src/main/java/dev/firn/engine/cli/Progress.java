package dev.firn.engine.cli;

import dev.firn.engine.CompactionListener;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import org.apache.iceberg.actions.RewriteFileGroup;

/** Shows a run's progress on stderr. Closing it ends the display. */
interface Progress extends CompactionListener, AutoCloseable {

  /** A bar on a terminal, lines elsewhere. */
  static Progress on(Terminal terminal) {
    return terminal.interactive() ? new Bar(terminal.err()) : new Lines(terminal.err(), 5_000);
  }

  @Override
  void close();

  /** One bar that runs over the input bytes. Thread-safe. */
  final class Bar implements Progress {
    private final PrintWriter err;
    private final ByteBar bar = new ByteBar("compacting");
    private long bytes;
    private int groups;
    private int done;

    Bar(PrintWriter err) {
      this.err = err;
    }

    @Override
    public void scratchNeeded(long scratchBytes, Path directory) {
      err.println("firn: " + ScratchText.need(scratchBytes, directory));
      err.flush();
    }

    @Override
    public synchronized void planned(int planned, long inputBytes) {
      groups = planned;
      bytes = inputBytes;
      if (planned > 0) {
        bar.begin(inputBytes);
      }
    }

    @Override
    public void progressed(long inputBytes) {
      bar.add(inputBytes);
    }

    @Override
    public synchronized void rewritten(RewriteFileGroup group) {
      done++;
      bar.message(" group " + done + " of " + groups);
      if (done == groups) {
        bar.add(bytes); // what had no live row was not read
      }
    }

    @Override
    public void close() {
      bar.close();
    }
  }

  /** Plain lines, for logs; a line for a finished group at most every so often. Thread-safe. */
  final class Lines implements Progress {
    private final SparseLines lines;
    private int groups;
    private int done;
    private long bytes;
    private long bytesDone;

    Lines(PrintWriter err, long intervalMillis) {
      this.lines = new SparseLines(err, intervalMillis);
    }

    @Override
    public synchronized void planned(int planned, long inputBytes) {
      groups = planned;
      bytes = inputBytes;
      if (planned > 0) {
        lines.say("%s with %s to rewrite", groups(planned), ByteSize.format(inputBytes));
      }
    }

    @Override
    public synchronized void scratchNeeded(long scratchBytes, Path directory) {
      lines.say("%s", ScratchText.need(scratchBytes, directory));
    }

    @Override
    public synchronized void progressed(long inputBytes) {
      bytesDone += inputBytes;
    }

    @Override
    public synchronized void rewritten(RewriteFileGroup group) {
      done++;
      if (lines.isDue()) {
        lines.say(
            "%d of %d groups rewritten, %s of %s",
            done, groups, ByteSize.format(Math.min(bytes, bytesDone)), ByteSize.format(bytes));
      }
    }

    @Override
    public synchronized void committed(long snapshotId, List<RewriteFileGroup> committed) {
      lines.say("snapshot %d committed with %s", snapshotId, groups(committed.size()));
    }

    @Override
    public synchronized void failed(RewriteFileGroup group, String message) {
      lines.say("group %d failed: %s", group.info().globalIndex(), message);
    }

    private static String groups(int count) {
      return count + (count == 1 ? " group" : " groups");
    }

    @Override
    public void close() {}
  }
}
