package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ReservoirTest {
  private final long seed = Long.getLong("firn.test.seed", new Random().nextLong());
  private final Random random = new Random(seed);

  /** A sample of numbered rows in batches of random sizes. */
  private int[] sample(Reservoir reservoir, int rows, int halveAt) {
    int[] held = new int[rows];
    int done = 0;
    boolean halved = false;
    while (done < rows) {
      int batch = Math.min(rows - done, random.nextInt(40));
      int[] ordinals = new int[batch];
      int[] slots = new int[batch];
      int count = reservoir.offer(batch, ordinals, slots);
      for (int i = 0; i < count; i++) {
        held[slots[i]] = done + ordinals[i];
      }
      done += batch;
      if (!halved && done >= halveAt) {
        halved = true;
        int before = reservoir.size();
        assertThat(reservoir.halve()).hasSize(before - reservoir.size()).doesNotHaveDuplicates();
      }
    }
    return Arrays.stream(reservoir.slots()).map(slot -> held[slot]).sorted().toArray();
  }

  @Test
  void eachRowIsInTheSampleAsOftenAsAnyOther() {
    int runs = 4000;
    for (int halveAt : new int[] {1000, 30, 100}) {
      int[] times = new int[200];
      int size = 0;
      for (int run = 0; run < runs; run++) {
        int[] sample = sample(new Reservoir(50, random.nextLong()), 200, halveAt);
        assertThat(sample).doesNotHaveDuplicates();
        size += sample.length;
        Arrays.stream(sample).forEach(row -> times[row]++);
      }
      double expected = size / 200.0;
      double share = expected / runs;
      double deviation = Math.sqrt(runs * share * (1 - share));
      for (int row = 0; row < times.length; row++) {
        assertThat((double) times[row])
            .as("rerun with -Dfirn.test.seed=%s: row %s, halved at %s", seed, row, halveAt)
            .isBetween(expected - 6 * deviation, expected + 6 * deviation);
      }
    }
  }

  @Test
  void fewRowsAreAllHeld() {
    assertThat(sample(new Reservoir(50, seed), 50, 1000))
        .containsExactly(IntStream.range(0, 50).toArray());
    assertThat(new Reservoir(50, seed).slots()).isEmpty();
  }

  @Test
  void theSameSeedGivesTheSameSampleHoweverRowsAreBatched() {
    Set<String> samples = new TreeSet<>();
    for (int i = 0; i < 5; i++) {
      samples.add(Arrays.toString(sample(new Reservoir(20, seed), 5000, 6000)));
    }
    assertThat(samples).hasSize(1);
    assertThat(sample(new Reservoir(20, seed + 1), 5000, 6000))
        .isNotEqualTo(sample(new Reservoir(20, seed), 5000, 6000));
  }

  @Test
  void halvingEndsAtOne() {
    Reservoir reservoir = new Reservoir(8, seed);
    reservoir.offer(5, new int[5], new int[5]);
    for (int size : new int[] {2, 1, 1}) {
      reservoir.halve();
      assertThat(reservoir.size()).isEqualTo(size);
    }
    reservoir.offer(100, new int[100], new int[100]);
    assertThat(reservoir.size()).isEqualTo(1);
  }
}
