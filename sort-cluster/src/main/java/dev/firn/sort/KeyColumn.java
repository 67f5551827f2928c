package dev.firn.sort;

import java.math.BigInteger;
import java.time.LocalDate;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * What one sort field adds to a key: the transformed value as bytes whose unsigned order is the
 * field's order. Null markers are not its business ({@link SortKeys}). Immutable.
 *
 * <p>A value is either of a fixed width, or self-terminating: no value's bytes are the beginning of
 * another's, so that what follows in the key is compared only for equal values.
 */
abstract class KeyColumn {

  /** Flips all value bits for a descending field. */
  final long invert;

  private KeyColumn(boolean descending) {
    this.invert = descending ? -1L : 0;
  }

  /** The bytes of each value, the same for all; 0 when they differ. */
  abstract int width();

  /**
   * Adds the bytes of each row's value to {@code lengths}, null rows apart. Called only where
   * {@link #width()} is 0.
   */
  void addLengths(FieldVector leaf, int[] rows, boolean @Nullable [] nulls, int n, int[] lengths) {
    throw new UnsupportedOperationException("Values are of fixed width");
  }

  /**
   * Writes each row's value at its cursor and moves the cursor behind it. A null row gets {@link
   * #width()} zeros.
   *
   * @param nulls which of the rows are null; null when none is
   * @param scratch room for one word for each row
   */
  abstract void write(
      FieldVector leaf,
      int[] rows,
      boolean @Nullable [] nulls,
      int n,
      long[] cursors,
      long[] scratch);

  /**
   * The column of a sort field.
   *
   * @param transform the transform as Iceberg prints it
   * @param type a type that Iceberg says the transform takes
   * @return null for a transform that this does not know
   */
  static @Nullable KeyColumn of(String transform, Type type, boolean descending) {
    int argument = 0;
    String name = transform;
    int bracket = transform.indexOf('[');
    if (bracket > 0 && transform.endsWith("]")) {
      name = transform.substring(0, bracket);
      argument = Integer.parseInt(transform.substring(bracket + 1, transform.length() - 1));
    }
    switch (name) {
      case "identity":
        return identity(type, descending);
      case "bucket":
        return new Words(type, Operation.BUCKET, argument, bucketWidth(argument), descending);
      case "truncate":
        return truncate(type, argument, descending);
      case "year":
        return new Words(type, Operation.YEAR, 0, 4, descending);
      case "month":
        return new Words(type, Operation.MONTH, 0, 4, descending);
      case "day":
        return new Words(type, Operation.DAY, 0, 4, descending);
      case "hour":
        return new Words(type, Operation.HOUR, 0, 8, descending);
      default:
        return null;
    }
  }

  /** Buckets are never negative: few of them fit in few bytes. */
  private static int bucketWidth(int buckets) {
    return buckets <= 1 << 7 ? 1 : buckets <= 1 << 15 ? 2 : 4;
  }

  private static KeyColumn identity(Type type, boolean descending) {
    switch (type.typeId()) {
      case BOOLEAN:
        return new Words(type, Operation.IDENTITY, 0, 1, descending);
      case STRING:
      case BINARY:
        return new VariableWidth(Integer.MAX_VALUE, false, descending);
      case UUID:
        return new FixedBytes(16, false, descending);
      case FIXED:
        return new FixedBytes(((Types.FixedType) type).length(), false, descending);
      case DECIMAL:
        int precision = ((Types.DecimalType) type).precision();
        if (precision > 18) {
          return new FixedBytes(TypeUtil.decimalRequiredBytes(precision), true, descending);
        }
        return new Words(type, Operation.IDENTITY, 0, precision <= 9 ? 4 : 8, descending);
      case INTEGER:
      case DATE:
      case FLOAT:
        return new Words(type, Operation.IDENTITY, 0, 4, descending);
      case LONG:
      case TIME:
      case TIMESTAMP:
      case TIMESTAMP_NANO:
      case DOUBLE:
        return new Words(type, Operation.IDENTITY, 0, 8, descending);
      default:
        throw new IllegalArgumentException("Cannot sort by a value of type " + type);
    }
  }

