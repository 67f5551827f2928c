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
import java.util.TreeSet;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.util.ContentFileUtil;
import org.apache.iceberg.util.ScanTaskUtil;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The deletes of one file group, resolved to the deleted rows of each data file.
 *
 * <p>Which delete files reach which data file is what the scan tasks say; this class applies them
 * by the rules of the table format (D1 to D31). It holds heap only, no Arrow memory. Immutable and
 * thread-safe.
 */
public final class GroupDeletes {
  private static final Logger LOG = LoggerFactory.getLogger(GroupDeletes.class);

  /**
   * What was read, held and found.
   *
   * @param positionFilesOpened position delete files, deletion vectors not among them
   * @param equalityFilesOpened equality delete files, each of which is read once in each pass
   * @param positionRowsRead rows of position delete files, whatever data file they name
   * @param equalityRowsRead rows of equality delete files
   * @param equalityPasses passes over the key columns of the data files that equality deletes may
   *     reach: 1 if the keys fit in their memory, 0 if there are none
   * @param keysRead different keys of equality deletes, counted in each set of field ids and scope
   * @param keyIndexBytes the most heap that the keys took at once
   * @param rowsDeletedByPositionFiles rows found deleted by them
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
      int equalityPasses,
      long keysRead,
      long keyIndexBytes,
      long rowsDeletedByPositionFiles,
      long rowsDeletedByVectors,
      long rowsDeletedByEquality,
      Unmatched unmatched) {

    /** Delete files of any kind that were opened. */
    public int deleteFilesOpened() {
      return positionFilesOpened + vectorsOpened + equalityFilesOpened;
    }

