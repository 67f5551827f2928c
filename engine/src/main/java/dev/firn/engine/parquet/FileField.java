package dev.firn.engine.parquet;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.mapping.MappedField;
import org.apache.iceberg.mapping.MappedFields;
import org.apache.iceberg.mapping.NameMapping;
import org.apache.parquet.format.FieldRepetitionType;
import org.apache.parquet.format.IntType;
import org.apache.parquet.format.LogicalType;
import org.apache.parquet.format.SchemaElement;
import org.apache.parquet.format.TimeUnit;
import org.apache.parquet.format.Type;
import org.jspecify.annotations.Nullable;

/**
 * A field of a Parquet file's schema. Lists and maps of all spellings (S10) are one kind each: the
 * child of a list is its element, the children of a map are its key and value.
 */
final class FileField {
  enum Kind {
    PRIMITIVE,
    STRUCT,
    LIST,
    MAP,
    /** A repeated field outside of a list or map, or a list or map that is not one. */
    MALFORMED
  }

  /** What a primitive stands for, whichever of the two annotations says so. */
  enum Annotation {
    NONE,
    STRING,
    ENUM,
    JSON,
    BSON,
    DECIMAL,
    DATE,
    TIME_MILLIS,
    TIME_MICROS,
    TIME_NANOS,
    TIMESTAMP_MILLIS,
    TIMESTAMP_MICROS,
    TIMESTAMP_NANOS,
    INT_8,
    INT_16,
    INT_32,
    INT_64,
    UINT_8,
    UINT_16,
    UINT_32,
    UINT_64,
    UUID,
    /** One that no column of a supported type has, e.g. an interval. */
    OTHER
  }

  final SchemaElement element;
  final Kind kind;
  final FieldRepetitionType repetition;
  final List<FileField> children;

  /** The name in the file, with those of its parents before it. For messages. */
  final String path;

  /** Which column chunk of a row group this primitive is; -1 for groups. */
  final int leaf;

  /** The field id, or null if the file and its name mapping give none. */
  @Nullable Integer id;

  /** Whether a view must hold it. */
  boolean wanted;

  /** Its name among the decoded children of its parent; null if it is not wanted. */
  private @Nullable String viewName;

  /** Whether the columns of this root have their ids by position, and what is below them none. */
  boolean numbered;

  private FileField(
      SchemaElement element,
      Kind kind,
      FieldRepetitionType repetition,
      List<FileField> children,
      String path,
      int leaf) {
    this.element = element;
    this.kind = kind;
    this.repetition = repetition;
    this.children = children;
    this.path = path;
    this.leaf = leaf;
    this.id = element.isSetField_id() ? element.getField_id() : null;
  }

  void nameInView(String name) {
    viewName = name;
  }

  String viewName() {
    if (viewName == null) {
      throw new IllegalStateException("Field " + path + " is in no view");
    }
    return viewName;
  }

  boolean required() {
    return repetition == FieldRepetitionType.REQUIRED;
  }

  FileField key() {
    return children.get(0);
  }

  FileField value() {
    return children.get(1);
  }

  @Nullable FileField child(int fieldId) {
    for (FileField child : children) {
      if (child.id != null && child.id == fieldId) {
        return child;
      }
    }
    return null;
  }

  /** Marks the field and all primitives below it as wanted. */
  void want() {
    wanted = true;
    children.forEach(FileField::want);
  }

  /** Whether a view can hold the field and all below it. */
  boolean readable() {
    return kind != Kind.MALFORMED && children.stream().allMatch(FileField::readable);
  }

