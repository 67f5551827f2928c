package dev.firn.engine.parquet;

/** Reads numbers that Parquet has as packed differences, DELTA_BINARY_PACKED. */
final class DeltaDecoder {
  /* A number of at most so many bits is inside the eight bytes from the one where it begins. */
  private static final int ONE_LOAD_BITS_MAX = Long.SIZE - 7;

  private DeltaDecoder() {}

  /**
   * Reads all numbers there are.
   *
   * @param out has room for {@code count}
   * @param count how many there are to be, at least 1
   * @param what they are, in the plural
   */
  static void longs(PageInput in, long[] out, int count, String what) {
    int blockSize = in.unsignedVarInt(what);
    int parts = in.unsignedVarInt(what);
    int total = in.unsignedVarInt(what);
    if (blockSize <= 0 || parts <= 0 || blockSize % parts != 0 || blockSize / parts % 8 != 0) {
      throw new MalformedPageException(
          what + " are said to come in " + parts + " parts of a block of " + blockSize);
    }
    if (total != count) {
      throw new MalformedPageException(
          "there are " + (total & 0xFFFFFFFFL) + " " + what + " for " + count + " values");
    }
    int partSize = blockSize / parts;
    long value = in.zigZagVarLong(what);
    out[0] = value;
    int done = 1;
    while (done < count) {
      long least = in.zigZagVarLong(what);
      in.require(parts, what);
      int widths = in.position();
      in.skip(parts);
      for (int part = 0; part < parts && done < count; part++) {
        int width = in.bytes()[widths + part] & 0xFF;
        if (width > Long.SIZE) {
          throw new MalformedPageException(what + " have differences of " + width + " bits");
        }
        int wanted = Math.min(partSize, count - done);
        in.require((long) wanted * width + 7 >>> 3, what);
        value = unpack(in.bytes(), in.position(), width, least, value, out, done, wanted);
        in.skip((long) partSize * width >>> 3);
        done += wanted;
      }
    }
  }

  /** The same for numbers of 32 bits, whose differences may have wrapped around. */
  static void ints(PageInput in, long[] out, int count, String what) {
    longs(in, out, count, what);
    for (int i = 0; i < count; i++) {
      out[i] = (int) out[i];
    }
  }

  private static long unpack(
      byte[] bytes, int from, int width, long least, long before, long[] out, int to, int count) {
    long value = before;
    if (width == 0) {
      for (int i = to; i < to + count; i++) {
        value += least;
        out[i] = value;
      }
      return value;
    }
    long mask = -1L >>> (Long.SIZE - width);
    long bit = (long) from << 3;
    if (width <= ONE_LOAD_BITS_MAX) {
      for (int i = to; i < to + count; i++, bit += width) {
        long packed = (long) PageBuffer.LONG.get(bytes, (int) (bit >>> 3));
        value += least + (packed >>> (bit & 7) & mask);
        out[i] = value;
      }
      return value;
    }
    for (int i = to; i < to + count; i++, bit += width) {
      int at = (int) (bit >>> 3);
      int shift = (int) (bit & 7);
      long packed = (long) PageBuffer.LONG.get(bytes, at) >>> shift;
      if (shift > 0) {
        packed |= (long) bytes[at + Long.BYTES] << (Long.SIZE - shift);
      }
      value += least + (packed & mask);
      out[i] = value;
    }
    return value;
  }
}
