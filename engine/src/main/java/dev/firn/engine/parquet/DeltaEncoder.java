package dev.firn.engine.parquet;

import java.util.Arrays;
import org.apache.parquet.bytes.BytesInput;

/**
 * Writes numbers as DELTA_BINARY_PACKED, with blocks of the size that parquet-java gives them.
 * Differences wrap around in as many bits as the numbers have. Not thread-safe.
 */
final class DeltaEncoder {
  private static final int BLOCK_VALUES = 128;
  private static final int MINIBLOCKS = 4;
  private static final int MINIBLOCK_VALUES = BLOCK_VALUES / MINIBLOCKS;

  private final long mask; // of the bits that a number has
  private final PageBuffer head = new PageBuffer();
  private final PageBuffer blocks = new PageBuffer();
  private final long[] deltas = new long[BLOCK_VALUES];
  private int pending; // deltas that are in no block yet
  private int count;
  private long first;
  private long previous;

  /**
   * @param isOfInts whether numbers have 4 bytes, not 8
   */
  DeltaEncoder(boolean isOfInts) {
    this.mask = isOfInts ? 0xFFFFFFFFL : -1L;
  }

  /** Adds numbers; those of 4 bytes are longs of the same value. */
  void add(long[] values, int from, int to) {
    if (from >= to) {
      return;
    }
    int i = from;
    if (count == 0) {
      first = values[i];
      previous = values[i++];
    }
    count += to - from;
    long last = previous;
    while (i < to) {
      int end = Math.min(to, i + BLOCK_VALUES - pending);
      int at = pending;
      for (; i < end; i++) {
        long value = values[i];
        deltas[at++] = value - last;
        last = value;
      }
      pending = at;
      if (at == BLOCK_VALUES) {
        endBlock();
      }
    }
    previous = last;
  }

  private void endBlock() {
    int size = pending;
    long least = Long.MAX_VALUE;
    if (mask == -1L) {
      for (int i = 0; i < size; i++) {
        least = Math.min(least, deltas[i]);
      }
    } else {
      for (int i = 0; i < size; i++) {
        deltas[i] = (int) deltas[i];
        least = Math.min(least, deltas[i]);
      }
    }
    blocks.putZigZagVarLong(least);
    blocks.reserve(MINIBLOCKS + (long) BLOCK_VALUES * Long.BYTES);
    int widths = blocks.size();
    Arrays.fill(blocks.bytes(), widths, widths + MINIBLOCKS, (byte) 0);
    blocks.size(widths + MINIBLOCKS);
    Arrays.fill(deltas, size, BLOCK_VALUES, least);
    for (int from = 0; from < size; from += MINIBLOCK_VALUES) {
      long all = 0;
      for (int i = from; i < from + MINIBLOCK_VALUES; i++) {
        deltas[i] = deltas[i] - least & mask;
        all |= deltas[i];
      }
      int width = Long.SIZE - Long.numberOfLeadingZeros(all);
      blocks.bytes()[widths++] = (byte) width;
      if (width > 0) {
        pack(from, width);
      }
    }
    pending = 0;
  }

  /* There is room for a word more than is written. */
  private void pack(int from, int width) {
    byte[] out = blocks.bytes();
    int at = blocks.size();
    long word = 0;
    int bits = 0;
    for (int i = from; i < from + MINIBLOCK_VALUES; i++) {
      long value = deltas[i];
      word |= value << bits;
      bits += width;
      if (bits >= Long.SIZE) {
        PageBuffer.LONG.set(out, at, word);
        at += Long.BYTES;
        bits -= Long.SIZE;
        word = bits == 0 ? 0 : value >>> width - bits;
      }
    }
    if (bits > 0) {
      PageBuffer.LONG.set(out, at, word); // half a word is left at most
    }
    blocks.size(blocks.size() + width * (MINIBLOCK_VALUES / 8));
  }

  /** Bytes of what was added, about. */
  long bufferedBytes() {
    return blocks.size() + (long) pending * Long.BYTES;
  }

  /** All that was added. Valid until {@link #reset}, which is to follow. */
  BytesInput page() {
    if (pending > 0) {
      endBlock();
    }
    head.putUnsignedVarInt(BLOCK_VALUES);
    head.putUnsignedVarInt(MINIBLOCKS);
    head.putUnsignedVarInt(count);
    head.putZigZagVarLong(first);
    return BytesInput.concat(head.input(), blocks.input());
  }

  void reset(int keepBytesMax) {
    head.reset(keepBytesMax);
    blocks.reset(keepBytesMax);
    pending = 0;
    count = 0;
    first = 0;
  }

  long memoryBytes() {
    return head.capacity() + blocks.capacity() + (long) BLOCK_VALUES * Long.BYTES;
  }
}
