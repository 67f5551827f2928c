package dev.firn.sort;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;

/**
 * Rows as plain values, and batches made of them and read back without the code under test. Values
 * are Iceberg's internal ones (days, micros, CharSequence, ByteBuffer, UUID, BigDecimal), a struct
 * is a {@link Row}, a list a List, a map a List of Rows of key and value.
 */
final class PhysicalRows {

  /** A row or struct. Equal by value, floats by bits. */
  record Row(Object[] values) implements StructLike {
    @Override
    public int size() {
      return values.length;
    }

    @Override
    public <T> T get(int position, Class<T> javaClass) {
      return javaClass.cast(values[position]);
    }

    @Override
    public <T> void set(int position, T value) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Row row && Arrays.equals(bits(values), bits(row.values));
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(bits(values));
    }

    @Override
    public String toString() {
      return Arrays.toString(values);
    }

    private static Object[] bits(Object[] values) {
      Object[] bits = new Object[values.length];
      for (int i = 0; i < bits.length; i++) {
        bits[i] = bitsOf(values[i]);
      }
      return bits;
    }

    private static Object bitsOf(Object value) {
      if (value instanceof Float f) {
        return "f" + Float.floatToRawIntBits(f);
      }
      if (value instanceof Double d) {
        return "d" + Double.doubleToRawLongBits(d);
      }
      if (value instanceof List<?> list) {
        return list.stream().map(Row::bitsOf).toList();
      }
      return value;
    }
  }

  private final Random random;

  /** What lies under nulls, before offsets and behind values comes from {@code random}. */
  PhysicalRows(Random random) {
    this.random = random;
  }

  VectorSchemaRoot batch(Schema schema, List<Row> rows, BufferAllocator allocator) {
    List<FieldVector> vectors = new ArrayList<>();
    for (int column = 0; column < schema.columns().size(); column++) {
      Types.NestedField field = schema.columns().get(column);
      List<Object> values = new ArrayList<>();
      for (Row row : rows) {
        values.add(row.values[column]);
      }
      FieldVector vector = field(field).createVector(allocator);
      fill(vector, field.type(), values);
      vectors.add(vector);
    }
    return new VectorSchemaRoot(
        vectors.stream().map(FieldVector::getField).toList(), vectors, rows.size());
  }

  static Field field(Types.NestedField field) {
    return field(Integer.toString(field.fieldId()), field.isOptional(), field.type());
  }

  private static Field field(String name, boolean optional, Type type) {
    List<Field> children = new ArrayList<>();
    ArrowType arrow;
    switch (type.typeId()) {
      case BOOLEAN:
        arrow = new ArrowType.Bool();
        break;
      case STRING:
      case BINARY:
        arrow = new ArrowType.Binary();
        break;
      case FLOAT:
        arrow = new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE);
        break;
      case DOUBLE:
        arrow = new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE);
        break;
      case STRUCT:
        type.asStructType().fields().forEach(child -> children.add(field(child)));
        arrow = new ArrowType.Struct();
        break;
      case LIST:
        children.add(field(type.asListType().fields().get(0)));
        arrow = new ArrowType.List();
        break;
      case MAP:
        children.add(
            new Field(
                "entries",
                new FieldType(false, new ArrowType.Struct(), null),
                type.asMapType().fields().stream().map(PhysicalRows::field).toList()));
        arrow = new ArrowType.Map(false);
        break;
      default:
        int width = width(type);
        arrow =
            width == 4 && !isBytes(type)
                ? new ArrowType.Int(32, true)
                : width == 8 && !isBytes(type)
                    ? new ArrowType.Int(64, true)
                    : new ArrowType.FixedSizeBinary(width);
    }
    return new Field(name, new FieldType(optional, arrow, null), children);
  }

  private static boolean isBytes(Type type) {
    return type.typeId() == Type.TypeID.UUID
        || type.typeId() == Type.TypeID.FIXED
        || (type instanceof Types.DecimalType decimal && decimal.precision() > 18);
  }

  private static int width(Type type) {
    switch (type.typeId()) {
      case INTEGER:
      case DATE:
      case FLOAT:
        return 4;
      case UUID:
        return 16;
      case FIXED:
        return ((Types.FixedType) type).length();
      case DECIMAL:
        int precision = ((Types.DecimalType) type).precision();
        return precision <= 9 ? 4 : precision <= 18 ? 8 : TypeUtil.decimalRequiredBytes(precision);
      default:
        return 8;
    }
  }

  private void fill(FieldVector vector, Type type, List<Object> values) {
    int count = values.size();
    BufferAllocator allocator = vector.getAllocator();
    byte[] bits = new byte[(count + 7) / 8];
    int nulls = 0;
    for (int i = 0; i < count; i++) {
      if (values.get(i) == null) {
        nulls++;
      } else {
        bits[i >> 3] |= (byte) (1 << (i & 7));
      }
    }
    ArrowFieldNode node = new ArrowFieldNode(count, nulls);
    try (ArrowBuf validity = nulls == 0 ? null : buffer(allocator, bits)) {
      switch (type.typeId()) {
        case BOOLEAN:
          byte[] flags = new byte[(count + 7) / 8];
          for (int i = 0; i < count; i++) {
            boolean set = values.get(i) == null ? random.nextBoolean() : (Boolean) values.get(i);
            flags[i >> 3] |= (byte) (set ? 1 << (i & 7) : 0);
          }
          try (ArrowBuf data = buffer(allocator, flags)) {
            vector.loadFieldBuffers(node, Arrays.asList(validity, data));
          }
          return;
        case STRING:
        case BINARY:
          fillVariable(vector, node, validity, values);
          return;
        case STRUCT:
          fillStruct(vector, type.asStructType(), values);
          vector.loadFieldBuffers(node, Arrays.asList(validity));
          return;
        case LIST:
        case MAP:
          fillLists(vector, node, validity, type, values);
          return;
        default:
          int width = width(type);
          ByteBuffer bytes = ByteBuffer.allocate(count * width).order(ByteOrder.LITTLE_ENDIAN);
          for (Object value : values) {
            byte[] garbage = new byte[width];
            random.nextBytes(garbage);
            bytes.put(value == null ? garbage : fixedBytes(type, width, value));
          }
          try (ArrowBuf data = buffer(allocator, bytes.array())) {
            vector.loadFieldBuffers(node, Arrays.asList(validity, data));
          }
      }
    }
  }

  private static byte[] fixedBytes(Type type, int width, Object value) {
    ByteBuffer bytes = ByteBuffer.allocate(width).order(ByteOrder.LITTLE_ENDIAN);
    if (value instanceof Integer number) {
      bytes.putInt(number);
    } else if (value instanceof Long number) {
      bytes.putLong(number);
    } else if (value instanceof Float number) {
      bytes.putInt(Float.floatToRawIntBits(number));
    } else if (value instanceof Double number) {
      bytes.putLong(Double.doubleToRawLongBits(number));
    } else if (value instanceof UUID uuid) {
      bytes.order(ByteOrder.BIG_ENDIAN);
      bytes.putLong(uuid.getMostSignificantBits()).putLong(uuid.getLeastSignificantBits());
    } else if (value instanceof ByteBuffer buffer) {
      bytes.put(buffer.duplicate());
    } else if (value instanceof BigDecimal decimal) {
      BigInteger unscaled = decimal.unscaledValue();
      if (!isBytes(type)) {
        return width == 4
            ? bytes.putInt(unscaled.intValueExact()).array()
            : bytes.putLong(unscaled.longValueExact()).array();
      }
      byte[] minimal = unscaled.toByteArray();
      Arrays.fill(bytes.array(), 0, width - minimal.length, (byte) (unscaled.signum() >> 1));
      System.arraycopy(minimal, 0, bytes.array(), width - minimal.length, minimal.length);
    } else {
      throw new AssertionError(value.getClass());
    }
    return bytes.array();
  }

  private static byte[] variableBytes(Object value) {
    if (value instanceof CharSequence chars) {
      return chars.toString().getBytes(StandardCharsets.UTF_8);
    }
    ByteBuffer buffer = ((ByteBuffer) value).duplicate();
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  private void fillVariable(
      FieldVector vector, ArrowFieldNode node, ArrowBuf validity, List<Object> values) {
    List<byte[]> pieces = new ArrayList<>();
    int[] ends = new int[values.size() + 1];
    ends[0] = random.nextInt(3) * 5;
    pieces.add(randomBytes(ends[0]));
    for (int i = 0; i < values.size(); i++) {
      Object value = values.get(i);
      byte[] piece = value == null ? randomBytes(random.nextInt(4)) : variableBytes(value);
      pieces.add(piece);
      ends[i + 1] = ends[i] + piece.length;
    }
    ByteBuffer all = ByteBuffer.allocate(ends[values.size()]);
    pieces.forEach(all::put);
    try (ArrowBuf offsets = buffer(vector.getAllocator(), littleEndian(ends));
        ArrowBuf data = buffer(vector.getAllocator(), all.array())) {
      vector.loadFieldBuffers(node, Arrays.asList(validity, offsets, data));
    }
  }

  private void fillStruct(FieldVector vector, Types.StructType type, List<Object> values) {
    for (int child = 0; child < type.fields().size(); child++) {
      Type childType = type.fields().get(child).type();
      List<Object> childValues = new ArrayList<>();
      for (Object value : values) {
        childValues.add(
            value == null
                ? random.nextBoolean() ? null : new RandomRows(random).value(childType)
                : ((Row) value).values[child]);
      }
      fill(vector.getChildrenFromFields().get(child), childType, childValues);
    }
  }

  private void fillLists(
      FieldVector vector, ArrowFieldNode node, ArrowBuf validity, Type type, List<Object> values) {
    Type elementType =
        type.isListType()
            ? type.asListType().elementType()
            : Types.StructType.of(type.asMapType().fields());
    RandomRows garbage = new RandomRows(random);
    List<Object> elements = new ArrayList<>();
    int[] ends = new int[values.size() + 1];
    for (int i = random.nextInt(3); i > 0; i--) {
      elements.add(garbage.value(elementType));
    }
    ends[0] = elements.size();
    for (int i = 0; i < values.size(); i++) {
      if (values.get(i) != null) {
        elements.addAll((List<?>) values.get(i));
      } else if (random.nextBoolean()) {
        elements.add(garbage.value(elementType));
      }
      ends[i + 1] = elements.size();
    }
    fill(vector.getChildrenFromFields().get(0), elementType, elements);
    try (ArrowBuf offsets = buffer(vector.getAllocator(), littleEndian(ends))) {
      vector.loadFieldBuffers(node, Arrays.asList(validity, offsets));
    }
  }

  private byte[] randomBytes(int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  private static byte[] littleEndian(int[] values) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (int value : values) {
      bytes.putInt(value);
    }
    return bytes.array();
  }

  private static ArrowBuf buffer(BufferAllocator allocator, byte[] bytes) {
    ArrowBuf buffer = allocator.buffer(bytes.length);
    buffer.setBytes(0, bytes);
    buffer.writerIndex(bytes.length);
    return buffer;
  }

  static List<Row> rows(Schema schema, VectorSchemaRoot batch) {
    List<Row> rows = new ArrayList<>();
    for (int row = 0; row < batch.getRowCount(); row++) {
      Object[] values = new Object[schema.columns().size()];
      for (int column = 0; column < values.length; column++) {
        values[column] = value(batch.getVector(column), schema.columns().get(column).type(), row);
      }
      rows.add(new Row(values));
    }
    return rows;
  }

  static Object value(FieldVector vector, Type type, int row) {
    if (vector.isNull(row)) {
      return null;
    }
    switch (type.typeId()) {
      case BOOLEAN:
        return (vector.getDataBuffer().getByte(row >> 3) >> (row & 7) & 1) != 0;
      case STRING:
        return new String(variable(vector, row), StandardCharsets.UTF_8);
      case BINARY:
        return ByteBuffer.wrap(variable(vector, row));
      case STRUCT:
        return struct(vector, type.asStructType().fields(), row);
      case LIST:
      case MAP:
        List<Object> elements = new ArrayList<>();
        FieldVector child = vector.getChildrenFromFields().get(0);
        int start = vector.getOffsetBuffer().getInt(4L * row);
        for (int at = start; at < vector.getOffsetBuffer().getInt(4L * row + 4); at++) {
          elements.add(
              type.isListType()
                  ? value(child, type.asListType().elementType(), at)
                  : struct(child, type.asMapType().fields(), at));
        }
        return elements;
      default:
        byte[] bytes = new byte[width(type)];
        vector.getDataBuffer().getBytes((long) row * bytes.length, bytes);
        return fixedValue(type, ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN));
    }
  }

  private static Row struct(FieldVector vector, List<Types.NestedField> fields, int row) {
    Object[] values = new Object[fields.size()];
    for (int child = 0; child < values.length; child++) {
      values[child] =
          value(vector.getChildrenFromFields().get(child), fields.get(child).type(), row);
    }
    return new Row(values);
  }

  private static byte[] variable(FieldVector vector, int row) {
    int start = vector.getOffsetBuffer().getInt(4L * row);
    byte[] bytes = new byte[vector.getOffsetBuffer().getInt(4L * row + 4) - start];
    vector.getDataBuffer().getBytes(start, bytes);
    return bytes;
  }

  private static Object fixedValue(Type type, ByteBuffer bytes) {
    switch (type.typeId()) {
      case INTEGER:
      case DATE:
        return bytes.getInt();
      case FLOAT:
        return Float.intBitsToFloat(bytes.getInt());
      case DOUBLE:
        return Double.longBitsToDouble(bytes.getLong());
      case UUID:
        bytes.order(ByteOrder.BIG_ENDIAN);
        return new UUID(bytes.getLong(), bytes.getLong());
      case FIXED:
        return bytes.order(ByteOrder.BIG_ENDIAN);
      case DECIMAL:
        int scale = ((Types.DecimalType) type).scale();
        return isBytes(type)
            ? new BigDecimal(new BigInteger(bytes.array()), scale)
            : BigDecimal.valueOf(bytes.capacity() == 4 ? bytes.getInt() : bytes.getLong(), scale);
      default:
        return bytes.getLong();
    }
  }
}
