package dev.firn.engine.cli;

import dev.firn.engine.Compaction;
import dev.firn.engine.CompactionReport;
import dev.firn.engine.CompactionSettings;
import dev.firn.engine.Layout;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.jdbc.JdbcCatalog;
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
  private static final String CATALOG = "demo";
  private static final int CUSTOMERS = 5_000;
  private static final int DEVICES = 2_000;

  private final Terminal terminal;

  @Option(
      names = "--dir",
      paramLabel = "DIR",
      description = "Where the warehouse is made; made anew if a demo made it. Default: firn-demo.")
  private Path directory = Path.of("firn-demo");

  @Option(
      names = "--memory",
      paramLabel = "SIZE",
      description = "All memory the process may use, heap and native.")
  private String memory = "";

  @Option(names = "--debug", description = "Log more, and show stack traces.")
  private boolean debug;

  private DemoCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  static CommandLine create(Terminal terminal) {
    return new CommandLine(new DemoCommand(terminal));
  }

  @Override
  public Integer call() throws IOException {
    Logging.configure(debug);
    Path root = terminal.directory().resolve(directory).normalize();
    DemoDirectory.prepare(root);
    Map<String, String> properties =
        Map.of(
            "type",
            "jdbc",
            "uri",
            "jdbc:sqlite:" + root.resolve("catalog.db"),
            "warehouse",
            root.resolve("warehouse").toString(),
            "jdbc.schema-version",
            "V1");
    writeConfiguration(root, properties);
    boolean good;
    try (JdbcCatalog catalog =
        (JdbcCatalog) CatalogUtil.buildIcebergCatalog(CATALOG, properties, new Configuration())) {
      catalog.createNamespace(Namespace.of("demo"));
      say("making demo.orders and demo.events in " + root);
      Table orders = DemoTables.orders(catalog);
      Table events = DemoTables.events(catalog);

      // A small target, so that the sort shows: several files, and each customer in one of them.
      good =
          compact(
              orders,
              "format v2; upserts as equality deletes, position deletes; sort order customer, ts",
              settings().option("target-file-size-bytes", "524288").layout(tableOrder()).build(),
              new Lookup("customer", CUSTOMERS, "the same rows"));
      good &=
          compact(
              events,
              "format v3; partitioned by day, deletion vectors",
              settings().build(),
              new Lookup("device", DEVICES, "the same rows and row ids"));
    }
    PrintWriter out = terminal.out();
    out.println("Look around:  firn plan demo.orders --config " + shown(root));
    out.flush();
    ExitCode code = good ? ExitCode.DONE : ExitCode.FAILED;
    terminal
        .err()
        .println(
            "firn: "
                + (good ? "done: both tables hold the rows they held" : "the demo went wrong")
                + " (exit code "
                + code.code()
                + ")");
    return code.code();
  }

  /**
   * A column that readers look single values up by.
   *
   * @param kept what is the same in the table when its census says so
   */
  private record Lookup(String column, int values, String kept) {}

  private boolean compact(Table table, String what, CompactionSettings settings, Lookup lookup) {
    DemoCensus before = DemoCensus.of(table, lookup.column, lookup.values);
    CompactionReport report;
    try (Progress progress = Progress.on(terminal)) {
      report = new Compaction(table, settings, progress).run();
    }
    table.refresh();
    DemoCensus after = DemoCensus.of(table, lookup.column, lookup.values);

    PrintWriter out = terminal.out();
    out.println(shortName(table) + "  (" + what + ")");
    boolean same = after.sameRows(before);
    AlignedTable numbers = new AlignedTable("  ", "", ">before", ">after", "");
    numbers.row("data files", count(before.dataFiles()), count(after.dataFiles()), "");
    numbers.row("delete files", count(before.deleteFiles()), count(after.deleteFiles()), "");
    numbers.row("bytes", ByteSize.format(before.bytes()), ByteSize.format(after.bytes()), "");
    numbers.row(
        "live rows",
        count(before.rows()),
        count(after.rows()),
        same ? lookup.kept : "NOT THE SAME ROWS");
    numbers.row(
        "files a lookup of one " + lookup.column + " opens",
        average(before.filesPerLookup()),
        average(after.filesPerLookup()),
        "");
    numbers.print(out);
    out.println(
        String.format(
            Locale.ROOT,
            "  compacted in %.1f s, peak memory %s",
            report.seconds().total(),
            ByteSize.format(report.peakMemoryBytes())));
    report.failures().forEach(failure -> out.println("  failed: " + failure.message()));
    out.println();
    out.flush();
    return same && report.exitCode() == 0;
  }

  private CompactionSettings.Builder settings() {
    CompactionSettings.Builder builder = CompactionSettings.builder();
    return memory.isEmpty() ? builder : builder.memoryBytes(ByteSize.parse("--memory", memory));
  }

  private static Layout tableOrder() {
    return new Layout.TableOrder();
  }

  private static void writeConfiguration(Path root, Map<String, String> properties) {
    StringBuilder yaml = new StringBuilder("catalogs:\n  " + CATALOG + ":\n");
    new java.util.TreeMap<>(properties)
        .forEach(
            (key, value) ->
                yaml.append("    ")
                    .append(key)
                    .append(": '")
                    .append(value.replace("'", "''"))
                    .append("'\n"));
    try {
      Files.writeString(root.resolve(FirnConfig.FILE_NAME), yaml);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write " + root.resolve(FirnConfig.FILE_NAME), e);
    }
  }

  private void say(String words) {
    terminal.err().println("firn: " + words);
    terminal.err().flush();
  }

  private Path shown(Path root) {
    return terminal.directory().relativize(root).resolve(FirnConfig.FILE_NAME);
  }

  private static String shortName(Table table) {
    return table.name().startsWith(CATALOG + ".demo.")
        ? table.name().substring(CATALOG.length() + 1)
        : table.name();
  }

  private static String count(long value) {
    return ReportText.count(value);
  }

  private static String average(double value) {
    return String.format(Locale.ROOT, "%.1f", value);
  }
}
