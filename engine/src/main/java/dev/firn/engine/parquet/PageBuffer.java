package dev.firn.engine.parquet;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.parquet.bytes.BytesInput;

/**
 * Bytes that are written one after the other and used again for the next page; numbers are
 * little-endian. Loops write into {@link #bytes()} themselves, after {@link #reserve}: there is
 * always {@link #SLACK} behind what was reserved, so that eight bytes at a time may be stored.
 */
final class PageBuffer {
  /** Bytes behind the end that may be overwritten, but must not be relied on. */
  static final int SLACK = 16;

  static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /* Up to here, copying by eights is faster than a call. */
  private static final int SHORT_BYTES_MAX = 64;

  private static final byte[] NONE = new byte[0];
  private static final int BYTES_MAX = Integer.MAX_VALUE - 64;

  private byte[] bytes = NONE;
  private int size;

  /** Makes room for {@code more} bytes at the end. */
  void reserve(long more) {
    long needed = size + more + SLACK;
    if (needed > bytes.length) {
      if (needed > BYTES_MAX) {
        throw new IllegalArgumentException(
            "Cannot write a page of more than 2 GiB: one row's value has " + more + " bytes");
      }
      bytes = Arrays.copyOf(bytes, (int) Math.min(BYTES_MAX, Math.max(64, needed + needed / 4)));
    }
  }

  /** The bytes; another array after {@link #reserve}. */
  byte[] bytes() {
    return bytes;
  }

  int size() {
    return size;
  }

  /** Tells up to where the caller has written. */
  void size(int size) {
    this.size = size;
  }

  int capacity() {
    return bytes.length;
  }

  void putByte(int value) {
    reserve(1);
    bytes[size++] = (byte) value;
  }

  void putUnsignedVarInt(int value) {
    reserve(5);
    int rest = value;
    while ((rest & ~0x7F) != 0) {
      bytes[size++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    bytes[size++] = (byte) rest;
  }

  /** A number of few bytes if it is near zero, on either side. */
  void putZigZagVarLong(long value) {
    reserve(10);
    long rest = value << 1 ^ value >> 63;
    while ((rest & ~0x7FL) != 0) {
      bytes[size++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    bytes[size++] = (byte) rest;
  }

  void putLongs(long[] values, int from, int to) {
    reserve((long) (to - from) << 3);
    ByteBuffer.wrap(bytes, size, (to - from) << 3)
        .order(ByteOrder.LITTLE_ENDIAN)
        .asLongBuffer()
        .put(values, from, to - from);
    size += (to - from) << 3;
  }

  /** Writes the low halves. */
  void putInts(long[] values, int from, int to) {
    reserve((long) (to - from) << 2);
    int at = size;
    for (int i = from; i < to; i++, at += Integer.BYTES) {
      INT.set(bytes, at, (int) values[i]);
    }
    size = at;
  }

  void putBytes(byte[] source, int from, int length) {
    reserve(length);
    System.arraycopy(source, from, bytes, size, length);
    size += length;
  }

  /**
   * Adds bytes for which there is room.
   *
   * @param source may be read up to seven bytes further
   */
  void putReserved(byte[] source, int from, int length) {
    byte[] target = bytes;
    int to = size;
    if (length <= SHORT_BYTES_MAX) {
      for (int k = 0; k < length; k += Long.BYTES) {
        LONG.set(target, to + k, (long) LONG.get(source, from + k));
      }
    } else {
      System.arraycopy(source, from, target, to, length);
    }
    size = to + length;
  }

  /** Adds a number for which there is room. */
  void putReservedInt(int value) {
    INT.set(bytes, size, value);
    size += Integer.BYTES;
  }

  /** What was written, valid until the next write. */
  BytesInput input() {
    return BytesInput.from(bytes, 0, size);
  }

  /**
   * Begins anew.
   *
   * @param keepBytesMax memory beyond this is given up: one huge value shall not hold it
   */
  void reset(int keepBytesMax) {
    size = 0;
    if (bytes.length > keepBytesMax) {
      bytes = NONE;
    }
  }
}
