package dev.firn.engine.parquet;

/** A file of the table is sound, but holds what this version cannot read. */
public final class UnsupportedFileException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public UnsupportedFileException(String message) {
    super(message);
  }

  public UnsupportedFileException(String message, Throwable cause) {
    super(message, cause);
  }
}
