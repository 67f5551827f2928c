package dev.firn.engine;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * Equality fields that are in no schema of the table any more: expiring snapshots can remove the
 * last schema that has a field while a delete file still has it for a key (D14).
 *
 * <p>Iceberg's planner then fails, because it wants the type of each such field to look at bounds.
 * Here it plans on a table that has one schema more, with the fields as structs, whose bounds it
 * does not look at. The true types come from the files.
 */
final class LostFields {
  private static final String NO_FIELD = "Cannot find field for ID";
  private static final int CAUSES_MAX = 16;

  private LostFields() {}

  /** Whether planning failed for the lack of a field. */
  static boolean hindered(Throwable failure) {
    Throwable cause = failure;
    for (int depth = 0; cause != null && depth < CAUSES_MAX; depth++, cause = cause.getCause()) {
      String message = cause.getMessage();
      if (cause instanceof IllegalArgumentException
          && message != null
          && message.startsWith(NO_FIELD)) {
        return true;
      }
    }
    return false;
  }

  /**
   * The table as the planner can use it, for nothing but scans; or null if it lacks no field, or is
   * of a kind that cannot be dressed so.
   */
  static @Nullable Table plannable(Table table, Snapshot snapshot) {
    Set<Integer> lost = new TreeSet<>();
    UnprunedDeletes.forEach(
        table,
        snapshot,
        table.specs(),
        (spec, file) -> {
          if (file.content() == FileContent.EQUALITY_DELETES) {
            lost.addAll(equalityIds(file));
          }
        });
    lost.removeIf(
        id -> table.schemas().values().stream().anyMatch(schema -> schema.findField(id) != null));
    if (lost.isEmpty() || !(table instanceof HasTableOperations)) {
      return null;
    }
    List<Types.NestedField> columns = new ArrayList<>();
    for (int id : lost) {
      columns.add(Types.NestedField.optional(id, "field_" + id, Types.StructType.of()));
    }
    return new Dressed(
        ((HasTableOperations) table).operations(), table.name(), new Schema(columns));
  }

  private static List<Integer> equalityIds(DeleteFile file) {
    List<Integer> ids = file.equalityFieldIds();
    return ids == null ? List.of() : ids;
  }

  private static final class Dressed extends BaseTable {
    private static final long serialVersionUID = 1L;
    private static final int SCHEMA_ID = -1;

    private final transient Schema lost;

    Dressed(TableOperations operations, String name, Schema lost) {
      super(operations, name);
      this.lost = lost;
    }

    @Override
    public Map<Integer, Schema> schemas() {
      Map<Integer, Schema> schemas = new HashMap<>(super.schemas());
      schemas.put(SCHEMA_ID, lost);
      return schemas;
    }
  }
}
