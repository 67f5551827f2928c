package dev.firn.deletes;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.FixedSizeBinaryVector;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * One column of an equality key: takes a slice of a vector to the heap and writes its values into
 * keys.
 *
 * <p>Within a key a value is one byte, 0 for null or 1, and then, if not null, the bytes of the
 * value: as many as the type has, or a four-byte length and that many. No encoded value is
 * therefore the beginning of another one. Not thread-safe.
 */
abstract sealed class KeyColumn {
  static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  static final byte NULL = 0;
  private static final byte NOT_NULL = 1;

  final Types.NestedField field;
  byte[] values = new byte[0];

  private @Nullable ArrowBuf validity;
  private byte[] validityBytes = new byte[0];
  private int validityFirst;
  private boolean hasNulls;

  private KeyColumn(Types.NestedField field) {
    this.field = field;
  }

  /** Whether values of the type can be told equal by their bytes. */
  static boolean supports(Type type) {
    return switch (type.typeId()) {
      case BOOLEAN,
          INTEGER,
          LONG,
          FLOAT,
          DOUBLE,
          DATE,
          TIME,
          TIMESTAMP,
          TIMESTAMP_NANO,
          STRING,
          UUID,
          FIXED,
          BINARY,
          DECIMAL ->
          true;
      default -> false;
    };
  }

  static KeyColumn of(Types.NestedField field) {
    Type type = field.type();
    return switch (type.typeId()) {
      case BOOLEAN -> new Bits(field);
      case INTEGER, DATE -> new FourBytes(field, false);
      case FLOAT -> new FourBytes(field, true);
      case LONG, TIME, TIMESTAMP, TIMESTAMP_NANO -> new EightBytes(field, false);
      case DOUBLE -> new EightBytes(field, true);
      case STRING, BINARY -> new VariableBytes(field);
      case UUID -> new FixedBytes(field, 16);
      case FIXED -> new FixedBytes(field, ((Types.FixedType) type).length());
      case DECIMAL -> {
        int precision = ((Types.DecimalType) type).precision();
        yield precision <= 9
            ? new FourBytes(field, false)
            : precision <= 18
                ? new EightBytes(field, false)
                : new FixedBytes(field, TypeUtil.decimalRequiredBytes(precision));
      }
      default -> throw new IllegalArgumentException("No equality keys of type " + type);
    };
  }

  /** Whether a value fits in a long: {@link #copyTo} may be called. */
  boolean fitsInLong() {
    return true;
  }

  /**
   * The bytes that each value takes in a key, or less than 0 if that differs from value to value.
   */
  abstract int width();

  /** Turns to another vector. It is read until the next call. */
  final void attach(FieldVector vector) {
    validity = Vectors.hasNulls(vector) ? vector.getValidityBuffer() : null;
    if (!attachValues(vector)) {
      throw new IllegalStateException(
          "Equality key column " + field + " came as the vector " + vector.getField());
    }
  }

  /** Returns whether the vector is one of this column's type. */
  abstract boolean attachValues(FieldVector vector);

  /** The bytes that the values of some rows take at most, without null bytes and lengths. */
  abstract long valueBytes(int from, int rows);

  /** Takes some rows of the attached vector to the heap. */
  final void load(int from, int rows) {
    hasNulls = false;
    if (validity != null) {
      int firstByte = from >>> 3;
      int bytes = ((from + rows + 7) >>> 3) - firstByte;
      if (validityBytes.length < bytes) {
        validityBytes = new byte[bytes];
      }
      validity.getBytes(firstByte, validityBytes, 0, bytes);
      validityFirst = from & 7;
      hasNulls = true;
    }
    loadValues(from, rows);
  }

  abstract void loadValues(int from, int rows);

  final boolean hasNulls() {
    return hasNulls;
  }

  final boolean isNull(int index) {
    if (!hasNulls) {
      return false;
    }
    int bit = validityFirst + index;
    return (validityBytes[bit >>> 3] >>> (bit & 7) & 1) == 0;
  }

  /** Adds the encoded length of each loaded value. */
  abstract void addLengths(int[] lengths, int rows);

  /** Writes each loaded value to its cursor and moves the cursor behind it. */
  abstract void write(byte[] target, int[] cursors, int rows);

  /** Writes the loaded values as longs; where the value is null, anything. */
  abstract void copyTo(long[] target, int rows);

  final void addFixedLengths(int width, int[] lengths, int rows) {
    for (int i = 0; i < rows; i++) {
      lengths[i] += isNull(i) ? 1 : 1 + width;
    }
  }

  final byte[] valuesOf(int bytes) {
    if (values.length < bytes) {
      values = new byte[Math.max(bytes, 2 * values.length)];
    }
    return values;
  }