  private static KeyColumn truncate(Type type, int width, boolean descending) {
    switch (type.typeId()) {
      case STRING:
        return new VariableWidth(width, true, descending);
      case BINARY:
        return new VariableWidth(width, false, descending);
      case DECIMAL:
        int precision = ((Types.DecimalType) type).precision();
        if (precision > 18) {
          return new TruncatedDecimal(TypeUtil.decimalRequiredBytes(precision), width, descending);
        }
        // The multiple below the smallest int decimal may lie below the smallest int.
        return new Words(type, Operation.TRUNCATE, width, 8, descending);
      case INTEGER:
        return new Words(type, Operation.TRUNCATE_INT, width, 4, descending);
      case LONG:
        return new Words(type, Operation.TRUNCATE, width, 8, descending);
      default:
        throw new IllegalArgumentException("Cannot truncate a value of type " + type);
    }
  }

  /** Where the values lie; checks that they are of {@code width} bytes. */
  static long dataOf(FieldVector leaf, int width) {
    if (leaf instanceof BitVector
        || !(leaf instanceof BaseFixedWidthVector fixed)
        || fixed.getTypeWidth() != width) {
      throw new IllegalArgumentException(
          "Column " + leaf.getField() + " should have values of " + width + " bytes");
    }
    return Memory.address(leaf.getDataBuffer(), (long) leaf.getValueCount() * width, "data");
  }

  /** Reads the values of {@code n} rows from entry {@code from} on. */
  static void readInts(FieldVector leaf, int[] rows, int from, int n, long[] values) {
    long data = dataOf(leaf, 4);
    for (int i = 0; i < n; i++) {
      values[i] = MemoryUtil.getInt(data + ((long) rows[from + i] << 2));
    }
  }

  /** Reads the values of {@code n} rows from entry {@code from} on. */
  static void readLongs(FieldVector leaf, int[] rows, int from, int n, long[] values) {
    long data = dataOf(leaf, 8);
    for (int i = 0; i < n; i++) {
      values[i] = MemoryUtil.getLong(data + ((long) rows[from + i] << 3));
    }
  }

  /** Reads the values of {@code n} rows from entry {@code from} on, as 0 and 1. */
  static void readBits(FieldVector leaf, int[] rows, int from, int n, long[] values) {
    long data = Memory.address(leaf.getDataBuffer(), (leaf.getValueCount() + 7L) >>> 3, "data");
    for (int i = 0; i < n; i++) {
      values[i] = Memory.bit(data, rows[from + i]) ? 1 : 0;
    }
  }

  /** Whether {@link #readOrdered} reads values of a type. */
  static boolean isOrderedLong(Type type) {
    switch (type.typeId()) {
      case BOOLEAN:
      case INTEGER:
      case LONG:
      case FLOAT:
      case DOUBLE:
      case DATE:
      case TIME:
      case TIMESTAMP:
      case TIMESTAMP_NANO:
        return true;
      case DECIMAL:
        return ((Types.DecimalType) type).precision() <= 18;
      default:
        return false;
    }
  }

  /**
   * Reads the values of {@code n} rows from entry {@code from} on as signed numbers in their order;
   * floats as the numbers that order them (O3). Null rows get anything.
   */
  static void readOrdered(Type type, FieldVector leaf, int[] rows, int from, int n, long[] values) {
    switch (type.typeId()) {
      case BOOLEAN:
        readBits(leaf, rows, from, n, values);
        return;
      case INTEGER:
      case DATE:
        readInts(leaf, rows, from, n, values);
        return;
      case DECIMAL:
        if (((Types.DecimalType) type).precision() <= 9) {
          readInts(leaf, rows, from, n, values);
        } else {
          readLongs(leaf, rows, from, n, values);
        }
        return;
      case FLOAT:
        readInts(leaf, rows, from, n, values);
        for (int i = 0; i < n; i++) {
          int bits = Float.floatToIntBits(Float.intBitsToFloat((int) values[i]));
          values[i] = bits ^ (bits >> 31 & Integer.MAX_VALUE);
        }
        return;
      case DOUBLE:
        readLongs(leaf, rows, from, n, values);
        for (int i = 0; i < n; i++) {
          long bits = Double.doubleToLongBits(Double.longBitsToDouble(values[i]));
          values[i] = bits ^ (bits >> 63 & Long.MAX_VALUE);
        }
        return;
      default:
        readLongs(leaf, rows, from, n, values);
    }
  }

