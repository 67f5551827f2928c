package dev.firn.bench.sidebyside;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.BaseDeleteLoader;
import org.apache.iceberg.deletes.PositionDeleteIndex;
import org.apache.iceberg.util.ContentFileUtil;
import org.duckdb.DuckDBAppender;

/**
 * The live rows of a table by an opinion that none of the engines compared has a part in: DuckDB
 * reads data files and delete files as plain Parquet and joins them as the specification says.
 * Iceberg only plans, and unpacks deletion vectors. Equality deletes are understood by the column
 * {@code k} alone, which is all that {@link TableGenerator} writes.
 */
final class LiveRows implements AutoCloseable {
  private final Table table;
  private final List<FileScanTask> tasks;
  private final List<Path> files;
  private final Map<String, DeleteFile> deletes = new LinkedHashMap<>();
  private final DuckDb duck;

  private LiveRows(Table table, DuckDb duck) throws IOException {
    this.table = table;
    this.tasks = Warehouse.tasks(table);
    this.files = tasks.stream().map(task -> Warehouse.path(task.file().location())).toList();
    this.duck = duck;
    for (FileScanTask task : tasks) {
      for (DeleteFile delete : task.deletes()) {
        deletes.putIfAbsent(delete.location() + "@" + delete.contentOffset(), delete);
      }
    }
  }

  /** Opens the current snapshot of a table. Threads are DuckDB's; scratch is for what it spills. */
  static LiveRows of(Table table, int threads, Path scratch) throws IOException, SQLException {
    LiveRows rows = new LiveRows(table, DuckDb.open(threads, "4GB", scratch));
    try {
      rows.loadDeletes();
      return rows;
    } catch (IOException | SQLException | RuntimeException e) {
      try (rows) {
        throw e;
      }
    }
  }

  private void loadDeletes() throws IOException, SQLException {
    duck.run("CREATE TABLE data_files (file INTEGER, path VARCHAR, location VARCHAR, seq BIGINT)");
    duck.run("CREATE TABLE deleted_positions (location VARCHAR, pos BIGINT)");
    duck.run("CREATE TABLE deleted_keys (k BIGINT, seq BIGINT)");
    try (DuckDBAppender appender = duck.appender("data_files")) {
      for (int i = 0; i < tasks.size(); i++) {
        appender
            .beginRow()
            .append(i)
            .append(files.get(i).toString())
            .append(tasks.get(i).file().location())
            .append(tasks.get(i).file().dataSequenceNumber().longValue())
            .endRow();
      }
    }
    List<Path> positionDeletes = new ArrayList<>();
    Map<String, DeleteFile> vectors = new HashMap<>();
    for (DeleteFile delete : deletes.values()) {
      Path path = Warehouse.path(delete.location());
      if (ContentFileUtil.isDV(delete)) {
        vectors.put(delete.referencedDataFile(), delete);
      } else if (delete.content() == FileContent.POSITION_DELETES) {
        positionDeletes.add(path);
      } else {
        int key = table.schema().findField("k").fieldId();
        if (!delete.equalityFieldIds().equals(List.of(key))) {
          throw new IllegalStateException(
              "Cannot apply " + path + ": its keys are not those of column k");
        }
        duck.run(
            "INSERT INTO deleted_keys SELECT k, "
                + delete.dataSequenceNumber()
                + " FROM "
                + DuckDb.rowsOf(List.of(path), false));
      }
    }
    if (!positionDeletes.isEmpty()) {
      duck.run(
          "INSERT INTO deleted_positions SELECT file_path, pos FROM "
              + DuckDb.rowsOf(positionDeletes, false));
    }
    loadVectors(vectors);
  }

  private void loadVectors(Map<String, DeleteFile> vectors) throws SQLException {
    BaseDeleteLoader loader =
        new BaseDeleteLoader(delete -> table.io().newInputFile(delete.location()));
    try (DuckDBAppender appender = duck.appender("deleted_positions")) {
      for (Map.Entry<String, DeleteFile> vector : vectors.entrySet()) {
        List<Long> positions = new ArrayList<>();
        PositionDeleteIndex index =
            loader.loadPositionDeletes(List.of(vector.getValue()), vector.getKey());
        index.forEach(positions::add);
        for (long position : positions) {
          appender.beginRow().append(vector.getKey()).append(position).endRow();
        }
      }
    }
  }

