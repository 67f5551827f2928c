package dev.firn.sort;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.iceberg.NullOrder;

/**
 * How the values of some columns are distributed: the rank of a value says about which share of the
 * rows comes before it. Ranks of all columns have the same number of bits. A value of a large share
 * has the rank of its middle, nulls have one of their own. Immutable; made by {@link RankSampler}.
 */
public final class ColumnRanks {

  /** The columns that a curve runs over, at most. */
  public static final int COLUMNS_MAX = 16;

  /** Finer ranks than this would tell apart less than what the sample knows. */
  private static final int BITS_MAX = 16;

  private final List<RankColumn> columns;
  private final int bits;
  private final NullOrder nullOrder;

  ColumnRanks(List<RankColumn> columns, int bits, NullOrder nullOrder) {
    this.columns = List.copyOf(columns);
    this.bits = bits;
    this.nullOrder = nullOrder;
  }

  /** The bits of each rank: as many as let a place on the curve fit in a word. */
  static int bits(int columns) {
    return Math.min(BITS_MAX, Long.SIZE / columns);
  }

  List<RankColumn> columns() {
    return columns;
  }

  int bits() {
    return bits;
  }

  NullOrder nullOrder() {
    return nullOrder;
  }

  @Override
  public String toString() {
    return columns.stream()
        .map(column -> column.path.description())
        .collect(Collectors.joining(", ", "Ranks of " + bits + " bits of ", ""));
  }
}
