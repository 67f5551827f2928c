package dev.firn.engine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/**
 * Chooses the files of one partition that overlap too much.
 *
 * <p><b>Depth.</b> The end points of all files cut the keys into gaps. A file covers a gap if the
 * gap is inside of its range; end points do not count. The depth of a file is the most other files
 * that cover one gap with it. A gap is too deep if some file that covers it has more than {@code
 * depthMax} others there.
 *
 * <p><b>Choice.</b> All files that cover a too deep gap are chosen, and cut into sets of files that
 * hang together by their overlaps. The files of a set become one sorted row of files. The wide file
 * beside many narrow ones goes with them, and is narrow afterwards.
 *
 * <p><b>Budget.</b> Of a set, the heaviest files that do not overlap one another are in order
 * already: its <em>base</em>. All other bytes are new to that order, whoever wrote the files and
 * whatever is still known of their snapshots. If the set has more than {@code amplificationMax}
 * bytes for each new one, the base is left where it is, and the others are chosen among themselves
 * as far as they meet in too deep gaps, with a base of their own, and so on. The base is left too
 * where what remains is enough to bring the depth within the limit and has fewer bytes for each new
 * one. So small wide files are merged with one another, files of a size with files of a size, until
 * they are worth a rewrite of what they lie over.
 *
 * <p><b>Why it converges.</b> Let {@code c(g)} be the number of files that cover a gap.
 *
 * <ol>
 *   <li>No run makes any place deeper. A set hangs together, so each place between its first and
 *       its last key is inside of at least one of its files. Its outputs hold the same keys, in
 *       order, and do not overlap: of them at most one covers the place.
 *   <li>What no budget cuts is done at once. All files at a too deep gap begin in one set. Each
 *       base has at most one file there; the others, if there are two, stay together. So if bases
 *       were left out {@code r} times, at most {@code r + 1} files cover the gap afterwards. While
 *       {@code r <= depthMax} it is no longer too deep, and no other became so by 1. If this is so
 *       for all gaps, the next run plans nothing.
 *   <li>What the budget leaves is little. When a set of {@code b} bytes is over the budget, less
 *       than {@code b / amplificationMax} bytes remain for the next step. So {@code r} is at most
 *       {@code depthMax}, or less than the logarithm, to that base, of the set's bytes by those of
 *       its smallest file.
 *   <li>Runs without new data come to an end, for each makes the sum of all {@code c(g)} smaller.
 * </ol>
 *
 * <p>Takes O(n log n) time, for each time a base is left out. Immutable.
 */
final class OverlapSelection {
  /** How many bases are left out at most only because that is cheaper. */
  private static final int CHEAPER_STEPS_MAX = 16;

  private final int[] from;
  private final int[] to;
  private final long[] bytes;
  private final int depthMax;
  private final double amplificationMax;

  /** How many files cover each gap. */
  private final int[] covers;

  /** How many gaps before each are too deep. */
  private final int[] deepBefore;

  private final List<int[]> sets = new ArrayList<>();

  /**
   * Chooses.
   *
   * @param from the first gap that each file covers
   * @param to one more than the last gap that each file covers; {@code from} if it covers none
   * @param bytes the size of each file, positive
   * @param depthMax other files that may cover a gap with a file
   * @param amplificationMax bytes to rewrite for each that is new, at least 1.1
   */
  OverlapSelection(int[] from, int[] to, long[] bytes, int depthMax, double amplificationMax) {
    this.from = from;
    this.to = to;
    this.bytes = bytes;
    this.depthMax = depthMax;
    this.amplificationMax = amplificationMax;
    int gaps = Arrays.stream(to).max().orElse(0);
    this.covers = covers(all(from.length), 0, gaps);
    this.deepBefore = new int[gaps + 1];
    for (int gap = 0; gap < gaps; gap++) {
      deepBefore[gap + 1] = deepBefore[gap] + (isTooDeep(gap) ? 1 : 0);
    }
    int[] deep = Arrays.stream(all(from.length)).filter(this::coversTooDeep).toArray();
    for (int[] set : connected(deep)) {
      sets.addAll(choice(set, 0).sets);
    }
    sets.sort(Comparator.comparingInt(set -> from[set[0]]));
  }

