package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.engine.FileDecision.Reason;
import dev.firn.engine.parquet.UnsupportedTableException;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tables whose partition spec has changed (section 6 of the rules). */
class PartitionEvolutionTest {
  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
  }

  private CompactionSettings settings(String... options) {
    CompactionSettings.Builder settings =
        CompactionSettings.builder().memoryBytes(512L << 20).scratch(scratch).threads(2);
    for (int i = 0; i < options.length; i += 2) {
      settings.option(options[i], options[i + 1]);
    }
    return settings.build();
  }

  /** Compacts; the rows stay, the files are what they claim to be. */
  private CompactionReport compact(Table table, String... options) throws IOException {
    List<String> live = TableRows.live(table);
    TableBefore before = TableBefore.of(table);
    CompactionReport report =
        new Compaction(table, settings(options), CompactionListener.NONE).run();
    assertThat(report.failures()).isEmpty();
    table.refresh();
    assertThat(TableRows.live(table)).isEqualTo(live);
    FileTruth.check(table, before.dataFiles());
    before.checkRows(table);
    assertThat(scratch).isEmptyDirectory();
    return report;
  }

  private static List<DataFile> dataFiles(Table table) {
    return TableRows.dataFiles(table, table.currentSnapshot());
  }

  /** How many live data files each partition of each spec has, as in {@code 0 region=eu}. */
  private static Map<String, Long> filesByPartition(Table table) {
    return dataFiles(table).stream()
        .collect(
            Collectors.groupingBy(
                file -> partition(table, file), TreeMap::new, Collectors.counting()));
  }

  private static String partition(Table table, DataFile file) {
    return file.specId() + " " + table.specs().get(file.specId()).partitionToPath(file.partition());
  }

  /** Three small files in each of two regions, then as many by bucket of the id. */
  private Table evolved(int formatVersion) {
    Table table =
        TableBuilder.at(directory.resolve("t"))
            .schema(SmallTable.SCHEMA)
            .partitionBy(spec -> spec.identity("region"))
            .formatVersion(formatVersion)
            .create();
    TableFiles files = TableFiles.of(table).rowGroupRows(4);
    for (int i = 0; i < 3; i++) {
      files.append(SmallTable.rows(10 * i, 10, "eu"));
      files.append(SmallTable.rows(100 + 10 * i, 10, "us"));
    }
    table
        .updateSpec()
        .removeField("region")
        .addField("shard", Expressions.bucket("id", 4))
        .commit();
    for (int i = 0; i < 3; i++) {
      files.append(
          files.dataByPartition(SmallTable.rows(200 + 20 * i, 20, "eu")).toArray(DataFile[]::new));
    }
    table.refresh();
    return table;
  }

  @Test
  void p1FilesAreReadWithTheirOwnSpecAndWrittenWithTheCurrentOne() throws IOException {
    Table table = evolved(2);
    compact(table, "rewrite-all", "true");
    assertThat(filesByPartition(table).keySet())
        .containsExactly("1 shard=0", "1 shard=1", "1 shard=2", "1 shard=3");
  }

  @Test
  void p1p2OutputSpecIdIsHonouredAndFilesThatHaveItKeepTheirPartition() throws IOException {
    Table table = evolved(2);
    Map<String, Long> before = filesByPartition(table);
    CompactionPlan plan =
        new Compaction(
                table,
                settings("output-spec-id", "0", "rewrite-all", "true"),
                CompactionListener.NONE)
            .plan();
    assertThat(plan.groups()).hasSize(3).allMatch(group -> group.outputSpecId() == 0);
    assertThat(plan.groupPartitions()).contains("region=eu", "region=us");
    CompactionReport report = compact(table, "output-spec-id", "0", "rewrite-all", "true");
    assertThat(before).hasSizeGreaterThan(4);
    assertThat(report.groups().committed()).isEqualTo(3);
    assertThat(filesByPartition(table))
        .as("one file of each group: the partition is rewritten, then come rows of other specs")
        .isEqualTo(Map.of("0 region=eu", 2L, "0 region=us", 1L));
  }

  @Test
  void p2AGroupOfMixedSpecsIsRepartitionedWhateverItsFirstFileIs() throws IOException {
    Table table = evolved(2);
    table.updateSpec().removeField("shard").commit();
    TableFiles.of(table).append(SmallTable.rows(300, 10, "eu"));
    table.refresh();
    for (int spec : new int[] {2, 1, 0}) {
      compact(table, "rewrite-all", "true", "output-spec-id", Integer.toString(spec));
      assertThat(dataFiles(table)).allMatch(file -> file.specId() == spec);
    }
  }

  @Test
  void p9KeepPartitionSpecPacksEachPartitionOfEachSpec() throws IOException {
    Table table = evolved(2);
    Set<String> partitions = new TreeSet<>(filesByPartition(table).keySet());
    long planned = table.currentSnapshot().sequenceNumber();
    CompactionReport report = compact(table, "rewrite-all", "true", "keep-partition-spec", "true");
    assertThat(report.groups().committed()).isEqualTo(partitions.size());
    assertThat(filesByPartition(table).keySet()).isEqualTo(partitions);
    assertThat(dataFiles(table))
        .hasSize(partitions.size())
        .as("nothing changes its partition, so the starting sequence number is kept (C3)")
        .allMatch(file -> file.dataSequenceNumber() == planned);
  }

  @Test
  void p9h2h3DeletesOfAnOldSpecThatCommitMeanwhileApplyToItsFilesAndToNoOthers()
      throws IOException {
    for (boolean keep : new boolean[] {true, false}) {
      Table table = evolved(2);
      Table other = Tables.another(table);
      List<String> before = TableRows.live(table);
      Compaction compaction =
          new Compaction(
              table,
              settings("rewrite-all", "true", "keep-partition-spec", Boolean.toString(keep)),
              new CompactionListener() {
                private boolean done;

                @Override
                public synchronized void rewritten(RewriteFileGroup group) {
                  if (!done) {
                    done = true;
                    deleteInBothSpecs(other);
                  }
                }
              });
      assertThat(compaction.run().failures()).isEmpty();
      table.refresh();
      List<String> expected =
          before.stream()
              .filter(
                  row ->
                      !row.contains("\"note 3\"")
                          && !row.contains("\"note 103\"")
                          && !row.contains("\"note 203\""))
              .toList();
      assertThat(TableRows.live(table)).as("keep %s", keep).isEqualTo(expected);
      assertThat(dataFiles(table).stream().map(DataFile::specId).collect(Collectors.toSet()))
          .isEqualTo(keep ? Set.of(0, 1) : Set.of(1));
      deleteDirectory(directory.resolve("t"));
    }
  }

  /** Keys 3, 103 and 203, each in the spec and partition of its row; 4 in one that has it not. */
  private static void deleteInBothSpecs(Table table) {
    List<DeleteFile> deletes = new ArrayList<>();
    TableFiles old = TableFiles.of(table).spec(table.specs().get(0));
    TableFiles current = TableFiles.of(table);
    deletes.add(old.equalityDeletes(List.of("id"), SmallTable.rows(3, 1, "eu")));
    deletes.add(old.equalityDeletes(List.of("id"), SmallTable.rows(103, 1, "us")));
    deletes.add(old.equalityDeletes(List.of("id"), SmallTable.rows(4, 1, "us")));
    deletes.add(current.equalityDeletes(List.of("id"), SmallTable.rows(203, 1, "eu")));
    deletes.add(current.equalityDeletes(List.of("id"), SmallTable.rows(5, 1, "eu")));
    current.rowDelta(List.of(), deletes);
  }

  private static void deleteDirectory(Path root) throws IOException {
    try (Stream<Path> files = Files.walk(root)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    }
  }

  // ---- specs that cannot be written

  /** The table with the transform of one partition field replaced by one that nobody knows. */
  private Table withUnknownTransform(Table table, String transform) throws IOException {
    Path metadata;
    try (Stream<Path> files = Files.list(directory.resolve("t/metadata"))) {
      metadata =
          files
              .filter(file -> file.toString().endsWith(".metadata.json"))
              .max(Comparator.comparingInt(PartitionEvolutionTest::version))
              .orElseThrow();
    }
    String json = Files.readString(metadata);
    String changed = json.replaceAll("(\"transform\" ?: ?)\"" + transform + "\"", "$1\"zonk\"");
    assertThat(changed).isNotEqualTo(json);
    Files.writeString(metadata, changed);
    return TableBuilder.open(directory.resolve("t"));
  }

  private static int version(Path metadata) {
    String name = metadata.getFileName().toString();
    return Integer.parseInt(name.substring(1, name.indexOf('.')));
  }

  @Test
  void p5FilesOfAnUnknownTransformAreReadAndNotWritten() throws IOException {
    Table table = withUnknownTransform(evolved(2), "identity");
    assertThat(table.specs().get(0).fields().get(0).transform()).hasToString("zonk");
    List<FileDecision> decisions =
        new Compaction(
                table,
                settings("rewrite-all", "true", "keep-partition-spec", "true"),
                CompactionListener.NONE)
            .plan()
            .decisions();
    assertThat(decisions)
        .filteredOn(decision -> decision.specId() == 0)
        .hasSize(6)
        .allMatch(decision -> decision.reason() == Reason.UNWRITABLE_SPEC && !decision.chosen())
        .allMatch(decision -> decision.detail().contains("zonk"));
    Set<String> old =
        dataFiles(table).stream()
            .filter(file -> file.specId() == 0)
            .map(DataFile::location)
            .collect(Collectors.toSet());
    compact(table, "rewrite-all", "true", "keep-partition-spec", "true");
    assertThat(FileTruth.locations(table)).containsAll(old).hasSize(6 + 4);
    compact(table, "rewrite-all", "true");
    assertThat(filesByPartition(table)).hasSize(4);
  }

  @Test
  void p6FilesWhoseSourceColumnWasDroppedAreRewrittenInTheCurrentSpec() throws IOException {
    Table table = evolved(2);
    table.updateSchema().deleteColumn("region").commit();
    List<FileDecision> decisions =
        new Compaction(table, settings("keep-partition-spec", "true"), CompactionListener.NONE)
            .plan()
            .decisions();
    assertThat(decisions)
        .filteredOn(decision -> decision.reason() == Reason.UNWRITABLE_SPEC)
        .hasSize(6)
        .allMatch(decision -> decision.detail().contains("region was dropped"));
    compact(table, "rewrite-all", "true", "keep-partition-spec", "true");
    assertThat(dataFiles(table)).filteredOn(file -> file.specId() == 0).hasSize(6);
    compact(table, "rewrite-all", "true");
    assertThat(filesByPartition(table).keySet())
        .containsExactly("1 shard=0", "1 shard=1", "1 shard=2", "1 shard=3");
  }

  @Test
  void p6d7DeletesOfAPartitionWhoseSourceColumnWasDroppedKeepTheirScope() throws IOException {
    Table table = evolved(2);
    TableFiles old = TableFiles.of(table).spec(table.specs().get(0));
    old.rowDelta(
        List.of(),
        List.of(
            old.equalityDeletes(List.of("id"), SmallTable.rows(0, 200, "us")),
            old.equalityDeletes(List.of("id"), SmallTable.rows(3, 1, "eu"))));
    table.updateSchema().deleteColumn("region").commit();
    assertThat(TableRows.live(table)).hasSize(29 + 60);
    String[][] unsafe = {
      {"keep-partition-spec", "true", "rewrite-all", "true"},
      {"partial-progress.enabled", "true", "rewrite-all", "true"},
      {"max-files-to-rewrite", "3"}
    };
    for (String[] options : unsafe) {
      assertThatThrownBy(
              () -> new Compaction(table, settings(options), CompactionListener.NONE).run())
          .isInstanceOf(UnsupportedTableException.class)
          .hasMessageContainingAll("region was dropped", "spec 0", "rewrite-all");
    }
    compact(table, "rewrite-all", "true");
    assertThat(filesByPartition(table)).hasSize(4);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void p6d7ASourceColumnDroppedWhileTheTableIsCompactedLeavesDeletesTheirScope(
      boolean partialProgress) throws IOException {
    Table table = evolved(2);
    TableFiles old = TableFiles.of(table).spec(table.specs().get(0));
    old.rowDelta(
        List.of(),
        List.of(
            old.equalityDeletes(List.of("id"), SmallTable.rows(0, 200, "us")),
            old.equalityDeletes(List.of("id"), SmallTable.rows(3, 1, "eu"))));
    table.refresh();
    CompactionSettings.Builder settings =
        Runs.all(scratch)
            .option("partial-progress.enabled", String.valueOf(partialProgress))
            .option("max-file-group-input-files", "2");
    Consumer<Table> drop = other -> other.updateSchema().deleteColumn("region").commit();
    if (partialProgress) {
      assertThatThrownBy(() -> Runs.reported(table, settings, drop))
          .isInstanceOf(UnsupportedTableException.class)
          .hasMessageContainingAll("region was dropped", "spec 0", "rewrite-all");
    } else {
      assertThat(Runs.reported(table, settings, drop).failures()).isEmpty();
    }
    table.refresh();
    assertThat(TableRows.live(table)).hasSize(29 + 60);
    assertThat(table.schema().findField("region")).isNull();
  }

  @Test
  void p6s4PartitionsOfAPromotedSourceColumnKeepTheirDeletes() throws IOException {
    Schema schema =
        new Schema(
            Types.NestedField.optional(1, "id", Types.LongType.get()),
            Types.NestedField.optional(2, "f", Types.FloatType.get()),
            Types.NestedField.optional(3, "i", Types.IntegerType.get()),
            Types.NestedField.optional(4, "d", Types.DecimalType.of(9, 2)));
    for (String column : List.of("f", "i", "d")) {
      Table table =
          TableBuilder.at(directory.resolve(column))
              .schema(schema)
              .partitionBy(spec -> spec.identity(column))
              .formatVersion(2)
              .create();
      List<Record> rows = new ArrayList<>();
      for (long id = 0; id < 20; id++) {
        Record row = GenericRecord.create(schema);
        row.setField("id", id);
        row.setField("f", id % 2 == 0 ? 0.1f : -3f);
        row.setField("i", (int) (id % 2));
        row.setField("d", new BigDecimal(id % 2 + ".25"));
        rows.add(row);
      }
      for (int i = 0; i < 2; i++) {
        TableFiles files = TableFiles.of(table);
        files.append(
            files.dataByPartition(rows.subList(10 * i, 10 * i + 10)).toArray(DataFile[]::new));
      }
      TableFiles files = TableFiles.of(table);
      files.rowDelta(List.of(), List.of(files.equalityDeletes(List.of("id"), rows.subList(0, 1))));
      table
          .updateSchema()
          .updateColumn("f", Types.DoubleType.get())
          .updateColumn("i", Types.LongType.get())
          .updateColumn("d", Types.DecimalType.of(18, 2))
          .commit();
      table.refresh();
      List<String> live = TableRows.live(table);
      assertThat(live).hasSize(19);
      compact(table, "rewrite-all", "true");
      assertThat(TableRows.live(table)).isEqualTo(live);
      assertThat(dataFiles(table)).hasSize(2);
    }
  }

  // ---- format version 1

  @Test
  void p8VoidFieldsOfVersion1StayInTheTuple() throws IOException {
    Table table = evolved(1);
    assertThat(table.spec().fields()).hasSize(2);
    assertThat(table.spec().fields().get(0).transform().isVoid()).isTrue();
    compact(table, "rewrite-all", "true");
    assertThat(filesByPartition(table).keySet())
        .containsExactly(
            "1 region=null/shard=0",
            "1 region=null/shard=1",
            "1 region=null/shard=2",
            "1 region=null/shard=3");
    compact(table, "rewrite-all", "true", "output-spec-id", "0");
    assertThat(filesByPartition(table)).isEqualTo(Map.of("0 region=eu", 1L, "0 region=us", 1L));
    table.updateSpec().removeField("shard").commit();
    assertThat(table.spec().fields()).hasSize(2);
    compact(table, "rewrite-all", "true");
    assertThat(dataFiles(table)).hasSize(1).allMatch(file -> file.specId() == 2);
    compact(table, "rewrite-all", "true", "keep-partition-spec", "true");
    assertThat(dataFiles(table)).hasSize(1).allMatch(file -> file.specId() == 2);
  }

  @Test
  void p6p8VoidFieldsWhoseSourceColumnWasDroppedAreNull() throws IOException {
    Table table = evolved(1);
    table.updateSchema().deleteColumn("region").commit();
    compact(table, "rewrite-all", "true");
    assertThat(dataFiles(table)).allMatch(file -> file.specId() == 1);
    assertThat(filesByPartition(table)).hasSize(4);
    compact(table, "rewrite-all", "true", "keep-partition-spec", "true");
    assertThat(dataFiles(table)).hasSize(4);
  }

  // ---- filters

  @Test
  void p10FiltersChooseFilesOfEachSpecByItsOwnPartitions() throws IOException {
    Table table = evolved(2);
    Compaction compaction =
        new Compaction(
            table,
            CompactionSettings.builder()
                .option("rewrite-all", "true")
                .option("keep-partition-spec", "true")
                .filter(Expressions.equal("region", "us"))
                .memoryBytes(512L << 20)
                .scratch(scratch)
                .threads(2)
                .build(),
            CompactionListener.NONE);
    List<String> live = TableRows.live(table);
    Map<String, Long> expected = filesByPartition(table);
    expected.put("0 region=us", 1L);
    assertThat(compaction.run().failures()).isEmpty();
    table.refresh();
    assertThat(TableRows.live(table)).isEqualTo(live);
    assertThat(filesByPartition(table)).as("statistics tell of the others").isEqualTo(expected);
  }
}