  private enum Operation {
    IDENTITY,
    BUCKET,
    TRUNCATE,
    TRUNCATE_INT,
    YEAR,
    MONTH,
    DAY,
    HOUR
  }

  /** Values that a signed number of at most 8 bytes stands for. */
  private static final class Words extends KeyColumn {
    private static final long DAY_MICROS = 86_400_000_000L;
    private static final long HOUR_MICROS = 3_600_000_000L;

    private final Type type;
    private final Operation operation;
    private final int argument;
    private final int width;

    Words(Type type, Operation operation, int argument, int width, boolean descending) {
      super(descending);
      this.type = type;
      this.operation = operation;
      this.argument = argument;
      this.width = width;
    }

    @Override
    int width() {
      return width;
    }

    @Override
    void write(
        FieldVector leaf,
        int[] rows,
        boolean @Nullable [] nulls,
        int n,
        long[] cursors,
        long[] scratch) {
      if (operation == Operation.BUCKET) {
        hash(leaf, rows, nulls, n, scratch);
      } else {
        read(leaf, rows, n, scratch);
      }
      transform(n, scratch);
      long flip = invert ^ (1L << (8 * width - 1));
      for (int i = 0; i < n; i++) {
        scratch[i] ^= flip;
      }
      if (nulls != null) {
        for (int i = 0; i < n; i++) {
          scratch[i] = nulls[i] ? 0 : scratch[i];
        }
      }
      put(n, cursors, scratch);
    }

    /** Values as signed numbers; floats as the numbers that order them (O3). */
    private void read(FieldVector leaf, int[] rows, int n, long[] values) {
      readOrdered(type, leaf, rows, 0, n, values);
    }

    private void hash(
        FieldVector leaf, int[] rows, boolean @Nullable [] nulls, int n, long[] hashes) {
      switch (type.typeId()) {
        case STRING:
        case BINARY:
          VariableBytes bytes = VariableBytes.of(leaf);
          for (int i = 0; i < n; i++) {
            hashes[i] =
                nulls != null && nulls[i]
                    ? 0
                    : Murmur3.hashBytes(bytes.address(rows[i]), bytes.length(rows[i]));
          }
          return;
        case UUID:
        case FIXED:
          int length = type.typeId() == Type.TypeID.UUID ? 16 : ((Types.FixedType) type).length();
          long data = dataOf(leaf, length);
          for (int i = 0; i < n; i++) {
            hashes[i] = Murmur3.hashBytes(data + (long) rows[i] * length, length);
          }
          return;
        case DECIMAL:
          int precision = ((Types.DecimalType) type).precision();
          if (precision > 18) {
            int width = TypeUtil.decimalRequiredBytes(precision);
            long unscaled = dataOf(leaf, width);
            for (int i = 0; i < n; i++) {
              hashes[i] = Murmur3.hashUnscaled(unscaled + (long) rows[i] * width, width);
            }
          } else {
            read(leaf, rows, n, hashes);
            for (int i = 0; i < n; i++) {
              hashes[i] = Murmur3.hashUnscaled(hashes[i]);
            }
          }
          return;
        case TIMESTAMP_NANO:
          read(leaf, rows, n, hashes);
          for (int i = 0; i < n; i++) {
            hashes[i] = Murmur3.hash(Math.floorDiv(hashes[i], 1000L));
          }
          return;
        default:
          read(leaf, rows, n, hashes);
          for (int i = 0; i < n; i++) {
            hashes[i] = Murmur3.hash(hashes[i]);
          }
      }
    }

