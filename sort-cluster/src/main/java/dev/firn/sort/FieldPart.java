package dev.firn.sort;

import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.jspecify.annotations.Nullable;

/**
 * A sort field: a marker for nulls where the column may have some, then its transformed value.
 *
 * @param nullsFirst whether a null comes before all values, whatever the direction (O1)
 */
record FieldPart(ColumnPath path, KeyColumn column, boolean nullsFirst) implements KeyPart {

  @Override
  public int fixedBytes() {
    return column.width() + (path.optional() ? 1 : 0);
  }

  @Override
  public boolean variable() {
    return column.width() == 0;
  }

  @Override
  public Rows of(VectorSchemaRoot batch, int[] rows, int count) {
    ColumnPath.Leaf leaf = path.leaf(batch, rows, count);
    return new Rows() {
      @Override
      public void addLengths(int[] lengths) {
        if (variable()) {
          column.addLengths(leaf.vector(), rows, leaf.nulls(), count, lengths);
        }
      }

      @Override
      public void write(long[] cursors, long[] scratch) {
        if (path.optional()) {
          writeMarkers(leaf.nulls(), count, cursors);
        }
        column.write(leaf.vector(), rows, leaf.nulls(), count, cursors, scratch);
      }
    };
  }

  /** A null is 0 or 2 beside 1, whatever the direction (O1). */
  private void writeMarkers(boolean @Nullable [] nulls, int count, long[] cursors) {
    byte ofNull = (byte) (nullsFirst ? 0 : 2);
    for (int i = 0; i < count; i++) {
      MemoryUtil.putByte(cursors[i]++, nulls != null && nulls[i] ? ofNull : 1);
    }
  }
}
