package dev.firn.engine.parquet;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.UUID;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.FixedSizeBinaryVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;

/**
 * One value of a primitive type as its bytes in the physical layout. Booleans are one byte, 0 or 1.
 */
final class PhysicalValue {
  private final byte[] bytes;

  private PhysicalValue(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * The bytes of an Iceberg value: a default or a partition's, which may still be of the type
   * before a promotion (S25).
   */
  static PhysicalValue of(Type type, Object value) {
    switch (type.typeId()) {
      case BOOLEAN:
        return new PhysicalValue(new byte[] {(byte) ((Boolean) value ? 1 : 0)});
      case INTEGER:
      case DATE:
        return of(((Number) value).intValue());
      case LONG:
      case TIME:
      case TIMESTAMP:
      case TIMESTAMP_NANO:
        return of(((Number) value).longValue());
      case FLOAT:
        return of(Float.floatToRawIntBits(((Number) value).floatValue()));
      case DOUBLE:
        return of(Double.doubleToRawLongBits(((Number) value).doubleValue()));
      case STRING:
        return new PhysicalValue(value.toString().getBytes(StandardCharsets.UTF_8));
      case BINARY:
      case FIXED:
        return new PhysicalValue(bytes(value));
      case UUID:
        if (value instanceof UUID uuid) {
          ByteBuffer buffer = ByteBuffer.allocate(16);
          buffer.putLong(uuid.getMostSignificantBits()).putLong(uuid.getLeastSignificantBits());
          return new PhysicalValue(buffer.array());
        }
        return new PhysicalValue(bytes(value));
      case DECIMAL:
        return decimal((Types.DecimalType) type, (BigDecimal) value);
      default:
        throw new UnsupportedFileException("Cannot fill a column of type " + type);
    }
  }

  private static PhysicalValue of(int value) {
    return new PhysicalValue(
        ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN).putInt(value).array());
  }

  private static PhysicalValue of(long value) {
    return new PhysicalValue(
        ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(value).array());
  }

  private static byte[] bytes(Object value) {
    if (value instanceof byte[] array) {
      return array.clone();
    }
    ByteBuffer buffer = ((ByteBuffer) value).duplicate();
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  private static PhysicalValue decimal(Types.DecimalType type, BigDecimal value) {
    if (value.scale() != type.scale() || value.precision() > type.precision()) {
      throw new UnsupportedFileException("Value " + value + " is not of type " + type);
    }
    if (type.precision() <= 9) {
      return of(value.unscaledValue().intValueExact());
    }
    if (type.precision() <= 18) {
      return of(value.unscaledValue().longValueExact());
    }
    byte[] unscaled = value.unscaledValue().toByteArray();
    byte[] extended = new byte[TypeUtil.decimalRequiredBytes(type.precision())];
    Arrays.fill(extended, (byte) (value.signum() < 0 ? -1 : 0));
    System.arraycopy(unscaled, 0, extended, extended.length - unscaled.length, unscaled.length);
    return new PhysicalValue(extended);
  }

  /** Makes {@code target} hold the value {@code length} times. */
  void fill(FieldVector target, int length) {
    if (length == 0) {
      target.clear();
      return;
    }
    ArrowBuf allValid = target.getAllocator().getEmpty();
    if (target instanceof BitVector) {
      try (ArrowBuf data = target.getAllocator().buffer(Bits.bytes(length))) {
        data.setOne(0, Bits.bytes(length));
        if (bytes[0] == 0) {
          data.setZero(0, Bits.bytes(length));
        }
        Reading.load(target, length, 0, allValid, data);
      }
    } else if (target instanceof VarBinaryVector) {
      Math.multiplyExact(length, bytes.length);
      try (ArrowBuf data = repeated(target, length);
          ArrowBuf offsets = target.getAllocator().buffer((length + 1L) * Integer.BYTES)) {
        for (int row = 0; row <= length; row++) {
          offsets.setInt((long) row * Integer.BYTES, row * bytes.length);
        }
        Reading.load(target, length, 0, allValid, offsets, data);
      }
    } else {
      try (ArrowBuf data = repeated(target, length)) {
        Reading.load(target, length, 0, allValid, data);
      }
    }
  }

  /** Sets one row of {@code target}, making room for it. Not for hot code. */
  void set(FieldVector target, int row) {
    ByteBuffer little = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    if (target instanceof BitVector bits) {
      bits.setSafe(row, bytes[0]);
    } else if (target instanceof IntVector ints) {
      ints.setSafe(row, little.getInt());
    } else if (target instanceof BigIntVector longs) {
      longs.setSafe(row, little.getLong());
    } else if (target instanceof Float4Vector floats) {
      floats.setSafe(row, little.getFloat());
    } else if (target instanceof Float8Vector doubles) {
      doubles.setSafe(row, little.getDouble());
    } else if (target instanceof VarBinaryVector binaries) {
      binaries.setSafe(row, bytes);
    } else if (target instanceof FixedSizeBinaryVector fixed) {
      fixed.setSafe(row, bytes);
    } else {
      throw new IllegalArgumentException("Cannot set a value of " + target.getField());
    }
  }

  private ArrowBuf repeated(FieldVector target, int length) {
    long total = (long) length * bytes.length;
    ArrowBuf data = target.getAllocator().buffer(total);
    if (total > 0) {
      data.setBytes(0, bytes);
      for (long filled = bytes.length; filled < total; filled += Math.min(filled, total - filled)) {
        data.setBytes(filled, data, 0, Math.min(filled, total - filled));
      }
    }
    return data;
  }
}
