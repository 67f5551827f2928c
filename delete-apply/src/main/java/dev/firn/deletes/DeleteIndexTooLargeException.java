package dev.firn.deletes;

/** The equality delete keys of a file group do not fit in the memory set for them. */
public final class DeleteIndexTooLargeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final long bytesNeeded;
  private final long bytesMax;

  DeleteIndexTooLargeException(long bytesNeeded, long bytesMax) {
    super(
        "Cannot hold the equality delete keys of the file group: they need at least "
            + bytesNeeded
            + " bytes and the limit of the key index is "
            + bytesMax
            + ". Nothing was written; the group is left as it was. Give more memory, or make file"
            + " groups smaller so that fewer delete files belong to each.");
    this.bytesNeeded = bytesNeeded;
    this.bytesMax = bytesMax;
  }

  /** The bytes that the keys read so far need; the whole may need more. */
  public long bytesNeeded() {
    return bytesNeeded;
  }

  /** The limit, in bytes. */
  public long bytesMax() {
    return bytesMax;
  }
}
