package dev.firn.deletes;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** Does jobs side by side on threads that begin them in the order they are given to them. */
final class Jobs {
  /** What jobs may hold at once, together; a larger one runs alone. */
  private static final long BYTES_AT_ONCE_MAX = 64L << 20;

  private Jobs() {}

  /** One job. */
  @FunctionalInterface
  interface Work<T> {
    T run(Turn turn) throws IOException;
  }

  /**
   * @param bytes about what it holds while it runs, 0 if next to nothing
   */
  record Job<T>(long bytes, Work<T> work) {}

  /** Lets a job go on alone. */
  static final class Turn {
    private final @Nullable FutureTask<?> previous; // null for the first job
    private final AtomicBoolean abandoned;

    private Turn(@Nullable FutureTask<?> previous, AtomicBoolean abandoned) {
      this.previous = previous;
      this.abandoned = abandoned;
    }

    /** Waits until the job before this one has ended. Throws if that is in vain. */
    void await() {
      if (previous != null) {
        settle(previous);
      }
      if (abandoned.get()) {
        throw new CancellationException("A job before this one has failed");
      }
    }
  }

  /**
   * Runs all jobs, and ends when all have ended.
   *
   * @return their results in their order
   * @throws IOException what the first job in that order that failed has thrown; or that or another
   *     RuntimeException
   */
  static <T> List<T> run(List<Job<T>> jobs, Executor threads) throws IOException {
    List<T> results = new ArrayList<>(jobs.size());
    List<FutureTask<T>> begun = new ArrayList<>(jobs.size());
    AtomicBoolean abandoned = new AtomicBoolean();
    long bytesAtOnce = 0;
    try {
      for (Job<T> job : jobs) {
        while (results.size() < begun.size() && bytesAtOnce + job.bytes > BYTES_AT_ONCE_MAX) {
          int oldest = results.size();
          results.add(resultOf(begun.get(oldest)));
          bytesAtOnce -= jobs.get(oldest).bytes;
        }
        Turn turn = new Turn(begun.isEmpty() ? null : begun.get(begun.size() - 1), abandoned);
        FutureTask<T> task =
            new FutureTask<>(
                () -> {
                  if (abandoned.get()) {
                    throw new CancellationException("A job before this one has failed");
                  }
                  return job.work.run(turn);
                });
        begun.add(task);
        threads.execute(task);
        bytesAtOnce += job.bytes;
      }
      while (results.size() < begun.size()) {
        results.add(resultOf(begun.get(results.size())));
      }
      return results;
    } finally {
      if (results.size() < begun.size()) {
        abandoned.set(true);
        begun.forEach(Jobs::settle);
      }
    }
  }

  private static <T> T resultOf(FutureTask<T> task) throws IOException {
    try {
      return task.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      InterruptedIOException interrupted =
          new InterruptedIOException("Interrupted: the group is left as it was");
      interrupted.initCause(e);
      throw interrupted;
    } catch (ExecutionException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      if (cause instanceof IOException io) {
        throw io;
      }
      if (cause instanceof RuntimeException runtime) {
        throw runtime;
      }
      if (cause instanceof Error error) {
        throw error;
      }
      throw new IOException(cause);
    }
  }

  /** Waits until the task has ended, whatever comes of it. */
  private static void settle(FutureTask<?> task) {
    boolean interrupted = false;
    while (!task.isDone()) {
      try {
        task.get();
      } catch (InterruptedException e) {
        interrupted = true;
      } catch (ExecutionException e) {
        break; // told to whoever asks for the result
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
