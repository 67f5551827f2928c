package dev.firn.engine.verify;

import java.util.BitSet;

/**
 * What is known of a multiset of rows: their count, one 128-bit sum over whole rows, and one over
 * the values of each column. All are sums modulo 2^64 of strong hashes, so that neither the order
 * of the rows nor the files they lie in matter. Rows that differ have equal digests with a
 * probability of about 2^-128. Not thread-safe.
 */
public final class RowDigest {
  long rows;
  long rowsA;
  long rowsB;
  final long[] columnsA;
  final long[] columnsB;

  /**
   * A digest of no rows.
   *
   * @param columns how many {@link RowHasher#columnNames} there are
   */
  public RowDigest(int columns) {
    columnsA = new long[columns];
    columnsB = new long[columns];
  }

  /** How many rows were added. */
  public long rows() {
    return rows;
  }

  /** Adds the rows of another digest. */
  public void add(RowDigest other) {
    rows += other.rows;
    rowsA += other.rowsA;
    rowsB += other.rowsB;
    for (int column = 0; column < columnsA.length; column++) {
      columnsA[column] += other.columnsA[column];
      columnsB[column] += other.columnsB[column];
    }
  }

  /** Whether both are of the same rows. */
  public boolean sameAs(RowDigest other) {
    return rows == other.rows
        && rowsA == other.rowsA
        && rowsB == other.rowsB
        && differingColumns(other).isEmpty();
  }

  /**
   * The columns whose values are not the same, by their place in {@link RowHasher#columnNames}.
   * None, although the rows differ, if values have changed places between rows.
   */
  public BitSet differingColumns(RowDigest other) {
    BitSet differing = new BitSet(columnsA.length);
    for (int column = 0; column < columnsA.length; column++) {
      if (columnsA[column] != other.columnsA[column]
          || columnsB[column] != other.columnsB[column]) {
        differing.set(column);
      }
    }
    return differing;
  }
}
