package dev.firn.bench.sidebyside;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.IcebergBuild;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Compacts the same tables with Firn and with other engines, in turn, each in a process of its own;
 * checks that all leave the same rows, and prints what each has taken. {@code jmh/side-by-side}
 * starts it.
 */
@Command(
    name = "side-by-side",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description =
        "Compacts the same tables with Firn, Spark, Iceberg's generic readers and writers, and"
            + " DuckDB, in turn; prints a Markdown table of what each has taken.")
public final class SideBySide implements Callable<Integer> {
  private static final String BEGIN = "<!-- side-by-side: begin -->";
  private static final String END = "<!-- side-by-side: end -->";
  private static final int JAVA_MAX =
      23; // later ones have no Subject.getSubject, which Hadoop calls
  private static final List<String> PLACES = List.of("--warehouse", "--firn", "--firn-java");
  private static final String SMALL_HEAP = "256m"; // of the JVM around DuckDB

  @Spec private @Nullable CommandSpec spec;

  @Option(
      names = "--warehouse",
      required = true,
      paramLabel = "DIR",
      description =
          "Where the tables are, or will be generated; beside them results.jsonl, logs and scratch.")
  private Path directory = Path.of("");

  @Option(
      names = "--rows",
      defaultValue = "20000000",
      paramLabel = "N",
      description = "Rows of a table of ordinary width. Default: ${DEFAULT-VALUE}.")
  private long rows;

  @Option(names = "--seed", defaultValue = "1", paramLabel = "N", description = "Default: 1.")
  private long seed;

  @Option(
      names = "--cases",
      split = ",",
      paramLabel = "CASE",
      description = "Default is all: ${COMPLETION-CANDIDATES}.")
  private List<Case> cases = List.of(Case.values());

  @Option(
      names = "--engines",
      split = ",",
      paramLabel = "ENGINE",
      description = "Default is all: ${COMPLETION-CANDIDATES}.")
  private List<Engine> engines = List.of(Engine.values());

  @Option(
      names = "--repeat",
      defaultValue = "1",
      paramLabel = "N",
      description = "Rounds, in each of which every engine has a turn; medians are shown.")
  private int rounds;

  @Option(
      names = "--threads",
      defaultValue = "2",
      paramLabel = "N",
      description = "Cores that every engine gets. Default: ${DEFAULT-VALUE}.")
  private int threads;

  @Option(
      names = "--memory",
      defaultValue = "1g",
      paramLabel = "SIZE",
      description = "Limit of Firn and of DuckDB. Default: ${DEFAULT-VALUE}.")
  private String memory = "";

  @Option(
      names = "--heap",
      defaultValue = "6g",
      paramLabel = "SIZE",
      description = "Heap of Spark and of the generics. Default: ${DEFAULT-VALUE}.")
  private String heap = "";

  @Option(
      names = "--target-file-size",
      defaultValue = "128MB",
      paramLabel = "SIZE",
      description = "Size that output files are to have. Default: ${DEFAULT-VALUE}.")
  private String targetFileSize = "";

  @Option(
      names = "--firn",
      paramLabel = "FILE",
      description = "Firn's launcher; default is that of this checkout.")
  private @Nullable Path launcher;

  @Option(
      names = "--firn-java",
      paramLabel = "DIR",
      description =
          "The Java that Firn runs on, such as that of its container; default is that of all.")
  private @Nullable Path javaOfFirn;

  @Option(names = "--generate-only", description = "Generates the tables and ends.")
  private boolean generateOnly;

  @Option(
      names = "--write",
      paramLabel = "FILE",
      description = "Puts the tables into this Markdown file, between its two marks.")
  private @Nullable Path document;

  private Warehouse warehouse = new Warehouse(Path.of(""));
  private String firn = "";

  private SideBySide() {}

  /** Runs the command line and ends with its exit code: 1 if any result was not right. */
  public static void main(String[] args) {
    System.exit(run(args));
  }

  static int run(String... args) {
    return new CommandLine(new SideBySide())
        .registerConverter(Case.class, Case::of)
        .registerConverter(Engine.class, Engine::of)
        .execute(args);
  }

  @Override
  public Integer call() throws Exception {
    checkMachine();
    warehouse = new Warehouse(Files.createDirectories(directory));
    Files.createDirectories(logs());
    generate();
    if (generateOnly) {
      return 0;
    }
    Report report = new Report(engines, setting());
    for (Case which : cases) {
      measure(which, report);
      // After each case, as there are many and any may be the last that one waits for.
      Files.writeString(warehouse.directory().resolve("report.md"), report.markdown());
      Path target = document;
      if (target != null) {
        replaceBetweenMarks(target, report.markdown());
      }
    }
    out().println(report.markdown());
    return report.isSound() ? 0 : 1;
  }

