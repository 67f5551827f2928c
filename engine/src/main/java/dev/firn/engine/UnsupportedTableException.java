package dev.firn.engine;

/**
 * The table holds something that Firn does not do yet. Thrown before any work: the table and its
 * files are as they were.
 */
public final class UnsupportedTableException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * @param message what is not done, by name, and where it was found
   */
  public UnsupportedTableException(String message) {
    super(message);
  }
}