    private void transform(int n, long[] values) {
      switch (operation) {
        case IDENTITY:
          return;
        case BUCKET:
          for (int i = 0; i < n; i++) {
            values[i] = ((int) values[i] & Integer.MAX_VALUE) % argument;
          }
          return;
        case TRUNCATE:
          for (int i = 0; i < n; i++) {
            values[i] -= Math.floorMod(values[i], (long) argument);
          }
          return;
        case TRUNCATE_INT: // wraps below the smallest int, as Iceberg's does
          for (int i = 0; i < n; i++) {
            values[i] = (int) values[i] - Math.floorMod((int) values[i], argument);
          }
          return;
        case YEAR:
          toDays(n, values);
          for (int i = 0; i < n; i++) {
            values[i] = LocalDate.ofEpochDay(values[i]).getYear() - 1970L;
          }
          return;
        case MONTH:
          toDays(n, values);
          for (int i = 0; i < n; i++) {
            LocalDate date = LocalDate.ofEpochDay(values[i]);
            values[i] = (date.getYear() - 1970L) * 12 + date.getMonthValue() - 1;
          }
          return;
        case DAY:
          toDays(n, values);
          return;
        case HOUR:
          floorDivide(n, values, unitsOf(HOUR_MICROS));
          return;
      }
      throw new AssertionError(operation);
    }

    private void toDays(int n, long[] values) {
      if (type.typeId() != Type.TypeID.DATE) {
        floorDivide(n, values, unitsOf(DAY_MICROS));
      }
    }

    private long unitsOf(long micros) {
      return type.typeId() == Type.TypeID.TIMESTAMP_NANO ? micros * 1000 : micros;
    }

    private static void floorDivide(int n, long[] values, long divisor) {
      for (int i = 0; i < n; i++) {
        values[i] = Math.floorDiv(values[i], divisor);
      }
    }

    private void put(int n, long[] cursors, long[] words) {
      switch (width) {
        case 1:
          for (int i = 0; i < n; i++) {
            MemoryUtil.putByte(cursors[i], (byte) words[i]);
            cursors[i]++;
          }
          return;
        case 2:
          for (int i = 0; i < n; i++) {
            MemoryUtil.putShort(cursors[i], Short.reverseBytes((short) words[i]));
            cursors[i] += 2;
          }
          return;
        case 4:
          for (int i = 0; i < n; i++) {
            MemoryUtil.putInt(cursors[i], Integer.reverseBytes((int) words[i]));
            cursors[i] += 4;
          }
          return;
        case 8:
          for (int i = 0; i < n; i++) {
            MemoryUtil.putLong(cursors[i], Long.reverseBytes(words[i]));
            cursors[i] += 8;
          }
          return;
        default:
          throw new AssertionError("width " + width);
      }
    }
  }

  /** Values of one length compared as bytes: uuid (O4), fixed, decimals too wide for a long. */
  private static final class FixedBytes extends KeyColumn {
    private final int width;
    private final int firstByteFlip;

    FixedBytes(int width, boolean signed, boolean descending) {
      super(descending);
      this.width = width;
      this.firstByteFlip = signed ? 0x80 : 0;
    }

    @Override
    int width() {
      return width;
    }

    @Override
    void write(
        FieldVector leaf,
        int[] rows,
        boolean @Nullable [] nulls,
        int n,
        long[] cursors,
        long[] scratch) {
      long data = dataOf(leaf, width);
      for (int i = 0; i < n; i++) {
        long to = cursors[i];
        if (nulls != null && nulls[i]) {
          MemoryUtil.setMemory(to, width, (byte) 0);
        } else {
          long from = data + (long) rows[i] * width;
          for (int at = 0; at < width; at++) {
            MemoryUtil.putByte(to + at, (byte) (MemoryUtil.getByte(from + at) ^ invert));
          }
          MemoryUtil.putByte(to, (byte) (MemoryUtil.getByte(to) ^ firstByteFlip));
        }
        cursors[i] = to + width;
      }
    }
  }

  /** Truncated decimals too wide for a long; one byte wider than they were, for the floor. */
  private static final class TruncatedDecimal extends KeyColumn {
    private final int sourceWidth;
    private final BigInteger unit;

    TruncatedDecimal(int sourceWidth, int unit, boolean descending) {
      super(descending);
      this.sourceWidth = sourceWidth;
      this.unit = BigInteger.valueOf(unit);
    }

    @Override
    int width() {
      return sourceWidth + 1;
    }

