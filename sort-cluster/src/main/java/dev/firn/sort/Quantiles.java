package dev.firn.sort;

import java.util.Arrays;

/**
 * Ranks for the values of a sorted sample, spread over all numbers of some bits by how many rows
 * come before. A value's rank is the middle of its share of the rows, so that one of a large share
 * stands far from its neighbours.
 *
 * @param firsts of each boundary, where it first stands in the sample
 * @param ranks the rank of what comes before the first boundary, of the first boundary, of what
 *     comes between it and the second, and so on
 * @param nullRank of nulls and nothing else
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record Quantiles(int[] firsts, int[] ranks, int nullRank) {

  /** How many values of a column are told apart, at most, and the ranges between them. */
  static final int BOUNDARIES_MAX = 4095;

  /**
   * @param starts where each different value starts among all that are not null, and their number
   * @param nulls how many nulls come before or after them
   */
  static Quantiles of(int[] starts, int nulls, boolean nullsFirst, int bits) {
    int values = starts.length - 1;
    int count = starts[values];
    long all = (long) count + nulls;
    int before = nullsFirst ? nulls : 0;
    int[] firsts = new int[Math.min(values, BOUNDARIES_MAX)];
    int[] ends = new int[firsts.length];
    int boundaries = 0;
    for (int value = 0; value < values; value++) {
      // Of many values, those are taken in which a quantile ends: all frequent ones are.
      if (values <= BOUNDARIES_MAX
          || quantile(starts[value], count) != quantile(starts[value + 1], count)) {
        firsts[boundaries] = starts[value];
        ends[boundaries++] = starts[value + 1];
      }
    }
    int greatest = (1 << bits) - 1;
    int nullRank = rank(nullsFirst ? 0 : count, nullsFirst ? nulls : all, all, greatest);
    if (nulls == 0) {
      nullRank = nullsFirst ? 0 : greatest;
    }
    int low = nullsFirst ? nullRank + 1 : 0;
    int high = nullsFirst ? greatest : nullRank - 1;
    int[] ranks = new int[2 * boundaries + 1];
    int end = 0;
    for (int i = 0; i < boundaries; i++) {
      ranks[2 * i] = rank(before + end, before + firsts[i], all, greatest);
      ranks[2 * i + 1] = rank(before + firsts[i], before + ends[i], all, greatest);
      end = ends[i];
    }
    ranks[2 * boundaries] = rank(before + end, before + count, all, greatest);
    for (int i = 0; i < ranks.length; i++) {
      ranks[i] = Math.max(low, Math.min(high, ranks[i]));
    }
    return new Quantiles(Arrays.copyOf(firsts, boundaries), ranks, nullRank);
  }

  private static long quantile(int rows, int count) {
    return (long) rows * BOUNDARIES_MAX / count;
  }

  /** The middle between two numbers of rows, of all of them, as a rank. */
  private static int rank(long from, long to, long all, int greatest) {
    return all == 0 ? 0 : (int) Math.min(greatest, (from + to) * (greatest + 1L) / (2 * all));
  }
}
