package dev.firn.engine.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * Rows of text with aligned columns: numbers to the right, words to the left. The widths come from
 * the rows, so all rows are held until they are printed. Not thread-safe.
 */
final class AlignedTable {
  private final String indent;
  private final boolean[] right;
  private final List<List<String>> rows = new ArrayList<>();

  /**
   * @param header the first row; a name that starts with {@code >} heads a column of numbers
   */
  AlignedTable(String indent, String... header) {
    this.indent = indent;
    this.right = new boolean[header.length];
    List<String> names = new ArrayList<>();
    for (int i = 0; i < header.length; i++) {
      right[i] = header[i].startsWith(">");
      names.add(right[i] ? header[i].substring(1) : header[i]);
    }
    rows.add(names);
  }

  AlignedTable row(Object... cells) {
    if (cells.length != right.length) {
      throw new IllegalArgumentException(
          "A row has " + cells.length + " cells, but the table has " + right.length + " columns");
    }
    List<String> row = new ArrayList<>();
    for (Object cell : cells) {
      row.add(String.valueOf(cell));
    }
    rows.add(row);
    return this;
  }

  void print(PrintWriter out) {
    int[] widths = new int[right.length];
    for (List<String> row : rows) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], row.get(i).length());
      }
    }
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder(indent);
      for (int i = 0; i < widths.length; i++) {
        String cell = row.get(i);
        String blanks = " ".repeat(widths[i] - cell.length());
        line.append(i == 0 ? "" : "  ").append(right[i] ? blanks + cell : cell + blanks);
      }
      out.println(line.toString().stripTrailing());
    }
  }
}
