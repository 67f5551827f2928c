package dev.firn.sort;

import java.util.Arrays;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;

/** Sequences of rows that came in order, as those of sorted files do. */
final class NaturalRuns {

  /** More sequences than this are not looked for: random rows show it soon. */
  private static final int RUNS_MAX = 64;

  /** Where more sequences than this overlap, rows are sorted faster than merged. */
  private static final int OVERLAPPING_MAX = 4;

  private static final int STREAK_ROWS = 8;

  private NaturalRuns() {}

  /**
   * Where the sequences begin and the last one ends.
   *
   * @param ids the address of the rows' ids, in the order that they came in
   * @return null if there are too many to be worth merging
   */
  static int @Nullable [] bounds(RowSources rows, long ids, int count) {
    int[] bounds = new int[RUNS_MAX + 1];
    int runs = 1;
    RowCursor at = RowCursor.ofIds(rows, ids, 0, count);
    for (int i = 1; i < count; i++) {
      long prefix = at.prefix;
      long key = at.key;
      long keyBytes = at.keyBytes;
      at.advance();
      int order = Long.compareUnsigned(prefix, at.prefix);
      if (order == 0 && keyBytes > 8 && at.keyBytes > 8) {
        order = Memory.compare(key + 8, keyBytes - 8, at.key + 8, at.keyBytes - 8);
      }
      if (order > 0) {
        if (runs == RUNS_MAX) {
          return null;
        }
        bounds[runs++] = i;
      }
    }
    bounds[runs] = count;
    return worthMerging(rows, ids, bounds, runs) ? Arrays.copyOf(bounds, runs + 1) : null;
  }

  private static boolean worthMerging(RowSources rows, long ids, int[] bounds, int runs) {
    if (runs <= OVERLAPPING_MAX) {
      return true;
    }
    RowCursor[] first = new RowCursor[runs];
    RowCursor[] last = new RowCursor[runs];
    for (int i = 0; i < runs; i++) {
      first[i] = RowCursor.ofIds(rows, ids, bounds[i], bounds[i + 1]);
      last[i] = RowCursor.ofIds(rows, ids, bounds[i + 1] - 1, bounds[i + 1]);
    }
    for (RowCursor start : first) {
      int overlapping = 0;
      for (int i = 0; i < runs; i++) {
        if (RowCursor.compareKeys(first[i], start) <= 0
            && RowCursor.compareKeys(start, last[i]) <= 0) {
          overlapping++;
        }
      }
      if (overlapping > OVERLAPPING_MAX) {
        return false;
      }
    }
    return true;
  }

  /**
   * Merges sequences.
   *
   * @param bounds as {@link #bounds} gave them
   * @param first the first sequence to be merged; all behind it are too
   * @param merged the address of room for the ids of their rows, in order
   */
  static void merge(RowSources rows, long ids, int[] bounds, int first, long merged) {
    RowCursor[] cursors = new RowCursor[bounds.length - 1 - first];
    for (int i = 0; i < cursors.length; i++) {
      cursors[i] = RowCursor.ofIds(rows, ids, bounds[first + i], bounds[first + i + 1]);
    }
    LoserTree tree = new LoserTree(cursors);
    long to = merged;
    int last = -1;
    int streak = 0;
    for (RowCursor cursor = cursors[tree.winner()]; !cursor.done; cursor = cursors[tree.winner()]) {
      int winner = tree.winner();
      streak = winner == last ? streak + 1 : 0;
      last = winner;
      int other = streak < STREAK_ROWS ? -1 : tree.runnerUp();
      do {
        MemoryUtil.putInt(to, cursor.source << 16 | cursor.row);
        to += 4;
        cursor.advance();
      } while (streak >= STREAK_ROWS
          && !cursor.done
          && (other < 0 || cursors[other].done || tree.beats(winner, other)));
      tree.replay();
    }
  }
}
