package dev.firn.sort;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;

/**
 * Samples rows, shown batch after batch, to learn how the values of some columns are distributed.
 * The sample is uniform over all rows shown, its memory bounded; the same batches and seed give the
 * same one. Not thread-safe.
 */
public final class RankSampler {

  /** The rows of a sample, at most. Long values lower it. */
  public static final int ROWS_MAX = 1 << 16;

  /** The heap that the values of a sample take, about, at most. */
  public static final long BYTES_MAX = 24L << 20;

  private final List<ColumnSample> columns = new ArrayList<>();
  private final NullOrder nullOrder;
  private final long bytesMax;
  private final Reservoir reservoir;
  private long rows;
  private long bytes;

  /**
   * @param schema what batches follow
   * @param columns names of columns, those of structs with dots: up to {@link
   *     ColumnRanks#COLUMNS_MAX} of any primitive types
   * @param nullOrder whether nulls come before or after all values
   * @throws IllegalArgumentException if there are none or too many, or one is not in the schema,
   *     named twice or not of a primitive type that can be sorted by
   */
  public RankSampler(Schema schema, List<String> columns, NullOrder nullOrder, long seed) {
    this(schema, columns, nullOrder, seed, ROWS_MAX, BYTES_MAX);
  }

  RankSampler(
      Schema schema,
      List<String> columns,
      NullOrder nullOrder,
      long seed,
      int rowsMax,
      long bytesMax) {
    if (columns.size() > ColumnRanks.COLUMNS_MAX) {
      throw new IllegalArgumentException(
          "Cannot cluster by "
              + columns.size()
              + " columns, "
              + columns
              + ": a curve runs over at most "
              + ColumnRanks.COLUMNS_MAX
              + ". Leave out those that queries filter least.");
    }
    for (ColumnPath path : ColumnPath.ofNames(schema, columns, "cluster by")) {
      this.columns.add(new ColumnSample(path));
    }
    this.nullOrder = nullOrder;
    this.bytesMax = bytesMax;
    this.reservoir = new Reservoir(rowsMax, seed);
  }

  /**
   * Shows the live rows of a batch.
   *
   * @param live bit 0 of word 0 is row 0; bits past the last row are clear
   * @param liveRows how many bits are set
   */
  public void add(VectorSchemaRoot batch, long[] live, int liveRows) {
    int[] selected = LiveRows.of(batch, live, liveRows);
    rows += liveRows;
    int[] chosen = new int[liveRows];
    int[] slots = new int[liveRows];
    int count = reservoir.offer(liveRows, chosen, slots);
    if (count == 0) {
      return;
    }
    for (int i = 0; i < count; i++) {
      chosen[i] = selected[chosen[i]];
    }
    for (ColumnSample column : columns) {
      bytes += column.put(batch, chosen, slots, count);
    }
    while (bytes > bytesMax && reservoir.size() > 1) {
      for (int slot : reservoir.halve()) {
        for (ColumnSample column : columns) {
          bytes -= column.release(slot);
        }
      }
    }
  }

  /** How many rows were shown. */
  public long rows() {
    return rows;
  }

  /** How many rows are in the sample. */
  int sampled() {
    return reservoir.size();
  }

  /** What was learnt so far. */
  public ColumnRanks ranks() {
    int[] slots = reservoir.slots();
    List<RankColumn> ranks = new ArrayList<>();
    int bits = ColumnRanks.bits(columns.size());
    for (ColumnSample column : columns) {
      ranks.add(column.ranks(slots, bits, nullOrder == NullOrder.NULLS_FIRST));
    }
    return new ColumnRanks(ranks, bits, nullOrder);
  }
}
