package dev.firn.testdata;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IdentityPartitionConverters;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a table in memory, as its writer knows them: what each commit did, applied to values
 * by field id. It reads no data and no delete file, so it can say what {@link TableRows} must find.
 */
final class TableModel {
  /** A row where it was written. Deleted rows stay, they have positions. */
  static final class Row {
    final String file;
    final long position;
    final Map<Integer, @Nullable Object> values; // structs are maps by field id
    long sequenceNumber;
    int specId;
    List<@Nullable Object> partition = List.of();
    boolean live = true;
    @Nullable Long storedRowId; // null: inherited
    @Nullable Long storedLastUpdated; // null: inherited

    Row(String file, long position, Map<Integer, @Nullable Object> values) {
      this.file = file;
      this.position = position;
      this.values = values;
    }
  }

  private final Map<String, List<Row>> rowsByFile = new LinkedHashMap<>();

  /** Takes in a data file that was written but not committed. */
  void written(DataFile file, List<Record> rows) {
    List<Row> added = new ArrayList<>();
    for (Record row : rows) {
      Row modelRow = new Row(file.location(), added.size(), byId(row, row.struct()));
      modelRow.specId = file.specId();
      modelRow.partition = tuple(file.partition());
      added.add(modelRow);
    }
    rowsByFile.put(file.location(), added);
  }

  /** Makes a written file part of the table. */
  void committed(DataFile file, long sequenceNumber) {
    rows(file).forEach(row -> row.sequenceNumber = sequenceNumber);
  }

  void removed(DataFile file) {
    rowsByFile.remove(file.location());
  }

  List<Row> rows(DataFile file) {
    return Objects.requireNonNull(rowsByFile.get(file.location()));
  }

  List<Row> liveRows() {
    List<Row> live = new ArrayList<>();
    rowsByFile.values().forEach(rows -> rows.stream().filter(r -> r.live).forEach(live::add));
    return live;
  }

  void deletePosition(DataFile file, long position) {
    if (position < rows(file).size()) {
      rows(file).get((int) position).live = false;
    }
  }

  /**
   * Deletes all older rows with one of the keys.
   *
   * @param partition null: the delete is global
   */
  void deleteKeys(
      Schema current,
      List<Integer> fieldIds,
      List<Record> keys,
      int specId,
      @Nullable StructLike partition,
      long sequenceNumber) {
    List<List<@Nullable Object>> wanted = new ArrayList<>();
    for (Record key : keys) {
      wanted.add(key(byId(key, key.struct()), current, fieldIds));
    }
    for (Row row : liveRows()) {
      if (row.sequenceNumber < sequenceNumber
          && (partition == null || (row.specId == specId && row.partition.equals(tuple(partition))))
          && wanted.contains(key(row.values, current, fieldIds))) {
        row.live = false;
      }
    }
  }

  private static List<@Nullable Object> key(
      Map<Integer, @Nullable Object> values, Schema current, List<Integer> fieldIds) {
    Map<Integer, Integer> parents = TypeUtil.indexParents(current.asStruct());
    List<@Nullable Object> key = new ArrayList<>();
    for (int fieldId : fieldIds) {
      List<Integer> path = new ArrayList<>(List.of(fieldId));
      for (Integer id = parents.get(fieldId); id != null; id = parents.get(id)) {
        path.add(0, id);
      }
      Object value = values;
      for (int id : path) {
        value = value == null ? null : field((Map<?, ?>) value, current.findField(id));
      }
      key.add(value instanceof byte[] bytes ? ByteBuffer.wrap(bytes) : value);
    }
    return key;
  }

  /** The value of a field in a struct as the table's schema sees it now. */
  private static @Nullable Object field(Map<?, ?> struct, Types.NestedField field) {
    if (!struct.containsKey(field.fieldId())) {
      return IdentityPartitionConverters.convertConstant(field.type(), field.initialDefault());
    }
    Object value = struct.get(field.fieldId());
    if (field.type().typeId() == Type.TypeID.LONG && value instanceof Integer number) {
      return Long.valueOf(number);
    } else if (field.type().typeId() == Type.TypeID.DOUBLE && value instanceof Float number) {
      return Double.valueOf(number);
    }
    return value;
  }

  /** A row in any schema of the table. */
  static Record view(Row row, Schema schema) {
    return view(row.values, schema.asStruct());
  }

