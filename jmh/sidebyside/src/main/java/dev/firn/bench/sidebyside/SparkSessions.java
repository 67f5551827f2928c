package dev.firn.bench.sidebyside;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.launcher.JavaModuleOptions;
import org.apache.spark.sql.SparkSession;

/** Spark in this process, on local threads, with Iceberg's extensions. */
final class SparkSessions {
  /** The catalog of the warehouse in SQL. */
  static final String CATALOG = "lake";

  private SparkSessions() {}

  /** Flags for a JVM in which Spark is to run. */
  static List<String> javaFlags() {
    return List.of(JavaModuleOptions.defaultModuleOptionArray());
  }

  /** Starts the session of this process. What tells Spark from its defaults is all here. */
  static SparkSession start(Warehouse warehouse, int threads, Path scratch) throws IOException {
    Files.createDirectories(scratch);
    String catalog = "spark.sql.catalog." + CATALOG;
    return SparkSession.builder()
        .appName("side-by-side")
        .master("local[" + threads + "]")
        .config("spark.ui.enabled", false)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.local.dir", scratch.toString())
        .config("spark.sql.warehouse.dir", scratch.resolve("spark-warehouse").toString())
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.extensions",
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        .config(catalog, "org.apache.iceberg.spark.SparkCatalog")
        .config(catalog + ".type", "hadoop")
        .config(catalog + ".warehouse", "file:" + warehouse.directory())
        .config(catalog + ".cache-enabled", false)
        .getOrCreate();
  }
}
