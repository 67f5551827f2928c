package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.TableRows;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.util.List;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;

/** Reads data files with a second engine. Closing it closes the engine. */
final class DuckDb implements AutoCloseable {
  private final Connection connection;

  private DuckDb(Connection connection) {
    this.connection = connection;
  }

  static DuckDb open() throws SQLException {
    return new DuckDb(DriverManager.getConnection("jdbc:duckdb:"));
  }

  /** The file has the same rows for DuckDB as for Iceberg; simple columns are compared. */
  void check(Table table, DataFile file) throws SQLException {
    List<Record> rows = TableRows.inFile(table, file);
    List<Types.NestedField> columns = table.schema().columns();
    String path = TableBefore.path(file.location()).toString().replace("'", "''");
    try (Statement statement = connection.createStatement();
        ResultSet result =
            statement.executeQuery(
                "select * from read_parquet('" + path + "', hive_partitioning=false)")) {
      assertThat(result.getMetaData().getColumnCount())
          .as("columns of %s in DuckDB", path)
          .isEqualTo(TableRows.schema(table).columns().size());
      int count = 0;
      while (result.next()) {
        assertThat(count).as("rows of %s in DuckDB", path).isLessThan(rows.size());
        Record row = rows.get(count++);
        for (int pos = 0; pos < columns.size(); pos++) {
          check(path, columns.get(pos), row.get(pos), result, pos + 1);
        }
      }
      assertThat(count).as("rows of %s in DuckDB", path).isEqualTo(rows.size());
    }
  }

  private static void check(
      String path, Types.NestedField column, Object expected, ResultSet result, int index)
      throws SQLException {
    Object value = result.getObject(index);
    if (value == null || expected == null) {
      assertThat(value).as("%s of %s", column, path).isEqualTo(expected);
      return;
    }
    Object comparable =
        switch (column.type().typeId()) {
          case BOOLEAN, INTEGER, LONG, STRING, UUID, DATE -> value;
          case FLOAT -> Float.floatToIntBits((Float) value);
          case DOUBLE -> Double.doubleToLongBits((Double) value);
          case DECIMAL -> ((BigDecimal) value).stripTrailingZeros();
          default -> null;
        };
    if (comparable != null) {
      Object other =
          switch (column.type().typeId()) {
            case FLOAT -> Float.floatToIntBits((Float) expected);
            case DOUBLE -> Double.doubleToLongBits((Double) expected);
            case DECIMAL -> ((BigDecimal) expected).stripTrailingZeros();
            case STRING -> expected.toString();
            case UUID -> (UUID) expected;
            case DATE -> (LocalDate) expected;
            default -> expected;
          };
      assertThat(comparable).as("%s of %s", column, path).isEqualTo(other);
    }
  }

  void run(String command) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(command);
    }
  }

  /** The one text that a query gives. */
  String text(String query) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(query)) {
      result.next();
      return result.getString(1);
    }
  }

  /** The one number that a query gives. */
  long number(String query) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(query)) {
      result.next();
      return result.getLong(1);
    }
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
