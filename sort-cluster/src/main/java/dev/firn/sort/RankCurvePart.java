package dev.firn.sort;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;

/** The place of a row's ranks on a z-order or Hilbert curve. */
final class RankCurvePart implements KeyPart {
  private static final int BLOCK_ROWS = 1024;

  private final List<RankColumn> columns;
  private final List<ColumnPath> paths;
  private final int bits;
  private final int fixedBytes;
  private final boolean hilbert;

  private RankCurvePart(List<ColumnPath> paths, ColumnRanks ranks, boolean hilbert) {
    this.columns = ranks.columns();
    this.paths = paths;
    this.bits = ranks.bits();
    this.fixedBytes = (bits * paths.size() + 7) >>> 3;
    this.hilbert = hilbert;
  }

  static RankCurvePart of(Schema schema, ColumnRanks ranks, boolean hilbert) {
    return new RankCurvePart(paths(schema, ranks), ranks, hilbert);
  }

  /**
   * Where the columns lie in batches of a schema.
   *
   * @throws IllegalArgumentException if it lacks one or has another type for it
   */
  static List<ColumnPath> paths(Schema schema, ColumnRanks ranks) {
    List<ColumnPath> paths = new ArrayList<>();
    for (RankColumn column : ranks.columns()) {
      ColumnPath sampled = column.path;
      ColumnPath path = ColumnPath.find(schema, sampled.fieldId());
      if (path == null || !path.type().equals(sampled.type())) {
        throw new IllegalArgumentException(
            "Cannot cluster by "
                + sampled.description()
                + ": it was sampled as "
                + sampled.type()
                + " and the schema has "
                + (path == null ? "no such field" : path.type())
                + ". Sample again.");
      }
      paths.add(path);
    }
    return paths;
  }

  @Override
  public int fixedBytes() {
    return fixedBytes;
  }

  @Override
  public boolean variable() {
    return false;
  }

  @Override
  public Rows of(VectorSchemaRoot batch, int[] rows, int count) {
    List<ColumnPath.Leaf> leaves = new ArrayList<>();
    for (ColumnPath path : paths) {
      leaves.add(path.leaf(batch, rows, count));
    }
    return (cursors, scratch) -> write(leaves, rows, count, cursors);
  }

  private void write(List<ColumnPath.Leaf> leaves, int[] rows, int count, long[] cursors) {
    int block = Math.min(BLOCK_ROWS, count);
    long[][] ranks = new long[columns.size()][block];
    long[] curve = new long[block];
    int[] places = new int[block];
    for (int from = 0; from < count; from += block) {
      int n = Math.min(block, count - from);
      for (int c = 0; c < ranks.length; c++) {
        ColumnPath.Leaf leaf = leaves.get(c);
        columns.get(c).ranks(leaf.vector(), rows, leaf.nulls(), from, n, ranks[c], places);
      }
      if (hilbert) {
        HilbertCurve.transpose(ranks, bits, n);
      }
      interleave(ranks, bits, n, curve);
      int up = Long.SIZE - bits * ranks.length;
      BitInterleave.put(curve, up, fixedBytes, fixedBytes, n, cursors, from, 0);
    }
    for (int i = 0; i < count; i++) {
      cursors[i] += fixedBytes;
    }
  }

  /** The bits of each row's numbers in one, most significant first. */
  static void interleave(long[][] numbers, int bits, int n, long[] into) {
    Arrays.fill(into, 0, n, 0);
    for (int c = 0; c < numbers.length; c++) {
      BitInterleave.add(numbers[c], 0, 0, (bits + 7) >>> 3, numbers.length, c, n, into);
    }
  }
}
