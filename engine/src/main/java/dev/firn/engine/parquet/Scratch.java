package dev.firn.engine.parquet;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.FieldVector;

/**
 * Values of a run of rows taken out of Arrow memory: in arrays that stay in the processor's cache,
 * where loops need no check per value. Lent to one column at a time.
 */
final class Scratch {
  /* Values lying between those wanted are copied along if there are few enough of them. */
  private static final int SPREAD_MAX = 4;

  /* A run of huge values does not hold its memory. */
  private static final int KEEP_BYTES_MAX = 4 << 20;

  private long[] longs = new long[0];
  private int[] ints = new int[0];
  private long[] spreadLongs = new long[0];
  private byte[] bytes = new byte[0];
  private int[] starts = new int[0];
  private int[] ends = new int[0];
  private byte[] lentBytes = bytes;
  private int[] lentStarts = starts;
  private int[] lentEnds = ends;

  /** Longs of 8 bytes each; valid until the next call. */
  long[] longs(ArrowBuf data, int[] slots, int from, int to) {
    int count = to - from;
    longs = ensure(longs, count);
    int first = slots[from];
    int range = slots[to - 1] - first + 1;
    if (range == count) {
      buffer(data, (long) first << 3, (long) count << 3).asLongBuffer().get(longs, 0, count);
    } else if (isNear(range, count)) {
      spreadLongs = ensure(spreadLongs, range);
      buffer(data, (long) first << 3, (long) range << 3).asLongBuffer().get(spreadLongs, 0, range);
      for (int i = 0; i < count; i++) {
        longs[i] = spreadLongs[slots[from + i] - first];
      }
    } else {
      for (int i = 0; i < count; i++) {
        longs[i] = data.getLong((long) slots[from + i] << 3);
      }
    }
    return longs;
  }

  /** Longs that are ints of 4 bytes each; valid until the next call. */
  long[] ints(ArrowBuf data, int[] slots, int from, int to) {
    int count = to - from;
    longs = ensure(longs, count);
    int first = slots[from];
    int range = slots[to - 1] - first + 1;
    if (isNear(range, count)) {
      ints = ensure(ints, range);
      buffer(data, (long) first << 2, (long) range << 2).asIntBuffer().get(ints, 0, range);
      if (range == count) {
        for (int i = 0; i < count; i++) {
          longs[i] = ints[i];
        }
      } else {
        for (int i = 0; i < count; i++) {
          longs[i] = ints[slots[from + i] - first];
        }
      }
    } else {
      for (int i = 0; i < count; i++) {
        longs[i] = data.getInt((long) slots[from + i] << 2);
      }
    }
    return longs;
  }

  /** Bits as bytes of 0 and 1; valid until the next call. */
  byte[] bits(ArrowBuf data, int[] slots, int from, int to) {
    int count = to - from;
    int first = slots[from] >>> 3;
    int range = (slots[to - 1] >>> 3) - first + 1;
    bytes = ensure(bytes, (long) count + range);
    data.getBytes(first, bytes, count, range);
    int base = count - first;
    for (int i = 0; i < count; i++) {
      int slot = slots[from + i];
      bytes[i] = (byte) (bytes[base + (slot >>> 3)] >>> (slot & 7) & 1);
    }
    return bytes;
  }

  /**
   * Takes byte strings of one width: the i-th is then in {@link #bytes()} from {@link #starts()} to
   * {@link #ends()}.
   */
  void fixed(ArrowBuf data, int width, int[] slots, int from, int to) {
    int count = to - from;
    starts = ensure(starts, count);
    ends = ensure(ends, count);
    int first = slots[from];
    int range = slots[to - 1] - first + 1;
    boolean isNear = isNear(range, count) && (long) range * width <= Integer.MAX_VALUE / 2;
    bytes = ensure(bytes, (long) (isNear ? range : count) * width);
    if (isNear && range > 0 && width > 0) {
      data.getBytes((long) first * width, bytes, 0, range * width);
    }
    for (int i = 0; i < count; i++) {
      int slot = slots[from + i];
      int start = (isNear ? slot - first : i) * width;
      if (!isNear) {
        data.getBytes((long) slot * width, bytes, start, width);
      }
      starts[i] = start;
      ends[i] = start + width;
    }
    lendOwn();
  }

  private void lendOwn() {
    lentBytes = bytes;
    lentStarts = starts;
    lentEnds = ends;
  }

  /**
   * Gives byte strings that are not of Arrow memory: those {@code [from, to)} become the first.
   *
   * @param strings with {@link PageBuffer#SLACK} bytes behind the last
   */
  void lend(byte[] strings, int[] stringStarts, int[] stringEnds, int from, int to) {
    lentBytes = strings;
    if (from == 0) {
      lentStarts = stringStarts;
      lentEnds = stringEnds;
      return;
    }
    starts = ensure(starts, to - from);
    ends = ensure(ends, to - from);
    System.arraycopy(stringStarts, from, starts, 0, to - from);
    System.arraycopy(stringEnds, from, ends, 0, to - from);
    lentStarts = starts;
    lentEnds = ends;
  }

