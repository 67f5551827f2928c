package dev.firn.engine.parquet;

/** A table holds what this version cannot compact; nothing was read or written. */
public final class UnsupportedTableException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public UnsupportedTableException(String message) {
    super(message);
  }
}
