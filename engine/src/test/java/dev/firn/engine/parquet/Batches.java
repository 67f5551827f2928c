package dev.firn.engine.parquet;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.arrow.memory.BufferAllocator;
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
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;

/** Batches in the physical layout, made from generic records. */
final class Batches {
  private static final OffsetDateTime EPOCH =
      OffsetDateTime.of(1970, 1, 1, 0, 0, 0, 0, ZoneOffset.UTC);

  private Batches() {}

  /** The Arrow schema of batches of {@code columns}. */
  static org.apache.arrow.vector.types.pojo.Schema schema(Schema columns) {
    List<Field> fields = new ArrayList<>();
    for (NestedField column : columns.columns()) {
      fields.add(field(column));
    }
    return new org.apache.arrow.vector.types.pojo.Schema(fields);
  }

  private static Field field(NestedField field) {
    return field(String.valueOf(field.fieldId()), field.isOptional(), field.type());
  }

  private static Field field(String name, boolean optional, Type type) {
    List<Field> children = new ArrayList<>();
    if (type instanceof Types.StructType struct) {
      struct.fields().forEach(child -> children.add(field(child)));
    } else if (type instanceof Types.ListType list) {
      children.add(field(list.fields().get(0)));
    } else if (type instanceof Types.MapType map) {
      children.add(
          new Field(
              "entries",
              FieldType.notNullable(ArrowType.Struct.INSTANCE),
              List.of(field(map.fields().get(0)), field(map.fields().get(1)))));
    }
    return new Field(name, new FieldType(optional, arrowType(type), null), children);
  }

