package dev.firn.engine;

import dev.firn.engine.parquet.SourceFile;
import dev.firn.sort.SortKeys;
import dev.firn.sort.VectorGather;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * Spreads the rows of a group over the partitions of another spec, in bounded memory and with few
 * files open at once, whatever the number of rows and partitions (P3).
 *
 * <p>The source columns of the spec are read first, to count the rows of each partition. Then the
 * group is read: the rows of the largest partitions go straight to an open file each, all others
 * are sorted by partition, with what does not fit into memory on scratch disk, and written one
 * partition after another. Rows of a partition keep their order, or are in the order that is asked
 * for if there is one; then all of them are sorted.
 *
 * <p>Used by one thread, for one group.
 */
final class FanOut {

  /** Files open at once, over all groups in work. */
  static final int OPEN_OUTPUTS_MAX = 64;

  /** The least that an open file has for its pages on average: its row groups are no crumbs. */
  private static final long OUTPUT_BYTES_MIN = 8L << 20;

  private static final int NONE = -1;

  static final Types.NestedField ORDINAL =
      Types.NestedField.required(
          Integer.MAX_VALUE - 1000, "_partition_ordinal", Types.IntegerType.get());

  private final RunContext run;
  private final GroupRows rows;
  private final PartitionSpec spec;
  private final Schema columns;
  private final boolean tracked;
  private final BufferAllocator memory;
  private final PartitionOrdinals partitions;
  private final PartitionOrdinals.Reader reader;

  /** Rows of each partition. */
  private long[] counts = new long[64];

  private final long[] moved;

  // Of the batch at hand.
  private int[] ordinals = new int[GroupRewrite.BATCH_ROWS];

  /**
   * @param tracked whether origins of rows are wanted
   */
  FanOut(RunContext run, GroupRows rows, PartitionSpec spec, boolean tracked) {
    this.run = run;
    this.rows = rows;
    this.spec = spec;
    this.columns = run.pin().columns();
    this.tracked = tracked;
    this.memory = rows.memory();
    int groups = run.memory().groupsAtOnce();
    this.partitions = new PartitionOrdinals(spec, run.memory().shares().partitionsBytes() / groups);
    this.reader = partitions.reader(columns);
    this.moved = new long[rows.inputs()];
  }

  /** How many files may be open at once besides the one that sorted rows go to. */
  private int openOutputsMax() {
    int groups = run.memory().groupsAtOnce();
    long floor = Math.max(OUTPUT_BYTES_MIN, RunMemory.outputBytesMin(run.pin().table(), columns));
    long fit = openOutputsBytes() / floor;
    return (int) Math.max(1, Math.min(OPEN_OUTPUTS_MAX / groups, fit));
  }

  private long openOutputsBytes() {
    return run.memory().outputPagesBytesOfGroup();
  }

  /**
   * Writes all rows.
   *
   * @param output takes rows that were sorted, and makes outputs beside it; finished here
   * @param written takes the files as they are finished
   * @throws GroupMemoryException if there are too many partitions to count
   */
  void write(TrackedOutput output, List<DataFile> written) throws IOException {
    count();
    new Spread().run(output, written);
    rows.checkMoved(moved);
    written.addAll(output.finish());
  }

  // ---- counting

  private void count() throws IOException {
    Set<Integer> sources =
        spec.fields().stream()
            .filter(field -> !field.transform().isVoid())
            .map(PartitionField::sourceId)
            .collect(Collectors.toSet());
    Schema read = TypeUtil.select(columns, sources);
    PartitionOrdinals.Reader sourceReader = partitions.reader(read);
    long[] seen = new long[rows.inputs()];
    rows.forEachBatch(
        read,
        new GroupRows.RowGroups() {
          @Override
          public boolean wants(DataFile file, SourceFile.RowGroup rowGroup) {
            return true;
          }

          @Override
          public void accept(
              VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins origins) {
            int[] numbers = VectorGather.liveRows(live, liveRows, batch.getRowCount());
            number(sourceReader, batch, numbers, liveRows);
            for (int i = 0; i < liveRows; i++) {
              counts[ordinals[i]]++;
            }
            seen[origins.input()] += liveRows;
          }
        });
    rows.checkMoved(seen);
  }

