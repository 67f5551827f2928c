package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.RandomTable;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.LongStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.ReplaceSortOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.SortDirection;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.SortOrderBuilder;
import org.apache.iceberg.Table;
import org.apache.iceberg.UpdateProperties;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Term;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tables that seeds make, compacted with settings that the same seed makes. {@code
 * -Dfirn.test.seed=S} runs one again, {@code -Dfirn.runs=N} runs as many.
 */
class RandomCompactionTest {
  private static final int RUNS = 40;

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
  void l1l2l4oaobocodAnyTableKeepsItsRowsWithAnySettings(long seed) throws Exception {
    Case random = null;
    try {
      random = new Case(seed, directory);
      random.run();
    } catch (Exception | AssertionError e) {
      throw new AssertionError("rerun with -Dfirn.test.seed=" + seed + "\n" + random, e);
    }
  }

  /** One table and one way to compact it. */
  private static final class Case {
    private final Random random;
    private final RandomTable made;
    private final Table table;
    private final Path scratch;
    private final String branch;
    private final Layout layout;
    private final Map<String, String> properties = new LinkedHashMap<>();
    private final Map<String, String> options = new LinkedHashMap<>();
    private final CompactionSettings settings;

    Case(long seed, Path directory) throws IOException {
      this.random = new Random(seed);
      RandomTable.Options tables = RandomTable.seed(seed).formats(FileFormat.PARQUET);
      tables = random.nextInt(4) == 0 ? tables.rowsMax(1500) : tables;
      this.made = tables.create(directory);
      this.table = made.table();
      this.scratch = Files.createDirectory(directory.resolve("scratch"));
      this.layout = layout();
      properties();
      this.branch = random.nextInt(5) == 0 ? "audit" : SnapshotRef.MAIN_BRANCH;
      if (!branch.equals(SnapshotRef.MAIN_BRANCH)) {
        table.manageSnapshots().createBranch(branch, table.currentSnapshot().snapshotId()).commit();
      }
      options();
      this.settings = settings(options);
    }

    private CompactionSettings settings(Map<String, String> values) {
      return CompactionSettings.builder()
          .options(values)
          .layout(layout)
          .branch(branch)
          .memoryBytes(1L << 30)
          .scratch(scratch)
          .threads(1 + random.nextInt(3))
          .build();
    }

    private <T> T pick(List<T> list) {
      return list.get(random.nextInt(list.size()));
    }

    private boolean oneIn(int count) {
      return random.nextInt(count) == 0;
    }

    // ---- settings

    private Layout layout() {
      if (random.nextInt(5) < 2) {
        return new Layout.BinPack();
      }
      SortOrder.Builder builder = SortOrder.builderFor(table.schema());
      List<SortColumn> columns = sortColumns();
      if (columns.isEmpty()) {
        return new Layout.BinPack();
      }
      columns.forEach(column -> column.addTo(builder));
      if (oneIn(3)) {
        ReplaceSortOrder replace = table.replaceSortOrder();
        columns.forEach(column -> column.addTo(replace));
        replace.commit();
        if (oneIn(2)) {
          return new Layout.TableOrder();
        }
      }
      return new Layout.Sorted(builder.build());
    }

    private record SortColumn(Term term, SortDirection direction, NullOrder nulls) {
      void addTo(SortOrderBuilder<?> order) {
        if (direction == SortDirection.ASC) {
          order.asc(term, nulls);
        } else {
          order.desc(term, nulls);
        }
      }
    }

    private List<SortColumn> sortColumns() {
      Schema schema = table.schema();
      List<Types.NestedField> leaves = new ArrayList<>();
      leaves(schema.asStruct(), leaves);
      List<SortColumn> columns = new ArrayList<>();
      List<Integer> taken = new ArrayList<>();
      for (int i = 1 + random.nextInt(3); i > 0 && !leaves.isEmpty(); i--) {
        Types.NestedField field = pick(leaves);
        if (!taken.contains(field.fieldId())) {
          taken.add(field.fieldId());
          columns.add(
              new SortColumn(
                  term(schema.findColumnName(field.fieldId()), field),
                  pick(List.of(SortDirection.values())),
                  pick(List.of(NullOrder.values()))));
        }
      }
      return columns;
    }

    private static void leaves(Types.StructType struct, List<Types.NestedField> leaves) {
      for (Types.NestedField field : struct.fields()) {
        if (field.type().isPrimitiveType()) {
          leaves.add(field);
        } else if (field.type().isStructType()) {
          leaves(field.type().asStructType(), leaves);
        }
      }
    }

    private Term term(String name, Types.NestedField field) {
      if (oneIn(2)) {
        return Expressions.ref(name);
      }
      return switch (field.type().typeId()) {
        case INTEGER, LONG, STRING ->
            oneIn(2)
                ? Expressions.bucket(name, 1 + random.nextInt(5))
                : Expressions.truncate(name, 1 + random.nextInt(6));
        case BINARY -> Expressions.truncate(name, 1 + random.nextInt(6));
        case DECIMAL, UUID, FIXED, TIME -> Expressions.bucket(name, 1 + random.nextInt(5));
        case DATE -> pick(List.of(Expressions.month(name), Expressions.year(name)));
        case TIMESTAMP, TIMESTAMP_NANO ->
            pick(List.of(Expressions.hour(name), Expressions.day(name)));
        default -> Expressions.ref(name);
      };
    }

