package dev.firn.engine;

import dev.firn.sort.SortKeys;
import java.io.IOException;
import java.util.Arrays;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;

/**
 * Writes rows that are sorted by partition, each partition to files of its own (P3). The tuple is
 * computed by the spec's transforms from the first row of each partition (M10). Not thread-safe.
 */
final class PartitionCuts {
  private final Schema schema;
  private final SortKeys partitions;
  private final TrackedOutput output;
  private final PartitionKey partition;
  private byte[] lastKey = {};
  private boolean first = true;

  PartitionCuts(Schema schema, PartitionSpec spec, SortKeys partitions, TrackedOutput output) {
    this.schema = schema;
    this.partitions = partitions;
    this.output = output;
    this.partition = new PartitionKey(spec, schema);
  }

  void append(VectorSchemaRoot batch, BatchOrigins origins) throws IOException {
    int rows = batch.getRowCount();
    PartitionRow row = new PartitionRow(schema, batch);
    long[] live = new long[LiveRows.words(rows)];
    int start = 0;
    while (start < rows) {
      int end = endOfRun(batch, start);
      byte[] key = partitions.encode(batch, start);
      if (first || !Arrays.equals(key, lastKey)) {
        partition.partition(row.at(start));
        output.partition(partition);
        lastKey = key;
        first = false;
      }
      Arrays.fill(live, 0L);
      LiveRows.setRange(live, start, end);
      output.append(batch, live, end - start, origins);
      start = end;
    }
  }

  /** The first row after {@code start} of another partition; the batch is sorted by partition. */
  private int endOfRun(VectorSchemaRoot batch, int start) {
    int same = start;
    int other = batch.getRowCount();
    while (same + 1 < other) {
      int probe = (same + other) >>> 1;
      if (partitions.compare(batch, start, batch, probe) == 0) {
        same = probe;
      } else {
        other = probe;
      }
    }
    return other;
  }
}
