package dev.firn.engine.parquet;

/**
 * How many bytes in a file a byte before encoding and compression has become, for one column of an
 * output, over the pages written lately. Not thread-safe.
 */
final class CompressionRatio {
  /* Older pages count less, so that a change in the data is followed. */
  private static final long WINDOW_BYTES = 64L << 20;

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
}
