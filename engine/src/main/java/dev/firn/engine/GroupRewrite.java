package dev.firn.engine;

import dev.firn.commit.PartitionTuple;
import dev.firn.deletes.DeleteLimits;
import dev.firn.deletes.DeletedRows;
import dev.firn.deletes.GroupDeletes;
import dev.firn.engine.parquet.DataFileOutput;
import dev.firn.engine.parquet.OutputSizes;
import dev.firn.engine.parquet.SourceFile;
import dev.firn.engine.parquet.SpliceTotals;
import dev.firn.engine.parquet.UnsupportedPageException;
import dev.firn.sort.KeyRanges;
import dev.firn.sort.SortKeys;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.GenericRecord;
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
   * @param moved how its columns were moved
   * @param origins where each row of the outputs came from; the taker closes it
   */
  record Result(
      long rowsRead,
      long rowsDeleted,
      long rowsWritten,
      long rowsVerified,
      long bytesWritten,
      GroupDeletes.Stats deletes,
      SpliceTotals moved,
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
        new DeleteLimits(run.memory().shares().keyIndexBytes() / run.memory().groupsAtOnce());
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
    run.peaks().keyIndexOfGroup(deletes.stats().keyIndexBytes());
    Map<String, DeletedRows> deleted = new HashMap<>();
    for (FileScanTask task : tasks) {
      deleted.put(task.file().location(), deletes.deletedRows(task));
    }
    long rowsRead = 0;
    for (FileScanTask task : tasks) {
      rowsRead += task.file().recordCount();
    }
    GroupRows rows = new GroupRows(run, group, deleted, memory);
    long rowsDeleted = rowsRead - rows.count();
    boolean splices = run.pin().rowOrder() == null && run.settings().splices();
    try {
      return move(group, rows, splices, rowsRead, rowsDeleted, deletes.stats());
    } catch (UnsupportedPageException unsupported) {
      // A page whose header did not tell that it needs another reader.
      LOG.info("File group {} is decoded", group.info().globalIndex(), unsupported);
      return move(group, rows, false, rowsRead, rowsDeleted, deletes.stats());
    }
  }

  private Result move(
      RewriteFileGroup group,
      GroupRows rows,
      boolean splices,
      long rowsRead,
      long rowsDeleted,
      GroupDeletes.Stats deletes)
      throws IOException {
    RowOrigins origins = origins(group);
    try {
      Moved moved = move(group, rows, splices, origins);
      return result(group, rowsRead, rowsDeleted, moved, deletes, origins, rows.memory());
    } catch (Throwable failure) {
      origins.close();
      throw failure;
    }
  }

  private record Moved(List<DataFile> written, SpliceTotals how) {}

  private RowOrigins origins(RewriteFileGroup group) {
    boolean needed =
        run.pin().formatVersion() >= 2 && group.fileScanTasks().size() <= RowOrigins.INPUTS_MAX;
    return needed
        ? new RowOrigins(
            run.scratch(),
            "origins-" + group.info().globalIndex(),
            run.peaks().carryOverHeld(),
            run.memory().shares().carryOverBytes() / 2)
        : RowOrigins.none();
  }

  private Result result(
      RewriteFileGroup group,
      long rowsRead,
      long rowsDeleted,
      Moved moved,
      GroupDeletes.Stats deletes,
      RowOrigins origins,
      BufferAllocator memory)
      throws IOException {
    List<DataFile> written = moved.written();
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
        moved.how(),
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

  private Moved move(RewriteFileGroup group, GroupRows rows, boolean splices, RowOrigins origins)
      throws IOException {
    PartitionSpec spec = run.pin().spec(group.outputSpecId());
    boolean repartition = isSpread(group, spec);
    if (repartition && spec.isUnpartitioned()) {
      StructLike none = GenericRecord.create(spec.partitionType());
      return pack(group, rows, splices, origins, spec, none);
    }
    if (!repartition) {
      return pack(group, rows, splices, origins, spec, rows.tasks().get(0).file().partition());
    }
    List<DataFile> written = new ArrayList<>();
    try (TrackedOutput output = output(group, spec, -1, origins)) {
      new FanOut(run, rows, spec, !origins.lost()).write(output, written);
      return new Moved(written, transcoded(group, "other partition spec"));
    } catch (Throwable failure) {
      discard(written);
      throw failure;
    }
  }

  private static SpliceTotals transcoded(RewriteFileGroup group, String why) {
    return new SpliceTotals(0, 0, 0, Map.of(why, group.inputFilesSizeInBytes()));
  }

  /**
   * Whether rows of a group go to partitions of their own: its files are of another spec, or of
   * several partitions, being in one group because files of another spec may share these.
   */
  static boolean isSpread(RewriteFileGroup group, PartitionSpec spec) {
    List<FileScanTask> tasks = group.fileScanTasks();
    PartitionTuple first = PartitionTuple.of(tasks.get(0).file());
    return tasks.stream()
        .anyMatch(
            task ->
                task.file().specId() != spec.specId()
                    || !first.equals(PartitionTuple.of(task.file())));
  }

  /** Writes rows of one partition. */
  private Moved pack(
      RewriteFileGroup group,
      GroupRows rows,
      boolean splices,
      RowOrigins origins,
      PartitionSpec spec,
      StructLike partition)
      throws IOException {
    RowOrder order = run.pin().rowOrder();
    if (splices) {
      return splice(group, rows, origins, spec, partition);
    }
    try (TrackedOutput output = output(group, spec, rows.count(), origins)) {
      output.partition(partition);
      if (order == null) {
        rows.forEachBatch(output::append);
      } else {
        sort(group, rows, order, !origins.lost(), output);
      }
      return new Moved(
          output.finish(), transcoded(group, order == null ? "decoded on purpose" : "sorted"));
    }
  }

  private Moved splice(
      RewriteFileGroup group,
      GroupRows rows,
      RowOrigins origins,
      PartitionSpec spec,
      StructLike partition)
      throws IOException {
    try (TrackedOutput output = output(group, spec, rows.count(), origins)) {
      output.partition(partition);
      Map<String, Long> decoded =
          rows.forEachView(
              (view, live, liveRows, from) ->
                  output.splice(
                      view,
                      live,
                      liveRows,
                      from,
                      rows.memory(),
                      run.memory().splicedBytesHeldOfGroup(view.rowGroup().compressedBytes())),
              output::append);
      SpliceTotals ofBatches = new SpliceTotals(0, 0, 0, decoded);
      return new Moved(output.finish(), output.spliceTotals().plus(ofBatches));
    }
  }

  /**
   * Sorts the rows, in ranges of their keys one after another if the group is larger than groups
   * are to be: its files are in one group only because their keys overlap.
   */
  private void sort(
      RewriteFileGroup group, GroupRows rows, RowOrder order, boolean tracked, TrackedOutput output)
      throws IOException {
    Schema columns = run.pin().columns();
    RowOrder.Keys keys = order.keys(columns, rows);
    SortKeys sortKeys = keys.of(columns);
    long bytesMax = run.settings().groupBytesMax();
    int wanted = Math.toIntExact((group.inputFilesSizeInBytes() - 1) / bytesMax + 1);
    if (wanted <= 1) {
      try (GroupSort sort = new GroupSort(run, columns, sortKeys, tracked, rows.memory())) {
        rows.forEachBatch(sort::add);
        sort.drain(output::append);
      }
      return;
    }
    KeyRanges ranges = RowOrder.ranges(columns, rows, order.sources(columns), keys, wanted);
    long[] moved = new long[rows.inputs()];
    for (int range = 0; range < ranges.count(); range++) {
      try (GroupSort sort = new GroupSort(run, columns, sortKeys, tracked, rows.memory())) {
        rows.forEachBatch(columns, new OfRange(ranges, range, sortKeys, sort, moved, rows));
        sort.drain(output::append);
      }
    }
    rows.checkMoved(moved);
  }

  /** Takes the rows of a group that fall into a range of keys. */
  private final class OfRange implements GroupRows.RowGroups {
    private final KeyRanges ranges;
    private final int range;
    private final SortKeys keys;
    private final GroupSort sort;
    private final long[] moved;
    private final GroupRows rows;
    private long[] selected = {};

    OfRange(
        KeyRanges ranges, int range, SortKeys keys, GroupSort sort, long[] moved, GroupRows rows) {
      this.ranges = ranges;
      this.range = range;
      this.keys = keys;
      this.sort = sort;
      this.moved = moved;
      this.rows = rows;
    }

    @Override
    public boolean wants(DataFile file, SourceFile.RowGroup rowGroup) {
      return true;
    }

    @Override
    public void accept(VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins origins)
        throws IOException {
      if (selected.length < live.length) {
        selected = new long[live.length];
      }
      int count = ranges.select(keys, batch, live, liveRows, range, selected, rows.memory());
      if (count > 0) {
        sort.add(batch, selected, count, origins);
        moved[origins.input()] += count;
      }
    }

    @Override
    public void end(SourceFile.RowGroup rowGroup, long liveRows) {
      run.listener().progressed(rowGroup.compressedBytes() / ranges.count());
    }
  }

  private TrackedOutput output(
      RewriteFileGroup group, PartitionSpec spec, long expectedRows, RowOrigins origins) {
    int sortOrderId = run.pin().order() == null ? 0 : run.pin().sortOrderId();
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
                group.info().globalIndex(),
                run.settings().encodings()),
            run.encoders(),
            run.settings().threads());
    return new TrackedOutput(
        output,
        origins,
        run.memory().outputPagesBytesOfGroup(),
        run.memory().bloomFiltersBytesOfGroup(),
        run.peaks());
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
