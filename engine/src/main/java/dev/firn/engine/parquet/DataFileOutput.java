package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.parquet.ParquetSchemaUtil;
import org.apache.iceberg.parquet.ParquetUtil;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.StructLikeUtil;
import org.apache.iceberg.util.StructLikeWrapper;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.schema.MessageType;
import org.jspecify.annotations.Nullable;

/**
 * Rows in Arrow batches written to a table as Parquet data files: encoded column by column, rolled
 * near the target size, with the table's write properties (M11), metrics configuration (M1) and
 * location provider (M14). Nothing becomes part of the table here.
 *
 * <p>{@link #finish()} gives the data files; until then {@link #close()} deletes all that was
 * written, so that a file that is not complete is never left. Used by one thread at a time; columns
 * are encoded on several.
 */
public final class DataFileOutput implements AutoCloseable {

  /**
   * What the files are to be.
   *
   * @param spec the partition spec of the files, one of the table's
   * @param sortOrderId the table's sort order that the rows of each file keep to (M9); null or 0
   *     when they keep to none
   * @param sizes how large the files may become
   * @param expectedRows how many rows will come in all, to divide them evenly; 0 or less when
   *     unknown
   * @param operationId unique among all operations on the table, part of each file's name (C15)
   * @param fileGroupIndex the file group within the operation, part of each file's name
   * @param encodings which pages the files may have
   */
  public record Options(
      PartitionSpec spec,
      @Nullable Integer sortOrderId,
      OutputSizes sizes,
      long expectedRows,
      String operationId,
      int fileGroupIndex,
      PageEncodings encodings) {

    /** With pages as the table has them. */
    public Options(
        PartitionSpec spec,
        @Nullable Integer sortOrderId,
        OutputSizes sizes,
        long expectedRows,
        String operationId,
        int fileGroupIndex) {
      this(spec, sortOrderId, sizes, expectedRows, operationId, fileGroupIndex, PageEncodings.AUTO);
    }
  }

  /* A step in which all columns are encoded has at most this many bytes of values, less if the row
  group is small: between steps the sizes of row group and file are looked at. */
  private static final long STEP_BYTES_MAX = 16L << 20;
  private static final int ROW_GROUP_STEPS = 16;

  /* When more than this share of the estimated length is a guess, the row group is written out and
  the length known, before a file is ended. */
  private static final double PENDING_SHARE_MAX = 0.1;

  /* Spliced row groups are not cut to fill the last share of a row group or of a file. */
  private static final int NEARLY_FULL_DIVISOR = 16;

  private static final int COLUMN_BITS = 24;
  private static final int COLUMN_MASK = (1 << COLUMN_BITS) - 1;

  private final Table table;
  private final Schema columns;
  private final Options options;
  private final MessageType type;
  private final List<LeafColumn> leaves;
  private final ParquetWriteSettings settings;
  private final Compressors compressors;
  private final List<CompressionRatio> ratios;
  private final MetricsConfig metricsConfig;
  private final Map<String, String> keyValues;
  private final OutputFileFactory files;
  private final ColumnTasks tasks;
  private final FileRolling rolling;
  private final boolean ownsCompressors;

  private final List<DataFile> finishedFiles = new ArrayList<>();
  private @Nullable StructLikeWrapper partition; // null before the first of a partitioned spec
  private @Nullable ParquetDataFile current; // null between files
  private final WriteBehind writes;
  private @Nullable Closing closing; // null if no file is being closed
  private @Nullable StructLikeWrapper currentPartition; // of the current file
  private long expectedRows; // in all, or of the partition; 0 or less when unknown
  private long rowsOfExpected;
  private long rowsWritten;
  private long finishedBytes;
  private long stepRowsMax;
  private SpliceTotals totals = SpliceTotals.NOTHING;
  private State state = State.OPEN;

  /** A file that has ended but is not known to be written. */
  private record Closing(
      ParquetDataFile file, @Nullable StructLikeWrapper partition, long estimatedBytes) {}

