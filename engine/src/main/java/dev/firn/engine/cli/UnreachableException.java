package dev.firn.engine.cli;

/** A catalog or a table's metadata cannot be read. The message is complete. */
final class UnreachableException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  UnreachableException(String message, Throwable cause) {
    super(message, cause);
  }
}
