package dev.firn.deletes;

/**
 * The keys of one pass: those whose hash lies in a range.
 *
 * <p>The bytes of the hash are taken in reverse, so that the range is one of its lower bits. A
 * key's place in an index is found by the upper ones, and the keys of a slice lie scattered over it
 * as all keys do.
 *
 * @param from the first hash, bytes reversed
 * @param to behind the last
 */
record HashSlice(long from, long to) {
  private static final long END = 1L << Integer.SIZE;

  static final HashSlice ALL = new HashSlice(0, END);

  HashSlice {
    if (from < 0 || from >= to || to > END) {
      throw new IllegalArgumentException("No slice of hashes from " + from + " to " + to);
    }
  }

  boolean holds(int hash) {
    long place = Integer.reverseBytes(hash) & (END - 1);
    return place >= from && place < to;
  }

  /** Whether this slice has the keys that are null and have no hash. One slice of several does. */
  boolean holdsNulls() {
    return from == 0;
  }

  boolean isLast() {
    return to == END;
  }

  long width() {
    return to - from;
  }

  HashSlice withWidth(long width) {
    return new HashSlice(from, from + width);
  }

  /**
   * The slice behind this one.
   *
   * @param widthMax made smaller so that this and those that follow it are of one width
   */
  HashSlice next(double widthMax) {
    long rest = END - to;
    long slices = Math.max(1, (long) Math.ceil(rest / widthMax));
    return new HashSlice(to, to + (rest + slices - 1) / slices);
  }
}
