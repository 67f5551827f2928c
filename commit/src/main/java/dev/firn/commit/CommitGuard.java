package dev.firn.commit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.io.CloseableIterator;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.util.ContentFileUtil;
import org.jspecify.annotations.Nullable;

/**
 * The check that runs on every commit attempt against the parent which that attempt will have
 * (C27). It finds the groups whose rows Iceberg's own validation would let come back or go away.
 *
 * <p>It reads the delete manifests that were added after the planned snapshot, once each, and data
 * manifests only if an equality delete was added (H1). Used by one thread at a time.
 */
final class CommitGuard {
  private final CommitBase base;
  private final FileIO io;

  /* By the snapshot that wrote them: manifests never change, so attempts and batches share this. */
  private final Map<Long, List<AddedDelete>> addedBySnapshot = new HashMap<>();

  CommitGuard(CommitBase base, FileIO io) {
    this.base = base;
    this.io = io;
  }

  /** Something that stands against committing a group. */
  record Finding(GroupFiles group, CommitOutcome.Kind kind, String message, Cure cure) {}

  /** What may be done about a finding, other than to plan the group anew. */
  enum Cure {
    NONE,
    /** To commit a part of the batch at a time. */
    SPLIT,
    /** To carry the position deletes over that landed on the group's inputs. */
    CARRY_OVER
  }

  /**
   * What stands against committing the batch.
   *
   * @param ancestry the parent of the commit and its ancestors, newest first; empty if none
   * @param metadata the metadata that the commit is based on
   * @param startingSequenceNumber whether the outputs get the planned snapshot's sequence number
   * @param absorbed position deletes up to this sequence number are in force on the outputs too
   * @return at most one finding per group, empty if the batch may be committed
   */
  List<Finding> inspect(
      Iterable<Snapshot> ancestry,
      TableMetadata metadata,
      List<GroupFiles> batch,
      boolean startingSequenceNumber,
      long absorbed) {
    List<Finding> upgraded = upgraded(metadata, batch);
    if (!upgraded.isEmpty()) {
      return upgraded;
    }
    List<Snapshot> window = window(ancestry, metadata);
    if (window == null) {
      return metadata.formatVersion() < 2
          ? List.of() // no deletes to miss; Iceberg itself checks that the inputs are live
          : forAll(
              batch,
              CommitOutcome.Kind.HISTORY_LOST,
              "planned snapshot "
                  + base.snapshotId()
                  + " is not in the history of branch "
                  + base.branch());
    }

    List<Finding> sourceDropped = sourceDropped(ancestry, metadata, batch);
    if (!sourceDropped.isEmpty()) {
      return sourceDropped;
    }

    List<AddedDelete> added = new ArrayList<>();
    for (Snapshot snapshot : window) {
      added.addAll(
          addedBySnapshot.computeIfAbsent(
              snapshot.snapshotId(), id -> addedDeletes(snapshot, metadata)));
    }
    List<Finding> findings = new ArrayList<>();
    Map<GroupFiles, List<AddedDelete>> atRisk = new HashMap<>();
    for (GroupFiles group : batch) {
      Finding finding = inspect(group, added, startingSequenceNumber, absorbed, atRisk);
      if (finding != null) {
        findings.add(finding);
      }
    }
    if (!atRisk.isEmpty()) {
      findings.addAll(droppedWithDeletes(window.get(0), metadata, batch, atRisk));
    }
    return findings;
  }

  /** All of the batch if the table has row ids now and had none when it was planned (C20). */
  List<Finding> upgraded(TableMetadata metadata, List<GroupFiles> batch) {
    if (base.formatVersion() >= 3 || metadata.formatVersion() < 3) {
      return List.of();
    }
    return forAll(
        batch,
        CommitOutcome.Kind.UPGRADED,
        "the table was upgraded from format version "
            + base.formatVersion()
            + " to "
            + metadata.formatVersion()
            + " after planning, and the outputs lack the row ids assigned since");
  }

  /**
   * All of the batch if files of a spec have deletes and a source column of the spec was dropped
   * after planning: the commit may write manifests of such files anew, and Iceberg, which does not
   * know the type of the partition values any more, would write null in their place. Data files and
   * deletes were then in other partitions than before (D7, P6).
   */
  private List<Finding> sourceDropped(
      Iterable<Snapshot> ancestry, TableMetadata metadata, List<GroupFiles> batch) {
    Iterator<Snapshot> newestFirst = ancestry.iterator();
    if (!newestFirst.hasNext()) {
      return List.of();
    }
    Snapshot parent = newestFirst.next();
    for (PartitionSpec spec : metadata.specs()) {
      String dropped = droppedSource(spec, metadata);
      if (dropped != null && hasDeletes(parent, spec)) {
        return forAll(
            batch,
            CommitOutcome.Kind.GUARD,
            "the source column of partition field "
                + dropped
                + " of spec "
                + spec.specId()
                + ", whose files have deletes, was dropped after planning (D7, P6)");
      }
    }
    return List.of();
  }

