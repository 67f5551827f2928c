package dev.firn.engine.parquet;

import java.nio.ByteBuffer;

/**
 * A part of a page's bytes, read from the front. Loops read {@link #bytes()} themselves, after
 * {@link #require}: there are {@link PageBuffer#SLACK} bytes behind the end, so that eight bytes at
 * a time may be loaded. Not thread-safe.
 */
final class PageInput {
  private static final byte[] NONE = new byte[0];
  private static final int VAR_INT_BYTES_MAX = 5;
  private static final int VAR_LONG_BYTES_MAX = 10;

  private byte[] bytes = NONE;
  private int position;
  private int limit;

  /**
   * Takes bytes.
   *
   * @param source is left as it is
   * @param from index in {@code source}
   */
  void load(ByteBuffer source, int from, int length) {
    if (bytes.length < (long) length + PageBuffer.SLACK) {
      bytes = new byte[Math.toIntExact((long) length + length / 8 + PageBuffer.SLACK)];
    }
    source.get(from, bytes, 0, length);
    position = 0;
    limit = length;
  }

  byte[] bytes() {
    return bytes;
  }

  int position() {
    return position;
  }

  int limit() {
    return limit;
  }

  int remaining() {
    return limit - position;
  }

  /** Fails unless there are so many bytes more. */
  void require(long count, String what) {
    if (count > limit - position) {
      throw new MalformedPageException(
          what + " take " + count + " bytes where " + (limit - position) + " are left");
    }
  }

  /** Goes on behind bytes that were read, or to the end when there are fewer. */
  void skip(long count) {
    position = (int) Math.min(limit, position + count);
  }

  int unsignedByte(String what) {
    require(1, what);
    return bytes[position++] & 0xFF;
  }

  /** All 32 bits may be used. */
  int unsignedVarInt(String what) {
    int value = 0;
    for (int i = 0; i < VAR_INT_BYTES_MAX; i++) {
      int next = unsignedByte(what);
      value |= (next & 0x7F) << 7 * i;
      if (next < 0x80) {
        if (i == VAR_INT_BYTES_MAX - 1 && next > 0xF) {
          break;
        }
        return value;
      }
    }
    throw new MalformedPageException(what + " have a number of more than 32 bits");
  }

  /** A number with a sign. */
  long zigZagVarLong(String what) {
    long value = 0;
    for (int i = 0; i < VAR_LONG_BYTES_MAX; i++) {
      int next = unsignedByte(what);
      value |= (long) (next & 0x7F) << 7 * i;
      if (next < 0x80) {
        if (i == VAR_LONG_BYTES_MAX - 1 && next > 1) {
          break;
        }
        return value >>> 1 ^ -(value & 1);
      }
    }
    throw new MalformedPageException(what + " have a number of more than 64 bits");
  }

  int capacity() {
    return bytes.length;
  }

  /** Gives up the bytes. */
  void release() {
    bytes = NONE;
    position = 0;
    limit = 0;
  }
}
