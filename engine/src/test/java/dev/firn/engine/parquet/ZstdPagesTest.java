package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.junit.jupiter.api.Test;

class ZstdPagesTest {
  private final Random random = new Random(11);

  private static byte[] compressed(BytesInput page, Configuration configuration)
      throws IOException {
    try (Compressors compressors =
        new Compressors(CompressionCodecName.ZSTD, configuration, 1 << 20)) {
      Compressors.Lent lent = new Compressors.Lent(compressors);
      lent.take();
      byte[] bytes = lent.compress(page).toByteArray();
      lent.giveBack();
      return bytes;
    }
  }

  private static Configuration level(int level) {
    Configuration configuration = new Configuration(false);
    configuration.setInt("parquet.compression.codec.zstd.level", level);
    return configuration;
  }

  private static byte[] stream(byte[] page) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (ZstdOutputStream zstd = new ZstdOutputStream(out, 3)) {
      zstd.write(page);
    }
    return out.toByteArray();
  }

  private byte[] text(int bytes) {
    StringBuilder text = new StringBuilder();
    while (text.length() < bytes) {
      text.append("word").append(random.nextInt(300)).append(' ');
    }
    return text.substring(0, bytes).getBytes(StandardCharsets.UTF_8);
  }

  private byte[] hashes(int bytes) {
    StringBuilder text = new StringBuilder();
    while (text.length() < bytes) {
      text.append(Long.toHexString(random.nextLong()));
    }
    return text.substring(0, bytes).getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void pagesOfAllSizesComeBack() throws IOException {
    for (int bytes : new int[] {0, 1, 100, 4096, 160_000, 1 << 20, (8 << 20) + 1}) {
      byte[] page = text(bytes);
      byte[] compressed =
          compressed(
              BytesInput.concat(
                  BytesInput.from(page, 0, bytes / 3),
                  BytesInput.from(page, bytes / 3, bytes - bytes / 3)),
              new Configuration(false));
      assertThat(Zstd.decompress(compressed, bytes)).isEqualTo(page);
    }
  }

  @Test
  void m11LevelOfTheTableIsUsed() throws IOException {
    byte[] page = text(200_000);
    for (int level : new int[] {1, 3, 9}) {
      assertThat(compressed(BytesInput.from(page), level(level)))
          .hasSize(Zstd.compress(page, level).length);
    }
  }

  @Test
  void withoutLevelPagesAreNoLargerThanParquets() throws IOException {
    for (byte[] page : new byte[][] {text(300_000), hashes(300_000), numbers(300_000)}) {
      byte[] compressed = compressed(BytesInput.from(page), new Configuration(false));
      assertThat(Zstd.decompress(compressed, page.length)).isEqualTo(page);
      assertThat(compressed.length).isLessThanOrEqualTo(stream(page).length * 101 / 100);
    }
  }

  private byte[] numbers(int bytes) {
    byte[] page = new byte[bytes];
    ByteBuffer into = ByteBuffer.wrap(page).order(ByteOrder.LITTLE_ENDIAN);
    while (into.remaining() >= Long.BYTES) {
      into.putLong(random.nextInt(10_000_000));
    }
    return page;
  }

  /* What is found for the pages of one kind is wrong for those of another. */
  @Test
  void pagesOfKindsThatComeInTurnsAreLittleLargerThanParquets() throws IOException {
    long ours = 0;
    long parquets = 0;
    try (Compressors compressors =
        new Compressors(CompressionCodecName.ZSTD, new Configuration(false), 1 << 20)) {
      Compressors.Lent lent = new Compressors.Lent(compressors);
      lent.effort(new ZstdPages.Effort());
      lent.take();
      for (int i = 0; i < 600; i++) {
        byte[] page =
            switch (i / 100 % 3) {
              case 0 -> hashes(20_000);
              case 1 -> text(20_000);
              default -> numbers(20_000);
            };
        byte[] compressed = lent.compress(BytesInput.from(page)).toByteArray();
        assertThat(Zstd.decompress(compressed, page.length)).isEqualTo(page);
        ours += compressed.length;
        parquets += stream(page).length;
      }
      lent.giveBack();
    }
    assertThat(ours).isLessThanOrEqualTo(parquets * 103 / 100);
  }
}
