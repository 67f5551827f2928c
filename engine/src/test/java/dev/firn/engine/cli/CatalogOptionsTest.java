package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CatalogOptionsTest {
  private final CatalogOptions options = new CatalogOptions();

  @Test
  void theLineIsAboveFileAndEnvironment() {
    options.properties.put("uri", "line");
    options.warehouse = "w";
    FirnConfig config =
        config("p", Map.of("p", Map.of("type", "rest", "uri", "file", "token", "t")), Map.of());
    CatalogSettings settings = options.resolve(config, name("db.t"));
    assertThat(settings.name()).isEqualTo("p");
    assertThat(settings.properties())
        .containsOnly(
            Map.entry("type", "rest"),
            Map.entry("uri", "line"),
            Map.entry("token", "t"),
            Map.entry("warehouse", "w"));
  }

  @Test
  void theNamesOwnCatalogIsBeforeTheDefault() {
    FirnConfig config =
        config("p", Map.of("p", Map.of("type", "rest"), "q", Map.of("type", "glue")), Map.of());
    assertThat(options.resolve(config, name("q.db.t")).name()).isEqualTo("q");
    assertThat(options.resolve(config, name("db.t")).name()).isEqualTo("p");
    options.catalog = "q";
    assertThat(options.resolve(config, name("db.t")).name()).isEqualTo("q");
    assertThatThrownBy(() -> options.resolve(config, name("p.db.t")))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("--catalog is 'q' but the table's name starts with 'p'");
  }

  @Test
  void aCatalogCanBeGivenOnTheLineAlone() {
    FirnConfig none = config(null, Map.of(), Map.of());
    options.type = "hadoop";
    options.warehouse = "/w";
    assertThat(options.resolve(none, name("db.t")).name()).isEqualTo("default");
    options.catalog = "mine";
    assertThat(options.resolve(none, name("db.t")).name()).isEqualTo("mine");
  }

  @Test
  void aMissingOrUnknownCatalogIsRefused() {
    FirnConfig none = config(null, Map.of(), Map.of());
    assertThatThrownBy(() -> options.resolve(none, name("db.t")))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("No catalog is configured");
    FirnConfig two =
        config(null, Map.of("p", Map.of("type", "rest"), "q", Map.of("type", "rest")), Map.of());
    assertThatThrownBy(() -> options.resolve(two, name("db.t")))
        .hasMessageContaining("Several catalogs are configured (p, q) and none is the default");
    options.catalog = "prd";
    assertThatThrownBy(() -> options.resolve(two, name("db.t")))
        .hasMessageContaining("The catalog 'prd' is not configured; did you mean 'p'?");
  }

  @Test
  void aShortcutAndAPropertyMayNotDisagree() {
    options.uri = "a";
    options.properties.put("uri", "b");
    assertThatThrownBy(
            () ->
                options.resolve(
                    config(null, Map.of("p", Map.of("type", "rest")), Map.of()), name("db.t")))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("--uri is 'a' but --catalog-property uri is 'b'");
  }

  @Test
  void theTypeIsChecked() {
    assertThatThrownBy(() -> new CatalogSettings("c", Map.of("uri", "x")))
        .hasMessageContaining("The catalog 'c' has no type");
    assertThatThrownBy(() -> new CatalogSettings("c", Map.of("type", "rset")))
        .hasMessageContaining("unknown type 'rset'; did you mean 'rest'?");
    assertThatThrownBy(() -> new CatalogSettings("c", Map.of("type", "rest", "catalog-impl", "x")))
        .hasMessageContaining("both a type and a catalog-impl");
  }

  @Test
  void aCatalogWhoseClassesAreMissingSaysWhatToDo() {
    assertThatThrownBy(
            () -> new CatalogSettings("c", Map.of("type", "hive", "uri", "thrift://x")).open())
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("FIRN_CLASSPATH");
    assertThatThrownBy(
            () -> new CatalogSettings("c", Map.of("catalog-impl", "org.example.Nope")).open())
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("org.example.Nope");
  }

  @Test
  void aMistypedSqliteFileIsNotMade() {
    assertThatThrownBy(
            () ->
                new CatalogSettings(
                        "c",
                        Map.of("type", "jdbc", "uri", "jdbc:sqlite:/no/such.db", "warehouse", "/w"))
                    .open())
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("there is no SQLite file /no/such.db");
  }

  private static FirnConfig config(
      String defaultCatalog,
      Map<String, Map<String, String>> catalogs,
      Map<String, String> options) {
    return new FirnConfig(catalogs, defaultCatalog, options);
  }

  private static TableName name(String text) {
    return TableName.parse(text, Set.of("p", "q"));
  }
}
