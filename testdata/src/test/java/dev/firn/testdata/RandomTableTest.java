package dev.firn.testdata;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;
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

  /** A partition keeps its rows and its deletes when its column is promoted (S25, D7). */
  @Test
  void theModelTakesAPartitionForTheSameAfterAPromotion() {
    List<@Nullable Object> before = tuple(1135.6202f, -0.0f, Float.NaN, 7, "a", null);
    assertThat(before)
        .isEqualTo(tuple((double) 1135.6202f, -0.0, Double.NaN, 7L, "a", null))
        .isNotEqualTo(tuple(1135.6202, -0.0, Double.NaN, 7L, "a", null))
        .isNotEqualTo(tuple((double) 1135.6202f, 0.0, Double.NaN, 7L, "a", null));
  }

  private static List<@Nullable Object> tuple(@Nullable Object... values) {
    List<Types.NestedField> fields = new ArrayList<>();
    for (int id = 1; id <= values.length; id++) {
      fields.add(Types.NestedField.optional(id, "p" + id, Types.StringType.get()));
    }
    Record partition = GenericRecord.create(Types.StructType.of(fields));
    for (int pos = 0; pos < values.length; pos++) {
      partition.set(pos, values[pos]);
    }
    return TableModel.tuple(partition);
  }

  @Test
  void aSeedGivesTheSameTable() {
    RandomTable one = RandomTable.create(7, directory.resolve("one"));
    RandomTable two = RandomTable.create(7, directory.resolve("two"));
    assertThat(one.history()).isEqualTo(two.history());
    assertThat(one.expectedRows()).isEqualTo(two.expectedRows());
  }
}
