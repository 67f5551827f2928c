package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.junit.jupiter.api.RepeatedTest;

class SortedBytesTest {
  private final long seed = Long.getLong("firn.test.seed", new Random().nextLong());
  private final Random random = new Random(seed);

  @RepeatedTest(50)
  void placesAreThoseOfASortedSet() {
    byte[] prefix = bytes(random.nextInt(3) * 7, 256);
    TreeSet<byte[]> model = new TreeSet<>(Arrays::compareUnsigned);
    for (int i = random.nextInt(60); i > 0; i--) {
      model.add(value(prefix));
    }
    SortedBytes sorted = new SortedBytes(model.toArray(new byte[0][]));
    List<byte[]> all = List.copyOf(model);
    for (int i = 0; i < 200; i++) {
      boolean member = !all.isEmpty() && random.nextBoolean();
      byte[] sought = member ? all.get(random.nextInt(all.size())).clone() : value(prefix);
      if (random.nextInt(4) == 0 && sought.length > 0) {
        sought[random.nextInt(sought.length)] ^= (byte) (1 << random.nextInt(8));
      }
      int flip = random.nextBoolean() ? 0x80 : 0;
      int expected = 2 * model.headSet(sought).size() + (model.contains(sought) ? 1 : 0);
      byte[] raw = sought.clone();
      if (raw.length > 0) {
        raw[0] ^= (byte) flip;
      }
      try (BufferAllocator allocator = new RootAllocator();
          ArrowBuf buffer = allocator.buffer(raw.length)) {
        buffer.setBytes(0, raw);
        int[] place = new int[1];
        sorted.search(new long[] {buffer.memoryAddress()}, new int[] {raw.length}, flip, 1, place);
        assertThat(place[0]).as("rerun with -Dfirn.test.seed=%s", seed).isEqualTo(expected);
      }
    }
  }

  /** Often with the prefix, and with a common middle, so that words are equal too. */
  private byte[] value(byte[] prefix) {
    byte[] middle = new byte[random.nextInt(3) * 8];
    byte[] end = bytes(random.nextInt(12), random.nextBoolean() ? 2 : 256);
    byte[] start = random.nextInt(20) == 0 ? bytes(random.nextInt(9), 256) : prefix;
    byte[] all = Arrays.copyOf(start, start.length + middle.length + end.length);
    System.arraycopy(end, 0, all, start.length + middle.length, end.length);
    return all;
  }

  private byte[] bytes(int length, int values) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) random.nextInt(values);
    }
    return bytes;
  }
}
