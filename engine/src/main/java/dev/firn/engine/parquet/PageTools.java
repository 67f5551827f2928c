package dev.firn.engine.parquet;

import com.github.luben.zstd.ZstdDecompressCtx;
import com.github.luben.zstd.ZstdException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.EnumMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.parquet.ParquetCodecFactory;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.compression.CompressionCodecFactory.BytesInputDecompressor;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.jspecify.annotations.Nullable;

/**
 * What a thread needs to look into pages of other files: decompressors, and room for what is in a
 * page. Not thread-safe.
 */
final class PageTools implements AutoCloseable {
  /** Pages that would take more memory are not looked into, but decoded by Arrow. */
  static final long PAGE_MEMORY_BYTES_MAX =
      Math.min(256L << 20, Runtime.getRuntime().maxMemory() / 8);

  private static final int KEEP_BYTES_MAX = 4 << 20;

  private final PageContent content = new PageContent(PAGE_MEMORY_BYTES_MAX);
  private final Map<CompressionCodecName, BytesInputDecompressor> decompressors =
      new EnumMap<>(CompressionCodecName.class);
  private @Nullable ParquetCodecFactory factory; // null until a codec other than zstd is needed
  private @Nullable ZstdDecompressCtx zstd; // null until needed
  private ByteBuffer inflated = ByteBuffer.allocate(0);

  /** Whether pages compressed with a codec can be read. */
  static boolean supports(CompressionCodecName codec) {
    return switch (codec) {
      case UNCOMPRESSED, SNAPPY, GZIP, ZSTD, LZ4_RAW -> true;
      default -> false; // the other LZ4 has several framings
    };
  }

  /** Room for what is in a page. */
  PageContent content() {
    return content;
  }

  /**
   * Decompresses bytes, those from the position of {@code stored} to its limit. Valid until the
   * next call.
   *
   * @param size of the result, exactly
   * @throws MalformedPageException if the bytes are not what the codec makes, or not so many
   */
  ByteBuffer inflate(CompressionCodecName codec, ByteBuffer stored, int size) throws IOException {
    if (codec == CompressionCodecName.UNCOMPRESSED) {
      if (stored.remaining() != size) {
        throw new MalformedPageException(
            "it has " + stored.remaining() + " bytes, its header says " + size);
      }
      return stored;
    }
    if (size < 0 || size > PAGE_MEMORY_BYTES_MAX) {
      throw new UnsupportedPageException("it has " + size + " bytes once decompressed");
    }
    if (codec != CompressionCodecName.ZSTD) {
      return inflateOther(codec, stored, size);
    }
    if (inflated.capacity() < size || !inflated.isDirect()) {
      ZstdPages.free(inflated);
      inflated = ByteBuffer.allocateDirect(size + size / 4 + 64);
    }
    if (zstd == null) {
      zstd = new ZstdDecompressCtx();
    }
    int found;
    try {
      found =
          zstd.decompressDirectByteBuffer(
              inflated, 0, size, stored, stored.position(), stored.remaining());
    } catch (ZstdException malformed) {
      throw new MalformedPageException("zstd cannot decompress it: " + malformed.getMessage());
    }
    if (found != size) {
      throw new MalformedPageException("it decompresses to " + found + " bytes, not " + size);
    }
    return inflated.duplicate().position(0).limit(size);
  }

  private ByteBuffer inflateOther(CompressionCodecName codec, ByteBuffer stored, int size)
      throws IOException {
    BytesInputDecompressor decompressor = decompressors.get(codec);
    if (decompressor == null) {
      if (factory == null) {
        factory = new ParquetCodecFactory(new Configuration(false), KEEP_BYTES_MAX);
      }
      decompressor = factory.getDecompressor(codec);
      decompressors.put(codec, decompressor);
    }
    byte[] bytes;
    try {
      bytes = decompressor.decompress(BytesInput.from(stored.duplicate()), size).toByteArray();
    } catch (IOException | RuntimeException malformed) {
      throw new MalformedPageException(codec + " cannot decompress it: " + malformed);
    }
    if (bytes.length != size) {
      throw new MalformedPageException(
          "it decompresses to " + bytes.length + " bytes, not " + size);
    }
    return ByteBuffer.wrap(bytes);
  }

  /** Gives up what a huge page took. */
  void trim() {
    content.trim();
    if (inflated.capacity() > KEEP_BYTES_MAX) {
      ZstdPages.free(inflated);
      inflated = ByteBuffer.allocate(0);
    }
  }

  @Override
  public void close() {
    ZstdPages.free(inflated);
    inflated = ByteBuffer.allocate(0);
    if (zstd != null) {
      zstd.close();
      zstd = null;
    }
    if (factory != null) {
      factory.release();
      factory = null;
    }
  }
}
