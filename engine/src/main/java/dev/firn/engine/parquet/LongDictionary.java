package dev.firn.engine.parquet;

import java.util.Arrays;

/** Distinct longs, numbered in the order they came. An open-addressing table; not thread-safe. */
final class LongDictionary {
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  private long[] values = new long[128];
  private int size;
  private int[] table = new int[256]; // number + 1, or 0 where free
  private int shift = 64 - 8;

  /**
   * Looks numbers up, giving new ones to new values.
   *
   * @param source values {@code [from, to)} of it
   * @param ids gets the numbers, from {@code at} on; has room
   * @param sizeMax stops behind the value with which the dictionary grew beyond this
   * @return up to which value it came
   */
  int lookUp(long[] source, int from, int to, int[] ids, int at, int sizeMax) {
    int[] slots = table;
    long[] known = values;
    int mask = slots.length - 1;
    int out = at;
    for (int i = from; i < to; i++) {
      long value = source[i];
      int slot = slot(value, shift);
      int id = slots[slot];
      while (id != 0 && known[id - 1] != value) {
        slot = (slot + 1) & mask;
        id = slots[slot];
      }
      if (id == 0) {
        add(value, slot);
        slots = table;
        known = values;
        mask = slots.length - 1;
        id = size;
        if (size > sizeMax) {
          ids[out] = id - 1;
          return i + 1;
        }
      }
      ids[out++] = id - 1;
    }
    return to;
  }

  private static int slot(long value, int shift) {
    return (int) ((value ^ value >>> 32) * GOLDEN >>> shift);
  }

  private void add(long value, int slot) {
    if (size == values.length) {
      values = Arrays.copyOf(values, size * 2);
    }
    values[size++] = value;
    table[slot] = size;
    if (size * 2 > table.length) {
      int[] larger = new int[table.length * 2];
      shift--;
      int mask = larger.length - 1;
      for (int id = 1; id <= size; id++) {
        int free = slot(values[id - 1], shift);
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

  /** The values by number; valid up to {@link #size()}. */
  long[] values() {
    return values;
  }

  long memoryBytes() {
    return values.length * 8L + table.length * 4L;
  }
}
