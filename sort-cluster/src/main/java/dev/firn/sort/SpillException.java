package dev.firn.sort;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * A sorted run could not be written to the scratch directory, or not be read back as it was
 * written. The sorter can only be closed.
 */
public final class SpillException extends IOException {
  private static final long serialVersionUID = 1L;

  private final boolean diskFull;

  private SpillException(String message, boolean diskFull, @Nullable Throwable cause) {
    super(message, cause);
    this.diskFull = diskFull;
  }

  static SpillException writing(Path file, Throwable cause) {
    boolean full = isFull(cause);
    return new SpillException(
        "Cannot write rows that are being sorted to "
            + file
            + ": "
            + reason(cause)
            + ". The sort is given up and its scratch files are removed. "
            + (full
                ? "Free space there or name another scratch directory."
                : "Name a scratch directory that exists and can be written to."),
        full,
        cause);
  }

  static SpillException reading(Path file, Throwable cause) {
    return corrupt(file, reason(cause), cause);
  }

  static SpillException corrupt(Path file, String why, @Nullable Throwable cause) {
    return new SpillException(
        "Cannot read back rows that are being sorted from "
            + file
            + ": "
            + why
            + ". The sort is given up, with its rows incomplete, and its scratch files are removed."
            + " Run it again; if that fails too, with a scratch directory on another disk.",
        false,
        cause);
  }

  /** What a task failed with that throws nothing else that is checked; the rest is thrown here. */
  static SpillException of(ExecutionException failed) {
    Throwable cause = failed.getCause();
    if (cause instanceof SpillException spill) {
      return spill;
    } else if (cause instanceof RuntimeException runtime) {
      throw runtime;
    } else if (cause instanceof Error error) {
      throw error;
    }
    throw new IllegalStateException(cause);
  }

  private static String reason(Throwable cause) {
    String message = cause.getMessage();
    return cause.getClass().getSimpleName() + (message == null ? "" : ": " + message);
  }

  private static boolean isFull(Throwable cause) {
    String message = cause.getMessage();
    if (message == null) {
      return false;
    }
    String lower = message.toLowerCase(Locale.ROOT);
    return lower.contains("no space left")
        || lower.contains("quota exceeded")
        || lower.contains("not enough space");
  }

  /** Whether the disk of the scratch directory, or the quota on it, is full. */
  public boolean isDiskFull() {
    return diskFull;
  }
}
