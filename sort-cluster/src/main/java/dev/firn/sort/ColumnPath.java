package dev.firn.sort;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * Where a column lies in batches of a schema, through structs. Immutable.
 *
 * @param positions the position of the column, then of the field in each struct below
 * @param optional whether the column or a struct above it may be null
 * @param description the column's name and id, for messages
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record ColumnPath(int[] positions, int fieldId, Type type, boolean optional, String description) {

  /**
   * The vector of a column in a batch, and which of the rows asked for are null there.
   *
   * @param nulls one for each row asked for; null when none is null
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Leaf(FieldVector vector, boolean @Nullable [] nulls) {}

  /** Null when the schema has no such field outside of lists and maps. */
  static @Nullable ColumnPath find(Schema schema, int fieldId) {
    List<Integer> path = new ArrayList<>();
    boolean optional = find(schema.asStruct(), fieldId, path);
    return path.isEmpty()
        ? null
        : new ColumnPath(
            path.stream().mapToInt(Integer::intValue).toArray(),
            fieldId,
            schema.findType(fieldId),
            optional,
            schema.findColumnName(fieldId) + " (field " + fieldId + ")");
  }

  /**
   * Columns by name, those of structs with dots.
   *
   * @param what what they are for, in the words of a message
   * @throws IllegalArgumentException if there is none, one is not in the schema or stands there
   *     twice
   */
  static List<ColumnPath> ofNames(Schema schema, List<String> names, String what) {
    if (names.isEmpty()) {
      throw new IllegalArgumentException("Cannot " + what + " no columns: name at least one");
    }
    List<ColumnPath> paths = new ArrayList<>();
    for (String name : names) {
      Types.NestedField field = schema.findField(name);
      ColumnPath path = field == null ? null : find(schema, field.fieldId());
      if (path == null) {
        throw new IllegalArgumentException(
            "Cannot "
                + what
                + " "
                + name
                + ": the schema has no such column outside of lists and maps");
      }
      for (ColumnPath earlier : paths) {
        if (earlier.fieldId == path.fieldId) {
          throw new IllegalArgumentException(
              "Cannot " + what + " " + path.description + " twice: name each column once");
        }
      }
      paths.add(path);
    }
    return paths;
  }

  /**
   * Finds a field through structs.
   *
   * @param path takes the positions; stays empty when the field is not there
   * @return whether the field or a struct above it is optional
   */
  private static boolean find(Types.StructType struct, int id, List<Integer> path) {
    List<Types.NestedField> fields = struct.fields();
    for (int position = 0; position < fields.size(); position++) {
      Types.NestedField field = fields.get(position);
      if (field.fieldId() == id) {
        path.add(position);
        return field.isOptional();
      }
      if (field.type().isStructType()) {
        boolean optional = find(field.type().asStructType(), id, path);
        if (!path.isEmpty()) {
          path.add(0, position);
          return optional || field.isOptional();
        }
      }
    }
    return false;
  }

  /**
   * @param rows numbers of rows of the batch
   * @param count how many of them count
   * @throws IllegalArgumentException if one is null and the column is required
   */
  Leaf leaf(VectorSchemaRoot batch, int[] rows, int count) {
    FieldVector vector = batch.getVector(positions[0]);
    boolean[] nulls = markNulls(vector, rows, count, null);
    for (int level = 1; level < positions.length; level++) {
      vector = vector.getChildrenFromFields().get(positions[level]);
      nulls = markNulls(vector, rows, count, nulls);
    }
    if (nulls != null && !optional) {
      for (int i = 0; i < count; i++) {
        if (nulls[i]) {
          throw new IllegalArgumentException(
              "Cannot sort by required " + description + ": row " + rows[i] + " is null");
        }
      }
    }
    return new Leaf(vector, nulls);
  }

  private static boolean @Nullable [] markNulls(
      FieldVector vector, int[] rows, int count, boolean @Nullable [] above) {
    long validity = ColumnGather.validityOf(vector);
    if (validity == 0) {
      return above;
    }
    boolean[] nulls = above == null ? new boolean[count] : above;
    for (int i = 0; i < count; i++) {
      nulls[i] |= !Memory.bit(validity, rows[i]);
    }
    return nulls;
  }
}
