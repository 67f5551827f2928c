package dev.firn.io;

import java.util.concurrent.ThreadLocalRandom;

/**
 * How long to wait before a failed request is made again: doubling from a first wait, with jitter,
 * up to a longest one. A store that throttles has a longer first wait, since its client has backed
 * off already.
 */
record Backoff(long failedMillis, long throttledMillis, long millisMax) {
  static final Backoff DEFAULT = new Backoff(100, 2_000, 20_000);

  /** The wait after {@code failures} failures in a row, at least half of the full one. */
  long millis(int failures, boolean throttled) {
    long first = throttled ? throttledMillis : failedMillis;
    long full = Math.min(millisMax, first << Math.min(failures - 1, 16));
    return full - ThreadLocalRandom.current().nextLong(full / 2 + 1);
  }
}
