package dev.firn.bench.sidebyside;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Arrays;
import java.util.Locale;

/** A table and what is to be done to it. {@link TableGenerator} makes the table. */
enum Case {
  CLEAN("bin-pack of 64 files without deletes"),
  POSITION_DELETES("5 % of the rows deleted by position (v2, one delete file for a data file)"),
  DELETION_VECTORS("5 % of the rows deleted by deletion vectors (v3)"),
  CLUSTERED_DELETES("every second row deleted in one run of 5 % of the rows (v2)"),
  EQUALITY_DELETES(
      "20 upsert commits of 10,000 keys (or 1 % of the rows), as Flink writes them (v2)"),
  SORT("sort by ship_date, k", Layout.SORT),
  Z_ORDER("z-order by k, ship_date", Layout.Z_ORDER),
  PARTITIONS("64 partitions, 5 % deleted by position (v2, one delete file for a partition)"),
  WIDE("200 columns, a twentieth of the rows"),
  NESTED("structs, lists and maps, 5 % deleted by position, a quarter of the rows"),
  TINY("a file for each 1,000 rows, about 50 KB"),
  HUGE("one file");

  private final String description;
  private final Layout layout;

  Case(String description) {
    this(description, Layout.BIN_PACK);
  }

  Case(String description, Layout layout) {
    this.description = description;
    this.layout = layout;
  }

  /** What is special about the table. */
  String description() {
    return description;
  }

  Layout layout() {
    return layout;
  }

  /** The name on the command line and in results, such as {@code position-deletes}. */
  String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  @Override
  @JsonValue
  public String toString() {
    return label();
  }

  /** The table's name in the namespace {@code db}. */
  String tableName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Rows of the table, before deletes, where a table of ordinary width has {@code rows}. */
  long rows(long rows) {
    if (this == WIDE) {
      return Math.max(1, rows / 20);
    }
    return this == NESTED ? Math.max(1, rows / 4) : rows;
  }

  /** The case of a label; refuses others and names those there are. */
  static Case of(String label) {
    return Arrays.stream(values())
        .filter(each -> each.label().equals(label))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    label + " is no case; there are " + Arrays.toString(values())));
  }
}
