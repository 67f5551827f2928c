package dev.firn.engine.cli;

import dev.firn.deletes.CorruptDeleteException;
import dev.firn.deletes.DeleteIndexTooLargeException;
import dev.firn.deletes.UnsupportedDeleteException;
import dev.firn.engine.UnsupportedTableException;
import dev.firn.engine.parquet.CorruptFileException;
import dev.firn.engine.parquet.UnsupportedFileException;
import dev.firn.sort.SortMemoryException;
import java.io.PrintWriter;
import java.util.List;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.exceptions.ValidationException;
import org.jspecify.annotations.Nullable;

/** What an exception means to the caller of a command. */
final class Failures {
  private static final List<Class<? extends RuntimeException>> INPUT =
      List.of(
          UnsupportedTableException.class,
          dev.firn.engine.parquet.UnsupportedTableException.class,
          UnsupportedFileException.class,
          CorruptFileException.class,
          UnsupportedDeleteException.class,
          CorruptDeleteException.class);

  private Failures() {}

  /** Says what went wrong; the last line is the outcome in words. Returns the exit code. */
  static int report(Throwable failure, Terminal terminal, boolean debug) {
    PrintWriter err = terminal.err();
    ExitCode code = codeOf(failure);
    err.println("firn: " + messageOf(failure));
    if (debug) {
      failure.printStackTrace(err);
    } else if (code == ExitCode.FAILED) {
      err.println("firn: --debug shows where");
    }
    lastLine(err, code);
    return code.code();
  }

  static void lastLine(PrintWriter err, ExitCode code) {
    err.println("firn: " + code.words() + " (exit code " + code.code() + ")");
    err.flush();
  }

  static ExitCode codeOf(Throwable failure) {
    // Only as itself: deep inside another exception it is a fault of ours and not of the caller.
    if (failure instanceof IllegalArgumentException) {
      return ExitCode.USAGE;
    }
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      ExitCode code = ownCode(cause);
      if (code != null) {
        return code;
      }
    }
    return ExitCode.FAILED;
  }

  private static @Nullable ExitCode ownCode(Throwable failure) {
    if (failure instanceof UsageException) {
      return ExitCode.USAGE;
    } else if (failure instanceof CommitStateUnknownException) {
      return ExitCode.UNKNOWN;
    } else if (INPUT.stream().anyMatch(kind -> kind.isInstance(failure))) {
      return ExitCode.INPUT;
    } else if (failure instanceof ValidationException || failure instanceof CommitFailedException) {
      return ExitCode.CONFLICT;
    } else if (failure instanceof OutOfMemoryError
        || failure instanceof SortMemoryException
        || failure instanceof DeleteIndexTooLargeException
        || isDiskFull(failure)) {
      return ExitCode.RESOURCES;
    }
    return null;
  }

  private static boolean isDiskFull(Throwable failure) {
    String message = failure.getMessage();
    return failure instanceof java.io.IOException
        && message != null
        && (message.contains("No space left on device") || message.contains("Disk quota exceeded"));
  }

  private static String messageOf(Throwable failure) {
    String message = failure.getMessage();
    if (failure instanceof OutOfMemoryError) {
      return "out of memory ("
          + message
          + "). Nothing was committed by what failed. Give more with --memory.";
    }
    if (message == null || message.isBlank()) {
      return failure.toString();
    }
    // The message of an exception of others rarely says what kind of thing went wrong.
    return codeOf(failure) == ExitCode.FAILED
        ? failure.getClass().getSimpleName() + ": " + message
        : message;
  }
}
