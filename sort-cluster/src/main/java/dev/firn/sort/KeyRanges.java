package dev.firn.sort;

import java.util.Arrays;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.VectorSchemaRoot;

/**
 * All keys cut into ranges that follow one another: each key falls into exactly one, equal keys
 * into the same. Immutable and thread-safe; made by {@link KeySampler}.
 */
public final class KeyRanges {
  private static final int PIECE_ROWS = 4096;

  private final SortedBytes cuts; // the least key of each range but the first
  private final double[] shares;

  KeyRanges(byte[][] cuts, double[] shares) {
    this.cuts = new SortedBytes(cuts);
    this.shares = shares;
  }

  /** How many ranges there are, at least 1. */
  public int count() {
    return shares.length;
  }

  /** The share of the sampled rows that fall into a range, from 0 to 1. */
  public double share(int range) {
    return shares[range];
  }

  /**
   * Finds the live rows of a batch that fall into a range.
   *
   * @param keys those that were sampled
   * @param live bit 0 of word 0 is row 0; bits past the last row are clear
   * @param liveRows how many bits are set
   * @param range from 0 on
   * @param into gets the bits of these rows and no others; as long as {@code live}, and may be the
   *     same
   * @param allocator for memory that is released before this returns
   * @return how many rows there are
   */
  public int select(
      SortKeys keys,
      VectorSchemaRoot batch,
      long[] live,
      int liveRows,
      int range,
      long[] into,
      BufferAllocator allocator) {
    if (range < 0 || range >= count()) {
      throw new IllegalArgumentException(
          "Range " + range + " does not exist: there are " + count() + " ranges");
    }
    if (into.length < live.length) {
      throw new IllegalArgumentException(
          "into has " + into.length + " words and live " + live.length);
    }
    if (count() == 1) {
      System.arraycopy(live, 0, into, 0, live.length);
      Arrays.fill(into, live.length, into.length, 0);
      return liveRows;
    }
    int[] rows = LiveRows.of(batch, live, liveRows);
    int[] ranges = new int[liveRows];
    rangesOf(keys, batch, rows, liveRows, ranges, allocator);
    Arrays.fill(into, 0);
    int selected = 0;
    for (int i = 0; i < liveRows; i++) {
      if (ranges[i] == range) {
        into[rows[i] >>> 6] |= 1L << rows[i];
        selected++;
      }
    }
    return selected;
  }

  /**
   * Finds the range of each of some rows.
   *
   * @param keys those that were sampled
   * @param rows numbers of rows of the batch
   * @param count how many of them count
   * @param ranges takes the range of each
   * @param allocator for memory that is released before this returns
   */
  public void rangesOf(
      SortKeys keys,
      VectorSchemaRoot batch,
      int[] rows,
      int count,
      int[] ranges,
      BufferAllocator allocator) {
    for (int from = 0; from < count; from += PIECE_ROWS) {
      int n = Math.min(PIECE_ROWS, count - from);
      int[] piece = Arrays.copyOfRange(rows, from, from + n);
      try (KeyBlock block = keys.encode(keys.prepare(batch, piece, n), allocator)) {
        long first = block.keysAddress();
        long offsets = block.offsetsAddress();
        long[] addresses = new long[n];
        int[] lengths = new int[n];
        int start = 0;
        for (int i = 0; i < n; i++) {
          int end =
              offsets == 0
                  ? start + keys.fixedBytes()
                  : MemoryUtil.getInt(offsets + ((i + 1L) << 2));
          addresses[i] = first + start;
          lengths[i] = end - start;
          start = end;
        }
        int[] places = new int[n];
        cuts.search(addresses, lengths, 0, n, places);
        for (int i = 0; i < n; i++) {
          ranges[from + i] = (places[i] + 1) >>> 1; // a key that is a cut begins the range after it
        }
      }
    }
  }
}
