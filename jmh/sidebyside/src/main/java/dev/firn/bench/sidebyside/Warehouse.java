package dev.firn.bench.sidebyside;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.io.CloseableIterable;

/** The tables of all cases: a Hadoop catalog in a local directory, with one namespace. */
record Warehouse(Path directory) {
  static final String NAMESPACE = "db";

  Warehouse {
    directory = directory.toAbsolutePath().normalize();
  }

  Path tableDirectory(Case which) {
    return directory.resolve(NAMESPACE).resolve(which.tableName());
  }

  /** The table as it is now. */
  Table table(Case which) {
    return new HadoopTables(new Configuration()).load("file:" + tableDirectory(which));
  }

  /** The data files of the current snapshot with their deletes, in the order of their names. */
  static List<FileScanTask> tasks(Table table) throws IOException {
    List<FileScanTask> tasks = new ArrayList<>();
    try (CloseableIterable<FileScanTask> planned = table.newScan().planFiles()) {
      planned.forEach(tasks::add);
    }
    tasks.sort(Comparator.comparing(task -> task.file().location()));
    return tasks;
  }

  /** The local path of what Iceberg calls the location of a file. */
  static Path path(String location) {
    return Path.of(location.replaceFirst("^file:/+", "/"));
  }

  /** Deletes a directory and all in it, if it is there. */
  static void delete(Path directory) throws IOException {
    if (Files.exists(directory)) {
      try (Stream<Path> paths = Files.walk(directory)) {
        paths.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
      }
    }
  }
}