  private void checkMachine() throws IOException, InterruptedException {
    if (Runtime.version().feature() > JAVA_MAX) {
      throw new ParameterException(
          commandLine(),
          "Java is "
              + Runtime.version().feature()
              + ", which Spark's Hadoop does not run on; set JAVA_HOME to a Java 17 to "
              + JAVA_MAX);
    }
    if (threads > Runtime.getRuntime().availableProcessors()) {
      throw new ParameterException(
          commandLine(), "--threads is " + threads + ", which is more than this machine's cores");
    }
    if (!onCores().isEmpty()
        && new ProcessBuilder("sh", "-c", "command -v taskset >/dev/null").start().waitFor() != 0) {
      throw new ParameterException(
          commandLine(),
          "This machine has more than "
              + threads
              + " cores, and there is no taskset to keep engines to some of them; give --threads");
    }
  }

  /** What keeps a command to as many cores as there are threads; nothing if these are all. */
  private List<String> onCores() {
    return threads == Runtime.getRuntime().availableProcessors()
        ? List.of()
        : List.of("taskset", "-c", "0-" + (threads - 1));
  }

  private CommandLine commandLine() {
    CommandSpec own = spec;
    if (own == null) {
      throw new IllegalStateException("not started from a command line");
    }
    return own.commandLine();
  }

  private PrintWriter out() {
    return commandLine().getOut();
  }

  private void say(String format, Object... values) {
    PrintWriter err = commandLine().getErr();
    err.printf(Locale.ROOT, format + "%n", values);
    err.flush();
  }

  private Path logs() {
    return warehouse.directory().resolve("logs");
  }

  private Path scratch() {
    return warehouse.directory().resolve("scratch");
  }

  // Tables.

  private void generate() throws Exception {
    List<Case> missing = new ArrayList<>();
    for (Case which : cases) {
      Path table = warehouse.tableDirectory(which);
      if (!FirstState.isRecorded(table) || !FirstState.of(table).isMadeOf(rows, seed)) {
        FirstState.forget(table);
        missing.add(which);
      }
    }
    if (missing.isEmpty()) {
      return;
    }
    say("generating %s", missing);
    List<String> command = java(heap, SparkSessions.javaFlags());
    command.addAll(
        List.of(
            TableGenerator.class.getName(),
            warehouse.directory().toString(),
            scratch().toString(),
            Integer.toString(threads),
            Long.toString(rows),
            Long.toString(seed)));
    missing.forEach(which -> command.add(which.label()));
    Path log = logs().resolve("generate.log");
    Path out = logs().resolve("generate.out");
    Files.deleteIfExists(log);
    MeasuredProcess process = MeasuredProcess.run(command, environment(), out, log);
    Warehouse.delete(scratch());
    List<String> done = Files.readAllLines(out);
    for (Case which : missing) {
      if (!done.contains(which.label())) {
        continue;
      }
      Contents contents = contents(which);
      FirstState.record(warehouse.tableDirectory(which), rows, seed, contents);
      say(
          "%s: %,d live rows in %,d files of %,d MB",
          which, contents.liveRows(), contents.dataFiles(), contents.dataBytes() >> 20);
    }
    if (process.exitCode() != 0) {
      throw new IllegalStateException("Cannot generate all of " + missing + ": see " + log);
    }
  }

  private Contents contents(Case which) throws IOException, SQLException {
    try (LiveRows live = LiveRows.of(warehouse.table(which), threads, scratch())) {
      return live.contents();
    }
  }

  // Runs.

  private void measure(Case which, Report report) throws Exception {
    Path table = warehouse.tableDirectory(which);
    FirstState first = FirstState.of(table);
    Report.Section section = report.section(which, first);
    for (int round = 1; round <= rounds; round++) {
      for (Engine engine : engines) {
        if (!engine.understands(which.layout())) {
          continue;
        }
        first.restore(table);
        Measurement measurement = measure(which, engine, first, round);
        section.add(measurement);
        Files.writeString(
            warehouse.directory().resolve("results.jsonl"),
            Json.line(measurement) + "\n",
            StandardOpenOption.CREATE,
            StandardOpenOption.APPEND);
        say(
            "%s, %s, round %d: %.1f s wall, %.1f s CPU, %,d MB peak%s",
            which.label(),
            engine.label(),
            round,
            measurement.wallSeconds(),
            measurement.cpuSeconds(),
            measurement.peakBytes() >> 20,
            measurement.flaw() == null ? "" : "; " + measurement.flaw());
      }
    }
    first.restore(table);
    Warehouse.delete(scratch());
  }

