package dev.firn.engine;

import dev.firn.deletes.DeletedRows;
import java.util.Arrays;

/** Selections of rows as words, bit 0 of word 0 first; bits past the last row are clear. */
final class LiveRows {
  private LiveRows() {}

  static int words(int rows) {
    return (rows + 63) >>> 6;
  }

  /** Sets the bits of the first {@code rows} rows and clears all others. */
  static void setAll(long[] live, int rows) {
    int full = rows >>> 6;
    Arrays.fill(live, 0, full, -1L);
    Arrays.fill(live, full, live.length, 0L);
    if ((rows & 63) != 0) {
      live[full] = (1L << (rows & 63)) - 1;
    }
  }

  /** Sets the bits of rows {@code [from, to)}. */
  static void setRange(long[] live, int from, int to) {
    for (int row = from; row < to; row++) {
      live[row >>> 6] |= 1L << row;
    }
  }

  /** Live rows of {@code [first, first + rows)}. */
  static long countIn(DeletedRows deleted, long first, long rows) {
    int step = 1 << 16;
    long[] live = new long[words(step)];
    long count = 0;
    for (long done = 0; done < rows; done += step) {
      int batch = (int) Math.min(step, rows - done);
      setAll(live, batch);
      count += batch - deleted.clearDeleted(first + done, batch, live);
    }
    return count;
  }
}
