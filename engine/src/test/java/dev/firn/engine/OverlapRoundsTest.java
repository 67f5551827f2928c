package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hundreds of rounds of writes and runs over a partition of tens of thousands of files that are
 * ranges and sizes only. Prints what becomes of depth and bytes, with {@code
 * -Dfirn.test.rounds=300}.
 */
class OverlapRoundsTest {
  private static final Logger LOG = LoggerFactory.getLogger(OverlapRoundsTest.class);
  private static final int ROUNDS = Integer.getInteger("firn.test.rounds", 30);
  private static final int TARGET = 512;
  private static final int KEYS = 10_000_000;

  /** A file: first and last key, and megabytes. */
  private record Piece(int first, int last, long bytes) {}

  @ParameterizedTest
  @CsvSource({
    // files at first, MB a round, of them all over the keys, depth, budget
    "20000, 640, 1, 4, 8",
    "20000, 640, 0.3, 4, 8",
    "20000, 640, 1, 4, 3",
    "20000, 640, 1, 1, 8",
    "20000, 640, 1, 0, 8",
    "20000, 640, 0.3, 8, 16",
    "200, 640, 1, 4, 8"
  })
  void depthAndBytesStayBounded(
      int base, int bytesARound, double wide, int depthMax, double budget) {
    long seed = Long.getLong("firn.test.seed", System.nanoTime());
    Random random = new Random(seed);
    List<Piece> pieces = new ArrayList<>();
    for (int i = 0; i < base; i++) {
      pieces.add(
          new Piece((int) ((long) KEYS * i / base), (int) ((long) KEYS * (i + 1) / base), TARGET));
    }
    long written = 0;
    long rewritten = 0;
    int deepestLater = 0;
    int deepestLeft = 0;
    int runsAgain = 0;
    long longest = 0;
    long mostRewritten = 0;
    for (int round = 1; round <= ROUNDS; round++) {
      for (int i = 0; i < 10; i++) {
        pieces.add(piece(random, bytesARound / 10, random.nextDouble() < wide));
        written += bytesARound / 10;
      }
      long started = System.nanoTime();
      Run run = Run.of(pieces, depthMax, budget);
      longest = Math.max(longest, System.nanoTime() - started);
      deepestLater = Math.max(deepestLater, run.deepest);
      rewritten += run.bytes;
      mostRewritten = Math.max(mostRewritten, run.bytes);
      pieces = run.after;
      Run again = Run.of(pieces, depthMax, budget);
      deepestLeft = Math.max(deepestLeft, again.deepest);
      runsAgain += again.bytes > 0 ? 1 : 0;
      if (again.deepest <= depthMax) {
        assertThat(again.bytes).as("rerun with -Dfirn.test.seed=" + seed).isZero();
      }
      if (round % Math.max(1, ROUNDS / 6) == 0) {
        LOG.warn(
            String.format(
                Locale.ROOT,
                "round %d: %d files, depth %d before and %d after the run; %d GB written, %d GB"
                    + " rewritten: %.1f for each",
                round,
                pieces.size(),
                run.deepest,
                again.deepest,
                written >> 10,
                rewritten >> 10,
                (double) rewritten / written));
      }
    }
    LOG.warn(
        String.format(
            Locale.ROOT,
            "%d files of %d MB, %d MB a round, %.0f %% of it all over, limit %d, budget %.0f: depth at"
                + " most %d before and %d after a run, %d runs left work for another, at most %d GB"
                + " rewritten by a run, %.1f bytes for each written, planned in %d ms at most",
            base,
            TARGET,
            bytesARound,
            100 * wide,
            depthMax,
            budget,
            deepestLater,
            deepestLeft,
            runsAgain,
            mostRewritten >> 10,
            (double) rewritten / written,
            longest / 1_000_000));
    int left = 1 + (int) (Math.log((double) base * TARGET / 64) / Math.log(budget));
    assertThat(deepestLeft)
        .as("rerun with -Dfirn.test.seed=" + seed)
        .isLessThanOrEqualTo(Math.max(depthMax, left));
    assertThat((double) rewritten / written)
        .as("rerun with -Dfirn.test.seed=" + seed)
        .isLessThan(budget * left);
  }

  private static Piece piece(Random random, long bytes, boolean wide) {
    if (wide) {
      return new Piece(random.nextInt(KEYS / 100), KEYS - random.nextInt(KEYS / 100), bytes);
    }
    int first = random.nextInt(KEYS - KEYS / 1000);
    return new Piece(first, first + 1 + random.nextInt(KEYS / 1000), bytes);
  }

  /** A run: what was deepest, what was rewritten, and the files after it. */
  private record Run(int deepest, long bytes, List<Piece> after) {
    static Run of(List<Piece> pieces, int depthMax, double budget) {
      int[] ends =
          pieces.stream()
              .flatMapToInt(piece -> Arrays.stream(new int[] {piece.first, piece.last}))
              .sorted()
              .distinct()
              .toArray();
      int[] from = pieces.stream().mapToInt(piece -> rank(ends, piece.first)).toArray();
      int[] to = pieces.stream().mapToInt(piece -> rank(ends, piece.last)).toArray();
      long[] sizes = pieces.stream().mapToLong(Piece::bytes).toArray();
      OverlapSelection selection = new OverlapSelection(from, to, sizes, depthMax, budget);
      boolean[] taken = new boolean[from.length];
      List<Piece> after = new ArrayList<>();
      long rewritten = 0;
      for (int[] set : selection.sets()) {
        long bytes = Arrays.stream(set).mapToLong(file -> sizes[file]).sum();
        rewritten += bytes;
        Arrays.stream(set).forEach(file -> taken[file] = true);
        after.addAll(sorted(Arrays.stream(set).mapToObj(pieces::get).toList(), bytes));
      }
      for (int file = 0; file < taken.length; file++) {
        if (!taken[file]) {
          after.add(pieces.get(file));
        }
      }
      int deepest = Arrays.stream(selection.depths()).max().orElse(0);
      return new Run(deepest, rewritten, after);
    }

    private static int rank(int[] ends, int key) {
      return Arrays.binarySearch(ends, key);
    }

    /** The bytes in the order of their keys, taken as even in each file, and cut. */
    private static List<Piece> sorted(List<Piece> set, long bytes) {
      int files = (int) Math.max(1, Math.round((double) bytes / TARGET));
      int[] ends =
          set.stream()
              .flatMapToInt(piece -> Arrays.stream(new int[] {piece.first, piece.last}))
              .sorted()
              .distinct()
              .toArray();
      double[] density = new double[ends.length];
      for (Piece piece : set) {
        double each = (double) piece.bytes / (piece.last - piece.first);
        density[rank(ends, piece.first)] += each;
        density[rank(ends, piece.last)] -= each;
      }
      List<Piece> cut = new ArrayList<>();
      int first = ends[0];
      double filled = 0;
      double running = 0;
      double share = (double) bytes / files;
      for (int i = 0; i + 1 < ends.length; i++) {
        running += density[i];
        double at = ends[i];
        while (cut.size() < files - 1
            && running > 0
            && filled + running * (ends[i + 1] - at) >= share) {
          at += (share - filled) / running;
          int last = (int) Math.max(first + 1L, Math.round(at));
          cut.add(new Piece(first, last, Math.round(share)));
          first = last;
          filled = 0;
        }
        filled += Math.max(0, running * (ends[i + 1] - at));
      }
      cut.add(new Piece(first, Math.max(first + 1, ends[ends.length - 1]), Math.round(share)));
      return cut;
    }
  }
}
