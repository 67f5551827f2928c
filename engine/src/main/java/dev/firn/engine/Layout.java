package dev.firn.engine;

import java.util.List;
import org.apache.iceberg.SortOrder;

/** How the rows of the output files are laid out. */
public sealed interface Layout {

  /** Rows keep the order of their files: the cheapest. */
  record BinPack() implements Layout {}

  /**
   * Rows are sorted by the table's sort order.
   *
   * <p>A table without one is refused.
   */
  record TableOrder() implements Layout {}

  /**
   * Rows are sorted by an order of the caller.
   *
   * @param order bound to the table's current schema
   */
  record Sorted(SortOrder order) implements Layout {}

  /** What a curve runs over. */
  enum CurveInput {
    /** The first bytes of the values, as Iceberg's procedures do (O12). */
    BYTES,
    /**
     * The ranks of the values in a sample of the rows: skew and texts that begin alike do not spoil
     * the curve.
     */
    RANK
  }

  /**
   * Rows follow a z-order curve over some columns.
   *
   * @param columns names of columns, those of structs with dots. Columns that the output's
   *     partition spec takes as they are do not count
   */
  record ZOrder(List<String> columns, CurveInput input) implements Layout {
    public ZOrder {
      columns = List.copyOf(columns);
    }
  }

  /**
   * Rows follow a Hilbert curve over the ranks of some columns: neighbours on it are neighbours in
   * one column, which z-order does not have.
   *
   * @param columns as of {@link ZOrder}
   */
  record Hilbert(List<String> columns) implements Layout {
    public Hilbert {
      columns = List.copyOf(columns);
    }
  }
}
