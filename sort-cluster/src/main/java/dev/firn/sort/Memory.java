package dev.firn.sort;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;

/**
 * Unchecked reads and writes of off-heap memory by address. Who uses an address has checked the
 * capacity of its buffer before ({@link #address}). Arrow's Java vectors are little-endian.
 */
final class Memory {

  /** Copies up to this many bytes are made word by word, longer ones by the JDK. */
  private static final int WORDWISE_BYTES_MAX = 96;

  private Memory() {}

  /**
   * The address of a buffer that must hold at least {@code bytes}; 0 for a buffer that need not and
   * does not exist.
   *
   * @param buffer null or empty when the vector has none
   */
  static long address(@Nullable ArrowBuf buffer, long bytes, String what) {
    long capacity = buffer == null ? 0 : buffer.capacity();
    if (capacity < bytes) {
      throw new IllegalArgumentException(
          "The " + what + " buffer has " + capacity + " bytes and needs " + bytes);
    }
    return buffer == null || capacity == 0 ? 0 : buffer.memoryAddress();
  }

  static boolean bit(long address, long index) {
    return (MemoryUtil.getByte(address + (index >>> 3)) >>> (index & 7) & 1) != 0;
  }

  static void copy(long from, long to, long bytes) {
    if (bytes > WORDWISE_BYTES_MAX) {
      MemoryUtil.copyMemory(from, to, bytes);
    } else if (bytes >= 8) {
      long last = bytes - 8;
      long at = 0;
      for (; at < last - 8; at += 16) {
        long first = MemoryUtil.getLong(from + at);
        long second = MemoryUtil.getLong(from + at + 8);
        MemoryUtil.putLong(to + at, first);
        MemoryUtil.putLong(to + at + 8, second);
      }
      if (at < last) {
        MemoryUtil.putLong(to + at, MemoryUtil.getLong(from + at));
      }
      MemoryUtil.putLong(to + last, MemoryUtil.getLong(from + last));
    } else if (bytes >= 4) { // the two halves may overlap
      int last = MemoryUtil.getInt(from + bytes - 4);
      MemoryUtil.putInt(to, MemoryUtil.getInt(from));
      MemoryUtil.putInt(to + bytes - 4, last);
    } else {
      for (long at = 0; at < bytes; at++) {
        MemoryUtil.putByte(to + at, MemoryUtil.getByte(from + at));
      }
    }
  }

  /** The 8 bytes at {@code address} as a number whose unsigned order is that of the bytes. */
  static long bigEndian(long address) {
    return Long.reverseBytes(MemoryUtil.getLong(address));
  }

  /**
   * The first {@code bytes} bytes at {@code address} as the upper bytes of such a number, the
   * others 0; none if {@code bytes} is not positive. Eight bytes must be readable there all the
   * same.
   */
  static long bigEndian(long address, long bytes) {
    if (bytes >= 8) {
      return bigEndian(address);
    }
    return bytes <= 0 ? 0 : bigEndian(address) & -1L << (64 - 8 * bytes);
  }

  /** Compares as unsigned bytes; a prefix comes first. */
  static int compare(long left, long leftBytes, long right, long rightBytes) {
    long common = Math.min(leftBytes, rightBytes);
    long at = 0;
    for (; at + 8 <= common; at += 8) {
      long l = MemoryUtil.getLong(left + at);
      long r = MemoryUtil.getLong(right + at);
      if (l != r) {
        return Long.compareUnsigned(Long.reverseBytes(l), Long.reverseBytes(r));
      }
    }
    for (; at < common; at++) {
      int l = MemoryUtil.getByte(left + at) & 0xFF;
      int r = MemoryUtil.getByte(right + at) & 0xFF;
      if (l != r) {
        return l - r;
      }
    }
    return Long.compare(leftBytes, rightBytes);
  }
}