  /** Reads all rows, which takes a while. */
  Contents contents() throws SQLException {
    long bytes = tasks.stream().mapToLong(task -> task.file().fileSizeInBytes()).sum();
    long rows = tasks.stream().mapToLong(task -> task.file().recordCount()).sum();
    String columns =
        table.schema().columns().stream()
            .map(column -> "r.\"" + column.name() + "\"")
            .collect(Collectors.joining(", "));
    String[] found =
        duck.text(
                "SELECT count(*) || ' ' || coalesce(sum(h::HUGEINT), 0) || ':'"
                    + " || coalesce(bit_xor(h), 0) FROM (SELECT hash("
                    + columns
                    + ") AS h FROM "
                    + live()
                    + ")")
            .split(" ");
    long liveRows = Long.parseLong(found[0]);
    long deleteBytes = 0;
    for (DeleteFile delete : deletes.values()) {
      deleteBytes +=
          ContentFileUtil.isDV(delete) ? delete.contentSizeInBytes() : delete.fileSizeInBytes();
    }
    return new Contents(
        liveRows, found[1], files.size(), bytes, deletes.size(), deleteBytes, rows - liveRows);
  }

  /** The live rows as a FROM clause, in which {@code r} has the columns. */
  private String live() throws SQLException {
    Set<String> conditions = new LinkedHashSet<>();
    if (duck.number("SELECT count(*) FROM deleted_positions") > 0) {
      duck.run(
          "CREATE OR REPLACE TABLE hidden AS SELECT file, pos FROM deleted_positions"
              + " JOIN data_files USING (location)");
      conditions.add(
          "NOT EXISTS (SELECT 1 FROM hidden h WHERE h.file = f.file AND h.pos = r.file_row_number)");
    }
    if (duck.number("SELECT count(*) FROM deleted_keys") > 0) {
      duck.run(
          "CREATE OR REPLACE TABLE hidden_keys AS SELECT k, max(seq) AS seq FROM deleted_keys"
              + " GROUP BY k");
      conditions.add("NOT EXISTS (SELECT 1 FROM hidden_keys h WHERE h.k = r.k AND h.seq > f.seq)");
    }
    if (conditions.isEmpty()) {
      return DuckDb.rowsOf(files, false) + " r";
    }
    return DuckDb.rowsOf(files, true)
        + " r JOIN data_files f ON r.filename = f.path WHERE "
        + String.join(" AND ", conditions);
  }

  /** What is wrong with a table that was compacted, other than its rows; empty if all is well. */
  List<String> flaws(Layout layout) throws SQLException {
    List<String> flaws = new ArrayList<>();
    // A delete file for a partition that is as new as the outputs stays, and names no live file.
    long positions =
        duck.number("SELECT count(*) FROM deleted_positions JOIN data_files USING (location)");
    long keys = duck.number("SELECT count(*) FROM deleted_keys");
    if (positions + keys > 0) {
      flaws.add("deletes still apply: " + positions + " positions, " + keys + " keys");
    }
    if (layout == Layout.SORT) {
      duck.run("SET threads = 1"); // rows come in the order of the file
      for (Path file : files) {
        long wrong =
            duck.number(
                "SELECT count(*) FROM (SELECT ship_date, k, lag(ship_date) OVER () AS date_before,"
                    + " lag(k) OVER () AS k_before FROM "
                    + DuckDb.rowsOf(List.of(file), false)
                    + ") WHERE ship_date < date_before OR (ship_date = date_before AND k < k_before)");
        if (wrong > 0) {
          flaws.add(wrong + " rows of " + file.getFileName() + " are out of order");
        }
      }
    }
    if (layout == Layout.Z_ORDER && spread() > 0.25) {
      flaws.add("rows that lie together are spread over the key space: " + spread());
    }
    return flaws;
  }

  /**
   * How much of the plane of {@code k} and {@code ship_date} a 64th of a file covers, on average: 1
   * in any order, about 1/64 on a z-curve.
   */
  private double spread() throws SQLException {
    return Double.parseDouble(
        duck.text(
            "WITH r AS (SELECT k::DOUBLE AS k, ship_date - DATE '1992-01-01' AS d, filename,"
                + " file_row_number AS n FROM "
                + DuckDb.rowsOf(files, true)
                + "), sizes AS (SELECT filename, max(n) + 1 AS size FROM r GROUP BY filename),"
                + " parts AS (SELECT max(k) - min(k) AS kw, max(d) - min(d) AS dw FROM r"
                + " JOIN sizes USING (filename) GROUP BY filename, n * 64 // size)"
                + " SELECT avg(kw * dw) / ((SELECT max(k) - min(k) FROM r)"
                + " * (SELECT max(d) - min(d) FROM r)) FROM parts"));
  }

  /** Bytes of the data files that are live. */
  static long bytes(List<FileScanTask> tasks) {
    return tasks.stream().mapToLong(task -> task.file().fileSizeInBytes()).sum();
  }

  @Override
  public void close() throws SQLException {
    duck.close();
  }
}