  private enum State {
    OPEN,
    FAILED,
    FINISHED,
    DISCARDED
  }

  private DataFileOutput(
      Table table,
      Schema columns,
      Options options,
      MessageType type,
      ParquetWriteSettings settings,
      Compressors compressors,
      ColumnTasks tasks) {
    this.table = table;
    this.columns = columns;
    this.options = options;
    this.type = type;
    this.settings = settings;
    this.compressors = compressors;
    this.tasks = tasks;
    this.leaves = LeafColumn.of(columns.columns(), type.getColumns());
    this.ratios = new ArrayList<>(leaves.size());
    for (int leaf = 0; leaf < leaves.size(); leaf++) {
      ratios.add(new CompressionRatio());
    }
    this.metricsConfig = metricsConfig(table, columns, type);
    this.keyValues = Map.of("iceberg.schema", SchemaParser.toJson(columns));
    this.files =
        OutputFileFactory.builderFor(table, options.fileGroupIndex(), 0)
            .defaultSpec(options.spec())
            .operationId(options.operationId())
            .format(FileFormat.PARQUET)
            .build();
    this.rolling = new FileRolling(options.sizes());
    this.ownsCompressors = true;
    this.writes = new WriteBehind(tasks.executor());
    begin();
  }

  private DataFileOutput(DataFileOutput beside) {
    this.table = beside.table;
    this.columns = beside.columns;
    this.options = beside.options;
    this.type = beside.type;
    this.leaves = beside.leaves;
    this.settings = beside.settings;
    this.compressors = beside.compressors;
    this.ratios = beside.ratios;
    this.metricsConfig = beside.metricsConfig;
    this.keyValues = beside.keyValues;
    this.files = beside.files;
    this.tasks = beside.tasks;
    this.rolling = new FileRolling(options.sizes());
    this.ownsCompressors = false;
    this.writes = new WriteBehind(tasks.executor());
    begin();
  }

  private void begin() {
    expectedRows = options.expectedRows();
    if (options.spec().isUnpartitioned()) {
      partition =
          StructLikeWrapper.forType(options.spec().partitionType())
              .set(new EmptyTuple(options.spec().fields().size()));
    }
    beginRowGroup();
  }

  /**
   * Another output with the same options, to be used by the same thread in turn with this one, for
   * rows of other partitions. It shares what encoding needs, so that many outputs cost little more
   * than their pages. To be finished or closed before this one is.
   */
  public DataFileOutput beside() {
    ensureOpen();
    return new DataFileOutput(this);
  }

  /**
   * Checks that the table can be written and makes an output for it. Writes nothing yet.
   *
   * @param table where the files go
   * @param columns the columns of the batches and of the files: the table's schema as planned, with
   *     the lineage columns on format v3
   * @param options what the files are to be
   * @param encoders runs the encoding of columns; not closed here
   * @param encoderParallelism how many columns are encoded at once, the caller's thread included
   * @throws UnsupportedTableException if a column's type or the codec cannot be written
   * @throws IllegalArgumentException if a write property has a value that cannot be
   */
  public static DataFileOutput create(
      Table table, Schema columns, Options options, Executor encoders, int encoderParallelism) {
    ParquetWriteSettings settings = checked(table, columns, options.encodings());
    MessageType type = ParquetSchemaUtil.convert(columns, "table");
    Compressors compressors =
        new Compressors(
            settings.codec(),
            settings.codecConfiguration(),
            settings.parquet().getPageSizeThreshold());
    return new DataFileOutput(
        table,
        columns,
        options,
        type,
        settings,
        compressors,
        new ColumnTasks(encoders, encoderParallelism));
  }

  /**
   * Checks that the table can be written, as {@link #create} does, before any work.
   *
   * @throws UnsupportedTableException if a column's type or the codec cannot be written
   * @throws IllegalArgumentException if a write property has a value that cannot be
   */
  public static void check(Table table, Schema columns) {
    checked(table, columns, PageEncodings.AUTO);
  }

