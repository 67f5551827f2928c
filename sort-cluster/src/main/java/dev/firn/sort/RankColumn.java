package dev.firn.sort;

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
    private final WordTable boundaries;
    private final int[] ranks;

    Numbers(ColumnPath path, long[] boundaries, Quantiles quantiles) {
      super(path, quantiles.nullRank());
      this.boundaries = new WordTable(boundaries);
      this.ranks = quantiles.ranks();
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
      boundaries.places(words, n, places);
      for (int i = 0; i < n; i++) {
        int place = places[i];
        words[i] = ranks[2 * place + (boundaries.isAt(place, words[i]) ? 1 : 0)];
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
      long[] addresses = new long[n];
      int[] lengths = new int[n];
      for (int i = 0; i < n; i++) {
        if (nulls == null || !nulls[from + i]) {
          addresses[i] = bytes.address(rows[from + i]);
          lengths[i] = bytes.length(rows[from + i]);
        }
      }
      boundaries.search(addresses, lengths, bytes.flip(), n, places);
      for (int i = 0; i < n; i++) {
        values[i] = ranks[places[i]];
      }
    }
  }
}
