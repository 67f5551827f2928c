package dev.firn.engine.parquet;

/** Selections of rows as words, bit 0 of word 0 first. */
final class LiveBits {
  private LiveBits() {}

  /** How many of the bits {@code [from, to)} are set. */
  static int count(long[] live, int from, int to) {
    if (from >= to) {
      return 0;
    }
    int first = from >>> 6;
    int last = (to - 1) >>> 6;
    long head = -1L << from;
    long tail = -1L >>> -to;
    if (first == last) {
      return Long.bitCount(live[first] & head & tail);
    }
    int count = Long.bitCount(live[first] & head) + Long.bitCount(live[last] & tail);
    for (int word = first + 1; word < last; word++) {
      count += Long.bitCount(live[word]);
    }
    return count;
  }

  /**
   * The bits {@code [start, start + length)}, moved to the beginning; those outside of {@code
   * [from, to)} are clear.
   */
  static long[] slice(long[] live, int start, int length, int from, int to) {
    long[] slice = new long[(length + 63) >>> 6];
    int shift = start & 63;
    int word = start >>> 6;
    for (int i = 0; i < slice.length; i++) {
      long bits = live[word + i] >>> shift;
      if (shift > 0 && word + i + 1 < live.length) {
        bits |= live[word + i + 1] << -shift;
      }
      slice[i] = bits;
    }
    clearOutside(slice, from - start, to - start);
    return slice;
  }

  /** Clears all bits but {@code [from, to)}. */
  static void clearOutside(long[] bits, int from, int to) {
    for (int word = 0; word < bits.length; word++) {
      int first = word << 6;
      if (first + 64 <= from || first >= to) {
        bits[word] = 0;
        continue;
      }
      if (first < from) {
        bits[word] &= -1L << from;
      }
      if (first + 64 > to) {
        bits[word] &= -1L >>> -to;
      }
    }
  }

  /** The row after which {@code wanted} live rows of {@code [from, to)} are complete. */
  static int after(long[] live, int from, int to, long wanted) {
    long left = wanted;
    int row = from;
    while (row < to && left > 0) {
      int wordEnd = Math.min(to, (row | 63) + 1);
      int inWord = count(live, row, wordEnd);
      if (inWord >= left) {
        while (left > 0) {
          left -= live[row >>> 6] >>> row & 1;
          row++;
        }
        return row;
      }
      left -= inWord;
      row = wordEnd;
    }
    return row;
  }
}
