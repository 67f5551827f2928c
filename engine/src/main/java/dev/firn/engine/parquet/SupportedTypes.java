package dev.firn.engine.parquet;

import java.util.List;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** The types of columns that can be compacted. */
public final class SupportedTypes {
  private SupportedTypes() {}

  /**
   * Refuses a schema with a variant, geometry or geography column at any depth, an unknown one
   * below the top, or none that is {@link #stored} (S12 to S14).
   *
   * @throws UnsupportedTableException that names the column and its type
   */
  public static void check(Schema schema) {
    List<Types.NestedField> columns = stored(schema).columns();
    // Where nothing is stored, the first unknown column is named.
    for (Types.NestedField column : columns.isEmpty() ? schema.columns() : columns) {
      check(column.name(), column.type());
    }
  }

  /** The columns that files hold: not those of type unknown, which are null in every row (S12). */
  public static Schema stored(Schema schema) {
    List<Types.NestedField> columns =
        schema.columns().stream()
            .filter(column -> column.type().typeId() != Type.TypeID.UNKNOWN)
            .toList();
    return columns.size() == schema.columns().size() ? schema : new Schema(columns);
  }

  private static void check(String path, Type type) {
    switch (type.typeId()) {
      case VARIANT:
      case GEOMETRY:
      case GEOGRAPHY:
      case UNKNOWN:
        throw new UnsupportedTableException(
            "Cannot compact the table: column "
                + path
                + " is of type "
                + type
                + ", which is not supported yet. Nothing was changed.");
      case STRUCT:
      case LIST:
      case MAP:
        for (Types.NestedField child : type.asNestedType().fields()) {
          check(path + "." + child.name(), child.type());
        }
        return;
      default:
    }
  }
}
