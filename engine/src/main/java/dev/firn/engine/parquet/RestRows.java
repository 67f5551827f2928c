package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.jspecify.annotations.Nullable;

/**
 * The rows of those columns of a spliced row group that are decoded, taken in ranges. Closing it
 * closes the batches. Used by one thread.
 */
final class RestRows implements AutoCloseable {
  /** Takes rows of the batch that is bound. */
  @FunctionalInterface
  interface Taker {
    /**
     * @param leaves the places of the leaves among all of the output
     * @param rows of the batch, ascending
     */
    void take(List<Integer> leaves, int[] rows) throws IOException;
  }

  private final SplicedView view;
  private final List<LeafColumn> leaves; // all of the output
  private final @Nullable RowBatches batches; // null if all columns are spliced
  private int batchStart;
  private int batchEnd;

  private RestRows(SplicedView view, List<LeafColumn> leaves, @Nullable RowBatches batches) {
    this.view = view;
    this.leaves = leaves;
    this.batches = batches;
  }

  static RestRows of(SplicedView view, List<LeafColumn> leaves, BufferAllocator allocator)
      throws IOException {
    return new RestRows(view, leaves, view.rest() == null ? null : view.read(allocator));
  }

  /**
   * Gives the live ones of the next rows. Ranges are to follow one another.
   *
   * @param live a bit for each row of the row group
   */
  void move(long[] live, int from, int to, Taker taker) throws IOException {
    SplicedView.Rest rest = view.rest();
    if (rest == null || batches == null) {
      return;
    }
    int row = from;
    while (row < to) {
      if (row >= batchEnd) {
        nextBatch(rest, batches, live);
      }
      int end = Math.min(to, batchEnd);
      int count = LiveBits.count(live, row, end);
      if (count > 0) {
        taker.take(rest.leaves(), rows(live, row, end, count));
      }
      row = end;
    }
  }

  private void nextBatch(SplicedView.Rest rest, RowBatches rows, long[] live) throws IOException {
    if (!rows.next()) {
      throw new IllegalStateException("The decoded columns end at row " + batchEnd);
    }
    VectorSchemaRoot batch = rows.batch();
    batchStart = batchEnd;
    batchEnd = batchStart + batch.getRowCount();
    rows.refuseNulls(LiveBits.slice(live, batchStart, batch.getRowCount(), batchStart, batchEnd));
    // Leaves find their vectors by the column's place among all; the others are never asked for.
    List<FieldVector> vectors =
        new ArrayList<>(
            Collections.nCopies(
                rest.columns().get(rest.columns().size() - 1) + 1, batch.getVector(0)));
    for (int i = 0; i < rest.columns().size(); i++) {
      vectors.set(rest.columns().get(i), batch.getVector(i));
    }
    for (int leaf : rest.leaves()) {
      leaves.get(leaf).bind(vectors);
    }
  }

  private int[] rows(long[] live, int from, int to, int count) {
    int[] rows = new int[count];
    int at = 0;
    for (int row = from; row < to; row++) {
      if ((live[row >>> 6] >>> row & 1) != 0) {
        rows[at++] = row - batchStart;
      }
    }
    return rows;
  }

  @Override
  public void close() throws IOException {
    if (batches != null) {
      batches.close();
    }
  }
}
