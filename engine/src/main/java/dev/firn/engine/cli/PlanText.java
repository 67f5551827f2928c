package dev.firn.engine.cli;

import dev.firn.engine.CompactionPlan;
import dev.firn.engine.FileDecision;
import java.io.PrintWriter;
import java.util.Comparator;
import java.util.List;
import org.apache.iceberg.actions.RewriteFileGroup;

/** A plan for people: the groups, then every data file with the reason it is taken or left. */
final class PlanText {
  private PlanText() {}

  static void print(CompactionPlan plan, PrintWriter out) {
    out.println(
        plan.table()
            + ", branch "
            + plan.branch()
            + (plan.snapshotId() == null ? ": empty" : ", snapshot " + plan.snapshotId()));
    if (plan.groups().isEmpty()) {
      out.println("  nothing to do: no file group needs a rewrite");
    } else {
      printGroups(plan, out);
    }
    if (!plan.decisions().isEmpty()) {
      out.println();
      printFiles(plan.decisions(), out);
    }
  }

  private static void printGroups(CompactionPlan plan, PrintWriter out) {
    out.println(
        "  "
            + ReportText.count(plan.inputFiles())
            + " files, "
            + ByteSize.format(plan.inputBytes())
            + ", in "
            + plan.groups().size()
            + (plan.groups().size() == 1 ? " group" : " groups"));
    out.println();
    AlignedTable groups =
        new AlignedTable("  ", ">group", "partition", ">files", ">bytes", ">files after");
    for (int i = 0; i < plan.groups().size(); i++) {
      RewriteFileGroup group = plan.groups().get(i);
      String partition = plan.groupPartitions().get(i);
      groups.row(
          group.info().globalIndex(),
          partition.isEmpty() ? "-" : partition,
          ReportText.count(group.inputFileNum()),
          ByteSize.format(group.inputFilesSizeInBytes()),
          "~" + group.expectedOutputFiles());
    }
    groups.print(out);
    out.println();
    MemoryText.print(plan.memory(), out);
    if (plan.scratchBytes() > 0) {
      out.println("  scratch: about " + ByteSize.format(plan.scratchBytes()) + " at once");
    }
    if (plan.memoryBytesNeeded() > 0) {
      out.println(
          "  too little memory: compact would refuse; it needs at least --memory "
              + ((plan.memoryBytesNeeded() >> 20) + 1)
              + "m");
    }
  }

  private static void printFiles(List<FileDecision> decisions, PrintWriter out) {
    AlignedTable files =
        new AlignedTable(
            "  ", ">group", "reason", ">bytes", ">rows", ">deletes", "partition", "file", "detail");
    decisions.stream()
        .sorted(
            Comparator.comparing(FileDecision::chosen)
                .reversed()
                .thenComparing(file -> file.group() == null ? 0 : file.group())
                .thenComparing(FileDecision::partition)
                .thenComparing(FileDecision::location))
        .forEach(
            file ->
                files.row(
                    file.group() == null ? "-" : file.group(),
                    file.reason().text(),
                    ByteSize.format(file.bytes()),
                    ReportText.count(file.rows()),
                    file.deleteFiles(),
                    file.partition().isEmpty() ? "-" : file.partition(),
                    file.location().substring(file.location().lastIndexOf('/') + 1),
                    file.detail()));
    files.print(out);
  }
}
