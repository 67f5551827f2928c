package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Does something for each column, on several threads at once. The calling thread takes part, so
 * that it never waits for a pool that is busy.
 */
final class ColumnTasks {
  /** What is done for one column. */
  @FunctionalInterface
  interface Task {
    void run(int column) throws IOException;
  }

  private final Executor executor;
  private final int parallelism;

  ColumnTasks(Executor executor, int parallelism) {
    this.executor = executor;
    this.parallelism = parallelism;
  }

  /** What other threads are had from. */
  Executor executor() {
    return executor;
  }

  /** Runs {@code task} for the columns from 0 to {@code columns}; throws the first failure. */
  void forEach(int columns, Task task) throws IOException {
    int helpers = Math.min(parallelism, columns) - 1;
    if (helpers <= 0) {
      for (int column = 0; column < columns; column++) {
        task.run(column);
      }
      return;
    }
    Round round = new Round(columns, task);
    for (int i = 0; i < helpers; i++) {
      try {
        executor.execute(round);
      } catch (RejectedExecutionException full) {
        break; // this thread does the rest
      }
    }
    round.run();
    round.await();
  }

  private static final class Round implements Runnable {
    private final int columns;
    private final Task task;
    private final AtomicInteger next = new AtomicInteger();
    private final CountDownLatch open;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    Round(int columns, Task task) {
      this.columns = columns;
      this.task = task;
      this.open = new CountDownLatch(columns);
    }

    /* A thread that comes late finds no column left and touches nothing. */
    @Override
    public void run() {
      for (int column = next.getAndIncrement(); column < columns; column = next.getAndIncrement()) {
        try {
          if (failure.get() == null) {
            task.run(column);
          }
        } catch (Throwable thrown) {
          if (!failure.compareAndSet(null, thrown)) {
            Throwable first = failure.get();
            if (first != null && first != thrown) {
              first.addSuppressed(thrown);
            }
          }
        } finally {
          open.countDown();
        }
      }
    }

    /* Not to be interrupted: the columns in work use the batch, which the caller frees. */
    void await() throws IOException {
      boolean interrupted = false;
      while (true) {
        try {
          open.await();
          break;
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
      Throwable thrown = failure.get();
      if (thrown instanceof IOException io) {
        throw io;
      } else if (thrown instanceof RuntimeException runtime) {
        throw runtime;
      } else if (thrown instanceof Error error) {
        throw error;
      } else if (thrown != null) {
        throw new IOException(thrown);
      }
    }
  }
}
