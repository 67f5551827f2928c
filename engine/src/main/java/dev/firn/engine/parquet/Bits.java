package dev.firn.engine.parquet;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;

/** Kernels over Arrow bitmaps: bit 0 of byte 0 first. */
final class Bits {
  private Bits() {}

  /** How many bytes {@code bits} bits take. */
  static long bytes(long bits) {
    return (bits + 7) >>> 3;
  }

  /** The 64 bits that begin at {@code bit}; bits at or past {@code end} are clear. */
  private static long word(ArrowBuf bitmap, long bit, long end) {
    long wanted = Math.min(64, end - bit);
    long first = bit >>> 3;
    int shift = (int) (bit & 7);
    long last = (bit + wanted - 1) >>> 3;
    long word;
    if (last - first >= 7) {
      word = bitmap.getLong(first) >>> shift;
      if (last - first == 8) {
        word |= (bitmap.getByte(last) & 0xFFL) << (64 - shift);
      }
    } else {
      word = 0;
      for (long at = first; at <= last; at++) {
        word |= (bitmap.getByte(at) & 0xFFL) << ((at - first) << 3);
      }
      word >>>= shift;
    }
    return wanted == 64 ? word : word & ((1L << wanted) - 1);
  }

  /** How many of the bits {@code [start, start + length)} are set. */
  static int count(ArrowBuf bitmap, long start, long length) {
    long end = start + length;
    int count = 0;
    for (long bit = start; bit < end; bit += 64) {
      count += Long.bitCount(word(bitmap, bit, end));
    }
    return count;
  }

  static boolean isSet(ArrowBuf bitmap, long bit) {
    return (bitmap.getByte(bit >>> 3) >>> (bit & 7) & 1) != 0;
  }

  /**
   * The bits {@code [start, start + length)} as a bitmap of their own: the same memory where the
   * bits begin with a byte, else a copy. The caller releases it.
   */
  static ArrowBuf slice(ArrowBuf bitmap, long start, long length, BufferAllocator allocator) {
    if ((start & 7) == 0) {
      return SharedMemory.slice(bitmap, start >>> 3, bytes(length), allocator);
    }
    ArrowBuf copy = allocator.buffer(Math.max(8, (length + 63) >>> 6 << 3));
    long end = start + length;
    for (long bit = start, at = 0; bit < end; bit += 64, at += 8) {
      copy.setLong(at, word(bitmap, bit, end));
    }
    return copy;
  }

  /** Clears in {@code target} the bits that are clear in {@code [start, start + length)}. */
  static void and(ArrowBuf target, ArrowBuf bitmap, long start, long length) {
    long end = start + length;
    long bit = start;
    long at = 0;
    for (; end - bit >= 64; bit += 64, at += 8) {
      target.setLong(at, target.getLong(at) & word(bitmap, bit, end));
    }
    for (; bit < end; bit += 8, at++) {
      target.setByte(at, target.getByte(at) & (int) word(bitmap, bit, end));
    }
  }

  /** Clears in {@code words} the bits of values that are null. */
  static void and(long[] words, FieldVector values, int length) {
    if (values.getNullCount() == 0) {
      return;
    }
    for (int bit = 0; bit < length; bit += 64) {
      words[bit >>> 6] &= word(values.getValidityBuffer(), bit, length);
    }
  }

  /** How many of the first {@code length} bits are clear here and set in {@code words}. */
  static int clearUnder(ArrowBuf bitmap, long[] words, int length) {
    int count = 0;
    for (int bit = 0; bit < length; bit += 64) {
      count += Long.bitCount(words[bit >>> 6] & ~word(bitmap, bit, length));
    }
    return count;
  }
}
