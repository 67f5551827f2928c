package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class OverlapSelectionTest {
  /** Files on a line of whole numbers: each covers the gaps from {@code from} to {@code to - 1}. */
  private static final class Files {
    final List<int[]> ranges = new ArrayList<>();
    final List<Long> bytes = new ArrayList<>();

    Files add(int from, int to, long size) {
      ranges.add(new int[] {from, to});
      bytes.add(size);
      return this;
    }

    OverlapSelection select(int depthMax, double amplificationMax) {
      return new OverlapSelection(
          ranges.stream().mapToInt(range -> range[0]).toArray(),
          ranges.stream().mapToInt(range -> range[1]).toArray(),
          bytes.stream().mapToLong(size -> size).toArray(),
          depthMax,
          amplificationMax);
    }

    int covers(int gap) {
      return (int) ranges.stream().filter(range -> range[0] <= gap && gap < range[1]).count();
    }

    int[] covers() {
      int gaps = ranges.stream().mapToInt(range -> range[1]).max().orElse(0);
      int[] covers = new int[gaps];
      Arrays.setAll(covers, this::covers);
      return covers;
    }

    /** What a run makes of them: each set becomes a row of files of about {@code target} bytes. */
    Files after(List<int[]> sets, long target) {
      Files after = new Files();
      Set<Integer> taken = new HashSet<>();
      for (int[] set : sets) {
        int first = Integer.MAX_VALUE;
        int end = 0;
        long size = 0;
        for (int file : set) {
          taken.add(file);
          first = Math.min(first, ranges.get(file)[0]);
          end = Math.max(end, ranges.get(file)[1]);
          size += bytes.get(file);
        }
        int pieces = (int) Math.max(1, Math.min(end - first, size / target));
        for (int i = 0; i < pieces; i++) {
          after.add(
              first + (int) ((long) (end - first) * i / pieces),
              first + (int) ((long) (end - first) * (i + 1) / pieces),
              size / pieces);
        }
      }
      for (int file = 0; file < ranges.size(); file++) {
        if (!taken.contains(file)) {
          after.add(ranges.get(file)[0], ranges.get(file)[1], bytes.get(file));
        }
      }
      return after;
    }
  }

  private static Set<Integer> chosen(OverlapSelection selection) {
    Set<Integer> chosen = new HashSet<>();
    selection.sets().forEach(set -> Arrays.stream(set).forEach(chosen::add));
    return chosen;
  }

  @Test
  void aSortedRowOfFilesIsLeft() {
    Files files = new Files();
    for (int i = 0; i < 100; i++) {
      files.add(i, i + 1, 1000);
    }
    assertThat(files.select(0, 8).sets()).isEmpty();
    assertThat(files.select(0, 8).depths()).containsOnly(0);
  }

  @Test
  void oneMoreThanTheLimitIsTooDeep() {
    Files files = new Files().add(0, 10, 1).add(0, 10, 1).add(0, 10, 1);
    assertThat(files.select(2, 8).sets()).isEmpty();
    assertThat(files.select(2, 8).depths()).containsOnly(2);
    assertThat(chosen(files.select(1, 8))).containsExactlyInAnyOrder(0, 1, 2);
    assertThat(chosen(files.select(0, 8))).hasSize(3);
    assertThat(files.select(Integer.MAX_VALUE, 8).sets()).isEmpty();
  }

  @Test
  void filesWithOneKeyAreLeft() {
    Files files = new Files().add(0, 4, 1).add(0, 4, 1);
    for (int i = 0; i < 50; i++) {
      files.add(2, 2, 1);
    }
    assertThat(chosen(files.select(0, 8))).containsExactlyInAnyOrder(0, 1);
    assertThat(files.select(1, 8).sets()).isEmpty();
  }

  @Test
  void aWideFileGoesWithTheNarrowOnesAndIsNarrowAfterwards() {
    Files files = new Files().add(0, 100, 100);
    for (int i = 0; i < 100; i++) {
      files.add(i, i + 1, 5);
    }
    OverlapSelection first = files.select(0, 8);
    assertThat(chosen(first)).hasSize(101);
    assertThat(files.after(first.sets(), 5).select(0, 8).sets()).isEmpty();
  }

  @Test
  void onlyWhatCoversATooDeepPlaceIsChosen() {
    Files files = new Files();
    for (int i = 0; i < 100; i++) {
      files.add(i, i + 1, 100);
    }
    files.add(40, 42, 30).add(40, 42, 30);
    assertThat(chosen(files.select(0, 8))).containsExactlyInAnyOrder(40, 41, 100, 101);
    assertThat(chosen(files.select(1, 8)))
        .as("the least for each new byte that brings depth within the limit")
        .containsExactlyInAnyOrder(100, 101);
  }

  @Test
  void setsThatAreApartStayApart() {
    Files files = new Files().add(0, 2, 1).add(0, 2, 1).add(2, 4, 1).add(2, 4, 1).add(7, 9, 1);
    files.add(8, 10, 1);
    assertThat(files.select(0, 8).sets()).hasSize(3).allMatch(set -> set.length == 2);
  }

  @Test
  void aBaseThatIsTooLargeIsLeftAndTheRestIsMerged() {
    Files files = new Files();
    for (int i = 0; i < 100; i++) {
      files.add(i, i + 1, 1000);
    }
    files.add(0, 100, 10).add(0, 90, 10).add(10, 100, 10);
    OverlapSelection selection = files.select(1, 8);
    assertThat(chosen(selection)).containsExactlyInAnyOrder(100, 101, 102);
    Files after = files.after(selection.sets(), 1000);
    assertThat(after.covers()).containsOnly(2);
    assertThat(after.select(1, 8).sets()).isEmpty();
    assertThat(chosen(files.select(0, 8))).hasSize(3);
    assertThat(chosen(files.select(0, 10_000))).as("with a budget for all").hasSize(103);
  }

  @Test
  void oneNewFileOverAMuchLargerOneWaitsForOthers() {
    Files files = new Files().add(0, 10, 1000).add(0, 10, 10);
    assertThat(files.select(0, 8).sets()).isEmpty();
    assertThat(files.select(0, 8).coversTooDeep(1)).isTrue();
    files.add(0, 10, 10);
    assertThat(chosen(files.select(0, 8))).containsExactlyInAnyOrder(1, 2);
  }

  @Test
  void nestedRangesOfAnySizeAreBounded() {
    Files files = new Files();
    for (int i = 0; i < 200; i++) {
      files.add(i, 401 - i, 10 + i);
    }
    OverlapSelection selection = files.select(4, 8);
    assertThat(selection.depths()[199]).isEqualTo(199);
    assertThat(selection.depths()[0]).isEqualTo(199);
    Files after = files.after(selection.sets(), 500);
    assertThat(Arrays.stream(after.covers()).max().orElseThrow()).isLessThanOrEqualTo(5);
    assertThat(after.select(4, 8).sets()).isEmpty();
  }

  @Test
  void layersThatGrowByTheBudgetAreTheMostThatIsLeft() {
    Files files = new Files();
    long size = 1;
    for (int i = 0; i < 8; i++) {
      files.add(0, 10, size);
      size *= 9;
    }
    assertThat(files.select(0, 8).sets()).isEmpty();
    assertThat(chosen(files.select(0, 9.5))).hasSize(8);
  }

  /** Against the definitions, gap by gap. */
  @Test
  void noRunMakesAnyPlaceDeeperAndRunsComeToAnEnd() {
    for (int round = 0; round < 400; round++) {
      long seed = Long.getLong("firn.test.seed", System.nanoTime() + round);
      Random random = new Random(seed);
      Files files = new Files();
      int width = 1 + random.nextInt(60);
      int count = 1 + random.nextInt(60);
      for (int i = 0; i < count; i++) {
        int from = random.nextInt(width + 1);
        int to =
            random.nextInt(4) == 0
                ? from
                : Math.min(width, from + 1 + random.nextInt(1 + random.nextInt(width)));
        files.add(from, Math.max(from, to), 1L + (long) Math.pow(10, random.nextInt(8)));
      }
      int depthMax = random.nextInt(6);
      double budget = 1.5 + random.nextInt(12);
      check(files, depthMax, budget, seed);
    }
  }

  private static void check(Files start, int depthMax, double budget, long seed) {
    Files files = start;
    String rerun = "rerun with -Dfirn.test.seed=" + seed;
    for (int run = 0; ; run++) {
      assertThat(run).as(rerun).isLessThan(200);
      OverlapSelection selection = files.select(depthMax, budget);
      int[] before = files.covers();
      for (int file = 0; file < files.ranges.size(); file++) {
        int[] range = files.ranges.get(file);
        int most = 1;
        for (int gap = range[0]; gap < range[1]; gap++) {
          most = Math.max(most, before[gap]);
        }
        assertThat(selection.depths()[file]).as(rerun).isEqualTo(most - 1);
        assertThat(selection.coversTooDeep(file)).as(rerun).isEqualTo(most - 1 > depthMax);
      }
      if (selection.sets().isEmpty()) {
        return;
      }
      Set<Integer> seen = new HashSet<>();
      for (int[] set : selection.sets()) {
        assertThat(set).as(rerun).hasSizeGreaterThan(1);
        for (int file : set) {
          assertThat(seen.add(file)).as("in one set only, " + rerun).isTrue();
          assertThat(selection.coversTooDeep(file)).as(rerun).isTrue();
        }
        checkBudget(files, set, budget, rerun);
      }
      Files after = files.after(selection.sets(), 1 + new Random(seed).nextInt(10_000));
      int[] covers = after.covers();
      for (int gap = 0; gap < before.length; gap++) {
        int now = gap < covers.length ? covers[gap] : 0;
        assertThat(now).as("files at gap %d, %s", gap, rerun).isLessThanOrEqualTo(before[gap]);
      }
      assertThat(Arrays.stream(covers).sum()).as(rerun).isLessThan(Arrays.stream(before).sum());
      assertThat(Arrays.stream(covers).max().orElse(0))
          .as("files at the deepest gap, " + rerun)
          .isLessThanOrEqualTo(Math.max(depthMax + 1, depthLeft(files, budget)));
      files = after;
    }
  }

  /** Bytes of all are at most so many for each that no row of files of the set holds already. */
  private static void checkBudget(Files files, int[] set, double budget, String rerun) {
    long all = Arrays.stream(set).mapToLong(files.bytes::get).sum();
    assertThat((double) all)
        .as("bytes of a set, " + rerun)
        .isLessThanOrEqualTo(budget * (all - heaviestRow(files, set)));
  }

  /** The heaviest files that do not overlap, by trying where each could follow. */
  private static long heaviestRow(Files files, int[] set) {
    int end = Arrays.stream(set).map(file -> files.ranges.get(file)[1]).max().orElseThrow();
    long[] upTo = new long[end + 1];
    for (int gap = 0; gap <= end; gap++) {
      upTo[gap] = gap == 0 ? 0 : upTo[gap - 1];
      for (int file : set) {
        int[] range = files.ranges.get(file);
        if (range[1] == gap) {
          upTo[gap] = Math.max(upTo[gap], upTo[range[0]] + files.bytes.get(file));
        }
      }
    }
    return upTo[end];
  }

  private static int depthLeft(Files files, double budget) {
    long all = files.bytes.stream().mapToLong(size -> size).sum();
    long least = files.bytes.stream().mapToLong(size -> size).min().orElse(1);
    return 2 + (int) (Math.log((double) all / least) / Math.log(budget));
  }

  @Test
  @Timeout(20)
  void aHundredThousandFilesAreQuicklyToldApart() {
    Files files = new Files();
    for (int i = 0; i < 50_000; i++) {
      files.add(i, i + 1, 1000);
      files.add(0, 50_000, 10);
    }
    assertThat(chosen(files.select(4, 1.2))).hasSize(50_000);
    assertThat(chosen(files.select(0, 1000))).hasSize(100_000);
    assertThat(files.select(4, 8).depths()).containsOnly(50_000);
  }
}
