package dev.firn.commit;

import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;

/**
 * The step before planning that gives every row of an upgraded table its row id (L6), so that a
 * rewrite can carry the ids along instead of having new ones assigned.
 */
public final class LineageBase {
  private LineageBase() {}

  /**
   * Commits an empty append to the branch if the table has row lineage and files of the branch have
   * no row ids yet; afterwards the table is loaded anew. Costs one read of the manifest list.
   *
   * @return whether a snapshot was committed
   */
  public static boolean ensure(Table table, String branch) {
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
    SettledOperations.table(table).newFastAppend().toBranch(branch).commit();
    table.refresh();
    return true;
  }
}