  private static ParquetWriteSettings checked(
      Table table, Schema columns, PageEncodings encodings) {
    refuseUnsupported(table, columns);
    return ParquetWriteSettings.of(
        table.properties(), columns, ParquetSchemaUtil.convert(columns, "table"), encodings);
  }

  private static void refuseUnsupported(Table table, Schema columns) {
    if (columns.columns().isEmpty()) {
      throw new UnsupportedTableException(
          "Cannot write table " + table.name() + ": it has no columns. Nothing was written");
    }
    for (NestedField field : TypeUtil.indexById(columns.asStruct()).values()) {
      Type.TypeID id = field.type().typeId();
      if (id == Type.TypeID.VARIANT
          || id == Type.TypeID.GEOMETRY
          || id == Type.TypeID.GEOGRAPHY
          || id == Type.TypeID.UNKNOWN
          || field.type() instanceof Types.StructType struct && struct.fields().isEmpty()) {
        throw new UnsupportedTableException(
            "Cannot write table "
                + table.name()
                + ": column "
                + columns.findColumnName(field.fieldId())
                + " has type "
                + field.type()
                + ". Nothing was written");
      }
    }
  }

  /* ParquetUtil looks modes up by the names in the file, which differ from the table's where a name
  is not one that Avro allows. So each column's mode is given again under the name in the file. */
  private static MetricsConfig metricsConfig(Table table, Schema columns, MessageType type) {
    MetricsConfig ofTable = MetricsConfig.forTable(table);
    Schema ofFile = ParquetSchemaUtil.convert(type);
    Map<String, String> modes = new HashMap<>();
    for (int id : TypeUtil.indexById(columns.asStruct()).keySet()) {
      String name = ofFile.findColumnName(id);
      if (name != null) {
        modes.put(
            TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX + name,
            ofTable.columnMode(columns.findColumnName(id)).toString());
      }
    }
    return MetricsConfig.fromProperties(modes);
  }

  /**
   * Says to which partition the following rows belong. Rows of another partition than the rows
   * before begin a file. Not needed for a spec without partition fields.
   *
   * @param partition a tuple of the spec; copied
   */
  public void partition(StructLike partition) {
    ensureOpen();
    StructLikeWrapper next =
        StructLikeWrapper.forType(options.spec().partitionType())
            .set(StructLikeUtil.copy(partition));
    if (!next.equals(this.partition)) {
      this.partition = next;
    }
  }

  /**
   * Says to which partition the following rows belong, as {@link #partition(StructLike)} does, and
   * how many they are, so that they are divided evenly. All rows of the partition follow.
   */
  public void partition(StructLike partition, long rows) {
    partition(partition);
    expectedRows = rows;
    rowsOfExpected = 0;
  }

  /**
   * Writes rows of a batch.
   *
   * @param batch vectors in the physical layout, one for each column; owned by the caller, valid
   *     during the call
   * @param live the rows to write, bit by bit
   * @param liveRows how many they are
   * @throws IOException if a file cannot be written; nothing more can be appended then
   */
  public void append(VectorSchemaRoot batch, long[] live, int liveRows) throws IOException {
    ensureOpen();
    if (live.length < (batch.getRowCount() + 63) >>> 6) {
      throw new IllegalArgumentException(
          "live has " + live.length + " words for " + batch.getRowCount() + " rows");
    }
    if (batch.getFieldVectors().size() != columns.columns().size()) {
      throw new IllegalArgumentException(
          "The batch has "
              + batch.getFieldVectors().size()
              + " vectors for "
              + columns.columns().size()
              + " columns");
    }
    if (partition == null) {
      throw new IllegalStateException("No partition was named for spec " + options.spec());
    }
    if (liveRows == 0) {
      return;
    }
    int[] rows = selected(live, liveRows);
    guarded(
        () -> {
          for (LeafColumn leaf : leaves) {
            leaf.bind(batch.getFieldVectors());
          }
          int from = 0;
          while (from < rows.length) {
            from = step(rows, from);
          }
        });
  }

