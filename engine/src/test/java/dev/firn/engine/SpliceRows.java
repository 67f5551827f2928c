package dev.firn.engine;

import dev.firn.testdata.RandomValues;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/**
 * Rows whose columns have each a shape of its own: few values or many, ascending ones, long texts
 * that begin alike, the awkward ones of {@link RandomValues}; no nulls, some, long stretches of
 * them or nothing else.
 */
final class SpliceRows {
  private static final int FEW_MAX = 30;
  private static final int STRETCH_MAX = 400;

  private enum Shape {
    FEW,
    MANY,
    ASCENDING,
    LONG,
    CONSTANT
  }

  private enum Nulls {
    NONE,
    SOME,
    MOST,
    ALL,
    STRETCHES
  }

  private static final class Column {
    private final Shape shape;
    private final Nulls nulls;
    private final List<Object> pool = new ArrayList<>();
    private long next;
    private int stretchLeft;
    private boolean isNullStretch;

    Column(Random random) {
      shape = Shape.values()[random.nextInt(Shape.values().length)];
      int of = random.nextInt(8);
      nulls =
          of < 3
              ? Nulls.NONE
              : of < 5 ? Nulls.SOME : of == 5 ? Nulls.MOST : of == 6 ? Nulls.STRETCHES : Nulls.ALL;
      next = random.nextInt(1000) - 500;
    }
  }

  private final Random random;
  private final RandomValues values;
  private final Map<Integer, Column> columns = new HashMap<>();

  SpliceRows(Random random) {
    this.random = random;
    this.values = new RandomValues(random, false);
  }

  List<Record> rows(Schema schema, int count) {
    List<Record> rows = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      rows.add(row(schema.asStruct()));
    }
    return rows;
  }

  private Record row(Types.StructType type) {
    Record row = GenericRecord.create(type);
    for (int pos = 0; pos < type.fields().size(); pos++) {
      row.set(pos, value(type.fields().get(pos)));
    }
    return row;
  }

  private Object value(Types.NestedField field) {
    Column column = columns.computeIfAbsent(field.fieldId(), id -> new Column(random));
    if (field.isOptional() && isNull(column)) {
      return null;
    }
    Type type = field.type();
    if (type.isPrimitiveType()) {
      return primitive(column, type);
    } else if (type.isStructType()) {
      return row(type.asStructType());
    } else if (type.isListType()) {
      List<Object> elements = new ArrayList<>();
      for (int i = size(); i > 0; i--) {
        elements.add(value(type.asListType().fields().get(0)));
      }
      return elements;
    }
    Map<Object, Object> entries = new LinkedHashMap<>();
    for (int i = size(); i > 0; i--) {
      entries.put(
          primitive(
              columns.computeIfAbsent(type.asMapType().keyId(), id -> new Column(random)),
              type.asMapType().keyType()),
          value(type.asMapType().fields().get(1)));
    }
    return entries;
  }

  private int size() {
    return random.nextInt(3) == 0 ? 0 : random.nextInt(40) == 0 ? 40 : 1 + random.nextInt(3);
  }

  private boolean isNull(Column column) {
    return switch (column.nulls) {
      case NONE -> false;
      case SOME -> random.nextInt(10) == 0;
      case MOST -> random.nextInt(20) > 0;
      case ALL -> true;
      case STRETCHES -> {
        if (column.stretchLeft-- <= 0) {
          column.stretchLeft = random.nextInt(STRETCH_MAX);
          column.isNullStretch = !column.isNullStretch;
        }
        yield column.isNullStretch;
      }
    };
  }

  private Object primitive(Column column, Type type) {
    Object ascending = column.shape == Shape.ASCENDING ? ascending(column, type) : null;
    if (ascending != null) {
      return ascending;
    }
    if (column.shape == Shape.LONG && type.typeId() == Type.TypeID.STRING) {
      return "a".repeat(60 + random.nextInt(20)) + "\u00E9" + random.nextInt(1000);
    }
    if (column.shape == Shape.MANY || column.shape == Shape.LONG) {
      return values.primitive(type);
    }
    int size = column.shape == Shape.CONSTANT ? 1 : 1 + random.nextInt(FEW_MAX);
    while (column.pool.size() < size) {
      column.pool.add(values.primitive(type));
    }
    return column.pool.get(random.nextInt(size));
  }

  private Object ascending(Column column, Type type) {
    column.next += random.nextInt(3);
    return switch (type.typeId()) {
      case INTEGER -> (int) column.next;
      case LONG -> column.next;
      case FLOAT -> (float) column.next;
      case DOUBLE -> (double) column.next;
      case STRING -> String.format("%012d", column.next + 1000);
      case DATE -> LocalDate.ofEpochDay(column.next);
      default -> null;
    };
  }
}
