package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.commit.CarryOver;
import dev.firn.deletes.DeleteLimits;
import dev.firn.engine.parquet.TableReader;
import dev.firn.io.RangeReader;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Parts of the heap that grow with a table keep to their shares (DESIGN 5). */
class MemorySharesHeldTest {
  @TempDir Path directory;
  @TempDir Path scratch;

  private Table table(int filterBytes, int rowGroupBytes) {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(SmallTable.SCHEMA)
            .property("write.parquet.bloom-filter-enabled.column.id", "true")
            .property("write.parquet.bloom-filter-enabled.column.note", "true")
            .property("write.parquet.bloom-filter-max-bytes", "" + filterBytes)
            .property("write.parquet.row-group-size-bytes", "" + rowGroupBytes)
            .property("write.parquet.row-group-check-min-record-count", "10")
            .create();
    for (int i = 0; i < 4; i++) {
      TableFiles.of(table).append(SmallTable.rows(2000 * i, 2000, "eu"));
    }
    table.refresh();
    return table;
  }

  private CompactionSettings.Builder settings(long memoryBytes) {
    return Runs.all(scratch).memoryBytes(memoryBytes);
  }

  private static MemoryUse.Share share(MemoryUse memory, String name) {
    return memory.shares().stream()
        .filter(one -> one.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void filesEndBeforeTheirBloomFiltersTakeMoreThanTheirShare() {
    Table table = table(64 << 10, 3000);
    List<String> rows = TableRows.live(table);
    CompactionReport report = Runs.of(table, settings(32L << 20));
    assertThat(TableRows.live(table)).isEqualTo(rows);
    MemoryUse.Share filters = share(report.memory(), "bloom filters (heap)");
    assertThat(filters.limitBytes()).isEqualTo(4L << 20);
    assertThat(Objects.requireNonNull(filters.peakBytes()))
        .isBetween(filters.limitBytes() / 2, filters.limitBytes() + (128 << 10));
    List<DataFile> files = TableRows.dataFiles(table, table.currentSnapshot());
    assertThat(files)
        .as("of about 32 row groups each")
        .hasSizeBetween(2, 20)
        .allMatch(file -> file.splitOffsets().size() <= 34)
        .anyMatch(file -> file.splitOffsets().size() >= 32);
  }

  @Test
  void bloomFiltersThatDoNotFitAreRefusedWithTheNumberNeeded() {
    Table table = table(4 << 20, 1 << 20);
    assertThatThrownBy(
            () -> new Compaction(table, settings(24L << 20).build(), CompactionListener.NONE).run())
        .isInstanceOf(GroupMemoryException.class)
        .hasMessageContaining("bloom filters")
        .hasMessageContaining("Nothing was changed")
        .hasMessageContaining("--memory ");
    CompactionPlan plan =
        new Compaction(table, settings(24L << 20).build(), CompactionListener.NONE).plan();
    assertThat(plan.memoryBytesNeeded()).isGreaterThan(8 * 8L << 20);
    Runs.of(table, settings(plan.memoryBytesNeeded()));
  }

  @Test
  void c5DeletesThatTakeTooMuchMemoryAreNotCarriedOver() throws Exception {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    CompactionSettings settings = settings(512L << 20).build();
    Pin pin = Objects.requireNonNull(Pin.of(table, settings));
    RewriteFileGroup group =
        new Compaction(table, settings, CompactionListener.NONE).plan().groups().get(0);
    FileScanTask task =
        group.fileScanTasks().stream()
            .filter(one -> one.file().recordCount() == 10)
            .findFirst()
            .orElseThrow();
    DataFile input = task.file();
    int ordinal = group.fileScanTasks().indexOf(task);
    TableFiles.of(table).deletePositions(Map.of(input, new long[] {1, 3, 5}));
    table.refresh();
    DeleteFile deletes =
        TableRows.deleteFiles(table, table.currentSnapshot()).stream()
            .max(Comparator.comparing(DeleteFile::dataSequenceNumber))
            .orElseThrow();
    MemoryPeaks.Gauge held = new MemoryPeaks.Gauge();
    ExecutorService fetchers = Executors.newSingleThreadExecutor();
    // Of some bytes for the rows of the input, and more for what a delete file deletes of them.
    try (BufferAllocator allocator = new RootAllocator();
        RangeReader ranges = RangeReader.over(table.io(), 2);
        TableReader reader =
            new TableReader(
                table.io(),
                pin.schema(),
                pin.specs(),
                Pin.nameMapping(pin.table()),
                ranges,
                allocator,
                scratch,
                1024)) {
      for (long bytesMax : new long[] {1, 100, 10_000}) {
        OutputDeletes outputDeletes =
            new OutputDeletes(
                pin,
                "carry-" + bytesMax,
                reader,
                new DeleteLimits(1 << 20),
                fetchers,
                held,
                bytesMax);
        try (RowOrigins origins = new RowOrigins(scratch, "o", held, Long.MAX_VALUE)) {
          RowOrigins.Log log = origins.log();
          log.addNeighbours(RowOrigins.origin(ordinal, 0), new long[] {-1}, 10);
          log.finish(List.of(input)); // stands for an output with the same rows
          outputDeletes.know(group, origins);
          Optional<CarryOver.Carried> carried =
              outputDeletes.carry(
                  List.of(
                      new CarryOver.NewDeletes(group, Map.of(input.location(), List.of(deletes)))),
                  2);
          assertThat(carried.isPresent()).as("with %s bytes", bytesMax).isEqualTo(bytesMax > 100);
          carried.ifPresent(some -> assertThat(some.rows()).isEqualTo(3));
          assertThat(held.peak()).isLessThan(2000);
          outputDeletes.forget(group);
        }
        assertThat(held.held()).isZero();
      }
    } finally {
      fetchers.shutdownNow();
    }
  }
}
