package dev.firn.testdata;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/** Rows written down in a test: {@code Rows.of(schema).add(1L, "a").add(2L, null).list()}. */
public final class Rows {
  private final Types.StructType struct;
  private final List<Record> rows = new ArrayList<>();

  private Rows(Types.StructType struct) {
    this.struct = struct;
  }

  /** No rows yet, of the columns of {@code schema}. */
  public static Rows of(Schema schema) {
    return new Rows(schema.asStruct());
  }

  /** One row with a value for each column, of the Java types of Iceberg generics. */
  public static Record row(Schema schema, @Nullable Object... values) {
    return struct(schema.asStruct(), values);
  }

  /** One struct with a value for each field, of the Java types of Iceberg generics. */
  public static Record struct(Types.StructType type, @Nullable Object... values) {
    if (values.length != type.fields().size()) {
      throw new IllegalArgumentException(
          values.length + " values for " + type.fields().size() + " fields of " + type);
    }
    Record row = GenericRecord.create(type);
    for (int pos = 0; pos < values.length; pos++) {
      row.set(pos, values[pos]);
    }
    return row;
  }

  /** Adds a row. */
  public Rows add(@Nullable Object... values) {
    rows.add(struct(struct, values));
    return this;
  }

  /** The rows in the order they were added. */
  public List<Record> list() {
    return List.copyOf(rows);
  }
}
