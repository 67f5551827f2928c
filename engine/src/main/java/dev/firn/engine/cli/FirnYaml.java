package dev.firn.engine.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLParser;
import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The content of one firn.yaml as plain text values. Nested keys below a catalog are joined by dots
 * ({@code s3: {endpoint: x}} is {@code s3.endpoint}), and {@code ${env:NAME}} or {@code
 * ${env:NAME:-default}} in a value is replaced from the environment, so that secrets can stay out
 * of the file.
 *
 * @param defaultCatalog the catalog of tables whose name starts with none; null when not given
 */
record FirnYaml(
    Map<String, Map<String, String>> catalogs,
    @Nullable String defaultCatalog,
    Map<String, String> options) {

  static final FirnYaml EMPTY = new FirnYaml(Map.of(), null, Map.of());

  private static final List<String> KEYS = List.of("catalogs", "default-catalog", "options");
  private static final Pattern VARIABLE =
      Pattern.compile("\\$\\{env:([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?}");

  /**
   * Reads a file.
   *
   * @throws UsageException if it cannot be read, is not YAML, or has a key that is not known
   */
  static FirnYaml read(Path file, Map<String, String> environment) {
    try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      return parse(reader, file.toString(), environment);
    } catch (NoSuchFileException e) {
      throw new UsageException("Cannot read the configuration " + file + ": no such file", e);
    } catch (IOException e) {
      throw new UsageException("Cannot read the configuration " + file + ": " + e.getMessage(), e);
    }
  }

  static FirnYaml parse(Reader text, String name, Map<String, String> environment)
      throws IOException {
    YAMLFactory yaml =
        YAMLFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();
    try (YAMLParser parser = yaml.createParser(text)) {
      return new Reading(parser, name, environment).document();
    } catch (JsonProcessingException e) {
      throw new UsageException(
          "Cannot read the configuration " + name + ": " + e.getOriginalMessage() + at(e), e);
    }
  }

  private static String at(JsonProcessingException e) {
    return e.getLocation() == null ? "" : " (line " + e.getLocation().getLineNr() + ")";
  }

  /** Values may be secrets. */
  @Override
  public String toString() {
    return "FirnYaml[catalogs=" + catalogs.keySet() + ", defaultCatalog=" + defaultCatalog + "]";
  }

  /* Token by token and not as a tree: a tree would turn a password such as 0123 into the number
  83, and a version 1.10 into 1.1; a scalar's text here is what the file says. */
  private static final class Reading {
    private final YAMLParser parser;
    private final String name;
    private final Map<String, String> environment;

    Reading(YAMLParser parser, String name, Map<String, String> environment) {
      this.parser = parser;
      this.name = name;
      this.environment = environment;
    }

    FirnYaml document() throws IOException {
      JsonToken first = parser.nextToken();
      if (first == null || first == JsonToken.VALUE_NULL) {
        return EMPTY;
      }
      if (first != JsonToken.START_OBJECT) {
        throw refused("it must hold the keys " + KEYS);
      }
      Map<String, Map<String, String>> catalogs = new LinkedHashMap<>();
      Map<String, String> options = new TreeMap<>();
      String defaultCatalog = null;
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String key = parser.currentName();
        switch (key) {
          case "catalogs" -> catalogs(catalogs);
          case "default-catalog" -> {
            parser.nextToken();
            defaultCatalog = scalar(key);
          }
          case "options" -> {
            parser.nextToken();
            properties("", key, options);
          }
          default -> throw refused("unknown key '" + key + "'" + Nearest.hint(key, KEYS));
        }
      }
      if (parser.nextToken() != null) {
        throw refused("more than one document");
      }
      for (String option : options.keySet()) {
        OptionValues.requireKnown(option, "Cannot use the configuration " + name);
      }
      return new FirnYaml(catalogs, defaultCatalog, options);
    }

    private void catalogs(Map<String, Map<String, String>> catalogs) throws IOException {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw refused("'catalogs' must map a name to properties such as {type: rest, uri: ...}");
      }
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String catalog = parser.currentName();
        Map<String, String> properties = new TreeMap<>();
        parser.nextToken();
        properties("", "catalogs." + catalog, properties);
        catalogs.put(catalog, properties);
      }
    }

    private void properties(String prefix, String path, Map<String, String> into)
        throws IOException {
      if (parser.currentToken() != JsonToken.START_OBJECT) {
        throw refused("'" + path + "' must hold properties (key: value)");
      }
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String key = prefix + parser.currentName();
        String inner = path + "." + parser.currentName();
        if (parser.nextToken() == JsonToken.START_OBJECT) {
          properties(key + ".", inner, into);
        } else if (into.put(key, scalar(inner)) != null) {
          throw refused("'" + inner + "' is given twice");
        }
      }
    }

    private String scalar(String path) throws IOException {
      JsonToken token = parser.currentToken();
      if (token == JsonToken.VALUE_NULL || parser.getText().isEmpty()) {
        throw refused("'" + path + "' has no value");
      }
      if (!token.isScalarValue() || parser.isCurrentAlias()) {
        throw refused("'" + path + "' must be one plain value");
      }
      return substituted(path, parser.getText());
    }

    private String substituted(String path, String value) {
      Matcher matcher = VARIABLE.matcher(value);
      StringBuilder text = new StringBuilder();
      while (matcher.find()) {
        String replacement = environment.get(matcher.group(1));
        if (replacement == null) {
          replacement = matcher.group(3);
        }
        if (replacement == null) {
          throw refused(
              "'"
                  + path
                  + "' needs the environment variable "
                  + matcher.group(1)
                  + ", which is not set");
        }
        matcher.appendReplacement(text, Matcher.quoteReplacement(replacement));
      }
      return matcher.appendTail(text).toString();
    }

    private UsageException refused(String why) {
      return new UsageException(
          "Cannot use the configuration "
              + name
              + ": "
              + why
              + " (line "
              + parser.currentLocation().getLineNr()
              + ")");
    }
  }
}
