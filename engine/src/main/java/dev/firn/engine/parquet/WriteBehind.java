package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * One write that is done on another thread while this one goes on. Waiting for it does it, if no
 * thread has begun it, so that a pool that is busy is not waited for. Used by one thread.
 */
final class WriteBehind {
  /** What is written. */
  @FunctionalInterface
  interface Write {
    void run() throws IOException;
  }

  private final Executor executor;
  private @Nullable FutureTask<Void> pending; // null between writes

  WriteBehind(Executor executor) {
    this.executor = executor;
  }

  /** Begins a write. The one before must have been waited for. */
  void start(Write write) {
    if (pending != null) {
      throw new IllegalStateException("A write is under way");
    }
    FutureTask<Void> task =
        new FutureTask<>(
            () -> {
              write.run();
              return null;
            });
    pending = task;
    try {
      executor.execute(task);
    } catch (RejectedExecutionException full) {
      task.run();
    }
  }

  boolean isPending() {
    return pending != null;
  }

  /**
   * Waits until what was begun is written, which is not interrupted: its buffers are freed after.
   *
   * @throws IOException if it cannot be written
   */
  void await() throws IOException {
    FutureTask<Void> task = pending;
    if (task == null) {
      return;
    }
    pending = null;
    task.run();
    boolean interrupted = false;
    try {
      while (true) {
        try {
          task.get();
          return;
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } catch (ExecutionException failed) {
      Throwable cause = failed.getCause();
      if (cause instanceof IOException io) {
        throw io;
      } else if (cause instanceof RuntimeException runtime) {
        throw runtime;
      } else if (cause instanceof Error error) {
        throw error;
      }
      throw new IOException(cause);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
