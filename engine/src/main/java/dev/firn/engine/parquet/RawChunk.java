package dev.firn.engine.parquet;

import java.nio.ByteBuffer;
import org.apache.arrow.memory.ArrowBuf;

/**
 * The bytes of a column chunk as another file stores them. Counted: whoever keeps pages of it
 * retains it, and releases it when they are written. Thread-safe.
 */
final class RawChunk {
  private final ArrowBuf buffer;
  private final int length;

  /**
   * @param buffer has one count, which is the caller's to release
   */
  RawChunk(ArrowBuf buffer, int length) {
    this.buffer = buffer;
    this.length = length;
  }

  /** The bytes {@code [from, from + count)}; valid as long as the chunk is retained. */
  ByteBuffer slice(int from, int count) {
    if (from < 0 || count < 0 || count > length - from) {
      throw new IndexOutOfBoundsException(from + " + " + count + " of " + length);
    }
    return buffer.nioBuffer(from, count);
  }

  int length() {
    return length;
  }

  /** Memory in use. */
  long bytes() {
    return buffer.capacity();
  }

  void retain() {
    buffer.getReferenceManager().retain();
  }

  void release() {
    buffer.getReferenceManager().release();
  }
}
