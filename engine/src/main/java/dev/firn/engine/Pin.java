package dev.firn.engine;

import dev.firn.engine.parquet.DataFileOutput;
import dev.firn.engine.parquet.SupportedTypes;
import dev.firn.engine.parquet.UnsupportedTableException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.SortField;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.encryption.PlaintextEncryptionManager;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.mapping.NameMapping;
import org.apache.iceberg.mapping.NameMappingParser;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.SortOrderUtil;
import org.jspecify.annotations.Nullable;

/**
 * The table as a run sees it, captured once (C1): everything is planned, read and written by this,
 * whatever others commit meanwhile.
 *
 * @param table a copy that does not follow later commits
 * @param snapshotId the branch's head
 * @param sequenceNumber of that snapshot
 * @param columns what output files hold: the schema's columns but those of type unknown (S12), and
 *     on v3 the row lineage columns (L1)
 * @param rowOrder what puts rows into their order, null for bin-pack
 * @param order the sort order that does, null for bin-pack and curves
 * @param sortOrderId the table's id for {@code order}, 0 if it has none or cannot claim it (M9)
 */
record Pin(
    Table table,
    long snapshotId,
    long sequenceNumber,
    int formatVersion,
    Schema schema,
    Schema columns,
    @Nullable RowOrder rowOrder,
    @Nullable SortOrder order,
    int sortOrderId) {

  static final int LINEAGE_FORMAT_VERSION = 3;
  private static final int FORMAT_VERSION_MAX = 3;
  private static final String ENCRYPTION_KEY_ID = "encryption.key-id";

  /**
   * Captures the branch's head.
   *
   * @return null if the table or the branch has no snapshot: then there is nothing to do (N12)
   * @throws UnsupportedTableException if the table holds what Firn does not do
   * @throws IllegalArgumentException if there is no such branch, or the layout cannot apply
   */
  static @Nullable Pin of(Table table, CompactionSettings settings) {
    refuseUnsupported(table, settings.allowFormatChange());
    refuseLocations(table);
    Snapshot head = head(table, settings.branch());
    if (head == null) {
      return null;
    }
    int formatVersion = TableUtil.formatVersion(table);
    Schema schema = table.schema();
    SortOrder order = order(table, settings.layout());
    RowOrder rowOrder = order == null ? curve(table, settings) : new RowOrder.Plain(order);
    Schema columns =
        SupportedTypes.stored(
            formatVersion >= LINEAGE_FORMAT_VERSION ? withLineage(table) : schema);
    DataFileOutput.check(table, columns);
    return new Pin(
        SerializableTable.copyOf(table),
        head.snapshotId(),
        head.sequenceNumber(),
        formatVersion,
        schema,
        columns,
        rowOrder,
        order,
        order == null ? 0 : claimable(table, order));
  }

  /**
   * The names by which columns of files without field ids are known (S8), or null if there are
   * none.
   */
  static @Nullable NameMapping nameMapping(Table table) {
    String json = table.properties().get(TableProperties.DEFAULT_NAME_MAPPING);
    return json == null ? null : NameMappingParser.fromJson(json);
  }

  private static Schema withLineage(Table table) {
    try {
      return MetadataColumns.schemaWithRowLineage(table.schema());
    } catch (ValidationException | IllegalArgumentException e) {
      throw new UnsupportedTableException(
          "Cannot compact "
              + table.name()
              + ": its columns clash with those of row lineage, "
              + MetadataColumns.ROW_ID.name()
              + " and "
              + MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER.name()
              + " (L9): "
              + e.getMessage()
              + "; nothing was changed");
    }
  }

  private static @Nullable Snapshot head(Table table, String branch) {
    SnapshotRef ref = table.refs().get(branch);
    if (ref != null && ref.isTag()) {
      throw new IllegalArgumentException(
          "Cannot compact " + table.name() + " at " + branch + ": it is a tag, not a branch");
    }
    if (ref == null) {
      if (branch.equals(SnapshotRef.MAIN_BRANCH)) {
        return null;
      }
      throw new IllegalArgumentException(
          "Cannot compact "
              + table.name()
              + " at branch "
              + branch
              + ": there is no such branch; it has "
              + table.refs().keySet());
    }
    return table.snapshot(ref.snapshotId());
  }

  private static void refuseUnsupported(Table table, boolean allowFormatChange) {
    String refused = "Cannot compact " + table.name() + ": ";
    int formatVersion = TableUtil.formatVersion(table);
    if (formatVersion > FORMAT_VERSION_MAX) {
      throw new UnsupportedTableException(
          refused + "format version " + formatVersion + " is not supported; nothing was changed");
    }
    if (table.properties().containsKey(ENCRYPTION_KEY_ID)
        || !(table.encryption() instanceof PlaintextEncryptionManager)) {
      throw new UnsupportedTableException(
          refused + "the table is encrypted, which is not supported; nothing was changed");
    }
    String format =
        table
            .properties()
            .getOrDefault(
                TableProperties.DEFAULT_FILE_FORMAT, TableProperties.DEFAULT_FILE_FORMAT_DEFAULT);
    if (!allowFormatChange && FileFormat.fromString(format) != FileFormat.PARQUET) {
      throw new UnsupportedTableException(
          refused
              + TableProperties.DEFAULT_FILE_FORMAT
              + " is "
              + format
              + " but Firn writes Parquet (M13); nothing was changed. To have the files it rewrites"
              + " in Parquet, set "
              + CompactionOption.ALLOW_FORMAT_CHANGE.key()
              + " to true");
    }
    SupportedTypes.check(table.schema());
  }

  /**
   * Properties of former versions and classes that are missing show here, before any work (M14).
   */
  private static void refuseLocations(Table table) {
    try {
      table.locationProvider();
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "Cannot compact "
              + table.name()
              + ": the table's properties do not say where new data files go: "
              + e.getMessage()
              + "; nothing was changed",
          e);
    }
  }

  /** The curve that rows are to follow, checked against the schema; null if none. */
  private static @Nullable RowOrder curve(Table table, CompactionSettings settings) {
    Layout layout = settings.layout();
    try {
      if (layout instanceof Layout.ZOrder zOrder && zOrder.input() == Layout.CurveInput.BYTES) {
        RowOrder.ByteCurve curve =
            new RowOrder.ByteCurve(
                clustering(table, settings, zOrder.columns()),
                settings.varLengthContribution(),
                settings.maxOutputSize());
        curve.keys(table.schema());
        return curve;
      }
      List<String> names =
          layout instanceof Layout.ZOrder zOrder
              ? zOrder.columns()
              : layout instanceof Layout.Hilbert hilbert ? hilbert.columns() : List.of();
      if (names.isEmpty()) {
        return null;
      }
      RowOrder.RankCurve curve =
          new RowOrder.RankCurve(
              clustering(table, settings, names), layout instanceof Layout.Hilbert);
      curve.sampler(table.schema());
      return curve;
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "Cannot cluster " + table.name() + ": " + e.getMessage() + " Nothing was changed.", e);
    }
  }

  /** Without the columns that have one value in each partition of the outputs (O12). */
  private static List<String> clustering(
      Table table, CompactionSettings settings, List<String> names) {
    int specId = CompactionOption.OUTPUT_SPEC_ID.count(settings.options(), table.spec().specId());
    PartitionSpec spec = table.specs().getOrDefault(specId, table.spec());
    Set<Integer> identities = spec.identitySourceIds();
    List<String> left =
        names.stream()
            .filter(
                name -> {
                  Types.NestedField field = table.schema().findField(name);
                  return field == null || !identities.contains(field.fieldId());
                })
            .toList();
    if (left.isEmpty()) {
      throw new IllegalArgumentException(
          "all of the columns "
              + names
              + " have one value in each partition: there is nothing to cluster by.");
    }
    return left;
  }

  private static @Nullable SortOrder order(Table table, Layout layout) {
    if (!(layout instanceof Layout.Sorted) && !(layout instanceof Layout.TableOrder)) {
      return null;
    }
    SortOrder order = layout instanceof Layout.Sorted sorted ? sorted.order() : table.sortOrder();
    if (order.isUnsorted()) {
      throw new IllegalArgumentException(
          "Cannot sort " + table.name() + " by the table's sort order: it has none");
    }
    for (SortField field : order.fields()) {
      Type type = table.schema().findType(field.sourceId());
      if (type != null && type.typeId() == Type.TypeID.UNKNOWN) {
        throw new UnsupportedTableException(
            "Cannot sort "
                + table.name()
                + " by "
                + order
                + ": column "
                + table.schema().findColumnName(field.sourceId())
                + " is of type unknown, which has no order; nothing was changed");
      }
      if (type == null) {
        throw new IllegalArgumentException(
            "Cannot sort "
                + table.name()
                + " by "
                + order
                + ": column with id "
                + field.sourceId()
                + " is no longer in the schema (O8)");
      }
    }
    return order;
  }

  /** UUIDs are sorted unsigned, as Parquet's statistics are; Iceberg's comparator differs (O4). */
  private static int claimable(Table table, SortOrder order) {
    boolean byUuid =
        order.fields().stream()
            .anyMatch(
                field ->
                    field
                            .transform()
                            .getResultType(table.schema().findType(field.sourceId()))
                            .typeId()
                        == Type.TypeID.UUID);
    return byUuid ? 0 : SortOrderUtil.findTableSortOrder(table, order).orderId();
  }

  /** The spec that outputs of a group have. */
  PartitionSpec spec(int specId) {
    PartitionSpec spec = table.specs().get(specId);
    if (spec == null) {
      throw new IllegalStateException("No partition spec " + specId + " in " + table.name());
    }
    return spec;
  }

  /**
   * @throws UnsupportedTableException if rows cannot be assigned to partitions of the spec (P5)
   */
  void refuseUnwritable(PartitionSpec spec) {
    if (!PartitionSpecs.isWritable(spec)) {
      throw new UnsupportedTableException(
          "Cannot compact "
              + table.name()
              + " with outputs of partition spec "
              + spec.specId()
              + ": "
              + PartitionSpecs.whyUnwritable(spec)
              + "; nothing was changed");
    }
  }

  Map<Integer, PartitionSpec> specs() {
    return table.specs();
  }
}
