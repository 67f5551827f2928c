package dev.firn.engine;

import dev.firn.commit.CarryOver;
import dev.firn.deletes.DeleteLimits;
import dev.firn.deletes.DeletedRows;
import dev.firn.deletes.GroupDeletes;
import dev.firn.engine.parquet.TableReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.DVFileWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.util.ContentFileUtil;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries position deletes that landed on the inputs of rewritten groups over to their outputs: a
 * deletion vector for each output on format version 3, a position delete file for each before.
 *
 * <p>Where what was deleted does not fit into its memory, nothing is carried over: the groups are
 * redone.
 *
 * <p>Belongs to one round. Groups are made known by the thread that takes their results; deletes
 * are carried over by the thread that commits.
 */
final class OutputDeletes implements CarryOver {
  private static final Logger LOG = LoggerFactory.getLogger(OutputDeletes.class);
  private static final Schema PATH_AND_POSITION =
      new Schema(MetadataColumns.DELETE_FILE_PATH, MetadataColumns.DELETE_FILE_POS);
  private static final int STEP_ROWS = 1 << 16;

  /** What the rows that a delete file deletes from an input take beside their positions. */
  private static final int ROWS_BYTES = 256;

  private final Pin pin;
  private final String operationId;
  private final TableReader reader;
  private final DeleteLimits limits;
  private final ExecutorService fetchers;
  private final Map<RewriteFileGroup, RowOrigins> origins =
      Collections.synchronizedMap(new IdentityHashMap<>());
  /* Of the groups that met new deletes: by the identity of a delete file. */
  private final Map<RewriteFileGroup, Map<String, Resolved>> resolved = new IdentityHashMap<>();
  private final MemoryPeaks.Gauge memoryHeld;
  private final long memoryBytesMax;
  private long held;
  private final AtomicInteger carryOvers = new AtomicInteger();

  /**
   * @param operationId begins the names of files; no other round has it (C15)
   * @param reader reads the delete files; not closed here
   * @param fetchers threads to read delete files in
   * @param memoryHeld counts what was deleted
   * @param memoryBytesMax what that may take
   */
  OutputDeletes(
      Pin pin,
      String operationId,
      TableReader reader,
      DeleteLimits limits,
      ExecutorService fetchers,
      MemoryPeaks.Gauge memoryHeld,
      long memoryBytesMax) {
    this.pin = pin;
    this.operationId = operationId;
    this.reader = reader;
    this.limits = limits;
    this.fetchers = fetchers;
    this.memoryHeld = memoryHeld;
    this.memoryBytesMax = memoryBytesMax;
  }

  /**
   * The rows that a delete file deletes.
   *
   * @param byInput by the location of the input
   * @param bytes about what they take
   */
  private record Resolved(Map<String, DeletedRows> byInput, long bytes) {}

  /** Makes a finished group's origins known; not closed here. */
  void know(RewriteFileGroup group, RowOrigins rows) {
    origins.put(group, rows);
  }

  /** Drops what is known of a group of which it is settled what becomes of it. */
  void forget(RewriteFileGroup group) {
    origins.remove(group);
    resolved.remove(group);
    hold(0);
  }

  /** Notes what is held: all that is resolved, and as much more. */
  private void hold(long more) {
    long bytes =
        more
            + resolved.values().stream()
                .flatMap(files -> files.values().stream())
                .mapToLong(Resolved::bytes)
                .sum();
    memoryHeld.add(bytes - held);
    held = bytes;
  }

  @Override
  public Optional<Carried> carry(List<NewDeletes> deletes, int formatVersion) throws IOException {
    for (NewDeletes of : deletes) {
      RowOrigins known = origins.get(of.group());
      if (known == null || known.lost() || tooLarge(of.group())) {
        return Optional.empty();
      }
    }
    String id = operationId + "-carried-" + carryOvers.incrementAndGet();
    try (Sink sink = formatVersion >= 3 ? new Vectors(id) : new PositionFiles(id)) {
      for (NewDeletes of : deletes) {
        if (!carry(of, Objects.requireNonNull(origins.get(of.group())), sink)) {
          return Optional.empty();
        }
      }
      List<DeleteFile> added = sink.finish();
      List<Replacement> replacements = List.of();
      if (!added.isEmpty()) {
        replacements = replacements(deletes, formatVersion, id);
        if (replacements.isEmpty()) {
          return Optional.empty();
        }
      }
      Carried carried = new Carried(added, replacements, sink.rows());
      sink.keep();
      return Optional.of(carried);
    }
  }

