package dev.firn.sort;

import java.util.Arrays;

/**
 * Finds, among sorted sequences, the one whose row comes next, with one comparison for each time
 * their number can be halved. Of equal rows that of the earlier sequence comes first (O9). Not
 * thread-safe.
 */
final class LoserTree {
  private final RowCursor[] cursors;

  /* Leaf i, the cursor of that number, hangs below node (i + cursors.length) / 2. A node holds the
  loser of the match played there, node 0 the winner of all. */
  private final int[] nodes;

  /* What a loser's key begins with, so that most matches are played without looking at it. */
  private final long[] prefixes;
  private final long[] seconds;

  /** Who wins against all in {@code cursors} is first. */
  LoserTree(RowCursor[] cursors) {
    this.cursors = cursors;
    this.nodes = new int[Math.max(1, cursors.length)];
    this.prefixes = new long[nodes.length];
    this.seconds = new long[nodes.length];
    Arrays.fill(nodes, -1);
    for (int i = 0; i < cursors.length; i++) {
      int winner = i;
      int node = (i + cursors.length) >>> 1;
      while (node > 0) {
        if (nodes[node] < 0) { // waits for its opponent
          nodes[node] = winner;
          winner = -1;
          break;
        }
        if (beats(nodes[node], winner)) {
          int loser = winner;
          winner = nodes[node];
          nodes[node] = loser;
        }
        node >>>= 1;
      }
      if (winner >= 0) {
        nodes[0] = winner;
      }
    }
    for (int node = 1; node < nodes.length; node++) {
      prefixes[node] = cursors[nodes[node]].prefix;
      seconds[node] = cursors[nodes[node]].second;
    }
  }

  /** The number of the cursor whose row comes next; one that is done if all are. */
  int winner() {
    return nodes[0];
  }

  /** Finds the winner anew after the last one has moved. */
  void replay() {
    int winner = nodes[0];
    long prefix = cursors[winner].prefix;
    long second = cursors[winner].second;
    for (int node = (winner + cursors.length) >>> 1; node > 0; node >>>= 1) {
      long nodePrefix = prefixes[node];
      long nodeSecond = seconds[node];
      boolean loses;
      if (nodePrefix != prefix) {
        loses = Long.compareUnsigned(nodePrefix, prefix) < 0;
      } else if (nodeSecond != second) {
        loses = Long.compareUnsigned(nodeSecond, second) < 0;
      } else {
        loses = beats(nodes[node], winner);
      }
      if (loses) {
        int loser = winner;
        winner = nodes[node];
        nodes[node] = loser;
        prefixes[node] = prefix;
        seconds[node] = second;
        prefix = nodePrefix;
        second = nodeSecond;
      }
    }
    nodes[0] = winner;
  }

  /** The number of the cursor that would win without the winner; -1 if there is no other. */
  int runnerUp() {
    int best = -1;
    for (int node = (nodes[0] + cursors.length) >>> 1; node > 0; node >>>= 1) {
      if (best < 0 || beats(nodes[node], best)) {
        best = nodes[node];
      }
    }
    return best;
  }

  /** Whether the row of one cursor comes before that of another. */
  boolean beats(int left, int right) {
    RowCursor l = cursors[left];
    RowCursor r = cursors[right];
    if (l.done || r.done) {
      return r.done && (!l.done || left < right);
    }
    int order = RowCursor.compareKeys(l, r);
    return order != 0 ? order < 0 : left < right;
  }
}
