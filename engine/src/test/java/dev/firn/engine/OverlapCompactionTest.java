package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.engine.FileDecision.Reason;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs of strategy overlap on real tables. */
class OverlapCompactionTest {
  private static final Logger LOG = LoggerFactory.getLogger(OverlapCompactionTest.class);
  private static final int ID = 1;
  private static final Schema SCHEMA =
      new Schema(
          required(ID, "id", Types.LongType.get()),
          required(2, "region", Types.StringType.get()),
          optional(3, "note", Types.StringType.get()));

  private static final int ROUNDS = Integer.getInteger("firn.test.rounds", 6);

  @TempDir Path directory;
  @TempDir Path scratch;

  private Table table(boolean partitioned, int formatVersion) {
    return TableBuilder.at(directory.resolve("table"))
        .schema(SCHEMA)
        .partitionBy(spec -> partitioned ? spec.identity("region") : spec)
        .sortBy(order -> order.asc("id"))
        .formatVersion(formatVersion)
        .create();
  }

  private CompactionSettings.Builder overlap(int depthMax, double amplificationMax) {
    return CompactionSettings.builder()
        .option("strategy", "overlap")
        .option("max-overlap-depth", "" + depthMax)
        .option("max-write-amplification", "" + amplificationMax)
        .option("target-file-size-bytes", "8000")
        .memoryBytes(512L << 20)
        .scratch(scratch)
        .threads(1);
  }

  private static CompactionPlan plan(Table table, CompactionSettings.Builder settings) {
    return new Compaction(table, settings.build(), CompactionListener.NONE).plan();
  }

  private static Record row(long id, String region, String note) {
    Record row = GenericRecord.create(SCHEMA);
    row.set(0, id);
    row.set(1, region);
    row.set(2, note);
    return row;
  }

  private static List<Record> rows(LongStream ids, String region) {
    return ids.mapToObj(id -> row(id, region, "note " + id)).toList();
  }

  /** Groups that were committed, to be held against the definitions. */
  private static final class Committed implements CompactionListener {
    final List<RewriteFileGroup> groups = new ArrayList<>();

    @Override
    public synchronized void committed(long snapshotId, List<RewriteFileGroup> batch) {
      groups.addAll(batch);
    }
  }

  // ---- the model of depth: whole numbers, one by one

  private static long[] ids(DataFile file) {
    return new long[] {
      Conversions.<Long>fromByteBuffer(Types.LongType.get(), file.lowerBounds().get(ID)),
      Conversions.<Long>fromByteBuffer(Types.LongType.get(), file.upperBounds().get(ID))
    };
  }

  /** How many files of a partition lie over the places between each number and the next one. */
  private static Map<String, Map<Long, Integer>> covers(Table table) {
    Map<String, Map<Long, Integer>> covers = new TreeMap<>();
    for (DataFile file : TableRows.dataFiles(table, table.currentSnapshot())) {
      Map<Long, Integer> ofPartition =
          covers.computeIfAbsent(
              file.specId() + " " + file.partition(), partition -> new TreeMap<>());
      long[] ids = ids(file);
      for (long id = ids[0]; id < ids[1]; id++) {
        ofPartition.merge(id, 1, Integer::sum);
      }
    }
    return covers;
  }

  private static int most(Map<String, Map<Long, Integer>> covers) {
    return covers.values().stream()
        .flatMap(ofPartition -> ofPartition.values().stream())
        .max(Comparator.naturalOrder())
        .orElse(0);
  }

  private static void nowhereDeeper(
      Map<String, Map<Long, Integer>> before, Map<String, Map<Long, Integer>> after, String what) {
    after.forEach(
        (partition, counts) ->
            counts.forEach(
                (id, count) ->
                    assertThat(count)
                        .as("files over %d of %s, %s", id, partition, what)
                        .isLessThanOrEqualTo(
                            before.getOrDefault(partition, Map.of()).getOrDefault(id, 0))));
  }

  /** The most bytes of files that follow one another without overlap. */
  private static long heaviestRow(List<DataFile> files) {
    TreeMap<Long, Long> upTo = new TreeMap<>(Map.of(Long.MIN_VALUE, 0L));
    List<DataFile> byEnd = new ArrayList<>(files);
    byEnd.sort(Comparator.comparingLong(file -> ids(file)[1]));
    for (DataFile file : byEnd) {
      long[] ids = ids(file);
      long with = upTo.floorEntry(ids[0]).getValue() + file.fileSizeInBytes();
      long best = Math.max(with, upTo.floorEntry(ids[1]).getValue());
      upTo.merge(ids[1], best, Math::max);
    }
    return upTo.lastEntry().getValue();
  }

