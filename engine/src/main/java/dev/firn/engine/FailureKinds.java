package dev.firn.engine;

import dev.firn.deletes.CorruptDeleteException;
import dev.firn.deletes.DeleteIndexTooLargeException;
import dev.firn.deletes.UnsupportedDeleteException;
import dev.firn.engine.CompactionReport.FailureKind;
import dev.firn.engine.parquet.CorruptFileException;
import dev.firn.engine.parquet.ScratchException;
import dev.firn.engine.parquet.UnsupportedFileException;
import dev.firn.engine.parquet.UnsupportedTableException;
import dev.firn.io.ShortFileException;
import dev.firn.sort.SortMemoryException;
import dev.firn.sort.SpillException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.Locale;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.exceptions.ValidationException;

/** Tells why a group failed from what was thrown. */
final class FailureKinds {
  private static final int CAUSES_MAX = 16;
  private static final int MESSAGE_CHARS_MAX = 1000;

  private FailureKinds() {}

  static FailureKind of(Throwable failure) {
    Throwable cause = failure;
    for (int depth = 0; cause != null && depth < CAUSES_MAX; depth++, cause = cause.getCause()) {
      if (cause instanceof SortMemoryException
          || cause instanceof GroupMemoryException
          || cause instanceof DeleteIndexTooLargeException
          || cause instanceof OutOfMemoryException
          || cause instanceof OutOfMemoryError) {
        return FailureKind.MEMORY;
      }
      if (cause instanceof StoppedException) {
        return FailureKind.STOPPED;
      }
      if (cause instanceof RowsDifferException) {
        return FailureKind.MISMATCH;
      }
      if (cause instanceof CorruptDeleteException
          || cause instanceof CorruptFileException
          || cause instanceof ShortFileException
          || cause instanceof FileNotFoundException
          || cause instanceof NotFoundException) {
        return FailureKind.CORRUPT;
      }
      if (cause instanceof UnsupportedFileException
          || cause instanceof UnsupportedDeleteException
          || cause instanceof UnsupportedTableException) {
        return FailureKind.UNSUPPORTED;
      }
      if (cause instanceof CommitStateUnknownException) {
        return FailureKind.UNKNOWN;
      }
      if (cause instanceof ValidationException || cause instanceof CommitFailedException) {
        return FailureKind.CONFLICT;
      }
      if (cause instanceof SpillException
          || cause instanceof ScratchException
          || cause instanceof IOException && diskFull(cause)) {
        return FailureKind.DISK;
      }
    }
    return FailureKind.OTHER;
  }

  private static boolean diskFull(Throwable cause) {
    String message = cause.getMessage();
    return message != null
        && (message.toLowerCase(Locale.ROOT).contains("no space left")
            || message.toLowerCase(Locale.ROOT).contains("quota exceeded"));
  }

  /**
   * What to print: the message and that of the first cause, where it adds something. Cut where
   * another library has put a whole file's metadata into it.
   */
  static String message(Throwable failure) {
    String message = brief(failure);
    Throwable root = failure;
    for (int depth = 0; root.getCause() != null && depth < CAUSES_MAX; depth++) {
      root = root.getCause();
    }
    String cause = brief(root);
    if (root instanceof OutOfMemoryException) {
      return "The group's row groups and buffers do not fit in the memory limit; give more memory: "
          + cause;
    }
    return message.contains(cause) ? message : message + " (because of: " + cause + ")";
  }

  /** The message, or the type where there is none. */
  private static String brief(Throwable failure) {
    String message = failure.getMessage();
    if (message == null) {
      return failure.getClass().getSimpleName();
    }
    return message.length() <= MESSAGE_CHARS_MAX
        ? message
        : message.substring(0, MESSAGE_CHARS_MAX) + " ...";
  }
}
