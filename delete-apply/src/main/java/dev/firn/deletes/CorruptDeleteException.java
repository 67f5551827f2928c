package dev.firn.deletes;

/**
 * Metadata and content of a delete file contradict the table format, so that what it deletes cannot
 * be known. The group must not be rewritten: skipping the delete would bring rows back.
 */
public final class CorruptDeleteException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CorruptDeleteException(String message) {
    super(message);
  }

  CorruptDeleteException(String message, Throwable cause) {
    super(message, cause);
  }
}
