package dev.firn.engine;

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
}
