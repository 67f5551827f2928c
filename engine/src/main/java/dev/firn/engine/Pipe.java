package dev.firn.engine;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Carries items from the thread that makes them to the one that uses them, a few ahead, so that
 * both work at once. Whatever ends it, no item is left open and nothing of the maker still runs
 * when {@link #run} returns.
 */
final class Pipe<T extends AutoCloseable> {

  /** Makes items and puts each, from first to last. */
  @FunctionalInterface
  interface Maker<T> {
    void run(Taker<T> to) throws IOException;
  }

  /** Takes an item, which stays open during the call. */
  @FunctionalInterface
  interface Taker<T> {
    void accept(T item) throws IOException;
  }

  /** What an item takes of the room there is. */
  @FunctionalInterface
  interface Size<T> {
    long of(T item);
  }

  /** Items that wait; more would only take memory. */
  private static final int ITEMS_MAX = 8;

  private final Size<T> size;
  private final long roomMax;

  private record Item<T>(T content, long size) {}

  /* All guarded by this. */
  private final Deque<Item<T>> items = new ArrayDeque<>();
  private long taken; // by items that wait and the one in use
  private boolean ended; // the maker puts no more and holds nothing
  private boolean givenUp;
  private @Nullable Throwable failure; // of the maker

  private Pipe(Size<T> size, long roomMax) {
    this.size = size;
    this.roomMax = roomMax;
  }

  /**
   * Makes items on a thread of the executor and uses them, in their order, on this one. Closes each
   * when it has been used.
   *
   * @param roomMax what items that wait and the one in use may take together; one alone always may
   * @throws IOException what maker or taker throw, as they throw it, or an interruption
   */
  static <T extends AutoCloseable> void run(
      Executor executor, long roomMax, Size<T> size, Maker<T> maker, Taker<T> taker)
      throws IOException {
    Pipe<T> pipe = new Pipe<>(size, roomMax);
    executor.execute(() -> pipe.make(maker));
    try {
      for (Item<T> item = pipe.take(); item != null; item = pipe.take()) {
        use(item.content(), taker);
        pipe.used(item);
      }
    } catch (Throwable failed) {
      pipe.giveUp(failed);
      throw failed;
    }
  }

  /** Does the same on this thread alone. */
  static <T extends AutoCloseable> void run(Maker<T> maker, Taker<T> taker) throws IOException {
    maker.run(item -> use(item, taker));
  }

  private static <T extends AutoCloseable> void use(T item, Taker<T> taker) throws IOException {
    Throwable failed = null;
    try {
      taker.accept(item);
    } catch (Throwable thrown) {
      failed = thrown;
      throw thrown;
    } finally {
      close(item, failed);
    }
  }

  private static void close(AutoCloseable item, @Nullable Throwable failed) {
    try {
      item.close();
    } catch (Exception e) {
      if (failed == null) {
        throw new IllegalStateException("Cannot release " + item, e);
      }
      failed.addSuppressed(e);
    }
  }

  // ---- the maker's side

  private void make(Maker<T> maker) {
    Throwable thrown = null;
    try {
      maker.run(this::put);
    } catch (Throwable failed) {
      thrown = failed;
    }
    synchronized (this) {
      ended = true;
      failure = thrown;
      notifyAll();
    }
  }

  private void put(T item) throws IOException {
    boolean taken = false;
    try {
      taken = offer(item);
    } finally {
      if (!taken) {
        close(item, null);
      }
    }
    if (!taken) {
      throw new CancellationException("What this is for is given up");
    }
  }

  private synchronized boolean offer(T item) throws IOException {
    long more = size.of(item);
    try {
      while (!givenUp && (items.size() >= ITEMS_MAX || (taken > 0 && taken + more > roomMax))) {
        wait();
      }
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    if (givenUp) {
      return false;
    }
    items.add(new Item<>(item, more));
    taken += more;
    notifyAll();
    return true;
  }

  // ---- the taker's side

  /** The next item, or null after the last. */
  private synchronized @Nullable Item<T> take() throws IOException {
    try {
      while (items.isEmpty() && !ended) {
        wait();
      }
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    Item<T> item = items.poll();
    if (item == null && failure != null) {
      throw rethrown(failure);
    }
    notifyAll();
    return item;
  }

  private synchronized void used(Item<T> item) {
    taken -= item.size();
    notifyAll();
  }

  private static IOException rethrown(Throwable thrown) {
    if (thrown instanceof IOException io) {
      return io;
    } else if (thrown instanceof RuntimeException runtime) {
      throw runtime;
    } else if (thrown instanceof Error error) {
      throw error;
    }
    return new IOException(thrown);
  }

  private static InterruptedIOException interrupted(InterruptedException cause) {
    Thread.currentThread().interrupt();
    InterruptedIOException interrupted =
        new InterruptedIOException("Interrupted: the group is left as it was");
    interrupted.initCause(cause);
    return interrupted;
  }

  /** Stops the maker, waits for it, interrupted or not, and releases what waits. */
  private void giveUp(Throwable why) {
    boolean interrupted = false;
    synchronized (this) {
      givenUp = true;
      notifyAll();
      while (!ended) {
        try {
          wait();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      items.forEach(item -> close(item.content(), why));
      items.clear();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
