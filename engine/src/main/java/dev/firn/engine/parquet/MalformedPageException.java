package dev.firn.engine.parquet;

/**
 * The bytes of a page are not what its header and its encoding ask for. The message is a clause
 * without the file and the column, which {@link PageContent} does not know: the caller adds them.
 */
final class MalformedPageException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  MalformedPageException(String message) {
    super(message);
  }
}
