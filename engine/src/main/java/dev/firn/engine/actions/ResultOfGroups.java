package dev.firn.engine.actions;

import dev.firn.engine.CompactionListener;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;

/** Collects what became of each group, for Iceberg's result. */
final class ResultOfGroups implements CompactionListener {
  private final List<RewriteDataFiles.FileGroupRewriteResult> results = new ArrayList<>();
  private final List<RewriteDataFiles.FileGroupFailureResult> failures = new ArrayList<>();

  @Override
  public synchronized void committed(long snapshotId, List<RewriteFileGroup> groups) {
    groups.forEach(group -> results.add(group.asResult()));
  }

  @Override
  public synchronized void failed(RewriteFileGroup group, String message) {
    failures.add(
        ImmutableRewriteDataFiles.FileGroupFailureResult.builder()
            .info(group.info())
            .dataFilesCount(group.inputFileNum())
            .build());
  }

  synchronized RewriteDataFiles.Result result(long deleteFilesRemoved) {
    return ImmutableRewriteDataFiles.Result.builder()
        .rewriteResults(results)
        .rewriteFailures(failures)
        .removedDeleteFilesCount(Math.toIntExact(deleteFilesRemoved))
        .build();
  }
}
