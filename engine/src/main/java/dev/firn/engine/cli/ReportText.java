package dev.firn.engine.cli;

import dev.firn.engine.CompactionReport;
import dev.firn.engine.CompactionReport.Failure;
import dev.firn.engine.CompactionReport.UnmatchedDeletes;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.StringJoiner;
import java.util.stream.Collectors;

/** A report for people. */
final class ReportText {
  private ReportText() {}

  static void print(CompactionReport report, PrintWriter out) {
    out.println(report.table() + ", branch " + report.branch() + ", run " + report.runId());
    if (report.groups().planned() == 0 && report.failures().isEmpty()) {
      out.println("  nothing to do: no file group needs a rewrite");
      return;
    }
    AlignedTable table = new AlignedTable("  ", "", ">read", ">written");
    table.row(
        "data files", count(report.dataFiles().rewritten()), count(report.dataFiles().added()));
    table.row(
        "bytes", ByteSize.format(report.bytes().read()), ByteSize.format(report.bytes().written()));
    table.row("rows", count(report.rows().read()), count(report.rows().written()));
    table.print(out);
    out.println();
    AlignedTable rest = new AlignedTable("  ", "rows deleted", count(report.rows().deleted()));
    if (report.rows().verified() > 0) {
      rest.row("rows verified", count(report.rows().verified()));
    }
    if (report.rows().carriedOver() > 0) {
      rest.row("deleted meanwhile, carried over", count(report.rows().carriedOver()));
    }
    rest.row("delete files removed", count(report.deleteFilesRemoved()));
    rest.row("deletes without a row", unmatched(report.unmatchedDeletes()));
    rest.row("moved", moved(report.moved()));
    rest.row(
        "groups",
        report.groups().committed()
            + " of "
            + report.groups().planned()
            + " committed"
            + (report.groups().failed() > 0 ? ", " + report.groups().failed() + " failed" : ""));
    rest.row(
        "snapshots",
        report.snapshotsCommitted().isEmpty()
            ? "none"
            : report.snapshotsCommitted().stream()
                .map(String::valueOf)
                .collect(Collectors.joining(", ")));
    rest.row(
        "seconds",
        String.format(
            Locale.ROOT,
            "%.2f (plan %.2f, rewrite %.2f, commit %.2f)",
            report.seconds().total(),
            report.seconds().plan(),
            report.seconds().rewrite(),
            report.seconds().commit()));
    Long scratch = report.memory().peakScratchBytes();
    if (scratch != null && scratch > 0) {
      rest.row("scratch disk", ByteSize.format(scratch));
    }
    rest.print(out);
    out.println();
    MemoryText.print(report.memory(), out);
    for (Failure failure : report.failures()) {
      out.println(
          "  "
              + (failure.group() == 0 ? "failed" : "group " + failure.group() + " failed")
              + " ("
              + failure.kind().name().toLowerCase(Locale.ROOT)
              + "): "
              + failure.message());
    }
  }

  private static String unmatched(UnmatchedDeletes deletes) {
    StringJoiner kinds = new StringJoiner(", ");
    addTo(kinds, deletes.equalityKeys(), "equality keys");
    addTo(kinds, deletes.positionsElsewhere(), "positions of other files");
    addTo(
        kinds,
        deletes.positionsBeyond() + deletes.vectorPositionsBeyond(),
        "positions past the end");
    addTo(kinds, deletes.positionsRepeated(), "repeated positions");
    return deletes.sum() == 0
        ? "none"
        : kinds + " (within their group; they may have rows elsewhere)";
  }

  private static void addTo(StringJoiner kinds, long deletes, String kind) {
    if (deletes > 0) {
      kinds.add(count(deletes) + " " + kind);
    }
  }

  /** The exit code in words, with the numbers that matter. */
  static String outcome(CompactionReport report) {
    ExitCode code = ExitCode.of(report.exitCode());
    String words = code.words();
    if (code == ExitCode.DONE) {
      words =
          report.groups().planned() == 0
              ? "nothing to do"
              : report.groups().committed() == 0
                  ? "nothing committed, nothing left to do: others had rewritten what was planned"
                  : "done: "
                      + files(report.dataFiles().rewritten())
                      + " became "
                      + count(report.dataFiles().added())
                      + ", "
                      + count(report.deleteFilesRemoved())
                      + " delete files removed";
    }
    return words + " (exit code " + code.code() + ")";
  }

  private static String files(long files) {
    return count(files) + (files == 1 ? " file" : " files");
  }

  /** A count with its thousands apart: {@code 1,234,567}. */
  static String count(long value) {
    return String.format(Locale.ROOT, "%,d", value);
  }

  private static String moved(CompactionReport.Moved moved) {
    StringJoiner parts = new StringJoiner(", ");
    if (moved.spliced() > 0) {
      parts.add(ByteSize.format(moved.spliced()) + " in pages as they are");
    }
    if (moved.filtered() > 0) {
      parts.add(ByteSize.format(moved.filtered()) + " in pages that were filtered");
    }
    if (moved.transcoded() > 0) {
      parts.add(
          ByteSize.format(moved.transcoded())
              + " decoded ("
              + String.join(", ", moved.reasons().keySet())
              + ")");
    }
    return parts.length() == 0 ? "nothing" : parts.toString();
  }
}