  /** Whether positions of an input are not ints. */
  private static boolean tooLarge(RewriteFileGroup group) {
    return group.fileScanTasks().stream()
        .anyMatch(task -> task.file().recordCount() > Integer.MAX_VALUE);
  }

  /**
   * @return false if what was deleted does not fit into memory
   */
  private boolean carry(NewDeletes of, RowOrigins known, Sink sink) throws IOException {
    Map<String, Integer> ordinals = GroupRows.ordinals(of.group());
    List<FileScanTask> tasks =
        of.group().fileScanTasks().stream()
            .filter(task -> of.byInput().containsKey(task.file().location()))
            .toList();
    long bits = tasks.stream().mapToLong(task -> bitsBytes(task.file())).sum();
    if (bits > memoryBytesMax) {
      return tooMany(of, bits);
    }
    Map<String, Resolved> files = resolved(of, tasks);
    hold(bits);
    if (held > memoryBytesMax) {
      long needed = held;
      resolved.remove(of.group());
      hold(0);
      return tooMany(of, needed);
    }
    BitSet[] deleted = new BitSet[ordinals.size()];
    for (FileScanTask task : tasks) {
      DataFile input = task.file();
      List<DeletedRows> gone = new ArrayList<>();
      for (DeleteFile file : of.byInput().getOrDefault(input.location(), List.of())) {
        DeletedRows rows =
            Objects.requireNonNull(files.get(identity(file))).byInput().get(input.location());
        if (rows != null && rows.count() > 0) {
          gone.add(rows);
        }
      }
      deleted[Objects.requireNonNull(ordinals.get(input.location()))] = positions(input, gone);
    }
    known.forEachRun(new RunsToDelete(deleted, sink));
    hold(0);
    return true;
  }

  /** What a bit for each row takes. */
  private static long bitsBytes(DataFile file) {
    return file.recordCount() / Byte.SIZE + Long.BYTES;
  }

  private boolean tooMany(NewDeletes of, long bytes) {
    LOG.warn(
        "File group {} is redone: what was deleted of its inputs meanwhile takes {} bytes of"
            + " memory, and there are {}. With more memory it is carried over",
        of.group().info().globalIndex(),
        bytes,
        memoryBytesMax);
    return false;
  }

  /** All of an input's deleted positions: after a sort they are asked for row by row. */
  private static BitSet positions(DataFile input, List<DeletedRows> gone) {
    int rows = Math.toIntExact(input.recordCount());
    BitSet positions = new BitSet(rows);
    long[] live = new long[LiveRows.words(STEP_ROWS)];
    for (DeletedRows some : gone) {
      for (int from = 0; from < rows; from += STEP_ROWS) {
        int step = Math.min(STEP_ROWS, rows - from);
        if (some.anyIn(from, step)) {
          LiveRows.setAll(live, step);
          int cleared = some.clearDeleted(from, step, live);
          for (int row = 0; cleared > 0; row++) {
            if ((live[row >>> 6] >>> row & 1) == 0) {
              positions.set(from + row);
              cleared--;
            }
          }
        }
      }
    }
    return positions;
  }

  /**
   * What each delete file deletes, by the location of the input. Those that an earlier carry-over
   * has read are not read again: beside a writer that never rests they become many.
   */
  private Map<String, Resolved> resolved(NewDeletes of, List<FileScanTask> tasks)
      throws IOException {
    Map<String, DeleteFile> files = new LinkedHashMap<>();
    of.byInput().values().forEach(some -> some.forEach(file -> files.put(identity(file), file)));
    Map<String, Resolved> known = resolved.computeIfAbsent(of.group(), group -> new HashMap<>());
    known.keySet().retainAll(files.keySet());
    Map<String, Future<Resolved>> reading = new LinkedHashMap<>();
    files.forEach(
        (identity, file) -> {
          if (!known.containsKey(identity)) {
            reading.put(identity, fetchers.submit(() -> resolve(file, of, tasks)));
          }
        });
    try {
      for (Map.Entry<String, Future<Resolved>> entry : reading.entrySet()) {
        known.put(entry.getKey(), Results.of(entry.getValue()));
      }
      return known;
    } finally {
      Results.settle(reading.values());
    }
  }

