package dev.firn.engine.parquet;

import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.jspecify.annotations.Nullable;

/**
 * The values of a page in an encoding that is not PLAIN and needs no dictionary. Used again for the
 * next page; not thread-safe.
 */
abstract class ValuesEncoder {
  /** An encoder; null if values of the column cannot be written so. */
  static @Nullable ValuesEncoder of(Encoding encoding, ColumnDescriptor column) {
    PrimitiveTypeName type = column.getType();
    boolean isOfInts = type == PrimitiveTypeName.INT32;
    boolean isOfBytes = type == PrimitiveTypeName.BINARY;
    boolean isFixed = type == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY;
    return switch (encoding) {
      case DELTA_BINARY_PACKED ->
          isOfInts || type == PrimitiveTypeName.INT64 ? new Deltas(isOfInts) : null;
      case DELTA_LENGTH_BYTE_ARRAY -> isOfBytes ? new DeltaLengths() : null;
      case DELTA_BYTE_ARRAY -> isOfBytes || isFixed ? new DeltaStrings() : null;
      case BYTE_STREAM_SPLIT ->
          switch (type) {
            case INT32, FLOAT -> new ByteStreams(Integer.BYTES);
            case INT64, DOUBLE -> new ByteStreams(Long.BYTES);
            case FIXED_LEN_BYTE_ARRAY -> new ByteStreams(column.getTypeLength());
            default -> null;
          };
      default -> null;
    };
  }

  /** Adds numbers: those of 4 bytes as longs, floating-point ones by their bits. */
  void add(long[] values, int from, int to) {
    throw new IllegalStateException("Numbers for " + getClass().getSimpleName());
  }

  /**
   * Adds byte strings.
   *
   * @param bytes holds them, and {@link PageBuffer#SLACK} bytes behind
   * @param starts where those {@code [from, to)} start
   * @param ends where they end
   */
  void add(byte[] bytes, int[] starts, int[] ends, int from, int to) {
    throw new IllegalStateException("Byte strings for " + getClass().getSimpleName());
  }

  /** Bytes of what was added, about. */
  abstract long bufferedBytes();

  /** All that was added. Valid until {@link #reset}, which is to follow. */
  abstract BytesInput page();

  /**
   * Begins anew.
   *
   * @param keepBytesMax memory beyond this is given up
   */
  abstract void reset(int keepBytesMax);

  abstract long memoryBytes();

  private static final class Deltas extends ValuesEncoder {
    private final DeltaEncoder deltas;

    Deltas(boolean isOfInts) {
      this.deltas = new DeltaEncoder(isOfInts);
    }

    @Override
    void add(long[] values, int from, int to) {
      deltas.add(values, from, to);
    }

    @Override
    long bufferedBytes() {
      return deltas.bufferedBytes();
    }

    @Override
    BytesInput page() {
      return deltas.page();
    }

    @Override
    void reset(int keepBytesMax) {
      deltas.reset(keepBytesMax);
    }

    @Override
    long memoryBytes() {
      return deltas.memoryBytes();
    }
  }

  /** Lengths first, then the bytes of all strings. */
  private static final class DeltaLengths extends ValuesEncoder {
    private final DeltaEncoder lengths = new DeltaEncoder(true);
    private final PageBuffer strings = new PageBuffer();
    private long[] ofRun = {};

    @Override
    void add(byte[] bytes, int[] starts, int[] ends, int from, int to) {
      int count = to - from;
      if (ofRun.length < count) {
        ofRun = new long[count];
      }
      long total = 0;
      for (int i = 0; i < count; i++) {
        ofRun[i] = ends[from + i] - starts[from + i];
        total += ofRun[i];
      }
      lengths.add(ofRun, 0, count);
      strings.reserve(total);
      for (int i = from; i < to; i++) {
        strings.putReserved(bytes, starts[i], ends[i] - starts[i]);
      }
    }

    @Override
    long bufferedBytes() {
      return lengths.bufferedBytes() + strings.size();
    }

    @Override
    BytesInput page() {
      return BytesInput.concat(lengths.page(), strings.input());
    }

    @Override
    void reset(int keepBytesMax) {
      lengths.reset(keepBytesMax);
      strings.reset(keepBytesMax);
    }

    @Override
    long memoryBytes() {
      return lengths.memoryBytes() + strings.capacity() + (long) ofRun.length * Long.BYTES;
    }
  }

  /** How many bytes each string has in common with the one before, and the rest of it. */
  private static final class DeltaStrings extends ValuesEncoder {
    private static final byte[] NONE = new byte[PageBuffer.SLACK];

    private final DeltaEncoder prefixes = new DeltaEncoder(true);
    private final DeltaEncoder lengths = new DeltaEncoder(true);
    private final PageBuffer rests = new PageBuffer();
    private byte[] last = NONE; // with slack behind
    private int lastLength;
    private long[] prefixesOfRun = {};
    private long[] lengthsOfRun = {};