  private Measurement measure(Case which, Engine engine, FirstState first, int round)
      throws Exception {
    Warehouse.delete(scratch());
    Files.createDirectories(scratch());
    String name = which.label() + "-" + engine.label();
    Path log = logs().resolve(name + ".log");
    Path out = logs().resolve(name + ".out");
    Path result = scratch().resolve("work.json");
    Path outputs = scratch().resolve("outputs");
    Files.deleteIfExists(log);
    Table table = warehouse.table(which);
    List<FileScanTask> tasks = Warehouse.tasks(table);
    Job job =
        new Job(
            engine,
            which,
            warehouse.directory().toString(),
            tasks.stream().map(task -> Warehouse.path(task.file().location()).toString()).toList(),
            table.schema().columns().stream().map(Types.NestedField::name).toList(),
            outputs.toString(),
            scratch().toString(),
            MemorySize.bytes(targetFileSize),
            threads,
            memory);
    Json.write(scratch().resolve("job.json"), job);
    List<String> command = new ArrayList<>(onCores());
    command.addAll(engine == Engine.FIRN ? firnCommand(job) : libraryCommand(job, result));
    String at = Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
    MeasuredProcess process =
        MeasuredProcess.run(
            command, engine == Engine.FIRN ? environmentOfFirn() : environment(), out, log);

    @Nullable Work work = null;
    @Nullable String flaw = null;
    long[] left = new long[2];
    if (process.exitCode() != 0) {
      flaw = "failed with exit code " + process.exitCode() + ", see " + log;
    } else {
      work = engine == Engine.FIRN ? firnWork(out) : Json.read(result, Work.class);
      left = engine.commits() ? committed(which) : leftIn(outputs);
      flaw = engine.commits() ? flaw(which, first) : null;
    }
    return new Measurement(
        at,
        which,
        engine,
        round,
        process.wallSeconds() - (work == null ? 0 : work.warmUpSeconds()),
        work == null ? null : work.seconds(),
        work == null ? 0 : work.warmUpSeconds(),
        process.cpuSeconds() - (work == null ? 0 : work.warmUpCpuSeconds()),
        process.peakBytes(),
        left[0],
        left[1],
        process.otherCpuSeconds(),
        flaw,
        first.contents().dataBytes(),
        first.contents().dataFiles(),
        first.contents().liveRows(),
        threads,
        memory,
        command.stream().filter(word -> !word.contains(".jar")).toList());
  }

  /** What is wrong with the table after an engine has been at it; null if nothing is. */
  private @Nullable String flaw(Case which, FirstState first) throws IOException, SQLException {
    try (LiveRows live = LiveRows.of(warehouse.table(which), threads, scratch())) {
      Contents contents = live.contents();
      List<String> flaws = new ArrayList<>(live.flaws(which.layout()));
      if (!contents.hasRowsOf(first.contents())) {
        flaws.add(
            "it left other rows: "
                + contents.liveRows()
                + " of hash "
                + contents.hash()
                + ", where there were "
                + first.contents().liveRows()
                + " of hash "
                + first.contents().hash());
      }
      return flaws.isEmpty() ? null : String.join("; ", flaws);
    }
  }

  private long[] committed(Case which) throws IOException {
    List<FileScanTask> tasks = Warehouse.tasks(warehouse.table(which));
    return new long[] {LiveRows.bytes(tasks), tasks.size()};
  }

  private static long[] leftIn(Path outputs) throws IOException {
    try (Stream<Path> files = Files.list(outputs)) {
      long[] sizes = files.mapToLong(file -> file.toFile().length()).toArray();
      return new long[] {Arrays.stream(sizes).sum(), sizes.length};
    }
  }

