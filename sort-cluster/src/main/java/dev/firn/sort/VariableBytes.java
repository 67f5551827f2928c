package dev.firn.sort;

import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.FieldVector;

/** Where the values of a variable-width vector lie, as addresses. Valid as long as the vector. */
record VariableBytes(long offsets, long data) {

  static VariableBytes of(FieldVector leaf) {
    int count = leaf.getValueCount();
    long offsets =
        Memory.address(leaf.getOffsetBuffer(), count == 0 ? 0 : (count + 1L) << 2, "offset");
    long end = offsets == 0 ? 0 : MemoryUtil.getInt(offsets + ((long) count << 2));
    return new VariableBytes(offsets, Memory.address(leaf.getDataBuffer(), end, "data"));
  }

  long address(int row) {
    return data + MemoryUtil.getInt(offsets + ((long) row << 2));
  }

  int length(int row) {
    long at = offsets + ((long) row << 2);
    return MemoryUtil.getInt(at + 4) - MemoryUtil.getInt(at);
  }

  /**
   * The first up to 8 of {@code bytes} bytes at {@code address} as a number whose unsigned order is
   * theirs, zeros behind them. Reads nothing beyond them.
   */
  static long word(long address, long bytes) {
    if (bytes >= 8) {
      return Long.reverseBytes(MemoryUtil.getLong(address));
    }
    if (bytes >= 4) { // the two halves may overlap
      long first = Integer.reverseBytes(MemoryUtil.getInt(address));
      long last = Integer.reverseBytes(MemoryUtil.getInt(address + bytes - 4)) & 0xFFFFFFFFL;
      return first << 32 | last << (64 - 8 * bytes);
    }
    long word = 0;
    for (long at = 0; at < bytes; at++) {
      word |= (MemoryUtil.getByte(address + at) & 0xFFL) << (56 - 8 * at);
    }
    return word;
  }
}