    @Override
    void add(byte[] bytes, int[] starts, int[] ends, int from, int to) {
      int count = to - from;
      if (prefixesOfRun.length < count) {
        prefixesOfRun = new long[count];
        lengthsOfRun = new long[count];
      }
      byte[] before = last;
      int start = 0;
      int end = lastLength;
      for (int i = 0; i < count; i++) {
        int nextStart = starts[from + i];
        int nextEnd = ends[from + i];
        int common = common(before, start, end, bytes, nextStart, nextEnd);
        int rest = nextEnd - nextStart - common;
        prefixesOfRun[i] = common;
        lengthsOfRun[i] = rest;
        rests.reserve(rest);
        rests.putReserved(bytes, nextStart + common, rest);
        before = bytes;
        start = nextStart;
        end = nextEnd;
      }
      prefixes.add(prefixesOfRun, 0, count);
      lengths.add(lengthsOfRun, 0, count);
      keep(before, start, end);
    }

    private void keep(byte[] bytes, int start, int end) {
      if (bytes != last) {
        lastLength = end - start;
        if (last.length < lastLength + PageBuffer.SLACK) {
          last = new byte[lastLength + lastLength / 4 + PageBuffer.SLACK];
        }
        System.arraycopy(bytes, start, last, 0, lastLength);
      }
    }

    private static int common(
        byte[] one, int oneStart, int oneEnd, byte[] other, int otherStart, int otherEnd) {
      int most = Math.min(oneEnd - oneStart, otherEnd - otherStart);
      for (int at = 0; at < most; at += Long.BYTES) {
        long differing =
            (long) PageBuffer.LONG.get(one, oneStart + at)
                ^ (long) PageBuffer.LONG.get(other, otherStart + at);
        if (differing != 0) {
          return Math.min(most, at + (Long.numberOfTrailingZeros(differing) >>> 3));
        }
      }
      return most;
    }

    @Override
    long bufferedBytes() {
      return prefixes.bufferedBytes() + lengths.bufferedBytes() + rests.size();
    }

    @Override
    BytesInput page() {
      return BytesInput.concat(prefixes.page(), lengths.page(), rests.input());
    }

    @Override
    void reset(int keepBytesMax) {
      prefixes.reset(keepBytesMax);
      lengths.reset(keepBytesMax);
      rests.reset(keepBytesMax);
      lastLength = 0;
      if (last.length > keepBytesMax) {
        last = NONE;
      }
    }

    @Override
    long memoryBytes() {
      return prefixes.memoryBytes()
          + lengths.memoryBytes()
          + rests.capacity()
          + last.length
          + (long) (prefixesOfRun.length + lengthsOfRun.length) * Long.BYTES;
    }
  }

  /** All first bytes, then all second ones, and so on. */
  private static final class ByteStreams extends ValuesEncoder {
    private final int width;
    private final PageBuffer plain = new PageBuffer();
    private final PageBuffer streams = new PageBuffer();

    ByteStreams(int width) {
      this.width = width;
    }

    @Override
    void add(long[] values, int from, int to) {
      if (width == Integer.BYTES) {
        plain.putInts(values, from, to);
      } else {
        plain.putLongs(values, from, to);
      }
    }

    @Override
    void add(byte[] bytes, int[] starts, int[] ends, int from, int to) {
      plain.reserve((long) (to - from) * width);
      for (int i = from; i < to; i++) {
        plain.putReserved(bytes, starts[i], width);
      }
    }

    @Override
    long bufferedBytes() {
      return plain.size();
    }

    @Override
    BytesInput page() {
      streams.reserve(plain.size());
      byte[] from = plain.bytes();
      byte[] to = streams.bytes();
      int count = plain.size() / width;
      if (width == Long.BYTES) {
        splitLongs(from, to, count);
      } else {
        for (int stream = 0; stream < width; stream++) {
          int at = stream * count;
          for (int i = 0, source = stream; i < count; i++, source += width) {
            to[at + i] = from[source];
          }
        }
      }
      streams.size(plain.size());
      return streams.input();
    }

    private static void splitLongs(byte[] from, byte[] to, int count) {
      for (int i = 0; i < count; i++) {
        long value = (long) PageBuffer.LONG.get(from, i << 3);
        to[i] = (byte) value;
        to[count + i] = (byte) (value >>> 8);
        to[2 * count + i] = (byte) (value >>> 16);
        to[3 * count + i] = (byte) (value >>> 24);
        to[4 * count + i] = (byte) (value >>> 32);
        to[5 * count + i] = (byte) (value >>> 40);
        to[6 * count + i] = (byte) (value >>> 48);
        to[7 * count + i] = (byte) (value >>> 56);
      }
    }

    @Override
    void reset(int keepBytesMax) {
      plain.reset(keepBytesMax);
      streams.reset(keepBytesMax);
    }

    @Override
    long memoryBytes() {
      return plain.capacity() + streams.capacity();
    }
  }
}