  private List<String> firnCommand(Job job) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                firn(),
                "compact",
                Warehouse.NAMESPACE + "." + job.which().tableName(),
                "--type=hadoop",
                "--warehouse=" + job.warehouse(),
                "--memory=" + job.memory(),
                "--scratch=" + job.scratch(),
                "--rewrite-all",
                "--target-file-size-bytes=" + job.targetFileSizeBytes(),
                "--output=json"));
    switch (job.which().layout()) {
      case BIN_PACK -> {}
      case SORT -> command.add("--sort=table");
      case Z_ORDER -> command.add("--zorder=k,ship_date");
    }
    return command;
  }

  /** The seconds that Firn's report names: what comes before and after is its start-up. */
  private static Work firnWork(Path out) throws IOException {
    JsonNode report = Json.MAPPER.readTree(out.toFile());
    return new Work(report.at("/seconds/total").asDouble(), 0, 0);
  }

  private List<String> libraryCommand(Job job, Path result) {
    List<String> command =
        switch (job.engine()) {
          case SPARK -> java(heap, SparkSessions.javaFlags());
          case GENERICS -> java(heap, List.of());
          case DUCKDB, COPY -> java(SMALL_HEAP, List.of("-XX:+UseSerialGC"));
          case FIRN -> throw new IllegalArgumentException("Firn has its own launcher");
        };
    command.add(EngineProcess.class.getName());
    command.add(scratch().resolve("job.json").toString());
    command.add(result.toString());
    return command;
  }

  private static List<String> java(String heapMax, List<String> flags) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx" + heapMax);
    command.addAll(flags);
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    return command;
  }

  private static Map<String, String> environment() {
    return Map.of("JAVA_HOME", System.getProperty("java.home"));
  }

  private Map<String, String> environmentOfFirn() {
    Path java = javaOfFirn;
    return java == null ? environment() : Map.of("JAVA_HOME", java.toAbsolutePath().toString());
  }

  private String firn() throws IOException {
    if (firn.isEmpty()) {
      Path given = launcher;
      Path path = given != null ? given : Path.of(System.getProperty("firn.launcher", "firn"));
      if (!Files.isExecutable(path)) {
        throw new ParameterException(
            commandLine(), "There is no launcher of Firn at " + path + "; give --firn");
      }
      firn = path.toRealPath().toString();
    }
    return firn;
  }

  // What is printed beside the numbers.

  private List<String> setting() throws Exception {
    List<String> lines = new ArrayList<>();
    lines.add("machine: " + Machine.description());
    lines.add("command: `jmh/side-by-side " + String.join(" ", arguments()) + "`");
    StringBuilder versions = new StringBuilder("versions: ");
    if (engines.contains(Engine.FIRN)) {
      versions.append(firnVersion()).append(", ");
    }
    try (DuckDb duck = DuckDb.open(1, "256MB", scratch())) {
      versions
          .append("Spark ")
          .append(org.apache.spark.package$.MODULE$.SPARK_VERSION())
          .append(", Iceberg ")
          .append(IcebergBuild.version())
          .append(", DuckDB ")
          .append(duck.text("SELECT version()"));
    }
    lines.add(versions.toString());
    lines.add(
        String.format(
            Locale.ROOT,
            "each engine on %d cores; Firn and DuckDB within %s, Spark and the generics with %s of"
                + " heap; output files of %s, zstd; %s",
            threads,
            memory,
            heap,
            targetFileSize,
            rounds == 1 ? "one round" : "medians of " + rounds + " rounds"));
    return lines;
  }

  /** The command line; where things lie on this machine is nobody's business. */
  private List<String> arguments() {
    List<String> shown = new ArrayList<>();
    for (String argument : commandLine().getParseResult().originalArgs()) {
      boolean isPlace = !shown.isEmpty() && PLACES.contains(shown.get(shown.size() - 1));
      shown.add(isPlace ? "DIR" : argument);
    }
    return shown;
  }

  /** Asks Firn, which builds it if that is still to be done: not a part of any measurement. */
  private String firnVersion() throws IOException, InterruptedException {
    Path out = logs().resolve("firn-version.out");
    Path log = logs().resolve("firn-version.log");
    MeasuredProcess process =
        MeasuredProcess.run(List.of(firn(), "--version"), environmentOfFirn(), out, log);
    if (process.exitCode() != 0) {
      throw new IllegalStateException("Firn does not start: see " + log);
    }
    String commit = System.getProperty("firn.commit", "");
    List<String> lines = Files.readAllLines(out);
    String java =
        lines.stream()
            .filter(line -> line.startsWith("Java "))
            .map(line -> " on " + line.split(",", 2)[0])
            .findFirst()
            .orElse("");
    return lines.get(0) + (commit.isEmpty() ? "" : " of commit " + commit) + java;
  }

  private static void replaceBetweenMarks(Path file, String text) throws IOException {
    String old = Files.readString(file);
    int begin = old.indexOf(BEGIN);
    int end = old.indexOf(END);
    if (begin < 0 || end < begin) {
      throw new IllegalArgumentException(file + " has no lines " + BEGIN + " and " + END);
    }
    Files.writeString(
        file, old.substring(0, begin + BEGIN.length()) + "\n" + text + old.substring(end));
  }
}
