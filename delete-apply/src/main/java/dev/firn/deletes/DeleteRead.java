package dev.firn.deletes;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.util.ScanTaskUtil;

/** A delete file to be read, and who takes its rows. */
record DeleteRead(DeleteFile file, Schema columns, DeleteSource.Batches batches) {

  /**
   * Opens and decodes files side by side. Their rows are taken one file after another, in the order
   * given, by one thread at a time.
   */
  static void all(List<DeleteRead> reads, DeleteSource source, Executor threads)
      throws IOException {
    List<Jobs.Job<Boolean>> jobs = new ArrayList<>(reads.size());
    for (DeleteRead read : reads) {
      jobs.add(
          new Jobs.Job<>(
              ScanTaskUtil.contentSizeInBytes(read.file), turn -> read.run(source, turn)));
    }
    Jobs.run(jobs, threads);
  }

  private boolean run(DeleteSource source, Jobs.Turn turn) throws IOException {
    try {
      source.readDeletes(
          file,
          columns,
          (batch, firstPosition) -> {
            turn.await();
            batches.accept(batch, firstPosition);
          });
    } finally {
      turn.await(); // else the next one would begin while the one before this is at it
    }
    return true;
  }
}
