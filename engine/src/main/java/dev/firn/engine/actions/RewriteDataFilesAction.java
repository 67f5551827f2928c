package dev.firn.engine.actions;

import dev.firn.engine.Compaction;
import dev.firn.engine.CompactionReport;
import dev.firn.engine.CompactionSettings;
import dev.firn.engine.Layout;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.expressions.Expression;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Iceberg's {@code RewriteDataFiles} over a {@link Compaction}. Belongs to one thread, for one
 * execution.
 */
public final class RewriteDataFilesAction implements RewriteDataFiles {
  private static final Logger LOG = LoggerFactory.getLogger(RewriteDataFilesAction.class);

  private final Table table;
  private final CompactionSettings.Builder settings;
  private @Nullable Layout layout;

  RewriteDataFilesAction(Table table, long memoryBytes) {
    this.table = table;
    this.settings = CompactionSettings.builder().memoryBytes(memoryBytes);
  }

  @Override
  public RewriteDataFilesAction binPack() {
    return layout(new Layout.BinPack());
  }

  @Override
  public RewriteDataFilesAction sort() {
    return layout(new Layout.TableOrder());
  }

  @Override
  public RewriteDataFilesAction sort(SortOrder order) {
    return layout(new Layout.Sorted(order));
  }

  @Override
  public RewriteDataFilesAction zOrder(String... columns) {
    return layout(new Layout.ZOrder(List.of(columns), Layout.CurveInput.BYTES));
  }

  @Override
  public RewriteDataFilesAction hilbert(String... columns) {
    return layout(new Layout.Hilbert(List.of(columns)));
  }

  private RewriteDataFilesAction layout(Layout value) {
    if (layout != null) {
      throw new IllegalArgumentException(
          "Cannot set rewrite mode, it has already been set to " + layout);
    }
    layout = value;
    settings.layout(value);
    return this;
  }

  @Override
  public RewriteDataFilesAction filter(Expression expression) {
    settings.filter(expression);
    return this;
  }

  @Override
  public RewriteDataFilesAction option(String name, String value) {
    settings.option(name, value);
    return this;
  }

  @Override
  public RewriteDataFilesAction options(Map<String, String> values) {
    settings.options(values);
    return this;
  }

  @Override
  public RewriteDataFilesAction snapshotProperty(String property, String value) {
    settings.snapshotProperty(property, value);
    return this;
  }

  /** Compacts a branch instead of main. */
  public RewriteDataFilesAction toBranch(String branch) {
    settings.branch(branch);
    return this;
  }

  /**
   * Runs the compaction.
   *
   * @throws CommitStateUnknownException if it is not known whether a commit happened
   * @throws CommitFailedException if nothing was committed because others changed the inputs
   * @throws RuntimeException if nothing was committed for another reason
   */
  @Override
  public Result execute() {
    ResultOfGroups outcomes = new ResultOfGroups();
    CompactionReport report = new Compaction(table, settings.build(), outcomes).run();
    if (!report.failures().isEmpty()) {
      String first = report.failures().get(0).message();
      switch (report.exitCode()) {
        case 5 -> throw new CommitStateUnknownException(new IllegalStateException(first));
        case 4 -> throw new CommitFailedException("%s", first);
        case 3 -> LOG.warn("Some file groups failed, the rest is committed: {}", first);
        default -> throw new IllegalStateException(first);
      }
    }
    return outcomes.result(report.deleteFilesRemoved());
  }
}
