package dev.firn.engine;

import dev.firn.engine.parquet.SourceFile;
import dev.firn.sort.RowSorter;
import dev.firn.sort.SortMemoryException;
import dev.firn.sort.VectorGather;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortField;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Spreads the rows of a group over the partitions of another spec, in bounded memory and with few
 * files open at once, whatever the number of rows and partitions (P3).
 *
 * <p>The source columns of the spec are read first, to count the rows of each partition. Then the
 * group is read in passes, each of which takes whole partitions: the largest go straight to an open
 * file each, and as many of the others as fit are sorted by partition in memory and written one
 * after another. Row groups without a row of the pass are not read. Rows of a partition keep their
 * order, or are in the sort order if there is one; then all of them go through memory.
 *
 * <p>Used by one thread, for one group.
 */
final class FanOut {
  private static final Logger LOG = LoggerFactory.getLogger(FanOut.class);

  /** Files open at once, over all groups in work. */
  static final int OPEN_OUTPUTS_MAX = 64;

  /* The least that an open file has for its pages on average, so that its row groups are no crumbs:
  so much, and for each leaf column so much. */
  private static final long OUTPUT_BYTES_MIN = 8L << 20;
  private static final long OUTPUT_COLUMN_BYTES_MIN = 128L << 10;

  /** Row groups with more partitions are read in every pass. */
  private static final int PARTITIONS_NOTED_MAX = 1024;

  /** A sorter that will not hold its rows by this factor is given up early. */
  private static final double GIVE_UP_FACTOR = 1.5;

  private static final int GIVE_UP_ROWS_MIN = 4 * GroupRewrite.BATCH_ROWS;

  /** What a row costs in a sorter, guessed from its bytes in the file, until it is known. */
  private static final int GUESSED_EXPANSION = 4;

  private static final int GUESSED_ROW_BYTES = 48;

  private static final double SORTED_SHARE = 0.85;

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

  /** The partitions of each row group, by file and ordinal; null if they are many. */
  private final Map<String, Map<Integer, int @Nullable []>> noted = new HashMap<>();

