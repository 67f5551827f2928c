package dev.firn.engine.cli;

import java.io.PrintWriter;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command {@code firn}. */
@Command(
    name = "firn",
    description = "Compacts Apache Iceberg tables: small files and delete files go, rows stay.",
    mixinStandardHelpOptions = true,
    versionProvider = Firn.Version.class,
    synopsisSubcommandLabel = "COMMAND",
    usageHelpAutoWidth = true,
    commandListHeading = "%nCommands:%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExit codes:%n",
    footer = {
      "  0  done, or nothing to do",
      "  1  failed for another reason than those below",
      "  2  usage error, nothing was started",
      "  3  some groups failed, the rest is committed",
      "  4  nothing committed because of conflicts",
      "  5  commit state unknown, nothing was deleted",
      "  6  corrupt or unsupported input",
      "  7  memory or disk does not suffice",
      "  8  the rows are not the same",
      "  9  stopped on request, run again for the rest",
      "",
      "Try: firn demo",
    })
public final class Firn implements Runnable {
  private static final String LOGBACK_PROPERTY = "logback.configurationFile";

  @CommandLine.Spec private CommandLine.Model.CommandSpec spec;

  Firn(Terminal terminal) {
    Objects.requireNonNull(terminal);
    spec = CommandLine.Model.CommandSpec.create(); // replaced when the command line is built
  }

  /**
   * Runs the command and ends the process with its exit code.
   *
   * @param args the command line
   */
  public static void main(String[] args) {
    logAsCommand();
    StopSignal.install();
    System.exit(run(Terminal.ofProcess(), args));
  }

  /* Before the first logger is made. Not logback.xml at the root of the jar, for that would
  configure the logging of programs that embed Firn. */
  static void logAsCommand() {
    if (System.getProperty(LOGBACK_PROPERTY) == null) {
      System.setProperty(LOGBACK_PROPERTY, "dev/firn/engine/cli/logback.xml");
    }
  }

  /** Runs a command line to its end and returns the exit code. */
  static int run(Terminal terminal, String... args) {
    try {
      return commandLine(terminal, args).execute(args);
    } catch (Throwable e) { // an Error, which picocli lets through
      return Failures.report(e, terminal, List.of(args).contains("--debug"));
    } finally {
      terminal.out().flush();
      terminal.err().flush();
    }
  }

  /** The command with all its commands. */
  static CommandLine commandLine(Terminal terminal) {
    return commandLine(terminal, new String[0]);
  }

  /* What a command may be told is costly to list, so only the one that is called is made. */
  private static CommandLine commandLine(Terminal terminal, String[] words) {
    CommandLine firn = new CommandLine(new Firn(terminal));
    switch (words.length == 0 ? "" : words[0]) {
      case "plan" -> firn.addSubcommand(PlanCommand.create(terminal));
      case "compact" -> firn.addSubcommand(CompactCommand.create(terminal));
      case "verify" -> firn.addSubcommand(VerifyCommand.create(terminal));
      default -> {
        firn.addSubcommand(DemoCommand.create(terminal));
        firn.addSubcommand(PlanCommand.create(terminal));
        firn.addSubcommand(CompactCommand.create(terminal));
        firn.addSubcommand(VerifyCommand.create(terminal));
        firn.addSubcommand(new CommandLine.HelpCommand());
      }
    }
    firn.setOut(terminal.out());
    firn.setErr(terminal.err());
    firn.setCaseInsensitiveEnumValuesAllowed(true);
    firn.setParameterExceptionHandler(
        (e, args) -> {
          refused(e, terminal);
          return ExitCode.USAGE.code();
        });
    firn.setExecutionExceptionHandler(
        (e, commandLine, parsed) ->
            Failures.report(e, terminal, parsed.expandedArgs().contains("--debug")));
    return firn;
  }

  /** Without a command: the help, and exit code 2, for nothing was done. */
  @Override
  public void run() {
    throw new ParameterException(
        spec.commandLine(), "A command is missing: demo, plan, compact or verify");
  }

  private static void refused(ParameterException e, Terminal terminal) {
    PrintWriter err = terminal.err();
    CommandLine command = e.getCommandLine();
    err.println("firn: " + e.getMessage() + hint(e, command));
    err.println("Try: " + command.getCommandSpec().qualifiedName() + " --help");
    Failures.lastLine(err, ExitCode.USAGE);
  }

  private static String hint(ParameterException e, CommandLine command) {
    if (!(e instanceof UnmatchedArgumentException unmatched)
        || unmatched.getUnmatched().isEmpty()) {
      return "";
    }
    String word = unmatched.getUnmatched().get(0);
    if (word.startsWith("-")) {
      int value = word.indexOf('=');
      return Nearest.hint(
          value < 0 ? word : word.substring(0, value),
          command.getCommandSpec().optionsMap().keySet());
    }
    return command.getSubcommands().isEmpty()
        ? ""
        : Nearest.hint(word, command.getSubcommands().keySet());
  }

  /** The version of this jar and of the Iceberg library in use. */
  static final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
      String own = Firn.class.getPackage().getImplementationVersion();
      return Stream.of(
              "firn " + (own == null ? "(not packaged)" : own),
              "Iceberg " + org.apache.iceberg.IcebergBuild.version(),
              "Java " + Runtime.version() + ", " + System.getProperty("java.vm.name"))
          .toArray(String[]::new);
    }
  }
}
