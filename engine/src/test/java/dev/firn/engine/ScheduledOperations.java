package dev.firn.engine;

import dev.firn.testdata.DelegatingTableOperations;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;

/** Operations whose commits pass through someone who may do more, or less. */
final class ScheduledOperations extends DelegatingTableOperations {
  /** What is done with a commit. */
  interface Commits {
    void commit(TableOperations operations, TableMetadata base, TableMetadata metadata);
  }

  private final TableOperations operations;
  private final Commits commits;

  ScheduledOperations(TableOperations operations, Commits commits) {
    super(operations);
    this.operations = operations;
    this.commits = commits;
  }

  @Override
  public void commit(TableMetadata base, TableMetadata metadata) {
    commits.commit(operations, base, metadata);
  }
}
