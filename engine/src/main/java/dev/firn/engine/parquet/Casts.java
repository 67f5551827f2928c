package dev.firn.engine.parquet;

import java.nio.ByteOrder;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.FieldVector;

/**
 * Kernels from a physical type of a file to that of the table. Each writes a value for every row,
 * also for nulls, whose values mean nothing; only values that are not null can fail to fit.
 */
final class Casts {
  private static final long MICROS_PER_DAY = 86_400_000_000L;
  private static final long NANOS_PER_DAY = 86_400_000_000_000L;
  private static final int UNIX_EPOCH_JULIAN_DAY = 2_440_588;

  private Casts() {}

  private static boolean isNull(FieldVector source, int row) {
    ArrowBuf validity = source.getValidityBuffer();
    return validity != null && validity.capacity() > 0 && !Bits.isSet(validity, row);
  }

  static void intToLong(FieldVector source, int start, int length, ArrowBuf target) {
    ArrowBuf data = source.getDataBuffer();
    for (int row = 0; row < length; row++) {
      target.setLong((long) row << 3, data.getInt(((long) start + row) << 2));
    }
  }

  /** S17. */
  static void unsignedIntToLong(FieldVector source, int start, int length, ArrowBuf target) {
    ArrowBuf data = source.getDataBuffer();
    for (int row = 0; row < length; row++) {
      target.setLong((long) row << 3, data.getInt(((long) start + row) << 2) & 0xFFFF_FFFFL);
    }
  }

  static void floatToDouble(FieldVector source, int start, int length, ArrowBuf target) {
    ArrowBuf data = source.getDataBuffer();
    for (int row = 0; row < length; row++) {
      target.setDouble((long) row << 3, data.getFloat(((long) start + row) << 2));
    }
  }

  /** Days or milliseconds in four bytes to a finer unit. */
  static Reading.Cast intTimes(long factor) {
    // Of all factors in use only nanoseconds per day can overflow.
    long max = Long.MAX_VALUE / factor;
    return (source, start, length, target) -> {
      ArrowBuf data = source.getDataBuffer();
      for (int row = 0; row < length; row++) {
        long value = data.getInt(((long) start + row) << 2);
        if ((value > max || value < -max) && !isNull(source, start + row)) {
          throw new ArithmeticException("value " + value + " times " + factor + " overflows");
        }
        target.setLong((long) row << 3, value * factor);
      }
    };
  }

  static Reading.Cast longTimes(long factor) {
    long max = Long.MAX_VALUE / factor;
    return (source, start, length, target) -> {
      ArrowBuf data = source.getDataBuffer();
      for (int row = 0; row < length; row++) {
        long value = data.getLong(((long) start + row) << 3);
        if ((value > max || value < -max) && !isNull(source, start + row)) {
          throw new ArithmeticException("value " + value + " times " + factor + " overflows");
        }
        target.setLong((long) row << 3, value * factor);
      }
    };
  }

  static void daysToMicros(FieldVector source, int start, int length, ArrowBuf target) {
    intTimes(MICROS_PER_DAY).run(source, start, length, target);
  }

  static void daysToNanos(FieldVector source, int start, int length, ArrowBuf target) {
    intTimes(NANOS_PER_DAY).run(source, start, length, target);
  }

  /** S15: the microsecond that a nanosecond is in. */
  static void nanosToMicros(FieldVector source, int start, int length, ArrowBuf target) {
    ArrowBuf data = source.getDataBuffer();
    for (int row = 0; row < length; row++) {
      long value = data.getLong(((long) start + row) << 3);
      target.setLong((long) row << 3, Math.floorDiv(value, 1000L));
    }
  }

  /** S16: eight bytes nanoseconds of the day, four bytes Julian day. */
  static void int96ToMicros(FieldVector source, int start, int length, ArrowBuf target) {
    ArrowBuf data = source.getDataBuffer();
    for (int row = 0; row < length; row++) {
      long at = ((long) start + row) * ViewSchema.INT96_BYTES;
      long day = (long) data.getInt(at + Long.BYTES) - UNIX_EPOCH_JULIAN_DAY;
      long micros = Math.floorDiv(data.getLong(at), 1000L);
      if (Math.abs(day) > Long.MAX_VALUE / MICROS_PER_DAY - 2 && !isNull(source, start + row)) {
        throw new ArithmeticException("day " + day + " since 1970 overflows microseconds");
      }
      target.setLong((long) row << 3, day * MICROS_PER_DAY + micros);
    }
  }

  /** S15, S16. */
  static void int96ToNanos(FieldVector source, int start, int length, ArrowBuf target) {
    ArrowBuf data = source.getDataBuffer();
    for (int row = 0; row < length; row++) {
      long at = ((long) start + row) * ViewSchema.INT96_BYTES;
      long day = (long) data.getInt(at + Long.BYTES) - UNIX_EPOCH_JULIAN_DAY;
      long nanosOfDay = data.getLong(at);
      long nanos = day * NANOS_PER_DAY + nanosOfDay;
      boolean fits =
          Math.abs(day) <= Long.MAX_VALUE / NANOS_PER_DAY - 2
              && nanosOfDay >= -NANOS_PER_DAY
              && nanosOfDay <= 2 * NANOS_PER_DAY;
      if (!fits && !isNull(source, start + row)) {
        nanos = Math.addExact(Math.multiplyExact(day, NANOS_PER_DAY), nanosOfDay);
      }
      target.setLong((long) row << 3, nanos);
    }
  }

