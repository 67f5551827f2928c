package dev.firn.engine;

import dev.firn.deletes.DeletedRows;
import dev.firn.engine.parquet.RowBatches;
import java.io.IOException;
import java.util.Arrays;
import org.apache.arrow.vector.VectorSchemaRoot;

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

  /** Takes the live rows of a batch. */
  @FunctionalInterface
  interface Batches {
    /**
     * @param firstPosition position in the data file of the batch's first row
     * @param live valid during the call
     * @param liveRows bits set in {@code live}, at least one
     */
    void accept(VectorSchemaRoot batch, long firstPosition, long[] live, int liveRows)
        throws IOException;
  }

  /** Gives the batches of a row group that have live rows, and says how many these are in all. */
  static long forEach(RowBatches rows, DeletedRows deleted, Batches batches) throws IOException {
    long[] live = new long[words(GroupRewrite.BATCH_ROWS)];
    long found = 0;
    while (rows.next()) {
      VectorSchemaRoot batch = rows.batch();
      int count = batch.getRowCount();
      if (live.length < words(count)) {
        live = new long[words(count)];
      }
      setAll(live, count);
      int liveRows = count - deleted.clearDeleted(rows.firstPosition(), count, live);
      if (liveRows > 0) {
        rows.refuseNulls(live);
        batches.accept(batch, rows.firstPosition(), live, liveRows);
        found += liveRows;
      }
    }
    return found;
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
