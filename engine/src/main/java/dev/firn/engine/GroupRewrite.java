package dev.firn.engine;

import dev.firn.deletes.DeleteLimits;
import dev.firn.deletes.DeletedRows;
import dev.firn.deletes.GroupDeletes;
import dev.firn.engine.parquet.DataFileOutput;
import dev.firn.engine.parquet.OutputSizes;
import dev.firn.engine.parquet.RowBatches;
import dev.firn.sort.RowSorter;
import dev.firn.sort.SortKeys;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.SortOrderUtil;
import org.apache.iceberg.util.StructLikeMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Rewrites one file group: resolves its deletes, moves its live rows and gives the files written.
 * Nothing is committed here. Each call has its own memory; instances are thread-safe.
 */
final class GroupRewrite {
  private static final Logger LOG = LoggerFactory.getLogger(GroupRewrite.class);

  /** Rows of a batch on its way from a file to a file. */
  static final int BATCH_ROWS = 16 * 1024;

  /**
   * What became of a group.
   *
   * @param rowsRead all rows of the inputs, deleted or not
   * @param rowsVerified rows that were read back and compared
   * @param bytesWritten sizes of the output files
   * @param deletes what its delete files have come to
   * @param origins where each row of the outputs came from; the taker closes it
   */
  record Result(
      long rowsRead,
      long rowsDeleted,
      long rowsWritten,
      long rowsVerified,
      long bytesWritten,
      GroupDeletes.Stats deletes,
      RowOrigins origins) {}

  private final RunContext run;

  GroupRewrite(RunContext run) {
    this.run = run;
  }

  /** Rewrites the group and sets its output files. On failure nothing that was written is left. */
  Result rewrite(RewriteFileGroup group) throws IOException {
    long memoryMax = run.allocator().getLimit();
    try (BufferAllocator memory =
        run.allocator().newChildAllocator("group-" + group.info().globalIndex(), 0, memoryMax)) {
      return rewrite(group, memory);
    }
  }

  private Result rewrite(RewriteFileGroup group, BufferAllocator memory) throws IOException {
    List<FileScanTask> tasks = group.fileScanTasks();
    DeleteLimits limits =
        new DeleteLimits(run.memory().keyIndexBytes() / Math.max(1, run.groupsAtOnce()));
    GroupDeletes deletes =
        GroupDeletes.resolve(
            run.pin().specs(),
            run.pin().schema(),
            run.pin().table().schemas().values(),
            tasks,
            run.deletes(),
            run.reader(),
            limits,
            run.fetchers());
    Map<String, DeletedRows> deleted = new HashMap<>();
    for (FileScanTask task : tasks) {
      deleted.put(task.file().location(), deletes.deletedRows(task));
    }
    long rowsRead = 0;
    long rowsDeleted = 0;
    for (FileScanTask task : tasks) {
      rowsRead += task.file().recordCount();
      rowsDeleted += deletedOf(task.file(), deleted).count();
    }
    RowOrigins origins = origins(group);
    try {
      List<DataFile> written = move(group, tasks, deleted, origins, memory);
      return result(group, rowsRead, rowsDeleted, written, deletes.stats(), origins, memory);
    } catch (Throwable failure) {
      origins.close();
      throw failure;
    }
  }

  private RowOrigins origins(RewriteFileGroup group) {
    boolean needed =
        run.pin().formatVersion() >= 2 && group.fileScanTasks().size() <= RowOrigins.INPUTS_MAX;
    return needed
        ? new RowOrigins(run.scratch(), "origins-" + group.info().globalIndex())
        : RowOrigins.none();
  }

  private Result result(
      RewriteFileGroup group,
      long rowsRead,
      long rowsDeleted,
      List<DataFile> written,
      GroupDeletes.Stats deletes,
      RowOrigins origins,
      BufferAllocator memory)
      throws IOException {
    long rowsWritten = written.stream().mapToLong(DataFile::recordCount).sum();
    if (rowsRead - rowsDeleted != rowsWritten) {
      discard(written);
      throw new RowsLostException(
          "File group "
              + group.info().globalIndex()
              + " read "
              + rowsRead
              + " rows, found "
              + rowsDeleted
              + " deleted and wrote "
              + rowsWritten
              + "; it is not committed and its outputs are removed");
    }
    long rowsVerified = verify(group, written, memory);
    group.setOutputFiles(new HashSet<>(written));
    return new Result(
        rowsRead,
        rowsDeleted,
        rowsWritten,
        rowsVerified,
        written.stream().mapToLong(DataFile::fileSizeInBytes).sum(),
        deletes,
        origins);
  }

  private long verify(RewriteFileGroup group, List<DataFile> written, BufferAllocator memory)
      throws IOException {
    if (run.verifier() == null) {
      return 0;
    }
    try {
      return run.verifier().verify(group, written, memory);
    } catch (Throwable failure) {
      discard(written);
      throw failure;
    }
  }