  private static Record view(Map<?, ?> struct, Types.StructType type) {
    Record record = GenericRecord.create(type);
    for (int pos = 0; pos < type.fields().size(); pos++) {
      Types.NestedField field = type.fields().get(pos);
      record.set(pos, viewValue(field(struct, field), field.type()));
    }
    return record;
  }

  private static @Nullable Object viewValue(@Nullable Object value, Type type) {
    if (value == null || type.isPrimitiveType()) {
      return value;
    } else if (type.isStructType()) {
      return view((Map<?, ?>) value, type.asStructType());
    } else if (type.isListType()) {
      Types.NestedField element = type.asListType().fields().get(0);
      List<@Nullable Object> list = new ArrayList<>();
      ((List<?>) value).forEach(item -> list.add(viewElement(item, element)));
      return list;
    }
    Types.NestedField mapValue = type.asMapType().fields().get(1);
    Map<Object, @Nullable Object> map = new LinkedHashMap<>();
    ((Map<?, ?>) value).forEach((key, item) -> map.put(key, viewElement(item, mapValue)));
    return map;
  }

  private static @Nullable Object viewElement(@Nullable Object value, Types.NestedField element) {
    Map<Integer, @Nullable Object> single = new HashMap<>();
    single.put(element.fieldId(), value);
    return viewValue(field(single, element), element.type());
  }

  /** The lines that the table's current snapshot must hold. */
  List<String> lines(Table table) {
    Schema schema = TableRows.schema(table);
    boolean lineage = TableRows.formatVersion(table) >= 3;
    Map<String, DataFile> files = new HashMap<>();
    if (table.currentSnapshot() != null) {
      TableRows.dataFiles(table, table.currentSnapshot())
          .forEach(file -> files.put(file.location(), file));
    }
    List<Record> rows = new ArrayList<>();
    for (Row row : liveRows()) {
      Record record = view(row, schema);
      if (lineage) {
        DataFile file = Objects.requireNonNull(files.get(row.file));
        Long firstRowId = file.firstRowId();
        int pos = schema.columns().size() - 2;
        record.set(
            pos,
            firstRowId == null
                ? null
                : row.storedRowId != null
                    ? row.storedRowId
                    : Long.valueOf(firstRowId + row.position));
        record.set(
            pos + 1,
            firstRowId == null
                ? null
                : row.storedLastUpdated != null
                    ? row.storedLastUpdated
                    : Long.valueOf(row.sequenceNumber));
      }
      rows.add(record);
    }
    return RowText.sortedLines(rows, schema);
  }

  /* Partition values of before and after a promotion are the same. */
  static List<@Nullable Object> tuple(StructLike partition) {
    @Nullable Object[] values = new @Nullable Object[partition.size()];
    for (int pos = 0; pos < values.length; pos++) {
      Object value = partition.get(pos, Object.class);
      if (value instanceof CharSequence) {
        values[pos] = value.toString();
      } else if (value instanceof byte[] bytes) {
        values[pos] = ByteBuffer.wrap(bytes);
      } else if (value instanceof Integer number) {
        values[pos] = Long.valueOf(number);
      } else if (value instanceof Float number) {
        values[pos] = Double.valueOf(number);
      } else {
        values[pos] = value;
      }
    }
    return Arrays.asList(values);
  }

  private static Map<Integer, @Nullable Object> byId(StructLike struct, Types.StructType type) {
    Map<Integer, @Nullable Object> values = new HashMap<>();
    for (int pos = 0; pos < type.fields().size(); pos++) {
      Types.NestedField field = type.fields().get(pos);
      values.put(field.fieldId(), byIdValue(struct.get(pos, Object.class), field.type()));
    }
    return values;
  }

  private static @Nullable Object byIdValue(@Nullable Object value, Type type) {
    if (value == null || type.isPrimitiveType()) {
      return value;
    } else if (type.isStructType()) {
      return byId((StructLike) value, type.asStructType());
    } else if (type.isListType()) {
      List<@Nullable Object> list = new ArrayList<>();
      ((List<?>) value).forEach(item -> list.add(byIdValue(item, type.asListType().elementType())));
      return list;
    }
    Map<Object, @Nullable Object> map = new LinkedHashMap<>();
    ((Map<?, ?>) value)
        .forEach((key, item) -> map.put(key, byIdValue(item, type.asMapType().valueType())));
    return map;
  }
}
