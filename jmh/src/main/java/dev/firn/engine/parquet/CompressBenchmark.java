package dev.firn.engine.parquet;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.parquet.ParquetCodecFactory;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What does a page cost to compress? Measured: one page of 160 000 bytes with zstd, at the level
 * that is found by trial, and at the table's default alone; one thread. The score is time for a
 * page.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@Fork(value = 1, jvmArgsAppend = "--add-opens=java.base/java.nio=ALL-UNNAMED")
@NullUnmarked // JMH sets the fields
public class CompressBenchmark {
  private static final int PAGE_BYTES = 160_000;

  /** What is in the page. */
  public enum Content {
    RANDOM_LONGS,
    CLOSE_LONGS,
    HEXADECIMAL,
    WORDS,
    /** Numbers of a dictionary of a thousand values, in ten bits each. */
    NUMBERS
  }

  @Param public Content content;

  private byte[] page;
  private byte[] copy;
  private ByteBuffer direct;
  private ByteBuffer target;
  private ParquetCodecFactory factory;
  private ZstdPages pages;
  private ZstdPages.Effort effort;
  private ZstdCompressCtx zstd;

  @Setup(Level.Trial)
  public void fill() throws IOException {
    page = page(content);
    copy = new byte[PAGE_BYTES];
    direct = ByteBuffer.allocateDirect(PAGE_BYTES).put(page).flip();
    target = ByteBuffer.allocateDirect((int) Zstd.compressBound(PAGE_BYTES));
    Configuration configuration = new Configuration(false);
    factory = new ParquetCodecFactory(configuration, 1 << 20);
    pages = new ZstdPages(configuration, factory.getCompressor(CompressionCodecName.ZSTD));
    effort = new ZstdPages.Effort();
    zstd = new ZstdCompressCtx();
    byte[] compressed = pages.compress(BytesInput.from(page), effort).toByteArray();
    if (!Arrays.equals(Zstd.decompress(compressed, PAGE_BYTES), page)) {
      throw new IllegalStateException("The page is another one when it is decompressed");
    }
    if (compressed.length > limit(3) * 1.02) {
      throw new IllegalStateException("The page has " + compressed.length + " bytes");
    }
  }

  private static byte[] page(Content content) {
    Random random = new Random(3);
    ByteBuffer bytes = ByteBuffer.allocate(PAGE_BYTES + 64);
    String[] words = new String[64];
    for (int i = 0; i < words.length; i++) {
      words[i] = Long.toString(random.nextLong(1L << 40), 36) + " ";
    }
    for (long row = 0; bytes.position() < PAGE_BYTES; row++) {
      switch (content) {
        case RANDOM_LONGS -> bytes.putLong(random.nextLong());
        case CLOSE_LONGS -> bytes.putLong(Long.reverseBytes(7 * row + random.nextInt(50)));
        case HEXADECIMAL ->
            bytes.put(
                String.format("%016x", random.nextLong()).getBytes(StandardCharsets.US_ASCII));
        case WORDS -> bytes.put(words[random.nextInt(64)].getBytes(StandardCharsets.US_ASCII));
        case NUMBERS -> {
          long packed = 0;
          for (int i = 0; i < 4; i++) {
            packed = packed << 10 | random.nextInt(1000);
          }
          bytes.put((byte) (packed >>> 32)).putInt((int) packed);
        }
      }
    }
    return Arrays.copyOf(bytes.array(), PAGE_BYTES);
  }

  @TearDown(Level.Trial)
  public void close() {
    zstd.close();
    pages.release();
    factory.release();
  }

  /** Firn: the lowest level whose page is at most a hundredth larger. */
  @Benchmark
  public long compress() throws IOException {
    return pages.compress(BytesInput.from(page), effort).size();
  }

  private long limit(int level) {
    zstd.setLevel(level);
    return zstd.compressDirectByteBuffer(target, 0, target.capacity(), direct, 0, PAGE_BYTES);
  }

  /** The limit at the table's default level: zstd alone. */
  @Benchmark
  public long limitZstd3() {
    return limit(3);
  }

  /** The limit at the lowest level. */
  @Benchmark
  public long limitZstd1() {
    return limit(1);
  }

  /** What moving the bytes takes. */
  @Benchmark
  public byte[] limitCopy() {
    System.arraycopy(page, 0, copy, 0, PAGE_BYTES);
    return copy;
  }
}
