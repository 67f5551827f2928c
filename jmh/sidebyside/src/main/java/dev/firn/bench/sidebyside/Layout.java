package dev.firn.bench.sidebyside;

/** How the rows of a table are to lie after it was compacted. */
enum Layout {
  /** As they come. */
  BIN_PACK,
  /** In the table's sort order, {@code ship_date, k}. */
  SORT,
  /** On a z-curve through {@code k} and {@code ship_date}. */
  Z_ORDER
}
