package dev.firn.engine;

/** A file group needs more memory than it may have. It is not committed. */
final class GroupMemoryException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  GroupMemoryException(String message) {
    super(message);
  }
}
