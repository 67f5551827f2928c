package dev.firn.deletes;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * The equality delete files of a group, each read once into the index of its set of field ids (rule
 * D11) and its scope: one partition of one spec (rule D7), or everything (rule D8).
 *
 * <p>An index holds every key of its scope that some data file of the group needs, also for data
 * files that a delete file was not listed for: either its bounds cannot match there, or the
 * sequence number in the index says so. Not thread-safe while it is filled.
 */
final class EqualityDeletes {
  private final Partitions partitions;
  private final KeyFields keyFields;
  private final KeyMemory memory;
  private final Map<Set<Integer>, IdSet> idSets = new LinkedHashMap<>();
  private final Set<DeleteFileId> assigned = new LinkedHashSet<>();
  private long rowsRead;

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
      idSet.files.add(delete);
    }
    return key;
  }

  void read(DeleteSource source) throws IOException {
    for (IdSet idSet : idSets.values()) {
      int[] vectors = new int[idSet.fields.size()];
      for (int i = 0; i < vectors.length; i++) {
        vectors[i] = i;
      }
      KeyBatch keys = new KeyBatch(idSet.fields, vectors);
      Schema columns = KeyFields.schema(idSet.fields);
      for (DeleteFile file : idSet.files) {
        KeyIndex index = idSet.indexFor(file, partitions, memory);
        long sequenceNumber = sequenceNumber(file);
        source.readDeletes(
            file,
            columns,
            (batch, firstPosition) -> {
              keys.attach(batch);
              int rows = batch.getRowCount();
              for (int row = 0; row < rows; row += keys.rows()) {
                keys.load(row, rows - row);
                index.add(keys, sequenceNumber);
              }
              rowsRead += rows;
            });
      }
      idSet.files.clear();
    }
  }

  /** What to look up for the rows of a data file, given the sets of ids that may delete some. */
  @Nullable EqualityProbe probe(DataFile file, Collection<Set<Integer>> ids) {
    Map<Integer, Types.NestedField> columns = new TreeMap<>();
    for (Set<Integer> key : ids) {
      for (Types.NestedField field : idSet(key).fields) {
        columns.put(field.fieldId(), field);
      }
    }
    List<Integer> order = List.copyOf(columns.keySet());
    List<EqualityProbe.Lookup> lookups = new ArrayList<>();
    for (Set<Integer> key : ids) {
      IdSet idSet = idSet(key);
      List<KeyIndex> indexes = idSet.indexesOf(file, partitions);
      if (!indexes.isEmpty()) {
        int[] vectors =
            idSet.fields.stream().mapToInt(field -> order.indexOf(field.fieldId())).toArray();
        lookups.add(new EqualityProbe.Lookup(idSet.fields, vectors, indexes));
      }
    }
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

  int filesOpened() {
    return assigned.size();
  }

  long rowsRead() {
    return rowsRead;
  }

  long keysHeld() {
    return idSets.values().stream().mapToLong(IdSet::keysHeld).sum();
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

  /** The delete files with one set of field ids, and their indexes by scope. */
  private static final class IdSet {
    private final List<Types.NestedField> fields;
    private final List<DeleteFile> files = new ArrayList<>();
    private final Map<Partitions.Key, KeyIndex> scoped = new HashMap<>();
    private @Nullable KeyIndex global;

    IdSet(List<Types.NestedField> fields) {
      this.fields = fields;
    }

    KeyIndex indexFor(DeleteFile file, Partitions partitions, KeyMemory memory) {
      if (partitions.spec(file).isUnpartitioned()) {
        if (global == null) {
          global = KeyIndex.of(fields, memory);
        }
        return global;
      }
      return scoped.computeIfAbsent(partitions.key(file), partition -> KeyIndex.of(fields, memory));
    }

    List<KeyIndex> indexesOf(DataFile file, Partitions partitions) {
      List<KeyIndex> indexes = new ArrayList<>(2);
      if (global != null) {
        indexes.add(global);
      }
      if (partitions.spec(file).isPartitioned()) {
        KeyIndex own = scoped.get(partitions.key(file));
        if (own != null) {
          indexes.add(own);
        }
      }
      return indexes;
    }

    long keysHeld() {
      long keys = global == null ? 0 : global.size();
      for (KeyIndex index : scoped.values()) {
        keys += index.size();
      }
      return keys;
    }
  }
}
