package dev.firn.engine.cli;

import dev.firn.engine.CompactionSettings;
import dev.firn.engine.Layout;
import dev.firn.engine.parquet.ScratchException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * What {@code plan} and {@code compact} have in common: the table, and what is to be done to it.
 */
final class RunOptions {
  /** How an answer is printed. */
  enum Output {
    TEXT,
    JSON
  }

  @Parameters(
      paramLabel = "TABLE",
      description = "namespace.table, or catalog.namespace.table of a configured catalog.")
  String table = "";

  @ArgGroup(validate = false, order = 1, heading = "%nCatalog:%n", multiplicity = "0..1")
  CatalogOptions catalog = new CatalogOptions();

  @ArgGroup(validate = false, order = 2, heading = "%nWhat to do:%n", multiplicity = "0..1")
  Task task = new Task();

  @ArgGroup(validate = false, order = 30, heading = "%nThis machine:%n", multiplicity = "0..1")
  Machine machine = new Machine();

  @ArgGroup(validate = false, order = 40, heading = "%nOutput:%n", multiplicity = "0..1")
  Printing printing = new Printing();

  /** Which rows and files, on what branch, in what order. */
  static final class Task {
    @Option(
        names = "--where",
        paramLabel = "PREDICATE",
        description =
            "SQL predicate: files that may hold matching rows are candidates, whole."
                + " Example: \"day >= DATE '2026-01-31' and region in ('eu', 'us')\".")
    @Nullable String where; // null: not given

    @Option(
        names = "--case-insensitive",
        description = "Column names in --where and --sort match in any letter case.")
    boolean caseInsensitive;

    @Option(names = "--branch", paramLabel = "NAME", description = "Branch. Default: main.")
    String branch = SnapshotRef.MAIN_BRANCH;

    @Option(
        names = "--sort",
        paramLabel = "ORDER",
        description =
            "Sort the rows: 'table' for the table's own order, or an order such as"
                + " \"a DESC NULLS LAST, bucket(8, b), days(ts)\".")
    @Nullable String sort; // null: not given

    @Option(
        names = "--zorder",
        paramLabel = "COLUMNS",
        description = "Put the rows on a z-order curve over these columns, as in \"a, b, c.d\".")
    @Nullable String zOrder; // null: not given

    @Option(
        names = "--hilbert",
        paramLabel = "COLUMNS",
        description =
            "Put the rows on a Hilbert curve over the ranks of these columns' values. Mostly better"
                + " than z-order.")
    @Nullable String hilbert; // null: not given

    @Option(
        names = "--curve-input",
        paramLabel = "bytes|rank",
        description =
            "What --zorder runs over: the first bytes of the values, as Spark does, or their ranks,"
                + " which neither skew nor texts that begin alike can spoil. Default: bytes.")
    Layout.@Nullable CurveInput curveInput; // null: not given

    @Option(
        names = "--snapshot-property",
        paramLabel = "KEY=VALUE",
        description = "Put into the summary of each snapshot committed. Repeatable.")
    Map<String, String> snapshotProperties = new LinkedHashMap<>();

    @Option(
        names = "--option",
        paramLabel = "KEY=VALUE",
        description = "An option below by its name, as Spark spells it. Repeatable.")
    Map<String, String> options = new LinkedHashMap<>();
  }

  /** What the run may use. */
  static final class Machine {
    @Option(
        names = "--memory",
        paramLabel = "SIZE",
        description =
            "All memory the process may use, heap and native. Default: $FIRN_MEMORY, else 80 %% of"
                + " the container's limit or of the machine.")
    @Nullable String memory; // null: not given

    @Option(
        names = "--scratch",
        paramLabel = "DIR",
        description = "Directory for row groups in flight. Default: the temporary directory.")
    @Nullable Path scratch; // null: not given
  }

  /** What is printed. */
  static final class Printing {
    @Option(
        names = "--output",
        paramLabel = "text|json",
        description = "json: one JSON object on stdout and nothing else there. Default: text.")
    Output output = Output.TEXT;

    @Option(names = "--debug", description = "Log more, and show stack traces.")
    boolean debug;
  }

  boolean json() {
    return printing.output == Output.JSON;
  }

  /** Connects to the catalog that file, environment and line name, and loads the table. */
  OpenTable open(FirnConfig configuration) {
    return open(table, catalog, configuration);
  }

