package dev.firn.deletes;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.util.ContentFileUtil;
import org.jspecify.annotations.Nullable;

/**
 * The deletes of one file group, every delete file opened once, resolved to the deleted positions
 * of each data file.
 *
 * <p>Which delete files reach which data file is what the scan tasks say; this class applies them
 * by the rules of the table format (D1 to D31). It holds heap only, no Arrow memory. Thread-safe
 * once open; the one who opens it closes it.
 */
public final class GroupDeletes implements AutoCloseable {

  /**
   * What was read, held and found so far.
   *
   * @param positionFilesOpened position delete files, deletion vectors not among them
   * @param positionRowsRead rows of position delete files, whatever data file they name
   * @param equalityRowsRead rows of equality delete files
   * @param keysHeld different keys in the key indexes
   * @param keyIndexBytes heap held by the key indexes
   * @param rowsDeletedByPositionFiles rows found deleted by them, in the calls of {@link
   *     #deletedRows} so far
   * @param rowsDeletedByVectors the same for deletion vectors
   * @param rowsDeletedByEquality the same for equality deletes, without rows that one of the others
   *     deletes too
   */
  public record Stats(
      int positionFilesOpened,
      int vectorsOpened,
      int equalityFilesOpened,
      long positionRowsRead,
      long equalityRowsRead,
      long keysHeld,
      long keyIndexBytes,
      long rowsDeletedByPositionFiles,
      long rowsDeletedByVectors,
      long rowsDeletedByEquality) {

    /** Delete files of any kind that were opened. */
    public int deleteFilesOpened() {
      return positionFilesOpened + vectorsOpened + equalityFilesOpened;
    }

    /** Rows found deleted, each counted once. */
    public long rowsDeleted() {
      return rowsDeletedByPositionFiles + rowsDeletedByVectors + rowsDeletedByEquality;
    }
  }

  private final DeleteSource source;
  /* By identity: two tasks may have data files of one location and different sequence numbers. */
  private volatile @Nullable Map<FileScanTask, FileDeletes> files;
  private final Stats opened;
  private final LongAdder byPositionFiles = new LongAdder();
  private final LongAdder byVectors = new LongAdder();
  private final LongAdder byEquality = new LongAdder();

  private GroupDeletes(DeleteSource source, Map<FileScanTask, FileDeletes> files, Stats opened) {
    this.source = source;
    this.files = files;
    this.opened = opened;
  }

  /** The positions of a data file that are deleted by position, and what deletes by equality. */
  private record FileDeletes(
      DeletedPositions positions, boolean fromVector, @Nullable EqualityProbe probe) {}

  /**
   * Opens every delete file of a group once and reads it.
   *
   * @param specs all partition specs of the table, by id
   * @param current the schema whose types keys are compared in
   * @param historic the other schemas of the table, for equality fields that were dropped since
   * @param tasks the data files of the group, whole files
   * @param deletes the delete files of a task: those that it lists, and any that the planner left
   *     out wrongly (H5)
   * @param source reads them; used as long as this object is open, and not closed by it
   * @throws CorruptDeleteException if a delete file contradicts its metadata or the format
   * @throws UnsupportedDeleteException if a delete file cannot be applied with certainty
   * @throws DeleteIndexTooLargeException if the keys of the equality deletes pass their limit
   * @throws IOException if a delete file cannot be read
   */
  public static GroupDeletes open(
      Map<Integer, PartitionSpec> specs,
      Schema current,
      Collection<Schema> historic,
      List<FileScanTask> tasks,
      Function<FileScanTask, List<DeleteFile>> deletes,
      DeleteSource source,
      DeleteLimits limits)
      throws IOException {
    KeyMemory memory = new KeyMemory(limits.keyIndexBytesMax());
    PositionDeletes positionDeletes = new PositionDeletes();
    Partitions partitions = new Partitions(specs);
    EqualityDeletes equalityDeletes =
        new EqualityDeletes(partitions, new KeyFields(current, historic), memory);
    List<Listed> listed = new ArrayList<>(tasks.size());
    for (FileScanTask task : tasks) {
      listed.add(Listed.of(task, deletes.apply(task), partitions));
    }
    for (Listed file : listed) {
      for (DeleteFile delete : file.positionFiles) {
        positionDeletes.assign(delete, file.task.file(), file.positions);
      }
      for (DeleteFile delete : file.equalityFiles) {
        file.idSets.add(equalityDeletes.assign(delete));
      }
    }

    positionDeletes.read(source);
    Map<DeleteFileId, DeletedPositions> vectors = new HashMap<>();
    for (Listed file : listed) {
      if (file.vector != null) {
        DeleteFileId id = DeleteFileId.of(file.vector);
        if (!vectors.containsKey(id)) {
          vectors.put(id, DeletionVector.read(file.vector, file.task.file(), source));
        }
      }
    }
    equalityDeletes.read(source);

    Map<FileScanTask, FileDeletes> files = new IdentityHashMap<>();
    for (Listed file : listed) {
      files.put(file.task, file.resolve(vectors, equalityDeletes));
    }
    return new GroupDeletes(
        source,
        files,
        new Stats(
            positionDeletes.filesOpened(),
            vectors.size(),
            equalityDeletes.filesOpened(),
            positionDeletes.rowsRead(),
            equalityDeletes.rowsRead(),
            equalityDeletes.keysHeld(),
            memory.bytesHeld(),
            0,
            0,
            0));
  }