  /** Writes the null byte. Returns where the value goes, or -1 if there is none. */
  final int writeNullByte(byte[] target, int[] cursors, int index) {
    int at = cursors[index];
    if (isNull(index)) {
      target[at] = NULL;
      cursors[index] = at + 1;
      return -1;
    }
    target[at] = NOT_NULL;
    return at + 1;
  }

  private static final class Bits extends KeyColumn {
    private @Nullable ArrowBuf bits;

    Bits(Types.NestedField field) {
      super(field);
    }

    @Override
    int width() {
      return 1;
    }

    @Override
    boolean attachValues(FieldVector vector) {
      bits = vector.getDataBuffer();
      return vector instanceof BitVector;
    }

    @Override
    long valueBytes(int from, int rows) {
      return rows;
    }

    @Override
    void loadValues(int from, int rows) {
      byte[] loaded = valuesOf(rows);
      ArrowBuf source = attached(bits);
      for (int i = 0; i < rows; i++) {
        int row = from + i;
        loaded[i] = (byte) (source.getByte(row >>> 3) >>> (row & 7) & 1);
      }
    }

    @Override
    void addLengths(int[] lengths, int rows) {
      addFixedLengths(1, lengths, rows);
    }

    @Override
    void write(byte[] target, int[] cursors, int rows) {
      for (int i = 0; i < rows; i++) {
        int at = writeNullByte(target, cursors, i);
        if (at >= 0) {
          target[at] = values[i];
          cursors[i] = at + 1;
        }
      }
    }

    @Override
    void copyTo(long[] target, int rows) {
      for (int i = 0; i < rows; i++) {
        target[i] = values[i];
      }
    }
  }

  private static final class FourBytes extends KeyColumn {
    private static final int NAN_BITS = Float.floatToIntBits(Float.NaN);

    private final boolean isFloat;
    private @Nullable ArrowBuf ints;

    FourBytes(Types.NestedField field, boolean isFloat) {
      super(field);
      this.isFloat = isFloat;
    }

    @Override
    int width() {
      return Integer.BYTES;
    }

    @Override
    boolean attachValues(FieldVector vector) {
      ints = vector.getDataBuffer();
      return isFixedWidth(vector, Integer.BYTES);
    }

    @Override
    long valueBytes(int from, int rows) {
      return (long) rows * Integer.BYTES;
    }

    @Override
    void loadValues(int from, int rows) {
      byte[] loaded = valuesOf(rows * Integer.BYTES);
      attached(ints).getBytes((long) from * Integer.BYTES, loaded, 0, rows * Integer.BYTES);
      if (isFloat) {
        for (int i = 0; i < rows; i++) {
          if (Float.isNaN(Float.intBitsToFloat((int) INT.get(loaded, i * Integer.BYTES)))) {
            INT.set(loaded, i * Integer.BYTES, NAN_BITS);
          }
        }
      }
    }

    @Override
    void addLengths(int[] lengths, int rows) {
      addFixedLengths(Integer.BYTES, lengths, rows);
    }

    @Override
    void write(byte[] target, int[] cursors, int rows) {
      for (int i = 0; i < rows; i++) {
        int at = writeNullByte(target, cursors, i);
        if (at >= 0) {
          INT.set(target, at, (int) INT.get(values, i * Integer.BYTES));
          cursors[i] = at + Integer.BYTES;
        }
      }
    }

    @Override
    void copyTo(long[] target, int rows) {
      for (int i = 0; i < rows; i++) {
        target[i] = (int) INT.get(values, i * Integer.BYTES);
      }
    }
  }

  private static final class EightBytes extends KeyColumn {
    private static final long NAN_BITS = Double.doubleToLongBits(Double.NaN);

    private final boolean isDouble;
    private @Nullable ArrowBuf longs;

    EightBytes(Types.NestedField field, boolean isDouble) {
      super(field);
      this.isDouble = isDouble;
    }

    @Override
    int width() {
      return Long.BYTES;
    }

    @Override
    boolean attachValues(FieldVector vector) {
      longs = vector.getDataBuffer();
      return isFixedWidth(vector, Long.BYTES);
    }

    @Override
    long valueBytes(int from, int rows) {
      return (long) rows * Long.BYTES;
    }

    @Override
    void loadValues(int from, int rows) {
      byte[] loaded = valuesOf(rows * Long.BYTES);
      attached(longs).getBytes((long) from * Long.BYTES, loaded, 0, rows * Long.BYTES);
      if (isDouble) {
        for (int i = 0; i < rows; i++) {
          if (Double.isNaN(Double.longBitsToDouble((long) LONG.get(loaded, i * Long.BYTES)))) {
            LONG.set(loaded, i * Long.BYTES, NAN_BITS);
          }
        }
      }
    }

    @Override
    void addLengths(int[] lengths, int rows) {
      addFixedLengths(Long.BYTES, lengths, rows);
    }

