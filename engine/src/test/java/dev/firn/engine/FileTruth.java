package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.TableRows;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.Accessor;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.MetricsModes;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Comparators;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.StructLikeWrapper;

/**
 * Holds manifest entries against the content of their files (O-C): counts, bounds, partition
 * tuples, sizes, offsets. Files are read by Iceberg's generic readers.
 */
final class FileTruth {
  private FileTruth() {}

  /** Where the live data files are. */
  static Set<String> locations(Table table) {
    return TableRows.dataFiles(table, table.currentSnapshot()).stream()
        .map(DataFile::location)
        .collect(Collectors.toSet());
  }

  /** Checks the live data files that were not there before. */
  static void check(Table table, Set<String> before) {
    check(table, table.currentSnapshot(), before);
  }

  /** Checks the data files of a snapshot that were not there before. */
  static void check(Table table, Snapshot snapshot, Set<String> before) {
    for (DataFile file : TableRows.dataFiles(table, snapshot)) {
      if (!before.contains(file.location())) {
        check(table, file);
      }
    }
  }

  private static void check(Table table, DataFile file) {
    List<Record> rows = TableRows.inFile(table, file);
    String name = file.location();
    assertThat(file.recordCount()).as("record_count of %s (M8)", name).isEqualTo(rows.size());
    assertThat(rows).as("rows of %s (D31)", name).isNotEmpty();
    assertThat(file.fileSizeInBytes())
        .as("file_size_in_bytes of %s (M8)", name)
        .isEqualTo(table.io().newInputFile(file.location()).getLength());
    assertThat(file.splitOffsets()).as("split_offsets of %s (M7)", name).isNotEmpty().isSorted();
    assertThat(file.splitOffsets().get(file.splitOffsets().size() - 1))
        .as("last split offset of %s (M7)", name)
        .isLessThan(file.fileSizeInBytes());
    assertThat(file.firstRowId() != null)
        .as("first_row_id of %s is assigned by the commit, on format version 3 (L5)", name)
        .isEqualTo(TableUtil.formatVersion(table) >= 3);
    checkPartition(table, file, rows);
    checkColumns(table, file, rows);
  }

  private static void checkPartition(Table table, DataFile file, List<Record> rows) {
    PartitionSpec spec = table.specs().get(file.specId());
    if (spec.isUnpartitioned()) {
      return;
    }
    Schema schema = table.schema();
    boolean bound =
        spec.fields().stream().allMatch(field -> schema.findField(field.sourceId()) != null);
    if (!bound) {
      return; // P6: the source column is gone, the tuple can only have been copied
    }
    PartitionKey key = new PartitionKey(spec, schema);
    InternalRecordWrapper wrapper = new InternalRecordWrapper(schema.asStruct());
    StructLikeWrapper expected =
        StructLikeWrapper.forType(spec.partitionType()).set(file.partition());
    for (Record row : rows) {
      key.partition(wrapper.wrap(row));
      assertThat(StructLikeWrapper.forType(spec.partitionType()).set(key))
          .as("partition of a row of %s (M10)", file.location())
          .isEqualTo(expected);
    }
  }

  private static void checkColumns(Table table, DataFile file, List<Record> rows) {
    Schema schema = table.schema();
    InternalRecordWrapper wrapper = new InternalRecordWrapper(schema.asStruct());
    Map<Integer, List<Object>> values = new HashMap<>();
    List<Types.NestedField> leaves = new ArrayList<>();
    collect(schema.asStruct(), leaves);
    for (Types.NestedField leaf : leaves) {
      Accessor<StructLike> accessor = schema.accessorForField(leaf.fieldId());
      List<Object> column = new ArrayList<>();
      for (Record row : rows) {
        column.add(accessor.get(wrapper.wrap(row)));
      }
      values.put(leaf.fieldId(), column);
    }
    for (Types.NestedField leaf : leaves) {
      checkColumn(file, leaf, values.get(leaf.fieldId()));
      checkExact(table, file, leaf, values.get(leaf.fieldId()));
    }
  }

  /** Primitive fields outside of lists and maps. */
  private static void collect(Types.StructType struct, List<Types.NestedField> leaves) {
    for (Types.NestedField field : struct.fields()) {
      if (field.type().isPrimitiveType()) {
        leaves.add(field);
      } else if (field.type().isStructType()) {
        collect(field.type().asStructType(), leaves);
      }
    }
  }

