package dev.firn.engine;

import dev.firn.deletes.DeleteLimits;
import dev.firn.engine.VerificationReport.Difference;
import dev.firn.engine.VerificationReport.DifferingFile;
import dev.firn.engine.VerificationReport.Example;
import dev.firn.engine.VerificationReport.Side;
import dev.firn.engine.parquet.TableReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;

/**
 * Reads the outputs of a group back from storage and compares their rows with the live rows of its
 * inputs. The inputs' deletes come from a scan of its own and are read anew, so that nothing that
 * the rewrite has resolved or moved is taken for granted. Thread-safe.
 */
final class GroupVerifier {
  private static final int EXAMPLE_CHARS_MAX = 300;

  private final Pin pin;
  private final SnapshotFiles snapshot;
  private final Map<String, FileScanTask> tasks = new HashMap<>();
  private final TableReader reader;
  private final MemoryShares memory;
  private final ExecutorService fetchers;
  private final ExecutorService workers;
  private final int threads;
  private final int groupsAtOnce;

  /**
   * @param snapshot the data files of all groups, as a plain scan of the pinned snapshot gives them
   * @param threads how many of the workers one group may use; 1 for its own thread alone
   * @param groupsAtOnce groups in work at once: each has this share of the memory
   */
  GroupVerifier(
      Pin pin,
      SnapshotFiles snapshot,
      TableReader reader,
      MemoryShares memory,
      ExecutorService fetchers,
      ExecutorService workers,
      int threads,
      int groupsAtOnce) {
    this.pin = pin;
    this.snapshot = snapshot;
    snapshot.tasks().forEach(task -> tasks.put(task.file().location(), task));
    this.reader = reader;
    this.memory = memory;
    this.fetchers = fetchers;
    this.workers = workers;
    this.threads = threads;
    this.groupsAtOnce = groupsAtOnce;
  }

  /**
   * Compares.
   *
   * @param written the group's outputs
   * @return how many rows were compared
   * @throws RowsDifferException if the outputs do not hold the live rows of the inputs
   */
  long verify(RewriteFileGroup group, List<DataFile> written, BufferAllocator allocator)
      throws IOException {
    List<FileScanTask> inputs = new ArrayList<>();
    for (DataFile file : group.rewrittenFiles()) {
      FileScanTask task = tasks.get(file.location());
      if (task == null) {
        throw new RowsDifferException(
            "File group "
                + group.info().globalIndex()
                + " has rewritten "
                + file.location()
                + ", which a scan of snapshot "
                + pin.snapshotId()
                + " does not have. It is not committed and its outputs are removed.");
      }
      inputs.add(task);
    }
    LiveRowScan scan =
        new LiveRowScan(
            new LiveRowScan.Means(
                pin.schema(),
                pin.table().schemas().values(),
                pin.columns(),
                LiveRowScan.identitySources(pin.specs().values()),
                reader,
                new DeleteLimits(memory.keyIndexBytes() / groupsAtOnce),
                allocator,
                fetchers,
                threads > 1 ? workers : null,
                threads,
                allocator.getLimit() / groupsAtOnce,
                bytes -> {}));
    LiveRowScan.Files from =
        new LiveRowScan.Files(
            inputs,
            snapshot.specs(),
            snapshot.unpruned()::of,
            task -> reader.open(task, pin.columns()));
    LiveRowScan.Files to =
        new LiveRowScan.Files(
            written.stream().map(this::task).toList(),
            pin.specs(),
            task -> List.of(),
            task -> reader.openWritten(task, pin.columns()));
    RowComparison.Outcome outcome =
        new RowComparison(scan, from, to, memory.heapBytes() / 8 / groupsAtOnce).compare();
    if (outcome.difference() != null) {
      throw new RowsDifferException(message(group, outcome.difference()));
    }
    return outcome.toRows();
  }

  private FileScanTask task(DataFile written) {
    return new BaseFileScanTask(
        written,
        new DeleteFile[0],
        SchemaParser.toJson(pin.schema()),
        PartitionSpecParser.toJson(pin.spec(written.specId())),
        ResidualEvaluator.unpartitioned(Expressions.alwaysTrue()));
  }

  private static String message(RewriteFileGroup group, Difference difference) {
    StringBuilder message = new StringBuilder("The outputs of file group ");
    message.append(group.info().globalIndex());
    message.append(" do not hold the live rows of its inputs: ");
    message.append(
        difference.partition().isEmpty() ? "" : "in partition " + difference.partition() + " ");
    message.append(difference.rows().from()).append(" rows became ");
    message.append(difference.rows().to());
    message.append(
        difference.columns().isEmpty()
            ? ", values are in other rows"
            : ", and column " + String.join(", ", difference.columns()) + " differs");
    for (DifferingFile file : difference.files()) {
      message.append("; ").append(file.rows());
      message.append(file.side() == Side.FROM ? " rows were in " : " other rows are in ");
      message.append(file.file());
    }
    for (Example example : difference.examples()) {
      String text = example.side() == Side.FROM ? "; was " : "; is ";
      text += "at position " + example.position() + " " + example.values();
      message.append(text, 0, Math.min(text.length(), EXAMPLE_CHARS_MAX));
    }
    return message + ". The group is not committed and its outputs are removed.";
  }
}