  /** Finds the partitions of rows of a batch. */
  private void number(
      PartitionOrdinals.Reader from, VectorSchemaRoot batch, int[] numbers, int count) {
    if (ordinals.length < count) {
      ordinals = new int[count];
    }
    from.ordinals(batch, numbers, count, memory, ordinals);
    if (counts.length < partitions.count()) {
      counts = Arrays.copyOf(counts, Math.max(partitions.count(), 2 * counts.length));
    }
  }

  // ---- writing

  /** The reading of the group that writes its rows. */
  private final class Spread implements GroupRows.LiveBatches {
    /** Where the rows of each partition go: an open output, or {@link #sorted}. */
    private final int[] places;

    private final int[] streamed; // ordinals of the partitions with an output of their own
    private final int sorted;
    private final List<TrackedOutput> outputs = new ArrayList<>();

    /** Rows of each input: those of the sorter count when it is drained. */
    private final long[] streamedOf = new long[rows.inputs()];

    private final long[] sortedOf = new long[rows.inputs()];

    private @Nullable GroupSort sorter; // null if nothing is sorted
    private long[][] selections;
    private final int[] selectedRows;

    Spread() {
      boolean keepsOrder = run.pin().rowOrder() == null;
      streamed = keepsOrder ? largest(openOutputsMax()) : new int[0];
      sorted = streamed.length;
      places = new int[partitions.count()];
      Arrays.fill(places, sorted);
      for (int i = 0; i < streamed.length; i++) {
        places[streamed[i]] = i;
      }
      selections = new long[sorted + 1][LiveRows.words(GroupRewrite.BATCH_ROWS)];
      selectedRows = new int[sorted + 1];
    }

    private int[] largest(int most) {
      return IntStream.range(0, partitions.count())
          .boxed()
          .sorted(Comparator.comparingLong((Integer ordinal) -> -counts[ordinal]))
          .limit(most)
          .mapToInt(Integer::intValue)
          .toArray();
    }

    void run(TrackedOutput output, List<DataFile> written) throws IOException {
      try {
        for (int ordinal : streamed) {
          TrackedOutput stream = output.beside();
          outputs.add(stream);
          stream.partition(partitions.partition(ordinal), counts[ordinal]);
        }
        if (streamed.length < partitions.count()) {
          sorter = sorter();
        }
        rows.forEachBatch(this);
        for (int i = 0; i < streamed.length; i++) {
          List<DataFile> files = outputs.get(i).finish();
          written.addAll(files);
          check(streamed[i], files.stream().mapToLong(DataFile::recordCount).sum());
        }
        if (sorter != null) {
          drain(sorter, output);
        }
      } finally {
        outputs.forEach(TrackedOutput::close);
        if (sorter != null) {
          sorter.close();
        }
      }
      for (int input = 0; input < moved.length; input++) {
        moved[input] += streamedOf[input] + sortedOf[input];
      }
    }

    // ---- reading

    @Override
    public void accept(VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins origins)
        throws IOException {
      int[] numbers = VectorGather.liveRows(live, liveRows, batch.getRowCount());
      number(reader, batch, numbers, liveRows);
      select(batch.getRowCount(), numbers, liveRows);
      for (int i = 0; i < outputs.size(); i++) {
        if (selectedRows[i] > 0) {
          outputs.get(i).append(batch, selections[i], selectedRows[i], origins);
          streamedOf[origins.input()] += selectedRows[i];
        }
      }
      holdMemory();
      if (sorter != null && selectedRows[sorted] > 0) {
        sort(sorter, batch, numbers, liveRows, origins);
      }
    }

    /** Sorts the rows of a batch by where they go. */
    private void select(int batchRows, int[] numbers, int count) {
      int words = LiveRows.words(batchRows);
      if (selections[0].length < words) {
        selections = new long[selections.length][words];
      }
      for (int place = 0; place < selections.length; place++) {
        if (selectedRows[place] > 0) {
          Arrays.fill(selections[place], 0L);
          selectedRows[place] = 0;
        }
      }
      for (int i = 0; i < count; i++) {
        int place = places[ordinals[i]];
        selections[place][numbers[i] >>> 6] |= 1L << numbers[i];
        selectedRows[place]++;
      }
    }

    /** Writes out what the largest outputs hold until all of them hold no more than they may. */
    private void holdMemory() throws IOException {
      long bytesMax = openOutputsBytes();
      long held = outputs.stream().mapToLong(TrackedOutput::memoryBytes).sum();
      while (held > bytesMax) {
        TrackedOutput largest = outputs.get(0);
        for (TrackedOutput output : outputs) {
          largest = output.memoryBytes() > largest.memoryBytes() ? output : largest;
        }
        long before = largest.memoryBytes();
        largest.endRowGroup();
        held -= before - largest.memoryBytes();
        if (largest.memoryBytes() >= before) {
          break;
        }
      }
      endFiles();
    }

