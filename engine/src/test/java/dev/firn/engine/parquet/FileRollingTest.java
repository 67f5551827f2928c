package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class FileRollingTest {
  private static final OutputSizes SIZES = new OutputSizes(1000, 750, 1800);

  /** Files of a stream of {@code total} bytes that grows by {@code step}; lengths are exact. */
  private static List<Double> files(OutputSizes sizes, double total, double step, double drift) {
    FileRolling rolling = new FileRolling(sizes);
    List<Double> files = new ArrayList<>();
    double done = 0;
    double file = 0;
    rolling.startFile();
    while (done < total) {
      double grown = Math.min(step, total - done);
      file += grown;
      done += grown;
      // The projection is wrong by up to drift at the start and right at the end.
      double left = (total - done) * (1 + drift * (total - done) / total);
      if (rolling.isFull(file, left)) {
        files.add(file);
        file = 0;
        rolling.startFile();
      }
    }
    if (file > 0) {
      files.add(file);
    }
    return files;
  }

  @RepeatedTest(200)
  void m19NoFileIsTooSmallOrTooLarge() {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    Random random = new Random(seed);
    double total = 700 + random.nextDouble() * 12_000;
    double drift = (random.nextDouble() - 0.5) * 0.1;
    List<Double> files = files(SIZES, total, 1 + random.nextInt(15), drift);
    if (total >= 1000) {
      assertThat(files)
          .as("rerun with -Dfirn.test.seed=" + seed + ", total " + total + ", drift " + drift)
          .allSatisfy(file -> assertThat(file).isBetween(750.0, 1800.0));
    }
  }

  @Test
  void m19LessThanTheLeastIsOneFile() {
    assertThat(files(SIZES, 600, 10, 0)).hasSize(1);
    assertThat(files(SIZES, 760, 10, 0)).hasSize(1);
  }

  @Test
  void remainderIsSpread() {
    assertThat(files(SIZES, 2200, 10, 0)).containsExactly(1100.0, 1100.0);
    assertThat(files(SIZES, 1400, 10, 0)).containsExactly(1400.0);
    assertThat(files(SIZES, 10_400, 10, 0)).hasSize(10);
  }

  @Test
  void unknownRestRollsAtTheTarget() {
    FileRolling rolling = new FileRolling(SIZES);
    rolling.startFile();
    assertThat(rolling.isFull(999, -1)).isFalse();
    assertThat(rolling.isFull(1000, -1)).isTrue();
  }
}
