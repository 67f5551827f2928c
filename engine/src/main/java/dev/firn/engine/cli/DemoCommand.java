package dev.firn.engine.cli;

import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Makes tables that have been lived in, compacts them, and shows the difference. */
@Command(
    name = "demo",
    description = "Makes two local tables that have been lived in, and compacts them.",
    mixinStandardHelpOptions = true,
    versionProvider = Firn.Version.class,
    usageHelpAutoWidth = true)
final class DemoCommand implements Callable<Integer> {
  private final Terminal terminal;

  @Option(
      names = "--dir",
      paramLabel = "DIR",
      description = "Where the warehouse is made; made anew if a demo made it. Default: firn-demo.")
  private Path directory = Path.of("firn-demo");

  private DemoCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  static CommandLine create(Terminal terminal) {
    return new CommandLine(new DemoCommand(terminal));
  }

  @Override
  public Integer call() {
    throw new UsageException(
        "The demo is not built yet: " + terminal.directory().resolve(directory));
  }
}