  private static ArrowType arrowType(Type type) {
    return switch (type.typeId()) {
      case BOOLEAN -> ArrowType.Bool.INSTANCE;
      case INTEGER, DATE -> new ArrowType.Int(32, true);
      case LONG, TIME, TIMESTAMP, TIMESTAMP_NANO -> new ArrowType.Int(64, true);
      case FLOAT -> new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE);
      case DOUBLE -> new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE);
      case STRING, BINARY -> ArrowType.Binary.INSTANCE;
      case UUID -> new ArrowType.FixedSizeBinary(16);
      case FIXED -> new ArrowType.FixedSizeBinary(((Types.FixedType) type).length());
      case DECIMAL -> {
        int precision = ((Types.DecimalType) type).precision();
        yield precision <= 9
            ? new ArrowType.Int(32, true)
            : precision <= 18
                ? new ArrowType.Int(64, true)
                : new ArrowType.FixedSizeBinary(TypeUtil.decimalRequiredBytes(precision));
      }
      case STRUCT -> ArrowType.Struct.INSTANCE;
      case LIST -> ArrowType.List.INSTANCE;
      case MAP -> new ArrowType.Map(false);
      default -> throw new IllegalArgumentException("No vector for " + type);
    };
  }

  /** One batch with all {@code rows}. Closed by the caller. */
  static VectorSchemaRoot of(
      Schema columns, List<? extends StructLike> rows, BufferAllocator allocator) {
    VectorSchemaRoot root = VectorSchemaRoot.create(schema(columns), allocator);
    root.allocateNew();
    for (int c = 0; c < columns.columns().size(); c++) {
      NestedField column = columns.columns().get(c);
      List<Object> values = new ArrayList<>(rows.size());
      for (StructLike row : rows) {
        values.add(row.get(c, Object.class));
      }
      fill(root.getVector(c), column.type(), values);
    }
    root.setRowCount(rows.size());
    return root;
  }

  private static void fill(FieldVector vector, Type type, List<?> values) {
    for (int i = 0; i < values.size(); i++) {
      set(vector, type, i, values.get(i));
    }
    vector.setValueCount(values.size());
  }

  /** Writes a value at a slot; slots must be written in ascending order. */
  static void set(FieldVector vector, Type type, int slot, Object value) {
    if (vector instanceof MapVector map) {
      Types.MapType mapType = (Types.MapType) type;
      if (value == null) {
        map.setNull(slot);
        return;
      }
      int first = map.startNewValue(slot);
      StructVector entries = (StructVector) map.getDataVector();
      int at = first;
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
        entries.setIndexDefined(at);
        set(child(entries, 0), mapType.keyType(), at, entry.getKey());
        set(child(entries, 1), mapType.valueType(), at, entry.getValue());
        at++;
      }
      map.endValue(slot, at - first);
    } else if (vector instanceof ListVector list) {
      if (value == null) {
        list.setNull(slot);
        return;
      }
      int first = list.startNewValue(slot);
      int at = first;
      for (Object element : (List<?>) value) {
        set(list.getDataVector(), ((Types.ListType) type).elementType(), at++, element);
      }
      list.endValue(slot, at - first);
    } else if (vector instanceof StructVector struct) {
      List<NestedField> fields = ((Types.StructType) type).fields();
      if (value == null) {
        while (struct.getValueCapacity() <= slot) {
          struct.reAlloc();
        }
        struct.setNull(slot);
      } else {
        struct.setIndexDefined(slot);
      }
      for (int f = 0; f < fields.size(); f++) {
        set(
            child(struct, f),
            fields.get(f).type(),
            slot,
            value == null ? null : ((StructLike) value).get(f, Object.class));
      }
    } else {
      setLeaf(vector, type, slot, value);
    }
  }

  private static FieldVector child(StructVector struct, int position) {
    return (FieldVector) struct.getChildByOrdinal(position);
  }

  private static void setLeaf(FieldVector vector, Type type, int slot, Object value) {
    if (vector instanceof BitVector bits) {
      if (value == null) {
        grow(vector, slot);
        bits.setNull(slot);
      } else {
        bits.setSafe(slot, (Boolean) value ? 1 : 0);
      }
    } else if (vector instanceof IntVector ints) {
      if (value == null) {
        ints.setNull(slot);
      } else {
        ints.setSafe(slot, (int) number(type, value));
      }
    } else if (vector instanceof BigIntVector longs) {
      if (value == null) {
        longs.setNull(slot);
      } else {
        longs.setSafe(slot, number(type, value));
      }
    } else if (vector instanceof Float4Vector floats) {
      if (value == null) {
        floats.setNull(slot);
      } else {
        grow(vector, slot);
        floats.setIndexDefined(slot);
        floats.getDataBuffer().setInt(4L * slot, Float.floatToRawIntBits((Float) value));
      }
    } else if (vector instanceof Float8Vector doubles) {
      if (value == null) {
        doubles.setNull(slot);
      } else {
        grow(vector, slot);
        doubles.setIndexDefined(slot);
        doubles.getDataBuffer().setLong(8L * slot, Double.doubleToRawLongBits((Double) value));
      }
    } else if (vector instanceof VarBinaryVector binaries) {
      if (value == null) {
        grow(vector, slot);
        binaries.setNull(slot);
      } else {
        binaries.setSafe(slot, bytes(type, value));
      }
    } else if (vector instanceof FixedSizeBinaryVector fixed) {
      if (value == null) {
        fixed.setNull(slot);
      } else {
        fixed.setSafe(slot, bytes(type, value));
      }
    } else {
      throw new IllegalArgumentException("No value for " + vector.getField());
    }
  }

  private static void grow(FieldVector vector, int slot) {
    while (vector.getValueCapacity() <= slot) {
      vector.reAlloc();
    }
  }

  private static long number(Type type, Object value) {
    return switch (type.typeId()) {
      case INTEGER -> (Integer) value;
      case LONG -> (Long) value;
      case DATE -> ((LocalDate) value).toEpochDay();
      case TIME -> ((LocalTime) value).toNanoOfDay() / 1000;
      case TIMESTAMP -> ChronoUnit.MICROS.between(EPOCH, utc(value));
      case TIMESTAMP_NANO -> ChronoUnit.NANOS.between(EPOCH, utc(value));
      case DECIMAL -> ((BigDecimal) value).unscaledValue().longValueExact();
      default -> throw new IllegalArgumentException("No number for " + type);
    };
  }

  private static OffsetDateTime utc(Object value) {
    return value instanceof LocalDateTime local
        ? local.atOffset(ZoneOffset.UTC)
        : (OffsetDateTime) value;
  }

  private static byte[] bytes(Type type, Object value) {
    if (value instanceof String text) {
      return text.getBytes(StandardCharsets.UTF_8);
    } else if (value instanceof ByteBuffer buffer) {
      byte[] bytes = new byte[buffer.remaining()];
      buffer.duplicate().get(bytes);
      return bytes;
    } else if (value instanceof UUID uuid) {
      return ByteBuffer.allocate(16)
          .putLong(uuid.getMostSignificantBits())
          .putLong(uuid.getLeastSignificantBits())
          .array();
    } else if (value instanceof BigDecimal decimal) {
      int width = TypeUtil.decimalRequiredBytes(((Types.DecimalType) type).precision());
      BigInteger unscaled = decimal.unscaledValue();
      byte[] least = unscaled.toByteArray();
      byte[] bytes = new byte[width];
      java.util.Arrays.fill(bytes, (byte) (unscaled.signum() < 0 ? -1 : 0));
      System.arraycopy(least, 0, bytes, width - least.length, least.length);
      return bytes;
    }
    return (byte[]) value;
  }
}
