package dev.firn.engine;

/**
 * The files that a group was written to do not hold the live rows of its inputs, as reading them
 * back has shown. The group is not committed and its outputs are removed.
 */
final class RowsDifferException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  RowsDifferException(String message) {
    super(message);
  }
}
