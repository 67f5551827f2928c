package dev.firn.sort;

/** Rows do not fit in the memory given to sort them. The sorter can only be closed. */
public final class SortMemoryException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final long bytesNeeded;
  private final long bytesMax;

  SortMemoryException(String message, long bytesNeeded, long bytesMax, Throwable cause) {
    super(message, cause);
    this.bytesNeeded = bytesNeeded;
    this.bytesMax = bytesMax;
  }

  SortMemoryException(String message, long bytesNeeded, long bytesMax) {
    super(message);
    this.bytesNeeded = bytesNeeded;
    this.bytesMax = bytesMax;
  }

  /**
   * About how many bytes sorting takes: for all rows where the sorter was told how many to expect,
   * else for those it has seen, a lower bound.
   */
  public long bytesNeeded() {
    return bytesNeeded;
  }

  /** The limit in bytes. */
  public long bytesMax() {
    return bytesMax;
  }
}