  private List<DataFile> move(
      RewriteFileGroup group,
      List<FileScanTask> tasks,
      Map<String, DeletedRows> deleted,
      RowOrigins origins,
      BufferAllocator memory)
      throws IOException {
    PartitionSpec spec = run.pin().spec(group.outputSpecId());
    boolean repartition = tasks.stream().anyMatch(task -> task.file().specId() != spec.specId());
    List<DataFile> written = new ArrayList<>();
    try {
      if (repartition) {
        SortOrder tableOrder = run.pin().order();
        SortOrder order =
            SortOrderUtil.buildSortOrder(
                run.pin().schema(), spec, tableOrder == null ? SortOrder.unsorted() : tableOrder);
        SortKeys partitions =
            SortKeys.of(
                run.pin().columns(),
                SortOrderUtil.buildSortOrder(run.pin().schema(), spec, SortOrder.unsorted()));
        written.addAll(sort(group, tasks, deleted, origins, spec, null, order, partitions, memory));
      } else {
        for (Map.Entry<StructLike, List<FileScanTask>> part : byPartition(spec, tasks)) {
          SortOrder order = run.pin().order();
          written.addAll(
              order == null
                  ? binPack(group, part.getValue(), deleted, origins, spec, part.getKey(), memory)
                  : sort(
                      group,
                      part.getValue(),
                      deleted,
                      origins,
                      spec,
                      part.getKey(),
                      order,
                      null,
                      memory));
        }
      }
      return written;
    } catch (Throwable failure) {
      discard(written);
      throw failure;
    }
  }

  /** The tasks of each partition of the output spec, in the order the partitions are met. */
  private static List<Map.Entry<StructLike, List<FileScanTask>>> byPartition(
      PartitionSpec spec, List<FileScanTask> tasks) {
    StructLikeMap<List<FileScanTask>> parts = StructLikeMap.create(spec.partitionType());
    List<Map.Entry<StructLike, List<FileScanTask>>> ordered = new ArrayList<>();
    for (FileScanTask task : tasks) {
      StructLike partition = task.file().partition();
      List<FileScanTask> part = parts.get(partition);
      if (part == null) {
        part = new ArrayList<>();
        parts.put(partition, part);
        ordered.add(Map.entry(partition, part));
      }
      part.add(task);
    }
    return ordered;
  }

  private List<DataFile> binPack(
      RewriteFileGroup group,
      List<FileScanTask> tasks,
      Map<String, DeletedRows> deleted,
      RowOrigins origins,
      PartitionSpec spec,
      StructLike partition,
      BufferAllocator memory)
      throws IOException {
    try (TrackedOutput output = output(group, spec, liveRows(tasks, deleted), 0, origins)) {
      output.partition(partition);
      forEachBatch(group, tasks, deleted, memory, output::append);
      return output.finish();
    }
  }

  /**
   * @param partition the partition of all rows, null if each row's is to be computed
   * @param partitions keys by which rows of one partition are told from those of the next; given
   *     where {@code partition} is null
   */
  private List<DataFile> sort(
      RewriteFileGroup group,
      List<FileScanTask> tasks,
      Map<String, DeletedRows> deleted,
      RowOrigins origins,
      PartitionSpec spec,
      @Nullable StructLike partition,
      SortOrder order,
      @Nullable SortKeys partitions,
      BufferAllocator memory)
      throws IOException {
    long limit = run.memory().sortBytes() / Math.max(1, run.groupsAtOnce());
    long rows = liveRows(tasks, deleted);
    int sortOrderId = run.pin().order() == null ? 0 : run.pin().sortOrderId();
    boolean tracked = !origins.lost();
    Schema columns = tracked ? withOrigin(run.pin().columns()) : run.pin().columns();
    try (RowSorter sorter = RowSorter.inMemory(columns, order, memory, limit)) {
      sorter.expectRows(rows);
      forEachBatch(
          group,
          tasks,
          deleted,
          memory,
          tracked
              ? (batch, live, liveRows, from) ->
                  addWithOrigin(sorter, batch, live, liveRows, from, memory)
              : (batch, live, liveRows, from) -> sorter.add(batch, live, liveRows));
      long expectedRows = partition == null ? -1 : rows;
      try (TrackedOutput output = output(group, spec, expectedRows, sortOrderId, origins)) {
        SortedRows sink = sink(output, spec, partition, partitions);
        sorter.drain(
            BATCH_ROWS,
            batch -> {
              if (tracked) {
                List<FieldVector> vectors = batch.getFieldVectors();
                BigIntVector each = (BigIntVector) vectors.get(vectors.size() - 1);
                sink.accept(BatchOrigins.withoutLast(batch), BatchOrigins.each(each));
              } else {
                sink.accept(batch, BatchOrigins.neighbours(0, 0));
              }
            });
        return output.finish();
      }
    }
  }

  /** Takes rows in their order, with their origins. */
  @FunctionalInterface
  private interface SortedRows {
    void accept(VectorSchemaRoot batch, BatchOrigins origins) throws IOException;
  }