  private Resolved resolve(DeleteFile file, NewDeletes of, List<FileScanTask> tasks)
      throws IOException {
    List<FileScanTask> reached =
        tasks.stream()
            .filter(task -> ofInput(task, of).anyMatch(delete -> same(delete, file)))
            .toList();
    GroupDeletes deletes =
        GroupDeletes.resolve(
            pin.specs(),
            pin.schema(),
            List.of(),
            reached,
            task -> ofInput(task, of).filter(delete -> same(delete, file)).toList(),
            reader,
            limits,
            Runnable::run);
    Map<String, DeletedRows> rows = new HashMap<>();
    long bytes = 0;
    for (FileScanTask task : reached) {
      DeletedRows some = deletes.deletedRows(task);
      rows.put(task.file().location(), some);
      bytes += ROWS_BYTES + Math.min(2 * some.count(), bitsBytes(task.file()));
    }
    return new Resolved(rows, bytes);
  }

  private static Stream<DeleteFile> ofInput(FileScanTask task, NewDeletes of) {
    return of.byInput().getOrDefault(task.file().location(), List.of()).stream();
  }

  /** Vectors share files (D29). */
  private static String identity(DeleteFile file) {
    return file.location() + " " + file.contentOffset();
  }

  private static boolean same(DeleteFile one, DeleteFile other) {
    return identity(one).equals(identity(other));
  }

  /**
   * Deletes from each output those rows whose origins are deleted.
   *
   * @param deleted positions by input; null where nothing of it is deleted
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record RunsToDelete(@Nullable BitSet[] deleted, Sink sink) implements RowOrigins.Runs {
    @Override
    public void accept(DataFile output, long outputPosition, long origin, long rows)
        throws IOException {
      BitSet gone = deleted[RowOrigins.input(origin)];
      if (gone == null) {
        return;
      }
      int position = Math.toIntExact(RowOrigins.position(origin));
      long end = position + rows;
      for (int at = gone.nextSetBit(position); at >= 0 && at < end; at = gone.nextSetBit(at + 1)) {
        sink.delete(output, output.location(), outputPosition + at - position);
      }
    }
  }

  /**
   * Delete files that the commit may remove: those of inputs alone. Where there are none, one of a
   * whole partition is written again without the rows of inputs.
   */
  private List<Replacement> replacements(List<NewDeletes> deletes, int formatVersion, String id)
      throws IOException {
    List<Replacement> ofInputs = new ArrayList<>();
    Set<String> seen = new HashSet<>();
    Map<String, DeleteFile> shared = new LinkedHashMap<>();
    Set<String> inputs = new HashSet<>();
    for (NewDeletes of : deletes) {
      inputs.addAll(of.byInput().keySet());
      for (List<DeleteFile> files : of.byInput().values()) {
        for (DeleteFile file : files) {
          if (ContentFileUtil.referencedDataFileLocation(file) == null) {
            shared.put(file.location(), file);
          } else if (seen.add(identity(file))) {
            ofInputs.add(new Replacement(file, Optional.empty()));
          }
        }
      }
    }
    if (!ofInputs.isEmpty() || formatVersion >= 3) {
      return ofInputs;
    }
    Optional<DeleteFile> smallest =
        shared.values().stream().min(Comparator.comparing(DeleteFile::recordCount));
    if (smallest.isEmpty()) {
      return List.of();
    }
    return List.of(new Replacement(smallest.get(), remainder(smallest.get(), inputs, id)));
  }

  /** What a delete file deletes from other files than the inputs, as a file of its own. */
  private Optional<DeleteFile> remainder(DeleteFile file, Set<String> inputs, String id)
      throws IOException {
    try (PositionFiles sink = new PositionFiles(id + "-rest")) {
      reader.readDeletes(
          file,
          PATH_AND_POSITION,
          (batch, firstPosition) -> {
            VarBinaryVector paths = (VarBinaryVector) batch.getVector(0);
            BigIntVector positions = (BigIntVector) batch.getVector(1);
            for (int row = 0; row < batch.getRowCount(); row++) {
              String path = new String(paths.get(row), StandardCharsets.UTF_8);
              if (!inputs.contains(path)) {
                sink.delete(file, path, positions.get(row));
              }
            }
          });
      List<DeleteFile> rest = sink.finish();
      sink.keep();
      return rest.stream().findFirst();
    }
  }

