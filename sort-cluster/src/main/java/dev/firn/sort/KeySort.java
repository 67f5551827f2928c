package dev.firn.sort;

import java.util.Arrays;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.util.MemoryUtil;

/**
 * Sorts row ids by their keys, stably, without comparing whole keys: by eight bytes at a time, with
 * a radix sort where there are many rows, and then each run of rows whose eight bytes are equal by
 * the next eight. All memory comes from the allocator.
 *
 * <p>A row id is the number of the row's block in its upper 16 bits and the row in the block in its
 * lower 16.
 */
final class KeySort {

  /** What sorting needs for each row: eight bytes of key and an id, twice. */
  static final int ROW_BYTES = 2 * (8 + 4);

  /** Runs up to this length are sorted by insertion, comparing keys to their end. */
  private static final int INSERTION_ROWS_MAX = 24;

  /** Shorter runs are merged, not radix sorted: clearing counters would cost more. */
  private static final int RADIX_ROWS_MIN = 1024;

  /* One entry of a pair of arrays: 8 key bytes as a number in unsigned order, and the row's id. The
  keys themselves are not moved. */
  private final long prefixes;
  private final long ids;
  private final long otherPrefixes;
  private final long otherIds;

  private final long[] keys;
  private final long[] offsets;
  private final int fixedBytes;

  /* Runs still to be sorted: first row, end, and how many bytes of their keys are known equal. */
  private int[] pending = new int[96];
  private int pendings;

  private KeySort(long workspace, int rows, long[] keys, long[] offsets, int fixedBytes) {
    this.prefixes = workspace;
    this.otherPrefixes = workspace + 8L * rows;
    this.ids = workspace + 16L * rows;
    this.otherIds = workspace + 20L * rows;
    this.keys = keys;
    this.offsets = offsets;
    this.fixedBytes = fixedBytes;
  }

  /**
   * Sorts ids in place.
   *
   * @param ids ids of the rows, as ints, in input order
   * @param keys the address of each block's keys
   * @param offsets the address of each block's key offsets; empty when keys have one length
   * @param fixedBytes the length of all keys, where they have one length
   */
  static void sort(
      ArrowBuf ids, int rows, long[] keys, long[] offsets, int fixedBytes, BufferAllocator memory) {
    if (rows < 2 || (offsets.length == 0 && fixedBytes == 0)) {
      return;
    }
    try (ArrowBuf workspace = memory.buffer((long) rows * ROW_BYTES)) {
      KeySort sort = new KeySort(workspace.memoryAddress(), rows, keys, offsets, fixedBytes);
      MemoryUtil.copyMemory(ids.memoryAddress(), sort.ids, 4L * rows);
      sort.run(rows);
      MemoryUtil.copyMemory(sort.ids, ids.memoryAddress(), 4L * rows);
    }
  }

  private void run(int rows) {
    push(0, rows, 0);
    while (pendings > 0) {
      pendings -= 3;
      sort(pending[pendings], pending[pendings + 1], pending[pendings + 2]);
    }
  }

  private void push(int from, int to, int depth) {
    if (pendings == pending.length) {
      pending = Arrays.copyOf(pending, 2 * pendings);
    }
    pending[pendings] = from;
    pending[pendings + 1] = to;
    pending[pendings + 2] = depth;
    pendings += 3;
  }

  /** Sorts rows {@code [from, to)}, whose first {@code depth} key bytes are equal. */
  private void sort(int from, int to, int depth) {
    if (to - from <= INSERTION_ROWS_MAX) {
      insertionSort(from, to, depth);
      return;
    }
    int at = depth;
    while (true) {
      if (at >= length(id(from))) {
        return; // no key is the beginning of another: if one ends here, all are equal
      }
      long differing = load(from, to, at);
      if (differing == 0) {
        at += 8;
        continue;
      }
      int shared = Long.numberOfLeadingZeros(differing) >>> 3;
      if (shared >= 2) {
        at += shared; // eight bytes from the first that differs tell more rows apart
        differing = load(from, to, at);
      }
      if (!inOrder(from, to)) {
        if (to - from < RADIX_ROWS_MIN) {
          mergeSort(from, to);
        } else {
          radixSort(from, to, differing);
        }
      }
      pushRuns(from, to, at + 8);
      return;
    }
  }

  private void pushRuns(int from, int to, int depth) {
    int start = from;
    long run = prefix(from);
    for (int i = from + 1; i <= to; i++) {
      if (i == to || prefix(i) != run) {
        if (i - start > 1 && depth < length(id(start))) {
          push(start, i, depth);
        }
        start = i;
        run = i == to ? 0 : prefix(i);
      }
    }
  }

  /** Reads eight key bytes of each row and returns the bits in which any two rows differ. */
  private long load(int from, int to, int depth) {
    long first = 0;
    long differing = 0;
    if (offsets.length == 0) {
      int left = fixedBytes - depth;
      for (int i = from; i < to; i++) {
        int id = id(i);
        long at = keys[id >>> 16] + (long) (id & 0xFFFF) * fixedBytes + depth;
        long value = Memory.bigEndian(at, left);
        MemoryUtil.putLong(prefixes + ((long) i << 3), value);
        first = i == from ? value : first;
        differing |= value ^ first;
      }
    } else {
      for (int i = from; i < to; i++) {
        int id = id(i);
        long offset = offsets[id >>> 16] + ((long) (id & 0xFFFF) << 2);
        int start = MemoryUtil.getInt(offset);
        int left = MemoryUtil.getInt(offset + 4) - start - depth;
        long value = Memory.bigEndian(keys[id >>> 16] + start + depth, left);
        MemoryUtil.putLong(prefixes + ((long) i << 3), value);
        first = i == from ? value : first;
        differing |= value ^ first;
      }
    }
    return differing;
  }

