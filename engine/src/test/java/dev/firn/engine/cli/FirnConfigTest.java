package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FirnConfigTest {
  @TempDir Path directory;

  @Test
  void catalogsOptionsAndDefaultAreReadAsWritten() {
    FirnConfig config =
        of(
            """
            default-catalog: prod
            catalogs:
              prod:
                type: rest
                uri: https://catalog.example/api
                token-refresh-enabled: true
                password: 0123
                ratio: 1.10
                s3:
                  path-style-access: true
                  endpoint: 'http://s3'
              local: {type: hadoop, warehouse: /data}
            options:
              target-file-size-bytes: 256MB
              partial-progress.enabled: true
            """);
    assertThat(config.defaultCatalog()).isEqualTo("prod");
    assertThat(config.catalogs().get("prod"))
        .containsOnly(
            Map.entry("type", "rest"),
            Map.entry("uri", "https://catalog.example/api"),
            Map.entry("token-refresh-enabled", "true"),
            Map.entry("password", "0123"),
            Map.entry("ratio", "1.10"),
            Map.entry("s3.path-style-access", "true"),
            Map.entry("s3.endpoint", "http://s3"));
    assertThat(config.catalogs().get("local")).containsEntry("warehouse", "/data");
    assertThat(config.options())
        .containsOnly(
            Map.entry("target-file-size-bytes", "256MB"),
            Map.entry("partial-progress.enabled", "true"));
  }

  @Test
  void anEmptyFileConfiguresNothing() {
    assertThat(of("").catalogs()).isEmpty();
    assertThat(of("# nothing\n").catalogs()).isEmpty();
  }

  @Test
  void theOnlyCatalogIsTheDefault() {
    assertThat(of("catalogs: {one: {type: rest}}").defaultCatalog()).isEqualTo("one");
    assertThat(of("catalogs: {one: {type: rest}, two: {type: rest}}").defaultCatalog()).isNull();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "catalog: {}                           | unknown key 'catalog'; did you mean 'catalogs'?",
        "default_catalog: x                    | did you mean 'default-catalog'?",
        "options: {target-file-size-byte: 1}   | did you mean 'target-file-size-bytes'?",
        "catalogs: [a]                         | 'catalogs' must map a name to properties",
        "catalogs: {a: rest}                   | 'catalogs.a' must hold properties",
        "catalogs: {a: {type: }}               | 'catalogs.a.type' has no value",
        "catalogs: {a: {type: [x]}}            | 'catalogs.a.type' must be one plain value",
        "catalogs: {a: {type: x, type: y}}     | Duplicate field 'type'",
        "default-catalog: b                    | default-catalog is 'b', which is not configured",
        "just words                            | it must hold the keys",
        "catalogs: {a: {type: 'x}}             | Cannot read the configuration firn.yaml",
      })
  void whatIsNotKnownIsRefused(String yaml, String message) {
    assertThatThrownBy(() -> of(yaml))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(message);
  }

  @Test
  void theLineOfAMistakeIsNamed() {
    assertThatThrownBy(() -> of("catalogs:\n  a: {type: rest}\noption: {}\n"))
        .hasMessageContaining("line 3");
  }

  @Test
  void valuesComeFromTheEnvironmentWhereTheFileSaysSo() {
    FirnYaml yaml =
        yaml(
            "catalogs: {a: {credential: '${env:ID}:${env:SECRET}', scope: '${env:NO:-all}', x: $y}}",
            Map.of("ID", "me", "SECRET", "a$b\\c"));
    assertThat(yaml.catalogs().get("a"))
        .containsOnly(
            Map.entry("credential", "me:a$b\\c"), Map.entry("scope", "all"), Map.entry("x", "$y"));
  }

  @Test
  void aMissingVariableIsRefusedByName() {
    assertThatThrownBy(() -> of("catalogs: {a: {token: '${env:TOKEN}'}}"))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("'catalogs.a.token' needs the environment variable TOKEN");
  }

  @ParameterizedTest
  @CsvSource({
    "FIRN_CATALOG_PROD_URI, uri",
    "FIRN_CATALOG_PROD_S3_PATH_STYLE_ACCESS, s3.path-style-access",
    "FIRN_CATALOG_PROD_S3_ENDPOINT, s3.endpoint",
    "FIRN_CATALOG_PROD_S3__ENDPOINT, s3.endpoint",
    "FIRN_CATALOG_PROD_S3_ACCESS_KEY_ID, s3.access-key-id",
    "FIRN_CATALOG_PROD_CLIENT_REGION, client.region",
    "FIRN_CATALOG_PROD_IO_IMPL, io-impl",
    "FIRN_CATALOG_PROD_CATALOG_IMPL, catalog-impl",
    "FIRN_CATALOG_PROD_CREDENTIAL, credential",
    "FIRN_CATALOG_PROD_OAUTH2_SERVER_URI, oauth2-server-uri",
    "FIRN_CATALOG_PROD_JDBC_USER, jdbc.user",
    "FIRN_CATALOG_PROD_WAREHOUSE, warehouse",
    "FIRN_CATALOG_PROD_REST_AUTH_TYPE, rest.auth.type",
    "FIRN_CATALOG_PROD_SOME__NEW_THING, some.new-thing",
    "FIRN_CATALOG_PROD_HADOOP__FS__S3A__ENDPOINT, hadoop.fs.s3a.endpoint",
  })
  void variablesNameProperties(String variable, String property) {
    FirnConfig config = FirnConfig.of(FirnYaml.EMPTY, Map.of(variable, "v"));
    assertThat(config.catalogs()).containsOnly(Map.entry("prod", Map.of(property, "v")));
  }

  @Test
  void theEnvironmentIsAboveTheFileAndFindsTheLongestCatalogName() {
    FirnConfig config =
        FirnConfig.of(
            yaml("catalogs: {prod: {type: rest}, prod-eu: {type: rest, uri: a}}", Map.of()),
            Map.of(
                "FIRN_CATALOG_PROD_EU_URI", "b",
                "FIRN_CATALOG_PROD_URI", "c",
                "FIRN_MEMORY", "4g"));
    assertThat(config.catalogs())
        .containsOnly(
            Map.entry("prod", Map.of("type", "rest", "uri", "c")),
            Map.entry("prod-eu", Map.of("type", "rest", "uri", "b")));
  }

  @ParameterizedTest
  @CsvSource({"FIRN_CATALOG_", "FIRN_CATALOG_PROD", "FIRN_CATALOG_PROD_", "FIRN_CATALOG__URI"})
  void aVariableWithoutNameOrPropertyIsRefused(String variable) {
    assertThatThrownBy(() -> FirnConfig.of(FirnYaml.EMPTY, Map.of(variable, "v")))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(variable);
  }

  @Test
  void theFileNamedIsBeforeThatOfTheVariableIsBeforeTheOneHere() throws IOException {
    write("firn.yaml", "here");
    write("variable.yaml", "variable");
    write("named.yaml", "named");
    Map<String, String> none = Map.of();
    Map<String, String> variable = Map.of("FIRN_CONFIG", "variable.yaml");
    assertThat(loaded(Path.of("named.yaml"), variable)).isEqualTo("named");
    assertThat(loaded(null, variable)).isEqualTo("variable");
    assertThat(loaded(null, none)).isEqualTo("here");
    Files.delete(directory.resolve("firn.yaml"));
    assertThat(loaded(null, none)).isNull();
    assertThatThrownBy(() -> loaded(Path.of("missing.yaml"), none))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("missing.yaml: no such file");
  }

  @Test
  void secretsAreNotInItsText() {
    FirnConfig config = of("catalogs: {a: {type: rest, token: hush}}");
    assertThat(config + "" + yaml("catalogs: {a: {token: hush}}", Map.of())).doesNotContain("hush");
    assertThat(new CatalogSettings("a", config.catalogs().get("a")).toString())
        .doesNotContain("hush");
  }

  private void write(String file, String catalog) throws IOException {
    Files.writeString(directory.resolve(file), "catalogs: {" + catalog + ": {type: rest}}");
  }

  private String loaded(Path named, Map<String, String> environment) {
    return FirnConfig.load(named, new CapturedTerminal(directory, environment).terminal())
        .defaultCatalog();
  }

  private static FirnConfig of(String yaml) {
    return FirnConfig.of(yaml(yaml, Map.of()), Map.of());
  }

  private static FirnYaml yaml(String text, Map<String, String> environment) {
    try {
      return FirnYaml.parse(new StringReader(text), "firn.yaml", environment);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
