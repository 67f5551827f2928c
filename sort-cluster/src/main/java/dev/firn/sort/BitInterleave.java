package dev.firn.sort;

import org.apache.arrow.memory.util.MemoryUtil;

/**
 * Interleaves the bits of several columns, most significant first: the first bit of each column in
 * turn, then the second of each.
 */
final class BitInterleave {

  /** More columns are not interleaved in words. */
  static final int COLUMNS_MAX = 16;

  /* For each number of columns, the bits of each byte that many apart, as far as a word holds. */
  private static final long[][] SPREAD = new long[COLUMNS_MAX + 1][256];

  static {
    for (int columns = 1; columns <= COLUMNS_MAX; columns++) {
      for (int value = 0; value < 256; value++) {
        for (int bit = 0; bit < 8 && bit * columns < Long.SIZE; bit++) {
          SPREAD[columns][value] |= (value >>> bit & 1L) << (bit * columns);
        }
      }
    }
  }

  private BitInterleave() {}

  /**
   * Adds the bits of one column to interleaved words, which end up in their lowest {@code 8 * bytes
   * * columns} bits.
   *
   * @param words hold the column's bytes, lowest {@code shift} bits up; from {@code start} on
   * @param bytes how many of them: 1, 2, 4 or 8
   * @param columns how many columns are interleaved: all their bits together must fit in a word
   * @param column which of them this is
   * @param n how many words
   */
  static void add(
      long[] words, int start, int shift, int bytes, int columns, int column, int n, long[] into) {
    int place = columns - 1 - column;
    if (columns == 1 && bytes == 8) {
      System.arraycopy(words, start, into, 0, n);
    } else if (columns == 2) {
      addSecond(words, start, shift, (1L << (8 * bytes)) - 1, place, n, into);
    } else if (columns == 4 && bytes <= 2) {
      addFourth(words, start, shift, (1L << (8 * bytes)) - 1, place, n, into);
    } else {
      long[] spread = SPREAD[columns];
      int step = 8 * columns;
      for (int i = 0; i < n; i++) {
        long word = words[start + i] >>> shift;
        long bits = 0;
        for (int at = 8 * (bytes - 1); at >= 0; at -= 8) {
          bits = bits << step | spread[(int) (word >>> at) & 0xFF];
        }
        into[i] |= bits << place;
      }
    }
  }

  /** Bits two apart, of up to 4 bytes. */
  private static void addSecond(
      long[] words, int start, int shift, long mask, int place, int n, long[] into) {
    for (int i = 0; i < n; i++) {
      long bits = words[start + i] >>> shift & mask;
      bits = (bits | bits << 16) & 0x0000FFFF0000FFFFL;
      bits = (bits | bits << 8) & 0x00FF00FF00FF00FFL;
      bits = (bits | bits << 4) & 0x0F0F0F0F0F0F0F0FL;
      bits = (bits | bits << 2) & 0x3333333333333333L;
      bits = (bits | bits << 1) & 0x5555555555555555L;
      into[i] |= bits << place;
    }
  }

  /** Bits four apart, of up to 2 bytes. */
  private static void addFourth(
      long[] words, int start, int shift, long mask, int place, int n, long[] into) {
    for (int i = 0; i < n; i++) {
      long bits = words[start + i] >>> shift & mask;
      bits = (bits | bits << 24) & 0x000000FF000000FFL;
      bits = (bits | bits << 12) & 0x000F000F000F000FL;
      bits = (bits | bits << 6) & 0x0303030303030303L;
      bits = (bits | bits << 3) & 0x1111111111111111L;
      into[i] |= bits << place;
    }
  }

  /**
   * Writes words as big-endian bytes.
   *
   * @param shift what brings the first byte to the top of a word
   * @param bytes how many bytes of each word: up to 8
   * @param room how many bytes may be written to: the rest, up to 8, become anything
   * @param cursors where the bytes go, from entry {@code from} on, each {@code offset} further
   */
  static void put(
      long[] words, int shift, int bytes, int room, int n, long[] cursors, int from, int offset) {
    if (room >= 8) {
      for (int i = 0; i < n; i++) {
        MemoryUtil.putLong(cursors[from + i] + offset, Long.reverseBytes(words[i] << shift));
      }
      return;
    }
    for (int i = 0; i < n; i++) {
      long word = words[i] << shift;
      long to = cursors[from + i] + offset;
      if ((bytes & 4) != 0) {
        MemoryUtil.putInt(to, Integer.reverseBytes((int) (word >>> 32)));
        word <<= 32;
        to += 4;
      }
      if ((bytes & 2) != 0) {
        MemoryUtil.putShort(to, Short.reverseBytes((short) (word >>> 48)));
        word <<= 16;
        to += 2;
      }
      if ((bytes & 1) != 0) {
        MemoryUtil.putByte(to, (byte) (word >>> 56));
      }
    }
  }
}
