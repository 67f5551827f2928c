package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.RepeatedTest;

class BytesDictionaryTest {
  private final long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
  private final Random random = new Random(seed);

  /* Lengths about those of the words, zeros at the end that padding must not hide, equal beginnings. */
  private byte[] string(int width, int pool) {
    int of = random.nextInt(pool);
    Random same = new Random(of);
    int length = width > 0 ? width : same.nextInt(10) == 0 ? 40 : same.nextInt(20);
    byte[] string = new byte[length];
    for (int i = 0; i < length; i++) {
      string[i] = (byte) (i > length / 2 ? 0 : same.nextInt(3));
    }
    if (length > 0 && same.nextBoolean()) {
      string[length - 1] = (byte) of;
    }
    return string;
  }

  @RepeatedTest(20)
  void equalStringsHaveTheNumberOfTheFirst() {
    int width = random.nextInt(3) == 0 ? 1 + random.nextInt(24) : 0;
    int pool = 1 + random.nextInt(1 << random.nextInt(15));
    int bytesMax = random.nextInt(3) == 0 ? random.nextInt(5000) : Integer.MAX_VALUE;
    BytesDictionary dictionary = new BytesDictionary(width > 0);
    Map<ByteBuffer, Integer> model = new HashMap<>();
    List<byte[]> entries = new ArrayList<>();
    long plainBytes = 0;
    for (int run = 0; run < 8 && plainBytes <= bytesMax; run++) {
      int count = 1 + random.nextInt(1500);
      byte[] bytes = new byte[count * 50 + PageBuffer.SLACK];
      random.nextBytes(bytes);
      int[] starts = new int[count];
      int[] ends = new int[count];
      int[] ids = new int[count + 5];
      int[] expected = new int[count + 5];
      int stopped = count;
      for (int i = 0; i < count; i++) {
        byte[] string = string(width, pool);
        starts[i] = i * 50 + random.nextInt(10);
        ends[i] = starts[i] + string.length;
        System.arraycopy(string, 0, bytes, starts[i], string.length);
        if (i >= stopped) {
          continue;
        }
        Integer known = model.putIfAbsent(ByteBuffer.wrap(string), entries.size());
        expected[i + 5] = known == null ? entries.size() : known;
        if (known == null) {
          entries.add(string);
          plainBytes += string.length + (width > 0 ? 0 : Integer.BYTES);
          stopped = plainBytes > bytesMax ? i + 1 : stopped;
        }
      }
      int done = dictionary.lookUp(bytes, starts, ends, 0, count, ids, 5, bytesMax);
      assertThat(done).as("rerun with -Dfirn.test.seed=%s", seed).isEqualTo(stopped);
      assertThat(Arrays.copyOf(ids, stopped + 5))
          .as("rerun with -Dfirn.test.seed=%s", seed)
          .isEqualTo(Arrays.copyOf(expected, stopped + 5));
    }
    assertThat(dictionary.size()).isEqualTo(entries.size());
    for (int id = 0; id < entries.size(); id++) {
      assertThat(
              Arrays.copyOfRange(
                  dictionary.plain(),
                  dictionary.start(id) + (width > 0 ? 0 : Integer.BYTES),
                  dictionary.start(id + 1)))
          .isEqualTo(entries.get(id));
    }
  }
}
