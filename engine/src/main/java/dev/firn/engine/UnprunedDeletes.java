package dev.firn.engine;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.StructLikeMap;

/**
 * Equality deletes whose keys Iceberg's planner must not prune by bounds, attached to data files by
 * sequence number and partition alone.
 *
 * <p>The planner compares UUID bounds as signed numbers although files hold them as unsigned ones
 * (H5), and float bounds without NaN (D18); and it takes a leaf of structs for never null by the
 * counts of an ORC file, which leave out rows whose struct is null (D19). So it can miss a delete
 * that applies. Immutable.
 */
final class UnprunedDeletes {
  private static final Set<Type.TypeID> UNPRUNABLE =
      Set.of(Type.TypeID.UUID, Type.TypeID.FLOAT, Type.TypeID.DOUBLE);

  private final Map<Integer, StructLikeMap<List<DeleteFile>>> byPartition = new HashMap<>();
  private final List<DeleteFile> global = new ArrayList<>();

  private UnprunedDeletes() {}

  /** Reads the snapshot's delete manifests, if a column of the table can be such a key. */
  static UnprunedDeletes of(Table table, Snapshot snapshot) {
    return of(table, snapshot, table.specs());
  }

  /**
   * The same for data files of specs with other types.
   *
   * @param specs the specs by which the data files were planned
   */
  static UnprunedDeletes of(Table table, Snapshot snapshot, Map<Integer, PartitionSpec> specs) {
    UnprunedDeletes deletes = new UnprunedDeletes();
    Set<Integer> unprunable = unprunableIds(table.schemas().values());
    if (unprunable.isEmpty()) {
      return deletes;
    }
    forEach(
        table,
        snapshot,
        specs,
        (spec, file) -> {
          if (file.content() == FileContent.EQUALITY_DELETES
              && file.equalityFieldIds().stream().anyMatch(unprunable::contains)) {
            deletes.add(spec, file.copy());
          }
        });
    return deletes;
  }

  /** Reads all delete manifests of a snapshot. The files are valid during the call only. */
  static void forEach(
      Table table,
      Snapshot snapshot,
      Map<Integer, PartitionSpec> specs,
      BiConsumer<PartitionSpec, DeleteFile> action) {
    for (ManifestFile manifest : snapshot.deleteManifests(table.io())) {
      if (manifest.content() != ManifestContent.DELETES) {
        continue;
      }
      try (ManifestReader<DeleteFile> reader =
          ManifestFiles.readDeleteManifest(manifest, table.io(), specs)) {
        for (DeleteFile file : reader) {
          action.accept(Objects.requireNonNull(specs.get(file.specId())), file);
        }
      } catch (IOException e) {
        throw new UncheckedIOException(
            "Cannot read delete manifest " + manifest.path() + ": nothing was changed", e);
      }
    }
  }

  private static Set<Integer> unprunableIds(Collection<Schema> schemas) {
    Set<Integer> ids = new LinkedHashSet<>();
    for (Schema schema : schemas) {
      Set<Integer> nested = TypeUtil.indexParents(schema.asStruct()).keySet();
      TypeUtil.indexById(schema.asStruct()).values().stream()
          .filter(
              field ->
                  UNPRUNABLE.contains(field.type().typeId()) || nested.contains(field.fieldId()))
          .map(Types.NestedField::fieldId)
          .forEach(ids::add);
    }
    return ids;
  }

  private void add(PartitionSpec spec, DeleteFile file) {
    if (spec.isUnpartitioned()) {
      global.add(file);
    } else {
      byPartition
          .computeIfAbsent(spec.specId(), id -> StructLikeMap.create(spec.partitionType()))
          .computeIfAbsent(file.partition(), partition -> new ArrayList<>())
          .add(file);
    }
  }

  /** The deletes of a data file: the planner's, and those it may have pruned. */
  List<DeleteFile> of(FileScanTask task) {
    if (global.isEmpty() && byPartition.isEmpty()) {
      return task.deletes();
    }
    DataFile file = task.file();
    List<DeleteFile> candidates = new ArrayList<>(global);
    StructLikeMap<List<DeleteFile>> ofSpec = byPartition.get(file.specId());
    if (ofSpec != null) {
      candidates.addAll(ofSpec.getOrDefault(file.partition(), List.of()));
    }
    List<DeleteFile> all = new ArrayList<>(task.deletes());
    Set<String> known = new LinkedHashSet<>();
    task.deletes().forEach(delete -> known.add(delete.location()));
    for (DeleteFile candidate : candidates) {
      if (candidate.dataSequenceNumber() > file.dataSequenceNumber()
          && known.add(candidate.location())) {
        all.add(candidate);
      }
    }
    return all;
  }
}
