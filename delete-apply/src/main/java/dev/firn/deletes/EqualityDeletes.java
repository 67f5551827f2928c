package dev.firn.deletes;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * The equality delete files of a group, each read once in a pass into the index of its set of field
 * ids (rule D11) and its scope: one partition of one spec (rule D7), or everything (rule D8).
 *
 * <p>A pass holds a slice of the keys by their hashes: all of them if they fit in the memory. If
 * not, keys that were added already are dropped again and the slice gets narrower, so that a delete
 * file is not read twice in a pass; what was dropped is read by a pass that follows.
 *
 * <p>An index holds every key of its scope that some data file of the group needs, also for data
 * files that a delete file was not listed for: either its bounds cannot match there, or the
 * sequence number in the index says so. Not thread-safe while it is filled.
 */
final class EqualityDeletes {
  /* What is kept when a slice is narrowed: less than half, so that half the slots do. */
  private static final int KEPT_SIXTEENTHS = 7;

  /* How full a pass is planned, of what has proved to fit. */
  private static final double FULL = 0.9;

  private static final long WIDTH_MIN = HashSlice.ALL.width() / DeleteLimits.PASSES_MAX;

  private final Partitions partitions;
  private final KeyFields keyFields;
  private final KeyMemory memory;
  private final Map<Set<Integer>, IdSet> idSets = new LinkedHashMap<>();
  private final Set<DeleteFileId> assigned = new LinkedHashSet<>();
  private @Nullable HashSlice slice; // null before the first pass
  private int passes;
  private long rowsRead;
  private long keysRead;
  private long keysUnmatched;
  private long keysFit;

  EqualityDeletes(Partitions partitions, KeyFields keyFields, KeyMemory memory) {
    this.partitions = partitions;
    this.keyFields = keyFields;
    this.memory = memory;
  }

  /** Lets {@code delete} reach data files of its scope. Returns the set of its field ids. */
  Set<Integer> assign(DeleteFile delete) {
    List<Integer> ids = delete.equalityFieldIds();
    if (ids == null || ids.isEmpty()) {
      throw new CorruptDeleteException(
          "Cannot apply equality delete file "
              + delete.location()
              + ": it has no equality field ids. The group is left as it was.");
    }
    Set<Integer> key = Set.copyOf(ids);
    IdSet idSet = idSets.get(key);
    if (idSet == null) {
      idSet = new IdSet(keyFields.of(key, delete));
      idSets.put(key, idSet);
    }
    if (assigned.add(DeleteFileId.of(delete))) {
      idSet.files.add(new AssignedFile(delete, sequenceNumber(delete), idSet.scopeOf(delete)));
    }
    return key;
  }

  /**
   * Reads the keys of the next pass in place of those of the last one.
   *
   * @return false if there are none left
   * @throws DeleteIndexTooLargeException if the slice would have to be too narrow
   */
  boolean readNext(DeleteSource source, Executor threads) throws IOException {
    HashSlice last = slice;
    HashSlice next = last == null ? HashSlice.ALL : last.isLast() ? null : next(last);
    endPass();
    if (next == null || assigned.isEmpty()) {
      return false;
    }
    slice = next;
    List<DeleteRead> reads = new ArrayList<>(assigned.size());
    for (IdSet idSet : idSets.values()) {
      Schema columns = KeyFields.schema(idSet.fields);
      for (AssignedFile file : idSet.files) {
        reads.add(new DeleteRead(file.delete, columns, (batch, row) -> add(batch, idSet, file)));
      }
    }
    rowsRead = 0;
    DeleteRead.all(reads, source, threads);
    passes++;
    return true;
  }

  private HashSlice next(HashSlice last) {
    double widthMax = FULL * last.width() * Math.max(1, keysFit) / Math.max(1, keysHeld());
    return last.next(Math.max(WIDTH_MIN, widthMax));
  }

  private void endPass() {
    forEachScope(
        scope -> {
          KeyIndex index = scope.index;
          if (index != null) {
            keysRead += index.size();
            keysUnmatched += index.unmatched();
            index.release();
            scope.index = null;
          }
        });
  }

  private void add(VectorSchemaRoot batch, IdSet idSet, AssignedFile file) {
    KeyBatch keys = idSet.keys;
    keys.attach(batch);
    int rows = batch.getRowCount();
    for (int row = 0; row < rows; row += keys.rows()) {
      keys.load(row, rows - row);
      for (int added = 0; added < keys.rows(); ) {
        if (slice().equals(HashSlice.ALL) || file.scope.index != null || keys.anyIn(slice())) {
          KeyIndex index = file.scope.indexFor(idSet, memory);
          if (index != null) {
            added = index.add(keys, added, slice(), file.sequenceNumber);
          }
          if (added < keys.rows()) {
            narrow();
          }
        } else {
          added = keys.rows();
        }
      }
    }
    rowsRead += rows;
  }

  /** Drops keys until there is room for more. */
  private void narrow() {
    keysFit = keysHeld();
    memory.moving(true);
    boolean narrowed = false;
    while (!narrowed) {
      long width = slice().width() * KEPT_SIXTEENTHS / 16;
      if (width < WIDTH_MIN) {
        throw memory.tooLarge();
      }
      slice = slice().withWidth(width);
      narrowed = narrowIndexes();
    }
    memory.moving(false);
  }

  private boolean narrowIndexes() {
    for (IdSet idSet : idSets.values()) {
      for (Scope scope : idSet.scopes()) {
        if (!scope.narrowTo(slice())) {
          return false;
        }
      }
    }
    return true;
  }

