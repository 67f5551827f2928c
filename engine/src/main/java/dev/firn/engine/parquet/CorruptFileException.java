package dev.firn.engine.parquet;

/** A file of the table contradicts itself, its schema or the table's metadata. */
public final class CorruptFileException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public CorruptFileException(String message) {
    super(message);
  }

  public CorruptFileException(String message, Throwable cause) {
    super(message, cause);
  }
}
