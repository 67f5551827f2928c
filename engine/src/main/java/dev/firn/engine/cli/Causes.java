package dev.firn.engine.cli;

import java.util.LinkedHashSet;
import java.util.Set;

/** The reasons in an exception and its causes: the outermost of a client rarely says why. */
final class Causes {
  private static final int CAUSES_MAX = 8;

  private Causes() {}

  /** Message by message, each once, from the outermost to the innermost. */
  static String of(Throwable failure) {
    Set<String> words = new LinkedHashSet<>();
    Throwable cause = failure;
    for (int depth = 0; cause != null && depth < CAUSES_MAX; depth++, cause = cause.getCause()) {
      String message = cause.getMessage();
      String text =
          message == null || message.isBlank() ? cause.getClass().getSimpleName() : message.trim();
      // Java's own wrapping repeats the message of what it wraps.
      if (words.stream().noneMatch(earlier -> earlier.contains(text))) {
        words.add(text);
      }
    }
    return String.join(": ", words);
  }
}