  /**
   * Writes rows of a row group of another file, whose columns are spliced as far as they can be.
   *
   * @param view owned by the caller; what the output needs of it longer than this call it holds
   *     itself
   * @param live a bit for each row of the row group
   * @param liveRows how many they are
   * @param allocator for the columns that are decoded
   * @throws IOException if a file cannot be written; nothing more can be appended then
   * @throws CorruptFileException if a page is not what its header or its file's footer says
   * @throws UnsupportedPageException if a page can only be decoded in another way
   */
  public void splice(SplicedView view, long[] live, int liveRows, BufferAllocator allocator)
      throws IOException {
    ensureOpen();
    if (partition == null) {
      throw new IllegalStateException("No partition was named for spec " + options.spec());
    }
    if (liveRows == 0) {
      return;
    }
    guarded(
        () -> {
          try (RestRows rest = RestRows.of(view, leaves, allocator)) {
            int rows = (int) view.rowGroup().rows();
            int from = 0;
            while (from < rows) {
              from = step(view, rest, live, from, rows);
            }
          }
        });
    totals = totals.plus(new SpliceTotals(0, 0, 0, view.transcodedBytes()));
  }

  /** Moves some rows, all columns at once, then looks at row group and file. */
  private int step(SplicedView view, RestRows rest, long[] live, int from, int rows)
      throws IOException {
    ParquetDataFile file = current();
    file.ensureRowGroup();
    int to = stepEnd(view, live, from, rows, file);
    int moved = LiveBits.count(live, from, to);
    List<SplicedView.Leaf> spliced = view.spliced();
    SpliceTotals[] moves = new SpliceTotals[spliced.size()];
    tasks.forEach(
        moves.length,
        nth -> {
          SplicedView.Leaf leaf = spliced.get(nth);
          moves[nth] =
              new ChunkSplice(leaf, file.builder(leaf.leaf()), settings).move(live, from, to);
        });
    for (SpliceTotals move : moves) {
      totals = totals.plus(move);
    }
    rest.move(
        live,
        from,
        to,
        (restLeaves, selected) ->
            tasks.forEach(
                restLeaves.size(),
                nth -> {
                  int leaf = restLeaves.get(nth);
                  leaves.get(leaf).shred(selected, 0, selected.length);
                  file.builder(leaf).append(leaves.get(leaf));
                }));
    file.addRows(moved);
    rowsWritten += moved;
    rowsOfExpected += moved;
    if (file.rowGroupRows() > 0 && isRowGroupNearlyFull(file)) {
      flushRowGroup(file);
    }
    if (rowsWritten > 0 && isFileFull(file)) {
      finishFile();
    }
    return to;
  }

  /* All rows that are left, if row group and file have room for them; else as many as fit. Rows are
  not cut for a few bytes: each cut takes two pages of every column apart. */
  private int stepEnd(SplicedView view, long[] live, int from, int rows, ParquetDataFile file)
      throws IOException {
    long liveLeft = LiveBits.count(live, from, rows);
    SourceFile.RowGroup group = view.rowGroup();
    boolean isUncompressed =
        settings.isRowGroupUncompressed() || settings.codec() == CompressionCodecName.UNCOMPRESSED;
    double sourceBytes = isUncompressed ? group.uncompressedBytes() : group.compressedBytes();
    double bytesPerRow = Math.max(1e-3, sourceBytes / group.rows());
    double slack = (double) settings.rowGroupBytes() / NEARLY_FULL_DIVISOR;
    double rowGroupLeft = settings.rowGroupBytes() - file.rowGroupBytes();
    double rowsFit = liveLeft;
    if (liveLeft * bytesPerRow > rowGroupLeft + slack) {
      rowsFit = Math.max(slack, rowGroupLeft) / bytesPerRow;
    }
    double fileBytes = file.estimatedBytes();
    double storedBytes =
        settings.codec() == CompressionCodecName.UNCOMPRESSED
            ? group.uncompressedBytes()
            : group.compressedBytes();
    double compressedPerRow = Math.max(1e-3, storedBytes / group.rows());
    double later = Math.max(0, expectedRows - rowsOfExpected) * compressedPerRow;
    double fileLeft = rolling.fileBytesMax(fileBytes, expectedRows > 0 ? later : -1) - fileBytes;
    double fileSlack = (double) options.sizes().targetBytes() / NEARLY_FULL_DIVISOR;
    if (liveLeft * compressedPerRow > fileLeft + fileSlack) {
      rowsFit = Math.min(rowsFit, Math.max(fileSlack, fileLeft) / compressedPerRow);
    }
    long wanted = Math.max(1, (long) rowsFit);
    return wanted >= liveLeft ? rows : LiveBits.after(live, from, rows, wanted);
  }

