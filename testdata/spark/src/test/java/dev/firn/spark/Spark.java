package dev.firn.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * A session of the Spark of this JVM, which runs on local threads. Its catalogs are {@code lake}, a
 * Hadoop catalog in {@link #WAREHOUSE}, and {@code golden}, copies of the golden tables in {@link
 * #GOLDEN}. What a run left there is deleted when the next begins.
 */
final class Spark {
  static final Path WAREHOUSE = emptied(Path.of("target/warehouse"));
  static final Path GOLDEN = emptied(Path.of("target/golden"));

  private static final SparkSession FIRST =
      SparkSession.builder()
          .master("local[2]")
          .config("spark.driver.bindAddress", "127.0.0.1")
          .config("spark.driver.host", "127.0.0.1")
          .config("spark.ui.enabled", false)
          .config("spark.local.dir", Path.of("target/spark").toAbsolutePath().toString())
          .config("spark.sql.shuffle.partitions", 2)
          .config("spark.sql.adaptive.enabled", false)
          .config("spark.sql.codegen.wholeStage", false) // compiling takes longer than these rows
          .config("spark.sql.session.timeZone", "UTC")
          .config("spark.sql.datetime.java8API.enabled", true)
          .config(
              "spark.sql.extensions",
              "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
          .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
          .config("spark.sql.catalog.lake.type", "hadoop")
          .config("spark.sql.catalog.lake.warehouse", WAREHOUSE.toString())
          .config("spark.sql.catalog.lake.cache-enabled", false)
          .config("spark.sql.catalog.golden", "org.apache.iceberg.spark.SparkCatalog")
          .config("spark.sql.catalog.golden.catalog-impl", GoldenCatalog.class.getName())
          .config("spark.sql.catalog.golden.warehouse", GOLDEN.toString())
          .config("spark.sql.catalog.golden.cache-enabled", false)
          .getOrCreate();

  private final SparkSession session = FIRST.newSession();

  /** Begins a session that has seen no table yet. */
  Spark() {}

  void sql(String statement) {
    session.sql(statement);
  }

  /** The rows of a query as text, sorted; each read as vectors and row by row, which must agree. */
  List<String> rows(String query) {
    List<String> asVectors = rows(query, true);
    List<String> oneByOne = rows(query, false);
    if (!asVectors.equals(oneByOne)) {
      throw new AssertionError(
          "Spark's readers differ on " + query + "\n" + asVectors + "\n" + oneByOne);
    }
    return asVectors;
  }

  /** The rows of a query as text, sorted; read row by row. */
  List<String> rowsOneByOne(String query) {
    return rows(query, false);
  }

  private List<String> rows(String query, boolean vectors) {
    session.conf().set("spark.sql.iceberg.vectorization.enabled", vectors);
    return session.sql(query).collectAsList().stream().map(RowText::of).sorted().toList();
  }

  /** The one number that a query gives. */
  long number(String query) {
    Row row = session.sql(query).first();
    return ((Number) row.get(0)).longValue();
  }

  private static Path emptied(Path directory) {
    Path absolute = directory.toAbsolutePath();
    if (Files.exists(absolute)) {
      try (Stream<Path> files = Files.walk(absolute)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      } catch (IOException e) {
        throw new UncheckedIOException("Cannot empty " + absolute, e);
      }
    }
    return absolute;
  }
}
