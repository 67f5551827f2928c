package dev.firn.engine.cli;

import dev.firn.engine.MemoryUse;
import java.io.PrintWriter;
import org.jspecify.annotations.Nullable;

/** The memory limit, its parts, and after a run what was held of each. */
final class MemoryText {
  private MemoryText() {}

  static void print(MemoryUse memory, PrintWriter out) {
    boolean used = memory.peakResidentBytes() != null;
    AlignedTable table =
        used
            ? new AlignedTable("  ", "memory", ">limit", ">peak")
            : new AlignedTable("  ", "memory", ">limit");
    row(table, used, "process", memory.limitBytes(), memory.peakResidentBytes());
    for (MemoryUse.Share share : memory.shares()) {
      row(table, used, share.name(), share.limitBytes(), share.peakBytes());
    }
    table.print(out);
  }

  private static void row(
      AlignedTable table, boolean used, String name, long limit, @Nullable Long peak) {
    if (used) {
      table.row(name, ByteSize.format(limit), peak == null ? "" : ByteSize.format(peak));
    } else {
      table.row(name, ByteSize.format(limit));
    }
  }
}
