package dev.firn.commit;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RemoveDanglingDeleteFilesAction;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.io.CloseableIterator;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Removal of delete files that apply to no live data file any more (D34). */
public final class DanglingDeletes {
  private static final Logger LOG = LoggerFactory.getLogger(DanglingDeletes.class);

  private static final int ATTEMPTS_MAX = 3;

  private DanglingDeletes() {}

  /**
   * Removes what dangles on the branch in one REPLACE snapshot that carries the run id; the files
   * stay in storage. Does nothing, with the reason in the log, where the answer of Iceberg's
   * planning cannot be trusted (H5, D18) or the branch changes faster than it can be scanned.
   *
   * @return how many delete files were removed from the branch
   * @throws org.apache.iceberg.exceptions.CommitStateUnknownException if the catalog does not say
   *     whether it committed; either way nothing is lost
   */
  public static int remove(Table table, String branch, String runId) {
    for (int attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      table.refresh();
      Snapshot head = table.snapshot(branch);
      if (head == null) {
        return 0;
      }
      String reason = mistrust(table, head);
      if (reason != null) {
        LOG.warn("Does not remove dangling deletes of {}: {}", table.name(), reason);
        return 0;
      }
      try {
        int removed = 0;
        for (DeleteFile ignored :
            SettledOperations.committing(
                table,
                settled ->
                    new RemoveDanglingDeleteFilesAction(settled)
                        .toBranch(branch)
                        .set(CommitCoordinator.RUN_ID, runId)
                        .execute()
                        .removedDeleteFiles())) {
          removed++;
        }
        table.refresh();
        return removed;
      } catch (ValidationException | CommitFailedException e) {
        LOG.info(
            "Branch {} of {} changed while its dangling deletes were looked for (attempt {} of {})",
            branch,
            table.name(),
            attempt,
            ATTEMPTS_MAX,
            e);
      }
    }
    LOG.warn(
        "Does not remove dangling deletes of {}: branch {} changed during each of {} attempts",
        table.name(),
        branch,
        ATTEMPTS_MAX);
    return 0;
  }

  /** Why planning may miss that a live equality delete applies, or null if it does not. */
  private static @Nullable String mistrust(Table table, Snapshot head) {
    for (ManifestFile manifest : head.deleteManifests(table.io())) {
      if (!manifest.hasAddedFiles() && !manifest.hasExistingFiles()) {
        continue;
      }
      try (ManifestReader<DeleteFile> reader =
              ManifestFiles.readDeleteManifest(manifest, table.io(), table.specs());
          CloseableIterator<DeleteFile> files = reader.iterator()) {
        while (files.hasNext()) {
          DeleteFile file = files.next();
          if (file.content() != FileContent.EQUALITY_DELETES) {
            continue;
          }
          for (int id : file.equalityFieldIds()) {
            String reason = mistrust(table, id);
            if (reason != null) {
              return "equality deletes " + file.location() + " match on field " + id + reason;
            }
          }
        }
      } catch (IOException e) {
        throw new UncheckedIOException("Cannot read delete manifest " + manifest.path(), e);
      }
    }
    return null;
  }

  private static @Nullable String mistrust(Table table, int id) {
    boolean known = false;
    for (Schema schema : table.schemas().values()) {
      Types.NestedField field = schema.findField(id);
      if (field != null) {
        known = true;
        Type.TypeID type = field.type().typeId();
        if (type == Type.TypeID.UUID || type == Type.TypeID.FLOAT || type == Type.TypeID.DOUBLE) {
          return " of type " + field.type() + ", whose file bounds planning misreads (H5, D18)";
        }
      }
    }
    return known ? null : ", which no schema of the table knows (D14)";
  }
}
