package dev.firn.engine.parquet;

import java.util.Arrays;

/**
 * Reads small numbers in Parquet's hybrid of run lengths and bit packing. As other readers do, it
 * takes no more than is wanted of the last run, and lets the padding of the last packed values be
 * missing.
 */
final class RunLengthDecoder {
  /** Values that arrays are to have room for behind those wanted: packed ones come in eights. */
  static final int ROOM = 8;

  private static final long LOW_BIT_OF_EACH_BYTE = 0x0101010101010101L;
  private static final long HIGH_BIT_OF_EACH_BYTE = 0x8080808080808080L;

  private static final int BYTE_PACKED_MAX = 7;
  private static final int WORD_PACKED_MAX = 16;

  /* The bits of a byte as bytes of 0 and 1, the lowest first. */
  private static final long[] BITS = new long[256];

  static {
    for (int packed = 0; packed < BITS.length; packed++) {
      for (int bit = 0; bit < 8; bit++) {
        BITS[packed] |= (packed >>> bit & 1L) << 8 * bit;
      }
    }
  }

  private RunLengthDecoder() {}

  /** Whether the first run gives all values, and all are this one. Reads nothing. */
  static boolean isOneRunOf(int value, PageInput in, int count) {
    int position = in.position();
    long header = 0;
    for (int shift = 0; shift < 35 && position < in.limit(); shift += 7) {
      int next = in.bytes()[position++] & 0xFF;
      header |= (next & 0x7FL) << shift;
      if (next < 0x80) {
        return (header & 1) == 0
            && header >>> 1 >= count
            && position < in.limit()
            && (in.bytes()[position] & 0xFF) == value;
      }
    }
    return false;
  }

  /**
   * Reads levels, or bits.
   *
   * @param max the highest there may be, at most {@link Byte#MAX_VALUE}
   * @param out has room for {@link #ROOM} more
   * @param what they are, in the plural
   */
  static void levels(PageInput in, int max, byte[] out, int count, String what) {
    int width = Integer.SIZE - Integer.numberOfLeadingZeros(max);
    int done = 0;
    while (done < count) {
      int header = in.unsignedVarInt(what);
      int left = count - done;
      if ((header & 1) == 0) {
        int run = Math.min(header >>> 1, left);
        int value = in.unsignedByte(what);
        checkRun(run, what);
        if (value > max) {
          throw tooHigh(value, max, what);
        }
        Arrays.fill(out, done, done + run, (byte) value);
        done += run;
      } else {
        int wanted = (int) Math.min((header >>> 1) * 8L, left);
        checkRun(wanted, what);
        in.require(bytes(wanted, width), what);
        unpack(in.bytes(), in.position(), width, out, done, wanted);
        in.skip((long) (header >>> 1) * width);
        done += wanted;
      }
    }
  }

  /**
   * Reads single bits, of which there must be enough.
   *
   * @param out has room for {@link #ROOM} more
   */
  static void bits(PageInput in, byte[] out, int count) {
    unpack(in.bytes(), in.position(), 1, out, 0, count);
    in.skip(bytes(count, 1));
  }

  /** Reads levels packed from the highest bit of each byte on, as old writers did. */
  static void bigEndianLevels(PageInput in, int max, byte[] out, int count, String what) {
    int width = Integer.SIZE - Integer.numberOfLeadingZeros(max);
    long size = bytes(count, width);
    in.require(size, what);
    byte[] bytes = in.bytes();
    int mask = (1 << width) - 1;
    long bit = (long) in.position() << 3;
    for (int i = 0; i < count; i++, bit += width) {
      int at = (int) (bit >>> 3);
      int pair = (bytes[at] & 0xFF) << 8 | bytes[at + 1] & 0xFF;
      out[i] = (byte) (pair >>> 16 - width - (int) (bit & 7) & mask);
    }
    in.skip(size);
  }

  /**
   * How many levels are the highest.
   *
   * @throws MalformedPageException if one is higher
   */
  static int countHighest(byte[] levels, int count, int max, String what) {
    long highest = max * LOW_BIT_OF_EACH_BYTE;
    int others = 0;
    int i = 0;
    for (; i + 8 <= count; i += 8) {
      long eight = (long) PageBuffer.LONG.get(levels, i);
      // No byte has its high bit set, so that none takes from the next or carries over.
      if (((highest | HIGH_BIT_OF_EACH_BYTE) - eight & HIGH_BIT_OF_EACH_BYTE)
          != HIGH_BIT_OF_EACH_BYTE) {
        break;
      }
      long differences = (eight ^ highest) + ~HIGH_BIT_OF_EACH_BYTE & HIGH_BIT_OF_EACH_BYTE;
      others += Long.bitCount(differences);
    }
    for (; i < count; i++) {
      if (levels[i] > max) {
        throw tooHigh(levels[i], max, what);
      }
      others += levels[i] < max ? 1 : 0;
    }
    return count - others;
  }

