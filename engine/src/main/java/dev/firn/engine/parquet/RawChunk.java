package dev.firn.engine.parquet;

import java.nio.ByteBuffer;
import org.apache.arrow.memory.ArrowBuf;

/**
 * The bytes of a column chunk as another file stores them. Counted: whoever keeps pages of it
 * retains it, and releases it when they are written. Thread-safe.
 */
final class RawChunk {
  private final ArrowBuf buffer;
  private final ByteBuffer bytes; // the same

  /**
   * @param buffer has one count, which is the caller's to release
   */
  RawChunk(ArrowBuf buffer, int length) {
    this.buffer = buffer;
    this.bytes = buffer.nioBuffer(0, length);
  }

  /** The bytes {@code [from, from + count)}; valid as long as the chunk is retained. */
  ByteBuffer slice(int from, int count) {
    return bytes.slice(from, count);
  }

  int length() {
    return bytes.capacity();
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
