package dev.firn.sort;

import java.util.Arrays;

/** Ascending numbers, to find the places of many others among them at once. Immutable. */
final class WordTable {
  private final long[] table; // a power of two, filled up with the greatest number
  private final int size;

  /**
   * @param words ascending; equal ones are allowed
   */
  WordTable(long[] words) {
    this.size = words.length;
    this.table = Arrays.copyOf(words, Math.max(1, Integer.highestOneBit(size) << 1));
    Arrays.fill(table, size, table.length, Long.MAX_VALUE);
  }

  /** How many numbers of the table come before each of {@code n} others. */
  void places(long[] words, int n, int[] places) {
    Arrays.fill(places, 0, n, 0);
    // Step by step for all: searches for different numbers do not wait for one another.
    for (int half = table.length >>> 1; half > 0; half >>>= 1) {
      narrow(table, half, words, places, n);
    }
  }

  private static void narrow(long[] table, int half, long[] words, int[] places, int n) {
    for (int i = 0; i < n; i++) {
      int place = places[i];
      places[i] = table[place + half - 1] < words[i] ? place + half : place;
    }
  }

  /** Whether a number stands at a place. */
  boolean isAt(int place, long word) {
    return place < size && table[place] == word;
  }
}
