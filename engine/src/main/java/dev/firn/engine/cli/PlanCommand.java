package dev.firn.engine.cli;

import dev.firn.engine.Compaction;
import dev.firn.engine.CompactionListener;
import dev.firn.engine.CompactionPlan;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Says what a compaction would do, file by file, and writes nothing. */
@Command(
    name = "plan",
    description = "Says what compact would do to a table, and why, file by file. Writes nothing.",
    mixinStandardHelpOptions = true,
    versionProvider = Firn.Version.class,
    sortOptions = false,
    usageHelpAutoWidth = true,
    abbreviateSynopsis = true)
final class PlanCommand implements Callable<Integer> {
  private final Terminal terminal;
  private final CompactionFlags flags = new CompactionFlags();
  @Mixin private final RunOptions run = new RunOptions();

  private PlanCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  static CommandLine create(Terminal terminal) {
    PlanCommand command = new PlanCommand(terminal);
    CommandLine line = new CommandLine(command);
    command.flags.addTo(line.getCommandSpec());
    return line;
  }

  @Override
  public Integer call() {
    Logging.configure(run.printing.debug);
    FirnConfig configuration = FirnConfig.load(run.catalog.config, terminal);
    try (OpenTable open = run.open(configuration)) {
      CompactionPlan plan =
          new Compaction(
                  open.table(),
                  run.settings(open.table(), configuration, flags.values(), terminal),
                  CompactionListener.NONE)
              .plan();
      if (run.json()) {
        PlanJson.print(plan, terminal.out());
      } else {
        PlanText.print(plan, terminal.out());
      }
      terminal.out().flush();
      terminal
          .err()
          .println(
              "firn: "
                  + (plan.groups().isEmpty()
                      ? "nothing to do"
                      : "planned, nothing was written; compact would do it")
                  + " (exit code 0)");
      return ExitCode.DONE.code();
    }
  }
}