  // ---- convergence

  @ParameterizedTest
  @CsvSource({"1, 4, false, 2", "4, 8, true, 2", "0, 3, false, 3"})
  void depthAndBytesStayBoundedUnderRandomUpserts(
      int depthMax, double amplificationMax, boolean partitioned, int formatVersion) {
    long seed = Long.getLong("firn.test.seed", System.nanoTime());
    Random random = new Random(seed);
    Table table = table(partitioned, formatVersion);
    Map<Long, Record> model = new TreeMap<>();
    long bytesNew = 0;
    long bytesRewritten = 0;
    long keys = 4000;
    for (int round = 0; round < ROUNDS; round++) {
      String what = "round " + round + ", rerun with -Dfirn.test.seed=" + seed;
      bytesNew += write(table, random, model, round == 0 ? 1500 : 50 + random.nextInt(150), keys);
      Map<String, Map<Long, Integer>> before = covers(table);
      long smallest =
          TableRows.dataFiles(table, table.currentSnapshot()).stream()
              .mapToLong(DataFile::fileSizeInBytes)
              .min()
              .orElseThrow();
      long all =
          TableRows.dataFiles(table, table.currentSnapshot()).stream()
              .mapToLong(DataFile::fileSizeInBytes)
              .sum();
      Set<String> statistics = FileTruth.locations(table);
      Map<String, DataFile> files =
          TableRows.dataFiles(table, table.currentSnapshot()).stream()
              .collect(Collectors.toMap(DataFile::location, file -> file));
      Committed committed = new Committed();
      CompactionReport report =
          new Compaction(table, overlap(depthMax, amplificationMax).build(), committed).run();
      table.refresh();
      assertThat(report.failures()).as(what).isEmpty();
      assertThat(live(table)).as("live rows, " + what).isEqualTo(List.copyOf(model.values()));
      FileTruth.check(table, statistics);

      Map<String, Map<Long, Integer>> after = covers(table);
      nowhereDeeper(before, after, what);
      int left = 2 + (int) (Math.log((double) all / smallest) / Math.log(amplificationMax));
      assertThat(most(after)).as(what).isLessThanOrEqualTo(Math.max(depthMax + 1, left));
      for (RewriteFileGroup group : committed.groups) {
        List<DataFile> inputs =
            group.fileScanTasks().stream().map(task -> files.get(task.file().location())).toList();
        assertThat(inputs).as(what).hasSizeGreaterThan(1);
        assertThat((double) group.inputFilesSizeInBytes())
            .as("bytes of a group, " + what)
            .isLessThanOrEqualTo(
                amplificationMax * (group.inputFilesSizeInBytes() - heaviestRow(inputs)));
      }
      bytesRewritten += report.bytes().read();
      CompactionPlan again = plan(table, overlap(depthMax, amplificationMax));
      if (most(after) <= depthMax + 1) {
        assertThat(again.groups()).as("a run after a run, " + what).isEmpty();
      }
      LOG.debug(
          "round {}: {} files deep, then {}; {} KB new, {} KB rewritten, in all {} for each",
          round,
          most(before),
          most(after),
          bytesNew / 1000,
          bytesRewritten / 1000,
          String.format("%.2f", (double) bytesRewritten / bytesNew));
    }
    Runs.of(table, Runs.all(scratch).layout(new Layout.TableOrder()));
    assertThat(plan(table, overlap(0, 100)).groups()).as("of a clean table").isEmpty();
    assertThat(live(table)).isEqualTo(List.copyOf(model.values()));
  }

