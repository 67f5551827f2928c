package dev.firn.testdata;

import java.util.function.UnaryOperator;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.io.FileIO;

/** Tables that are other tables with something between. */
public final class Tables {
  private Tables() {}

  /**
   * The same table through another FileIO: {@code Tables.withIo(table, CountingFileIO::new)}; the
   * FileIO is then {@code (CountingFileIO) result.io()}. The handle has its own metadata.
   */
  public static Table withIo(Table table, UnaryOperator<FileIO> wrap) {
    TableOperations operations = ((HasTableOperations) table).operations();
    return new BaseTable(new WithIo(operations, wrap.apply(operations.io())), table.name());
  }

  /**
   * Another handle of a table that {@link TableBuilder} or {@link GoldenTables} made, with metadata
   * of its own: what a second writer has.
   */
  public static Table another(Table table) {
    TableOperations operations = ((HasTableOperations) table).operations();
    if (operations instanceof LocalTableOperations local) {
      return new BaseTable(local.another(), table.name());
    } else if (operations instanceof MemoryTableOperations memory) {
      return new BaseTable(memory.another(), table.name());
    }
    throw new IllegalArgumentException("No second handle of " + operations.getClass().getName());
  }

  private static final class WithIo extends DelegatingTableOperations {
    private final TableOperations delegate;
    private final FileIO io;

    WithIo(TableOperations delegate, FileIO io) {
      super(delegate);
      this.delegate = delegate;
      this.io = io;
    }

    @Override
    public FileIO io() {
      return io;
    }

    @Override
    public TableOperations temp(TableMetadata uncommitted) {
      return new WithIo(delegate.temp(uncommitted), io);
    }
  }
}