    @Override
    void write(
        FieldVector leaf,
        int[] rows,
        boolean @Nullable [] nulls,
        int n,
        long[] cursors,
        long[] scratch) {
      long data = dataOf(leaf, sourceWidth);
      byte[] source = new byte[sourceWidth];
      int width = width();
      for (int i = 0; i < n; i++) {
        long to = cursors[i];
        if (nulls != null && nulls[i]) {
          MemoryUtil.setMemory(to, width, (byte) 0);
        } else {
          MemoryUtil.copyFromMemory(data + (long) rows[i] * sourceWidth, source, 0, sourceWidth);
          BigInteger unscaled = new BigInteger(source);
          BigInteger truncated = unscaled.subtract(unscaled.mod(unit));
          byte[] bytes = truncated.toByteArray();
          int pad = width - bytes.length;
          for (int at = 0; at < width; at++) {
            int b = at < pad ? truncated.signum() >> 1 : bytes[at - pad];
            MemoryUtil.putByte(to + at, (byte) (b ^ invert ^ (at == 0 ? 0x80 : 0)));
          }
        }
        cursors[i] = to + width;
      }
    }
  }

  /**
   * Strings and binary values, or their first code points or bytes. Bytes 0 and 1 are written as
   * two bytes, 1 and the byte plus 1, and the value ends with a 0: so a prefix comes first (O5) and
   * no value's bytes are the beginning of another's.
   */
  private static final class VariableWidth extends KeyColumn {
    private final int unitsMax;
    private final boolean codePoints;

    VariableWidth(int unitsMax, boolean codePoints, boolean descending) {
      super(descending);
      this.unitsMax = unitsMax;
      this.codePoints = codePoints;
    }

    @Override
    int width() {
      return 0;
    }

    @Override
    void addLengths(
        FieldVector leaf, int[] rows, boolean @Nullable [] nulls, int n, int[] lengths) {
      VariableBytes bytes = VariableBytes.of(leaf);
      for (int i = 0; i < n; i++) {
        if (nulls == null || !nulls[i]) {
          long from = bytes.address(rows[i]);
          int length = kept(from, bytes.length(rows[i]));
          // A value of more than 1 GiB of zeros would overflow; it is caught as a negative length.
          lengths[i] += length + escapes(from, length) + 1;
        }
      }
    }

    @Override
    void write(
        FieldVector leaf,
        int[] rows,
        boolean @Nullable [] nulls,
        int n,
        long[] cursors,
        long[] scratch) {
      VariableBytes bytes = VariableBytes.of(leaf);
      for (int i = 0; i < n; i++) {
        if (nulls == null || !nulls[i]) {
          long from = bytes.address(rows[i]);
          cursors[i] = escape(from, kept(from, bytes.length(rows[i])), cursors[i]);
        }
      }
    }

    /** How many of the bytes the transform keeps. */
    private int kept(long from, int length) {
      if (!codePoints) {
        return Math.min(length, unitsMax);
      }
      if (length <= unitsMax) {
        return length;
      }
      int points = 0;
      for (int at = 0; at < length; at++) {
        boolean starts = (MemoryUtil.getByte(from + at) & 0xC0) != 0x80;
        if (starts && points++ == unitsMax) {
          return at;
        }
      }
      return length;
    }

    private static boolean hasEscape(long word) {
      return ((word - 0x0202020202020202L) & ~word & 0x8080808080808080L) != 0;
    }

    private static int escapes(long from, int length) {
      int escapes = 0;
      int at = 0;
      while (at < length) {
        if (at + 8 <= length && !hasEscape(MemoryUtil.getLong(from + at))) {
          at += 8;
        } else {
          escapes += (MemoryUtil.getByte(from + at) & 0xFE) == 0 ? 1 : 0;
          at++;
        }
      }
      return escapes;
    }

    private long escape(long from, int length, long to) {
      int at = 0;
      long end = to;
      while (at < length) {
        if (at + 8 <= length) {
          long word = MemoryUtil.getLong(from + at);
          if (!hasEscape(word)) {
            MemoryUtil.putLong(end, word ^ invert);
            at += 8;
            end += 8;
            continue;
          }
        }
        int b = MemoryUtil.getByte(from + at) & 0xFF;
        if (b <= 1) {
          MemoryUtil.putByte(end++, (byte) (1 ^ invert));
          b++;
        }
        MemoryUtil.putByte(end++, (byte) (b ^ invert));
        at++;
      }
      MemoryUtil.putByte(end++, (byte) invert);
      return end;
    }
  }
}
