package dev.firn.testdata;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class RandomTableTest {
  @TempDir Path directory;

  @RepeatedTest(20)
  void oaTheOracleFindsWhatTheModelKnows() {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    RandomTable random;
    try {
      random = RandomTable.create(seed, directory);
    } catch (RuntimeException | Error e) {
      throw new AssertionError("rerun with -Dfirn.test.seed=" + seed, e);
    }
    assertThat(TableRows.live(random.table()))
        .as("rerun with -Dfirn.test.seed=%s: %s", seed, random)
        .isEqualTo(random.expectedRows());
  }

  @Test
  void aSeedGivesTheSameTable() {
    RandomTable one = RandomTable.create(7, directory.resolve("one"));
    RandomTable two = RandomTable.create(7, directory.resolve("two"));
    assertThat(one.history()).isEqualTo(two.history());
    assertThat(one.expectedRows()).isEqualTo(two.expectedRows());
  }
}