  private static void unpack(byte[] bytes, int from, int width, byte[] out, int to, int count) {
    int at = from;
    int end = to + count;
    if (width == 1) {
      for (int i = to; i < end; i += 8) {
        PageBuffer.LONG.set(out, i, BITS[bytes[at++] & 0xFF]);
      }
      return;
    }
    assert width <= BYTE_PACKED_MAX : "width=" + width;
    long mask = (1L << width) - 1;
    for (int i = to; i < end; i += 8, at += width) {
      long packed = (long) PageBuffer.LONG.get(bytes, at);
      long eight =
          packed & mask
              | (packed >>> width & mask) << 8
              | (packed >>> 2 * width & mask) << 16
              | (packed >>> 3 * width & mask) << 24
              | (packed >>> 4 * width & mask) << 32
              | (packed >>> 5 * width & mask) << 40
              | (packed >>> 6 * width & mask) << 48
              | (packed >>> 7 * width & mask) << 56;
      PageBuffer.LONG.set(out, i, eight);
    }
  }

  /**
   * Reads the numbers of dictionary entries.
   *
   * @param width bits of a number, 0 to 32
   * @param out has room for {@link #ROOM} more
   * @param size of the dictionary: numbers are below it
   */
  static void ids(PageInput in, int width, int[] out, int count, int size) {
    String what = "dictionary numbers";
    if (width == 0) { // some writers leave the runs out then
      Arrays.fill(out, 0, count, 0);
      checkIds(out, count, size);
      return;
    }
    int done = 0;
    while (done < count) {
      int header = in.unsignedVarInt(what);
      int left = count - done;
      if ((header & 1) == 0) {
        int run = Math.min(header >>> 1, left);
        checkRun(run, what);
        int valueBytes = width + 7 >>> 3;
        in.require(valueBytes, what);
        int value = (int) PageBuffer.INT.get(in.bytes(), in.position());
        if (valueBytes < Integer.BYTES) {
          value &= (1 << 8 * valueBytes) - 1;
        }
        in.skip(valueBytes);
        Arrays.fill(out, done, done + run, value);
        done += run;
      } else {
        int wanted = (int) Math.min((header >>> 1) * 8L, left);
        checkRun(wanted, what);
        in.require(bytes(wanted, width), what);
        unpack(in.bytes(), in.position(), width, out, done, wanted);
        in.skip((long) (header >>> 1) * width);
        done += wanted;
      }
    }
    checkIds(out, count, size);
  }

  private static void unpack(byte[] bytes, int from, int width, int[] out, int to, int count) {
    int at = from;
    int end = to + count;
    if (width == 8) {
      for (int i = to; i < end; i++) {
        out[i] = bytes[at++] & 0xFF;
      }
    } else if (width < 8) {
      int mask = (1 << width) - 1;
      for (int i = to; i < end; i += 8, at += width) {
        long packed = (long) PageBuffer.LONG.get(bytes, at);
        out[i] = (int) packed & mask;
        out[i + 1] = (int) (packed >>> width) & mask;
        out[i + 2] = (int) (packed >>> 2 * width) & mask;
        out[i + 3] = (int) (packed >>> 3 * width) & mask;
        out[i + 4] = (int) (packed >>> 4 * width) & mask;
        out[i + 5] = (int) (packed >>> 5 * width) & mask;
        out[i + 6] = (int) (packed >>> 6 * width) & mask;
        out[i + 7] = (int) (packed >>> 7 * width) & mask;
      }
    } else if (width <= WORD_PACKED_MAX) {
      int mask = (1 << width) - 1;
      int half = 4 * width; // bits of four values, which may end inside a byte
      for (int i = to; i < end; i += 8, at += width) {
        long low = (long) PageBuffer.LONG.get(bytes, at);
        long high = (long) PageBuffer.LONG.get(bytes, at + (half >>> 3)) >>> (half & 7);
        out[i] = (int) low & mask;
        out[i + 1] = (int) (low >>> width) & mask;
        out[i + 2] = (int) (low >>> 2 * width) & mask;
        out[i + 3] = (int) (low >>> 3 * width) & mask;
        out[i + 4] = (int) high & mask;
        out[i + 5] = (int) (high >>> width) & mask;
        out[i + 6] = (int) (high >>> 2 * width) & mask;
        out[i + 7] = (int) (high >>> 3 * width) & mask;
      }
    } else {
      long mask = (1L << width) - 1;
      long bit = (long) at << 3;
      for (int i = to; i < end; i++, bit += width) {
        long packed = (long) PageBuffer.LONG.get(bytes, (int) (bit >>> 3));
        out[i] = (int) (packed >>> (bit & 7) & mask);
      }
    }
  }

  /* Negative numbers are numbers of more than 31 bits. */
  private static void checkIds(int[] ids, int count, int size) {
    int wrong = 0;
    for (int i = 0; i < count; i++) {
      wrong |= size - 1 - ids[i] | ids[i];
    }
    if (wrong < 0) {
      for (int i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] >= size) {
          throw new MalformedPageException(
              "value "
                  + i
                  + " is number "
                  + (ids[i] & 0xFFFFFFFFL)
                  + " of a dictionary with "
                  + size
                  + " entries");
        }
      }
    }
  }

  private static void checkRun(int run, String what) {
    if (run == 0) {
      throw new MalformedPageException(what + " have a run of no values");
    }
  }

  private static MalformedPageException tooHigh(int value, int max, String what) {
    return new MalformedPageException(
        what + " are at most " + max + ", but one of them is " + value);
  }

  private static long bytes(long count, int width) {
    return count * width + 7 >>> 3;
  }
}