  private HashSlice slice() {
    if (slice == null) {
      throw new IllegalStateException("No pass was begun");
    }
    return slice;
  }

  /**
   * What to look up for the rows of a data file in this pass, given the sets of ids that may delete
   * some; or null if nothing.
   */
  @Nullable EqualityProbe probe(DataFile file, Collection<Set<Integer>> ids) {
    Map<Set<Integer>, List<KeyIndex>> indexes = new LinkedHashMap<>();
    Map<Integer, Types.NestedField> columns = new TreeMap<>();
    for (Set<Integer> key : ids) {
      IdSet idSet = idSet(key);
      List<KeyIndex> ofFile = idSet.indexesOf(file);
      if (!ofFile.isEmpty()) {
        indexes.put(key, ofFile);
        idSet.fields.forEach(field -> columns.put(field.fieldId(), field));
      }
    }
    List<Integer> order = List.copyOf(columns.keySet());
    List<EqualityProbe.Lookup> lookups = new ArrayList<>();
    indexes.forEach(
        (key, ofFile) -> {
          List<Types.NestedField> fields = idSet(key).fields;
          int[] vectors =
              fields.stream().mapToInt(field -> order.indexOf(field.fieldId())).toArray();
          lookups.add(new EqualityProbe.Lookup(fields, vectors, ofFile));
        });
    return lookups.isEmpty()
        ? null
        : new EqualityProbe(KeyFields.schema(columns.values()), lookups);
  }

  private IdSet idSet(Set<Integer> key) {
    IdSet idSet = idSets.get(key);
    if (idSet == null) {
      throw new IllegalStateException("No delete file has the field ids " + key);
    }
    return idSet;
  }

  private void forEachScope(Consumer<Scope> action) {
    idSets.values().forEach(idSet -> idSet.scopes().forEach(action));
  }

  private long keysHeld() {
    long[] keys = {0};
    forEachScope(
        scope -> {
          if (scope.index != null) {
            keys[0] += scope.index.size();
          }
        });
    return keys[0];
  }

  int filesOpened() {
    return assigned.size();
  }

  int passes() {
    return passes;
  }

  /** The share of all hashes that the passes so far have covered. */
  double covered() {
    return slice == null ? 0 : (double) slice.to() / HashSlice.ALL.width();
  }

  /** Rows of the delete files, each counted once. */
  long rowsRead() {
    return rowsRead;
  }

  /** Different keys, by the passes that are over. */
  long keysRead() {
    return keysRead;
  }

  /** Keys that no row has that was looked up, by the passes that are over. */
  long keysUnmatched() {
    return keysUnmatched;
  }

  static long sequenceNumber(DeleteFile file) {
    Long sequenceNumber = file.dataSequenceNumber();
    if (sequenceNumber == null) {
      throw new CorruptDeleteException(
          "Cannot apply delete file "
              + file.location()
              + ": it has no data sequence number. The group is left as it was.");
    }
    return sequenceNumber;
  }

  private record AssignedFile(DeleteFile delete, long sequenceNumber, Scope scope) {}

  /** The keys of one scope: in a pass that has some, an index. */
  private static final class Scope {
    private @Nullable KeyIndex index; // null if the pass has no key here

    /** Returns null where the memory lacks. */
    @Nullable KeyIndex indexFor(IdSet idSet, KeyMemory memory) {
      if (index == null) {
        index = KeyIndex.of(idSet.fields, idSet.marks(), memory);
      }
      return index;
    }

    /** Returns false where the memory lacks. */
    boolean narrowTo(HashSlice slice) {
      if (index == null) {
        return true;
      }
      boolean narrowed = index.narrowTo(slice);
      if (index.size() == 0) {
        index.release();
        index = null;
        return true;
      }
      return narrowed;
    }
  }

  /** The delete files with one set of field ids, and their keys by scope. */
  private final class IdSet {
    private final List<Types.NestedField> fields;
    private final KeyBatch keys;
    private final List<AssignedFile> files = new ArrayList<>();
    private final Map<Partitions.Key, Scope> scoped = new LinkedHashMap<>();
    private final Scope global = new Scope();
    private @Nullable SequenceMarks marks; // null until the first key is read

    IdSet(List<Types.NestedField> fields) {
      this.fields = fields;
      int[] vectors = new int[fields.size()];
      for (int i = 0; i < vectors.length; i++) {
        vectors[i] = i;
      }
      this.keys = new KeyBatch(fields, vectors);
    }

    /** Of all files: none is assigned any more once keys are read. */
    SequenceMarks marks() {
      if (marks == null) {
        marks = SequenceMarks.of(files.stream().map(AssignedFile::sequenceNumber).toList());
      }
      return marks;
    }

    Scope scopeOf(DeleteFile file) {
      return partitions.spec(file).isUnpartitioned()
          ? global
          : scoped.computeIfAbsent(partitions.key(file), partition -> new Scope());
    }

    List<Scope> scopes() {
      List<Scope> scopes = new ArrayList<>(scoped.values());
      scopes.add(global);
      return scopes;
    }

    List<KeyIndex> indexesOf(DataFile file) {
      List<KeyIndex> indexes = new ArrayList<>(2);
      if (global.index != null) {
        indexes.add(global.index);
      }
      if (partitions.spec(file).isPartitioned()) {
        Scope own = scoped.get(partitions.key(file));
        if (own != null && own.index != null) {
          indexes.add(own.index);
        }
      }
      return indexes;
    }
  }
}
