package dev.firn.engine.parquet;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.FixedSizeBinaryVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;

/**
 * Appends values to a vector of the physical layout one by one: the way of formats that are read by
 * row. What does not fit the vector raises an {@link ArithmeticException}.
 */
abstract class Appender {

  /** The bytes that a batch has taken so far, over all its columns. */
  private static final class Volume {
    long bytes;
  }

  /** The columns of a batch. */
  static final class Rows {
    final List<Appender> columns = new ArrayList<>();
    private final VectorSchemaRoot batch;
    private final Volume volume = new Volume();

    Rows(VectorSchemaRoot batch) {
      this.batch = batch;
      for (FieldVector vector : batch.getFieldVectors()) {
        columns.add(of(vector, volume));
      }
    }

    /** Empties the batch. */
    void begin() {
      batch.clear();
      volume.bytes = 0;
      columns.forEach(Appender::begin);
    }

    /** About the bytes appended since {@link #begin}. */
    long bytes() {
      return volume.bytes;
    }

    /** Makes the appended rows the batch. */
    void end(int rows) {
      batch.setRowCount(rows);
    }
  }

  private final Volume volume;
  int count = 0;

  private Appender(Volume volume) {
    this.volume = volume;
  }

  private static Appender of(FieldVector vector, Volume volume) {
    if (vector instanceof BitVector bits) {
      return new Booleans(bits, volume);
    } else if (vector instanceof IntVector ints) {
      return new Ints(ints, volume);
    } else if (vector instanceof BigIntVector longs) {
      return new Longs(longs, volume);
    } else if (vector instanceof Float4Vector floats) {
      return new Floats(floats, volume);
    } else if (vector instanceof Float8Vector doubles) {
      return new Doubles(doubles, volume);
    } else if (vector instanceof VarBinaryVector binaries) {
      return new Binaries(binaries, volume);
    } else if (vector instanceof FixedSizeBinaryVector fixed) {
      return new Fixed(fixed, volume);
    } else if (vector instanceof StructVector struct) {
      return new Structs(struct, volume);
    } else if (vector instanceof ListVector list) {
      return new Lists(list, volume);
    }
    throw new IllegalArgumentException("Cannot append to " + vector.getField());
  }

  void begin() {
    count = 0;
  }

  /** Counts one value of so many bytes; gives its index. */
  final int next(int bytes) {
    volume.bytes += bytes;
    return count++;
  }

  abstract void appendNull();

  /* The primitives that a format may give; each is refused by vectors that it does not fit. */

  void append(long value) {
    throw unfit();
  }

  void append(float value) {
    throw unfit();
  }

  void append(double value) {
    throw unfit();
  }

  void append(byte[] bytes, int offset, int length) {
    throw unfit();
  }

  /** The unscaled value of a decimal. */
  void append(BigInteger unscaled) {
    throw unfit();
  }

  private IllegalStateException unfit() {
    return new IllegalStateException("A value of another type for " + getClass().getSimpleName());
  }

  private static final class Booleans extends Appender {
    private final BitVector vector;

    Booleans(BitVector vector, Volume volume) {
      super(volume);
      this.vector = vector;
    }

    @Override
    void appendNull() {
      vector.setNull(next(1));
    }

    @Override
    void append(long value) {
      vector.setSafe(next(1), value == 0 ? 0 : 1);
    }
  }

  private static final class Ints extends Appender {
    private final IntVector vector;

    Ints(IntVector vector, Volume volume) {
      super(volume);
      this.vector = vector;
    }

    @Override
    void appendNull() {
      vector.setNull(next(Integer.BYTES));
    }

    @Override
    void append(long value) {
      vector.setSafe(next(Integer.BYTES), Math.toIntExact(value));
    }

    @Override
    void append(BigInteger unscaled) {
      vector.setSafe(next(Integer.BYTES), unscaled.intValueExact());
    }
  }

  private static final class Longs extends Appender {
    private final BigIntVector vector;

    Longs(BigIntVector vector, Volume volume) {
      super(volume);
      this.vector = vector;
    }

    @Override
    void appendNull() {
      vector.setNull(next(Long.BYTES));
    }

