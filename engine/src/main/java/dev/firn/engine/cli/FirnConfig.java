package dev.firn.engine.cli;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What is configured outside the command line: firn.yaml, with {@code
 * FIRN_CATALOG_<NAME>_<PROPERTY>} of the environment above it. Immutable, read once.
 *
 * @param catalogs properties of each catalog by its name
 * @param defaultCatalog the catalog of tables whose name starts with none; null if it must be given
 * @param options defaults of compaction options
 */
record FirnConfig(
    Map<String, Map<String, String>> catalogs,
    @Nullable String defaultCatalog,
    Map<String, String> options) {

  static final String FILE_NAME = "firn.yaml";
  static final String FILE_VARIABLE = "FIRN_CONFIG";
  private static final String CATALOG_VARIABLE = "FIRN_CATALOG_";

  FirnConfig {
    Map<String, Map<String, String>> copies = new LinkedHashMap<>();
    catalogs.forEach((name, properties) -> copies.put(name, Map.copyOf(properties)));
    catalogs = Map.copyOf(copies);
    options = Map.copyOf(options);
    if (defaultCatalog != null && !catalogs.containsKey(defaultCatalog)) {
      throw new UsageException(
          "default-catalog is '"
              + defaultCatalog
              + "', which is not configured"
              + Nearest.hint(defaultCatalog, catalogs.keySet()));
    }
    if (defaultCatalog == null && catalogs.size() == 1) {
      defaultCatalog = catalogs.keySet().iterator().next();
    }
  }

  /**
   * Reads the file named, else that of {@code FIRN_CONFIG}, else ./firn.yaml if there is one; then
   * the environment.
   *
   * @param named the file of {@code --config}; null if not given
   */
  static FirnConfig load(@Nullable Path named, Terminal terminal) {
    Map<String, String> environment = terminal.environment();
    FirnYaml yaml =
        file(named, terminal)
            .map(file -> FirnYaml.read(terminal.directory().resolve(file), environment))
            .orElse(FirnYaml.EMPTY);
    return of(yaml, environment);
  }

  static FirnConfig of(FirnYaml yaml, Map<String, String> environment) {
    Map<String, Map<String, String>> catalogs = new LinkedHashMap<>();
    yaml.catalogs().forEach((name, properties) -> catalogs.put(name, new TreeMap<>(properties)));
    // Sorted, so that what the environment adds does not depend on its order.
    new TreeMap<>(environment)
        .forEach(
            (variable, value) -> {
              if (variable.startsWith(CATALOG_VARIABLE)) {
                addVariable(variable, value, yaml.catalogs().keySet(), catalogs);
              }
            });
    return new FirnConfig(catalogs, yaml.defaultCatalog(), yaml.options());
  }

  private static Optional<Path> file(@Nullable Path named, Terminal terminal) {
    if (named != null) {
      return Optional.of(named);
    }
    String variable = terminal.environment().get(FILE_VARIABLE);
    if (variable != null && !variable.isBlank()) {
      return Optional.of(Path.of(variable));
    }
    Path here = terminal.directory().resolve(FILE_NAME);
    return Files.exists(here) ? Optional.of(here) : Optional.empty();
  }

  private static void addVariable(
      String variable,
      String value,
      Collection<String> configured,
      Map<String, Map<String, String>> catalogs) {
    String rest = variable.substring(CATALOG_VARIABLE.length());
    // The longest configured name wins: prod_eu before prod. Any other name ends at the first _.
    String catalog = null;
    int nameLength = 0;
    for (String name : configured) {
      String spelt = spelt(name);
      if (rest.startsWith(spelt + "_") && spelt.length() > nameLength) {
        catalog = name;
        nameLength = spelt.length();
      }
    }
    if (catalog == null) {
      nameLength = rest.indexOf('_');
      catalog = nameLength <= 0 ? "" : rest.substring(0, nameLength).toLowerCase(Locale.ROOT);
    }
    String property = catalog.isEmpty() ? "" : rest.substring(nameLength + 1);
    if (property.isEmpty()) {
      throw new UsageException(
          "Cannot use the environment variable "
              + variable
              + ": it must be FIRN_CATALOG_<NAME>_<PROPERTY>, as in FIRN_CATALOG_PROD_URI");
    }
    catalogs
        .computeIfAbsent(catalog, name -> new TreeMap<>())
        .put(PropertyNames.ofVariable(property), value);
  }

  private static String spelt(String name) {
    return name.toUpperCase(Locale.ROOT).replaceAll("[^A-Z0-9]", "_");
  }

  /** Values may be secrets. */
  @Override
  public String toString() {
    return "FirnConfig[catalogs=" + catalogs.keySet() + ", defaultCatalog=" + defaultCatalog + "]";
  }
}
