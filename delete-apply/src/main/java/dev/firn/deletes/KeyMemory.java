package dev.firn.deletes;

/**
 * The bytes that the key indexes of a group hold, within their limit. Not thread-safe.
 *
 * <p>A third of the limit is kept free for moving: an index that grows and one that is narrowed to
 * a slice of its keys have old and new arrays side by side.
 */
final class KeyMemory {
  private final long bytesMax;
  private final long bytesKeptMax;
  private boolean moving;
  private long bytesHeld;
  private long bytesPeak;
  private long bytesWanted;

  KeyMemory(long bytesMax) {
    this.bytesMax = bytesMax;
    this.bytesKeptMax = bytesMax / 3 * 2;
  }

  /**
   * Called before the bytes are allocated.
   *
   * @return whether they are within the limit, and then they are held
   */
  boolean reserve(long bytes) {
    return reserveInPlaceOf(0, bytes);
  }

  /** Reserves for what takes the place of {@code held}, which is still to be released then. */
  boolean reserveInPlaceOf(long held, long bytes) {
    long kept = bytesHeld - held + bytes;
    long atOnce = bytesHeld + bytes;
    if (kept > (moving ? bytesMax : bytesKeptMax) || atOnce > bytesMax) {
      bytesWanted = Math.max(atOnce, moving ? kept : kept + (kept + 1) / 2);
      return false;
    }
    bytesHeld = atOnce;
    bytesPeak = Math.max(bytesPeak, atOnce);
    return true;
  }

  void release(long bytes) {
    assert bytes <= bytesHeld : "release of " + bytes + " of " + bytesHeld;
    bytesHeld -= bytes;
  }

  /** While keys are moved to smaller indexes, all of the limit may be held. */
  void moving(boolean now) {
    moving = now;
  }

  long bytesHeld() {
    return bytesHeld;
  }

  /** The most that was held at once. */
  long bytesPeak() {
    return bytesPeak;
  }

  /** Says what the reservation that was refused last would have needed. */
  DeleteIndexTooLargeException tooLarge() {
    return new DeleteIndexTooLargeException(bytesWanted, bytesMax);
  }
}