    @Override
    void append(long value) {
      vector.setSafe(next(Long.BYTES), value);
    }

    @Override
    void append(BigInteger unscaled) {
      vector.setSafe(next(Long.BYTES), unscaled.longValueExact());
    }
  }

  private static final class Floats extends Appender {
    private final Float4Vector vector;

    Floats(Float4Vector vector, Volume volume) {
      super(volume);
      this.vector = vector;
    }

    @Override
    void appendNull() {
      vector.setNull(next(Float.BYTES));
    }

    @Override
    void append(float value) {
      vector.setSafe(next(Float.BYTES), value);
    }
  }

  private static final class Doubles extends Appender {
    private final Float8Vector vector;

    Doubles(Float8Vector vector, Volume volume) {
      super(volume);
      this.vector = vector;
    }

    @Override
    void appendNull() {
      vector.setNull(next(Double.BYTES));
    }

    @Override
    void append(double value) {
      vector.setSafe(next(Double.BYTES), value);
    }
  }

  private static final class Binaries extends Appender {
    private final VarBinaryVector vector;

    Binaries(VarBinaryVector vector, Volume volume) {
      super(volume);
      this.vector = vector;
    }

    @Override
    void appendNull() {
      vector.setNull(next(Integer.BYTES));
    }

    @Override
    void append(byte[] bytes, int offset, int length) {
      vector.setSafe(next(Math.addExact(Integer.BYTES, length)), bytes, offset, length);
    }
  }

  private static final class Fixed extends Appender {
    private final FixedSizeBinaryVector vector;
    private final int width;

    Fixed(FixedSizeBinaryVector vector, Volume volume) {
      super(volume);
      this.vector = vector;
      this.width = vector.getByteWidth();
    }

    @Override
    void appendNull() {
      vector.setNull(next(width));
    }

    @Override
    void append(byte[] bytes, int offset, int length) {
      if (length != width) {
        throw new ArithmeticException("a value of " + width + " bytes has " + length);
      }
      vector.setSafe(next(width), Arrays.copyOfRange(bytes, offset, offset + length));
    }

    @Override
    void append(BigInteger unscaled) {
      byte[] bytes = unscaled.toByteArray();
      if (bytes.length > width) {
        throw new ArithmeticException("decimal " + unscaled + " has over " + width + " bytes");
      }
      byte[] extended = new byte[width];
      Arrays.fill(extended, (byte) (unscaled.signum() < 0 ? -1 : 0));
      System.arraycopy(bytes, 0, extended, width - bytes.length, bytes.length);
      vector.setSafe(next(width), extended);
    }
  }

  /** A struct that is there is one {@link #append} and then one value for each child. */
  static final class Structs extends Appender {
    final List<Appender> children = new ArrayList<>();
    private final StructVector vector;

    private Structs(StructVector vector, Volume volume) {
      super(volume);
      this.vector = vector;
      for (FieldVector child : vector.getChildrenFromFields()) {
        children.add(of(child, volume));
      }
    }

    @Override
    void begin() {
      super.begin();
      children.forEach(Appender::begin);
    }

    @Override
    void appendNull() {
      vector.setNull(next(1));
      children.forEach(Appender::appendNull);
    }

    void append() {
      vector.setIndexDefined(next(1));
    }
  }

  /**
   * A list or map that is there is its elements between {@link #start} and {@link #end}; those of a
   * map are structs of key and value.
   */
  static final class Lists extends Appender {
    final Appender element;
    private final ListVector vector;

    private Lists(ListVector vector, Volume volume) {
      super(volume);
      this.vector = vector;
      this.element = of(vector.getDataVector(), volume);
    }

    @Override
    void begin() {
      super.begin();
      element.begin();
    }

    @Override
    void appendNull() {
      vector.setNull(next(Integer.BYTES));
    }

    void start() {
      vector.startNewValue(count);
    }

    void end(int elements) {
      vector.endValue(next(Integer.BYTES), elements);
    }

    /** The struct of key and value, if this is a map. */
    Structs entry() {
      return (Structs) element;
    }
  }
}
