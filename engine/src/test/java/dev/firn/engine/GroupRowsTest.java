package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.deletes.DeletedRows;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.io.CloseableIterable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GroupRowsTest {
  @TempDir Path directory;

  /** One row deleted of each file. */
  private static final DeletedRows ONE =
      new DeletedRows() {
        @Override
        public long count() {
          return 1;
        }

        @Override
        public int clearDeleted(long firstPosition, int rows, long[] live) {
          throw new UnsupportedOperationException();
        }

        @Override
        public boolean anyIn(long firstPosition, long rows) {
          throw new UnsupportedOperationException();
        }
      };

  @Test
  void c26ARowLostFromOneFileAndOneDoubledFromAnotherDoNotAddUp() throws Exception {
    Table table = SmallTable.withDeletes(directory, 2);
    List<FileScanTask> tasks = new ArrayList<>();
    try (CloseableIterable<FileScanTask> planned = table.newScan().planFiles()) {
      planned.forEach(tasks::add);
    }
    RewriteFileGroup group =
        new RewriteFileGroup(
            ImmutableRewriteDataFiles.FileGroupInfo.builder()
                .globalIndex(1)
                .partitionIndex(1)
                .partition(GenericRecord.create(table.spec().partitionType()))
                .build(),
            tasks,
            0,
            1,
            1,
            1);
    Map<String, DeletedRows> deleted = new HashMap<>();
    tasks.forEach(task -> deleted.put(task.file().location(), ONE));
    GroupRows rows = new GroupRows(null, group, deleted, null);
    long[] moved = new long[rows.inputs()];
    tasks.forEach(task -> moved[rows.input(task.file())] = task.file().recordCount() - 1);

    assertThatCode(() -> rows.checkMoved(moved)).doesNotThrowAnyException();
    moved[0]--;
    moved[1]++;
    assertThatThrownBy(() -> rows.checkMoved(moved))
        .isInstanceOf(RowsLostException.class)
        .hasMessageContaining("were moved");
  }
}