    private void properties() {
      maybe("write.parquet.row-group-size-bytes", "1", "1000", "20000");
      if (oneIn(3)) {
        properties.put("write.parquet.row-group-check-min-record-count", "10");
        properties.put("write.parquet.row-group-check-max-record-count", "50");
      }
      maybe("write.parquet.page-size-bytes", "1", "500");
      maybe("write.parquet.page-row-limit", "1", "7", "100");
      maybe("write.parquet.page-version", "v1", "v2");
      maybe("write.parquet.dict-size-bytes", "1", "200");
      maybe("write.parquet.compression-codec", "zstd", "gzip", "snappy", "uncompressed");
      maybe("write.metadata.metrics.default", "none", "counts", "truncate(3)", "full");
      maybe("write.object-storage.enabled", "true");
      maybe("write.parquet.bloom-filter-enabled.column.id", "true");
      // a filter of each row group is held until the footer, and row groups may have ten rows here
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

    private void options() {
      if (oneIn(2)) {
        options.put("rewrite-all", "true");
      } else {
        options.put("min-input-files", "" + (1 + random.nextInt(3)));
        options.put("delete-file-threshold", "" + (1 + random.nextInt(2)));
      }
      if (oneIn(3)) {
        options.put("partial-progress.enabled", "true");
        options.put("partial-progress.max-commits", "" + (1 + random.nextInt(4)));
      }
      if (oneIn(3)) {
        options.put("max-file-group-input-files", "" + (1 + random.nextInt(3)));
      }
      if (oneIn(3)) {
        options.put("target-file-size-bytes", "" + (300 + random.nextInt(20_000)));
      }
      if (oneIn(4)) {
        List<PartitionSpec> specs = new ArrayList<>(table.specs().values());
        options.put("output-spec-id", "" + pick(specs).specId());
      } else if (oneIn(3)) {
        options.put("keep-partition-spec", "true");
      }
      if (oneIn(3)) {
        options.put("verify", "true");
      }
      if (oneIn(4)) {
        options.put("use-starting-sequence-number", "false");
      }
      if (oneIn(4)) {
        options.put("remove-dangling-deletes", "true");
      }
      if (oneIn(4)) {
        options.put("rewrite-job-order", pick(List.of("bytes-asc", "files-desc")));
      }
    }

    // ---- run and checks

    void run() throws IOException, SQLException {
      TableBefore before = TableBefore.of(table);
      boolean oneSpec =
          TableRows.dataFiles(table, table.snapshot(branch)).stream()
              .allMatch(file -> file.specId() == table.spec().specId());
      List<String> rowsBefore = TableBefore.rows(table, table.snapshot(branch));
      List<RewriteFileGroup> groups = new ArrayList<>();
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
      assertThat(report.failures()).isEmpty();
      assertThat(report.exitCode()).isZero();
      assertThat(report.groups().committed()).isEqualTo(report.groups().planned());
      assertThat(report.rows().read() - report.rows().deleted()).isEqualTo(report.rows().written());
      assertThat(Files.list(scratch)).as("scratch directory").isEmpty();

      table.refresh();
      Snapshot head = table.snapshot(branch);
      assertThat(TableBefore.rows(table, head)).as("live rows (O-A)").isEqualTo(rowsBefore);
      before.checkHistory(table, branch);
      before.checkFiles(table, "the run");
      if (report.snapshotsCommitted().isEmpty()) {
        return;
      }
      Long parent = table.snapshot(report.snapshotsCommitted().get(0)).parentId();
      assertThat(TableRows.live(table, head.snapshotId()))
          .as("live rows with their lineage (L1, L2, L4)")
          .isEqualTo(TableRows.live(table, parent));
      for (long id : report.snapshotsCommitted()) {
        assertThat(table.snapshot(id).operation()).isEqualTo(DataOperations.REPLACE);
      }
      FileTruth.check(table, head, before.dataFiles());
      checkOrder(groups);
      for (DataFile file : TableRows.dataFiles(table, head)) {
        if (!before.dataFiles().contains(file.location())) {
          duckDb.check(table, file);
        }
      }
      if (oneSpec) {
        m19NothingIsLeftToDo(report);
      }
    }

    private void checkOrder(List<RewriteFileGroup> groups) {
      SortOrder order =
          layout instanceof Layout.Sorted sorted
              ? sorted.order()
              : layout instanceof Layout.TableOrder ? table.sortOrder() : null;
      boolean canTell = order != null && SortedTruth.canTell(table, order);
      boolean isTableOrder =
          canTell && table.sortOrders().values().stream().anyMatch(order::sameOrder);
      for (RewriteFileGroup group : groups) {
        if (canTell) {
          SortedTruth.checkGroup(table, order, group);
        }
        for (DataFile file : group.addedFiles()) {
          Integer id = file.sortOrderId();
          if (id != null && id != 0) {
            SortedTruth.checkFile(table, table.sortOrders().get(id), file);
          }
          assertThat(id != null && id != 0).as("sort order claimed (M9)").isEqualTo(isTableOrder);
        }
      }
    }

    /* A cap on a group's files makes several groups of a partition, whose outputs may be taken
    again; a tiny target cannot be met by whole row groups and footers; files of another spec form
    groups of their own, whose outputs join the partitions of others. */
    private void m19NothingIsLeftToDo(CompactionReport first) {
      String specId = options.get("output-spec-id");
      if (options.containsKey("max-file-group-input-files")
          || options.containsKey("target-file-size-bytes")
          || (specId != null && Integer.parseInt(specId) != table.spec().specId())) {
        return;
      }
      Map<String, String> again = new LinkedHashMap<>(options);
      again.remove("rewrite-all");
      again.put("delete-file-threshold", "1000000");
      again.putIfAbsent("min-input-files", "2");
      assertThat(new Compaction(table, settings(again), CompactionListener.NONE).plan().groups())
          .as("a second run's plan (M19) after %s", first)
          .isEmpty();
    }

    @Override
    public String toString() {
      return made
          + "\n  properties "
          + properties
          + "\n  branch "
          + branch
          + ", "
          + layout
          + ", options "
          + options;
    }
  }
}
