package dev.firn.engine;

/**
 * How many more rows of each hash one side has than another: a map from 64-bit hashes to counts, in
 * primitive arrays that grow. Not thread-safe.
 */
final class RowHashCounts {
  /** What a hash takes at most: arrays a quarter full, and the old ones while they grow. */
  static final int BYTES_PER_HASH = 80;

  private static final int CAPACITY_MIN = 1 << 10;

  private long[] hashes = new long[CAPACITY_MIN];
  private int[] counts = new int[CAPACITY_MIN];
  private boolean[] used = new boolean[CAPACITY_MIN];
  private int size;

  void add(long hash, int count) {
    int at = slot(hash);
    if (!used[at]) {
      if (size >= hashes.length / 2) {
        grow();
        at = slot(hash);
      }
      used[at] = true;
      hashes[at] = hash;
      size++;
    }
    counts[at] += count;
  }

  /** 0 for a hash that was never added. */
  int count(long hash) {
    return counts[slot(hash)];
  }

  /* Hashes are mixed well: their low bits are as good as any. */
  private int slot(long hash) {
    int mask = hashes.length - 1;
    int at = (int) hash & mask;
    while (used[at] && hashes[at] != hash) {
      at = (at + 1) & mask;
    }
    return at;
  }

  private void grow() {
    long[] oldHashes = hashes;
    int[] oldCounts = counts;
    boolean[] oldUsed = used;
    hashes = new long[oldHashes.length * 2];
    counts = new int[hashes.length];
    used = new boolean[hashes.length];
    for (int i = 0; i < oldHashes.length; i++) {
      if (oldUsed[i]) {
        int at = slot(oldHashes[i]);
        used[at] = true;
        hashes[at] = oldHashes[i];
        counts[at] = oldCounts[i];
      }
    }
  }
}