  /**
   * Chooses among files by their ranges.
   *
   * @param bytes the size of each file, positive
   */
  static OverlapSelection of(
      List<KeyRange> ranges, long[] bytes, int depthMax, double amplificationMax) {
    List<byte[]> ends = new ArrayList<>();
    for (KeyRange range : ranges) {
      if (range.after() != null && range.before() != null) {
        ends.add(range.after());
        ends.add(range.before());
      }
    }
    ends.sort(Arrays::compareUnsigned);
    List<byte[]> distinct = new ArrayList<>();
    for (byte[] end : ends) {
      if (distinct.isEmpty() || !Arrays.equals(distinct.get(distinct.size() - 1), end)) {
        distinct.add(end);
      }
    }
    int[] from = new int[ranges.size()];
    int[] to = new int[ranges.size()];
    for (int file = 0; file < from.length; file++) {
      KeyRange range = ranges.get(file);
      if (range.after() != null && range.before() != null) {
        from[file] = Collections.binarySearch(distinct, range.after(), Arrays::compareUnsigned);
        to[file] = Collections.binarySearch(distinct, range.before(), Arrays::compareUnsigned);
      }
    }
    return new OverlapSelection(from, to, bytes, depthMax, amplificationMax);
  }

  private static int[] all(int count) {
    int[] all = new int[count];
    Arrays.setAll(all, file -> file);
    return all;
  }

  /** The chosen files: at least two in each set, by their first gap. */
  List<int[]> sets() {
    return List.copyOf(sets);
  }

  /** The depth of each file: the most other files that cover one gap with it. */
  int[] depths() {
    // The leaves of a tree whose inner nodes have the greater of their two children.
    int gaps = covers.length;
    int[] tree = new int[2 * gaps];
    System.arraycopy(covers, 0, tree, gaps, gaps);
    for (int node = gaps - 1; node > 0; node--) {
      tree[node] = Math.max(tree[2 * node], tree[2 * node + 1]);
    }
    int[] depths = new int[from.length];
    for (int file = 0; file < depths.length; file++) {
      int most = 1;
      int low = from[file] + gaps;
      int high = to[file] + gaps;
      for (; low < high; low >>= 1, high >>= 1) {
        if ((low & 1) == 1) {
          most = Math.max(most, tree[low++]);
        }
        if ((high & 1) == 1) {
          most = Math.max(most, tree[--high]);
        }
      }
      depths[file] = most - 1;
    }
    return depths;
  }

  private boolean isTooDeep(int gap) {
    return covers[gap] > (long) depthMax + 1;
  }

  /** Whether the file covers a gap that is too deep. */
  boolean coversTooDeep(int file) {
    return deepBefore[to[file]] > deepBefore[from[file]];
  }

  /** How many of the files cover each gap of a range of gaps that holds them all. */
  private int[] covers(int[] files, int first, int end) {
    int[] counts = new int[end - first];
    for (int file : files) {
      if (from[file] < to[file]) {
        counts[from[file] - first]++;
        if (to[file] < end) {
          counts[to[file] - first]--;
        }
      }
    }
    for (int gap = 1; gap < counts.length; gap++) {
      counts[gap] += counts[gap - 1];
    }
    return counts;
  }

  /** Cuts files that cover something into sets that hang together, each by its first gaps. */
  private List<int[]> connected(int[] files) {
    int[] sorted = sorted(files, Comparator.comparingInt(file -> from[file]));
    List<int[]> parts = new ArrayList<>();
    int start = 0;
    int end = 0;
    for (int i = 0; i < sorted.length; i++) {
      if (i > start && from[sorted[i]] >= end) {
        parts.add(Arrays.copyOfRange(sorted, start, i));
        start = i;
      }
      end = Math.max(end, to[sorted[i]]);
    }
    if (start < sorted.length) {
      parts.add(Arrays.copyOfRange(sorted, start, sorted.length));
    }
    return parts;
  }

