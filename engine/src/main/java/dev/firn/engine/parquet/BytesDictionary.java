package dev.firn.engine.parquet;

import java.util.Arrays;

/**
 * Distinct byte strings, numbered in the order they came and kept in one array as a PLAIN
 * dictionary page has them. An open-addressing table; not thread-safe.
 */
final class BytesDictionary {
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  private final int prefix; // bytes before each value: its length, or none
  private final PageBuffer plain = new PageBuffer();
  private int[] ends = new int[128]; // where the entry of a number ends
  private int[] hashes = new int[128];
  private int size;
  private int[] table = new int[256]; // number + 1, or 0 where free

  /**
   * @param isFixedWidth whether values have no length before them
   */
  BytesDictionary(boolean isFixedWidth) {
    this.prefix = isFixedWidth ? 0 : Integer.BYTES;
  }

  /**
   * Looks numbers up, giving new ones to new values.
   *
   * @param bytes holds the values, and eight bytes behind them
   * @param starts where the values {@code [from, to)} start
   * @param ends where they end
   * @param ids gets the numbers, from {@code at} on; has room
   * @param bytesMax stops behind the value with which the dictionary grew beyond this
   * @return up to which value it came
   */
  int lookUp(
      byte[] bytes, int[] starts, int[] ends, int from, int to, int[] ids, int at, int bytesMax) {
    int out = at;
    for (int i = from; i < to; i++) {
      int start = starts[i];
      int end = ends[i];
      int hash = hash(bytes, start, end);
      int mask = table.length - 1;
      int slot = hash & mask;
      int id = table[slot];
      while (id != 0 && !(hashes[id - 1] == hash && isEqual(id - 1, bytes, start, end))) {
        slot = (slot + 1) & mask;
        id = table[slot];
      }
      if (id == 0) {
        add(hash, slot, bytes, start, end);
        id = size;
        if (plain.size() > bytesMax) {
          ids[out] = id - 1;
          return i + 1;
        }
      }
      ids[out++] = id - 1;
    }
    return to;
  }

  private static int hash(byte[] bytes, int start, int end) {
    long hash = (end - start) * GOLDEN;
    int at = start;
    for (; end - at >= 8; at += 8) {
      hash = (hash ^ (long) PageBuffer.LONG.get(bytes, at)) * GOLDEN;
      hash ^= hash >>> 32;
    }
    if (at < end) {
      long rest = (long) PageBuffer.LONG.get(bytes, at) & (1L << ((end - at) << 3)) - 1;
      hash = (hash ^ rest) * GOLDEN;
    }
    return (int) (hash ^ hash >>> 32);
  }

  private boolean isEqual(int id, byte[] bytes, int start, int end) {
    int entry = start(id) + prefix;
    return ends[id] - entry == end - start
        && Arrays.equals(plain.bytes(), entry, ends[id], bytes, start, end);
  }

  private void add(int hash, int slot, byte[] bytes, int start, int end) {
    int length = end - start;
    plain.reserve((long) length + prefix);
    if (prefix > 0) {
      PageBuffer.INT.set(plain.bytes(), plain.size(), length);
      plain.size(plain.size() + prefix);
    }
    plain.putBytes(bytes, start, length);
    if (size == ends.length) {
      ends = Arrays.copyOf(ends, size * 2);
      hashes = Arrays.copyOf(hashes, size * 2);
    }
    ends[size] = plain.size();
    hashes[size++] = hash;
    table[slot] = size;
    if (size * 2 > table.length) {
      int[] larger = new int[table.length * 2];
      int mask = larger.length - 1;
      for (int id = 1; id <= size; id++) {
        int free = hashes[id - 1] & mask;
        while (larger[free] != 0) {
          free = (free + 1) & mask;
        }
        larger[free] = id;
      }
      table = larger;
    }
  }

  int size() {
    return size;
  }

  /** The values as PLAIN has them, with {@link PageBuffer#SLACK} behind. */
  byte[] plain() {
    return plain.bytes();
  }

  /** Where the PLAIN entry of a number starts; that of {@link #size()} is where all end. */
  int start(int id) {
    return id == 0 ? 0 : ends[id - 1];
  }

  long memoryBytes() {
    return plain.capacity() + ends.length * 4L + hashes.length * 4L + table.length * 4L;
  }
}
