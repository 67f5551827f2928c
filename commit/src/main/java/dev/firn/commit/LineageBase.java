package dev.firn.commit;

import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.exceptions.CommitFailedException;

/**
 * The step before planning that gives every row of an upgraded table its row id (L6), so that a
 * rewrite can carry the ids along instead of having new ones assigned.
 */
public final class LineageBase {
  private static final int ATTEMPTS_MAX = 5;

  private LineageBase() {}

  /**
   * Commits an empty append to the branch if the table has row lineage and files of the branch have
   * no row ids yet; afterwards the table is loaded anew. Costs one read of the manifest list.
   *
   * @return whether the branch is to be looked at anew: a snapshot was committed, here or, while
   *     this was tried, by someone else
   * @throws CommitFailedException if others committed first each time, beside Iceberg's own retries
   */
  public static boolean ensure(Table table, String branch) {
    for (int attempt = 1; ; attempt++) {
      try {
        return commit(table, branch) || attempt > 1;
      } catch (CommitFailedException e) {
        if (attempt == ATTEMPTS_MAX) {
          throw e;
        }
        table.refresh();
      }
    }
  }

  private static boolean commit(Table table, String branch) {
    Snapshot head = table.snapshot(branch);
    if (head == null || TableUtil.formatVersion(table) < 3) {
      return false;
    }
    boolean assigned = true;
    for (ManifestFile manifest : head.dataManifests(table.io())) {
      boolean live = manifest.hasAddedFiles() || manifest.hasExistingFiles();
      assigned = assigned && (!live || manifest.firstRowId() != null);
    }
    if (assigned) {
      return false;
    }
    SettledOperations.committing(
        table,
        settled -> {
          settled.newFastAppend().toBranch(branch).commit();
          return true;
        });
    table.refresh();
    return true;
  }
}
