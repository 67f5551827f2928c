package dev.firn.engine;

/**
 * The rows of a group do not add up: rows read less rows deleted are not the rows written (C26).
 * The group is not committed. It is a bug of Firn or a file that changed while it was read.
 */
final class RowsLostException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  RowsLostException(String message) {
    super(message);
  }
}