  Annotation annotation() {
    LogicalType logical = element.getLogicalType();
    if (logical != null) {
      if (logical.isSetSTRING()) {
        return Annotation.STRING;
      } else if (logical.isSetENUM()) {
        return Annotation.ENUM;
      } else if (logical.isSetJSON()) {
        return Annotation.JSON;
      } else if (logical.isSetBSON()) {
        return Annotation.BSON;
      } else if (logical.isSetDECIMAL()) {
        return Annotation.DECIMAL;
      } else if (logical.isSetDATE()) {
        return Annotation.DATE;
      } else if (logical.isSetUUID()) {
        return Annotation.UUID;
      } else if (logical.isSetTIME()) {
        TimeUnit unit = logical.getTIME().getUnit();
        return unit.isSetMILLIS()
            ? Annotation.TIME_MILLIS
            : unit.isSetMICROS() ? Annotation.TIME_MICROS : Annotation.TIME_NANOS;
      } else if (logical.isSetTIMESTAMP()) {
        TimeUnit unit = logical.getTIMESTAMP().getUnit();
        return unit.isSetMILLIS()
            ? Annotation.TIMESTAMP_MILLIS
            : unit.isSetMICROS() ? Annotation.TIMESTAMP_MICROS : Annotation.TIMESTAMP_NANOS;
      } else if (logical.isSetINTEGER()) {
        return integer(logical.getINTEGER());
      }
      return Annotation.OTHER;
    }
    if (element.getConverted_type() == null) {
      return Annotation.NONE;
    }
    switch (element.getConverted_type()) {
      case UTF8:
        return Annotation.STRING;
      case ENUM:
        return Annotation.ENUM;
      case DECIMAL:
        return Annotation.DECIMAL;
      case DATE:
        return Annotation.DATE;
      case TIME_MILLIS:
        return Annotation.TIME_MILLIS;
      case TIME_MICROS:
        return Annotation.TIME_MICROS;
      case TIMESTAMP_MILLIS:
        return Annotation.TIMESTAMP_MILLIS;
      case TIMESTAMP_MICROS:
        return Annotation.TIMESTAMP_MICROS;
      case UINT_8:
        return Annotation.UINT_8;
      case UINT_16:
        return Annotation.UINT_16;
      case UINT_32:
        return Annotation.UINT_32;
      case UINT_64:
        return Annotation.UINT_64;
      case INT_8:
        return Annotation.INT_8;
      case INT_16:
        return Annotation.INT_16;
      case INT_32:
        return Annotation.INT_32;
      case INT_64:
        return Annotation.INT_64;
      case JSON:
        return Annotation.JSON;
      case BSON:
        return Annotation.BSON;
      default:
        return Annotation.OTHER;
    }
  }

  private static Annotation integer(IntType type) {
    switch (type.getBitWidth()) {
      case 8:
        return type.isIsSigned() ? Annotation.INT_8 : Annotation.UINT_8;
      case 16:
        return type.isIsSigned() ? Annotation.INT_16 : Annotation.UINT_16;
      case 32:
        return type.isIsSigned() ? Annotation.INT_32 : Annotation.UINT_32;
      case 64:
        return type.isIsSigned() ? Annotation.INT_64 : Annotation.UINT_64;
      default:
        return Annotation.OTHER;
    }
  }

  int decimalScale() {
    LogicalType logical = element.getLogicalType();
    return logical != null && logical.isSetDECIMAL()
        ? logical.getDECIMAL().getScale()
        : element.getScale();
  }

  int decimalPrecision() {
    LogicalType logical = element.getLogicalType();
    return logical != null && logical.isSetDECIMAL()
        ? logical.getDECIMAL().getPrecision()
        : element.getPrecision();
  }

  /** The type in words, for messages. */
  String typeText() {
    if (kind != Kind.PRIMITIVE) {
      return kind == Kind.MALFORMED
          ? "a repeated or malformed group"
          : kind.name().toLowerCase(java.util.Locale.ROOT);
    }
    String physical = element.getType().name();
    if (element.getType() == Type.FIXED_LEN_BYTE_ARRAY) {
      physical += "(" + element.getType_length() + ")";
    }
    Annotation annotation = annotation();
    if (annotation == Annotation.NONE) {
      return physical;
    }
    if (annotation == Annotation.DECIMAL) {
      return physical + " decimal(" + decimalPrecision() + ", " + decimalScale() + ")";
    }
    return physical
        + " "
        + (annotation == Annotation.OTHER
            ? String.valueOf(
                element.isSetLogicalType() ? element.getLogicalType() : element.getConverted_type())
            : annotation.name());
  }

  /** The root of a file's schema, as a struct. */
  static FileField parse(List<SchemaElement> schema) {
    return new Parser(schema).root();
  }

  /** Reads the depth-first list of schema elements. */
  private static final class Parser {
    private final List<SchemaElement> schema;
    private int next = 0;
    private int leaves = 0;

    Parser(List<SchemaElement> schema) {
      this.schema = schema;
    }

    FileField root() {
      SchemaElement root = element();
      FileField field =
          new FileField(
              root, Kind.STRUCT, FieldRepetitionType.REQUIRED, children(root, ""), "", -1);
      if (next != schema.size()) {
        throw new IllegalArgumentException(
            "the schema has " + schema.size() + " elements but its tree has " + next);
      }
      return field;
    }

    private SchemaElement element() {
      if (next >= schema.size()) {
        throw new IllegalArgumentException("the schema ends early");
      }
      return schema.get(next++);
    }

    private List<FileField> children(SchemaElement group, String path) {
      List<FileField> children = new ArrayList<>();
      for (int i = 0; i < group.getNum_children(); i++) {
        children.add(field(path));
      }
      return children;
    }

    private FileField field(String parent) {
      SchemaElement element = element();
      FieldRepetitionType repetition = element.getRepetition_type();
      String path = parent.isEmpty() ? element.getName() : parent + "." + element.getName();
      if (repetition == null) {
        throw new IllegalArgumentException("field " + path + " has no repetition");
      }
      if (element.isSetType()) {
        Kind kind = repetition == FieldRepetitionType.REPEATED ? Kind.MALFORMED : Kind.PRIMITIVE;
        return new FileField(element, kind, repetition, List.of(), path, leaves++);
      }
      return group(element, repetition, children(element, path), path);
    }