  private boolean isRowGroupNearlyFull(ParquetDataFile file) {
    return file.rowGroupBytes()
        > settings.rowGroupBytes() - settings.rowGroupBytes() / NEARLY_FULL_DIVISOR;
  }

  /** How columns were moved that were spliced. */
  public SpliceTotals spliceTotals() {
    return totals;
  }

  private static int[] selected(long[] live, int liveRows) {
    int[] rows = new int[liveRows];
    int count = 0;
    int word = 0;
    for (; word < live.length && live[word] == -1L && liveRows - count >= 64; word++) {
      for (int bit = 0; bit < 64; bit++) {
        rows[count + bit] = count + bit;
      }
      count += 64;
    }
    for (; word < live.length; word++) {
      for (long bits = live[word]; bits != 0; bits &= bits - 1) {
        if (count == liveRows) {
          throw new IllegalArgumentException("live selects more than " + liveRows + " rows");
        }
        rows[count++] = (word << 6) + Long.numberOfTrailingZeros(bits);
      }
    }
    if (count != liveRows) {
      throw new IllegalArgumentException("live selects " + count + " rows, not " + liveRows);
    }
    return rows;
  }

  /** Encodes some rows, all columns at once, then looks at row group and file. */
  private int step(int[] rows, int from) throws IOException {
    ParquetDataFile file = current();
    file.ensureRowGroup();
    int to = stepEnd(rows, from, bytesLeft(file));
    long[] costs = costs(rows[from], rows[to - 1] + 1);
    tasks.forEach(
        leaves.size(),
        nth -> {
          int column = (int) costs[costs.length - 1 - nth] & COLUMN_MASK;
          LeafColumn leaf = leaves.get(column);
          leaf.shred(rows, from, to);
          file.builder(column).append(leaf);
        });
    file.addRows(to - from);
    rowsWritten += to - from;
    rowsOfExpected += to - from;
    if (isRowGroupFull(file)) {
      flushRowGroup(file);
    }
    if (isFileFull(file)) {
      finishFile();
    }
    return to;
  }

  private ParquetDataFile current() throws IOException {
    if (currentPartition != partition) {
      finishFile();
    }
    if (current == null) {
      EncryptedOutputFile file =
          options.spec().isUnpartitioned()
              ? files.newOutputFile()
              : files.newOutputFile(options.spec(), tupleOf(partition));
      if (file.keyMetadata() != null && file.keyMetadata().buffer() != null) {
        throw new UnsupportedTableException(
            "Cannot write table " + table.name() + ": it is encrypted. Nothing was written");
      }
      currentPartition = partition;
      current = new ParquetDataFile(file, table.io(), type, leaves, settings, compressors, ratios);
      rolling.startFile();
      beginRowGroup();
    }
    return current;
  }

  private StructLike tupleOf(@Nullable StructLikeWrapper wrapped) {
    if (wrapped == null) {
      throw new IllegalStateException("No partition was named for spec " + options.spec());
    }
    return wrapped.get();
  }

  private long bytesLeft(ParquetDataFile file) {
    long least = Math.max(1, Math.min(STEP_BYTES_MAX, settings.rowGroupBytes() / ROW_GROUP_STEPS));
    long rowGroupLeft = settings.rowGroupBytes() - file.rowGroupBytes();
    return Math.max(least, Math.min(STEP_BYTES_MAX, rowGroupLeft));
  }

