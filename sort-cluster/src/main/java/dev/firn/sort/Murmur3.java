package dev.firn.sort;

import org.apache.arrow.memory.util.MemoryUtil;

/** The 32-bit Murmur3 hash, x86 variant, seed 0, of the bucket transform (P4). */
final class Murmur3 {
  private static final int C1 = 0xcc9e2d51;
  private static final int C2 = 0x1b873593;

  private Murmur3() {}

  /** The hash of an int or long, as 8 little-endian bytes. */
  static int hash(long value) {
    return hashWord(value, 8);
  }

  /** The hash of the lowest {@code bytes} bytes of a word, lowest first. */
  static int hashWord(long word, int bytes) {
    int hash = 0;
    int left = bytes;
    long rest = word;
    for (; left >= 4; left -= 4) {
      hash = block(hash, (int) rest);
      rest >>>= 32;
    }
    if (left > 0) {
      hash ^= scramble((int) rest & ((1 << (8 * left)) - 1));
    }
    return finish(hash, bytes);
  }

  /** The hash of bytes in memory. */
  static int hashBytes(long address, long bytes) {
    int hash = 0;
    long at = 0;
    for (; at + 4 <= bytes; at += 4) {
      hash = block(hash, MemoryUtil.getInt(address + at));
    }
    if (at < bytes) {
      int tail = 0;
      for (long i = at; i < bytes; i++) {
        tail |= (MemoryUtil.getByte(address + i) & 0xFF) << (8 * (int) (i - at));
      }
      hash ^= scramble(tail);
    }
    return finish(hash, (int) bytes);
  }

  /** The hash of a decimal: its unscaled value in the fewest big-endian bytes. */
  static int hashUnscaled(long unscaled) {
    // 64 value bits less the copies of the sign, plus one sign bit.
    long magnitude = unscaled < 0 ? ~unscaled : unscaled;
    int bytes = (64 - Long.numberOfLeadingZeros(magnitude)) / 8 + 1;
    return hashWord(Long.reverseBytes(unscaled << (64 - 8 * bytes)), bytes);
  }

  /** The same of big-endian two's complement bytes in memory. */
  static int hashUnscaled(long address, int bytes) {
    int skip = 0;
    while (skip < bytes - 1
        && MemoryUtil.getByte(address + skip) == MemoryUtil.getByte(address + skip + 1) >> 7) {
      skip++;
    }
    return hashBytes(address + skip, (long) bytes - skip);
  }

  private static int scramble(int block) {
    return Integer.rotateLeft(block * C1, 15) * C2;
  }

  private static int block(int hash, int block) {
    return Integer.rotateLeft(hash ^ scramble(block), 13) * 5 + 0xe6546b64;
  }

  private static int finish(int hash, int bytes) {
    int h = hash ^ bytes;
    h = (h ^ (h >>> 16)) * 0x85ebca6b;
    h = (h ^ (h >>> 13)) * 0xc2b2ae35;
    return h ^ (h >>> 16);
  }
}
