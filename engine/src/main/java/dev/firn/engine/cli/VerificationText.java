package dev.firn.engine.cli;

import dev.firn.engine.VerificationReport;
import dev.firn.engine.VerificationReport.Difference;
import dev.firn.engine.VerificationReport.DifferingFile;
import dev.firn.engine.VerificationReport.Example;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.stream.Collectors;

/** What a verification has shown, for people. */
final class VerificationText {
  private VerificationText() {}

  static void print(VerificationReport report, PrintWriter out) {
    out.println(
        report.table() + ", snapshots " + report.from() + " (from) and " + report.to() + " (to)");
    AlignedTable table = new AlignedTable("  ", "", ">from", ">to");
    table.row(
        "rows compared",
        ReportText.count(report.rows().from()),
        ReportText.count(report.rows().to()));
    table.row(
        "data files read",
        ReportText.count(report.dataFiles().from()),
        ReportText.count(report.dataFiles().to()));
    table.print(out);
    if (report.dataFiles().shared() > 0) {
      out.println(
          "  "
              + ReportText.count(report.dataFiles().shared())
              + " data files are in both with the same deletes and were not read");
    }
    out.println("  " + report.columns().size() + " columns compared");
    if (!report.notCompared().isEmpty()) {
      out.println("  not compared: " + String.join(", ", report.notCompared()));
    }
    out.println(String.format(Locale.ROOT, "  %.2f seconds", report.seconds()));
    Difference difference = report.difference();
    if (difference != null) {
      out.println();
      print(report, difference, out);
    }
  }

  private static void print(VerificationReport report, Difference difference, PrintWriter out) {
    out.println(
        (difference.partition().isEmpty()
                ? "The rows differ"
                : "The rows of partition " + difference.partition() + " differ")
            + (difference.partitions() > 1
                ? ", the first of " + difference.partitions() + " partitions that do"
                : "")
            + ": "
            + ReportText.count(difference.rows().from())
            + " in from, "
            + ReportText.count(difference.rows().to())
            + " in to");
    out.println("  columns: " + columns(report, difference));
    out.println(
        "  rows that the other snapshot has not, or not as often"
            + (difference.complete() ? ":" : " (counted in part, for want of memory):"));
    for (DifferingFile file : difference.files()) {
      out.println(
          "    "
              + side(file.side())
              + ": "
              + ReportText.count(file.rows())
              + (file.rows() == 1 ? " row" : " rows")
              + " of "
              + file.file());
    }
    for (Example example : difference.examples()) {
      out.println(
          "  "
              + side(example.side())
              + ", "
              + example.file().substring(example.file().lastIndexOf('/') + 1)
              + ", position "
              + example.position()
              + ": "
              + example.values().entrySet().stream()
                  .map(value -> value.getKey() + " = " + value.getValue())
                  .collect(Collectors.joining(", ")));
    }
  }

  private static String columns(VerificationReport report, Difference difference) {
    if (difference.columns().isEmpty()) {
      return "all hold the same values, but in other rows";
    }
    return difference.columns().size() == report.columns().size()
        ? "all"
        : String.join(", ", difference.columns());
  }

  private static String side(VerificationReport.Side side) {
    return side.name().toLowerCase(Locale.ROOT);
  }

  /** The exit code in words. */
  static String outcome(VerificationReport report) {
    ExitCode code = ExitCode.of(report.exitCode());
    return (code == ExitCode.DONE ? "done: both snapshots hold the same rows" : code.words())
        + " (exit code "
        + code.code()
        + ")";
  }
}
