package dev.firn.sort;

import org.apache.arrow.vector.VectorSchemaRoot;

/** Reads selections of rows: bit 0 of word 0 is row 0, bits past the last row are clear. */
final class LiveRows {
  private LiveRows() {}

  /**
   * The numbers of the live rows of a batch.
   *
   * @param liveRows how many bits are set
   * @throws IllegalArgumentException if the selection does not have that many, or not a bit for
   *     each row
   */
  static int[] of(VectorSchemaRoot batch, long[] live, int liveRows) {
    int rows = batch.getRowCount();
    if (live.length < (rows + 63L) >>> 6) {
      throw new IllegalArgumentException(
          "live has " + live.length + " words for " + rows + " rows");
    }
    int[] selected = new int[liveRows];
    int count = 0;
    for (int word = 0; word < (rows + 63) >>> 6; word++) {
      for (long bits = live[word]; bits != 0; bits &= bits - 1) {
        if (count < liveRows) {
          selected[count] = (word << 6) + Long.numberOfTrailingZeros(bits);
        }
        count++;
      }
    }
    if (count != liveRows) {
      throw new IllegalArgumentException("live has " + count + " rows and should have " + liveRows);
    }
    return selected;
  }

  /** How many rows of a batch are live. */
  static int count(VectorSchemaRoot batch, long[] live) {
    int count = 0;
    for (int word = 0; word < Math.min(live.length, (batch.getRowCount() + 63) >>> 6); word++) {
      count += Long.bitCount(live[word]);
    }
    return count;
  }
}
