package dev.firn.deletes;

/** The bytes that the key indexes of a group hold, within their limit. Not thread-safe. */
final class KeyMemory {
  private final long bytesMax;
  private long bytesHeld;

  KeyMemory(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /** Called before the bytes are allocated. */
  void reserve(long bytes) {
    long needed = bytesHeld + bytes;
    if (needed > bytesMax) {
      throw new DeleteIndexTooLargeException(needed, bytesMax);
    }
    bytesHeld = needed;
  }

  /** A table that holds {@code bytes} has as many entries as an array can have. */
  DeleteIndexTooLargeException tableFull(long bytes) {
    return new DeleteIndexTooLargeException(2 * bytes, bytes);
  }

  void release(long bytes) {
    assert bytes <= bytesHeld : "release of " + bytes + " of " + bytesHeld;
    bytesHeld -= bytes;
  }

  long bytesHeld() {
    return bytesHeld;
  }
}
