package dev.firn.engine.parquet;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;

/**
 * The Arrow schema of batches: one field per column, named by its field id, of the Parquet physical
 * type that Iceberg writes for the column's type.
 */
public final class PhysicalLayout {
  private static final ArrowType INT = new ArrowType.Int(32, true);
  private static final ArrowType LONG = new ArrowType.Int(64, true);

  private PhysicalLayout() {}

  /** The Arrow schema of batches with the columns of {@code columns}, in their order. */
  public static org.apache.arrow.vector.types.pojo.Schema of(Schema columns) {
    List<Field> fields = new ArrayList<>();
    for (Types.NestedField column : columns.columns()) {
      fields.add(field(column));
    }
    return new org.apache.arrow.vector.types.pojo.Schema(fields);
  }

  /** The Arrow field of one column, with its children. */
  public static Field field(Types.NestedField column) {
    String name = Integer.toString(column.fieldId());
    Type type = column.type();
    List<Field> children = new ArrayList<>();
    if (type.isStructType()) {
      for (Types.NestedField child : type.asStructType().fields()) {
        children.add(field(child));
      }
    } else if (type.isListType()) {
      children.add(field(type.asListType().fields().get(0)));
    } else if (type.isMapType()) {
      List<Field> entry = new ArrayList<>();
      for (Types.NestedField child : type.asMapType().fields()) {
        entry.add(field(child));
      }
      children.add(new Field("entries", FieldType.notNullable(ArrowType.Struct.INSTANCE), entry));
    }
    return new Field(name, new FieldType(column.isOptional(), arrowType(type), null), children);
  }

  private static ArrowType arrowType(Type type) {
    switch (type.typeId()) {
      case BOOLEAN:
        return ArrowType.Bool.INSTANCE;
      case INTEGER:
      case DATE:
        return INT;
      case LONG:
      case TIME:
      case TIMESTAMP:
      case TIMESTAMP_NANO:
        return LONG;
      case FLOAT:
        return new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE);
      case DOUBLE:
        return new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE);
      case STRING:
      case BINARY:
        return ArrowType.Binary.INSTANCE;
      case UUID:
        return new ArrowType.FixedSizeBinary(16);
      case FIXED:
        return new ArrowType.FixedSizeBinary(((Types.FixedType) type).length());
      case DECIMAL:
        int precision = ((Types.DecimalType) type).precision();
        if (precision <= 9) {
          return INT;
        }
        return precision <= 18
            ? LONG
            : new ArrowType.FixedSizeBinary(TypeUtil.decimalRequiredBytes(precision));
      case STRUCT:
        return ArrowType.Struct.INSTANCE;
      case LIST:
        return ArrowType.List.INSTANCE;
      case MAP:
        return new ArrowType.Map(false);
      default:
        throw new UnsupportedTableException("Type " + type + " is not supported");
    }
  }
}
