package dev.firn.testdata;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** Schemas of every v2 primitive type, in version 3 nanoseconds too, nested in all ways. */
public final class RandomTypes {
  private static final int MAP_KEY_TYPES = 7;

  private final Random random;
  private final int depthMax;
  private final boolean nanoseconds;
  private int lastId;

  /**
   * @param depthMax types are nested at most this deep
   * @param nanoseconds whether there are timestamps of nanoseconds, which version 3 has
   */
  public RandomTypes(Random random, int depthMax, boolean nanoseconds) {
    this.random = random;
    this.depthMax = depthMax;
    this.nanoseconds = nanoseconds;
  }

  /** A schema whose first column is a required long by the name of id. */
  public Schema schema(int columns) {
    List<Types.NestedField> fields = new ArrayList<>();
    fields.add(Types.NestedField.required(++lastId, "id", Types.LongType.get()));
    for (int i = 0; i < columns; i++) {
      int id = ++lastId;
      fields.add(Types.NestedField.of(id, random.nextInt(4) > 0, name(id), type(depthMax)));
    }
    return new Schema(fields);
  }

  /** A name that no other field has, now and then one that file formats must escape. */
  String name(int unique) {
    String[] styles = {
      "c%d", "col_%d", "Mixed%d", "with space %d", "dash-%d", "%dst", "\u00FCn\u00EF%d"
    };
    return String.format(styles[random.nextInt(3) > 0 ? 0 : random.nextInt(styles.length)], unique);
  }

  /** A type for a new column; its ids are made up and reassigned by a schema update. */
  Type type(int depth) {
    if (depth > 0 && random.nextInt(4) == 0) {
      return switch (random.nextInt(4)) {
        case 0 -> {
          int id = ++lastId;
          Type element = type(depth - 1);
          yield random.nextBoolean()
              ? Types.ListType.ofOptional(id, element)
              : Types.ListType.ofRequired(id, element);
        }
        case 1 -> {
          int key = ++lastId;
          int value = ++lastId;
          Type keyType = primitive(random.nextInt(MAP_KEY_TYPES));
          Type valueType = type(depth - 1);
          yield random.nextBoolean()
              ? Types.MapType.ofOptional(key, value, keyType, valueType)
              : Types.MapType.ofRequired(key, value, keyType, valueType);
        }
        default -> {
          List<Types.NestedField> fields = new ArrayList<>();
          for (int i = 1 + random.nextInt(3); i > 0; i--) {
            int id = ++lastId;
            fields.add(Types.NestedField.of(id, random.nextInt(4) > 0, name(id), type(depth - 1)));
          }
          yield Types.StructType.of(fields);
        }
      };
    }
    return primitive(random.nextInt(nanoseconds ? 19 : 17));
  }

  /* The first MAP_KEY_TYPES have Java values with equals and hashCode by value. */
  private Type primitive(int kind) {
    return switch (kind) {
      case 0 -> Types.StringType.get();
      case 1 -> Types.IntegerType.get();
      case 2 -> Types.LongType.get();
      case 3 -> Types.DateType.get();
      case 4 -> Types.UUIDType.get();
      case 5 -> Types.BooleanType.get();
      case 6 -> decimal(9);
      case 7 -> Types.FloatType.get();
      case 8 -> Types.DoubleType.get();
      case 9 -> Types.BinaryType.get();
      case 10 -> Types.FixedType.ofLength(1 + random.nextInt(20));
      case 11 -> Types.TimeType.get();
      case 12 -> Types.TimestampType.withoutZone();
      case 13 -> Types.TimestampType.withZone();
      case 14 -> decimal(18);
      case 15 -> decimal(38);
      case 16 -> Types.IntegerType.get();
      case 17 -> Types.TimestampNanoType.withoutZone();
      case 18 -> Types.TimestampNanoType.withZone();
      default -> throw new IllegalArgumentException("No type of kind " + kind);
    };
  }

  private Type decimal(int precisionMax) {
    int precision = 1 + random.nextInt(precisionMax);
    return Types.DecimalType.of(precision, random.nextInt(precision + 1));
  }
}
