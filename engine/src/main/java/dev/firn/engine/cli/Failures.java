package dev.firn.engine.cli;

import dev.firn.engine.CompactionReport;
import java.io.PrintWriter;

/** What an exception means to the caller of a command. */
final class Failures {
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
    if (failure instanceof IllegalArgumentException || failure instanceof UsageException) {
      return ExitCode.USAGE;
    }
    return ExitCode.of(CompactionReport.FailureKind.of(failure).exitCode());
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
    return codeOf(failure) == ExitCode.FAILED && !(failure instanceof UnreachableException)
        ? failure.getClass().getSimpleName() + ": " + message
        : message;
  }
}
