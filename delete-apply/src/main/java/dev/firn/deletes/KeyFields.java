package dev.firn.deletes;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * Finds equality fields by id: as they are in the current schema, else as they last were (rules
 * D13, D14, D16).
 */
final class KeyFields {
  private final List<Schema> schemas = new ArrayList<>();
  private final Map<Integer, Types.NestedField> resolved = new HashMap<>();

  private final Map<Integer, Type> lost = new HashMap<>();

  KeyFields(Schema current, Collection<Schema> historic) {
    schemas.add(current);
    historic.stream()
        .sorted(Comparator.comparingInt(Schema::schemaId).reversed())
        .forEach(schemas::add);
  }

  /** The ids among these that are in no schema. */
  Set<Integer> lostOf(Collection<Integer> ids) {
    Set<Integer> unknown = new TreeSet<>(ids);
    unknown.removeIf(id -> schemas.stream().anyMatch(schema -> schema.findField(id) != null));
    return unknown;
  }

  /**
   * Learns the type that a file has for a field which is in no schema. Of several types the one
   * that the others can be promoted to counts (rule D16).
   */
  void learn(int id, Type type, ContentFile<?> file) {
    Type known = lost.get(id);
    if (known == null || promotes(known, type)) {
      lost.put(id, type);
    } else if (!promotes(type, known)) {
      throw new UnsupportedDeleteException(
          "Cannot apply the equality deletes on field "
              + id
              + ": it is in no schema of the table any more, and its type in "
              + file.location()
              + " is "
              + type
              + " but in another file "
              + known
              + ". The group is left as it was. Leave the partition out of the compaction.");
    }
  }

  private static boolean promotes(Type from, Type to) {
    return from.equals(to)
        || (to.isPrimitiveType() && TypeUtil.isPromotionAllowed(from, to.asPrimitiveType()));
  }

  /** The columns of the keys of a delete file with these field ids, by ascending id. */
  List<Types.NestedField> of(Set<Integer> ids, DeleteFile file) {
    List<Types.NestedField> fields = new ArrayList<>(ids.size());
    for (int id : new TreeSet<>(ids)) {
      Types.NestedField field = resolved.get(id);
      if (field == null) {
        field = resolve(id, file);
        resolved.put(id, field);
      }
      fields.add(field);
    }
    return fields;
  }

  /**
   * A schema of such columns. A leaf of a struct is a column of its own (rule D19) with its full
   * name, and the id too where two columns have had that name.
   */
  static Schema schema(Collection<Types.NestedField> fields) {
    List<Types.NestedField> columns = new ArrayList<>(fields.size());
    Set<String> names = new TreeSet<>();
    for (Types.NestedField field : fields) {
      columns.add(
          names.add(field.name())
              ? field
              : Types.NestedField.from(field)
                  .withName(field.name() + "_" + field.fieldId())
                  .build());
    }
    return new Schema(columns);
  }

  private Types.NestedField resolve(int id, DeleteFile file) {
    for (Schema schema : schemas) {
      Types.NestedField field = schema.findField(id);
      if (field != null) {
        if (!KeyColumn.supports(field.type()) || isRepeated(schema, id)) {
          throw new UnsupportedDeleteException(
              "Cannot apply equality delete file "
                  + file.location()
                  + ": its field "
                  + id
                  + " ("
                  + schema.findColumnName(id)
                  + ") is of type "
                  + field.type()
                  + (isRepeated(schema, id) ? " within a list or map" : "")
                  + ", which cannot be compared as a key. The group is left as it was.");
        }
        return Types.NestedField.from(field)
            .withName(schema.findColumnName(id))
            .asOptional()
            .build();
      }
    }
    Type type = lost.get(id);
    if (type != null && KeyColumn.supports(type)) {
      return Types.NestedField.optional(id, "field_" + id, type);
    }
    throw new UnsupportedDeleteException(
        "Cannot apply equality delete file "
            + file.location()
            + ": its field "
            + id
            + " is in no schema of the table any more and neither this file nor a data file tells a"
            + " type that can be compared, so its keys cannot be read. The group is left"
            + " as it was. Leave the partition out of the compaction.");
  }

  private static boolean isRepeated(Schema schema, int id) {
    Map<Integer, Integer> parents = TypeUtil.indexParents(schema.asStruct());
    for (Integer parent = parents.get(id); parent != null; parent = parents.get(parent)) {
      if (!isStruct(schema.findType(parent))) {
        return true;
      }
    }
    return false;
  }

  private static boolean isStruct(@Nullable Type type) {
    return type != null && type.isStructType();
  }
}
