package dev.firn.engine.parquet;

import java.util.EnumMap;
import java.util.Map;
import org.apache.parquet.column.Encoding;

/**
 * How one column of an output compresses: how many bytes in a file a byte before encoding and
 * compression has become, over the pages written lately, and with what effort. Not thread-safe.
 */
final class CompressionRatio {
  /* Older pages count less, so that a change in the data is followed. */
  private static final long WINDOW_BYTES = 64L << 20;

  private final Map<Encoding, ZstdPages.Effort> efforts = new EnumMap<>(Encoding.class);
  private final EncodingHistory history = new EncodingHistory();
  private double rawBytes;
  private double writtenBytes;

  void add(long raw, long written) {
    if (rawBytes > WINDOW_BYTES) {
      rawBytes /= 2;
      writtenBytes /= 2;
    }
    rawBytes += raw;
    writtenBytes += written;
  }

  /** Written bytes for each raw one; 1 as long as nothing is known. */
  double ratio() {
    return rawBytes == 0 ? 1 : writtenBytes / rawBytes;
  }

  /** Says that another column chunk begins: its values may be others than those before. */
  void beginChunk() {
    efforts.values().forEach(ZstdPages.Effort::tryNext);
  }

  /** How hard the column's pages of an encoding are compressed with zstd. */
  ZstdPages.Effort effort(Encoding encoding) {
    return efforts.computeIfAbsent(encoding, any -> new ZstdPages.Effort());
  }

  /** What is known of how the column is best encoded; to be updated. */
  EncodingHistory history() {
    return history;
  }
}