  /** Those of the files that meet another of them in a gap that is too deep, in connected sets. */
  private List<int[]> meeting(int[] files) {
    List<int[]> sets = new ArrayList<>();
    for (int[] part : connected(files)) {
      int first = from[part[0]];
      int end = Arrays.stream(part).map(file -> to[file]).max().orElse(first);
      int[] counts = covers(part, first, end);
      int[] metBefore = new int[counts.length + 1];
      for (int i = 0; i < counts.length; i++) {
        metBefore[i + 1] = metBefore[i] + (counts[i] > 1 && isTooDeep(first + i) ? 1 : 0);
      }
      int[] met =
          Arrays.stream(part)
              .filter(file -> metBefore[to[file] - first] > metBefore[from[file] - first])
              .toArray();
      sets.addAll(connected(met));
    }
    return sets;
  }

  /**
   * What is taken of a set.
   *
   * @param all bytes of it
   * @param added those of them that are new to their set's base
   * @param enough whether nothing is too deep afterwards
   */
  private record Choice(List<int[]> sets, double all, double added, boolean enough) {}

  /**
   * Chooses of a set what is cheapest for each new byte, of what is within the budget and enough.
   *
   * @param left how often a base was left out to come to this set
   */
  private Choice choice(int[] set, int left) {
    boolean[] base = base(set);
    double all = 0;
    double added = 0;
    for (int i = 0; i < set.length; i++) {
      all += bytes[set[i]];
      added += base[i] ? 0 : bytes[set[i]];
    }
    boolean within = all <= amplificationMax * added;
    if (within && left >= Math.min(depthMax, CHEAPER_STEPS_MAX)) {
      return new Choice(List.of(set), all, added, left <= depthMax);
    }
    Choice rest = choiceOf(meeting(without(set, base)), left + 1);
    boolean cheaper = rest.enough && rest.all * added < all * rest.added;
    return within && !cheaper ? new Choice(List.of(set), all, added, left <= depthMax) : rest;
  }

  private Choice choiceOf(List<int[]> parts, int left) {
    List<int[]> chosen = new ArrayList<>();
    double all = 0;
    double added = 0;
    boolean enough = left <= depthMax;
    for (int[] part : parts) {
      Choice choice = choice(part, left);
      chosen.addAll(choice.sets);
      all += choice.all;
      added += choice.added;
      enough &= choice.enough;
    }
    return new Choice(chosen, all, added, enough);
  }

  private static int[] without(int[] set, boolean[] base) {
    int[] rest = new int[set.length];
    int count = 0;
    for (int i = 0; i < set.length; i++) {
      if (!base[i]) {
        rest[count++] = set[i];
      }
    }
    return Arrays.copyOf(rest, count);
  }

  /** The heaviest files of a set that do not overlap one another. */
  private boolean[] base(int[] set) {
    Integer[] byEnd = new Integer[set.length];
    Arrays.setAll(byEnd, i -> i);
    Arrays.sort(byEnd, Comparator.comparingInt(i -> to[set[i]]));
    int[] ends = Arrays.stream(byEnd).mapToInt(i -> to[set[i]]).toArray();
    double[] heaviest = new double[set.length + 1]; // of the first so many by their ends
    int[] before = new int[set.length]; // how many end where each starts, or earlier
    for (int k = 0; k < set.length; k++) {
      int file = set[byEnd[k]];
      before[k] = endingUpTo(ends, k, from[file]);
      heaviest[k + 1] = Math.max(heaviest[k], heaviest[before[k]] + bytes[file]);
    }
    boolean[] base = new boolean[set.length];
    for (int k = set.length; k > 0; ) {
      if (heaviest[k] == heaviest[k - 1]) {
        k--;
      } else {
        base[byEnd[k - 1]] = true;
        k = before[k - 1];
      }
    }
    return base;
  }

  /** How many of the first {@code count} ends are at most {@code gap}. */
  private static int endingUpTo(int[] ends, int count, int gap) {
    int low = 0;
    int high = count;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (ends[middle] <= gap) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private static int[] sorted(int[] files, Comparator<Integer> order) {
    return Arrays.stream(files).boxed().sorted(order).mapToInt(file -> file).toArray();
  }
}