  /**
   * The deleted rows of one data file. Scans its key columns if equality deletes may reach it, once
   * for each call; may be called for different tasks at once.
   *
   * @param task one of the tasks that this was opened with, the same object
   * @throws CorruptDeleteException if the data file does not have the rows its metadata says
   * @throws IOException if the key columns cannot be read
   */
  public DeletedRows deletedRows(FileScanTask task) throws IOException {
    Map<FileScanTask, FileDeletes> open = files;
    if (open == null) {
      throw new IllegalStateException("The deletes of the group are closed");
    }
    FileDeletes file = open.get(task);
    if (file == null) {
      throw new IllegalArgumentException(
          "The data file " + task.file().location() + " is not of this group");
    }
    DeletedPositions positions = file.positions;
    (file.fromVector ? byVectors : byPositionFiles).add(positions.count());
    if (file.probe == null || positions.count() == task.file().recordCount()) {
      return positions;
    }
    DeletedPositions.Builder found = new DeletedPositions.Builder();
    byEquality.add(file.probe.run(task, sequenceNumber(task.file()), positions, source, found));
    if (found.isEmpty()) {
      return positions;
    }
    found.addAll(positions);
    return found.build();
  }

  /** What was read, held and found so far. */
  public Stats stats() {
    return new Stats(
        opened.positionFilesOpened,
        opened.vectorsOpened,
        opened.equalityFilesOpened,
        opened.positionRowsRead,
        opened.equalityRowsRead,
        opened.keysHeld,
        opened.keyIndexBytes,
        byPositionFiles.sum(),
        byVectors.sum(),
        byEquality.sum());
  }

  /** Lets go of the keys and positions. Results that were handed out stay valid. */
  @Override
  public void close() {
    files = null;
  }

  private static long sequenceNumber(DataFile file) {
    Long sequenceNumber = file.dataSequenceNumber();
    if (sequenceNumber == null) {
      throw new CorruptDeleteException(
          "Cannot apply deletes to "
              + file.location()
              + ": it has no data sequence number. The group is left as it was.");
    }
    return sequenceNumber;
  }

  /** The delete files of one task that can delete rows of it, by kind. */
  private static final class Listed {
    private final FileScanTask task;
    private final List<DeleteFile> positionFiles = new ArrayList<>();
    private final List<DeleteFile> equalityFiles = new ArrayList<>();
    private final Set<Set<Integer>> idSets = new LinkedHashSet<>();
    private final DeletedPositions.Builder positions = new DeletedPositions.Builder();
    private @Nullable DeleteFile vector;

    private Listed(FileScanTask task) {
      this.task = task;
    }

    static Listed of(FileScanTask task, List<DeleteFile> deletes, Partitions partitions) {
      Listed listed = new Listed(task);
      Map<DeleteFileId, DeleteFile> distinct = new LinkedHashMap<>();
      for (DeleteFile delete : deletes) {
        distinct.putIfAbsent(DeleteFileId.of(delete), delete);
      }
      for (DeleteFile delete : distinct.values()) {
        listed.add(delete, partitions);
      }
      if (listed.vector != null) {
        listed.positionFiles.clear();
      }
      return listed;
    }

    private void add(DeleteFile delete, Partitions partitions) {
      DataFile file = task.file();
      if (delete.content() == FileContent.EQUALITY_DELETES) {
        if (delete.format() == FileFormat.PUFFIN) {
          throw mismatch(delete, "an equality delete file cannot be a Puffin file");
        }
        if (!partitions.spec(delete).isUnpartitioned()) {
          checkPartition(delete, partitions);
        }
        if (EqualityDeletes.sequenceNumber(delete) > sequenceNumber(file)) {
          equalityFiles.add(delete);
        }
      } else if (delete.content() != FileContent.POSITION_DELETES) {
        throw mismatch(delete, "it is not a delete file but has content " + delete.content());
      } else if (ContentFileUtil.isDV(delete)) {
        addVector(delete, partitions);
      } else {
        checkPartition(delete, partitions);
        if (EqualityDeletes.sequenceNumber(delete) >= sequenceNumber(file)) {
          positionFiles.add(delete);
        }
      }
    }

    private void addVector(DeleteFile delete, Partitions partitions) {
      if (vector != null) {
        throw mismatch(
            delete, "the data file has another deletion vector, " + ContentFileUtil.dvDesc(vector));
      }
      DeletionVector.checkMetadata(delete, task.file());
      checkPartition(delete, partitions);
      if (EqualityDeletes.sequenceNumber(delete) < sequenceNumber(task.file())) {
        throw mismatch(
            delete,
            "its data sequence number "
                + delete.dataSequenceNumber()
                + " is lower than that of the data file, "
                + task.file().dataSequenceNumber());
      }
      vector = delete;
    }

    private void checkPartition(DeleteFile delete, Partitions partitions) {
      DataFile file = task.file();
      if (!partitions.same(delete, file)) {
        throw mismatch(
            delete,
            "it belongs to partition "
                + delete.partition()
                + " of spec "
                + delete.specId()
                + " and the data file to "
                + file.partition()
                + " of spec "
                + file.specId());
      }
    }

    private CorruptDeleteException mismatch(DeleteFile delete, String why) {
      return new CorruptDeleteException(
          "Cannot apply delete file "
              + delete.location()
              + " to "
              + task.file().location()
              + ": "
              + why
              + ". The group is left as it was.");
    }

    FileDeletes resolve(
        Map<DeleteFileId, DeletedPositions> vectors, EqualityDeletes equalityDeletes) {
      EqualityProbe probe = idSets.isEmpty() ? null : equalityDeletes.probe(task.file(), idSets);
      DeletedPositions vectorPositions =
          vector == null ? null : vectors.get(DeleteFileId.of(vector));
      return vectorPositions == null
          ? new FileDeletes(positions.build(), false, probe)
          : new FileDeletes(vectorPositions, true, probe);
    }
  }
}
