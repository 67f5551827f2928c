package dev.firn.engine.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;

/**
 * A table as a reader meets it, counted with Iceberg's own planner and row reader.
 *
 * @param dataFiles live data files
 * @param deleteFiles delete files, or deletion vectors, that a reader must open
 * @param bytes size of both
 * @param rows rows that a reader sees
 * @param rowsSum sum of a hash of each row, with its row id in format version 3: equal sums mean
 *     the same rows, in whatever order
 * @param filesPerLookup data files whose range holds a value, on average over values
 */
record DemoCensus(
    int dataFiles, int deleteFiles, long bytes, long rows, long rowsSum, double filesPerLookup) {

  /** Whether a reader sees the same rows in both. */
  boolean sameRows(DemoCensus other) {
    return rows == other.rows && rowsSum == other.rowsSum;
  }

  /**
   * Counts.
   *
   * @param lookup an int column from 0 up
   * @param values how many values it has
   */
  static DemoCensus of(Table table, String lookup, int values) {
    Types.NestedField column = table.schema().findField(lookup);
    int dataFiles = 0;
    long bytes = 0;
    long hits = 0;
    Set<String> deletes = new HashSet<>();
    try (CloseableIterable<FileScanTask> tasks = table.newScan().includeColumnStats().planFiles()) {
      for (FileScanTask task : tasks) {
        dataFiles++;
        bytes += task.file().fileSizeInBytes();
        long lower = bound(task.file().lowerBounds(), column, 0);
        long upper = bound(task.file().upperBounds(), column, values - 1);
        hits += upper - lower + 1;
        for (DeleteFile delete : task.deletes()) {
          // Several deletion vectors share a file.
          if (deletes.add(delete.location() + "#" + delete.contentOffset())) {
            bytes +=
                delete.contentSizeInBytes() == null
                    ? delete.fileSizeInBytes()
                    : delete.contentSizeInBytes();
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot plan a scan of " + table.name(), e);
    }
    Schema schema = withRowIds(table);
    long rows = 0;
    long sum = 0;
    try (CloseableIterable<Record> records = IcebergGenerics.read(table).project(schema).build()) {
      for (Record record : records) {
        rows++;
        sum += hash(record, schema.columns().size());
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + table.name(), e);
    }
    return new DemoCensus(dataFiles, deletes.size(), bytes, rows, sum, (double) hits / values);
  }

  private static long bound(
      Map<Integer, ByteBuffer> bounds, Types.NestedField column, long otherwise) {
    ByteBuffer bound = bounds == null ? null : bounds.get(column.fieldId());
    return bound == null
        ? otherwise
        : Conversions.<Integer>fromByteBuffer(column.type(), bound).longValue();
  }

  /** The table's columns, and in format version 3 what a rewrite must carry along with them. */
  private static Schema withRowIds(Table table) {
    List<Types.NestedField> columns = new ArrayList<>(table.schema().columns());
    if (TableUtil.formatVersion(table) >= 3) {
      columns.add(MetadataColumns.ROW_ID);
      columns.add(MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER);
    }
    return new Schema(columns);
  }

  /* The reader appends columns of its own where deletes need them, a row's position among them. */
  private static long hash(Record record, int columns) {
    List<Object> values = new ArrayList<>(columns);
    for (int i = 0; i < columns; i++) {
      values.add(record.get(i));
    }
    long h = 0xcbf29ce484222325L;
    String text = values.toString();
    for (int i = 0; i < text.length(); i++) {
      h = (h ^ text.charAt(i)) * 0x100000001b3L;
    }
    return h ^ (h >>> 29);
  }
}