    /** Ends those files that have most bloom filters, until all have no more than they may. */
    private void endFiles() throws IOException {
      long bytesMax = run.memory().bloomFiltersBytesOfGroup();
      long held = outputs.stream().mapToLong(TrackedOutput::bloomFilterBytes).sum();
      while (held > bytesMax) {
        TrackedOutput most =
            Collections.max(outputs, Comparator.comparingLong(TrackedOutput::bloomFilterBytes));
        held -= most.bloomFilterBytes();
        most.endFile();
      }
    }

    // ---- sorting

    /** By partition, then by the order that is asked for. */
    private GroupSort sorter() throws IOException {
      List<Types.NestedField> fields = new ArrayList<>(columns.columns());
      fields.add(ORDINAL);
      Schema schema = new Schema(fields);
      SortKeys keys =
          SortKeys.of(
              schema,
              SortOrder.builderFor(schema).asc(ORDINAL.name(), NullOrder.NULLS_FIRST).build());
      RowOrder within = FanOut.this.run.pin().rowOrder();
      if (within != null) {
        keys = keys.then(within.keys(columns, rows).of(schema));
      }
      return new GroupSort(FanOut.this.run, schema, keys, tracked, memory);
    }

    private void sort(
        GroupSort into, VectorSchemaRoot batch, int[] numbers, int count, BatchOrigins origins)
        throws IOException {
      int rowCount = batch.getRowCount();
      try (IntVector ordinalVector = new IntVector(String.valueOf(ORDINAL.fieldId()), memory)) {
        ordinalVector.allocateNew(rowCount);
        for (int i = 0; i < count; i++) {
          ordinalVector.set(numbers[i], ordinals[i]);
        }
        ordinalVector.setValueCount(rowCount);
        List<FieldVector> vectors = new ArrayList<>(batch.getFieldVectors());
        vectors.add(ordinalVector);
        List<Field> fields = vectors.stream().map(FieldVector::getField).toList();
        into.add(
            new VectorSchemaRoot(fields, vectors, rowCount),
            selections[sorted],
            selectedRows[sorted],
            origins);
        sortedOf[origins.input()] += selectedRows[sorted];
      }
    }

    private void drain(GroupSort from, TrackedOutput output) throws IOException {
      Drain drain = new Drain(output);
      from.drain(
          (batch, live, count, origins) ->
              drain.accept(
                  BatchOrigins.withoutLast(batch),
                  (IntVector) batch.getVector(columns.columns().size()),
                  origins));
      drain.finish();
    }
  }

  /** Writes rows that are sorted by partition. */
  private final class Drain {
    private final TrackedOutput output;
    private final long[] live = new long[LiveRows.words(GroupRewrite.BATCH_ROWS)];
    private int current = NONE;
    private long rowsOfCurrent;

    Drain(TrackedOutput output) {
      this.output = output;
    }

    void accept(VectorSchemaRoot batch, IntVector ordinalsOfRows, BatchOrigins origins)
        throws IOException {
      int count = batch.getRowCount();
      int start = 0;
      while (start < count) {
        int ordinal = ordinalsOfRows.get(start);
        int end = start + 1;
        while (end < count && ordinalsOfRows.get(end) == ordinal) {
          end++;
        }
        if (ordinal != current) {
          finish();
          current = ordinal;
          output.partition(partitions.partition(ordinal), counts[ordinal]);
        }
        Arrays.fill(live, 0L);
        LiveRows.setRange(live, start, end);
        output.append(batch, live, end - start, origins);
        rowsOfCurrent += end - start;
        start = end;
      }
    }

    /** The rows of the partition at hand were all. */
    void finish() {
      if (current != NONE) {
        check(current, rowsOfCurrent);
      }
      rowsOfCurrent = 0;
    }
  }

  private void check(int ordinal, long rowsWritten) {
    if (rowsWritten != counts[ordinal]) {
      throw new RowsLostException(
          "Partition "
              + partitions.name(ordinal)
              + " has "
              + counts[ordinal]
              + " rows but "
              + rowsWritten
              + " were written; the file group is not committed");
    }
  }
}
