package dev.firn.engine;

import dev.firn.engine.PlainCompactor.Omission;
import dev.firn.engine.Schedule.Op;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Random schedules of commits by others at every point of a compaction (O-E), held against a
 * logical table: {@code -Dfirn.interleavings=N} runs N of them, {@code -Dfirn.test.seed=S} starts
 * with that seed and, alone, runs that one.
 */
class InterleavingsTest {
  private static final Logger LOG = LoggerFactory.getLogger(InterleavingsTest.class);

  private static final int SCHEDULES = 200;

  /** What is wrong with a plain compaction shows within so many schedules. */
  private static final int FINDABLE_WITHIN = 300;

  @TempDir Path directory;
  final Map<String, Integer> tally = new TreeMap<>();
  private int runs;

  @Test
  void oaobocodoeNoInterleavingLosesARowOrBringsOneBack() throws Exception {
    Long given = Long.getLong("firn.test.seed");
    long first = given == null ? ThreadLocalRandom.current().nextInt() : given;
    int count = Integer.getInteger("firn.interleavings", given == null ? SCHEDULES : 1);
    LOG.info("Interleavings from seed {}, {} of them", first, count);
    long started = System.nanoTime();
    for (long seed = first; seed < first + count; seed++) {
      check(Schedule.random(seed, Schedule.ALL_OPS), new FirnCompactor());
    }
    LOG.info(
        "{} interleavings in {} ms: {}", count, (System.nanoTime() - started) / 1_000_000, tally);
  }

  @Test
  void h1oeTheHarnessFindsDroppedEqualityDeletesInPlainCore() throws Exception {
    found(2, Omission.NONE, "(O-A, O-B)", List.of(), Op.APPEND, Op.DELETE_KEYS);
  }

  @Test
  void h2h3oeTheHarnessFindsDeletesOfAnotherSpecInPlainCore() throws Exception {
    found(
        24,
        Omission.NONE,
        "(O-A, O-B)",
        List.of(Op.CHANGE_SPEC, Op.DELETE_KEYS),
        Op.CHANGE_SPEC,
        Op.DELETE_KEYS,
        Op.APPEND);
  }

  @Test
  void h4oeTheHarnessFindsDeletesConvertedByReplaceInPlainCore() throws Exception {
    found(
        21,
        Omission.NONE,
        "(O-A, O-B)",
        List.of(Op.CONVERT_DELETES),
        Op.DELETE_KEYS,
        Op.CONVERT_DELETES);
  }

  @Test
  void c20oeTheHarnessFindsRowIdsLostToAnUpgradeInPlainCore() throws Exception {
    found(7, Omission.NONE, "(L1, L4, C20)", List.of(), Op.UPGRADE, Op.APPEND);
  }

  @Test
  void c5oeTheHarnessFindsPositionDeletesThatAreNotCarriedOver() throws Exception {
    found(3, Omission.VALIDATION, "(O-A, O-B)", List.of(), Op.DELETE_POSITIONS);
  }

  @Test
  void c11oeTheHarnessFindsLiveFilesDeletedInDoubt() throws Exception {
    found(61, Omission.DOUBT, "live file", List.of(), Op.APPEND);
  }

  /**
   * Some schedule of these operations fails with that message, and does not without those that are
   * needed.
   *
   * @param first a seed shortly before one that is known to do
   */
  private void found(long first, Omission omission, String message, List<Op> needed, Op... ops)
      throws Exception {
    PlainCompactor plain = new PlainCompactor(omission);
    for (long seed = first; seed < first + FINDABLE_WITHIN; seed++) {
      Schedule schedule = Schedule.random(seed, PlainCompactor.only(ops));
      AssertionError failure = failureOf(schedule, plain);
      if (failure != null && failure.getMessage().contains(message)) {
        Failing failing = new Failing(schedule, failure);
        Failing shortest = needed.isEmpty() ? failing : shortest(failing, plain);
        List<Op> left = shortest.schedule().steps().stream().map(Schedule.Step::op).toList();
        if (left.containsAll(needed) && shortest.failure().getMessage().contains(message)) {
          LOG.info("Found at seed {}: {}", seed, shortest.failure().getMessage());
          return;
        }
      }
    }
    throw new AssertionError("Not found in " + FINDABLE_WITHIN + " schedules");
  }

  void check(Schedule schedule, ScheduledRun.Compactor compactor) throws Exception {
    AssertionError failure = failureOf(schedule, compactor);
    if (failure != null) {
      Failing shortest = shortest(new Failing(schedule, failure), compactor);
      AssertionError result =
          new AssertionError(
              "rerun with -Dfirn.test.seed="
                  + schedule.seed()
                  + "\n"
                  + shortest.failure().getMessage(),
              shortest.failure());
      result.addSuppressed(failure);
      throw result;
    }
  }

  private record Failing(Schedule schedule, AssertionError failure) {}

  /** What is wrong after the schedule, null if nothing is. */
  private @Nullable AssertionError failureOf(Schedule schedule, ScheduledRun.Compactor compactor)
      throws Exception {
    Path at = Files.createDirectory(directory.resolve("run" + runs++));
    try {
      ScheduledRun.run(schedule, at, compactor, tally);
      return null;
    } catch (AssertionError e) {
      return e;
    } finally {
      delete(at);
    }
  }

  /** Leaves out what is not needed for the schedule to fail. */
  private Failing shortest(Failing failing, ScheduledRun.Compactor compactor) throws Exception {
    Failing shortest = failing;
    for (int i = failing.schedule().size() - 1; i >= 0; i--) {
      Schedule shorter = shortest.schedule().without(i);
      AssertionError failure = failureOf(shorter, compactor);
      if (failure != null) {
        shortest = new Failing(shorter, failure);
      }
    }
    return shortest;
  }

  private static void delete(Path directory) throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
