package dev.firn.engine;

import dev.firn.testdata.RowText;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IdentityPartitionConverters;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * What rows each snapshot of a table must hold, by what its writers did: the oracle of
 * interleavings. A compaction's snapshot holds the rows of its parent.
 *
 * <p>A row has an identity, which is a column too; a row that is changed is another row.
 */
final class LogicalTable {
  /**
   * A row as it was written.
   *
   * @param values by field id; a field that is missing was not known to the writer
   */
  record Row(long identity, Map<Integer, Object> values) {
    /** The value of a field as the table sees it now, null if it is null. */
    @Nullable Object value(Types.NestedField field) {
      return values.containsKey(field.fieldId())
          ? typed(values.get(field.fieldId()), field.type())
          : IdentityPartitionConverters.convertConstant(field.type(), field.initialDefault());
    }

    Record in(Schema schema) {
      Record record = GenericRecord.create(schema);
      for (int pos = 0; pos < schema.columns().size(); pos++) {
        record.set(pos, value(schema.columns().get(pos)));
      }
      return record;
    }
  }

  private final Map<Long, Map<Long, Row>> bySnapshot = new HashMap<>();
  private long lastIdentity;

  static @Nullable Object typed(@Nullable Object value, Type type) {
    if (value instanceof Integer number && type.typeId() == Type.TypeID.LONG) {
      return Long.valueOf(number);
    } else if (value instanceof Long number && type.typeId() == Type.TypeID.INTEGER) {
      return Math.toIntExact(number);
    }
    return value;
  }

  long newIdentity() {
    return ++lastIdentity;
  }

  boolean knows(Snapshot snapshot) {
    return bySnapshot.containsKey(snapshot.snapshotId());
  }

  /** The rows of a snapshot by identity, to be changed at will; none where there is no snapshot. */
  Map<Long, Row> rows(@Nullable Snapshot snapshot) {
    return snapshot == null
        ? new TreeMap<>()
        : new TreeMap<>(Objects.requireNonNull(bySnapshot.get(snapshot.snapshotId())));
  }

  void holds(Snapshot snapshot, Map<Long, Row> rows) {
    bySnapshot.put(snapshot.snapshotId(), Map.copyOf(rows));
  }

  /** A snapshot that must not change rows. */
  void holdsRowsOfParent(Snapshot snapshot) {
    Long parent = snapshot.parentId();
    bySnapshot.put(
        snapshot.snapshotId(),
        parent == null ? Map.of() : Objects.requireNonNull(bySnapshot.get(parent)));
  }

  /** The lines that a snapshot must be read as, without row lineage. */
  List<String> lines(Snapshot snapshot, Schema schema) {
    List<Record> records = new ArrayList<>();
    rows(snapshot).values().forEach(row -> records.add(row.in(schema)));
    return RowText.sortedLines(records, schema);
  }
}