    /** Rows found deleted, each counted once. */
    public long rowsDeleted() {
      return rowsDeletedByPositionFiles + rowsDeletedByVectors + rowsDeletedByEquality;
    }
  }

  /**
   * Delete rows that deleted nothing in this group. They may do so in files of other groups.
   *
   * @param positionsElsewhere rows of position delete files that name no data file of the group, or
   *     one that the delete file does not apply to
   * @param positionsBeyond rows of position delete files with a position that the data file does
   *     not have
   * @param positionsRepeated rows of position delete files that name a row again, be it in the same
   *     file or in another
   * @param vectorPositionsBeyond positions of deletion vectors that the data file does not have
   * @param equalityKeys different keys of equality deletes, counted in each set of field ids and
   *     scope, that no row has in the data files of the group that the key applies to. Rows that
   *     are deleted by position are not looked at; rows that other keys delete too are
   */
  public record Unmatched(
      long positionsElsewhere,
      long positionsBeyond,
      long positionsRepeated,
      long vectorPositionsBeyond,
      long equalityKeys) {}

  /* By identity: two tasks may have data files of one location and different sequence numbers. */
  private final Map<FileScanTask, DeletedRows> files;
  private final Stats stats;

  private GroupDeletes(Map<FileScanTask, DeletedRows> files, Stats stats) {
    this.files = files;
    this.stats = stats;
  }

  /**
   * Reads every delete file of a group, and the key columns of the data files that equality deletes
   * may reach. Position delete files and deletion vectors are read once. Equality delete files and
   * key columns are read once if the keys fit in their memory; if not, once for each of several
   * passes, which each hold a part of the keys.
   *
   * @param specs all partition specs of the table, by id
   * @param current the schema whose types keys are compared in
   * @param historic the other schemas of the table, for equality fields that were dropped since.
   *     The types of fields that are in none of them are learned from the files
   * @param tasks the data files of the group, whole files
   * @param deletes the delete files of a task: those that it lists, and any that the planner left
   *     out wrongly (H5)
   * @param source reads them; not closed
   * @param threads what reads and looks up, any number of threads that begin what they are given in
   *     the order they are given it. The caller waits for them and must not be one of them
   * @throws CorruptDeleteException if a delete file contradicts its metadata or the format, or a
   *     data file does not have the rows its metadata says
   * @throws UnsupportedDeleteException if a delete file cannot be applied with certainty
   * @throws DeleteIndexTooLargeException if the keys of the equality deletes would need more than
   *     {@link DeleteLimits#PASSES_MAX} passes
   * @throws IOException if a file cannot be read
   */
  public static GroupDeletes resolve(
      Map<Integer, PartitionSpec> specs,
      Schema current,
      Collection<Schema> historic,
      List<FileScanTask> tasks,
      Function<FileScanTask, List<DeleteFile>> deletes,
      DeleteSource source,
      DeleteLimits limits,
      Executor threads)
      throws IOException {
    KeyMemory memory = new KeyMemory(limits.keyIndexBytesMax());
    PositionDeletes positionDeletes = new PositionDeletes();
    Partitions partitions = new Partitions(specs);
    KeyFields keyFields = new KeyFields(current, historic);
    EqualityDeletes equalityDeletes = new EqualityDeletes(partitions, keyFields, memory);
    List<Listed> listed = new ArrayList<>(tasks.size());
    for (FileScanTask task : tasks) {
      listed.add(Listed.of(task, deletes.apply(task), partitions));
    }
    learnLostFields(listed, keyFields, source, threads);
    for (Listed file : listed) {
      for (DeleteFile delete : file.positionFiles) {
        positionDeletes.assign(delete, file.task.file(), file.positions);
      }
      for (DeleteFile delete : file.equalityFiles) {
        file.idSets.add(equalityDeletes.assign(delete));
      }
    }

    positionDeletes.read(source, threads);
    Map<DeleteFileId, DeletedPositions> vectors = readVectors(listed, source, threads);
    List<Resolving> files = new ArrayList<>(listed.size());
    for (Listed file : listed) {
      files.add(file.resolving(vectors));
    }
    while (equalityDeletes.readNext(source, threads)) {
      logPass(equalityDeletes, limits);
      probe(files, equalityDeletes, source, threads);
    }

    Map<FileScanTask, DeletedRows> resolved = new IdentityHashMap<>();
    files.forEach(file -> resolved.put(file.task, file.deleted));
    return new GroupDeletes(
        resolved, stats(positionDeletes, listed, vectors, files, equalityDeletes, memory));
  }

  /** Asks the files for the types of equality fields that are in no schema any more (D14). */
  private static void learnLostFields(
      List<Listed> listed, KeyFields fields, DeleteSource source, Executor threads)
      throws IOException {
    Map<String, ContentFile<?>> files = new LinkedHashMap<>();
    Map<String, Set<Integer>> asked = new HashMap<>();
    for (Listed file : listed) {
      for (DeleteFile delete : file.equalityFiles) {
        List<Integer> ids = delete.equalityFieldIds();
        Set<Integer> lost = ids == null ? Set.of() : fields.lostOf(ids);
        if (!lost.isEmpty()) {
          for (ContentFile<?> one : List.of(delete, file.task.file())) {
            files.put(one.location(), one);
            asked.computeIfAbsent(one.location(), location -> new TreeSet<>()).addAll(lost);
          }
        }
      }
    }
    List<ContentFile<?>> order = List.copyOf(files.values());
    List<Jobs.Job<Map<Integer, Type>>> jobs = new ArrayList<>();
    for (ContentFile<?> file : order) {
      Set<Integer> ids = asked.getOrDefault(file.location(), Set.of());
      jobs.add(new Jobs.Job<>(0, turn -> source.fieldTypes(file, ids)));
    }
    List<Map<Integer, Type>> types = Jobs.run(jobs, threads);
    for (int i = 0; i < types.size(); i++) {
      ContentFile<?> file = order.get(i);
      types.get(i).forEach((id, type) -> fields.learn(id, type, file));
    }
  }

  private static Map<DeleteFileId, DeletedPositions> readVectors(
      List<Listed> listed, DeleteSource source, Executor threads) throws IOException {
    List<DeleteFileId> ids = new ArrayList<>();
    List<Jobs.Job<DeletedPositions>> jobs = new ArrayList<>();
    for (Listed file : listed) {
      DeleteFile vector = file.vector;
      if (vector != null) {
        ids.add(DeleteFileId.of(vector));
        jobs.add(
            new Jobs.Job<>(
                ScanTaskUtil.contentSizeInBytes(vector),
                turn -> DeletionVector.read(vector, file.task.file(), source)));
      }
    }
    List<DeletedPositions> read = Jobs.run(jobs, threads);
    Map<DeleteFileId, DeletedPositions> vectors = new HashMap<>();
    for (int i = 0; i < read.size(); i++) {
      vectors.put(ids.get(i), read.get(i));
    }
    return vectors;
  }

  private static void logPass(EqualityDeletes deletes, DeleteLimits limits) {
    if (deletes.passes() > 1 || deletes.covered() < 1) {
      LOG.info(
          "The keys of {} equality delete files do not fit in {} bytes: after pass {} over the key"
              + " columns {} % of them are done",
          deletes.filesOpened(),
          limits.keyIndexBytesMax(),
          deletes.passes(),
          Math.round(deletes.covered() * 1000) / 10.0);
    }
  }

  private static void probe(
      List<Resolving> files, EqualityDeletes deletes, DeleteSource source, Executor threads)
      throws IOException {
    List<Jobs.Job<Boolean>> jobs = new ArrayList<>();
    for (Resolving file : files) {
      if (file.byPosition.count() < file.task.file().recordCount()) {
        EqualityProbe probe = deletes.probe(file.task.file(), file.idSets);
        if (probe != null) {
          jobs.add(new Jobs.Job<>(0, turn -> file.run(probe, source)));
        }
      }
    }
    Jobs.run(jobs, threads);
  }

  private static Stats stats(
      PositionDeletes positionDeletes,
      List<Listed> listed,
      Map<DeleteFileId, DeletedPositions> vectors,
      List<Resolving> files,
      EqualityDeletes equalityDeletes,
      KeyMemory memory) {
    long vectorPositionsBeyond = 0;
    for (Listed file : listed) {
      DeletedPositions read =
          file.vector == null ? null : vectors.get(DeleteFileId.of(file.vector));
      if (file.vector != null && read != null) {
        vectorPositionsBeyond += file.vector.recordCount() - read.count();
      }
    }
    long byPositionFiles = 0;
    long byVectors = 0;
    long byEquality = 0;
    for (Resolving file : files) {
      if (file.fromVector) {
        byVectors += file.byPosition.count();
      } else {
        byPositionFiles += file.byPosition.count();
      }
      byEquality += file.byEquality;
    }
    return new Stats(
        positionDeletes.filesOpened(),
        vectors.size(),
        equalityDeletes.filesOpened(),
        positionDeletes.rowsRead(),
        equalityDeletes.rowsRead(),
        equalityDeletes.passes(),
        equalityDeletes.keysRead(),
        memory.bytesPeak(),
        byPositionFiles,
        byVectors,
        byEquality,
        new Unmatched(
            positionDeletes.rowsElsewhere(),
            positionDeletes.rowsBeyond(),
            positionDeletes.rowsNamed() - byPositionFiles,
            vectorPositionsBeyond,
            equalityDeletes.keysUnmatched()));
  }

  /**
   * The deleted rows of one data file.
   *
   * @param task one of the tasks that were resolved, the same object
   */
  public DeletedRows deletedRows(FileScanTask task) {
    DeletedRows file = files.get(task);
    if (file == null) {
      throw new IllegalArgumentException(
          "The data file " + task.file().location() + " is not of this group");
    }
    return file;
  }

  /** What was read, held and found. */
  public Stats stats() {
    return stats;
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

    Resolving resolving(Map<DeleteFileId, DeletedPositions> vectors) {
      DeletedPositions ofVector = vector == null ? null : vectors.get(DeleteFileId.of(vector));
      return ofVector == null
          ? new Resolving(task, positions.build(), false, idSets)
          : new Resolving(task, ofVector, true, idSets);
    }
  }

  /** The rows of one data file that are known to be deleted, as equality deletes are looked up. */
  private static final class Resolving {
    private final FileScanTask task;
    private final DeletedPositions byPosition;
    private final boolean fromVector;
    private final Set<Set<Integer>> idSets;
    private DeletedPositions deleted;
    private long byEquality;

    Resolving(
        FileScanTask task,
        DeletedPositions byPosition,
        boolean fromVector,
        Set<Set<Integer>> idSets) {
      this.task = task;
      this.byPosition = byPosition;
      this.fromVector = fromVector;
      this.idSets = idSets;
      this.deleted = byPosition;
    }

    /** Returns whether rows were found. */
    boolean run(EqualityProbe probe, DeleteSource source) throws IOException {
      DeletedPositions.Builder found = new DeletedPositions.Builder();
      byEquality +=
          probe.run(task, sequenceNumber(task.file()), byPosition, deleted, source, found);
      if (found.isEmpty()) {
        return false;
      }
      found.addAll(deleted);
      deleted = found.build();
      return true;
    }
  }
}
