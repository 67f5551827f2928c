package dev.firn.engine.parquet;

import java.util.Arrays;

/**
 * The dictionary of a column chunk that is read: longs, or byte strings. Immutable once made;
 * thread-safe.
 *
 * @param size how many entries it has
 * @param longs the entries of types of 4 and 8 bytes, as {@link ColumnRows#longs} has them; empty
 *     for others
 * @param bytes holds the entries of other types, with {@link PageBuffer#SLACK} bytes behind the
 *     last; empty for others
 * @param starts where the i-th starts
 * @param ends where it ends
 */
record SourceDictionary(int size, long[] longs, byte[] bytes, int[] starts, int[] ends) {

  /** Copies what a dictionary page has. */
  static SourceDictionary of(PageContent content) {
    int size = content.values();
    if (content.kind() == PageContent.Kind.LONGS || size == 0) {
      boolean isOfBytes = content.kind() == PageContent.Kind.BYTES;
      return new SourceDictionary(
          size,
          isOfBytes ? new long[0] : Arrays.copyOf(content.longs(), size),
          new byte[PageBuffer.SLACK],
          new int[0],
          new int[0]);
    }
    int length = 0;
    for (int id = 0; id < size; id++) {
      length += content.ends()[id] - content.starts()[id];
    }
    byte[] bytes = new byte[length + PageBuffer.SLACK];
    int[] starts = new int[size];
    int[] ends = new int[size];
    int at = 0;
    for (int id = 0; id < size; id++) {
      int start = content.starts()[id];
      int count = content.ends()[id] - start;
      System.arraycopy(content.bytes(), start, bytes, at, count);
      starts[id] = at;
      at += count;
      ends[id] = at;
    }
    return new SourceDictionary(size, new long[0], bytes, starts, ends);
  }
}
