package dev.firn.deletes;

/**
 * The bytes that the key indexes of a group hold, within their limit. Not thread-safe.
 *
 * <p>Some of the limit is kept free for moving: an index that grows and one that is narrowed to a
 * slice of its keys have old and new arrays side by side, one segment at a time.
 */
final class KeyMemory {
  /* The old and the new slots of the largest segment that an index may have as its only one, and
  of a segment of an index that takes all of the memory. */
  private static final long MOVING_BYTES_MIN = 4L << 20;
  private static final int MOVING_SHARE = 64;

  private final long bytesMax;
  private final long bytesKeptMax;
  private boolean moving;
  private long bytesHeld;
  private long bytesPeak;
  private long bytesWanted;

  KeyMemory(long bytesMax) {
    this.bytesMax = bytesMax;
    this.bytesKeptMax = bytesMax - movingBytes(bytesMax);
  }

  private static long movingBytes(long bytesMax) {
    return Math.min(bytesMax / 3, Math.max(MOVING_BYTES_MIN, bytesMax / MOVING_SHARE));
  }

  /** The least limit that lets so many bytes be kept. */
  private static long limitToKeep(long bytes) {
    return bytes
        + Math.min((bytes + 1) / 2, Math.max(MOVING_BYTES_MIN, bytes / (MOVING_SHARE - 1) + 1));
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
      bytesWanted = Math.max(atOnce, moving ? kept : limitToKeep(kept));
      return false;
    }
    bytesHeld = atOnce;
    bytesPeak = Math.max(bytesPeak, atOnce);
    return true;
  }

  /**
   * Gives back what is held and reserves again, for what is allocated when the other is gone.
   *
   * @return false where the memory lacks; then the same is held as before
   */
  boolean replace(long held, long bytes) {
    bytesHeld -= held;
    if (reserve(bytes)) {
      return true;
    }
    bytesHeld += held;
    return false;
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
