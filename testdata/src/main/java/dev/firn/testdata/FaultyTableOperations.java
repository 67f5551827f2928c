package dev.firn.testdata;

import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;

/**
 * Operations of a table whose commits fail on demand, and into which another writer can be put.
 *
 * <pre>{@code
 * FaultyTableOperations faulty = FaultyTableOperations.of(table);
 * faulty.beforeCommit(1, () -> TableFiles.of(table).append(rows));
 * compact(faulty.table());
 * }</pre>
 *
 * <p>Commits are counted by attempts: Iceberg's own retries are attempts too. Set {@code
 * commit.retry.num-retries} or {@code commit.retry.min-wait-ms} of the table as the test needs.
 */
public final class FaultyTableOperations extends DelegatingTableOperations {
  private final String name;
  private final Map<Integer, Runnable> before = new HashMap<>();
  private int attempts;
  private int conflictsLeft;
  private int unknownBeforeLeft;
  private int unknownAfterLeft;

  private FaultyTableOperations(TableOperations delegate, String name) {
    super(delegate);
    this.name = name;
  }

  /** Operations of {@code table} that fail nothing until told to. */
  public static FaultyTableOperations of(Table table) {
    return new FaultyTableOperations(((HasTableOperations) table).operations(), table.name());
  }

  /** A table that commits through these operations. */
  public Table table() {
    return new BaseTable(this, name);
  }

  /** The next {@code times} attempts throw {@link CommitFailedException} and commit nothing. */
  public synchronized FaultyTableOperations failCommits(int times) {
    conflictsLeft = times;
    return this;
  }

  /** The next {@code times} attempts throw {@link CommitStateUnknownException}, not committing. */
  public synchronized FaultyTableOperations unknownWithoutCommit(int times) {
    unknownBeforeLeft = times;
    return this;
  }

  /** The next {@code times} attempts commit and throw {@link CommitStateUnknownException}. */
  public synchronized FaultyTableOperations unknownAfterCommit(int times) {
    unknownAfterLeft = times;
    return this;
  }

  /**
   * Runs something before the nth attempt from now on; 1 is the next one. The attempt's base is
   * decided by then, so a commit of another writer makes it a lost race.
   */
  public synchronized FaultyTableOperations beforeCommit(int nth, Runnable action) {
    before.put(attempts + nth, action);
    return this;
  }

  /** How many commits were attempted through these operations. */
  public synchronized int attempts() {
    return attempts;
  }

  @Override
  public void commit(TableMetadata base, TableMetadata metadata) {
    Runnable action;
    synchronized (this) {
      attempts++;
      action = before.remove(attempts);
    }
    if (action != null) {
      action.run();
    }
    synchronized (this) {
      if (conflictsLeft > 0) {
        conflictsLeft--;
        throw new CommitFailedException("Made to fail: commit attempt %s", attempts);
      }
      if (unknownBeforeLeft > 0) {
        unknownBeforeLeft--;
        throw unknown();
      }
    }
    super.commit(base, metadata);
    synchronized (this) {
      if (unknownAfterLeft > 0) {
        unknownAfterLeft--;
        throw unknown();
      }
    }
  }

  private CommitStateUnknownException unknown() {
    return new CommitStateUnknownException(
        new RuntimeException("Made to fail: state of commit attempt " + attempts));
  }
}
