package dev.firn.bench.sidebyside;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/**
 * DuckDB's {@code COPY} of the data files to one file. It applies no deletes and knows of no
 * partitions, so where there are some it does less work than is asked for.
 */
final class DuckDbCopy {
  private DuckDbCopy() {}

  static Work run(Job job) throws Exception {
    List<Path> files = job.files().stream().map(Path::of).toList();
    String columns =
        job.columns().stream().map(name -> '"' + name + '"').collect(Collectors.joining(", "));
    Path outputs = Files.createDirectories(Path.of(job.outputs()));
    // DuckDB's units are powers of 1000 where Firn's are of 1024; both are to have the same.
    String memory = MemorySize.bytes(job.memory()) / 1_000_000 + "MB";
    try (DuckDb duck = DuckDb.open(job.threads(), memory, Path.of(job.scratch()))) {
      long start = System.nanoTime(); // before it, a library was unpacked: start-up
      duck.run(
          "COPY (SELECT "
              + columns
              + " FROM "
              + DuckDb.rowsOf(files, false)
              + (job.which().layout() == Layout.SORT ? " ORDER BY ship_date, k" : "")
              + ") TO "
              + DuckDb.quoted(outputs.resolve("all.parquet").toString())
              + " (FORMAT parquet, CODEC 'zstd')");
      return Work.since(start);
    }
  }
}
