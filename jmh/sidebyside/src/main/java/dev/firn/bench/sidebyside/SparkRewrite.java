package dev.firn.bench.sidebyside;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import org.apache.spark.sql.SparkSession;

/** Spark's procedure {@code rewrite_data_files}. */
final class SparkRewrite {
  private static final String WARM_UP = SparkSessions.CATALOG + ".warm_up.t";

  private SparkRewrite() {}

  /** Rewrites a tiny table first, so that a job of Spark's is timed, not the loading of classes. */
  static Work run(Job job) throws IOException {
    Warehouse warehouse = new Warehouse(Path.of(job.warehouse()));
    SparkSession spark = SparkSessions.start(warehouse, job.threads(), Path.of(job.scratch()));
    try {
      double cpuBefore = cpuSeconds();
      long start = System.nanoTime();
      warmUp(spark, job);
      double warmUpSeconds = (System.nanoTime() - start) / 1e9;
      double warmUpCpuSeconds = cpuSeconds() - cpuBefore;
      start = System.nanoTime();
      rewrite(spark, Warehouse.NAMESPACE + "." + job.which().tableName(), job);
      return new Work((System.nanoTime() - start) / 1e9, warmUpSeconds, warmUpCpuSeconds);
    } finally {
      spark.stop();
    }
  }

  private static void rewrite(SparkSession spark, String table, Job job) {
    String strategy =
        switch (job.which().layout()) {
          case BIN_PACK -> "strategy => 'binpack'";
          case SORT ->
              "strategy => 'sort', sort_order => 'ship_date ASC NULLS FIRST, k ASC NULLS FIRST'";
          case Z_ORDER -> "strategy => 'sort', sort_order => 'zorder(k, ship_date)'";
        };
    spark
        .sql(
            "CALL "
                + SparkSessions.CATALOG
                + ".system.rewrite_data_files(table => '"
                + table
                + "', "
                + strategy
                + ", options => map('rewrite-all', 'true', 'target-file-size-bytes', '"
                + job.targetFileSizeBytes()
                + "'))")
        .collect();
  }

  private static void warmUp(SparkSession spark, Job job) throws IOException {
    spark.sql("CREATE NAMESPACE IF NOT EXISTS " + SparkSessions.CATALOG + ".warm_up");
    spark.sql("DROP TABLE IF EXISTS " + WARM_UP + " PURGE");
    spark.sql(
        "CREATE TABLE "
            + WARM_UP
            + " (k BIGINT, ship_date DATE, note STRING) USING iceberg"
            + " TBLPROPERTIES ('write.parquet.compression-codec' = 'zstd')");
    try {
      spark
          .range(0, 40_000, 1, 4)
          .selectExpr(
              "id AS k",
              "date_add(DATE '1992-01-01', cast(id % 2000 AS INT)) AS ship_date",
              "cast(id AS STRING) AS note")
          .writeTo(WARM_UP)
          .append();
      rewrite(spark, "warm_up.t", job);
    } catch (org.apache.spark.sql.catalyst.analysis.NoSuchTableException e) {
      throw new IllegalStateException("The table " + WARM_UP + " is gone", e);
    } finally {
      Warehouse.delete(Path.of(job.warehouse()).resolve("warm_up"));
    }
  }

  private static double cpuSeconds() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
            .getProcessCpuTime()
        / 1e9;
  }
}
