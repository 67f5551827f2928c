package dev.firn.engine.parquet;

/**
 * A page that may be sound but is not to be taken apart by {@link PageContent}: others read it. The
 * message is a clause without the file and the column.
 */
public final class UnsupportedPageException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  UnsupportedPageException(String message) {
    super(message);
  }
}
