package dev.firn.engine.parquet;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.CleanerUtil;
import org.apache.parquet.bytes.ByteBufferAllocator;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.compression.CompressionCodecFactory.BytesInputCompressor;
import org.apache.parquet.hadoop.codec.ZstandardCodec;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compresses pages with zstd in one call each, from and into memory outside the heap: zstd reading
 * a heap array would hold back the garbage collection for as long. Not thread-safe; what it gives
 * is valid until the next call.
 *
 * <p>Where the table sets no level, the pages are as small as Parquet's default level makes them,
 * but for {@link #SIZE_TOLERANCE}: now and then a page is compressed at lower levels too, which for
 * many columns (hashes, random numbers, packed bits) are several times faster and no worse.
 */
final class ZstdPages {
  private static final Logger LOG = LoggerFactory.getLogger(ZstdPages.class);
  private static final int DEFAULT_LEVEL = ZstandardCodec.DEFAULT_PARQUET_COMPRESS_ZSTD_LEVEL;

  /* A lower level's page may be this much larger. */
  private static final double SIZE_TOLERANCE = 0.01;

  /* What a stream of unknown length has at the default level; zstd would take 4 for small pages,
  which takes up to five times as long. */
  private static final int DEFAULT_LEVEL_MIN_MATCH = 5;

  private static final int PAGES_PER_TRIAL = 256;
  private static final int TRIAL_BYTES_MIN = 4096;

  /** How hard pages of one kind are compressed, found by trial. Owned by one column. */
  static final class Effort {
    private int level = DEFAULT_LEVEL;
    private int pagesToTrial;

    /** That of Parquet, for one page. */
    static Effort ofDefault() {
      Effort effort = new Effort();
      effort.pagesToTrial = 1;
      return effort;
    }
  }

  /* Larger pages, of huge values, go another way, so that the buffers stay small. */
  private static final int PAGE_BYTES_MAX = 8 << 20;

  private final BytesInputCompressor forHugePages;
  private final boolean isLevelSet;
  private final int levelSet;
  private final ZstdCompressCtx context = new ZstdCompressCtx();
  private final DirectBuffers source = new DirectBuffers();
  private ByteBuffer target = ByteBuffer.allocate(0);
  private boolean released;

  /**
   * @param configuration may have the level
   * @param forHugePages closed by its owner
   */
  ZstdPages(Configuration configuration, BytesInputCompressor forHugePages) {
    this.forHugePages = forHugePages;
    this.isLevelSet = configuration.get(ZstandardCodec.PARQUET_COMPRESS_ZSTD_LEVEL) != null;
    this.levelSet = configuration.getInt(ZstandardCodec.PARQUET_COMPRESS_ZSTD_LEVEL, DEFAULT_LEVEL);
  }

  /**
   * Compresses a page.
   *
   * @param effort of pages of this kind, updated
   */
  BytesInput compress(BytesInput bytes, Effort effort) throws IOException {
    if (bytes.size() > PAGE_BYTES_MAX) {
      return forHugePages.compress(bytes);
    }
    ByteBuffer page = bytes.toByteBuffer(source, buffer -> {});
    int size = page.remaining();
    int bound = Math.toIntExact(Zstd.compressBound(size)); // more than 0
    if (target.capacity() < bound) {
      free(target);
      target = ByteBuffer.allocateDirect(bound);
    }
    int compressed;
    if (isLevelSet) {
      compressed = compress(page, levelSet, 0);
    } else {
      if (size >= TRIAL_BYTES_MIN && --effort.pagesToTrial < 0) {
        effort.level = cheapestLevel(page);
        effort.pagesToTrial = PAGES_PER_TRIAL;
      }
      compressed = compress(page, effort.level);
    }
    return BytesInput.from(target.duplicate().position(0).limit(compressed));
  }

  private int cheapestLevel(ByteBuffer page) {
    double bytesMax = compress(page, DEFAULT_LEVEL) * (1 + SIZE_TOLERANCE);
    for (int level = 1; level < DEFAULT_LEVEL; level++) {
      if (compress(page, level) <= bytesMax) {
        return level;
      }
    }
    return DEFAULT_LEVEL;
  }

  private int compress(ByteBuffer page, int level) {
    return compress(page, level, level == DEFAULT_LEVEL ? DEFAULT_LEVEL_MIN_MATCH : 0);
  }

  /* A minimal match of 0 is the level's own. */
  private int compress(ByteBuffer page, int level, int minMatch) {
    context.setLevel(level);
    context.setMinMatch(minMatch);
    return context.compressDirectByteBuffer(
        target, 0, target.capacity(), page, page.position(), page.remaining());
  }

  void release() {
    if (!released) {
      released = true;
      context.close();
      source.free();
      free(target);
    }
  }

  /* Else the memory would be held until the whole heap is collected, one output's after another. */
  static void free(ByteBuffer buffer) {
    if (CleanerUtil.UNMAP_SUPPORTED && buffer.isDirect() && buffer.capacity() > 0) {
      try {
        CleanerUtil.getCleaner().freeBuffer(buffer);
      } catch (IOException notFreed) {
        LOG.debug("A buffer is left to the garbage collection", notFreed);
      }
    }
  }

  /** One direct buffer, given again and again. */
  private static final class DirectBuffers implements ByteBufferAllocator {
    private @Nullable ByteBuffer buffer; // null before the first use

    @Override
    public ByteBuffer allocate(int size) {
      ByteBuffer current = buffer;
      if (current == null || current.capacity() < size) {
        free();
        current = ByteBuffer.allocateDirect(size + size / 4);
        buffer = current;
      }
      return current.clear().limit(size);
    }

    void free() {
      if (buffer != null) {
        ZstdPages.free(buffer);
        buffer = null;
      }
    }

    @Override
    public void release(ByteBuffer released) {}

    @Override
    public boolean isDirect() {
      return true;
    }
  }
}
