package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridEncoder;
import org.junit.jupiter.api.Test;

class RunLengthEncoderTest {

  @Test
  void everyWidthHasTheSameBytesAsParquets() throws IOException {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    Random random = new Random(seed);
    PageBuffer out = new PageBuffer();
    RunLengthEncoder encoder = new RunLengthEncoder(out);
    for (int round = 0; round < 3000; round++) {
      int width = round % 33;
      int[] values = values(random, width);
      out.reset(random.nextInt(2000));
      encoder.begin(width);
      addInPieces(encoder, values, width, random);
      encoder.end();
      assertThat(out.input().toByteArray())
          .as("width " + width + ", rerun with -Dfirn.test.seed=" + seed)
          .isEqualTo(expected(values, width));
    }
  }

  private static int[] values(Random random, int width) {
    int[] values = new int[random.nextInt(1500)];
    int runMax = 1 + random.nextInt(40);
    int mask = width == 0 ? 0 : -1 >>> (32 - width);
    for (int i = 0; i < values.length; ) {
      int value = (random.nextInt(3) == 0 ? random.nextInt(2) : random.nextInt()) & mask;
      for (int end = Math.min(values.length, i + 1 + random.nextInt(runMax)); i < end; i++) {
        values[i] = value;
      }
    }
    return values;
  }

  private static void addInPieces(
      RunLengthEncoder encoder, int[] values, int width, Random random) {
    byte[] levels = new byte[values.length];
    for (int i = 0; i < values.length; i++) {
      levels[i] = (byte) values[i];
    }
    int from = 0;
    while (from < values.length) {
      int to = Math.min(values.length, from + 1 + random.nextInt(100));
      switch (random.nextInt(width < 8 ? 3 : 2)) {
        case 0 -> {
          to = from + 1;
          while (to < values.length && values[to] == values[from]) {
            to++;
          }
          encoder.add(values[from], to - from);
        }
        case 1 -> encoder.add(values, from, to);
        default -> encoder.add(levels, from, to);
      }
      from = to;
    }
  }

  private static byte[] expected(int[] values, int width) throws IOException {
    try (RunLengthBitPackingHybridEncoder encoder =
        new RunLengthBitPackingHybridEncoder(
            width, 64, 1 << 20, HeapByteBufferAllocator.getInstance())) {
      for (int value : values) {
        encoder.writeInt(value);
      }
      return encoder.toBytes().toByteArray();
    }
  }
}
