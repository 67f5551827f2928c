package dev.firn.engine.cli;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;

/**
 * One catalog: its name and its Iceberg properties. A property that starts with {@code hadoop.}
 * goes to the Hadoop configuration, without that prefix.
 */
record CatalogSettings(String name, Map<String, String> properties) {
  private static final List<String> TYPES =
      List.of("rest", "jdbc", "hadoop", "glue", "hive", "nessie", "bigquery");
  private static final String HADOOP_PREFIX = "hadoop.";
  private static final String SQLITE_PREFIX = "jdbc:sqlite:";

  CatalogSettings {
    properties = Map.copyOf(properties);
    String type = properties.get(CatalogUtil.ICEBERG_CATALOG_TYPE);
    String implementation = properties.get(CatalogProperties.CATALOG_IMPL);
    if (type == null && implementation == null) {
      throw new UsageException(
          "The catalog '"
              + name
              + "' has no type: give it one of "
              + TYPES
              + ", or a catalog-impl");
    }
    if (type != null && implementation != null) {
      throw new UsageException(
          "The catalog '" + name + "' has both a type and a catalog-impl: remove one");
    }
    if (type != null && !TYPES.contains(type.toLowerCase(Locale.ROOT))) {
      throw new UsageException(
          "The catalog '"
              + name
              + "' has the unknown type '"
              + type
              + "'"
              + Nearest.hint(type, TYPES));
    }
  }

  /**
   * Connects. The catalog is the caller's, who closes it if it is closeable.
   *
   * @throws UsageException if its classes are not there or it refuses its properties
   */
  Catalog open() {
    requireSqliteFile();
    Configuration hadoop = new Configuration();
    Map<String, String> iceberg = new TreeMap<>();
    properties.forEach(
        (key, value) -> {
          if (key.startsWith(HADOOP_PREFIX)) {
            hadoop.set(key.substring(HADOOP_PREFIX.length()), value);
          } else {
            iceberg.put(key, value);
          }
        });
    try {
      return CatalogUtil.buildIcebergCatalog(name, iceberg, hadoop);
    } catch (IllegalArgumentException | NullPointerException e) {
      if (missesClass(e)) {
        throw new UsageException(
            "Cannot open the catalog '"
                + name
                + "': its classes are not part of Firn. Put the jars of the catalog ("
                + properties.getOrDefault(
                    CatalogProperties.CATALOG_IMPL,
                    properties.get(CatalogUtil.ICEBERG_CATALOG_TYPE))
                + ") into FIRN_CLASSPATH. "
                + e.getMessage(),
            e);
      }
      throw new UsageException("Cannot open the catalog '" + name + "': " + e.getMessage(), e);
    } catch (RuntimeException e) {
      throw new UnreachableException(
          "Cannot open the catalog '" + name + "': " + Causes.of(e) + ". Nothing was started.", e);
    } catch (NoClassDefFoundError e) {
      throw new UsageException(
          "Cannot open the catalog '"
              + name
              + "': the class "
              + e.getMessage()
              + " is missing. Put its jar into FIRN_CLASSPATH.",
          e);
    }
  }

  private static boolean missesClass(Throwable e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof ClassNotFoundException
          || cause instanceof NoClassDefFoundError
          || cause instanceof NoSuchMethodException) {
        return true;
      }
    }
    return false;
  }

  /* SQLite makes a missing file, so that a mistyped path would look like an empty catalog. */
  private void requireSqliteFile() {
    String uri = properties.getOrDefault(CatalogProperties.URI, "");
    if (!uri.startsWith(SQLITE_PREFIX)) {
      return;
    }
    String path = uri.substring(SQLITE_PREFIX.length());
    int parameters = path.indexOf('?');
    path = parameters < 0 ? path : path.substring(0, parameters);
    if (!path.isEmpty()
        && !path.startsWith("file:")
        && !path.startsWith(":")
        && !Files.exists(Path.of(path))) {
      throw new UsageException(
          "Cannot open the catalog '" + name + "': there is no SQLite file " + path);
    }
  }

  /** Values may be secrets. */
  @Override
  public String toString() {
    return "CatalogSettings[" + name + ", " + properties.keySet() + "]";
  }
}