  /** The name of a partition field whose source was there at planning and is not now, or null. */
  private @Nullable String droppedSource(PartitionSpec spec, TableMetadata metadata) {
    for (PartitionField field : spec.fields()) {
      if (!field.transform().isVoid()
          && base.schema().findField(field.sourceId()) != null
          && metadata.schema().findField(field.sourceId()) == null) {
        return field.name();
      }
    }
    return null;
  }

  private boolean hasDeletes(Snapshot snapshot, PartitionSpec spec) {
    return snapshot.deleteManifests(io).stream()
        .anyMatch(
            manifest -> manifest.partitionSpecId() == spec.specId() && hasLiveFiles(manifest));
  }

  /**
   * The snapshots after the planned one up to the parent, newest first, or null if the planned one
   * is not an ancestor. It may be expired as long as its child still names it (C23).
   */
  @Nullable List<Snapshot> window(Iterable<Snapshot> ancestry, TableMetadata metadata) {
    if (metadata.ref(base.branch()) == null) {
      return null; // Iceberg would create the branch anew, from main
    }
    List<Snapshot> window = new ArrayList<>();
    for (Snapshot snapshot : ancestry) {
      if (snapshot.snapshotId() == base.snapshotId()) {
        return window;
      }
      window.add(snapshot);
      if (Objects.equals(snapshot.parentId(), base.snapshotId())) {
        return window;
      }
    }
    return null;
  }

  private @Nullable Finding inspect(
      GroupFiles group,
      List<AddedDelete> added,
      boolean startingSequenceNumber,
      long absorbed,
      Map<GroupFiles, List<AddedDelete>> atRisk) {
    List<AddedDelete> equality = new ArrayList<>();
    @Nullable AddedDelete replaced = null;
    @Nullable AddedDelete positions = null;
    for (AddedDelete delete : added) {
      DataFile input = delete.inputOf(group);
      if (input == null) {
        continue;
      }
      if (delete.isEquality) {
        if (delete.sequenceNumber > base.sequenceNumber()) {
          equality.add(delete);
        }
      } else if (delete.addedAt <= absorbed) {
        continue;
      } else if (delete.byReplace) {
        replaced = delete;
      } else {
        positions = delete;
      }
    }
    Finding finding = inspectEquality(group, equality, startingSequenceNumber);
    if (finding != null) {
      return finding;
    }
    if (positions != null) {
      return new Finding(
          group,
          CommitOutcome.Kind.NEW_DELETES,
          "position deletes "
              + positions.location
              + " were added to its inputs after planning (C5)",
          Cure.CARRY_OVER);
    }
    if (equality.isEmpty()) {
      return null;
    }
    if (replaced != null) {
      return new Finding(
          group,
          CommitOutcome.Kind.GUARD,
          "a REPLACE snapshot added position deletes "
              + replaced.location
              + " to its inputs, which may hold what the equality deletes "
              + equality.get(0).location
              + " removed after planning (H4)",
          Cure.CARRY_OVER);
    }
    if (!group.outputs().isEmpty()) {
      atRisk.put(group, equality);
    }
    return null;
  }

  /** Equality deletes that would not delete from the outputs what they delete from the inputs. */
  private @Nullable Finding inspectEquality(
      GroupFiles group, List<AddedDelete> equality, boolean startingSequenceNumber) {
    if (equality.isEmpty()) {
      return null;
    }
    AddedDelete first = equality.get(0);
    if (!startingSequenceNumber) {
      return new Finding(
          group,
          CommitOutcome.Kind.NEW_DELETES,
          "equality deletes "
              + first.location
              + " were added to its inputs after planning and would not apply to outputs with a"
              + " new sequence number or partition (C4, H2)",
          Cure.NONE);
    }
    for (AddedDelete delete : equality) {
      for (int id : delete.equalityIds) {
        if (base.schema().findField(id) == null) {
          return new Finding(
              group,
              CommitOutcome.Kind.GUARD,
              "equality deletes "
                  + delete.location
                  + " were added after planning and match on field "
                  + id
                  + ", which the outputs do not have (D15)",
              Cure.NONE);
        }
      }
    }
    return null;
  }