  /** Longs that are not of Arrow memory: those {@code [from, to)} become the first. */
  long[] lend(long[] values, int from, int to) {
    if (from == 0) {
      return values;
    }
    longs = ensure(longs, to - from);
    System.arraycopy(values, from, longs, 0, to - from);
    return longs;
  }

  /** Bytes of 0 and 1 that are not of Arrow memory: those {@code [from, to)} become the first. */
  byte[] lend(byte[] bits, int from, int to) {
    if (from == 0) {
      return bits;
    }
    bytes = ensure(bytes, to - from);
    System.arraycopy(bits, from, bytes, 0, to - from);
    return bytes;
  }

  /**
   * Takes byte strings: the i-th is then in {@link #bytes()} from {@link #starts()} to {@link
   * #ends()}.
   *
   * @return the bytes of all of them
   */
  long binaries(FieldVector vector, int[] slots, int from, int to) {
    int count = to - from;
    ArrowBuf offsets = vector.getOffsetBuffer();
    ArrowBuf data = vector.getDataBuffer();
    starts = ensure(starts, count);
    ends = ensure(ends, count);
    int first = slots[from];
    int range = slots[to - 1] - first + 1;
    long wanted = 0;
    if (isNear(range, count)) {
      ints = ensure(ints, range + 1);
      buffer(offsets, (long) first << 2, (range + 1L) << 2).asIntBuffer().get(ints, 0, range + 1);
      for (int i = 0; i < count; i++) {
        int at = slots[from + i] - first;
        int start = ints[at];
        int end = ints[at + 1];
        starts[i] = start;
        ends[i] = end;
        wanted += end - start;
      }
    } else {
      for (int i = 0; i < count; i++) {
        long slot = slots[from + i];
        starts[i] = offsets.getInt(slot << 2);
        ends[i] = offsets.getInt((slot + 1) << 2);
        wanted += ends[i] - starts[i];
      }
    }
    int base = starts[0];
    long bytesRange = (long) ends[count - 1] - base;
    if (bytesRange <= 2 * wanted) {
      bytes = ensure(bytes, bytesRange);
      if (bytesRange > 0) {
        data.getBytes(base, bytes, 0, (int) bytesRange);
      }
      for (int i = 0; i < count; i++) {
        starts[i] -= base;
        ends[i] -= base;
      }
    } else {
      bytes = ensure(bytes, wanted);
      int at = 0;
      for (int i = 0; i < count; i++) {
        int length = ends[i] - starts[i];
        if (length > 0) {
          data.getBytes(starts[i], bytes, at, length);
        }
        starts[i] = at;
        at += length;
        ends[i] = at;
      }
    }
    lendOwn();
    return wanted;
  }

  /** Byte strings, with {@link PageBuffer#SLACK} bytes behind the last. */
  byte[] bytes() {
    return lentBytes;
  }

  int[] starts() {
    return lentStarts;
  }

  int[] ends() {
    return lentEnds;
  }

  /** Room for longs; valid until the next call. */
  long[] longs(int count) {
    longs = ensure(longs, count);
    return longs;
  }

  /** Room for as many starts of byte strings. */
  int[] starts(int count) {
    starts = ensure(starts, count);
    return starts;
  }

  /** Room for as many ends of byte strings. */
  int[] ends(int count) {
    ends = ensure(ends, count);
    return ends;
  }

  /** Gives up what a run of huge values took. */
  void trim() {
    if (bytes.length > KEEP_BYTES_MAX) {
      bytes = new byte[0];
    }
    if (longs.length + spreadLongs.length > KEEP_BYTES_MAX / Long.BYTES) {
      longs = new long[0];
      spreadLongs = new long[0];
    }
    if (ints.length + starts.length + ends.length > KEEP_BYTES_MAX / Integer.BYTES) {
      ints = new int[0];
      starts = new int[0];
      ends = new int[0];
    }
    lendOwn();
  }

  private static boolean isNear(int range, int count) {
    return range <= (long) SPREAD_MAX * count;
  }

  private static ByteBuffer buffer(ArrowBuf data, long index, long length) {
    return data.nioBuffer(index, Math.toIntExact(length)).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static long[] ensure(long[] array, int length) {
    return array.length >= length ? array : new long[length];
  }

  private static int[] ensure(int[] array, int length) {
    return array.length >= length ? array : new int[length];
  }

  private static byte[] ensure(byte[] array, long length) {
    return array.length >= length + PageBuffer.SLACK
        ? array
        : new byte[Math.toIntExact(length + length / 8 + PageBuffer.SLACK)];
  }
}
