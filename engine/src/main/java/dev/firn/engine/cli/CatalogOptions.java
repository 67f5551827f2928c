package dev.firn.engine.cli;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of the command line that say which catalog, and how to reach it. */
final class CatalogOptions {
  @Option(
      names = "--config",
      paramLabel = "FILE",
      description = "Configuration file. Default: $FIRN_CONFIG, else ./firn.yaml if there is one.")
  @Nullable Path config; // null: not given

  @Option(
      names = "--catalog",
      paramLabel = "NAME",
      description = "Catalog of the table, when its name does not start with one.")
  @Nullable String catalog; // null: not given

  @Option(
      names = "--catalog-property",
      paramLabel = "KEY=VALUE",
      description = "Property of the catalog, above file and environment. Repeatable.")
  Map<String, String> properties = new LinkedHashMap<>();

  @Option(
      names = "--type",
      paramLabel = "TYPE",
      description = "Short for --catalog-property type=TYPE: rest, jdbc, hadoop, glue, hive.")
  @Nullable String type; // null: not given

  @Option(
      names = "--uri",
      paramLabel = "URI",
      description = "Short for --catalog-property uri=URI.")
  @Nullable String uri; // null: not given

  @Option(
      names = "--warehouse",
      paramLabel = "LOCATION",
      description = "Short for --catalog-property warehouse=LOCATION.")
  @Nullable String warehouse; // null: not given

  /** The catalog of a table, with all properties that file, environment and line give it. */
  CatalogSettings resolve(FirnConfig configuration, TableName table) {
    if (catalog != null && table.catalog() != null && !catalog.equals(table.catalog())) {
      throw new UsageException(
          "--catalog is '"
              + catalog
              + "' but the table's name starts with '"
              + table.catalog()
              + "'");
    }
    Map<String, String> line = new TreeMap<>(properties);
    putOnce(line, "type", type);
    putOnce(line, "uri", uri);
    putOnce(line, "warehouse", warehouse);
    String name =
        Optional.ofNullable(catalog)
            .or(() -> Optional.ofNullable(table.catalog()))
            .or(() -> Optional.ofNullable(configuration.defaultCatalog()))
            .orElse(line.isEmpty() ? "" : "default");
    if (name.isEmpty()) {
      throw new UsageException(
          configuration.catalogs().isEmpty()
              ? "No catalog is configured: write a firn.yaml, or give --type, --uri and --warehouse"
              : "Several catalogs are configured ("
                  + String.join(", ", new java.util.TreeSet<>(configuration.catalogs().keySet()))
                  + ") and none is the default: write catalog.namespace.table, or give --catalog");
    }
    Map<String, String> configured = configuration.catalogs().get(name);
    if (configured == null && line.isEmpty()) {
      throw new UsageException(
          "The catalog '"
              + name
              + "' is not configured"
              + Nearest.hint(name, configuration.catalogs().keySet()));
    }
    Map<String, String> merged = new TreeMap<>(configured == null ? Map.of() : configured);
    merged.putAll(line);
    return new CatalogSettings(name, merged);
  }

  private static void putOnce(Map<String, String> line, String key, @Nullable String value) {
    if (value == null) {
      return;
    }
    String other = line.put(key, value);
    if (other != null && !other.equals(value)) {
      throw new UsageException(
          "--" + key + " is '" + value + "' but --catalog-property " + key + " is '" + other + "'");
    }
  }
}