  private SortedRows sink(
      TrackedOutput output,
      PartitionSpec spec,
      @Nullable StructLike partition,
      @Nullable SortKeys partitions) {
    if (partitions != null) {
      return new PartitionCuts(run.pin().schema(), spec, partitions, output)::append;
    }
    output.partition(Objects.requireNonNull(partition));
    long[] live = new long[LiveRows.words(BATCH_ROWS)];
    return (batch, origins) -> {
      LiveRows.setAll(live, batch.getRowCount());
      output.append(batch, live, batch.getRowCount(), origins);
    };
  }

  /** The columns and, last, each row's origin: it is sorted along and not written. */
  private static Schema withOrigin(Schema columns) {
    List<Types.NestedField> fields = new ArrayList<>(columns.columns());
    fields.add(MetadataColumns.ROW_POSITION);
    return new Schema(fields);
  }

  private static void addWithOrigin(
      RowSorter sorter,
      VectorSchemaRoot batch,
      long[] live,
      int liveRows,
      BatchOrigins from,
      BufferAllocator memory) {
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

  private static long liveRows(List<FileScanTask> tasks, Map<String, DeletedRows> deleted) {
    long rows = 0;
    for (FileScanTask task : tasks) {
      rows += task.file().recordCount() - deletedOf(task.file(), deleted).count();
    }
    return rows;
  }

  private TrackedOutput output(
      RewriteFileGroup group,
      PartitionSpec spec,
      long expectedRows,
      int sortOrderId,
      RowOrigins origins) {
    ExplainingPlanner.OutputBand band = run.band();
    DataFileOutput output =
        DataFileOutput.create(
            run.pin().table(),
            run.pin().columns(),
            new DataFileOutput.Options(
                spec,
                sortOrderId,
                new OutputSizes(band.targetBytes(), band.minBytes(), band.maxBytes()),
                expectedRows,
                run.operationId(),
                group.info().globalIndex()),
            run.encoders(),
            run.settings().threads());
    return new TrackedOutput(output, origins);
  }

  /** Takes the live rows of a batch. */
  @FunctionalInterface
  private interface LiveBatches {
    void accept(VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins origins)
        throws IOException;
  }

  /** The ordinal of each input in the group, which origins are told by. */
  static Map<String, Integer> ordinals(RewriteFileGroup group) {
    Map<String, Integer> ordinals = new HashMap<>();
    for (FileScanTask task : group.fileScanTasks()) {
      ordinals.putIfAbsent(task.file().location(), ordinals.size());
    }
    return ordinals;
  }

  private void forEachBatch(
      RewriteFileGroup group,
      List<FileScanTask> tasks,
      Map<String, DeletedRows> deleted,
      BufferAllocator memory,
      LiveBatches batches)
      throws IOException {
    long[] live = new long[LiveRows.words(BATCH_ROWS)];
    Map<String, Long> moved = new HashMap<>();
    Map<String, Integer> ordinals = ordinals(group);
    try (RowGroupFeed feed =
        new RowGroupFeed(
            run.reader(),
            run.pin().columns(),
            tasks,
            task -> deletedOf(task.file(), deleted),
            run.fetchers())) {
      for (RowGroupFeed.Piece piece = feed.next(); piece != null; piece = feed.next()) {
        long movedOfPiece = 0;
        int input = Objects.requireNonNull(ordinals.get(piece.task().file().location()));
        try (RowBatches rows = piece.view().read(memory)) {
          while (rows.next()) {
            VectorSchemaRoot batch = rows.batch();
            int count = batch.getRowCount();
            if (live.length < LiveRows.words(count)) {
              live = new long[LiveRows.words(count)];
            }
            LiveRows.setAll(live, count);
            int liveRows = count - piece.deleted().clearDeleted(rows.firstPosition(), count, live);
            if (liveRows > 0) {
              batches.accept(
                  batch, live, liveRows, BatchOrigins.neighbours(input, rows.firstPosition()));
              movedOfPiece += liveRows;
            }
          }
        } finally {
          piece.view().close();
        }
        moved.merge(piece.task().file().location(), movedOfPiece, Long::sum);
        run.listener().progressed(piece.rowGroup().compressedBytes());
      }
    }
    for (FileScanTask task : tasks) {
      checkMoved(task.file(), deleted, moved.getOrDefault(task.file().location(), 0L));
    }
  }

  private static DeletedRows deletedOf(DataFile file, Map<String, DeletedRows> deleted) {
    return Objects.requireNonNull(deleted.get(file.location()), file::location);
  }

  /** Counts file by file: rows lost from one and doubled from another do not add up (C26). */
  private static void checkMoved(DataFile file, Map<String, DeletedRows> deleted, long moved) {
    long expected = file.recordCount() - deletedOf(file, deleted).count();
    if (moved != expected) {
      throw new RowsLostException(
          "Data file "
              + file.location()
              + " has "
              + expected
              + " live rows but "
              + moved
              + " were moved; its file group is not committed");
    }
  }

  private void discard(List<DataFile> written) {
    for (DataFile file : written) {
      try {
        run.pin().table().io().deleteFile(file.location());
      } catch (RuntimeException e) {
        LOG.warn(
            "Cannot delete uncommitted output {}: it is left as an orphan", file.location(), e);
      }
    }
  }
}