  /**
   * H1: Iceberg drops delete files older than the oldest data file that it does not rewrite, and
   * does not count the new files, which are older still.
   */
  private List<Finding> droppedWithDeletes(
      Snapshot parent,
      TableMetadata metadata,
      List<GroupFiles> batch,
      Map<GroupFiles, List<AddedDelete>> atRisk) {
    Set<String> live = liveEqualityDeletes(parent, metadata);
    long oldest = Long.MAX_VALUE;
    for (List<AddedDelete> deletes : atRisk.values()) {
      for (AddedDelete delete : deletes) {
        if (live.contains(delete.location)) {
          oldest = Math.min(oldest, delete.sequenceNumber);
        }
      }
    }
    if (oldest >= metadata.lastSequenceNumber() || survives(parent, metadata, batch, oldest)) {
      return List.of();
    }
    List<Finding> findings = new ArrayList<>();
    for (GroupFiles group : batch) {
      List<AddedDelete> deletes = atRisk.get(group);
      if (deletes != null) {
        findings.add(
            new Finding(
                group,
                CommitOutcome.Kind.GUARD,
                "no data file older than the equality deletes "
                    + deletes.get(0).location
                    + " would stay, so Iceberg would drop them although they apply to the"
                    + " outputs (H1)",
                batch.size() > 1 ? Cure.SPLIT : Cure.NONE));
      }
    }
    return findings;
  }

  private Set<String> liveEqualityDeletes(Snapshot parent, TableMetadata metadata) {
    Set<String> locations = new HashSet<>();
    forEachNewDelete(
        parent,
        metadata,
        file -> {
          if (file.content() == FileContent.EQUALITY_DELETES) {
            locations.add(file.location());
          }
        });
    return locations;
  }

  /**
   * Live position delete files and deletion vectors that were added after planning, by the location
   * of each input of the group that they apply to by scope and sequence number.
   *
   * @param parent the newest snapshot of the branch
   */
  Map<String, List<DeleteFile>> positionDeletes(
      GroupFiles group, Snapshot parent, TableMetadata metadata) {
    Map<String, List<DeleteFile>> byInput = new HashMap<>();
    forEachNewDelete(
        parent,
        metadata,
        file -> {
          if (file.content() == FileContent.POSITION_DELETES
              && Objects.requireNonNullElse(file.fileSequenceNumber(), Long.MAX_VALUE)
                  > base.sequenceNumber()) {
            AddedDelete delete = new AddedDelete(file, parent, metadata);
            for (DataFile input : group.inputs().values()) {
              if (delete.covers(input)) {
                byInput
                    .computeIfAbsent(input.location(), none -> new ArrayList<>())
                    .add(file.copy());
              }
            }
          }
        });
    return byInput;
  }

  /** Live delete files that may have been added after planning; each is valid during the call. */
  private void forEachNewDelete(
      Snapshot parent, TableMetadata metadata, Consumer<DeleteFile> files) {
    for (ManifestFile manifest : parent.deleteManifests(io)) {
      if (hasLiveFiles(manifest) && manifest.sequenceNumber() > base.sequenceNumber()) {
        try (ManifestReader<DeleteFile> reader =
                ManifestFiles.readDeleteManifest(manifest, io, metadata.specsById());
            CloseableIterator<DeleteFile> live = reader.iterator()) {
          while (live.hasNext()) {
            files.accept(live.next());
          }
        } catch (IOException e) {
          throw new UncheckedIOException("Cannot read delete manifest " + manifest.path(), e);
        }
      }
    }
  }

  /**
   * Whether a data file outside of the batch is live whose sequence number is at most the given.
   */
  private boolean survives(
      Snapshot parent, TableMetadata metadata, List<GroupFiles> batch, long sequenceNumber) {
    Set<String> replaced = new HashSet<>();
    Set<String> replacedManifests = new HashSet<>();
    for (GroupFiles group : batch) {
      for (DataFile input : group.inputs().values()) {
        replaced.add(input.location());
        replacedManifests.add(Objects.requireNonNullElse(input.manifestLocation(), ""));
      }
    }
    List<ManifestFile> candidates = new ArrayList<>();
    for (ManifestFile manifest : parent.dataManifests(io)) {
      if (hasLiveFiles(manifest) && manifest.minSequenceNumber() <= sequenceNumber) {
        candidates.add(manifest);
      }
    }
    candidates.sort(Comparator.comparing(manifest -> replacedManifests.contains(manifest.path())));
    for (ManifestFile manifest : candidates) {
      try (ManifestReader<DataFile> reader =
              ManifestFiles.read(manifest, io, metadata.specsById())
                  .select(List.of(DataFile.FILE_PATH.name()));
          CloseableIterator<DataFile> files = reader.iterator()) {
        while (files.hasNext()) {
          DataFile file = files.next();
          if (Objects.requireNonNullElse(file.dataSequenceNumber(), Long.MAX_VALUE)
                  <= sequenceNumber
              && !replaced.contains(file.location())) {
            return true;
          }
        }
      } catch (IOException e) {
        throw new UncheckedIOException("Cannot read data manifest " + manifest.path(), e);
      }
    }
    return false;
  }