    private static FileField group(
        SchemaElement element,
        FieldRepetitionType repetition,
        List<FileField> children,
        String path) {
      Kind kind = Kind.STRUCT;
      List<FileField> inner = children;
      boolean list = isList(element);
      boolean map = isMap(element);
      if (repetition == FieldRepetitionType.REPEATED) {
        kind = Kind.MALFORMED;
      } else if (list || map) {
        FileField repeated = children.size() == 1 ? children.get(0) : null;
        if (repeated == null || repeated.repetition != FieldRepetitionType.REPEATED) {
          kind = Kind.MALFORMED;
        } else if (list) {
          kind = Kind.LIST;
          inner = List.of(listElement(element.getName(), repeated));
        } else if (repeated.element.isSetType() || repeated.children.size() != 2) {
          kind = Kind.MALFORMED;
        } else {
          kind = Kind.MAP;
          inner = repeated.children;
        }
      }
      return new FileField(element, kind, repetition, inner, path, -1);
    }

    /**
     * The element of a list: the repeated field itself where the list has two levels, by the rules
     * of the Parquet format, else its only child.
     */
    private static FileField listElement(String listName, FileField repeated) {
      String name = repeated.element.getName();
      boolean twoLevels =
          repeated.element.isSetType()
              || repeated.children.size() != 1
              || isList(repeated.element)
              || isMap(repeated.element)
              || name.equals("array")
              || name.equals(listName + "_tuple");
      return twoLevels ? asRequired(repeated) : repeated.children.get(0);
    }

    /** A repeated field, once the repetition has been taken for its list's. */
    private static FileField asRequired(FileField repeated) {
      FieldRepetitionType required = FieldRepetitionType.REQUIRED;
      if (repeated.element.isSetType()) {
        return new FileField(
            repeated.element, Kind.PRIMITIVE, required, List.of(), repeated.path, repeated.leaf);
      }
      return group(repeated.element, required, repeated.children, repeated.path);
    }

    private static boolean isList(SchemaElement element) {
      return element.isSetLogicalType()
          ? element.getLogicalType().isSetLIST()
          : element.isSetConverted_type()
              && element.getConverted_type() == org.apache.parquet.format.ConvertedType.LIST;
    }

    /** MAP_KEY_VALUE on the outer group is the old spelling of MAP. */
    private static boolean isMap(SchemaElement element) {
      if (element.isSetLogicalType()) {
        return element.getLogicalType().isSetMAP();
      }
      return element.isSetConverted_type()
          && (element.getConverted_type() == org.apache.parquet.format.ConvertedType.MAP
              || element.getConverted_type()
                  == org.apache.parquet.format.ConvertedType.MAP_KEY_VALUE);
    }
  }

  /** Whether any field below has an id: if so, fields without one are unreadable (S9). */
  boolean anyId() {
    for (FileField child : children) {
      if (child.id != null || child.anyId()) {
        return true;
      }
    }
    return false;
  }

  /** Gives the fields below this root the ids of a name mapping (S8); names are taken literally. */
  void map(NameMapping mapping) {
    mapStruct(this, mapping.asMappedFields());
  }

  private static void mapStruct(FileField struct, @Nullable MappedFields mapping) {
    for (FileField child : struct.children) {
      mapField(child, child.element.getName(), mapping);
    }
  }

  private static void mapField(FileField field, String name, @Nullable MappedFields mapping) {
    MappedField mapped = mapped(mapping, name);
    field.id = mapped == null ? null : mapped.id();
    MappedFields nested = mapped == null ? null : mapped.nestedMapping();
    switch (field.kind) {
      case STRUCT:
        mapStruct(field, nested);
        break;
      case LIST:
        mapField(field.children.get(0), "element", nested);
        break;
      case MAP:
        mapField(field.key(), "key", nested);
        mapField(field.value(), "value", nested);
        break;
      default:
    }
  }

  /** What a level of a name mapping says of a name, taken literally; null if nothing. */
  static @Nullable MappedField mapped(@Nullable MappedFields mapping, String name) {
    MappedField mapped = null;
    if (mapping != null) {
      for (MappedField candidate : mapping.fields()) {
        if (candidate.names().contains(name)) {
          mapped = candidate;
        }
      }
    }
    return mapped;
  }

  /** Gives the columns of this root the ids 1, 2 and so on, Iceberg's last resort (S8). */
  void numberColumns() {
    numbered = true;
    int ordinal = 1;
    for (FileField child : children) {
      child.id = ordinal++;
    }
  }
}
