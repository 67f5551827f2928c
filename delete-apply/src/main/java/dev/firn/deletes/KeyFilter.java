package dev.firn.deletes;

/**
 * Tells of most hashes that are not held that they are not, from one word of memory each: a Bloom
 * filter in blocks of 64 bits.
 *
 * <p>Most rows of a data file are not deleted, and the table of the keys is larger than what the
 * processor's cache can hold. Filled by one thread, then read by any number.
 */
final class KeyFilter {
  private static final int WORDS_MIN = 2;
  private static final int BITS_A_KEY_MIN = 8;

  /** Up to here a filter that got too small is made twice as large. */
  private static final long KEYS_DOUBLED = 1 << 20;

  private static final long HASH = (1L << Integer.SIZE) - 1;

  private final long[] words;

  KeyFilter(int words) {
    this.words = new long[words];
  }

  /** The words of a filter with room for more than so many keys. */
  static int wordsFor(long keys) {
    long room = keys < KEYS_DOUBLED ? 2 * keys : keys + keys / 5;
    return (int) Math.max(WORDS_MIN, room * BITS_A_KEY_MIN / Long.SIZE + 1);
  }

  static long bytes(int words) {
    return (long) words * Long.BYTES;
  }

  int words() {
    return words.length;
  }

  /** With more keys, too many hashes would be taken for held ones. */
  long keysMax() {
    return (long) words.length * (Long.SIZE / BITS_A_KEY_MIN);
  }

  void add(int hash) {
    words[word(hash, words.length)] |= pattern(hash);
  }

  /* Ascending with the hash, as the slots of the table are: keys that lie side by side there have
  their bits side by side here when a filter is filled anew. */
  private static int word(int hash, int words) {
    return (int) ((hash & HASH) * words >>> Integer.SIZE);
  }

  /* Four bits, each by other six bits of the product; a shift goes by the lowest six. */
  private static long pattern(int hash) {
    long mixed = hash * 0x9E3779B97F4A7C15L;
    return 1L << (mixed >>> 58)
        | 1L << (mixed >>> 52)
        | 1L << (mixed >>> 46)
        | 1L << (mixed >>> 40);
  }

  /**
   * Finds the asked rows whose hashes may be held.
   *
   * @param firstRow the row in {@code asked} of the first hash
   * @param candidates takes their places among the hashes
   * @return how many there are
   */
  int candidates(int[] hashes, int rows, int firstRow, long[] asked, int[] candidates) {
    int count = 0;
    for (int from = 0; from < rows; from += Long.SIZE) {
      int end = Math.min(rows, from + Long.SIZE);
      long found = mayHold(hashes, from, end) & bits(asked, firstRow + from);
      for (; found != 0; found &= found - 1) {
        candidates[count++] = from + Long.numberOfTrailingZeros(found);
      }
    }
    return count;
  }

  /** A bit for each of at most 64 hashes. */
  private long mayHold(int[] hashes, int from, int end) {
    long[] bits = words;
    int length = bits.length;
    long found = 0;
    for (int i = from; i < end; i++) {
      long lacking = pattern(hashes[i]) & ~bits[word(hashes[i], length)];
      found |= ((lacking | -lacking) >>> 63 ^ 1) << i;
    }
    return found;
  }

  /** The 64 bits from this one on, 0 where there are no more. */
  private static long bits(long[] words, int from) {
    int word = from >>> 6;
    long bits = words[word] >>> from;
    return (from & 63) == 0 || word + 1 == words.length ? bits : bits | words[word + 1] << -from;
  }
}
