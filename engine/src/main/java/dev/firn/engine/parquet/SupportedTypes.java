package dev.firn.engine.parquet;

import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** The types of columns that can be compacted. */
public final class SupportedTypes {
  private SupportedTypes() {}

  /**
   * Refuses a schema with a variant, geometry, geography or unknown column at any depth (S12 to
   * S14).
   *
   * @throws UnsupportedTableException that names the column and its type
   */
  public static void check(Schema schema) {
    for (Types.NestedField column : schema.columns()) {
      check(column.name(), column.type());
    }
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
