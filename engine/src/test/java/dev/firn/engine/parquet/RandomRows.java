package dev.firn.engine.parquet;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;

/** Random schemas and rows. The same seed gives the same. */
final class RandomRows {
  private static final OffsetDateTime EPOCH =
      OffsetDateTime.of(1970, 1, 1, 0, 0, 0, 0, ZoneOffset.UTC);

  private final Random random;
  private int nextId = 1;

  RandomRows(long seed) {
    this.random = new Random(seed);
  }

  /** Every primitive type, then structs, lists and maps with random contents. */
  static Schema everyType() {
    List<NestedField> fields = new ArrayList<>();
    List<Type> types = primitives(true);
    for (int i = 0; i < types.size(); i++) {
      fields.add(NestedField.optional(i + 1, "c" + i, types.get(i)));
    }
    for (int i = 0; i < types.size(); i++) {
      fields.add(NestedField.required(i + 101, "r" + i, types.get(i)));
    }
    return new Schema(fields);
  }

  static List<Type> primitives(boolean nanos) {
    List<Type> types =
        new ArrayList<>(
            List.of(
                Types.BooleanType.get(),
                Types.IntegerType.get(),
                Types.LongType.get(),
                Types.FloatType.get(),
                Types.DoubleType.get(),
                Types.DateType.get(),
                Types.TimeType.get(),
                Types.TimestampType.withZone(),
                Types.TimestampType.withoutZone(),
                Types.StringType.get(),
                Types.BinaryType.get(),
                Types.UUIDType.get(),
                Types.FixedType.ofLength(5),
                Types.DecimalType.of(7, 2),
                Types.DecimalType.of(17, 4),
                Types.DecimalType.of(38, 10),
                Types.DecimalType.of(20, 0)));
    if (nanos) {
      types.add(Types.TimestampNanoType.withZone());
      types.add(Types.TimestampNanoType.withoutZone());
    }
    return types;
  }

  Schema schema(int columns) {
    List<NestedField> fields = new ArrayList<>();
    for (int i = 0; i < columns; i++) {
      fields.add(field("col" + i, 3));
    }
    return new Schema(fields);
  }

  private NestedField field(String name, int depth) {
    int id = nextId++;
    return NestedField.of(id, random.nextBoolean(), name, type(depth));
  }

  private Type type(int depth) {
    int kind = depth == 0 ? 9 : random.nextInt(6);
    switch (kind) {
      case 0:
        {
          List<NestedField> fields = new ArrayList<>();
          int count = 1 + random.nextInt(3);
          for (int i = 0; i < count; i++) {
            fields.add(field("f" + i, depth - 1));
          }
          return Types.StructType.of(fields);
        }
      case 1:
        {
          int id = nextId++;
          Type element = type(depth - 1);
          return random.nextBoolean()
              ? Types.ListType.ofOptional(id, element)
              : Types.ListType.ofRequired(id, element);
        }
      case 2:
        {
          int keyId = nextId++;
          int valueId = nextId++;
          Type key = random.nextBoolean() ? Types.StringType.get() : Types.IntegerType.get();
          Type value = type(depth - 1);
          return random.nextBoolean()
              ? Types.MapType.ofOptional(keyId, valueId, key, value)
              : Types.MapType.ofRequired(keyId, valueId, key, value);
        }
      default:
        List<Type> types = primitives(true);
        return types.get(random.nextInt(types.size()));
    }
  }

