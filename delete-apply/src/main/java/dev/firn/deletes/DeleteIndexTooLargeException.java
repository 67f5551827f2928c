package dev.firn.deletes;

/**
 * The memory set for equality delete keys is too small even for one of the most passes that are
 * taken.
 */
public final class DeleteIndexTooLargeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final long bytesNeeded;
  private final long bytesMax;

  DeleteIndexTooLargeException(long bytesNeeded, long bytesMax) {
    super(
        "Cannot hold the equality delete keys of the file group: even one of "
            + DeleteLimits.PASSES_MAX
            + " parts of them needs at least "
            + bytesNeeded
            + " bytes and the limit of the key index is "
            + bytesMax
            + ". Nothing was written; the group is left as it was. Give more memory, or make file"
            + " groups smaller so that fewer delete files belong to each.");
    this.bytesNeeded = bytesNeeded;
    this.bytesMax = bytesMax;
  }

  /** A limit, in bytes, with which it would have come further; the whole may need more. */
  public long bytesNeeded() {
    return bytesNeeded;
  }

  /** The limit, in bytes. */
  public long bytesMax() {
    return bytesMax;
  }
}