  private List<AddedDelete> addedDeletes(Snapshot snapshot, TableMetadata metadata) {
    List<AddedDelete> added = new ArrayList<>();
    for (ManifestFile manifest : snapshot.deleteManifests(io)) {
      if (!Objects.equals(manifest.snapshotId(), snapshot.snapshotId())
          || !hasLiveFiles(manifest)) {
        continue;
      }
      try (ManifestReader<DeleteFile> reader =
              ManifestFiles.readDeleteManifest(manifest, io, metadata.specsById());
          CloseableIterator<DeleteFile> files = reader.iterator()) {
        while (files.hasNext()) {
          DeleteFile file = files.next();
          // a manifest that this snapshot merged also holds what others added
          if (Objects.requireNonNullElse(file.fileSequenceNumber(), snapshot.sequenceNumber())
              == snapshot.sequenceNumber()) {
            added.add(new AddedDelete(file, snapshot, metadata));
          }
        }
      } catch (IOException e) {
        throw new UncheckedIOException("Cannot read delete manifest " + manifest.path(), e);
      }
    }
    return added;
  }

  private static boolean hasLiveFiles(ManifestFile manifest) {
    return manifest.hasAddedFiles() || manifest.hasExistingFiles();
  }

  private static List<Finding> forAll(
      List<GroupFiles> batch, CommitOutcome.Kind kind, String message) {
    return batch.stream().map(group -> new Finding(group, kind, message, Cure.NONE)).toList();
  }

  /** A delete file that a snapshot of the window added, without its statistics. */
  private static final class AddedDelete {
    final String location;
    final long sequenceNumber;
    final long addedAt; // the sequence number of the snapshot that added it
    final boolean byReplace;
    final boolean isEquality;
    final List<Integer> equalityIds; // empty for position deletes
    private final @Nullable String referencedFile; // null unless all its deletes are of one file
    private final @Nullable PartitionTuple partition; // null if it applies to all (D8)

    private AddedDelete(DeleteFile file, Snapshot snapshot, TableMetadata metadata) {
      this.location = file.location();
      this.addedAt = snapshot.sequenceNumber();
      this.sequenceNumber =
          Objects.requireNonNullElse(file.dataSequenceNumber(), snapshot.sequenceNumber());
      this.byReplace = DataOperations.REPLACE.equals(snapshot.operation());
      this.isEquality = file.content() == FileContent.EQUALITY_DELETES;
      this.equalityIds = isEquality ? List.copyOf(file.equalityFieldIds()) : List.of();
      this.referencedFile = isEquality ? null : ContentFileUtil.referencedDataFileLocation(file);
      this.partition =
          isEquality && metadata.spec(file.specId()).isUnpartitioned()
              ? null
              : PartitionTuple.of(file);
    }

    /** An input of the group that this applies to by scope and sequence, or null if none. */
    @Nullable DataFile inputOf(GroupFiles group) {
      if (referencedFile != null) {
        return orNull(group.inputs().get(referencedFile));
      } else if (partition != null) {
        return orNull(group.oldestInputs().get(partition));
      }
      for (DataFile input : group.oldestInputs().values()) {
        if (applies(input)) {
          return input;
        }
      }
      return null;
    }

    /** Whether this applies to an input by scope and sequence. */
    boolean covers(DataFile input) {
      boolean inScope =
          referencedFile != null
              ? referencedFile.equals(input.location())
              : partition == null || partition.equals(PartitionTuple.of(input));
      return inScope && applies(input);
    }

    private @Nullable DataFile orNull(@Nullable DataFile input) {
      return input != null && applies(input) ? input : null;
    }

    private boolean applies(DataFile input) {
      return isEquality
          ? GroupFiles.sequenceNumber(input) < sequenceNumber // D1
          : GroupFiles.sequenceNumber(input) <= sequenceNumber; // D2
    }
  }
}
