package dev.firn.sort;

import org.jspecify.annotations.Nullable;

/**
 * Rows to gather, in order: each a row number and, where rows come from several vectors, the number
 * of its vector. A row may come more than once.
 *
 * @param source the vector of each row; null when all come from the first and only one
 * @param row the row in its vector
 * @param count how many entries count
 * @param contiguous whether the rows are one range of one vector, ascending
 * @param scattered whether they lie anywhere, not in a few ascending sequences: then memory is
 *     waited for
 */
@SuppressWarnings("ArrayRecordComponent") // the arrays are lent for one gather, never compared
record Selection(
    int @Nullable [] source, int[] row, int count, boolean contiguous, boolean scattered) {

  static Selection ofRows(int[] row, int count) {
    return new Selection(null, row, count, isRange(null, row, count), false);
  }

  static Selection ofRows(int @Nullable [] source, int[] row, int count) {
    return new Selection(source, row, count, isRange(source, row, count), false);
  }

  Selection scattered(boolean anywhere) {
    return new Selection(source, row, count, contiguous, anywhere);
  }

  private static boolean isRange(int @Nullable [] source, int[] row, int count) {
    for (int i = 1; i < count; i++) {
      if (row[i] != row[i - 1] + 1) {
        return false;
      }
    }
    if (source != null) {
      for (int i = 1; i < count; i++) {
        if (source[i] != source[0]) {
          return false;
        }
      }
    }
    return true;
  }

  /** The vector of row {@code i}. */
  int sourceOf(int i) {
    return source == null ? 0 : source[i];
  }
}