  static OpenTable open(String table, CatalogOptions catalog, FirnConfig configuration) {
    java.util.Set<String> catalogs = new java.util.HashSet<>(configuration.catalogs().keySet());
    if (catalog.catalog != null) {
      catalogs.add(catalog.catalog);
    }
    TableName name = TableName.parse(table, catalogs);
    return OpenTable.load(catalog.resolve(configuration, name), name.identifier());
  }

  /**
   * The settings of a run on {@code loaded}.
   *
   * @param flags values of compaction options that the line gives as flags
   * @throws UsageException if something is unknown, of the wrong form, or cannot apply
   */
  CompactionSettings settings(
      Table loaded, FirnConfig configuration, Map<String, String> flags, Terminal terminal) {
    CompactionSettings.Builder builder = CompactionSettings.builder();
    builder.options(OptionValues.layered(configuration.options(), lineOptions(flags)));
    builder.branch(task.branch);
    task.snapshotProperties.forEach(builder::snapshotProperty);
    if (task.where != null) {
      builder.filter(WherePredicate.parse(task.where, loaded.schema(), !task.caseInsensitive));
    }
    Layout layout = layout(loaded);
    if (layout != null) {
      builder.layout(layout);
    }
    if (machine.memory != null) {
      builder.memoryBytes(ByteSize.parse("--memory", machine.memory));
    }
    if (machine.scratch != null) {
      builder.scratch(scratch(terminal, machine.scratch));
    }
    return builder.build();
  }

  private Map<String, String> lineOptions(Map<String, String> flags) {
    Map<String, String> line = new LinkedHashMap<>(flags);
    task.options.forEach(
        (key, value) -> {
          OptionValues.requireKnown(key, "Cannot use --option " + key + "=" + value);
          String other = line.put(key, value);
          if (other != null && !other.equals(value)) {
            throw new UsageException(
                "--" + key + " is '" + other + "' but --option " + key + " is '" + value + "'");
          }
        });
    return line;
  }

  private @Nullable Layout layout(Table loaded) {
    if (Stream.of(task.sort, task.zOrder, task.hilbert).filter(Objects::nonNull).count() > 1) {
      throw new UsageException("Only one of --sort, --zorder and --hilbert can be given");
    }
    if (task.curveInput != null && task.zOrder == null) {
      throw new UsageException(
          "--curve-input is given without --zorder"
              + (task.hilbert == null ? "" : "; --hilbert always runs over ranks"));
    }
    if (task.zOrder != null) {
      Layout.CurveInput input = task.curveInput == null ? Layout.CurveInput.BYTES : task.curveInput;
      return new Layout.ZOrder(columns("--zorder", task.zOrder, loaded), input);
    } else if (task.hilbert != null) {
      return new Layout.Hilbert(columns("--hilbert", task.hilbert, loaded));
    }
    return task.sort == null ? null : sorted(task.sort, loaded);
  }

  private List<String> columns(String option, String given, Table loaded) {
    return SortOrderText.columns(option, given, loaded.schema(), !task.caseInsensitive);
  }

  private Layout sorted(String sort, Table loaded) {
    if (sort.trim().toLowerCase(Locale.ROOT).equals("table")) {
      if (loaded.sortOrder().isUnsorted()) {
        throw new UsageException(
            "Cannot sort by the table's order: "
                + loaded.name()
                + " has none. Give an order, as in --sort \"a, b DESC\".");
      }
      return new Layout.TableOrder();
    }
    return new Layout.Sorted(SortOrderText.parse(sort, loaded.schema(), !task.caseInsensitive));
  }

  /**
   * The directory that was named.
   *
   * @throws UncheckedIOException if it is not there or cannot be written to: its disk may be away,
   *     which another line would not mend
   */
  static Path scratch(Terminal terminal, Path given) {
    Path directory = terminal.directory().resolve(given);
    IOException why = null;
    if (!Files.exists(directory)) {
      why = new NoSuchFileException(directory.toString());
    } else if (!Files.isDirectory(directory)) {
      why = new NotDirectoryException(directory.toString());
    } else if (!Files.isWritable(directory)) {
      why = new AccessDeniedException(directory.toString());
    }
    if (why != null) {
      ScratchException unusable =
          new ScratchException(
              "what does not fit into memory", directory, why, "Nothing was started");
      throw new UncheckedIOException(unusable.getMessage(), unusable);
    }
    return directory;
  }
}
