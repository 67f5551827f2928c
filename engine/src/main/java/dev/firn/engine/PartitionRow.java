package dev.firn.engine;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.FixedSizeBinaryVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.UUIDUtil;
import org.jspecify.annotations.Nullable;

/**
 * One row of a batch as Iceberg's transforms take it, for the few rows at which the partition
 * changes. Lists and maps are not given: no transform takes them. Not thread-safe.
 */
final class PartitionRow implements StructLike {
  private final List<Types.NestedField> fields;
  private final List<FieldVector> vectors;
  private int row;

  PartitionRow(Schema schema, VectorSchemaRoot batch) {
    this(schema.columns(), batch.getFieldVectors());
  }

  private PartitionRow(List<Types.NestedField> fields, List<FieldVector> vectors) {
    this.fields = fields;
    this.vectors = vectors;
  }

  PartitionRow at(int index) {
    row = index;
    return this;
  }

  @Override
  public int size() {
    return fields.size();
  }

  @Override
  public <T> @Nullable T get(int pos, Class<T> javaClass) {
    Object value = value(fields.get(pos).type(), vectors.get(pos));
    return value == null ? null : javaClass.cast(value);
  }

  @Override
  public <T> void set(int pos, T value) {
    throw new UnsupportedOperationException("A row of a batch cannot be changed");
  }

  private @Nullable Object value(Type type, ValueVector vector) {
    if (vector.isNull(row)) {
      return null;
    }
    if (vector instanceof StructVector struct) {
      return new PartitionRow(type.asStructType().fields(), struct.getChildrenFromFields()).at(row);
    }
    if (vector instanceof BitVector bits) {
      return bits.get(row) != 0;
    }
    if (vector instanceof IntVector ints) {
      return type.typeId() == Type.TypeID.DECIMAL
          ? BigDecimal.valueOf(ints.get(row), scale(type))
          : (Object) ints.get(row);
    }
    if (vector instanceof BigIntVector longs) {
      return type.typeId() == Type.TypeID.DECIMAL
          ? BigDecimal.valueOf(longs.get(row), scale(type))
          : (Object) longs.get(row);
    }
    if (vector instanceof Float4Vector floats) {
      return floats.get(row);
    }
    if (vector instanceof Float8Vector doubles) {
      return doubles.get(row);
    }
    if (vector instanceof VarBinaryVector bytes) {
      return type.typeId() == Type.TypeID.STRING
          ? new String(bytes.get(row), StandardCharsets.UTF_8)
          : ByteBuffer.wrap(bytes.get(row));
    }
    if (vector instanceof FixedSizeBinaryVector bytes) {
      byte[] value = bytes.get(row);
      return switch (type.typeId()) {
        case UUID -> UUIDUtil.convert(value);
        case DECIMAL -> new BigDecimal(new BigInteger(value), scale(type));
        default -> ByteBuffer.wrap(value);
      };
    }
    throw new IllegalArgumentException("No partition value can be taken from " + type);
  }

  private static int scale(Type type) {
    return ((Types.DecimalType) type).scale();
  }
}
