package dev.firn.engine.cli;

import dev.firn.engine.Verification;
import dev.firn.engine.VerificationReport;
import dev.firn.engine.VerificationSettings;
import java.util.concurrent.Callable;
import org.apache.iceberg.SnapshotRef;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Compares the rows of two snapshots of a table. */
@Command(
    name = "verify",
    description = {
      "Proves that two snapshots of a table hold the same live rows, or says where they differ.",
      "Without --from and --to: what the last run of firn compact has made against what it was"
          + " made from. Writes nothing."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Firn.Version.class,
    sortOptions = false,
    usageHelpAutoWidth = true,
    abbreviateSynopsis = true)
final class VerifyCommand implements Callable<Integer> {
  private final Terminal terminal;

  @Parameters(
      paramLabel = "TABLE",
      description = "namespace.table, or catalog.namespace.table of a configured catalog.")
  private String table = "";

  @ArgGroup(validate = false, order = 1, heading = "%nCatalog:%n", multiplicity = "0..1")
  private CatalogOptions catalog = new CatalogOptions();

  @ArgGroup(validate = false, order = 2, heading = "%nWhat to compare:%n", multiplicity = "0..1")
  private Pair pair = new Pair();

  @ArgGroup(validate = false, order = 30, heading = "%nThis machine:%n", multiplicity = "0..1")
  private RunOptions.Machine machine = new RunOptions.Machine();

  @ArgGroup(validate = false, order = 40, heading = "%nOutput:%n", multiplicity = "0..1")
  private RunOptions.Printing printing = new RunOptions.Printing();

  /** Which snapshots. */
  static final class Pair {
    @Option(
        names = "--from",
        paramLabel = "SNAPSHOT",
        description =
            "Snapshot id, branch or tag. Default: the newest ancestor of --to that the run of"
                + " compact that made --to has not made; of other snapshots the parent.")
    @Nullable String from; // null: not given

    @Option(
        names = "--to",
        paramLabel = "SNAPSHOT",
        description = "Snapshot id, branch or tag. Default: the head of the branch.")
    @Nullable String to; // null: not given

    @Option(names = "--branch", paramLabel = "NAME", description = "Branch. Default: main.")
    String branch = SnapshotRef.MAIN_BRANCH;

    @Option(
        names = "--full",
        description =
            "Read also the data files that both snapshots have with the same deletes, and whose"
                + " rows are the same by that alone.")
    boolean full;
  }

  private VerifyCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  static CommandLine create(Terminal terminal) {
    return new CommandLine(new VerifyCommand(terminal));
  }

  @Override
  public Integer call() {
    Logging.configure(printing.debug);
    FirnConfig configuration = FirnConfig.load(catalog.config, terminal);
    try (OpenTable open = RunOptions.open(table, catalog, configuration)) {
      VerificationReport report;
      try (VerifyProgress progress = VerifyProgress.on(terminal)) {
        report = new Verification(open.table(), settings(), progress).run();
      }
      if (printing.output == RunOptions.Output.JSON) {
        terminal.out().println(ReportJson.text(report));
      } else {
        VerificationText.print(report, terminal.out());
      }
      terminal.out().flush();
      terminal.err().println("firn: " + VerificationText.outcome(report));
      return report.exitCode();
    }
  }

  private VerificationSettings settings() {
    VerificationSettings settings =
        VerificationSettings.defaults()
            .withBranch(pair.branch)
            .withSnapshots(pair.from, pair.to)
            .withFull(pair.full);
    if (machine.memory != null) {
      settings = settings.withMemoryBytes(ByteSize.parse("--memory", machine.memory));
    }
    if (machine.scratch != null) {
      settings = settings.withScratch(RunOptions.scratch(terminal, machine.scratch));
    }
    return settings;
  }
}