  /** Where the unscaled value of a decimal is, as big-endian bytes or as a number. */
  private interface Unscaled {
    long asLong(FieldVector source, int row);
  }

  private static long intAt(FieldVector source, int row) {
    return source.getDataBuffer().getInt((long) row << 2);
  }

  private static long longAt(FieldVector source, int row) {
    return source.getDataBuffer().getLong((long) row << 3);
  }

  /** Decimals to four or eight bytes. The width of a fixed source is 0 for others. */
  static Reading.Cast decimalToNumber(org.apache.parquet.format.Type from, int width, int to) {
    Unscaled unscaled;
    switch (from) {
      case INT32:
        unscaled = Casts::intAt;
        break;
      case INT64:
        unscaled = Casts::longAt;
        break;
      case FIXED_LEN_BYTE_ARRAY:
        unscaled =
            (source, row) ->
                bigEndian(source.getDataBuffer(), (long) row * width, width, source, row);
        break;
      default:
        unscaled = Casts::binaryAt;
    }
    if (to == Long.BYTES) {
      return (source, start, length, target) -> {
        for (int row = 0; row < length; row++) {
          target.setLong((long) row << 3, unscaled.asLong(source, start + row));
        }
      };
    }
    return (source, start, length, target) -> {
      for (int row = 0; row < length; row++) {
        long value = unscaled.asLong(source, start + row);
        if (value != (int) value && !isNull(source, start + row)) {
          throw new ArithmeticException("unscaled value " + value + " is of more than 9 digits");
        }
        target.setInt((long) row << 2, (int) value);
      }
    };
  }

  private static long binaryAt(FieldVector source, int row) {
    ArrowBuf offsets = source.getOffsetBuffer();
    int from = offsets.getInt((long) row << 2);
    int width = offsets.getInt(((long) row + 1) << 2) - from;
    return bigEndian(source.getDataBuffer(), from, width, source, row);
  }

  private static long bigEndian(ArrowBuf data, long at, int width, FieldVector source, int row) {
    if (width == 0) {
      if (isNull(source, row)) {
        return 0;
      }
      throw new ArithmeticException("a decimal has no bytes");
    }
    long value = data.getByte(at);
    for (int i = 1; i < width; i++) {
      if (i >= Long.BYTES && (value >> 55 != 0 && value >> 55 != -1) && !isNull(source, row)) {
        throw new ArithmeticException("a decimal of " + width + " bytes has more than 18 digits");
      }
      value = value << 8 | data.getByte(at + i) & 0xFFL;
    }
    return value;
  }

  /** Decimals to {@code to} big-endian bytes. The width of a fixed source is 0 for others. */
  static Reading.Cast decimalToFixed(org.apache.parquet.format.Type from, int width, int to) {
    switch (from) {
      case INT32:
        return numberToFixed(Casts::intAt, to);
      case INT64:
        return numberToFixed(Casts::longAt, to);
      case FIXED_LEN_BYTE_ARRAY:
        return (source, start, length, target) -> {
          ArrowBuf data = source.getDataBuffer();
          for (int row = 0; row < length; row++) {
            long at = ((long) start + row) * width;
            extend(data, at, width, target, (long) row * to, to, source, start + row);
          }
        };
      default:
        return (source, start, length, target) -> {
          ArrowBuf data = source.getDataBuffer();
          ArrowBuf offsets = source.getOffsetBuffer();
          for (int row = 0; row < length; row++) {
            int at = offsets.getInt(((long) start + row) << 2);
            int bytes = offsets.getInt(((long) start + row + 1) << 2) - at;
            extend(data, at, bytes, target, (long) row * to, to, source, start + row);
          }
        };
    }
  }

  private static Reading.Cast numberToFixed(Unscaled unscaled, int to) {
    return (source, start, length, target) -> {
      for (int row = 0; row < length; row++) {
        long value = unscaled.asLong(source, start + row);
        long end = (long) (row + 1) * to;
        // At least 9 bytes: a decimal of 19 digits or more.
        target.setZero((long) row * to, to - Long.BYTES);
        if (value < 0) {
          for (long at = (long) row * to; at < end - Long.BYTES; at++) {
            target.setByte(at, -1);
          }
        }
        target.setLong(end - Long.BYTES, bigEndianBytes(value));
      }
    };
  }

  private static long bigEndianBytes(long value) {
    return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? Long.reverseBytes(value) : value;
  }

  private static void extend(
      ArrowBuf data,
      long at,
      int width,
      ArrowBuf target,
      long targetAt,
      int to,
      FieldVector source,
      int row) {
    if (isNull(source, row)) {
      target.setZero(targetAt, to);
      return;
    }
    if (width == 0) {
      throw new ArithmeticException("a decimal has no bytes");
    }
    int sign = data.getByte(at) < 0 ? -1 : 0;
    int surplus = width - to;
    if (surplus > 0) {
      for (int i = 0; i <= surplus; i++) {
        boolean isSign =
            i < surplus ? data.getByte(at + i) == sign : data.getByte(at + i) >> 7 == sign;
        if (!isSign) {
          throw new ArithmeticException(
              "a decimal of " + width + " bytes does not fit the precision of the table");
        }
      }
      target.setBytes(targetAt, data, at + surplus, to);
      return;
    }
    for (int i = 0; i < -surplus; i++) {
      target.setByte(targetAt + i, sign);
    }
    target.setBytes(targetAt - surplus, data, at, width);
  }
}
