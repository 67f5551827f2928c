package dev.firn.engine.parquet;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.mapping.MappedField;
import org.apache.iceberg.mapping.MappedFields;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * Collects the fields of a streamed file's schema: which id each has, and which it can do without.
 *
 * <p>A field without an id is not there (S9). One that cannot be read is not there either if nobody
 * asks for it, and else fails the file.
 */
final class StreamedFields {

  /** Why a field cannot be read. */
  static final class Unreadable extends Exception {
    private static final long serialVersionUID = 1L;

    Unreadable(String reason) {
      super(reason);
    }
  }

  /** Gives the type of a field, or null if its ids are missing. */
  @FunctionalInterface
  interface TypeOf {
    @Nullable Type get() throws Unreadable;
  }

  private final String location;
  private final Set<Integer> wantedIds;

  /**
   * @param wantedIds the ids of all that is asked for, nested fields too
   */
  StreamedFields(String location, Set<Integer> wantedIds) {
    this.location = location;
    this.wantedIds = wantedIds;
  }

  /** Adds a field to those of its struct if it has an id and can be read. */
  void add(
      List<Types.NestedField> struct,
      @Nullable Integer id,
      boolean optional,
      String name,
      TypeOf typeOf) {
    if (id == null) {
      return;
    }
    try {
      Type type = typeOf.get();
      if (type != null) {
        struct.add(Types.NestedField.of(id, optional, name, type));
      }
    } catch (Unreadable unreadable) {
      if (wantedIds.contains(id)) {
        throw new UnsupportedFileException(
            "Cannot read column "
                + name
                + " (id "
                + id
                + ") of "
                + location
                + ": "
                + unreadable.getMessage()
                + ". Nothing was changed.",
            unreadable);
      }
    }
  }

  static Type struct(List<Types.NestedField> fields) throws Unreadable {
    if (fields.isEmpty()) {
      throw new Unreadable("it is a struct of no field that has an id and can be read");
    }
    return Types.StructType.of(fields);
  }

  /** The id that a level of a name mapping gives, or null. */
  static @Nullable Integer id(@Nullable MappedFields names, String name) {
    MappedField mapped = FileField.mapped(names, name);
    return mapped == null ? null : mapped.id();
  }

  /** What a name mapping says of the fields below one, or null. */
  static @Nullable MappedFields below(@Nullable MappedFields names, String name) {
    MappedField mapped = FileField.mapped(names, name);
    return mapped == null ? null : mapped.nestedMapping();
  }

  static List<Types.NestedField> none() {
    return new ArrayList<>();
  }
}
