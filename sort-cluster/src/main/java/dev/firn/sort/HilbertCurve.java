package dev.firn.sort;

/**
 * The Hilbert curve through a grid of any number of dimensions: cells that follow one another on it
 * are neighbours. After J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings
 * 707 (2004).
 */
final class HilbertCurve {
  private HilbertCurve() {}

  /**
   * Turns the coordinates of cells into their places on the curve, in place: interleaved, most
   * significant bit first and dimension 0 first, the words of a cell are its place.
   *
   * @param axes for each dimension, the coordinate of each cell, of {@code bits} bits
   * @param cells how many cells
   */
  static void transpose(long[][] axes, int bits, int cells) {
    for (int bit = bits - 1; bit > 0; bit--) {
      for (long[] axis : axes) {
        turn(axes[0], axis, bit, cells);
      }
    }
    for (int d = 1; d < axes.length; d++) {
      flip(axes[d], axes[d - 1], cells);
    }
    long[] last = axes[axes.length - 1];
    long[] flips = new long[cells];
    for (int bit = bits - 1; bit > 0; bit--) {
      for (int i = 0; i < cells; i++) {
        flips[i] ^= -(last[i] >>> bit & 1) & (1L << bit) - 1;
      }
    }
    for (long[] axis : axes) {
      flip(axis, flips, cells);
    }
  }

  /**
   * Below a bit: where the axis has the bit, turns the first axis round; where it has not, swaps
   * the two.
   */
  private static void turn(long[] first, long[] axis, int bit, int cells) {
    long below = (1L << bit) - 1;
    for (int i = 0; i < cells; i++) {
      long set = -(axis[i] >>> bit & 1);
      long swapped = (first[i] ^ axis[i]) & below & ~set;
      axis[i] ^= swapped;
      first[i] ^= swapped | below & set;
    }
  }

  private static void flip(long[] axis, long[] flips, int cells) {
    for (int i = 0; i < cells; i++) {
      axis[i] ^= flips[i];
    }
  }
}
