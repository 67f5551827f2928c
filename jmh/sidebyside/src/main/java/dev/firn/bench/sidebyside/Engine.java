package dev.firn.bench.sidebyside;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Arrays;
import java.util.Locale;

/** What rewrites a table's files. */
enum Engine {
  FIRN("Firn"),
  SPARK("Spark"),
  GENERICS("Iceberg generics"),
  DUCKDB("DuckDB `COPY`"),
  COPY("copying the bytes");

  private final String title;

  Engine(String title) {
    this.title = title;
  }

  /** The name in tables. */
  String title() {
    return title;
  }

  String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  @Override
  @JsonValue
  public String toString() {
    return label();
  }

  /** Whether what it leaves is a commit to the table; others leave files beside it. */
  boolean commits() {
    return this == FIRN || this == SPARK || this == GENERICS;
  }

  /** Whether it has a way to this layout. A sort by the generics would be one in memory. */
  boolean understands(Layout layout) {
    if (this == GENERICS) {
      return layout == Layout.BIN_PACK;
    }
    return this != DUCKDB || layout != Layout.Z_ORDER;
  }

  /** The engine of a label; refuses others and names those there are. */
  static Engine of(String label) {
    return Arrays.stream(values())
        .filter(each -> each.label().equals(label))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    label + " is no engine; there are " + Arrays.toString(values())));
  }
}
