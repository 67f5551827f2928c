package dev.firn.engine.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.jspecify.annotations.Nullable;

/**
 * A table as it is named on the command line.
 *
 * @param catalog the catalog that the name itself starts with; null if it starts with none
 */
record TableName(@Nullable String catalog, TableIdentifier identifier) {

  /**
   * Reads {@code [catalog.]namespace[.namespace].table}. The first part is a catalog if one of that
   * name is configured and at least a namespace and a table follow. A part in double quotes or
   * backticks may hold dots.
   */
  static TableName parse(String text, Set<String> catalogs) {
    List<String> parts = parts(text);
    if (parts.size() < 2) {
      throw new UsageException(
          "Cannot use the table name '"
              + text
              + "': it must be namespace.table or catalog.namespace.table");
    }
    boolean named = parts.size() > 2 && catalogs.contains(parts.get(0));
    List<String> rest = named ? parts.subList(1, parts.size()) : parts;
    Namespace namespace = Namespace.of(rest.subList(0, rest.size() - 1).toArray(String[]::new));
    return new TableName(
        named ? parts.get(0) : null, TableIdentifier.of(namespace, rest.get(rest.size() - 1)));
  }

  private static List<String> parts(String text) {
    List<String> parts = new ArrayList<>();
    StringBuilder part = new StringBuilder();
    char quote = 0;
    boolean quoted = false;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (quote != 0) {
        if (c != quote) {
          part.append(c);
        } else if (i + 1 < text.length() && text.charAt(i + 1) == quote) {
          part.append(c);
          i++;
        } else {
          quote = 0;
        }
      } else if ((c == '"' || c == '`') && part.isEmpty()) {
        quote = c;
        quoted = true;
      } else if (c == '.') {
        add(text, part, parts);
        quoted = false;
      } else if (quoted) {
        throw new UsageException("Cannot use the table name '" + text + "': text after a quote");
      } else {
        part.append(c);
      }
    }
    if (quote != 0) {
      throw new UsageException("Cannot use the table name '" + text + "': a quote is not closed");
    }
    add(text, part, parts);
    return parts;
  }

  private static void add(String text, StringBuilder part, List<String> parts) {
    if (part.isEmpty()) {
      throw new UsageException("Cannot use the table name '" + text + "': a part of it is empty");
    }
    parts.add(part.toString());
    part.setLength(0);
  }
}
