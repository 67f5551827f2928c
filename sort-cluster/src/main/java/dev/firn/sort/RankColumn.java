package dev.firn.sort;

import java.util.Arrays;
import org.apache.arrow.vector.FieldVector;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/** The ranks of one column's values. Immutable. */
abstract class RankColumn {
  final ColumnPath path;
  private final int nullRank;

  private RankColumn(ColumnPath path, int nullRank) {
    this.path = path;
    this.nullRank = nullRank;
  }

  /**
   * The ranks of {@code n} rows from entry {@code from} on.
   *
   * @param nulls which of the rows are null; null when none is
   * @param places room for as many
   */
  final void ranks(
      FieldVector leaf,
      int[] rows,
      boolean @Nullable [] nulls,
      int from,
      int n,
      long[] ranks,
      int[] places) {
    valueRanks(leaf, rows, nulls, from, n, ranks, places);
    if (nulls != null) {
      for (int i = 0; i < n; i++) {
        ranks[i] = nulls[from + i] ? nullRank : ranks[i];
      }
    }
  }

  /** The same, with anything for null rows. */
  abstract void valueRanks(
      FieldVector leaf,
      int[] rows,
      boolean @Nullable [] nulls,
      int from,
      int n,
      long[] ranks,
      int[] places);

  /** Whether values are compared as bytes. */
  static boolean isBytes(Type type) {
    switch (type.typeId()) {
      case STRING:
      case BINARY:
      case UUID:
      case FIXED:
        return true;
      case DECIMAL:
        return !KeyColumn.isOrderedLong(type);
      default:
        return false;
    }
  }

  /** The bytes of every value of a type compared as bytes; 0 when they differ. */
  static int width(Type type) {
    switch (type.typeId()) {
      case UUID:
        return 16;
      case FIXED:
        return ((Types.FixedType) type).length();
      case DECIMAL:
        return TypeUtil.decimalRequiredBytes(((Types.DecimalType) type).precision());
      default:
        return 0;
    }
  }

  /**
   * @param boundaries ascending and different
   */
  static RankColumn ofNumbers(ColumnPath path, long[] boundaries, Quantiles quantiles) {
    return new Numbers(path, boundaries, quantiles);
  }

  /**
   * @param boundaries ascending and different
   */
  static RankColumn ofStrings(ColumnPath path, byte[][] boundaries, Quantiles quantiles) {
    return new Strings(path, boundaries, quantiles);
  }

  /** Of values that a signed number stands for. */
  private static final class Numbers extends RankColumn {
    private final long[] table; // a power of two, filled up with the greatest number
    private final int[] ranks; // before and at each entry of the table

    Numbers(ColumnPath path, long[] boundaries, Quantiles quantiles) {
      super(path, quantiles.nullRank());
      int count = boundaries.length;
      int size = Math.max(1, Integer.highestOneBit(count) << 1);
      this.table = Arrays.copyOf(boundaries, size);
      Arrays.fill(table, count, size, Long.MAX_VALUE);
      this.ranks = Arrays.copyOf(quantiles.ranks(), 2 * size);
      Arrays.fill(ranks, 2 * count, 2 * size, quantiles.ranks()[2 * count]);
    }

    @Override
    void valueRanks(
        FieldVector leaf,
        int[] rows,
        boolean @Nullable [] nulls,
        int from,
        int n,
        long[] words,
        int[] places) {
      KeyColumn.readOrdered(path.type(), leaf, rows, from, n, words);
      Arrays.fill(places, 0, n, 0);
      // Step by step for all rows: searches of different rows do not wait for one another.
      for (int half = table.length >>> 1; half > 0; half >>>= 1) {
        narrow(table, half, words, places, n);
      }
      for (int i = 0; i < n; i++) {
        int place = places[i];
        words[i] = ranks[2 * place + (table[place] == words[i] ? 1 : 0)];
      }
    }

    private static void narrow(long[] table, int half, long[] words, int[] places, int n) {
      for (int i = 0; i < n; i++) {
        int place = places[i];
        places[i] = table[place + half - 1] < words[i] ? place + half : place;
      }
    }
  }

  /** Of values that compare as bytes. */
  private static final class Strings extends RankColumn {
    private final SortedBytes boundaries;
    private final int[] ranks;

    Strings(ColumnPath path, byte[][] boundaries, Quantiles quantiles) {
      super(path, quantiles.nullRank());
      this.boundaries = new SortedBytes(boundaries);
      this.ranks = quantiles.ranks();
    }

    @Override
    void valueRanks(
        FieldVector leaf,
        int[] rows,
        boolean @Nullable [] nulls,
        int from,
        int n,
        long[] values,
        int[] places) {
      ColumnSample.ValueBytes bytes = ColumnSample.ValueBytes.of(path.type(), leaf);
      for (int i = 0; i < n; i++) {
        if (nulls == null || !nulls[from + i]) {
          int row = rows[from + i];
          values[i] = ranks[boundaries.search(bytes.address(row), bytes.length(row), bytes.flip())];
        }
      }
    }
  }
}