  /* As many rows as the next look at the row group allows, and no more bytes than are left. The
  bytes of a range grow with it, so the end is found by halving; one row is always taken. */
  private int stepEnd(int[] rows, int from, long bytesMax) {
    int most = (int) Math.min(rows.length, from + Math.max(1, stepRowsMax));
    if (bytes(rows[from], rows[most - 1] + 1) <= bytesMax) {
      return most;
    }
    int fits = from + 1;
    int tooMany = most;
    while (tooMany - fits > 1) {
      int middle = (fits + tooMany) >>> 1;
      if (bytes(rows[from], rows[middle - 1] + 1) <= bytesMax) {
        fits = middle;
      } else {
        tooMany = middle;
      }
    }
    return fits;
  }

  private long bytes(int from, int to) {
    long total = 0;
    for (LeafColumn leaf : leaves) {
      total += leaf.bytes(from, to);
    }
    return total;
  }

  /* Columns in the low bits, their bytes above, ascending. The costly ones are to go first: one that
  begins last would leave the other threads idle. */
  private long[] costs(int from, int to) {
    long[] costs = new long[leaves.size()];
    for (int column = 0; column < costs.length; column++) {
      costs[column] = leaves.get(column).bytes(from, to) << COLUMN_BITS | column;
    }
    Arrays.sort(costs);
    return costs;
  }

  private void beginRowGroup() {
    stepRowsMax = settings.parquet().getMinRowCountForPageSizeCheck();
  }

  /* Full when two more rows would not fit. Else the next look is when half of what is left is
  filled, within the table's limits. */
  private boolean isRowGroupFull(ParquetDataFile file) {
    long bytes = file.rowGroupBytes();
    long most = settings.rowGroupBytes();
    double bytesPerRow = (double) bytes / file.rowGroupRows();
    if (bytes > most - 2 * bytesPerRow) {
      return true;
    }
    long half = (long) ((most - bytes) / Math.max(bytesPerRow, 1e-3) / 2);
    stepRowsMax =
        Math.min(
            Math.max(half, settings.parquet().getMinRowCountForPageSizeCheck()),
            settings.parquet().getMaxRowCountForPageSizeCheck());
    return false;
  }

  private boolean isFileFull(ParquetDataFile file) throws IOException {
    if (!isFull(file)) {
      return false;
    }
    if (file.pendingBytes() > file.estimatedBytes() * PENDING_SHARE_MAX) {
      flushRowGroup(file);
      return isFull(file);
    }
    return true;
  }

  private boolean isFull(ParquetDataFile file) throws IOException {
    double bytes = file.estimatedBytes();
    long rowsLeft = Math.max(0, expectedRows - rowsOfExpected);
    double bytesPerRow = (bytesEnded() + bytes) / rowsWritten;
    boolean isKnown = expectedRows > 0 && rowsOfExpected <= expectedRows;
    double laterBytes = isKnown ? rowsLeft * bytesPerRow : -1;
    if (rolling.isFull(bytes, laterBytes)) {
      return true;
    }
    // Not far past the end of the file, where a row group is larger than what is left of it.
    double bytesLeft = rolling.fileBytesMax(bytes, laterBytes) - bytes;
    stepRowsMax =
        Math.max(
            settings.parquet().getMinRowCountForPageSizeCheck(),
            Math.min(stepRowsMax, (long) (bytesLeft / Math.max(bytesPerRow, 1e-3))));
    return false;
  }

  private void flushRowGroup(ParquetDataFile file) throws IOException {
    flush(file, false);
  }

  /* The pages are compressed here; they are written, and the file is closed, on another thread. */
  private void flush(ParquetDataFile file, boolean isLast) throws IOException {
    boolean hasRows = file.rowGroupRows() > 0;
    if (hasRows) {
      tasks.forEach(leaves.size(), column -> file.builder(column).finish());
    }
    settle();
    if (hasRows) {
      ParquetDataFile.FullRowGroup full = file.endRowGroup();
      writes.start(
          () -> {
            file.write(full);
            if (isLast) {
              file.finish(keyValues);
            }
          });
    } else if (isLast) {
      writes.start(() -> file.finish(keyValues));
    }
    beginRowGroup();
  }