  private boolean inOrder(int from, int to) {
    for (int i = from + 1; i < to; i++) {
      if (Long.compareUnsigned(prefix(i - 1), prefix(i)) > 0) {
        return false;
      }
    }
    return true;
  }

  private int id(int i) {
    return MemoryUtil.getInt(ids + ((long) i << 2));
  }

  private long prefix(int i) {
    return MemoryUtil.getLong(prefixes + ((long) i << 3));
  }

  private long length(int id) {
    if (offsets.length == 0) {
      return fixedBytes;
    }
    long offset = offsets[id >>> 16] + ((long) (id & 0xFFFF) << 2);
    return MemoryUtil.getInt(offset + 4) - MemoryUtil.getInt(offset);
  }

  private long address(int id) {
    int block = id >>> 16;
    int row = id & 0xFFFF;
    return keys[block]
        + (offsets.length == 0
            ? (long) row * fixedBytes
            : MemoryUtil.getInt(offsets[block] + ((long) row << 2)));
  }

  private void insertionSort(int from, int to, int depth) {
    for (int i = from + 1; i < to; i++) {
      int moved = id(i);
      long key = address(moved) + depth;
      long bytes = length(moved) - depth;
      int at = i;
      for (; at > from; at--) {
        int before = id(at - 1);
        if (Memory.compare(address(before) + depth, length(before) - depth, key, bytes) <= 0) {
          break;
        }
        MemoryUtil.putInt(ids + ((long) at << 2), before);
      }
      MemoryUtil.putInt(ids + ((long) at << 2), moved);
    }
  }

  /** Bottom-up, by prefix. */
  private void mergeSort(int from, int to) {
    long fromPrefixes = prefixes;
    long fromIds = ids;
    long toPrefixes = otherPrefixes;
    long toIds = otherIds;
    for (int width = 1; width < to - from; width *= 2) {
      for (int left = from; left < to; left += 2 * width) {
        int middle = Math.min(left + width, to);
        int right = Math.min(middle + width, to);
        merge(fromPrefixes, fromIds, toPrefixes, toIds, left, middle, right);
      }
      long swap = fromPrefixes;
      fromPrefixes = toPrefixes;
      toPrefixes = swap;
      swap = fromIds;
      fromIds = toIds;
      toIds = swap;
    }
    settle(fromPrefixes, fromIds, from, to);
  }

  private static void merge(
      long fromPrefixes,
      long fromIds,
      long toPrefixes,
      long toIds,
      int left,
      int middle,
      int right) {
    int l = left;
    int r = middle;
    for (int at = left; at < right; at++) {
      boolean takeLeft =
          l < middle
              && (r >= right
                  || Long.compareUnsigned(
                          MemoryUtil.getLong(fromPrefixes + ((long) l << 3)),
                          MemoryUtil.getLong(fromPrefixes + ((long) r << 3)))
                      <= 0);
      int taken = takeLeft ? l++ : r++;
      MemoryUtil.putLong(
          toPrefixes + ((long) at << 3), MemoryUtil.getLong(fromPrefixes + ((long) taken << 3)));
      MemoryUtil.putInt(toIds + ((long) at << 2), MemoryUtil.getInt(fromIds + ((long) taken << 2)));
    }
  }

  /** From the last byte to the first, leaving out bytes in which no two rows differ. */
  private void radixSort(int from, int to, long differing) {
    int[][] counts = new int[8][256];
    for (int i = from; i < to; i++) {
      long value = prefix(i);
      for (int digit = 0; digit < 8; digit++) {
        counts[digit][(int) (value >>> (8 * digit)) & 0xFF]++;
      }
    }
    long fromPrefixes = prefixes;
    long fromIds = ids;
    long toPrefixes = otherPrefixes;
    long toIds = otherIds;
    for (int digit = 0; digit < 8; digit++) {
      int shift = 8 * digit;
      if ((differing >>> shift & 0xFF) == 0) {
        continue;
      }
      scatter(counts[digit], shift, fromPrefixes, fromIds, toPrefixes, toIds, from, to);
      long swap = fromPrefixes;
      fromPrefixes = toPrefixes;
      toPrefixes = swap;
      swap = fromIds;
      fromIds = toIds;
      toIds = swap;
    }
    settle(fromPrefixes, fromIds, from, to);
  }

  private static void scatter(
      int[] counts,
      int shift,
      long fromPrefixes,
      long fromIds,
      long toPrefixes,
      long toIds,
      int from,
      int to) {
    int next = from;
    for (int value = 0; value < 256; value++) {
      int count = counts[value];
      counts[value] = next;
      next += count;
    }
    for (int i = from; i < to; i++) {
      long prefix = MemoryUtil.getLong(fromPrefixes + ((long) i << 3));
      int at = counts[(int) (prefix >>> shift) & 0xFF]++;
      MemoryUtil.putLong(toPrefixes + ((long) at << 3), prefix);
      MemoryUtil.putInt(toIds + ((long) at << 2), MemoryUtil.getInt(fromIds + ((long) i << 2)));
    }
  }

  /** Brings a result that lies in the other arrays home. */
  private void settle(long fromPrefixes, long fromIds, int from, int to) {
    if (fromIds != ids) {
      long rows = (long) to - from;
      MemoryUtil.copyMemory(
          fromPrefixes + ((long) from << 3), prefixes + ((long) from << 3), rows << 3);
      MemoryUtil.copyMemory(fromIds + ((long) from << 2), ids + ((long) from << 2), rows << 2);
    }
  }
}