  List<Record> rows(Schema schema, int count) {
    List<Record> rows = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      rows.add(struct(schema.asStruct()));
    }
    return rows;
  }

  private Record struct(Types.StructType type) {
    GenericRecord record = GenericRecord.create(type);
    for (int i = 0; i < type.fields().size(); i++) {
      NestedField field = type.fields().get(i);
      record.set(i, value(field.isOptional(), field.type()));
    }
    return record;
  }

  private Object value(boolean optional, Type type) {
    if (optional && random.nextInt(5) == 0) {
      return null;
    }
    if (type instanceof Types.StructType struct) {
      return struct(struct);
    } else if (type instanceof Types.ListType list) {
      List<Object> elements = new ArrayList<>();
      int count = random.nextInt(4);
      for (int i = 0; i < count; i++) {
        elements.add(value(list.isElementOptional(), list.elementType()));
      }
      return elements;
    } else if (type instanceof Types.MapType map) {
      Map<Object, Object> entries = new LinkedHashMap<>();
      int count = random.nextInt(4);
      for (int i = 0; i < count; i++) {
        entries.put(value(false, map.keyType()), value(map.isValueOptional(), map.valueType()));
      }
      return entries;
    }
    return primitive(type);
  }

  Object primitive(Type type) {
    switch (type.typeId()) {
      case BOOLEAN:
        return random.nextBoolean();
      case INTEGER:
        return random.nextBoolean() ? random.nextInt() : random.nextInt(10);
      case LONG:
        return random.nextBoolean() ? random.nextLong() : (long) random.nextInt(10);
      case FLOAT:
        return switch (random.nextInt(12)) {
          case 0 -> Float.NaN;
          case 1 -> -0.0f;
          case 2 -> 0.0f;
          case 3 -> Float.NEGATIVE_INFINITY;
          case 4 -> Float.MIN_VALUE;
          default -> (float) random.nextGaussian() * 1000;
        };
      case DOUBLE:
        return switch (random.nextInt(12)) {
          case 0 -> Double.NaN;
          case 1 -> -0.0;
          case 2 -> 0.0;
          case 3 -> Double.POSITIVE_INFINITY;
          case 4 -> Double.MIN_VALUE;
          default -> random.nextGaussian() * 1000;
        };
      case DATE:
        return LocalDate.ofEpochDay(random.nextInt(60_000) - 20_000);
      case TIME:
        return LocalTime.ofNanoOfDay(random.nextLong(86_400_000_000L) * 1000);
      case TIMESTAMP:
        {
          OffsetDateTime time =
              EPOCH.plusSeconds(random.nextInt()).plusNanos(random.nextInt(1_000_000) * 1000L);
          return ((Types.TimestampType) type).shouldAdjustToUTC() ? time : time.toLocalDateTime();
        }
      case TIMESTAMP_NANO:
        {
          OffsetDateTime time =
              EPOCH.plusSeconds(random.nextInt()).plusNanos(random.nextInt(1_000_000_000));
          return ((Types.TimestampNanoType) type).shouldAdjustToUTC()
              ? time
              : time.toLocalDateTime();
        }
      case STRING:
        return text();
      case BINARY:
        return ByteBuffer.wrap(bytes(random.nextInt(24)));
      case UUID:
        return new UUID(random.nextLong(), random.nextLong());
      case FIXED:
        return bytes(((Types.FixedType) type).length());
      case DECIMAL:
        {
          Types.DecimalType decimal = (Types.DecimalType) type;
          BigInteger unscaled =
              new BigInteger(random.nextInt((int) (decimal.precision() * 3.32)) + 1, random);
          return new BigDecimal(
              random.nextBoolean() ? unscaled : unscaled.negate(), decimal.scale());
        }
      default:
        throw new IllegalArgumentException("No value of " + type);
    }
  }

  private String text() {
    if (random.nextBoolean()) {
      return List.of("", "north", "south", "east", "west").get(random.nextInt(5));
    }
    StringBuilder text = new StringBuilder();
    int length = random.nextInt(30);
    for (int i = 0; i < length; i++) {
      int point =
          switch (random.nextInt(8)) {
            case 0 -> 0x10FFFF;
            case 1 -> 0xD7FF;
            case 2 -> 0x1F600 + random.nextInt(50);
            default -> 'a' + random.nextInt(26);
          };
      text.appendCodePoint(point);
    }
    return text.toString();
  }

  private byte[] bytes(int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    if (length > 0 && random.nextInt(4) == 0) {
      java.util.Arrays.fill(bytes, (byte) 0xFF);
    }
    return bytes;
  }

  Random random() {
    return random;
  }
}
