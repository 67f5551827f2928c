package dev.firn.engine.parquet;

import java.util.Arrays;

/**
 * Distinct byte strings, numbered in the order they came and kept in one array as a PLAIN
 * dictionary page has them. An open-addressing table; not thread-safe.
 *
 * <p>Most strings are short and of different lengths, so that each branch on a length is guessed
 * wrongly: their first sixteen bytes are two words, filled up with zeros, and all that is looked
 * at.
 */
final class BytesDictionary {
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;
  private static final long OTHER_GOLDEN = 0xD6E8FEB86659FD93L;
  private static final int WORDS_BYTES = 2 * Long.BYTES;

  private static final int RUN_VALUES = 256;

  /* Of the two words of a string with so many bytes, the bits that belong to it. */
  private static final long[] FIRST_BITS = new long[WORDS_BYTES + 1];
  private static final long[] SECOND_BITS = new long[WORDS_BYTES + 1];

  static {
    for (int length = 0; length <= WORDS_BYTES; length++) {
      FIRST_BITS[length] = lowBytes(Math.min(length, Long.BYTES));
      SECOND_BITS[length] = lowBytes(Math.max(length - Long.BYTES, 0));
    }
  }

  private static long lowBytes(int count) {
    return count == Long.BYTES ? -1L : (1L << (count << 3)) - 1;
  }

  /* A small table has few strings for its size, so that most are found at once. */
  private static final int SPARSE_TABLE_MAX = 1 << 14;

  private final int prefix; // bytes before each value: its length, or none
  private final PageBuffer plain = new PageBuffer();
  private int[] ends = new int[128]; // where the entry of a number ends
  private long[] words = new long[256]; // two for each number
  private int size;
  private long[] table = new long[512]; // hash in the high half; number + 1 in the low, or 0: free

  // Of the run that is looked up.
  private final long[] firsts = new long[RUN_VALUES];
  private final long[] seconds = new long[RUN_VALUES];
  private final int[] hashes = new int[RUN_VALUES];
  private final long[] foundFirst = new long[RUN_VALUES];

  /**
   * @param isFixedWidth whether values have no length before them
   */
  BytesDictionary(boolean isFixedWidth) {
    this.prefix = isFixedWidth ? 0 : Integer.BYTES;
  }

  /**
   * Looks numbers up, giving new ones to new values.
   *
   * @param bytes holds the values, and {@link PageBuffer#SLACK} bytes behind them
   * @param starts where the values {@code [from, to)} start
   * @param ends where they end
   * @param ids gets the numbers, from {@code at} on; has room
   * @param bytesMax stops behind the value with which the dictionary grew beyond this
   * @return up to which value it came
   */
  int lookUp(
      byte[] bytes, int[] starts, int[] ends, int from, int to, int[] ids, int at, int bytesMax) {
    int i = from;
    int out = at;
    while (i < to) {
      int count = Math.min(RUN_VALUES, to - i);
      hash(bytes, starts, ends, i, count);
      int done = lookUpRun(bytes, starts, ends, i, count, ids, out, bytesMax);
      i += done;
      out += done;
      if (done < count || plain.size() > bytesMax) {
        return i;
      }
    }
    return to;
  }

  /* The words and hashes of a run, and what is found at first: without a branch, so that the table's
  memory is waited for once and not for each value. */
  private void hash(byte[] bytes, int[] starts, int[] ends, int from, int count) {
    long[] slots = table;
    int mask = slots.length - 1;
    for (int k = 0; k < count; k++) {
      int start = starts[from + k];
      int length = ends[from + k] - start;
      int ofWords = Math.min(length, WORDS_BYTES);
      long first = (long) PageBuffer.LONG.get(bytes, start) & FIRST_BITS[ofWords];
      long second = (long) PageBuffer.LONG.get(bytes, start + Long.BYTES) & SECOND_BITS[ofWords];
      long hash = (first ^ length * OTHER_GOLDEN) * GOLDEN;
      hash = ((hash ^ hash >>> 32) + second) * OTHER_GOLDEN;
      if (length > WORDS_BYTES) {
        hash = hash(bytes, start + WORDS_BYTES, start + length, hash);
      }
      hash ^= hash >>> 32;
      firsts[k] = first;
      seconds[k] = second;
      hashes[k] = (int) hash;
      foundFirst[k] = slots[(int) hash & mask];
    }
  }

