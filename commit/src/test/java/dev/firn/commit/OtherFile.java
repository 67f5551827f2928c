package dev.firn.commit;

import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.expressions.Expression;

/** A planned task that claims another file. */
record OtherFile(FileScanTask task, DataFile file) implements FileScanTask {
  @Override
  public List<DeleteFile> deletes() {
    return task.deletes();
  }

  @Override
  public PartitionSpec spec() {
    return task.spec();
  }

  @Override
  public long start() {
    return task.start();
  }

  @Override
  public long length() {
    return task.length();
  }

  @Override
  public Expression residual() {
    return task.residual();
  }

  @Override
  public Iterable<FileScanTask> split(long targetSplitSize) {
    return List.of(this);
  }
}
