package dev.firn.bench;

import dev.firn.engine.Compaction;
import dev.firn.engine.CompactionListener;
import dev.firn.engine.CompactionReport;
import dev.firn.engine.CompactionSettings;
import dev.firn.engine.Layout;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.DateTimeUtil;

/**
 * How many files does a query read after each layout? A skewed table is compacted with each of
 * them, and scans with a predicate on one column are planned. Prints a Markdown table of the files
 * that a scan reads, on average. Nothing is timed.
 *
 * <p>The columns are independent of one another:
 *
 * <ul>
 *   <li>{@code customer}, a long below 2^17: the most frequent of 100 000 has one row in 12, the
 *       second half as many, the third a third
 *   <li>{@code sku}, one of 20 000 texts that all begin alike, with the same skew
 *   <li>{@code ts}, in microseconds: half of the rows are of the last 42 days, the oldest of years
 *       ago
 *   <li>{@code amount}, log-normal, in cents
 * </ul>
 */
public final class ClusteringTable {
  private static final int INPUT_FILES = 40;
  private static final long NEWEST = 1_767_225_600_000_000L; // 2026-01-01, in microseconds
  private static final double DAY = 86_400e6;

  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.required(1, "customer", Types.LongType.get()),
          Types.NestedField.required(2, "sku", Types.StringType.get()),
          Types.NestedField.required(3, "ts", Types.TimestampType.withZone()),
          Types.NestedField.required(4, "amount", Types.DoubleType.get()));
  private static final List<String> COLUMNS =
      SCHEMA.columns().stream().map(Types.NestedField::name).toList();

  private final int rows;
  private final int filesWanted;
  private final int predicatesOfKind;
  private final SplittableRandom random;
  private final double[] customers = zipf(100_000);
  private final double[] skus = zipf(20_000);

  /** Of each column the values of every tenth row, in order: predicates are made of them. */
  private final Object[][] values;

  private ClusteringTable(int rows, int filesWanted, long seed, int predicatesOfKind) {
    this.rows = rows;
    this.filesWanted = filesWanted;
    this.predicatesOfKind = predicatesOfKind;
    this.random = new SplittableRandom(seed);
    this.values = new Object[COLUMNS.size()][(rows + 9) / 10];
  }

  /**
   * Takes how many rows, how many files a layout makes of them, and a seed: all may be left out.
   */
  public static void main(String[] args) throws IOException {
    int rows = args.length > 0 ? Integer.parseInt(args[0]) : 1_000_000;
    int files = args.length > 1 ? Integer.parseInt(args[1]) : 64;
    long seed = args.length > 2 ? Long.parseLong(args[2]) : 1;
    print(rows, files, seed, 100, System.out);
  }

  static void print(int rows, int files, long seed, int predicates, PrintStream out)
      throws IOException {
    out.printf("%d rows, seed %d, %d predicates of each kind%n%n", rows, seed, predicates);
    new ClusteringTable(rows, files, seed, predicates).print(out);
  }

  private void print(PrintStream out) throws IOException {
    Path directory = Files.createTempDirectory("clustering-table");
    try {
      Table table = write(directory);
      List<Expression> predicates = predicates();
      out.println("| layout | files | " + String.join(" | ", headings()) + " | mean |");
      out.println("|---|---" + "|---".repeat(headings().size()) + "|---|");
      for (Map.Entry<String, Layout> layout : layouts().entrySet()) {
        long files = compact(table, layout.getValue());
        StringBuilder line = new StringBuilder("| " + layout.getKey() + " | " + files + " |");
        long sum = 0;
        for (int i = 0; i < predicates.size(); i += predicatesOfKind) {
          long read = filesRead(table, predicates.subList(i, i + predicatesOfKind));
          line.append(String.format(Locale.ROOT, " %.1f |", (double) read / predicatesOfKind));
          sum += read;
        }
        double mean = (double) sum / predicates.size();
        out.println(line.append(String.format(Locale.ROOT, " %.1f |", mean)));
      }
    } finally {
      try (Stream<Path> paths = Files.walk(directory)) {
        paths.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
      }
    }
  }

  private static Map<String, Layout> layouts() {
    Map<String, Layout> layouts = new LinkedHashMap<>();
    layouts.put("bin-pack", new Layout.BinPack());
    layouts.put(
        "sort by customer, ts",
        new Layout.Sorted(SortOrder.builderFor(SCHEMA).asc("customer").asc("ts").build()));
    layouts.put("z-order, bytes", new Layout.ZOrder(COLUMNS, Layout.CurveInput.BYTES));
    layouts.put("z-order, ranks", new Layout.ZOrder(COLUMNS, Layout.CurveInput.RANK));
    layouts.put("Hilbert, ranks", new Layout.Hilbert(COLUMNS));
    layouts.put(
        "Hilbert, ranks of customer, ts only", new Layout.Hilbert(List.of("customer", "ts")));
    return layouts;
  }

  /** The weights of the ranks 1 to {@code count}, each added to those before it. */
  private static double[] zipf(int count) {
    double[] sums = new double[count];
    for (int i = 0; i < count; i++) {
      sums[i] = (i == 0 ? 0 : sums[i - 1]) + 1.0 / (i + 1);
    }
    return sums;
  }

  /** A number below 2^17; which ones are frequent has nothing to do with their order. */
  private long next(double[] zipf) {
    int found = Arrays.binarySearch(zipf, random.nextDouble(zipf[zipf.length - 1]));
    int rank = found < 0 ? -found - 1 : found + 1;
    return (rank + 1) * 40_503L % 100_003;
  }

  private Table write(Path directory) throws IOException {
    // Bounds of 16 characters, the default, would hold what all texts begin with and no more.
    Table table =
        TableBuilder.at(directory)
            .schema(SCHEMA)
            .property(TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX + "sku", "truncate(64)")
            .create();
    TableFiles files = TableFiles.of(table);
    DataFile[] inputs = new DataFile[INPUT_FILES];
    int row = 0;
    for (int i = 0; i < INPUT_FILES; i++) {
      List<Record> records = new ArrayList<>();
      for (; row < (long) rows * (i + 1) / INPUT_FILES; row++) {
        records.add(record(row));
      }
      inputs[i] = files.data(records);
    }
    files.append(inputs);
    for (Object[] column : values) {
      Arrays.sort(column);
    }
    return table;
  }

  private Record record(int row) {
    long customer = next(customers);
    String sku = String.format(Locale.ROOT, "urn:example:product:%06d", next(skus));
    long ts = NEWEST + (long) (Math.log(1 - random.nextDouble()) * 60 * DAY);
    double amount = Math.rint(Math.exp(3.5 + 1.2 * random.nextGaussian()) * 100) / 100;
    if (row % 10 == 0) {
      Object[] each = {customer, sku, ts, amount};
      for (int column = 0; column < each.length; column++) {
        values[column][row / 10] = each[column];
      }
    }
    return Rows.row(SCHEMA, customer, sku, DateTimeUtil.timestamptzFromMicros(ts), amount);
  }

  private static List<String> headings() {
    return COLUMNS.stream().flatMap(name -> Stream.of(name + " =", name + " 1 %")).toList();
  }

  /** For each column equality with values of any rows, then ranges of one row in a hundred. */
  private List<Expression> predicates() {
    List<Expression> predicates = new ArrayList<>();
    for (int column = 0; column < values.length; column++) {
      String name = COLUMNS.get(column);
      Object[] sorted = values[column];
      for (int i = 0; i < predicatesOfKind; i++) {
        predicates.add(Expressions.equal(name, sorted[random.nextInt(sorted.length)]));
      }
      int length = sorted.length / 100;
      for (int i = 0; i < predicatesOfKind; i++) {
        int first = random.nextInt(sorted.length - length);
        predicates.add(
            Expressions.and(
                Expressions.greaterThanOrEqual(name, sorted[first]),
                Expressions.lessThanOrEqual(name, sorted[first + length])));
      }
    }
    return predicates;
  }

  /**
   * Makes about as many files as wanted of the inputs: once to learn how well the rows compress in
   * this order, then of the right size. Gives how many there are.
   */
  private long compact(Table table, Layout layout) {
    long inputs = table.history().get(0).snapshotId();
    long bytes = Long.parseLong(table.snapshot(inputs).summary().get("total-files-size"));
    long files = 0;
    for (int pass = 0; pass < 2; pass++) {
      table.manageSnapshots().setCurrentSnapshot(inputs).commit();
      CompactionReport report =
          new Compaction(
                  table,
                  CompactionSettings.builder()
                      .layout(layout)
                      .option("rewrite-all", "true")
                      .option("verify", Boolean.toString(pass == 1))
                      .option("target-file-size-bytes", Long.toString(bytes / filesWanted))
                      .build(),
                  CompactionListener.NONE)
              .run();
      if (!report.failures().isEmpty() || report.rows().written() != rows) {
        throw new IllegalStateException("The table was not compacted as a whole: " + report);
      }
      bytes = report.bytes().written();
      files = report.dataFiles().added();
      table.refresh();
    }
    return files;
  }

  private static long filesRead(Table table, List<Expression> predicates) throws IOException {
    long files = 0;
    for (Expression predicate : predicates) {
      try (CloseableIterable<FileScanTask> tasks = table.newScan().filter(predicate).planFiles()) {
        files += StreamSupport.stream(tasks.spliterator(), false).count();
      }
    }
    return files;
  }
}
