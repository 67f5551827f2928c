package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.RandomTypes;
import dev.firn.testdata.RowText;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.UpdateProperties;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.PageType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tables that seeds make, of files that parquet-java wrote with settings that the same seed makes,
 * bin-packed by splicing pages, then once more, then by decoding. {@code -Dfirn.test.seed=S} runs
 * one again, {@code -Dfirn.runs=N} runs as many.
 */
class SpliceTest {
  private static final int RUNS = 25;

  private static DuckDb duckDb;

  @TempDir Path directory;

  static LongStream seeds() {
    Long seed = Long.getLong("firn.test.seed");
    return seed != null
        ? LongStream.of(seed)
        : ThreadLocalRandom.current().longs(Integer.getInteger("firn.runs", RUNS));
  }

  @BeforeAll
  static void openDuckDb() throws SQLException {
    duckDb = DuckDb.open();
  }

  @AfterAll
  static void closeDuckDb() throws SQLException {
    duckDb.close();
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void l2m5oaocAnyPagesKeepTheirRowsAndAreTrulyIndexed(long seed) throws Exception {
    Case random = null;
    try {
      random = new Case(seed, directory);
      random.run();
    } catch (Exception | AssertionError e) {
      throw new AssertionError("rerun with -Dfirn.test.seed=" + seed + "\n" + random, e);
    }
  }

  /** One table and the ways to compact it. */
  private static final class Case {
    private final Random random;
    private final Table table;
    private final Path scratch;
    private boolean duckDbReads = true;
    private final List<String> history = new ArrayList<>();
    private final Map<String, String> properties = new LinkedHashMap<>();

    Case(long seed, Path directory) throws IOException {
      this.random = new Random(seed);
      int formatVersion = 2 + random.nextInt(2);
      Schema schema = new RandomTypes(random, 3, formatVersion >= 3).schema(1 + random.nextInt(6));
      this.table =
          TableBuilder.at(directory.resolve("table"))
              .schema(schema)
              .formatVersion(formatVersion)
              .create();
      this.scratch = Files.createDirectory(directory.resolve("scratch"));
      history.add("v" + formatVersion + " " + schema);
      fill(schema);
      properties();
    }

    private boolean oneIn(int count) {
      return random.nextInt(count) == 0;
    }

    private <T> T pick(List<T> list) {
      return list.get(random.nextInt(list.size()));
    }

    private void fill(Schema schema) throws IOException {
      SpliceRows shapes = new SpliceRows(random);
      Map<DataFile, long[]> deleted = new LinkedHashMap<>();
      SpliceSources.Settings settings = SpliceSources.Settings.random(random);
      for (int i = 1 + random.nextInt(4); i > 0; i--) {
        if (oneIn(2)) {
          settings = SpliceSources.Settings.random(random);
        }
        duckDbReads &= settings.forcedShare == 0 || !settings.streamsOfBytes;
        int rows = 1 + random.nextInt(oneIn(3) ? 1500 : 300);
        DataFile file = SpliceSources.write(table, schema, shapes.rows(schema, rows), settings);
        TableFiles.of(table).append(file);
        history.add(rows + " rows " + settings);
        long[] positions = deletes(rows);
        if (positions.length > 0) {
          deleted.put(file, positions);
        }
      }
      if (!deleted.isEmpty()) {
        TableFiles.of(table).deletePositions(deleted);
      }
    }

    private long[] deletes(int rows) {
      int kind = random.nextInt(7);
      int from = random.nextInt(rows);
      int to = Math.min(rows, from + 1 + random.nextInt(rows));
      history.add("deletes of kind " + kind);
      return switch (kind) {
        case 0, 1 -> new long[0];
        case 2, 3 -> IntStream.range(0, rows).filter(i -> oneIn(20)).asLongStream().toArray();
        case 4 -> LongStream.range(from, to).toArray();
        case 5 -> IntStream.range(0, rows).filter(i -> oneIn(2)).asLongStream().toArray();
        default -> LongStream.range(0, rows).filter(i -> i != from).toArray();
      };
    }

    private void properties() {
      maybe("write.parquet.row-group-size-bytes", "2000", "20000", "100000");
      maybe("write.parquet.page-size-bytes", "500", "5000");
      maybe("write.parquet.page-row-limit", "20", "200");
      maybe("write.parquet.page-version", "v2");
      maybe("write.parquet.dict-size-bytes", "30", "500");
      maybe("write.parquet.compression-codec", "zstd", "gzip", "snappy", "uncompressed");
      maybe("write.metadata.metrics.default", "none", "counts", "truncate(3)", "full");
      for (Types.NestedField field : table.schema().columns()) {
        Type.TypeID type = field.type().typeId();
        if (field.type().isPrimitiveType() && type != Type.TypeID.BOOLEAN && oneIn(4)) {
          properties.put("write.parquet.bloom-filter-enabled.column." + field.name(), "true");
        }
      }
      properties.put("write.parquet.bloom-filter-max-bytes", "1024");
      UpdateProperties update = table.updateProperties();
      properties.forEach(update::set);
      update.commit();
    }

    private void maybe(String key, String... values) {
      if (oneIn(3)) {
        properties.put(key, pick(List.of(values)));
      }
    }

    void run() throws IOException, SQLException {
      String target = oneIn(3) ? "" + (2000 + random.nextInt(40_000)) : "100000000";
      compact(true, target);
      if (table.currentSnapshot() != null
          && !TableRows.dataFiles(table, table.currentSnapshot()).isEmpty()) {
        if (oneIn(3)) {
          compact(true, target);
        }
        compact(false, target);
      }
    }

    private void compact(boolean splice, String target) throws IOException, SQLException {
      TableBefore before = TableBefore.of(table);
      List<String> expected = TableRows.live(table);
      List<RewriteFileGroup> groups = new ArrayList<>();
      String encoding = oneIn(2) ? "auto" : pick(List.of("parquet-v1", "parquet-v2"));
      CompactionSettings settings =
          CompactionSettings.builder()
              .option("rewrite-all", "true")
              .option("encoding", encoding)
              .option("target-file-size-bytes", target)
              .option("splice", "" + splice)
              .memoryBytes(1L << 30)
              .scratch(scratch)
              .threads(1 + random.nextInt(3))
              .build();
      Map<String, List<String>> rows = new LinkedHashMap<>();
      for (DataFile file : TableRows.dataFiles(table, table.currentSnapshot())) {
        rows.put(
            file.location(), lines(TableRows.liveInFile(table, file, table.currentSnapshot())));
      }
      CompactionReport report =
          new Compaction(
                  table,
                  settings,
                  new CompactionListener() {
                    @Override
                    public synchronized void committed(long id, List<RewriteFileGroup> batch) {
                      groups.addAll(batch);
                    }
                  })
              .run();
      history.add(encoding + " splice=" + splice + " target " + target + ": " + report.moved());
      assertThat(report.failures()).isEmpty();
      assertThat(Files.list(scratch)).as("scratch directory").isEmpty();
      table.refresh();
      assertThat(TableRows.live(table)).as("live rows (O-A, L2)").isEqualTo(expected);
      before.checkFiles(table, "the run");
      if (splice) {
        assertThat(
                report.moved().spliced()
                    + report.moved().filtered()
                    + (encoding.equals("auto") ? 0 : report.moved().transcoded()))
            .as("bytes that were spliced: %s", report.moved())
            .isPositive();
      }
      for (RewriteFileGroup group : groups) {
        List<String> in = new ArrayList<>();
        for (FileScanTask task : group.fileScanTasks()) {
          in.addAll(rows.get(task.file().location()));
        }
        List<String> out = new ArrayList<>();
        for (DataFile file :
            group.addedFiles().stream().sorted(Comparator.comparing(DataFile::location)).toList()) {
          out.addAll(lines(TableRows.inFile(table, file)));
        }
        assertThat(out).as("rows in the order of the inputs").isEqualTo(in);
      }
      FileTruth.check(table, before.dataFiles());
      for (DataFile file : TableRows.dataFiles(table, table.currentSnapshot())) {
        if (!before.dataFiles().contains(file.location())) {
          if (duckDbReads) {
            duckDb.check(table, file);
          }
          try (ParquetTruth truth = ParquetTruth.of(TableBefore.path(file.location()))) {
            truth.check(bloomFilters());
            truth.checkFilters(random, 6);
            checkPages(truth, encoding);
          }
        }
      }
    }

    private static void checkPages(ParquetTruth truth, String encoding) throws IOException {
      if (encoding.equals("auto")) {
        return;
      }
      boolean isV1 = encoding.equals("parquet-v1");
      for (String column : truth.columns()) {
        assertThat(truth.pageTypes(column))
            .as(column)
            .allMatch(type -> type == (isV1 ? PageType.DATA_PAGE : PageType.DATA_PAGE_V2));
        if (isV1) {
          assertThat(truth.encodings(column))
              .as(column)
              .allMatch(of -> of == Encoding.PLAIN || of == Encoding.PLAIN_DICTIONARY);
        }
      }
    }

    private Set<String> bloomFilters() {
      Set<String> names = new HashSet<>();
      String prefix = "write.parquet.bloom-filter-enabled.column.";
      properties.keySet().stream()
          .filter(key -> key.startsWith(prefix))
          .map(key -> key.substring(prefix.length()))
          .filter(name -> name.matches("[a-zA-Z_]\\w*")) // others are escaped in files
          .forEach(names::add);
      return names;
    }

    private List<String> lines(List<Record> rows) {
      return rows.stream().map(row -> RowText.line(row, table.schema())).toList();
    }

    @Override
    public String toString() {
      return "  " + String.join("\n  ", history) + "\n  properties " + properties;
    }
  }
}
