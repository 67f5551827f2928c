package dev.firn.io;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * One call of a reader: its requests, its target and how it ends.
 *
 * <p>It ends once: when every request is delivered, with the first failure, or when the caller is
 * interrupted. From then on nothing is written to the target. Workers are never interrupted, since
 * an interrupt in the middle of a write would close the caller's channel; a worker that is stuck in
 * a socket meanwhile finds the transfer over when it comes back, and stops.
 */
final class Transfer {

  /** How long a caller whose read failed waits for lanes to close their streams. */
  private static final long LANES_END_MILLIS_MAX = 1_000;

  private final String location;
  private final RangeReader.Target target;

  // All guarded by this.
  private final Queue<RangeRequest> waiting;
  private int unfinished;
  private int lanes;
  private int writing;
  private boolean over;
  private @Nullable Throwable failure;
  private @Nullable String entityTag;

  Transfer(String location, List<RangeRequest> requests, int lanes, RangeReader.Target target) {
    this.location = location;
    this.target = target;
    this.waiting = new ArrayDeque<>(requests);
    this.unfinished = requests.size();
    this.lanes = lanes;
    this.over = requests.isEmpty();
  }

  String location() {
    return location;
  }

  /** The next request to read, or null when there is none or the transfer is over. */
  synchronized @Nullable RangeRequest next() {
    return over ? null : waiting.poll();
  }

  synchronized void finished() {
    unfinished--;
    if (unfinished == 0) {
      over = true;
      notifyAll();
    }
  }

  synchronized void fail(Throwable why) {
    if (!over) {
      over = true;
      failure = why;
      notifyAll();
    }
  }

  synchronized void laneEnded() {
    lanes--;
    notifyAll();
  }

  /** Throws if the transfer is over. */
  synchronized void check() throws InterruptedIOException {
    if (over) {
      throw new InterruptedIOException("The read of " + location + " was ended");
    }
  }

  /** Writes all remaining bytes to the target, unless the transfer is over. */
  void write(ByteBuffer bytes, long offset) throws IOException {
    synchronized (this) {
      check();
      writing++;
    }
    try {
      target.write(bytes, offset);
    } catch (IOException | RuntimeException e) {
      throw new TargetException(
          "Cannot write " + bytes.remaining() + " bytes read from " + location + ": " + e, e);
    } finally {
      synchronized (this) {
        writing--;
        notifyAll();
      }
    }
  }

  /**
   * Reads bytes of a file straight into the target, as far as that has room for them in one piece.
   *
   * @param most how many, positive
   * @return how many were read; 0 if the target has no such room, -1 at the end of the file
   */
  int read(FileChannel file, long position, int most, long offset) throws IOException {
    synchronized (this) {
      check();
      writing++;
    }
    try {
      ByteBuffer room = target.room(offset);
      if (room == null) {
        return 0;
      }
      return file.read(room.limit(Math.min(room.limit(), room.position() + most)), position);
    } finally {
      synchronized (this) {
        writing--;
        notifyAll();
      }
    }
  }

  /**
   * Holds the object's entity tag against that of the requests before.
   *
   * @param tag null if the store gave none
   */
  synchronized void sameObject(@Nullable String tag) throws FinalIOException {
    if (tag == null) {
      return;
    }
    if (entityTag == null) {
      entityTag = tag;
    } else if (!entityTag.equals(tag)) {
      throw new FinalIOException(
          "Cannot read "
              + location
              + ": it was overwritten while being read (entity tag "
              + entityTag
              + ", then "
              + tag
              + "). Files of a table must not change: find out what writes there.",
          null);
    }
  }

  /** Waits before a request is made again. */
  synchronized void pause(long millis) throws InterruptedIOException {
    long until = System.nanoTime() + millis * 1_000_000;
    for (long left = millis; left > 0 && !over; left = (until - System.nanoTime()) / 1_000_000) {
      try {
        wait(left);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("Waiting to read " + location + " was interrupted");
      }
    }
    check();
  }

  /** Waits until all is delivered. */
  void await() throws IOException {
    Throwable why;
    boolean interrupted = false;
    synchronized (this) {
      while (!over) {
        try {
          wait();
        } catch (InterruptedException e) {
          interrupted = true;
          over = true;
          notifyAll();
        }
      }
      boolean delivered = unfinished == 0;
      long until = System.nanoTime() + LANES_END_MILLIS_MAX * 1_000_000;
      // Writes in progress end at once; streams are closed by their lanes.
      while (writing > 0 || lanes > 0) {
        long left = (until - System.nanoTime()) / 1_000_000;
        if (writing == 0 && !delivered && left <= 0) {
          break;
        }
        try {
          wait(Math.max(1, left));
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      why = failure;
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
      if (delivered) {
        return;
      }
    }
    if (why == null) {
      throw new InterruptedIOException(
          "Reading " + location + " was interrupted; its target is incomplete");
    }
    if (why instanceof IOException e) {
      throw e;
    }
    if (why instanceof Error e) {
      throw e;
    }
    throw new IOException("Cannot read " + location + ": " + why, why);
  }
}
