package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.parquet.ParquetCodecFactory;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.compression.CompressionCodecFactory;
import org.apache.parquet.compression.CompressionCodecFactory.BytesInputCompressor;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.jspecify.annotations.Nullable;

/**
 * The compressors of one output. A compressor is not thread-safe and holds buffers of its own, so
 * that one is lent to a thread for the time it encodes a column, with room to work in; as many are
 * made as are in use at once. Thread-safe; {@link #close()} releases them all.
 */
final class Compressors implements AutoCloseable {
  private final CompressionCodecName codec;
  private final Configuration configuration;
  private final int pageBytes;
  private final ArrayDeque<Tools> free = new ArrayDeque<>();
  private final List<ParquetCodecFactory> factories = new ArrayList<>();
  private final List<ZstdPages> zstds = new ArrayList<>();
  private final List<PageTools> pages = new ArrayList<>();
  private boolean closed;

  /**
   * What a thread needs to encode a column.
   *
   * @param zstd compresses in place of {@code compressor}; null for other codecs
   */
  private record Tools(
      BytesInputCompressor compressor,
      @Nullable ZstdPages zstd,
      Scratch scratch,
      PageTools pageTools) {

    BytesInput compress(BytesInput bytes, ZstdPages.Effort effort) throws IOException {
      return zstd == null ? compressor.compress(bytes) : zstd.compress(bytes, effort);
    }
  }

  /**
   * @throws UnsupportedTableException if the codec cannot be used here
   */
  Compressors(CompressionCodecName codec, Configuration configuration, int pageBytes) {
    this.codec = codec;
    this.configuration = configuration;
    this.pageBytes = pageBytes;
    probe();
  }

  private void probe() {
    try {
      Tools tools = borrow();
      tools.compress(BytesInput.from(new byte[16]), new ZstdPages.Effort()).size();
      giveBack(tools);
    } catch (IOException | RuntimeException | LinkageError failure) {
      close();
      UnsupportedTableException unsupported =
          new UnsupportedTableException(
              "Cannot write Parquet with write.parquet.compression-codec "
                  + codec.name().toLowerCase(Locale.ROOT)
                  + ": "
                  + (failure instanceof LinkageError
                      ? "the codec is not on board"
                      : failure.getMessage())
                  + ". Nothing was written; set another codec on the table");
      unsupported.initCause(failure);
      throw unsupported;
    }
  }

  private synchronized Tools borrow() {
    if (closed) {
      throw new IllegalStateException("The output is closed");
    }
    Tools tools = free.poll();
    if (tools != null) {
      return tools;
    }
    ParquetCodecFactory factory = new ParquetCodecFactory(configuration, pageBytes);
    factories.add(factory);
    BytesInputCompressor compressor = factory.getCompressor(codec);
    ZstdPages zstd = null;
    if (codec == CompressionCodecName.ZSTD) {
      zstd = new ZstdPages(configuration, compressor);
      zstds.add(zstd);
    }
    PageTools pageTools = new PageTools();
    pages.add(pageTools);
    return new Tools(compressor, zstd, new Scratch(), pageTools);
  }

  private synchronized void giveBack(Tools tools) {
    tools.scratch().trim();
    tools.pageTools().trim();
    free.push(tools);
  }

  CompressionCodecName codec() {
    return codec;
  }

  @Override
  public synchronized void close() {
    closed = true;
    free.clear();
    factories.forEach(CompressionCodecFactory::release);
    factories.clear();
    zstds.forEach(ZstdPages::release);
    zstds.clear();
    pages.forEach(PageTools::close);
    pages.clear();
  }

  /**
   * What a column's pages are compressed with: whichever compressor is lent to it now. Owned by one
   * column.
   */
  static final class Lent implements BytesInputCompressor {
    private final Compressors compressors;
    private ZstdPages.Effort effort = new ZstdPages.Effort();
    private @Nullable Tools lent; // null between uses

    Lent(Compressors compressors) {
      this.compressors = compressors;
    }

    void take() {
      lent = compressors.borrow();
    }

    void giveBack() {
      if (lent != null) {
        compressors.giveBack(lent);
        lent = null;
      }
    }

    /** Says of which kind the following pages are. */
    void effort(ZstdPages.Effort effort) {
      this.effort = effort;
    }

    private Tools tools() {
      if (lent == null) {
        throw new IllegalStateException("No compressor is lent to the column");
      }
      return lent;
    }

    /** What bytes take once compressed, as Parquet's default effort has it. */
    long sizeOf(BytesInput bytes) throws IOException {
      return tools().compress(bytes, ZstdPages.Effort.ofDefault()).size();
    }

    @Override
    public BytesInput compress(BytesInput bytes) throws IOException {
      return tools().compress(bytes, effort);
    }

    /** Room to work in, lent with the compressor. */
    Scratch scratch() {
      return tools().scratch();
    }

    /** What looks into pages of other files, lent with the compressor. */
    PageTools pageTools() {
      return tools().pageTools();
    }

    @Override
    public CompressionCodecName getCodecName() {
      return compressors.codec();
    }

    @Override
    public void release() {
      giveBack();
    }
  }
}
