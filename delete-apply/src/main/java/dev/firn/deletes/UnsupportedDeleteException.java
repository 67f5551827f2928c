package dev.firn.deletes;

/**
 * A delete file that may be sound but that cannot be applied with certainty: an equality field that
 * no schema of the table holds any more (rule D14), or one of a type that has no equality. The
 * group must not be rewritten: skipping the delete would bring rows back.
 */
public final class UnsupportedDeleteException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  UnsupportedDeleteException(String message) {
    super(message);
  }
}
