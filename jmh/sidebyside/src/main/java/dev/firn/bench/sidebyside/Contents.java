package dev.firn.bench.sidebyside;

/**
 * What a reader finds in a table.
 *
 * @param liveRows rows that no delete hides
 * @param hash of all live rows, which does not depend on their order
 * @param deletes delete files, or vectors, that the plan of a scan names
 * @param deletedRows rows in data files that are not live
 */
record Contents(
    long liveRows,
    String hash,
    long dataFiles,
    long dataBytes,
    long deletes,
    long deleteBytes,
    long deletedRows) {
  boolean hasRowsOf(Contents other) {
    return liveRows == other.liveRows && hash.equals(other.hash);
  }
}