  /** Upserts or appends rows with random keys, of which a few are all over and others near. */
  private static long write(
      Table table, Random random, Map<Long, Record> model, int count, long keys) {
    table.refresh();
    Set<String> before =
        table.currentSnapshot() == null ? Set.of() : new HashSet<>(FileTruth.locations(table));
    long near = random.nextInt((int) keys);
    boolean wide = random.nextInt(3) > 0;
    LongUnaryOperator key =
        any -> wide ? random.nextInt((int) keys) : Math.min(keys - 1, near + random.nextInt(count));
    Map<Long, Record> written = new TreeMap<>();
    for (int i = 0; i < count; i++) {
      long id = key.applyAsLong(i);
      written.put(id, row(id, id % 3 == 0 ? "eu" : "us", Long.toHexString(random.nextLong())));
    }
    List<Record> shuffled = new ArrayList<>(written.values());
    Collections.shuffle(shuffled, random);
    TableFiles files = TableFiles.of(table);
    if (random.nextInt(4) == 0) { // keys that are not there yet
      shuffled.removeIf(row -> model.containsKey(row.getField("id")));
      if (!shuffled.isEmpty()) {
        files.append(files.dataByPartition(shuffled).toArray(DataFile[]::new));
      }
    } else {
      files.upsert(List.of("id"), shuffled);
    }
    shuffled.forEach(row -> model.put((Long) row.getField("id"), row));
    table.refresh();
    return TableRows.dataFiles(table, table.currentSnapshot()).stream()
        .filter(file -> !before.contains(file.location()))
        .mapToLong(DataFile::fileSizeInBytes)
        .sum();
  }

  private static List<Record> live(Table table) {
    List<Record> rows = new ArrayList<>();
    for (Record row : TableRows.liveRecords(table, table.currentSnapshot())) {
      rows.add(row((Long) row.getField("id"), row.getField("region").toString(), note(row)));
    }
    rows.sort(Comparator.comparingLong(row -> (Long) row.getField("id")));
    return rows;
  }

  private static String note(Record row) {
    Object note = row.getField("note");
    return note == null ? null : note.toString();
  }

  // ---- plans

  private static Map<String, FileDecision> decisions(CompactionPlan plan) {
    return plan.decisions().stream()
        .collect(Collectors.toMap(FileDecision::location, decision -> decision));
  }

  @Test
  void thePlanSaysOfEachFileHowDeepItLies() {
    Table table = table(false, 2);
    TableFiles files = TableFiles.of(table);
    DataFile apart = files.append(rows(LongStream.range(10_000, 10_050), "eu"));
    DataFile one = files.append(rows(LongStream.range(0, 100), "eu"));
    DataFile two = files.append(rows(LongStream.range(50, 150), "eu"));
    DataFile large = files.append(rows(LongStream.range(20_000, 29_000), "eu"));
    DataFile small = files.append(rows(LongStream.range(25_000, 25_002), "eu"));
    table.refresh();
    CompactionPlan plan = plan(table, overlap(0, 3));
    assertThat(plan.groups()).hasSize(1);
    Map<String, FileDecision> decisions = decisions(plan);
    assertThat(decisions).hasSize(5);
    assertThat(decisions.get(one.location()))
        .matches(decision -> decision.reason() == Reason.OVERLAP && decision.chosen())
        .matches(decision -> decision.detail().contains("1 other file covers"));
    assertThat(decisions.get(two.location()).group()).isEqualTo(1);
    assertThat(decisions.get(apart.location()))
        .matches(decision -> decision.reason() == Reason.IN_ORDER && !decision.chosen())
        .matches(decision -> decision.detail().contains("0 other files cover a part"))
        .matches(decision -> decision.detail().contains("limit 0"));
    for (DataFile left : List.of(large, small)) {
      assertThat(decisions.get(left.location()))
          .matches(decision -> decision.reason() == Reason.WRITE_BUDGET && !decision.chosen())
          .matches(decision -> decision.detail().contains("over the write budget"))
          .matches(decision -> decision.detail().contains("more than 3 bytes"));
    }
    assertThat(plan(table, overlap(0, 100_000)).inputFiles()).isEqualTo(4);
    assertThat(plan(table, overlap(1, 100_000)).groups()).isEmpty();
  }

  @Test
  void theDeepestAreTakenWhereFilesAreCapped() {
    Table table = table(false, 2);
    TableFiles files = TableFiles.of(table);
    for (int i = 0; i < 2; i++) {
      files.append(rows(LongStream.range(0, 10), "eu"));
    }
    for (int i = 0; i < 3; i++) {
      files.append(rows(LongStream.range(100, 110), "eu"));
    }
    table.refresh();
    CompactionPlan plan = plan(table, overlap(0, 8).option("max-files-to-rewrite", "4"));
    assertThat(plan.inputFiles()).isEqualTo(3);
    assertThat(plan.decisions())
        .filteredOn(decision -> !decision.chosen())
        .hasSize(2)
        .allMatch(decision -> decision.reason() == Reason.FILES_CAP);
  }

