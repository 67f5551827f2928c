package dev.firn.engine.cli;

import java.util.List;
import java.util.Locale;
import net.sf.jsqlparser.schema.Column;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.NestedField;

/** The columns of a schema by the names that a person writes into a predicate or a sort order. */
final class Columns {
  private final Schema schema;
  private final boolean caseSensitive;
  private final String context;

  /**
   * @param context how errors start, as in "Cannot use the where predicate 'a = 1'"
   */
  Columns(Schema schema, boolean caseSensitive, String context) {
    this.schema = schema;
    this.caseSensitive = caseSensitive;
    this.context = context;
  }

  /**
   * The primitive column that is meant.
   *
   * @throws UsageException if there is none, it is not primitive, or it lies in a list or map
   */
  NestedField find(Column column) {
    if (column.getArrayConstructor() != null) {
      throw refused(column + " reaches into a list");
    }
    String name = unquoted(column.getFullyQualifiedName());
    NestedField field =
        caseSensitive ? schema.findField(name) : schema.caseInsensitiveFindField(name);
    if (field == null) {
      throw refused("there is no column '" + name + "'" + Nearest.hint(name, names()));
    }
    if (!field.type().isPrimitiveType()) {
      throw refused(
          "the column '"
              + name
              + "' is a "
              + field.type().typeId().name().toLowerCase(Locale.ROOT)
              + ", only primitive columns can be compared or sorted on");
    }
    if (schema.accessorForField(field.fieldId()) == null) {
      throw refused("the column '" + name + "' lies in a list or a map");
    }
    return field;
  }

  /** The column's full name in the schema. */
  String nameOf(NestedField field) {
    return schema.findColumnName(field.fieldId());
  }

  UsageException refused(String why) {
    return new UsageException(context + ": " + why);
  }

  private List<String> names() {
    return TypeUtil.indexById(schema.asStruct()).keySet().stream()
        .filter(id -> schema.accessorForField(id) != null)
        .map(schema::findColumnName)
        .toList();
  }

  /** {@code "a b".`c`} as {@code a b.c}; a doubled quote within quotes is one. */
  static String unquoted(String name) {
    StringBuilder plain = new StringBuilder();
    char quote = 0;
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (quote == 0 && (c == '"' || c == '`')) {
        quote = c;
      } else if (quote != 0 && c == quote) {
        if (i + 1 < name.length() && name.charAt(i + 1) == quote) {
          plain.append(c);
          i++;
        } else {
          quote = 0;
        }
      } else {
        plain.append(c);
      }
    }
    return plain.toString();
  }
}
