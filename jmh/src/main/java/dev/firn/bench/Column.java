package dev.firn.bench;

import static org.apache.iceberg.types.Types.NestedField.optional;

import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.types.Types.MinorType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/** Kinds of columns to measure with: a type and how its values repeat. One in ten is null. */
public enum Column {
  /** Longs, all different. */
  LONG_UNIQUE(Types.LongType.get(), MinorType.BIGINT),
  /** Longs of a hundred values. */
  LONG_FEW(Types.LongType.get(), MinorType.BIGINT),
  /** Dates of ten years. */
  DATE(Types.DateType.get(), MinorType.DATEDAY),
  /** Doubles, all different. */
  DOUBLE(Types.DoubleType.get(), MinorType.FLOAT8),
  /** Short texts of a thousand values. */
  TEXT_FEW(Types.StringType.get(), MinorType.VARBINARY),
  /** Texts of 24 letters, all different. */
  TEXT_UNIQUE(Types.StringType.get(), MinorType.VARBINARY),
  /** Texts of 18 letters in ascending order, each three times. */
  TEXT_ASCENDING(Types.StringType.get(), MinorType.VARBINARY),
  /** Lists of none to five longs. */
  LIST(Types.ListType.ofRequired(2, Types.LongType.get()), MinorType.LIST);

  private final Type type;
  private final MinorType minor;

  Column(Type type, MinorType minor) {
    this.type = type;
    this.minor = minor;
  }

  Schema schema() {
    return new Schema(optional(1, "c", type));
  }

  /** The values as generic records have them, but dates as days. The same at each call. */
  private List<@Nullable Object> values(int rows) {
    Random random = new Random(42);
    List<@Nullable Object> values = new ArrayList<>(rows);
    for (int i = 0; i < rows; i++) {
      values.add(random.nextInt(10) == 0 ? null : value(random, i));
    }
    return values;
  }

  private Object value(Random random, int row) {
    return switch (this) {
      case LONG_UNIQUE -> random.nextLong();
      case LONG_FEW -> (long) random.nextInt(100);
      case DATE -> 18_000 + random.nextInt(3650);
      case DOUBLE -> random.nextDouble();
      case TEXT_FEW -> "value-" + random.nextInt(1000);
      case TEXT_UNIQUE -> String.format("%08x-%015x", random.nextInt(), random.nextLong(1L << 60));
      case TEXT_ASCENDING -> "customer-" + (100_000_000 + row / 3);
      case LIST -> random.longs(random.nextInt(6), 0, 1000).boxed().toList();
    };
  }

  /** Generic records of the column. */
  List<Record> records(int rows) {
    Schema schema = schema();
    List<Record> records = new ArrayList<>(rows);
    for (Object value : values(rows)) {
      GenericRecord record = GenericRecord.create(schema);
      record.set(0, this == DATE && value != null ? LocalDate.ofEpochDay((Integer) value) : value);
      records.add(record);
    }
    return records;
  }

  /** The same rows as one batch. Closed by the caller. */
  VectorSchemaRoot batch(int rows, BufferAllocator allocator) {
    MinorType physical = minor == MinorType.DATEDAY ? MinorType.INT : minor;
    List<Field> children =
        this == LIST
            ? List.of(new Field("2", FieldType.notNullable(MinorType.BIGINT.getType()), null))
            : List.of();
    Field field = new Field("1", FieldType.nullable(physical.getType()), children);
    VectorSchemaRoot batch =
        VectorSchemaRoot.create(
            new org.apache.arrow.vector.types.pojo.Schema(List.of(field)), allocator);
    batch.allocateNew();
    FieldVector vector = batch.getVector(0);
    int row = 0;
    for (Object value : values(rows)) {
      if (value != null) {
        set(vector, row, value);
      } else {
        while (vector.getValueCapacity() <= row) {
          vector.reAlloc();
        }
        vector.setNull(row);
      }
      row++;
    }
    batch.setRowCount(rows);
    return batch;
  }

  private static void set(FieldVector vector, int row, Object value) {
    if (vector instanceof BigIntVector longs) {
      longs.setSafe(row, (Long) value);
    } else if (vector instanceof IntVector ints) {
      ints.setSafe(row, (Integer) value);
    } else if (vector instanceof Float8Vector doubles) {
      doubles.setSafe(row, (Double) value);
    } else if (vector instanceof VarBinaryVector binaries) {
      binaries.setSafe(row, ((String) value).getBytes(StandardCharsets.UTF_8));
    } else if (vector instanceof ListVector list) {
      int at = list.startNewValue(row);
      List<?> elements = (List<?>) value;
      for (Object element : elements) {
        ((BigIntVector) list.getDataVector()).setSafe(at++, (Long) element);
      }
      list.endValue(row, elements.size());
    } else {
      throw new IllegalArgumentException("No value for " + vector.getField());
    }
  }

  /** A selection of all of {@code rows}. */
  static long[] all(int rows) {
    long[] live = new long[(rows + 63) / 64];
    for (int row = 0; row < rows; row++) {
      live[row >>> 6] |= 1L << row;
    }
    return live;
  }
}
