package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.TableRows;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.SortField;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.SortOrderComparators;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.StructLikeMap;

/**
 * Holds output files against a sort order by Iceberg's own comparators, row by row (O1, M9). Orders
 * with a UUID cannot be told by them: they compare UUIDs as signed numbers (O4).
 */
final class SortedTruth {
  private final Table table;
  private final Comparator<StructLike> comparator;
  private final Types.StructType rows;

  private SortedTruth(Table table, SortOrder order) {
    this.table = table;
    this.comparator = SortOrderComparators.forSchema(table.schema(), order);
    this.rows = TableRows.schema(table).asStruct();
  }

  static boolean canTell(Table table, SortOrder order) {
    for (SortField field : order.fields()) {
      Type source = table.schema().findType(field.sourceId());
      if (field.transform().getResultType(source).typeId() == Type.TypeID.UUID) {
        return false;
      }
    }
    return true;
  }

  /** Rows of each file are in order. */
  static void checkFile(Table table, SortOrder order, DataFile file) {
    new SortedTruth(table, order).firstAndLast(file);
  }

  /** Rows of each file are in order, and the files of each partition follow one another. */
  static void checkGroup(Table table, SortOrder order, RewriteFileGroup group) {
    SortedTruth truth = new SortedTruth(table, order);
    StructLikeMap<List<DataFile>> partitions =
        StructLikeMap.create(table.specs().get(group.outputSpecId()).partitionType());
    for (DataFile file : group.addedFiles()) {
      partitions.computeIfAbsent(file.partition(), partition -> new ArrayList<>()).add(file);
    }
    for (List<DataFile> files : partitions.values()) {
      List<Record[]> ranges = new ArrayList<>();
      files.forEach(file -> ranges.add(truth.firstAndLast(file)));
      ranges.sort(
          (left, right) -> {
            int first = truth.compare(left[0], right[0]);
            return first != 0 ? first : truth.compare(left[1], right[1]);
          });
      for (int i = 1; i < ranges.size(); i++) {
        assertThat(truth.compare(ranges.get(i - 1)[1], ranges.get(i)[0]))
            .as("last row of a file to first row of the next by %s: %s", order, ranges)
            .isNotPositive();
      }
    }
  }

  private Record[] firstAndLast(DataFile file) {
    List<Record> records = TableRows.inFile(table, file);
    for (int i = 1; i < records.size(); i++) {
      assertThat(compare(records.get(i - 1), records.get(i)))
          .as(
              "rows %d and %d of %s by %s: %s, %s",
              i - 1, i, file.location(), file.sortOrderId(), records.get(i - 1), records.get(i))
          .isNotPositive();
    }
    return new Record[] {records.get(0), records.get(records.size() - 1)};
  }

  private int compare(Record left, Record right) {
    return comparator.compare(
        new InternalRecordWrapper(rows).wrap(left), new InternalRecordWrapper(rows).wrap(right));
  }
}
