package dev.firn.engine;

import dev.firn.engine.Schedule.Point;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;

/**
 * A compaction as one writes it with iceberg-core alone: all live rows, read at the start, go to
 * files of the current spec, which replace all data files in one commit with the sequence number of
 * the start. The harness must find what is wrong with that.
 */
final class PlainCompactor implements ScheduledRun.Compactor {
  /** What is left out even of what iceberg-core offers. */
  enum Omission {
    /** Nothing: what Spark's action does. */
    NONE,
    /** Deletes of positions that came after the start are not looked for (C5). */
    VALIDATION,
    /** Outputs are deleted after every failure, also one that leaves the outcome open (C11). */
    DOUBT
  }

  private final Omission omission;

  PlainCompactor(Omission omission) {
    this.omission = omission;
  }

  @Override
  public boolean compact(ScheduledRun run, Table table) {
    String branch = table.refs().containsKey(run.branch()) ? run.branch() : SnapshotRef.MAIN_BRANCH;
    Snapshot start = table.snapshot(branch);
    if (start == null) {
      return false;
    }
    List<DataFile> inputs = TableRows.dataFiles(table, start);
    List<Record> rows = new ArrayList<>(TableRows.liveRecords(table, start));
    if (inputs.isEmpty()) {
      return false;
    }
    List<DataFile> outputs = new ArrayList<>();
    TableFiles files = TableFiles.of(table).schema(TableRows.schema(table));
    outputs.addAll(files.dataByPartition(rows));
    run.meet(Point.REWRITTEN);
    Set<DataFile> distinct = new HashSet<>(outputs);
    table.refresh();
    RewriteFiles rewrite = table.newRewrite().toBranch(branch);
    Snapshot head = table.snapshot(branch);
    rewrite.validateFromSnapshot(
        omission == Omission.VALIDATION && head != null ? head.snapshotId() : start.snapshotId());
    rewrite.dataSequenceNumber(start.sequenceNumber());
    inputs.forEach(rewrite::deleteFile);
    distinct.forEach(rewrite::addFile);
    try {
      rewrite.commit();
      return false;
    } catch (RuntimeException e) {
      run.log("plain compaction failed: " + e);
      if (omission == Omission.DOUBT) {
        outputs.forEach(output -> table.io().deleteFile(output.location()));
      }
      return omission != Omission.DOUBT;
    }
  }

  /** The weights of these operations alone. */
  static Map<Schedule.Op, Integer> only(Schedule.Op... ops) {
    Map<Schedule.Op, Integer> weights = new java.util.EnumMap<>(Schedule.Op.class);
    for (Schedule.Op op : ops) {
      weights.put(op, 1);
    }
    return weights;
  }
}
