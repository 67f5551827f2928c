package dev.firn.engine;

import org.apache.iceberg.Table;

/**
 * A compaction of one table: plans on a pinned snapshot, rewrites file groups, commits them.
 *
 * <p>An instance may be used for one plan or one run. It belongs to one thread; the run's own
 * threads end with it. The table and its {@code FileIO} stay the caller's.
 */
public final class Compaction {
  private final Table table;
  private final CompactionSettings settings;
  private final CompactionListener listener;

  public Compaction(Table table, CompactionSettings settings, CompactionListener listener) {
    this.table = table;
    this.settings = settings;
    this.listener = listener;
  }

  /**
   * Plans and explains; nothing is written.
   *
   * @throws UnsupportedTableException if the table holds what Firn does not do
   * @throws IllegalArgumentException if an option cannot apply to the table, or the branch is
   *     missing
   */
  public CompactionPlan plan() {
    throw new UnsupportedOperationException(table.name() + settings + listener);
  }

  /**
   * Plans, rewrites and commits. Failures of groups are in the report; an exception means that
   * nothing was committed.
   *
   * @throws UnsupportedTableException if the table holds what Firn does not do
   * @throws IllegalArgumentException if an option cannot apply to the table, or the branch is
   *     missing
   */
  public CompactionReport run() {
    throw new UnsupportedOperationException(table.name() + settings + listener);
  }
}
