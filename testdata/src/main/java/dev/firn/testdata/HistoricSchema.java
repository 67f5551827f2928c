package dev.firn.testdata;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * A table's current schema with every field that an older schema had, at every depth.
 *
 * <p>Dropped fields are read too, for two reasons: equality deletes may name them (D13), and a
 * struct whose present children are all younger than the file is null or not by its dropped ones,
 * which Iceberg's Parquet reader does not see unless they are asked for (S11). They are optional
 * and have names that clash with none.
 */
final class HistoricSchema {
  private HistoricSchema() {}

  /** The current schema, dropped fields, and in tables of version 3 the lineage columns. */
  static Schema withDroppedFields(Table table) {
    Types.StructType fields = table.schema().asStruct();
    List<Schema> newestFirst =
        new ArrayList<>(new TreeMap<>(table.schemas()).descendingMap().values());
    for (Schema older : newestFirst) {
      fields = merge(fields, older.asStruct()).asStructType();
    }
    Schema schema = new Schema(fields.fields());
    return TableRows.formatVersion(table) >= 3
        ? MetadataColumns.schemaWithRowLineage(schema)
        : schema;
  }

  private static Type merge(Type newer, Type older) {
    if (newer.isStructType() && older.isStructType()) {
      Map<Integer, Types.NestedField> merged = new LinkedHashMap<>();
      for (Types.NestedField field : newer.asStructType().fields()) {
        merged.put(field.fieldId(), field);
      }
      for (Types.NestedField field : older.asStructType().fields()) {
        Types.NestedField present = merged.get(field.fieldId());
        Types.NestedField result =
            present == null
                ? dropped(field)
                : Types.NestedField.from(present)
                    .ofType(merge(present.type(), field.type()))
                    .build();
        merged.put(field.fieldId(), result);
      }
      return Types.StructType.of(new ArrayList<>(merged.values()));
    } else if (newer.isListType() && older.isListType()) {
      Types.ListType list = newer.asListType();
      Type element = merge(list.elementType(), older.asListType().elementType());
      return list.isElementOptional()
          ? Types.ListType.ofOptional(list.elementId(), element)
          : Types.ListType.ofRequired(list.elementId(), element);
    } else if (newer.isMapType() && older.isMapType()) {
      Types.MapType map = newer.asMapType();
      Type value = merge(map.valueType(), older.asMapType().valueType());
      return map.isValueOptional()
          ? Types.MapType.ofOptional(map.keyId(), map.valueId(), map.keyType(), value)
          : Types.MapType.ofRequired(map.keyId(), map.valueId(), map.keyType(), value);
    }
    return newer;
  }

  private static Types.NestedField dropped(Types.NestedField field) {
    return Types.NestedField.from(field)
        .asOptional()
        .withName("dropped_" + field.fieldId() + "_" + field.name())
        .build();
  }

  /** Only these leaves of a schema, with the structs above them. */
  static Schema leaves(Schema schema, List<Integer> fieldIds) {
    Set<Integer> ids = new HashSet<>(fieldIds);
    for (int id : fieldIds) {
      if (schema.findField(id) == null) {
        throw new IllegalStateException(
            "No schema of the table has the equality field " + id + " (D14)");
      }
    }
    return TypeUtil.select(schema, ids);
  }

  /** The positions from the root down to a field that lies in structs only. */
  static List<Integer> path(Schema schema, int fieldId) {
    List<Integer> path = new ArrayList<>();
    if (!find(schema.asStruct(), fieldId, path)) {
      throw new IllegalArgumentException("Field " + fieldId + " is not in structs of " + schema);
    }
    return path;
  }

  private static boolean find(Types.StructType type, int fieldId, List<Integer> path) {
    for (int pos = 0; pos < type.fields().size(); pos++) {
      Types.NestedField field = type.fields().get(pos);
      path.add(pos);
      if (field.fieldId() == fieldId
          || (field.type().isStructType() && find(field.type().asStructType(), fieldId, path))) {
        return true;
      }
      path.remove(path.size() - 1);
    }
    return false;
  }

  /** A row in another type, field by field by id; fields that {@code from} lacks are null. */
  static Record project(Record row, Types.StructType from, Types.StructType to) {
    Record result = GenericRecord.create(to);
    for (int pos = 0; pos < to.fields().size(); pos++) {
      Types.NestedField field = to.fields().get(pos);
      for (int fromPos = 0; fromPos < from.fields().size(); fromPos++) {
        Types.NestedField source = from.fields().get(fromPos);
        if (source.fieldId() == field.fieldId()) {
          result.set(pos, projectValue(row.get(fromPos), source.type(), field.type()));
        }
      }
    }
    return result;
  }

  private static @Nullable Object projectValue(@Nullable Object value, Type from, Type to) {
    if (value == null || from.equals(to)) {
      return value;
    } else if (to.isStructType()) {
      return project((Record) value, from.asStructType(), to.asStructType());
    } else if (to.isListType()) {
      List<@Nullable Object> list = new ArrayList<>();
      for (Object element : (List<?>) value) {
        list.add(
            projectValue(element, from.asListType().elementType(), to.asListType().elementType()));
      }
      return list;
    } else if (to.isMapType()) {
      Map<Object, @Nullable Object> map = new LinkedHashMap<>();
      ((Map<?, ?>) value)
          .forEach(
              (key, entry) ->
                  map.put(
                      key,
                      projectValue(
                          entry, from.asMapType().valueType(), to.asMapType().valueType())));
      return map;
    }
    return value;
  }
}