  @Test
  void p2FilesOfOtherSpecsAreLeftUnlessTheyKeepTheirs() {
    Table table = table(false, 2);
    TableFiles.of(table).append(rows(LongStream.range(0, 10), "eu"));
    TableFiles.of(table).append(rows(LongStream.range(0, 10), "eu"));
    table.updateSpec().addField("region").commit();
    TableFiles.of(table).append(rows(LongStream.range(0, 10), "eu"));
    TableFiles.of(table).append(rows(LongStream.range(0, 10), "us"));
    TableFiles.of(table).append(rows(LongStream.range(5, 20), "us"));
    table.refresh();
    CompactionPlan plan = plan(table, overlap(0, 8));
    assertThat(plan.groupPartitions()).containsExactly("region=us");
    assertThat(plan.decisions())
        .filteredOn(decision -> decision.specId() == 0)
        .hasSize(2)
        .allMatch(decision -> decision.reason() == Reason.OTHER_SPEC)
        .allMatch(decision -> decision.detail().contains("keep-partition-spec"));
    Map<String, Map<Long, Integer>> before = covers(table);
    CompactionSettings.Builder keep = overlap(0, 8).option("keep-partition-spec", "true");
    List<Record> live = live(table);
    assertThat(Runs.of(table, keep).groups().committed()).isEqualTo(2);
    assertThat(live(table)).isEqualTo(live);
    nowhereDeeper(before, covers(table), "specs kept");
    assertThat(plan(table, keep).groups()).isEmpty();
    assertThat(most(covers(table))).isEqualTo(1);
  }

