package dev.firn.engine.verify;

import org.apache.arrow.memory.util.MemoryUtil;

/**
 * The 64-bit xxHash (XXH64) with a seed, over memory and over single words. Known for passing every
 * test of a hash's quality at several bytes per cycle; its reference values are those of the tests.
 */
final class XxHash64 {
  private static final long P1 = 0x9E3779B185EBCA87L;
  private static final long P2 = 0xC2B2AE3D27D4EB4FL;
  private static final long P3 = 0x165667B19E3779F9L;
  private static final long P4 = 0x85EBCA77C2B2AE63L;
  private static final long P5 = 0x27D4EB2F165667C5L;

  private static final int STRIPE = 32;

  private XxHash64() {}

  /** The hash of a long as its 8 little-endian bytes. */
  static long ofLong(long value, long seed) {
    long hash = seed + P5 + 8;
    hash ^= round(0, value);
    return avalanche(Long.rotateLeft(hash, 27) * P1 + P4);
  }

  /**
   * The hashes with two seeds of {@code length} bytes that begin at an address: reading the bytes
   * once, and with two chains of multiplications side by side, costs little more than one hash.
   *
   * @param into takes the two hashes, in the order of the seeds
   */
  static void ofBytes(long address, int length, long seedA, long seedB, long[] into) {
    long at = address;
    long end = address + length;
    long a;
    long b;
    if (length >= STRIPE) {
      a = stripes(address, length, seedA);
      b = stripes(address, length, seedB);
      at += length & -STRIPE;
    } else {
      a = seedA + P5;
      b = seedB + P5;
    }
    a += length;
    b += length;
    for (; at + 8 <= end; at += 8) {
      long lane = round(0, MemoryUtil.getLong(at));
      a = Long.rotateLeft(a ^ lane, 27) * P1 + P4;
      b = Long.rotateLeft(b ^ lane, 27) * P1 + P4;
    }
    if (at + 4 <= end) {
      long lane = (MemoryUtil.getInt(at) & 0xFFFFFFFFL) * P1;
      a = Long.rotateLeft(a ^ lane, 23) * P2 + P3;
      b = Long.rotateLeft(b ^ lane, 23) * P2 + P3;
      at += 4;
    }
    for (; at < end; at++) {
      long lane = (MemoryUtil.getByte(at) & 0xFFL) * P5;
      a = Long.rotateLeft(a ^ lane, 11) * P1;
      b = Long.rotateLeft(b ^ lane, 11) * P1;
    }
    into[0] = avalanche(a);
    into[1] = avalanche(b);
  }

  /** What all whole stripes of 32 bytes come to. */
  private static long stripes(long address, int length, long seed) {
    long a = seed + P1 + P2;
    long b = seed + P2;
    long c = seed;
    long d = seed - P1;
    long end = address + (length & -STRIPE);
    for (long at = address; at < end; at += STRIPE) {
      a = round(a, MemoryUtil.getLong(at));
      b = round(b, MemoryUtil.getLong(at + 8));
      c = round(c, MemoryUtil.getLong(at + 16));
      d = round(d, MemoryUtil.getLong(at + 24));
    }
    long hash =
        Long.rotateLeft(a, 1)
            + Long.rotateLeft(b, 7)
            + Long.rotateLeft(c, 12)
            + Long.rotateLeft(d, 18);
    hash = merge(hash, a);
    hash = merge(hash, b);
    hash = merge(hash, c);
    return merge(hash, d);
  }

  /** The final mix: every bit of the input reaches every bit of the result; a bijection. */
  static long avalanche(long value) {
    long hash = value;
    hash = (hash ^ (hash >>> 33)) * P2;
    hash = (hash ^ (hash >>> 29)) * P3;
    return hash ^ (hash >>> 32);
  }

  private static long round(long accumulator, long lane) {
    return Long.rotateLeft(accumulator + lane * P2, 31) * P1;
  }

  private static long merge(long hash, long accumulator) {
    return (hash ^ round(0, accumulator)) * P1 + P4;
  }
}
