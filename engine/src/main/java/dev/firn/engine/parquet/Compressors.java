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
 * that one is lent to a thread for the time it encodes a column; as many are made as are in use at
 * once. Thread-safe; {@link #close()} releases them all.
 */
final class Compressors implements AutoCloseable {
  private final CompressionCodecName codec;
  private final Configuration configuration;
  private final int pageBytes;
  private final ArrayDeque<BytesInputCompressor> free = new ArrayDeque<>();
  private final List<ParquetCodecFactory> factories = new ArrayList<>();
  private boolean closed;

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
      BytesInputCompressor compressor = borrow();
      compressor.compress(BytesInput.from(new byte[16])).size();
      giveBack(compressor);
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

  synchronized BytesInputCompressor borrow() {
    if (closed) {
      throw new IllegalStateException("The output is closed");
    }
    BytesInputCompressor compressor = free.poll();
    if (compressor != null) {
      return compressor;
    }
    ParquetCodecFactory factory = new ParquetCodecFactory(configuration, pageBytes);
    factories.add(factory);
    return factory.getCompressor(codec);
  }

  synchronized void giveBack(BytesInputCompressor compressor) {
    free.push(compressor);
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
  }

  /**
   * What a column's pages are compressed with: whichever compressor is lent to it now. Owned by one
   * column.
   */
  static final class Lent implements BytesInputCompressor {
    private final Compressors compressors;
    private @Nullable BytesInputCompressor lent; // null between uses

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

    @Override
    public BytesInput compress(BytesInput bytes) throws IOException {
      if (lent == null) {
        throw new IllegalStateException("No compressor is lent to the column");
      }
      return lent.compress(bytes);
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