  private void finishFile() throws IOException {
    ParquetDataFile file = current;
    if (file == null) {
      return;
    }
    flush(file, true);
    closing = new Closing(file, currentPartition, (long) file.estimatedBytes());
    current = null;
  }

  /** Waits for what is written behind. */
  private void settle() throws IOException {
    writes.await();
    if (closing != null) {
      finishedFiles.add(dataFile(closing));
      finishedBytes += closing.file().length();
      closing = null;
    }
    if (current != null) {
      current.settle();
    }
  }

  private DataFile dataFile(Closing closed) throws IOException {
    ParquetDataFile file = closed.file();
    DataFiles.Builder built =
        DataFiles.builder(options.spec())
            .withPath(file.location())
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(file.length())
            .withMetrics(file.metrics(metricsConfig))
            .withSplitOffsets(ParquetUtil.getSplitOffsets(file.footer()));
    if (options.spec().isPartitioned()) {
      built.withPartition(tupleOf(closed.partition()));
    }
    Integer sortOrderId = options.sortOrderId();
    if (sortOrderId != null && sortOrderId > 0) {
      built.withSortOrderId(sortOrderId);
    }
    return built.build();
  }

  /**
   * Writes the row group out that is begun, however small it is, so that its memory is free. The
   * file goes on.
   *
   * @throws IOException if the file cannot be written; nothing more can be appended then
   */
  public void endRowGroup() throws IOException {
    ensureOpen();
    endRowGroupBehind();
    awaitWrites();
  }

  /**
   * As {@link #endRowGroup()}, but its memory is free only when it is written, which goes on while
   * rows are appended.
   *
   * @throws IOException if the file cannot be written; nothing more can be appended then
   */
  public void endRowGroupBehind() throws IOException {
    ensureOpen();
    ParquetDataFile file = current;
    if (file != null) {
      guarded(() -> flushRowGroup(file));
    }
  }

  /**
   * Waits until row groups and files that have ended are written, so that their memory is free.
   *
   * @throws IOException if one cannot be written; nothing more can be appended then
   */
  public void awaitWrites() throws IOException {
    ensureOpen();
    guarded(this::settle);
  }

  /** Whether a row group or file that has ended may not be written yet. */
  public boolean writesBehind() {
    return writes.isPending();
  }

  /**
   * Ends the last file. Closing does nothing after that.
   *
   * @return the files written; none if there were no rows (D31)
   * @throws IOException if a file cannot be written; close or discard the output then
   */
  public List<DataFile> finish() throws IOException {
    if (state == State.FINISHED) {
      return List.copyOf(finishedFiles);
    }
    ensureOpen();
    guarded(
        () -> {
          finishFile();
          settle();
        });
    state = State.FINISHED;
    closeCompressors();
    return List.copyOf(finishedFiles);
  }

  /** Rows that were appended. */
  public long rowsWritten() {
    return rowsWritten;
  }

  /** Bytes in finished files and, estimated, in the one that is being written. */
  public long bytesWritten() {
    return bytesEnded() + (current == null ? 0 : (long) current.estimatedBytes());
  }

  /* Of files that have ended, one that is being closed among them. */
  private long bytesEnded() {
    return finishedBytes + (closing == null ? 0 : closing.estimatedBytes());
  }

  /** Memory for pages that are not in a file yet. */
  public long memoryBytes() {
    return memoryBytesOfRowGroup() + memoryBytesBehind();
  }

  /** The part of {@link #memoryBytes} that the open row group has. */
  public long memoryBytesOfRowGroup() {
    return current == null ? 0 : current.memoryBytes();
  }

  private long memoryBytesBehind() {
    return (current == null ? 0 : current.memoryBytesUnderWay())
        + (closing == null ? 0 : closing.file().memoryBytesUnderWay());
  }