  private final long[] moved;
  private final long sortBytes;
  private double sortedRowBytes;
  private long sortedRowsMax = Long.MAX_VALUE;

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
    this.sortBytes = run.memory().sortBytesOfGroup();
    long bytes = rows.tasks().stream().mapToLong(task -> task.file().fileSizeInBytes()).sum();
    long all = rows.tasks().stream().mapToLong(task -> task.file().recordCount()).sum();
    this.sortedRowBytes = GUESSED_ROW_BYTES + (double) GUESSED_EXPANSION * bytes / Math.max(1, all);
  }

  /** How many files may be open at once besides the one that sorted rows go to. */
  private int openOutputsMax() {
    int groups = run.memory().groupsAtOnce();
    long leaves =
        TypeUtil.indexById(columns.asStruct()).values().stream()
            .filter(field -> field.type().isPrimitiveType())
            .count();
    long floor = Math.max(OUTPUT_BYTES_MIN, leaves * OUTPUT_COLUMN_BYTES_MIN);
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
   * @throws GroupMemoryException if a partition is to be sorted and does not fit into memory, or
   *     there are too many partitions to count
   */
  void write(TrackedOutput output, List<DataFile> written) throws IOException {
    count();
    int[] remaining = IntStream.range(0, partitions.count()).toArray();
    int passes = 0;
    while (remaining.length > 0) {
      Pass pass = new Pass(remaining);
      pass.run(output, written);
      remaining = Arrays.stream(remaining).filter(ordinal -> !pass.isDone(ordinal)).toArray();
      passes++;
    }
    rows.checkMoved(moved);
    written.addAll(output.finish());
    LOG.debug("{} rows to {} partitions in {} passes", rows.count(), partitions.count(), passes);
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
          private final Set<Integer> here = new HashSet<>();
          private String location = "";

          @Override
          public boolean wants(DataFile file, SourceFile.RowGroup rowGroup) {
            return true;
          }

          @Override
          public void begin(DataFile file, SourceFile.RowGroup rowGroup) {
            location = file.location();
            here.clear();
          }

          @Override
          public void accept(
              VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins origins) {
            int[] numbers = VectorGather.liveRows(live, liveRows, batch.getRowCount());
            number(sourceReader, batch, numbers, liveRows);
            int last = NONE;
            for (int i = 0; i < liveRows; i++) {
              counts[ordinals[i]]++;
              if (ordinals[i] != last && here.size() <= PARTITIONS_NOTED_MAX) {
                here.add(ordinals[i]);
              }
              last = ordinals[i];
            }
            seen[origins.input()] += liveRows;
          }

          @Override
          public void end(SourceFile.RowGroup rowGroup, long liveRows) {
            noted
                .computeIfAbsent(location, file -> new HashMap<>())
                .put(
                    rowGroup.ordinal(),
                    here.size() > PARTITIONS_NOTED_MAX
                        ? null
                        : here.stream().mapToInt(Integer::intValue).toArray());
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

  /** One reading of the group, for some of the partitions. */
  private final class Pass implements GroupRows.RowGroups {
    /** Where the rows of each partition go: an open output, {@link #sorted}, or nowhere. */
    private final int[] places;

    private final int[] streamed; // ordinals of the partitions with an output of their own
    private final int[] sortedOrdinals;
    private final int sorted;
    private final long sortedRows;
    private final List<TrackedOutput> outputs = new ArrayList<>();

    /** Rows of each input: those of the sorter count when it is drained. */
    private final long[] streamedOf = new long[rows.inputs()];

    private final long[] sortedOf = new long[rows.inputs()];

    private @Nullable RowSorter sorter; // null if nothing is sorted, or it did not fit
    private long[][] selections;
    private final int[] selectedRows;
    private long placed; // rows of the row group at hand

    Pass(int[] remaining) {
      boolean keepsOrder = run.pin().order() == null;
      streamed = keepsOrder ? largest(remaining, openOutputsMax()) : new int[0];
      sorted = streamed.length;
      places = new int[partitions.count()];
      Arrays.fill(places, NONE);
      for (int i = 0; i < streamed.length; i++) {
        places[streamed[i]] = i;
      }
      long rowsMax =
          Math.min(
              Math.min(sortedRowsMax, Integer.MAX_VALUE),
              (long) (sortBytes * SORTED_SHARE / sortedRowBytes));
      long sum = 0;
      int taken = 0;
      int[] others = new int[remaining.length];
      for (int ordinal : remaining) {
        boolean fits = sum + counts[ordinal] <= rowsMax;
        if (places[ordinal] == NONE && (fits || taken == 0 && !keepsOrder)) {
          places[ordinal] = sorted;
          others[taken++] = ordinal;
          sum += counts[ordinal];
        }
      }
      sortedOrdinals = Arrays.copyOf(others, taken);
      sortedRows = sum;
      selections = new long[sorted + 1][LiveRows.words(GroupRewrite.BATCH_ROWS)];
      selectedRows = new int[sorted + 1];
    }

    private int[] largest(int[] remaining, int most) {
      return Arrays.stream(remaining)
          .boxed()
          .sorted(Comparator.comparingLong((Integer ordinal) -> -counts[ordinal]))
          .limit(most)
          .mapToInt(Integer::intValue)
          .toArray();
    }

    boolean isDone(int ordinal) {
      return places[ordinal] != NONE;
    }

    void run(TrackedOutput output, List<DataFile> written) throws IOException {
      List<FileScanTask> tasks = rows.tasks().stream().filter(task -> wants(task.file())).toList();
      try {
        for (int ordinal : streamed) {
          TrackedOutput stream = output.beside();
          outputs.add(stream);
          stream.partition(partitions.partition(ordinal), counts[ordinal]);
        }
        if (sortedOrdinals.length > 0) {
          sorter = RowSorter.inMemory(sortedColumns(), order(), memory, sortBytes);
          sorter.expectRows(sortedRows);
        }
        rows.of(tasks).forEachBatch(columns, this);
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

    private boolean wants(DataFile file) {
      Map<Integer, int @Nullable []> rowGroups = noted.get(file.location());
      return rowGroups != null && rowGroups.values().stream().anyMatch(this::wants);
    }

    @Override
    public boolean wants(DataFile file, SourceFile.RowGroup rowGroup) {
      Map<Integer, int @Nullable []> rowGroups = noted.get(file.location());
      return rowGroups != null
          && rowGroups.containsKey(rowGroup.ordinal())
          && wants(rowGroups.get(rowGroup.ordinal()));
    }

    private boolean wants(int @Nullable [] ordinalsThere) {
      return ordinalsThere == null
          || Arrays.stream(ordinalsThere).anyMatch(ordinal -> places[ordinal] != NONE);
    }

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

    @Override
    public void end(SourceFile.RowGroup rowGroup, long liveRows) {
      if (liveRows > 0) {
        double share = (double) placed / liveRows;
        FanOut.this.run.listener().progressed((long) (rowGroup.compressedBytes() * share));
      }
      placed = 0;
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
        if (place != NONE) {
          selections[place][numbers[i] >>> 6] |= 1L << numbers[i];
          selectedRows[place]++;
          placed++;
        }
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
          return;
        }
      }
    }

    // ---- sorting

    private Schema sortedColumns() {
      List<Types.NestedField> fields = new ArrayList<>(columns.columns());
      fields.add(ORDINAL);
      if (tracked) {
        fields.add(MetadataColumns.ROW_POSITION);
      }
      return new Schema(fields);
    }

    /** By partition, then by the order that is asked for. */
    private SortOrder order() {
      Schema schema = sortedColumns();
      SortOrder.Builder builder =
          SortOrder.builderFor(schema).asc(ORDINAL.name(), NullOrder.NULLS_FIRST);
      SortOrder within = FanOut.this.run.pin().order();
      if (within != null) {
        for (SortField field : within.fields()) {
          builder.sortBy(
              Expressions.transform(schema.findColumnName(field.sourceId()), field.transform()),
              field.direction(),
              field.nullOrder());
        }
      }
      return builder.build();
    }

    private void sort(
        RowSorter into, VectorSchemaRoot batch, int[] numbers, int count, BatchOrigins origins)
        throws IOException {
      int rowCount = batch.getRowCount();
      String ordinalName = String.valueOf(ORDINAL.fieldId());
      try (IntVector ordinalVector = new IntVector(ordinalName, memory);
          BigIntVector originVector =
              tracked
                  ? origins.vector(
                      String.valueOf(MetadataColumns.ROW_POSITION.fieldId()), rowCount, memory)
                  : new BigIntVector("none", memory)) {
        ordinalVector.allocateNew(rowCount);
        for (int i = 0; i < count; i++) {
          ordinalVector.set(numbers[i], ordinals[i]);
        }
        ordinalVector.setValueCount(rowCount);
        List<FieldVector> vectors = new ArrayList<>(batch.getFieldVectors());
        vectors.add(ordinalVector);
        if (tracked) {
          vectors.add(originVector);
        }
        List<Field> fields = vectors.stream().map(FieldVector::getField).toList();
        into.add(
            new VectorSchemaRoot(fields, vectors, rowCount),
            selections[sorted],
            selectedRows[sorted]);
        sortedOf[origins.input()] += selectedRows[sorted];
        measure(into);
        if (into.rows() >= GIVE_UP_ROWS_MIN
            && sortedRowBytes * sortedRows > GIVE_UP_FACTOR * sortBytes) {
          giveUp();
        }
      } catch (SortMemoryException e) {
        measure(into);
        giveUp();
      }
    }

    private void measure(RowSorter from) {
      if (from.rows() > 0) {
        sortedRowBytes = Math.max(1, (double) from.bytesHeld() / from.rows()) + 32;
      }
    }

    /** Leaves the partitions that were to be sorted to later passes, which take fewer. */
    private void giveUp() {
      if (sortedOrdinals.length == 1 && FanOut.this.run.pin().order() != null) {
        throw new GroupMemoryException(
            "Cannot sort the "
                + sortedRows
                + " rows of partition "
                + partitions.name(sortedOrdinals[0])
                + " in memory: they need about "
                + (long) (sortedRowBytes * sortedRows)
                + " bytes and the limit is "
                + sortBytes
                + ". Give the sort more memory or make smaller groups.");
      }
      if (sorter != null) {
        sorter.close();
        sorter = null;
      }
      Arrays.fill(sortedOf, 0);
      sortedRowsMax = sortedRows / 2;
      for (int ordinal : sortedOrdinals) {
        places[ordinal] = NONE;
      }
    }

    private void drain(RowSorter from, TrackedOutput output) throws IOException {
      int width = columns.columns().size();
      Drain drain = new Drain(output);
      from.drain(
          GroupRewrite.BATCH_ROWS,
          batch -> {
            List<FieldVector> vectors = batch.getFieldVectors();
            VectorSchemaRoot rowsOfBatch =
                new VectorSchemaRoot(
                    batch.getSchema().getFields().subList(0, width),
                    vectors.subList(0, width),
                    batch.getRowCount());
            drain.accept(
                rowsOfBatch,
                (IntVector) vectors.get(width),
                tracked
                    ? BatchOrigins.each((BigIntVector) vectors.get(width + 1))
                    : BatchOrigins.neighbours(0, 0));
          });
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