  private int lookUpRun(
      byte[] bytes,
      int[] starts,
      int[] ends,
      int from,
      int count,
      int[] ids,
      int at,
      int bytesMax) {
    for (int k = 0; k < count; k++) {
      int start = starts[from + k];
      int length = ends[from + k] - start;
      int hash = hashes[k];
      long found = foundFirst[k];
      if (found == 0 || !isEqual(found, hash, firsts[k], seconds[k], bytes, start, length)) {
        // Also where the value, or what stood in its place, was added meanwhile.
        int mask = table.length - 1;
        int slot = hash & mask;
        found = table[slot];
        while (found != 0 && !isEqual(found, hash, firsts[k], seconds[k], bytes, start, length)) {
          slot = slot + 1 & mask;
          found = table[slot];
        }
        if (found == 0) {
          add(hash, slot, bytes, start, length, firsts[k], seconds[k]);
          found = size;
          if (plain.size() > bytesMax) {
            ids[at + k] = size - 1;
            return k + 1;
          }
        }
      }
      ids[at + k] = (int) found - 1;
    }
    return count;
  }

  private boolean isEqual(
      long found, int hash, long first, long second, byte[] bytes, int start, int length) {
    if ((int) (found >>> 32) != hash) {
      return false;
    }
    int id = (int) found - 1;
    int entry = start(id) + prefix;
    if (ends[id] - entry != length) {
      return false;
    }
    return length <= WORDS_BYTES
        ? words[2 * id] == first && words[2 * id + 1] == second
        : isEqual(entry, bytes, start, length);
  }

  private static long hash(byte[] bytes, int start, int end, long begun) {
    long hash = begun;
    int at = start;
    for (; end - at >= Long.BYTES; at += Long.BYTES) {
      hash ^= hash >>> 32;
      hash = (hash ^ (long) PageBuffer.LONG.get(bytes, at)) * GOLDEN;
    }
    hash ^= hash >>> 32;
    return (hash ^ (long) PageBuffer.LONG.get(bytes, at) & lowBytes(end - at)) * GOLDEN;
  }

  /* By eights: entries and values have bytes behind. */
  private boolean isEqual(int entry, byte[] bytes, int start, int length) {
    byte[] entries = plain.bytes();
    int at = 0;
    for (; at + Long.BYTES <= length; at += Long.BYTES) {
      if ((long) PageBuffer.LONG.get(entries, entry + at)
          != (long) PageBuffer.LONG.get(bytes, start + at)) {
        return false;
      }
    }
    long differing =
        (long) PageBuffer.LONG.get(entries, entry + at)
            ^ (long) PageBuffer.LONG.get(bytes, start + at);
    return (differing & lowBytes(length - at)) == 0;
  }

  private void add(
      int hash, int slot, byte[] bytes, int start, int length, long first, long second) {
    plain.reserve((long) length + prefix);
    if (prefix > 0) {
      plain.putReservedInt(length);
    }
    plain.putReserved(bytes, start, length);
    if (size == ends.length) {
      ends = Arrays.copyOf(ends, size * 2);
      words = Arrays.copyOf(words, size * 4);
    }
    ends[size] = plain.size();
    words[2 * size] = first;
    words[2 * size + 1] = second;
    table[slot] = (long) hash << 32 | ++size;
    int room = table.length <= SPARSE_TABLE_MAX ? 4 : 2;
    if (size * room > table.length) {
      long[] larger = new long[table.length * 2];
      int mask = larger.length - 1;
      for (long entry : table) {
        if (entry != 0) {
          int free = (int) (entry >>> 32) & mask;
          while (larger[free] != 0) {
            free = free + 1 & mask;
          }
          larger[free] = entry;
        }
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
    return plain.capacity() + ends.length * 4L + (words.length + table.length) * 8L;
  }
}