  @Test
  void ordersWhoseOverlapsCannotBeToldAreRefused() {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(SCHEMA)
            .property("write.metadata.metrics.column.note", "none")
            .create();
    TableFiles.of(table).append(rows(LongStream.range(0, 10), "eu"));
    table.refresh();
    refused(table, overlap(0, 8), "sort order", "none");
    SortOrder.Builder order = SortOrder.builderFor(SCHEMA);
    refused(
        table,
        overlap(0, 8).layout(new Layout.Sorted(order.asc(Expressions.bucket("id", 4)).build())),
        "bucket[4] of column id",
        "strategy to size");
    refused(
        table,
        overlap(0, 8).layout(new Layout.Sorted(SortOrder.builderFor(SCHEMA).asc("note").build())),
        "no bounds of column note");
    assertThatThrownBy(() -> overlap(0, 8).layout(new Layout.BinPack()).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("does not sort", "strategy to size");
  }

  private static void refused(Table table, CompactionSettings.Builder settings, String... words) {
    assertThatThrownBy(() -> plan(table, settings))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll(words);
    assertThatThrownBy(() -> new Compaction(table, settings.build(), new Committed()).run())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll(words);
  }

  // ---- odd keys

  /**
   * Text of one long beginning and text too long for a page header, nulls, values that are most of
   * the rows, an order that is not the table's: when all overlap is gone, none is seen any more.
   */
  @ParameterizedTest
  @CsvSource({"note, 0", "note, 20", "note, 5000", "region, 0", "region, 12"})
  void aRunAfterARunPlansNothingWhateverTheKeys(String column, int beginning) {
    long seed = Long.getLong("firn.test.seed", System.nanoTime());
    Random random = new Random(seed);
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(SCHEMA)
            .property("write.parquet.row-group-check-min-record-count", "20")
            .property("write.parquet.row-group-size-bytes", "4000")
            .create();
    String start = "a".repeat(beginning);
    for (int i = 0; i < 6; i++) {
      List<Record> rows = new ArrayList<>();
      for (int j = 0; j < 120; j++) {
        String key = random.nextInt(3) == 0 ? "b" : Integer.toString(random.nextInt(900), 36);
        boolean isNull = random.nextInt(9) == 0;
        rows.add(
            column.equals("note")
                ? row(random.nextInt(100), "eu", isNull ? null : start + key)
                : row(random.nextInt(100), start + key, isNull ? null : "n"));
      }
      TableFiles.of(table).append(rows);
    }
    SortOrder order =
        SortOrder.builderFor(SCHEMA)
            .desc(column, NullOrder.NULLS_LAST)
            .asc("id", NullOrder.NULLS_FIRST)
            .build();
    CompactionSettings.Builder settings = overlap(0, 100).layout(new Layout.Sorted(order));
    List<Record> live = sorted(live(table));
    Runs.of(table, settings.option("target-file-size-bytes", "2000"));
    assertThat(sorted(live(table))).isEqualTo(live);
    assertThat(TableRows.dataFiles(table, table.currentSnapshot()))
        .as("rerun with -Dfirn.test.seed=" + seed)
        .hasSizeGreaterThan(1);
    assertThat(plan(table, settings).decisions())
        .as("rerun with -Dfirn.test.seed=" + seed)
        .noneMatch(FileDecision::chosen)
        .allMatch(decision -> decision.detail().startsWith("0 other"));
  }

  /** Bounds are cut after 16 characters unless the table has it otherwise (M1). */
  @Test
  void m1KeysThatAreAlikeForLongerThanBoundsAreToldApartByLongerBounds() {
    Table table = table(false, 2);
    for (String mode : List.of("truncate(16)", "truncate(24)")) {
      table.updateProperties().set("write.metadata.metrics.column.note", mode).commit();
      for (int i = 0; i < 2; i++) {
        List<Record> rows = new ArrayList<>();
        for (int id = 0; id < 20; id++) {
          rows.add(row(id, "eu", "the same beginning " + id));
        }
        TableFiles.of(table).append(rows);
      }
      table.refresh();
      SortOrder order = SortOrder.builderFor(SCHEMA).asc("note", NullOrder.NULLS_LAST).build();
      assertThat(plan(table, overlap(0, 8).layout(new Layout.Sorted(order))).inputFiles())
          .as(mode)
          .isEqualTo(mode.contains("16") ? 0 : 4); // those of before reach over their bounds' cut
    }
  }

  private static List<Record> sorted(List<Record> rows) {
    List<Record> sorted = new ArrayList<>(rows);
    sorted.sort(Comparator.comparing(Record::toString));
    return sorted;
  }

  // ---- groups of sorted layouts

  @ParameterizedTest
  @CsvSource({"1, 1000000000", "3, 1000000000", "1000, 9000"})
  void o11OutputsOfARunDoNotOverlapWhateverTheNumberOfGroups(int filesMax, long bytesMax) {
    long seed = Long.getLong("firn.test.seed", System.nanoTime());
    Random random = new Random(seed);
    Table table = table(true, 2);
    for (int i = 0; i < 24; i++) {
      long first = random.nextInt(3000);
      String region = random.nextBoolean() ? "eu" : "us";
      TableFiles.of(table)
          .append(rows(LongStream.range(first, first + 1 + random.nextInt(200)), region));
    }
    table.refresh();
    List<Record> live = sorted(live(table));
    CompactionReport report =
        Runs.of(
            table,
            Runs.all(scratch)
                .layout(new Layout.TableOrder())
                .option("max-file-group-input-files", "" + filesMax)
                .option("max-file-group-size-bytes", "" + bytesMax));
    assertThat(report.groups().committed()).isGreaterThan(2);
    assertThat(sorted(live(table))).isEqualTo(live);
    assertThat(most(covers(table)))
        .as("files over one place, rerun with -Dfirn.test.seed=" + seed)
        .isEqualTo(1);
  }

  /** A table that was not partitioned, then by region, then by region and hundreds of the id. */
  private Table evolved(Random random, int filesOfEach) {
    Table table = table(false, 2);
    for (int spec = 0; spec < 3; spec++) {
      if (spec == 1) {
        table.updateSpec().addField("region").commit();
      } else if (spec == 2) {
        table.updateSpec().addField(Expressions.truncate("id", 1000)).commit();
      }
      TableFiles files = TableFiles.of(table);
      for (int i = 0; i < filesOfEach; i++) {
        long first = random.nextInt(3900);
        List<Record> rows =
            rows(
                LongStream.range(first, first + 1 + random.nextInt(200)),
                random.nextInt(3) == 0 ? "eu" : "us");
        files.append(files.dataByPartition(rows).toArray(DataFile[]::new));
      }
      table.refresh();
    }
    return table;
  }

  @ParameterizedTest
  @CsvSource({"1, 1000000000", "4, 1000000000", "1000, 9000"})
  void o11p2OutputsOfFilesOfOtherSpecsDoNotOverlapWithAnyOther(int filesMax, long bytesMax) {
    long seed = Long.getLong("firn.test.seed", System.nanoTime());
    Table table = evolved(new Random(seed), 10);
    List<Record> live = sorted(live(table));
    CompactionReport report =
        Runs.of(
            table,
            Runs.all(scratch)
                .layout(new Layout.TableOrder())
                .option("target-file-size-bytes", "4000")
                .option("max-file-group-input-files", "" + filesMax)
                .option("max-file-group-size-bytes", "" + bytesMax));
    assertThat(report.groups().committed()).isGreaterThan(1);
    assertThat(sorted(live(table))).isEqualTo(live);
    assertThat(TableRows.dataFiles(table, table.currentSnapshot()))
        .allMatch(file -> file.specId() == table.spec().specId())
        .hasSizeGreaterThan(8);
    assertThat(most(covers(table)))
        .as("files over one place, rerun with -Dfirn.test.seed=" + seed)
        .isEqualTo(1);
  }

  @Test
  void o11FilesOfOtherSpecsAreJoinedWithThosePartitionsOnlyThatTheirRowsMayComeInto() {
    Table table = table(false, 2);
    table.updateSpec().addField("region").commit();
    TableFiles files = TableFiles.of(table);
    DataFile oldEu = files.append(rows(LongStream.range(0, 10), "eu"));
    DataFile oldUs = files.append(rows(LongStream.range(2000, 2010), "us"));
    table.updateSpec().addField(Expressions.truncate("id", 1000)).commit();
    DataFile eu0 = files.append(rows(LongStream.range(0, 20), "eu"));
    DataFile eu2 = files.append(rows(LongStream.range(2000, 2020), "eu"));
    DataFile us2 = files.append(rows(LongStream.range(2500, 2520), "us"));
    table.refresh();
    CompactionSettings.Builder settings =
        Runs.all(scratch).layout(new Layout.ZOrder(List.of("id"), Layout.CurveInput.RANK));
    assertThat(groups(plan(table, settings)))
        .containsExactlyInAnyOrder(
            Set.of(oldEu.location(), eu0.location()),
            Set.of(eu2.location()),
            Set.of(oldUs.location(), us2.location()));
    // By a key, what shares a partition but no key need not be together.
    settings.layout(new Layout.TableOrder()).option("max-file-group-input-files", "1");
    assertThat(groups(plan(table, settings)))
        .containsExactlyInAnyOrder(
            Set.of(oldEu.location(), eu0.location()),
            Set.of(eu2.location()),
            Set.of(oldUs.location()),
            Set.of(us2.location()));
    // Of a bucket nothing is known; nor is the region of rows that were not partitioned by it.
    table.updateSpec().addField(Expressions.bucket("note", 4)).commit();
    table.refresh();
    settings.layout(new Layout.ZOrder(List.of("note"), Layout.CurveInput.RANK));
    assertThat(groups(plan(table, settings))).hasSize(3);
    table.updateSpec().removeField("region").removeField("id_trunc_1000").commit();
    table.refresh();
    assertThat(groups(plan(table, settings))).hasSize(1);
  }

  private static List<Set<String>> groups(CompactionPlan plan) {
    return plan.groups().stream()
        .map(
            group ->
                group.fileScanTasks().stream()
                    .map(task -> task.file().location())
                    .collect(Collectors.toSet()))
        .toList();
  }

  @Test
  void filesThatHangTogetherAreOneGroupHoweverLarge() {
    Table table = table(false, 2);
    for (int i = 0; i < 6; i++) {
      TableFiles.of(table).append(rows(LongStream.range(10 * i, 10 * i + 15), "eu"));
    }
    TableFiles.of(table).append(rows(LongStream.range(1000, 1010), "eu"));
    table.refresh();
    CompactionSettings.Builder settings =
        Runs.all(scratch).layout(new Layout.TableOrder()).option("max-file-group-input-files", "2");
    assertThat(plan(table, settings).groups().stream().map(RewriteFileGroup::inputFileNum))
        .containsExactly(6, 1);
    SortOrder byHash = SortOrder.builderFor(SCHEMA).asc(Expressions.bucket("id", 4)).build();
    assertThat(plan(table, settings.layout(new Layout.Sorted(byHash))).groups()).hasSize(1);
    assertThat(plan(table, settings.layout(new Layout.BinPack())).groups()).hasSize(4);
  }
}
