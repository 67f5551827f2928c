package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import java.nio.file.Path;
import java.util.List;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory depends on the size of row groups, not on how many there are (DESIGN 4). */
class MemoryTest {
  private static final int ROWS = 5_000;

  @TempDir Path directory;

  private long peakBytes(int rowGroups, Layout layout) {
    return peakBytes(rowGroups, layout, true);
  }

  private long peakBytes(int rowGroups, Layout layout, boolean splices) {
    Table table =
        TableBuilder.at(directory.resolve("t" + rowGroups))
            .schema(SmallTable.SCHEMA)
            .property("write.parquet.row-group-size-bytes", "65536")
            .create();
    List<Record> rows = SmallTable.rows(0, ROWS * rowGroups, "eu");
    TableFiles.of(table).rowGroupRows(ROWS).append(rows);
    table.refresh();
    CompactionSettings settings =
        CompactionSettings.builder()
            .option("rewrite-all", "true")
            .option("splice", String.valueOf(splices))
            .layout(layout)
            .memoryBytes(512L << 20)
            .scratch(directory)
            .threads(2)
            .build();
    Compaction compaction = new Compaction(table, settings, CompactionListener.NONE);
    CompactionReport report = compaction.run();
    assertThat(report.failures()).isEmpty();
    assertThat(report.rows().written()).isEqualTo(rows.size());
    return compaction.arrowPeakBytes();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void binPackOfManyRowGroupsTakesTheMemoryOfFew(boolean splices) {
    long one = peakBytes(1, new Layout.BinPack(), splices);
    long many = peakBytes(40, new Layout.BinPack(), splices);
    assertThat(one).isPositive();
    assertThat(many).isLessThanOrEqualTo(8 * one); // a few are there at once
  }

  @Test
  void aSortHoldsAllRowsAndTheProbeSeesIt() {
    SortOrder order = SortOrder.builderFor(SmallTable.SCHEMA).desc("id").build();
    long few = peakBytes(4, new Layout.Sorted(order));
    long many = peakBytes(40, new Layout.Sorted(order));
    assertThat(many).isGreaterThan(3 * few);
  }
}