  /** Writes delete files, one for each file deleted from; closing deletes them if not kept. */
  private abstract class Sink implements AutoCloseable {
    private final OutputFileFactory files;
    private final List<String> locations = new ArrayList<>();
    private final List<DeleteFile> finished = new ArrayList<>();
    private @Nullable ContentFile<?> current; // null before the first row
    private long rows;
    private boolean kept;

    Sink(String id, FileFormat format) {
      this.files =
          OutputFileFactory.builderFor(pin.table(), 0, 0)
              .operationId(id)
              .format(format)
              .suffix("deletes")
              .build();
    }

    /**
     * Deletes a row.
     *
     * @param of rows of one come together; its spec and partition are those of the delete file
     * @param path the data file of the row
     * @param position the row; ascending within a path
     */
    final void delete(ContentFile<?> of, String path, long position) throws IOException {
      if (current != of) {
        endFile();
        current = of;
        begin(pin.spec(of.specId()), of.partition());
      }
      add(path, position);
      rows++;
    }

    abstract void begin(PartitionSpec spec, StructLike partition) throws IOException;

    abstract void add(String path, long position) throws IOException;

    /** Closes the file begun, if one is. */
    abstract List<DeleteFile> end() throws IOException;

    private void endFile() throws IOException {
      finished.addAll(end());
    }

    final List<DeleteFile> finish() throws IOException {
      endFile();
      return List.copyOf(finished);
    }

    final long rows() {
      return rows;
    }

    final void keep() {
      kept = true;
    }

    final EncryptedOutputFile file(PartitionSpec spec, StructLike partition) {
      EncryptedOutputFile file =
          spec.isUnpartitioned() ? files.newOutputFile() : files.newOutputFile(spec, partition);
      locations.add(file.encryptingOutputFile().location());
      return file;
    }

    @Override
    public final void close() throws IOException {
      if (kept) {
        return;
      }
      try {
        end();
      } finally {
        for (String location : locations) {
          try {
            pin.table().io().deleteFile(location);
          } catch (NotFoundException e) {
            LOG.debug("Delete file {} was never written", location, e);
          } catch (RuntimeException e) {
            LOG.warn(
                "Cannot delete uncommitted delete file {}: it is left as an orphan", location, e);
          }
        }
      }
    }
  }

  /**
   * A Puffin file for each output: where several vectors share one, Iceberg's expiration deletes it
   * as soon as one of them is replaced.
   */
  private final class Vectors extends Sink {
    private @Nullable DVFileWriter writer; // null between outputs; opens its file when it is closed
    private @Nullable PartitionSpec spec; // these are of the vector that is being made
    private @Nullable StructLike partition;

    Vectors(String id) {
      super(id, FileFormat.PUFFIN);
    }

    @Override
    void begin(PartitionSpec ofSpec, StructLike ofPartition) {
      spec = ofSpec;
      partition = ofPartition;
      writer =
          new BaseDVFileWriter(
              () -> file(ofSpec, ofPartition).encryptingOutputFile(), path -> null);
    }

    @Override
    void add(String path, long position) {
      Objects.requireNonNull(writer)
          .delete(path, position, Objects.requireNonNull(spec), Objects.requireNonNull(partition));
    }

    @Override
    List<DeleteFile> end() throws IOException {
      DVFileWriter open = writer;
      writer = null;
      if (open == null) {
        return List.of();
      }
      open.close();
      return open.result().deleteFiles();
    }
  }

  /** A position delete file for each output, so that later runs know whose it is. */
  private final class PositionFiles extends Sink {
    private final PositionDelete<Void> delete = PositionDelete.create();
    private @Nullable PositionDeleteWriter<Void> writer; // null between files

    PositionFiles(String id) {
      super(id, FileFormat.PARQUET);
    }

    @Override
    void begin(PartitionSpec spec, StructLike partition) throws IOException {
      writer =
          Parquet.writeDeletes(file(spec, partition))
              .forTable(pin.table())
              .rowSchema(null) // forTable asks for whole rows
              .metricsConfig(MetricsConfig.forPositionDelete())
              .withSpec(spec)
              .withPartition(partition)
              .overwrite(false)
              .buildPositionWriter();
    }

    @Override
    void add(String path, long position) {
      Objects.requireNonNull(writer).write(delete.set(path, position));
    }

    @Override
    List<DeleteFile> end() throws IOException {
      PositionDeleteWriter<Void> open = writer;
      writer = null;
      if (open == null) {
        return List.of();
      }
      open.close();
      return List.of(open.toDeleteFile());
    }
  }
}