  private static void checkColumn(DataFile file, Types.NestedField leaf, List<Object> column) {
    int id = leaf.fieldId();
    String name = leaf.name() + " of " + file.location();
    if (file.valueCounts() != null && file.valueCounts().containsKey(id)) {
      assertThat(file.valueCounts().get(id))
          .as("value count of %s (M4)", name)
          .isEqualTo(column.size());
    }
    if (file.nullValueCounts() != null && file.nullValueCounts().containsKey(id)) {
      assertThat(file.nullValueCounts().get(id))
          .as("null count of %s (M4)", name)
          .isEqualTo(column.stream().filter(value -> value == null).count());
    }
    if (file.nanValueCounts() != null && file.nanValueCounts().containsKey(id)) {
      assertThat(file.nanValueCounts().get(id))
          .as("NaN count of %s (M3)", name)
          .isEqualTo(column.stream().filter(FileTruth::isNan).count());
    }
    if (leaf.type().typeId() == Type.TypeID.UNKNOWN) {
      assertThat(file.valueCounts()).as("value counts of %s (S12)", name).doesNotContainKey(id);
      return;
    }
    if (leaf.type().typeId() == Type.TypeID.UUID) {
      return; // its bounds are unsigned, Iceberg's comparator is signed (H5)
    }
    Comparator<Object> comparator = Comparators.forType(leaf.type().asPrimitiveType());
    List<Object> ordered = column.stream().filter(value -> value != null && !isNan(value)).toList();
    bound(file.lowerBounds(), leaf)
        .ifPresent(
            lower ->
                assertThat(ordered)
                    .as("lower bound of %s (M2)", name)
                    .allMatch(value -> comparator.compare(lower, value) <= 0));
    bound(file.upperBounds(), leaf)
        .ifPresent(
            upper ->
                assertThat(ordered)
                    .as("upper bound of %s (M2)", name)
                    .allMatch(value -> comparator.compare(upper, value) >= 0));
  }

  /* Engines answer MIN and MAX from bounds that were not truncated. */
  private static void checkExact(
      Table table, DataFile file, Types.NestedField leaf, List<Object> column) {
    Type.TypeID type = leaf.type().typeId();
    MetricsModes.MetricsMode mode =
        MetricsConfig.forTable(table).columnMode(table.schema().findColumnName(leaf.fieldId()));
    boolean canBeTruncated =
        (type == Type.TypeID.STRING || type == Type.TypeID.BINARY || type == Type.TypeID.FIXED)
            && mode instanceof MetricsModes.Truncate;
    if (type == Type.TypeID.UNKNOWN || type == Type.TypeID.UUID || canBeTruncated) {
      return;
    }
    Comparator<Object> comparator = Comparators.forType(leaf.type().asPrimitiveType());
    List<Object> ordered = column.stream().filter(value -> value != null && !isNan(value)).toList();
    if (ordered.isEmpty()) {
      return;
    }
    String name = leaf.name() + " of " + file.location();
    Object least = Collections.min(ordered, comparator);
    Object greatest = Collections.max(ordered, comparator);
    bound(file.lowerBounds(), leaf)
        .ifPresent(
            lower ->
                assertThat(isSame(lower, least, comparator))
                    .as("lower bound %s of %s is its least value %s (M5)", lower, name, least)
                    .isTrue());
    bound(file.upperBounds(), leaf)
        .ifPresent(
            upper ->
                assertThat(isSame(upper, greatest, comparator))
                    .as("upper bound %s of %s is its greatest value %s (M5)", upper, name, greatest)
                    .isTrue());
  }

  /* Zeros are equal whatever their sign. */
  private static boolean isSame(Object bound, Object value, Comparator<Object> comparator) {
    return comparator.compare(bound, value) == 0
        || bound instanceof Number one
            && value instanceof Number other
            && one.doubleValue() == 0
            && other.doubleValue() == 0;
  }

  private static Optional<Object> bound(Map<Integer, ByteBuffer> bounds, Types.NestedField leaf) {
    return Optional.ofNullable(bounds)
        .map(all -> all.get(leaf.fieldId()))
        .map(bytes -> Conversions.fromByteBuffer(leaf.type(), bytes));
  }

  private static boolean isNan(Object value) {
    return value instanceof Float f && f.isNaN() || value instanceof Double d && d.isNaN();
  }
}
