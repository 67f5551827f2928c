package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

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
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;
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

  private static final int ROUNDS = Integer.getInteger("firn.test.rounds", 8);

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
  @CsvSource({"1, 4, false, 2", "4, 8, true, 2", "0, 3, false, 3", "2, 1.5, true, 3"})
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
      LOG.info(
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
}
