package dev.firn.engine.cli;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.aws.AwsClientProperties;
import org.apache.iceberg.aws.AwsProperties;
import org.apache.iceberg.aws.HttpClientProperties;
import org.apache.iceberg.aws.s3.S3FileIOProperties;
import org.apache.iceberg.rest.auth.AuthProperties;
import org.apache.iceberg.rest.auth.OAuth2Properties;

/**
 * The names of catalog and file-io properties as an environment variable can spell them. A name
 * that Iceberg defines is found whatever its separators ({@code S3_PATH_STYLE_ACCESS} is {@code
 * s3.path-style-access}); of any other name, two underscores are a dot and one is a hyphen.
 */
final class PropertyNames {
  private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9]*([.-][a-z0-9]+)*");
  private static final Pattern SEPARATORS = Pattern.compile("[._-]+");

  private static final List<Class<?>> SOURCES =
      List.of(
          CatalogProperties.class,
          S3FileIOProperties.class,
          AwsProperties.class,
          AwsClientProperties.class,
          HttpClientProperties.class,
          OAuth2Properties.class,
          AuthProperties.class);

  /** Names that no public constant holds, and those that win over one spelt alike. */
  private static final List<String> OTHERS =
      List.of(
          CatalogUtil.ICEBERG_CATALOG_TYPE,
          "jdbc.user",
          "jdbc.password",
          "jdbc.schema-version",
          "jdbc.strict-mode",
          "jdbc.init-catalog-tables",
          "prefix",
          "header.X-Iceberg-Access-Delegation");

  private static final Map<String, String> KNOWN = known();

  private PropertyNames() {}

  /** The property that {@code variable}, the end of an environment variable's name, stands for. */
  static String ofVariable(String variable) {
    String known = KNOWN.get(squeezed(variable));
    return known != null
        ? known
        : variable.toLowerCase(Locale.ROOT).replace("__", ".").replace('_', '-');
  }

  private static String squeezed(String name) {
    return SEPARATORS.matcher(name.toLowerCase(Locale.ROOT)).replaceAll("_");
  }

  private static Map<String, String> known() {
    Map<String, String> names = new HashMap<>();
    for (Class<?> source : SOURCES) {
      for (Field field : source.getFields()) {
        if (Modifier.isStatic(field.getModifiers())
            && field.getType() == String.class
            && !field.getName().endsWith("_DEFAULT")
            && !field.getName().endsWith("_PREFIX")) {
          try {
            String name = (String) field.get(null);
            if (name != null && NAME.matcher(name).matches()) {
              names.putIfAbsent(squeezed(name), name);
            }
          } catch (IllegalAccessException e) {
            throw new IllegalStateException("Cannot read the public constant " + field, e);
          }
        }
      }
    }
    for (String name : OTHERS) {
      names.put(squeezed(name), name);
    }
    return names;
  }
}