    @Override
    void write(byte[] target, int[] cursors, int rows) {
      for (int i = 0; i < rows; i++) {
        int at = writeNullByte(target, cursors, i);
        if (at >= 0) {
          LONG.set(target, at, (long) LONG.get(values, i * Long.BYTES));
          cursors[i] = at + Long.BYTES;
        }
      }
    }

    @Override
    void copyTo(long[] target, int rows) {
      for (int i = 0; i < rows; i++) {
        target[i] = (long) LONG.get(values, i * Long.BYTES);
      }
    }
  }

  private static final class FixedBytes extends KeyColumn {
    private final int width;
    private @Nullable ArrowBuf bytes;

    FixedBytes(Types.NestedField field, int width) {
      super(field);
      this.width = width;
    }

    @Override
    boolean fitsInLong() {
      return false;
    }

    @Override
    int width() {
      return width;
    }

    @Override
    boolean attachValues(FieldVector vector) {
      bytes = vector.getDataBuffer();
      return vector instanceof FixedSizeBinaryVector fixed && fixed.getByteWidth() == width;
    }

    @Override
    long valueBytes(int from, int rows) {
      return (long) rows * width;
    }

    @Override
    void loadValues(int from, int rows) {
      int size = Math.multiplyExact(rows, width);
      attached(bytes).getBytes((long) from * width, valuesOf(size), 0, size);
    }

    @Override
    void addLengths(int[] lengths, int rows) {
      addFixedLengths(width, lengths, rows);
    }

    @Override
    void write(byte[] target, int[] cursors, int rows) {
      for (int i = 0; i < rows; i++) {
        int at = writeNullByte(target, cursors, i);
        if (at >= 0) {
          System.arraycopy(values, i * width, target, at, width);
          cursors[i] = at + width;
        }
      }
    }

    @Override
    void copyTo(long[] target, int rows) {
      throw new IllegalStateException(field + " does not fit in a long");
    }
  }

  private static final class VariableBytes extends KeyColumn {
    private @Nullable ArrowBuf offsetBuffer;
    private @Nullable ArrowBuf bytes;
    private byte[] offsets = new byte[0];
    private int first;

    VariableBytes(Types.NestedField field) {
      super(field);
    }

    @Override
    boolean fitsInLong() {
      return false;
    }

    @Override
    int width() {
      return -1;
    }

    @Override
    boolean attachValues(FieldVector vector) {
      if (!(vector instanceof BaseVariableWidthVector)) {
        return false;
      }
      offsetBuffer = vector.getOffsetBuffer();
      bytes = vector.getDataBuffer();
      return true;
    }

    @Override
    long valueBytes(int from, int rows) {
      ArrowBuf source = attached(offsetBuffer);
      return (long) source.getInt((long) (from + rows) * Integer.BYTES)
          - source.getInt((long) from * Integer.BYTES);
    }

    @Override
    void loadValues(int from, int rows) {
      int offsetBytes = (rows + 1) * Integer.BYTES;
      if (offsets.length < offsetBytes) {
        offsets = new byte[offsetBytes];
      }
      attached(offsetBuffer).getBytes((long) from * Integer.BYTES, offsets, 0, offsetBytes);
      first = (int) INT.get(offsets, 0);
      int size = (int) INT.get(offsets, rows * Integer.BYTES) - first;
      if (size > 0) {
        attached(bytes).getBytes(first, valuesOf(size), 0, size);
      }
    }

    private int length(int index) {
      return (int) INT.get(offsets, (index + 1) * Integer.BYTES)
          - (int) INT.get(offsets, index * Integer.BYTES);
    }

    @Override
    void addLengths(int[] lengths, int rows) {
      for (int i = 0; i < rows; i++) {
        lengths[i] += isNull(i) ? 1 : 1 + Integer.BYTES + length(i);
      }
    }

    @Override
    void write(byte[] target, int[] cursors, int rows) {
      for (int i = 0; i < rows; i++) {
        int at = writeNullByte(target, cursors, i);
        if (at >= 0) {
          int length = length(i);
          INT.set(target, at, length);
          int start = (int) INT.get(offsets, i * Integer.BYTES) - first;
          System.arraycopy(values, start, target, at + Integer.BYTES, length);
          cursors[i] = at + Integer.BYTES + length;
        }
      }
    }

    @Override
    void copyTo(long[] target, int rows) {
      throw new IllegalStateException(field + " does not fit in a long");
    }
  }

  private static boolean isFixedWidth(FieldVector vector, int bytes) {
    return vector instanceof BaseFixedWidthVector fixed
        && !(vector instanceof BitVector)
        && fixed.getTypeWidth() == bytes;
  }

  private static ArrowBuf attached(@Nullable ArrowBuf buffer) {
    if (buffer == null) {
      throw new IllegalStateException("No vector is attached");
    }
    return buffer;
  }
}
