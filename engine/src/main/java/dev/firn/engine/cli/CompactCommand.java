package dev.firn.engine.cli;

import dev.firn.engine.Compaction;
import dev.firn.engine.CompactionReport;
import dev.firn.engine.CompactionSettings;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Compacts one table. */
@Command(
    name = "compact",
    description = "Compacts a table: few large files instead of many small ones, deletes applied.",
    mixinStandardHelpOptions = true,
    versionProvider = Firn.Version.class,
    sortOptions = false,
    usageHelpAutoWidth = true,
    abbreviateSynopsis = true)
final class CompactCommand implements Callable<Integer> {
  private final Terminal terminal;
  private final CompactionFlags flags = new CompactionFlags();
  @Mixin private final RunOptions run = new RunOptions();

  private CompactCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  static CommandLine create(Terminal terminal) {
    CompactCommand command = new CompactCommand(terminal);
    CommandLine line = new CommandLine(command);
    command.flags.addTo(line.getCommandSpec());
    return line;
  }

  @Override
  public Integer call() {
    Logging.configure(run.printing.debug);
    FirnConfig configuration = FirnConfig.load(run.catalog.config, terminal);
    try (OpenTable open = run.open(configuration)) {
      CompactionSettings settings =
          run.settings(open.table(), configuration, flags.values(), terminal);
      CompactionReport report;
      try (Progress progress = Progress.on(terminal)) {
        Compaction compaction = new Compaction(open.table(), settings, progress);
        StopSignal.during(compaction::stop);
        report = compaction.run();
      } finally {
        StopSignal.over();
      }
      if (run.json()) {
        ReportJson.print(report, terminal.out());
      } else {
        ReportText.print(report, terminal.out());
      }
      terminal.out().flush();
      terminal.err().println("firn: " + ReportText.outcome(report));
      return report.exitCode();
    }
  }
}
