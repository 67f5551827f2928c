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
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.compression.CompressionCodecFactory.BytesInputDecompressor;
import org.apache.parquet.format.DataPageHeaderV2;
import org.apache.parquet.format.PageHeader;
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
  private ByteBuffer stored = ByteBuffer.allocate(0);

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

  /** Room for a page as it is stored, outside of the heap. Valid until the next call. */
  ByteBuffer stored(int size) {
    if (stored.capacity() < size || !stored.isDirect()) {
      ZstdPages.free(stored);
      stored = ByteBuffer.allocateDirect(size + size / 4 + 64);
    }
    return stored.clear().limit(size);
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

  /**
   * Decodes a data page into {@link #content()}.
   *
   * @param stored the page behind its header, from its position to its limit, left as it is
   * @param dictionarySize entries of the chunk's dictionary, 0 if it has none
   * @throws MalformedPageException if the page is not what its header says
   * @throws UnsupportedPageException if another reader is to be asked
   */
  void decode(
      PageHeader header,
      ByteBuffer stored,
      CompressionCodecName codec,
      ColumnDescriptor column,
      int dictionarySize)
      throws IOException {
    if (!header.isSetData_page_header_v2()) {
      ByteBuffer body = inflate(codec, stored, header.getUncompressed_page_size());
      content.decode(header.getData_page_header(), body, column, dictionarySize);
      return;
    }
    DataPageHeaderV2 second = header.getData_page_header_v2();
    int levels = levelBytes(header, stored.remaining());
    ByteBuffer values = stored.duplicate().position(stored.position() + levels);
    if (!second.isSetIs_compressed() || second.isIs_compressed()) {
      int size = header.getUncompressed_page_size() - levels;
      // Where there are no values, some writers leave nothing, and others the codec's nothing.
      values = size == 0 ? ByteBuffer.allocate(0) : inflate(codec, values.slice(), size);
    }
    content.decode(second, stored, values, column, dictionarySize);
  }

  /** Decodes a dictionary page into {@link #content()}, as {@link #decode} does a data page. */
  void decodeDictionary(
      PageHeader header, ByteBuffer stored, CompressionCodecName codec, ColumnDescriptor column)
      throws IOException {
    ByteBuffer body = inflate(codec, stored, header.getUncompressed_page_size());
    content.decode(header.getDictionary_page_header(), body, column);
  }

  /**
   * Bytes of levels before the values of a page of the second version.
   *
   * @param length of the page as it is stored, without its header
   */
  static int levelBytes(PageHeader header, int length) {
    DataPageHeaderV2 second = header.getData_page_header_v2();
    long levels =
        (long) second.getRepetition_levels_byte_length()
            + second.getDefinition_levels_byte_length();
    if (second.getRepetition_levels_byte_length() < 0
        || second.getDefinition_levels_byte_length() < 0
        || levels > length
        || levels > header.getUncompressed_page_size()) {
      throw new MalformedPageException(
          "the levels of a page are said to have " + levels + " bytes");
    }
    return (int) levels;
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
    if (stored.capacity() > KEEP_BYTES_MAX) {
      ZstdPages.free(stored);
      stored = ByteBuffer.allocate(0);
    }
  }

  @Override
  public void close() {
    ZstdPages.free(inflated);
    inflated = ByteBuffer.allocate(0);
    ZstdPages.free(stored);
    stored = ByteBuffer.allocate(0);
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
