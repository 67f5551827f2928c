package dev.firn.engine.actions;

import dev.firn.engine.CompactionSettings;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.ActionsProvider;

/**
 * Iceberg's actions, done by Firn in this process: what is written for Spark's actions compiles and
 * runs with it. Stateless and thread-safe; each action it gives belongs to one thread.
 *
 * <pre>{@code
 * FirnActions.get()
 *     .rewriteDataFiles(table)
 *     .sort()
 *     .filter(Expressions.equal("region", "eu"))
 *     .option("target-file-size-bytes", "134217728")
 *     .execute();
 * }</pre>
 */
public final class FirnActions implements ActionsProvider {
  private final long memoryBytes;

  private FirnActions(long memoryBytes) {
    this.memoryBytes = memoryBytes;
  }

  /** Actions that take the memory limit of the process for their own. */
  public static FirnActions get() {
    return new FirnActions(CompactionSettings.builder().build().memoryBytes());
  }

  /**
   * Actions within a limit.
   *
   * @param memoryBytes for heap, Arrow and native memory of an action together
   */
  public static FirnActions withMemory(long memoryBytes) {
    return new FirnActions(memoryBytes);
  }

  @Override
  public RewriteDataFilesAction rewriteDataFiles(Table table) {
    return new RewriteDataFilesAction(table, memoryBytes);
  }
}