  /** Memory of column chunks of other files that copied pages lie in, as long as they are there. */
  public long heldBytes() {
    return heldBytesOfRowGroup() + heldBytesBehind();
  }

  /** The part of {@link #heldBytes} that the open row group has. */
  public long heldBytesOfRowGroup() {
    return current == null ? 0 : current.heldBytes();
  }

  private long heldBytesBehind() {
    return (current == null ? 0 : current.heldBytesUnderWay())
        + (closing == null ? 0 : closing.file().heldBytesUnderWay());
  }

  /** Memory for bloom filters of row groups that are written, which goes when the file ends. */
  public long bloomFilterBytes() {
    return (current == null ? 0 : current.bloomFilterBytes())
        + (closing == null ? 0 : closing.file().bloomFilterBytes());
  }

  /**
   * Ends the file that is begun, however small it is, so that all its memory is free.
   *
   * @throws IOException if the file cannot be written; nothing more can be appended then
   */
  public void endFile() throws IOException {
    ensureOpen();
    guarded(
        () -> {
          finishFile();
          settle();
        });
  }

  /**
   * What bloom filters take in an open row group, by the table's properties.
   *
   * @param columns as for {@link #create}
   */
  public static long bloomFilterBytes(Table table, Schema columns) {
    MessageType type = ParquetSchemaUtil.convert(columns, "table");
    return BloomFilterBytes.of(
        type.getColumns(),
        ParquetWriteSettings.of(table.properties(), columns, type, PageEncodings.AUTO).parquet());
  }

  /**
   * Deletes everything that was written, finished files too, as far as possible: what cannot be
   * deleted is left and added to {@code failure}. Discarding twice is harmless.
   *
   * @param failure why; null when there is no failure to add to
   */
  public void discard(@Nullable Throwable failure) {
    if (state == State.DISCARDED) {
      return;
    }
    state = State.DISCARDED;
    closeCompressors();
    List<String> locations = new ArrayList<>();
    finishedFiles.forEach(file -> locations.add(file.location()));
    try {
      writes.await();
    } catch (IOException | RuntimeException e) {
      suppress(failure, e);
    }
    abort(closing == null ? null : closing.file(), failure, locations);
    abort(current, failure, locations);
    closing = null;
    current = null;
    for (String location : locations) {
      try {
        table.io().deleteFile(location);
      } catch (RuntimeException e) {
        suppress(failure, e);
      }
    }
    finishedFiles.clear();
  }

  private static void abort(
      @Nullable ParquetDataFile file, @Nullable Throwable failure, List<String> locations) {
    if (file == null) {
      return;
    }
    try {
      file.abort();
    } catch (IOException | RuntimeException e) {
      suppress(failure, e);
    }
    if (file.mayExist()) {
      locations.add(file.location());
    }
  }

  private static void suppress(@Nullable Throwable failure, Exception more) {
    if (failure != null) {
      failure.addSuppressed(more);
    }
  }

  /** Discards everything unless {@link #finish()} came before. */
  @Override
  public void close() {
    if (state != State.FINISHED) {
      discard(null);
    }
  }

  private void closeCompressors() {
    if (ownsCompressors) {
      compressors.close();
    }
  }

  private void ensureOpen() {
    if (state != State.OPEN) {
      throw new IllegalStateException("The output is " + state);
    }
  }

  @FunctionalInterface
  private interface Action {
    void run() throws IOException;
  }

  private void guarded(Action action) throws IOException {
    boolean done = false;
    try {
      action.run();
      done = true;
    } finally {
      if (!done) {
        state = State.FAILED;
      }
    }
  }

  /** The partition of a spec that has no fields, or void ones only. */
  private record EmptyTuple(int size) implements StructLike {
    @Override
    @SuppressWarnings("NullAway") // Void partition fields are null.
    public <T> T get(int pos, Class<T> javaClass) {
      return null;
    }

    @Override
    public <T> void set(int pos, T value) {
      throw new UnsupportedOperationException("The partition cannot be set");
    }
  }
}
