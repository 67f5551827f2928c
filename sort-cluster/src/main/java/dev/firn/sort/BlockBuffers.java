package dev.firn.sort;

import java.util.Arrays;
import org.apache.arrow.memory.ArrowBuf;

/**
 * The buffers of a block in their order: addresses and lengths, gone through from the first to the
 * last. Owns none of them. Not thread-safe.
 */
final class BlockBuffers {
  private long[] addresses = new long[64];
  private long[] bytes = new long[64];
  private int count;
  private int next;

  void add(long address, long length) {
    if (count == bytes.length) {
      addresses = Arrays.copyOf(addresses, 2 * count);
      bytes = Arrays.copyOf(bytes, 2 * count);
    }
    addresses[count] = length == 0 ? 0 : address;
    bytes[count++] = length;
  }

  void add(ArrowBuf buffer, long length) {
    add(Memory.address(buffer, length, "vector"), length);
  }

  /** The address of the next buffer; 0 if it has no bytes. */
  long next() {
    return addresses[next++];
  }

  void rewind() {
    next = 0;
  }

  int count() {
    return count;
  }

  long address(int buffer) {
    return addresses[buffer];
  }

  long bytes(int buffer) {
    return bytes[buffer];
  }

  /**
   * What all take in one piece of memory: their lengths first, then each from a multiple of eight
   * bytes on, and the slack of keys behind the last.
   */
  long blockBytes() {
    long sum = headerBytes(count) + KeyBlock.SLACK_BYTES;
    for (int i = 0; i < count; i++) {
      sum += aligned(bytes[i]);
    }
    return sum;
  }

  /** What the lengths of so many buffers take. */
  static long headerBytes(int buffers) {
    return (long) buffers * Long.BYTES;
  }

  static long aligned(long bytes) {
    return bytes + 7 & -8L;
  }

  void clear() {
    count = 0;
    next = 0;
  }
}
