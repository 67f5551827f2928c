package dev.firn.testdata;

import org.apache.iceberg.LocationProviders;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.io.LocationProvider;
import org.jspecify.annotations.Nullable;

/** Operations of a table as a transaction has it that is not committed yet. */
final class UncommittedTableOperations extends DelegatingTableOperations {
  private final TableMetadata uncommitted;

  UncommittedTableOperations(TableOperations delegate, TableMetadata uncommitted) {
    super(delegate);
    this.uncommitted = uncommitted;
  }

  @Override
  public TableMetadata current() {
    return uncommitted;
  }

  @Override
  public TableMetadata refresh() {
    throw new UnsupportedOperationException("Uncommitted metadata cannot be refreshed");
  }

  @Override
  public void commit(@Nullable TableMetadata base, TableMetadata metadata) {
    throw new UnsupportedOperationException("Only the transaction commits");
  }

  @Override
  public LocationProvider locationProvider() {
    return LocationProviders.locationsFor(uncommitted.location(), uncommitted.properties());
  }
}
