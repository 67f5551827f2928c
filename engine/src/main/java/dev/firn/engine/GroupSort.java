package dev.firn.engine;

import dev.firn.sort.RowSorter;
import dev.firn.sort.SortKeys;
import dev.firn.sort.Spill;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;

/**
 * Rows of a group while they are sorted, and where each came from. What does not fit into the
 * group's share of the memory is on scratch disk. Used by one thread.
 */
final class GroupSort implements AutoCloseable {
  private final RunContext run;
  private final RowSorter sorter;
  private final MemoryPeaks peaks;
  private final boolean tracked;
  private final BufferAllocator memory;
  private long held;
  private long scratch;
  private long scratchPeak;

  /**
   * @param columns what batches follow
   * @param keys of rows that follow them
   * @param tracked whether origins of rows are wanted: they are sorted along, as a last column
   */
  GroupSort(
      RunContext run, Schema columns, SortKeys keys, boolean tracked, BufferAllocator memory) {
    this.run = run;
    this.peaks = run.peaks();
    this.tracked = tracked;
    this.memory = memory;
    this.sorter =
        RowSorter.spilling(
            tracked ? withOrigin(columns) : columns,
            keys,
            memory,
            run.memory().sortBytesOfGroup(),
            Spill.to(run.scratch()),
            run.memory().worksAhead() ? run.ahead() : null);
  }

  private static Schema withOrigin(Schema columns) {
    List<Types.NestedField> fields = new ArrayList<>(columns.columns());
    fields.add(MetadataColumns.ROW_POSITION);
    return new Schema(fields);
  }

  /** Takes the live rows of a batch. */
  void add(VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins from)
      throws IOException {
    if (tracked) {
      addWithOrigin(batch, live, liveRows, from);
    } else {
      sorter.add(batch, live, liveRows);
    }
    count();
  }

  private void addWithOrigin(VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins from)
      throws IOException {
    int rows = batch.getRowCount();
    String name = String.valueOf(MetadataColumns.ROW_POSITION.fieldId());
    try (BigIntVector origins = from.vector(name, rows, memory)) {
      List<FieldVector> vectors = new ArrayList<>(batch.getFieldVectors());
      vectors.add(origins);
      List<Field> fields = new ArrayList<>(batch.getSchema().getFields());
      fields.add(origins.getField());
      sorter.add(new VectorSchemaRoot(fields, vectors, rows), live, liveRows);
    }
  }

  /** Gives all rows in order. To be called once. */
  void drain(GroupRows.LiveBatches sink) throws IOException {
    Pipe.Maker<VectorSchemaRoot> merge =
        to ->
            sorter.drain(
                GroupRewrite.BATCH_ROWS,
                batch -> {
                  count();
                  to.accept(Batches.moved(batch, memory));
                });
    long[] live = new long[LiveRows.words(GroupRewrite.BATCH_ROWS)];
    Pipe.Taker<VectorSchemaRoot> take =
        batch -> {
          run.stop().check();
          give(batch, live, sink);
        };
    if (run.memory().worksAhead()) {
      // What decoding may take is free: all rows are in the sorter.
      long room = run.memory().decodeBytesOfGroup() / 4;
      Pipe.run(run.ahead(), room, Batches::bytes, merge, take);
    } else {
      Pipe.run(merge, take);
    }
  }

  private void give(VectorSchemaRoot batch, long[] live, GroupRows.LiveBatches sink)
      throws IOException {
    int rows = batch.getRowCount();
    LiveRows.setAll(live, rows);
    if (tracked) {
      List<FieldVector> vectors = batch.getFieldVectors();
      BigIntVector each = (BigIntVector) vectors.get(vectors.size() - 1);
      sink.accept(BatchOrigins.withoutLast(batch), live, rows, BatchOrigins.each(each));
    } else {
      sink.accept(batch, live, rows, BatchOrigins.neighbours(0, 0));
    }
  }

  private void count() {
    long peak = sorter.stats().scratchBytesPeak();
    if (peak > scratchPeak) {
      scratchPeak = peak;
      hold(sorter.bytesHeld(), peak); // while runs were merged there was more than there is
    }
    hold(sorter.bytesHeld(), sorter.scratchBytes());
  }

  private void hold(long bytes, long scratchBytes) {
    peaks.sortHeld().add(bytes - held);
    held = bytes;
    peaks.scratchHeld().add(scratchBytes - scratch);
    scratch = scratchBytes;
  }

  @Override
  public void close() {
    hold(0, 0);
    sorter.close();
  }
}
