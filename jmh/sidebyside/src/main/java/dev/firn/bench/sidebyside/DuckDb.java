package dev.firn.bench.sidebyside;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collection;
import java.util.stream.Collectors;
import org.duckdb.DuckDBAppender;
import org.duckdb.DuckDBConnection;

/** A DuckDB in this process. Closing it ends it; not safe for several threads. */
final class DuckDb implements AutoCloseable {
  private final Connection connection;
  private final Statement statement;

  private DuckDb(Connection connection) throws SQLException {
    this.connection = connection;
    this.statement = connection.createStatement();
  }

  /**
   * Opens an empty database.
   *
   * @param memory what it may use, such as {@code 1GB}; more goes to {@code scratch}
   */
  static DuckDb open(int threads, String memory, Path scratch) throws SQLException, IOException {
    Files.createDirectories(scratch);
    DuckDb duck = new DuckDb(DriverManager.getConnection("jdbc:duckdb:"));
    duck.run("SET threads = " + threads);
    duck.run("SET memory_limit = " + quoted(memory));
    duck.run("SET temp_directory = " + quoted(scratch.resolve("duckdb").toString()));
    return duck;
  }

  /** The columns as they are in these files, and where each row comes from if {@code origins}. */
  static String rowsOf(Collection<Path> files, boolean origins) {
    String list =
        files.stream().map(file -> quoted(file.toString())).collect(Collectors.joining(", "));
    return "read_parquet(["
        + list
        + "], hive_partitioning = false"
        + (origins ? ", filename = true, file_row_number = true" : "")
        + ")";
  }

  static String quoted(String text) {
    return "'" + text.replace("'", "''") + "'";
  }

  /** Runs a statement; gives the rows that it has written. */
  long run(String sql) throws SQLException {
    statement.execute(sql);
    return statement.getLargeUpdateCount();
  }

  /** The first column of the first row, as text. */
  String text(String query) throws SQLException {
    try (ResultSet result = statement.executeQuery(query)) {
      result.next();
      return result.getString(1);
    }
  }

  /** The first column of the first row. */
  long number(String query) throws SQLException {
    return Long.parseLong(text(query));
  }

  DuckDBAppender appender(String table) throws SQLException {
    return connection.unwrap(DuckDBConnection.class).createAppender(table);
  }

  @Override
  public void close() throws SQLException {
    try (connection) {
      statement.close();
    }
  }
}
