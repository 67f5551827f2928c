package dev.firn.engine.parquet;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
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
 * but for {@link #SIZE_TOLERANCE}: now and then a page is compressed with less effort too, which
 * for many columns (hashes, random numbers, packed bits) is several times faster and no worse, or
 * better.
 */
final class ZstdPages {
  private static final Logger LOG = LoggerFactory.getLogger(ZstdPages.class);
  private static final int DEFAULT_LEVEL = ZstandardCodec.DEFAULT_PARQUET_COMPRESS_ZSTD_LEVEL;

  /* A page of less effort may be this much larger. */
  private static final double SIZE_TOLERANCE = 0.01;

  /**
   * How zstd looks for what a page has in common with itself.
   *
   * @param hashLog of the table of places it remembers; 0 for what the level has
   * @param minMatch bytes that two places must have in common; 0 for what the level has
   */
  private record Search(int level, int hashLog, int minMatch) {}

  /* The minimal match is what a stream of unknown length has at the default level; zstd would take 4
  for small pages, which takes up to five times as long. */
  private static final Search OF_DEFAULT_LEVEL = new Search(DEFAULT_LEVEL, 0, 5);

  /* The fastest first. The first four are level 1 with a table that stays in the processor: one for
  pages of which nothing but the frequency of bytes can be used, as those of random numbers, one for
  those that repeat a few bytes at every value besides, as the lengths of random text, and two for
  those that have short values in common with their neighbours. Searching such pages
  harder finds chance matches that are no shorter than the bytes. */
  private static final List<Search> OF_LESS_EFFORT =
      List.of(
          new Search(1, 8, 7),
          new Search(1, 6, 5),
          new Search(1, 10, 5),
          new Search(1, 12, 4),
          new Search(1, 0, 0),
          new Search(2, 0, 0));

  private static final int PAGES_PER_TRIAL = 128;
  private static final int TRIAL_BYTES_MIN = 4096;

  /* A page that shrinks otherwise than the one that was tried, by this share, is tried itself if so
  many pages have passed. */
  private static final double UNLIKE = 0.1;
  private static final int PAGES_UNTRIED = 8;

  /* What is best for a page of one size need not be for one of another. */
  private static final double OTHER_SIZE = 0.3;

  /** How hard pages of one kind are compressed, found by trial. Owned by one column. */
  static final class Effort {
    private Search search = OF_DEFAULT_LEVEL;
    private double ratio;
    private int triedSize;
    private int pages = PAGES_PER_TRIAL; // since the last trial

    /** That of Parquet, for one page. */
    static Effort ofDefault() {
      Effort effort = new Effort();
      effort.pages = 0;
      return effort;
    }

    private void found(Search best, int compressed, int size) {
      search = best;
      triedSize = size;
      ratio = (double) compressed / size;
      pages = 0;
    }

    /** Lets the next page be tried. */
    void tryNext() {
      pages = PAGES_PER_TRIAL;
    }

    private boolean isOfOtherSize(int size) {
      return Math.abs((double) size - triedSize) > OTHER_SIZE * triedSize;
    }

    private boolean isUnlike(int compressed, int size) {
      return Math.abs((double) compressed / size - ratio) > UNLIKE * ratio;
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
    int compressed =
        isLevelSet ? compress(page, new Search(levelSet, 0, 0)) : compress(page, effort);
    return BytesInput.from(target.duplicate().position(0).limit(compressed));
  }

  private int compress(ByteBuffer page, Effort effort) {
    int size = page.remaining();
    if (size < TRIAL_BYTES_MIN) {
      return compress(page, OF_DEFAULT_LEVEL);
    }
    effort.pages++;
    boolean isOfOtherSize = effort.isOfOtherSize(size);
    if (isOfOtherSize && effort.pages < PAGES_UNTRIED) {
      return compress(page, OF_DEFAULT_LEVEL); // the last page of a chunk, more often than not
    }
    if (!isOfOtherSize && effort.pages <= PAGES_PER_TRIAL) {
      int compressed = compress(page, effort.search);
      if (effort.pages < PAGES_UNTRIED || !effort.isUnlike(compressed, size)) {
        return compressed;
      }
    }
    double bytesMax = compress(page, OF_DEFAULT_LEVEL) * (1 + SIZE_TOLERANCE);
    for (Search search : OF_LESS_EFFORT) {
      int compressed = compress(page, search);
      if (compressed <= bytesMax) {
        effort.found(search, compressed, size);
        return compressed;
      }
    }
    int compressed = compress(page, OF_DEFAULT_LEVEL);
    effort.found(OF_DEFAULT_LEVEL, compressed, size);
    return compressed;
  }

  private int compress(ByteBuffer page, Search search) {
    context.setLevel(search.level());
    context.setHashLog(search.hashLog());
    context.setMinMatch(search.minMatch());
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
