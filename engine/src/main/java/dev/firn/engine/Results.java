package dev.firn.engine;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Collection;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

/** Waits for work done on other threads and gives its result, or throws what it threw. */
final class Results {
  private Results() {}

  static <T> T of(Future<T> future) throws IOException {
    try {
      return future.get();
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

  /** Waits until all are done, whatever comes of them. */
  static void settle(Collection<? extends Future<?>> futures) {
    boolean interrupted = false;
    for (Future<?> future : futures) {
      while (!future.isDone()) {
        try {
          future.get();
        } catch (InterruptedException e) {
          interrupted = true;
        } catch (CancellationException | ExecutionException e) {
          break; // told to whoever asks for the result
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
