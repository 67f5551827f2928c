package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.engine.VerificationReport.Difference;
import dev.firn.engine.VerificationReport.DifferingFile;
import dev.firn.engine.VerificationReport.Side;
import dev.firn.testdata.CountingFileIO;
import dev.firn.testdata.GoldenTables;
import dev.firn.testdata.RandomTable;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import dev.firn.testdata.Tables;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Snapshots with the same rows are the same, and every kind of damage is found and named. */
class VerificationTest {
  @TempDir Path directory;

  private VerificationSettings settings() {
    return VerificationSettings.defaults()
        .withMemoryBytes(1L << 30)
        .withScratch(directory)
        .withThreads(2);
  }

  private VerificationReport verify(Table table, VerificationSettings settings) {
    VerificationReport quick = new Verification(table, settings, Verification.Listener.NONE).run();
    VerificationReport full =
        new Verification(table, settings.withFull(true), Verification.Listener.NONE).run();
    assertThat(full.same()).as("with all files read").isEqualTo(quick.same());
    assertThat(full.dataFiles().shared()).isZero();
    assertThat(quick.exitCode()).isEqualTo(quick.same() ? 0 : 8);
    if (!quick.same()) {
      assertThat(full.difference().columns()).isEqualTo(quick.difference().columns());
      assertThat(full.difference().files()).isEqualTo(quick.difference().files());
      assertThat(full.difference().partition()).isEqualTo(quick.difference().partition());
    }
    return quick;
  }

  private VerificationReport verify(Table table) {
    return verify(table, settings());
  }

  private CompactionReport compact(Table table, Layout layout) {
    // Such files must be replaced in one commit (P6).
    boolean droppedSource =
        table.specs().values().stream()
            .flatMap(spec -> spec.fields().stream())
            .anyMatch(field -> table.schema().findField(field.sourceId()) == null);
    CompactionReport report =
        new Compaction(
                table,
                CompactionSettings.builder()
                    .option("rewrite-all", "true")
                    .option("max-file-group-input-files", "3")
                    .option("partial-progress.enabled", "" + !droppedSource)
                    .layout(layout)
                    .memoryBytes(1L << 30)
                    .scratch(directory)
                    .threads(2)
                    .build(),
                CompactionListener.NONE)
            .run();
    assertThat(report.failures()).isEmpty();
    table.refresh();
    return report;
  }

  private static Layout sortedByFirst(Table table) {
    return table.schema().columns().stream()
        .filter(column -> column.type().isPrimitiveType())
        .findFirst()
        .<Layout>map(
            column ->
                new Layout.Sorted(
                    org.apache.iceberg.SortOrder.builderFor(table.schema())
                        .desc(column.name())
                        .build()))
        .orElseGet(Layout.BinPack::new);
  }

  // ---- the same

  static Stream<String> goldenTables() {
    return GoldenTables.names().stream();
  }

  @ParameterizedTest
  @MethodSource("goldenTables")
  void compactedTablesOfOtherWritersAreTheSame(String name) throws Exception {
    Table table = GoldenTables.copyTo(name, directory);
    List<String> before = TableRows.live(table);
    CompactionReport compaction =
        compact(table, name.hashCode() % 2 == 0 ? new Layout.BinPack() : sortedByFirst(table));
    assertThat(TableRows.live(table)).as("the oracle").isEqualTo(before);
    VerificationReport report = verify(table);
    assertThat(report.same()).as("%s", report.difference()).isTrue();
    assertThat(compaction.snapshotsCommitted()).contains(report.to()).doesNotContain(report.from());
    assertThat(report.rows().from()).isEqualTo(report.rows().to());
  }

  static LongStream seeds() {
    Long seed = Long.getLong("firn.test.seed");
    return seed != null
        ? LongStream.of(seed)
        : ThreadLocalRandom.current().longs(Integer.getInteger("firn.verify.runs", 8));
  }

  /** Any two snapshots: the same if and only if the oracle says so. */
  @ParameterizedTest
  @MethodSource("seeds")
  void randomTablesAreJudgedAsByTheOracle(long seed) throws Exception {
    RandomTable made = RandomTable.create(seed, directory);
    Table table = made.table();
    try {
      List<Snapshot> history = new ArrayList<>();
      table.snapshots().forEach(history::add);
      CompactionReport compaction =
          compact(table, seed % 2 == 0 ? new Layout.BinPack() : sortedByFirst(table));
      if (!compaction.snapshotsCommitted().isEmpty()) {
        VerificationReport report = verify(table);
        assertThat(report.same()).as("%s", report.difference()).isTrue();
      }
      List<String> now = TableRows.live(table);
      boolean lineage = TableRows.schema(table).findField("_row_id") != null;
      for (Snapshot snapshot : history) {
        if (lineage && snapshot.firstRowId() == null) {
          continue; // the oracle has row ids where a snapshot was made without
        }
        VerificationReport report =
            verify(table, settings().withSnapshots(snapshot.snapshotId() + "", null));
        assertThat(report.same())
            .as("snapshot %s: %s", snapshot, report.difference())
            .isEqualTo(TableRows.live(table, snapshot.snapshotId()).equals(now));
      }
    } catch (Exception | AssertionError e) {
      throw new AssertionError("rerun with -Dfirn.test.seed=" + seed + "\n" + made, e);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void sharedFilesAreNotReadAndThoseUnderNewDeletesAre(int formatVersion) throws Exception {
    Table made = SmallTable.withDeletes(directory.resolve("table"), formatVersion);
    Table table = Tables.withIo(made, CountingFileIO::new);
    CountingFileIO io = (CountingFileIO) table.io();
    DataFile touched = SmallTable.files(table, "us").get(0);
    TableFiles.of(made).deletePositions(Map.of(touched, new long[] {5}));
    table.refresh();
    io.reset();
    VerificationReport report =
        new Verification(table, settings(), Verification.Listener.NONE).run();
    assertThat(report.same()).isFalse();
    assertThat(report.dataFiles().from()).isEqualTo(1);
    assertThat(report.dataFiles().to()).isEqualTo(1);
    assertThat(report.difference().rows().from() - report.difference().rows().to()).isEqualTo(1);
    assertThat(report.difference().partition()).isEqualTo("region=us");
    for (DataFile file : TableRows.dataFiles(table, table.currentSnapshot())) {
      if (file.location().equals(touched.location())) {
        assertThat(io.opens(file.location())).isPositive();
      } else {
        assertThat(io.opens(file.location())).as("opens of %s", file.location()).isZero();
      }
    }
    assertThat(report.difference().files())
        .containsExactly(new DifferingFile(Side.FROM, touched.location(), 1));
    assertThat(report.difference().examples())
        .singleElement()
        .satisfies(
            example -> {
              assertThat(example.position()).isEqualTo(5);
              assertThat(example.values()).containsEntry("region", "'us'").containsKey("id");
            });
  }

  @Test
  void schemaEvolutionMeanwhileIsReadThroughOneSchema() {
    Table table =
        TableBuilder.at(directory.resolve("evolved"))
            .schema(
                required(1, "id", Types.IntegerType.get()),
                optional(2, "gone", Types.StringType.get()),
                optional(3, "name", Types.StringType.get()))
            .create();
    TableFiles files = TableFiles.of(table);
    Rows rows = Rows.of(table.schema());
    for (int id = 0; id < 10; id++) {
      rows.add(id, "gone " + id, "name " + id);
    }
    files.append(rows.list());
    files.append(rows.list());
    long before = table.currentSnapshot().snapshotId();
    table
        .updateSchema()
        .deleteColumn("gone")
        .updateColumn("id", Types.LongType.get())
        .renameColumn("name", "title")
        .addColumn("extra", Types.IntegerType.get())
        .commit();
    compact(table, new Layout.BinPack());
    VerificationReport report = verify(table);
    assertThat(report.same()).isTrue();
    assertThat(report.from()).isEqualTo(before);
    assertThat(report.columns()).containsExactly("id", "title", "extra");
    assertThat(report.notCompared()).containsExactly("gone");
  }

  @ParameterizedTest
  @ValueSource(strings = {"int", "float"})
  void s25PartitionsOfBeforeAPromotionAreTheSame(String type) {
    boolean ints = type.equals("int");
    Table table =
        TableBuilder.at(directory.resolve("promoted"))
            .schema(
                required(1, "id", Types.LongType.get()),
                optional(2, "key", ints ? Types.IntegerType.get() : Types.FloatType.get()),
                optional(3, "uuid", Types.UUIDType.get()))
            .partitionBy(spec -> spec.identity("key"))
            .create();
    TableFiles files = TableFiles.of(table);
    for (int i = 0; i < 8; i++) {
      Object key = ints ? (Object) (i % 2) : (Object) (i % 2 + 0.1f);
      files.append(
          Rows.of(table.schema())
              .add((long) i, key, new UUID(i, 1))
              .add((long) i + 10, key, new UUID(i, 2))
              .list());
    }
    DataFile one = TableRows.dataFiles(table, table.currentSnapshot()).get(0);
    files.rowDelta(
        List.of(),
        List.of(
            files
                .partitionOf(one)
                .equalityDeletes(List.of("uuid"), TableRows.inFile(table, one).subList(0, 1))));
    long before = table.currentSnapshot().snapshotId();
    table
        .updateSchema()
        .updateColumn("key", ints ? Types.LongType.get() : Types.DoubleType.get())
        .commit();
    compact(table, new Layout.BinPack());
    VerificationReport report = verify(table);
    assertThat(report.same()).as("%s", report.difference()).isTrue();
    assertThat(report.from()).isEqualTo(before);
    assertThat(report.rows().from()).isEqualTo(15);
    TableFiles.of(table)
        .deletePositions(
            Map.of(TableRows.dataFiles(table, table.currentSnapshot()).get(0), new long[] {0}));
    VerificationReport.Rows rows =
        verify(table, settings().withSnapshots(before + "", null)).difference().rows();
    assertThat(rows.from() - rows.to()).isEqualTo(1);
  }

  @Test
  void filesMovedToANewSpecAreTheSameAndDamageAmongThemIsFound() {
    Table table =
        TableBuilder.at(directory.resolve("respecced")).schema(SmallTable.SCHEMA).create();
    TableFiles files = TableFiles.of(table);
    List<Record> mixed = new ArrayList<>(SmallTable.rows(0, 5, "eu"));
    mixed.addAll(SmallTable.rows(5, 5, "us"));
    DataFile first = files.append(mixed);
    DataFile second = files.append(SmallTable.rows(10, 5, "eu"));
    table.updateSpec().addField("region").commit();
    compact(table, new Layout.BinPack());
    assertThat(verify(table).same()).isTrue();
    long good = table.currentSnapshot().snapshotId();
    DataFile eu = SmallTable.files(table, "eu").get(0);
    List<Record> damaged = TableRows.inFile(table, eu);
    damaged.get(2).setField("note", "damaged");
    table
        .newOverwrite()
        .deleteFile(eu)
        .addFile(TableFiles.of(table).partitionOf(eu).data(damaged))
        .commit();
    long beforeAll = table.snapshot(good).parentId();
    Difference difference =
        verify(table, settings().withSnapshots(beforeAll + "", null)).difference();
    assertThat(difference.partition()).as("several specs: as one").isEmpty();
    assertThat(difference.columns()).containsExactly("note");
    assertThat(difference.files())
        .hasSize(2)
        .anySatisfy(file -> assertThat(file.file()).isIn(first.location(), second.location()));
  }

  @Test
  void theDefaultPairIsWhatARunMadeAgainstWhatItWasMadeFrom() {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    long before = table.currentSnapshot().snapshotId();
    CompactionReport compaction =
        new Compaction(
                table,
                CompactionSettings.builder()
                    .option("rewrite-all", "true")
                    .option("partial-progress.enabled", "true")
                    .option("remove-dangling-deletes", "true")
                    .memoryBytes(1L << 30)
                    .scratch(directory)
                    .build(),
                CompactionListener.NONE)
            .run();
    assertThat(compaction.snapshotsCommitted()).hasSizeGreaterThan(1);
    table.refresh();
    VerificationReport report = verify(table);
    assertThat(report.from()).isEqualTo(before);
    assertThat(report.same()).isTrue();
    TableFiles.of(table).append(SmallTable.rows(100, 3, "eu"));
    VerificationReport appended = verify(table);
    assertThat(appended.from()).as("of other writers the parent").isEqualTo(report.to());
    assertThat(appended.same()).isFalse();
    assertThat(appended.difference().partition()).isEqualTo("region=eu");
    assertThat(verify(table, settings().withSnapshots("main", "main")).same()).isTrue();
  }

  @Test
  void missingSnapshotsAreRefused() {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    long first = table.snapshots().iterator().next().snapshotId();
    assertThatThrownBy(() -> verify(table, settings().withSnapshots(null, first + "")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("has no parent");
    assertThatThrownBy(() -> verify(table, settings().withSnapshots("12", null)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("12 is neither");
    assertThatThrownBy(() -> verify(table, settings().withBranch("none")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("branch none");
  }

  // ---- damage

  private static final Types.StructType POINT =
      Types.StructType.of(
          optional(31, "x", Types.IntegerType.get()), optional(32, "y", Types.StringType.get()));

  private static final Schema ALL_TYPES =
      new Schema(
          required(1, "id", Types.LongType.get()),
          required(2, "region", Types.StringType.get()),
          optional(3, "boolean", Types.BooleanType.get()),
          optional(4, "int", Types.IntegerType.get()),
          optional(5, "long", Types.LongType.get()),
          optional(6, "float", Types.FloatType.get()),
          optional(7, "double", Types.DoubleType.get()),
          optional(8, "decimal9", Types.DecimalType.of(9, 2)),
          optional(9, "decimal18", Types.DecimalType.of(18, 2)),
          optional(10, "decimal38", Types.DecimalType.of(38, 10)),
          optional(11, "string", Types.StringType.get()),
          optional(12, "binary", Types.BinaryType.get()),
          optional(13, "uuid", Types.UUIDType.get()),
          optional(14, "fixed", Types.FixedType.ofLength(5)),
          optional(15, "date", Types.DateType.get()),
          optional(16, "time", Types.TimeType.get()),
          optional(17, "timestamp", Types.TimestampType.withoutZone()),
          optional(18, "timestamptz", Types.TimestampType.withZone()),
          optional(19, "timestamp_ns", Types.TimestampNanoType.withoutZone()),
          optional(20, "point", POINT),
          optional(21, "list", Types.ListType.ofOptional(41, Types.StringType.get())),
          optional(
              22,
              "map",
              Types.MapType.ofOptional(42, 43, Types.StringType.get(), Types.IntegerType.get())),
          optional(23, "points", Types.ListType.ofOptional(44, POINT2())));

  private static Types.StructType POINT2() {
    return Types.StructType.of(
        optional(45, "x", Types.IntegerType.get()), optional(46, "y", Types.StringType.get()));
  }

  private static Record point(Types.StructType type, @Nullable Integer x, @Nullable String y) {
    return Rows.struct(type, x, y);
  }

  /** Values of the columns after the second; each seed gives other values in every column. */
  private static Object[] values(long id, String region, int seed) {
    LocalDateTime time = LocalDateTime.of(2026, 1, 1, 0, 0).plusMinutes(seed);
    return new Object[] {
      id,
      region,
      seed % 2 == 0,
      seed,
      (long) seed << 40,
      seed + 0.5f,
      seed + 0.25,
      new BigDecimal(seed).setScale(2),
      new BigDecimal(seed).setScale(2).negate(),
      new BigDecimal("12345678901234567890").add(new BigDecimal(seed)).setScale(10),
      "text " + seed,
      ByteBuffer.wrap(new byte[] {1, (byte) seed}),
      new UUID(seed, ~seed),
      new byte[] {0, 1, 2, 3, (byte) seed},
      LocalDate.of(2026, 1, 1).plusDays(seed),
      LocalTime.of(1, 0).plusSeconds(seed),
      time,
      time.atOffset(ZoneOffset.UTC),
      time.plusNanos(seed),
      point(POINT, seed, "y " + seed),
      Arrays.asList("a" + seed, null, ""),
      mapOf("k", seed),
      List.of(point(POINT2(), seed, null), point(POINT2(), null, "" + seed))
    };
  }

  private static Map<String, Integer> mapOf(String key, Integer value) {
    Map<String, Integer> map = new LinkedHashMap<>();
    map.put(key, value);
    return map;
  }

  /** Three partitions of a file each, with values of all types. */
  private Table allTypes() {
    Table table =
        TableBuilder.at(directory.resolve("types"))
            .schema(ALL_TYPES)
            .partitionBy(spec -> spec.identity("region"))
            .formatVersion(3)
            .create();
    for (String region : List.of("ap", "eu", "us")) {
      Rows rows = Rows.of(ALL_TYPES);
      for (int i = 0; i < 10; i++) {
        long id = region.charAt(0) * 100 + i;
        rows.add(values(id, region, i + region.charAt(0)));
      }
      TableFiles.of(table).append(rows.list());
    }
    table.refresh();
    return table;
  }

  private record Damage(String name, Consumer<List<Record>> change, List<String> columns) {
    @Override
    public String toString() {
      return name;
    }
  }

  private static Damage value(String column, @Nullable Object value, String... columns) {
    return new Damage(
        column + " becomes " + value,
        rows -> rows.get(5).setField(column, value),
        columns.length == 0 ? List.of(column) : List.of(columns));
  }

  static Stream<Damage> damages() {
    List<Damage> damages = new ArrayList<>();
    Object[] other = values(0, "eu", 250);
    Object[] row5 = values(0, "eu", 5 + 'e');
    List<Types.NestedField> columns = ALL_TYPES.columns();
    for (int i = 2; i < columns.size(); i++) {
      String column = columns.get(i).name();
      Object changed = column.equals("boolean") ? !(Boolean) row5[i] : other[i];
      String[] leaves =
          switch (column) {
            case "point" -> new String[] {"point.x", "point.y"};
            case "list" -> new String[] {"list.element"};
            case "map" -> new String[] {"map.value"};
            case "points" -> new String[] {"points.element.x", "points.element.y"};
            default -> new String[0];
          };
      damages.add(value(column, changed, leaves));
      damages.add(
          new Damage(
              column + " changes places between rows",
              rows -> {
                Object first = rows.get(2).getField(column);
                rows.get(2).setField(column, rows.get(7).getField(column));
                rows.get(7).setField(column, first);
              },
              List.of(column)));
    }
    damages.add(value("string", null));
    damages.add(value("string", "text 106 "));
    damages.add(value("binary", null));
    damages.add(value("list", null, "list", "list.element"));
    damages.add(value("list", Arrays.asList("a106", "", null), "list.element"));
    damages.add(value("list", Arrays.asList("a106", null, "", null), "list", "list.element"));
    damages.add(value("list", Arrays.asList("a106", null), "list", "list.element"));
    damages.add(value("map", mapOf("k", null), "map.value"));
    damages.add(value("map", mapOf("", 106), "map.key"));
    damages.add(value("map", Map.of(), "map", "map.key", "map.value"));
    damages.add(value("point", null, "point", "point.x", "point.y"));
    damages.add(value("point", point(POINT, null, null), "point.x", "point.y"));
    damages.add(
        value(
            "points",
            List.of(point(POINT2(), 106, ""), point(POINT2(), null, "106")),
            "points.element.y"));
    damages.add(value("_row_id", 9999L));
    damages.add(value("_row_id", null));
    damages.add(value("_last_updated_sequence_number", null));
    List<String> all = List.of("all");
    damages.add(new Damage("a row is missing", rows -> rows.remove(5), all));
    damages.add(new Damage("a row is there twice", rows -> rows.add(rows.get(5)), all));
    damages.add(
        new Damage("a row is there twice for another", rows -> rows.set(5, rows.get(6)), all));
    return damages.stream();
  }

  @Test
  void rowsInAnotherOrderAndFilesAreTheSame() {
    Table table = allTypes();
    DataFile eu = file(table, "eu");
    List<Record> rows = TableRows.inFile(table, eu);
    java.util.Collections.reverse(rows);
    replace(table, eu, write(table, eu, rows.subList(0, 4)), write(table, eu, rows.subList(4, 10)));
    VerificationReport report = verify(table);
    assertThat(report.same()).as("%s", report.difference()).isTrue();
    assertThat(report.rows()).isEqualTo(new VerificationReport.Rows(10, 10));
    assertThat(report.columns()).contains("_row_id", "points.element.y", "map.key");
  }

  @ParameterizedTest
  @MethodSource("damages")
  void damageIsFoundAndNamed(Damage damage) {
    Table table = allTypes();
    DataFile eu = file(table, "eu");
    List<Record> rows = TableRows.inFile(table, eu);
    damage.change().accept(rows);
    DataFile damaged = write(table, eu, rows);
    replace(table, eu, damaged);
    VerificationReport report =
        new Verification(table, settings(), Verification.Listener.NONE).run();
    assertThat(report.same()).isFalse();
    Difference difference = report.difference();
    assertThat(difference.partition()).isEqualTo("region=eu");
    assertThat(difference.complete()).isTrue();
    if (damage.columns().equals(List.of("all"))) {
      assertThat(difference.columns()).contains("id", "string", "_row_id");
    } else {
      assertThat(difference.columns()).isEqualTo(damage.columns());
    }
    assertThat(difference.files().stream().map(DifferingFile::file))
        .isSubsetOf(eu.location(), damaged.location())
        .isNotEmpty();
    assertThat(difference.files()).allSatisfy(file -> assertThat(file.rows()).isBetween(1L, 2L));
    assertThat(difference.examples()).isNotEmpty();
  }

  @Test
  void theSignOfZeroIsSeen() {
    Table table = allTypes();
    DataFile eu = file(table, "eu");
    List<Record> rows = TableRows.inFile(table, eu);
    rows.get(5).setField("double", 0.0);
    rows.get(6).setField("float", 0.0f);
    DataFile zeros = write(table, eu, rows);
    replace(table, eu, zeros);
    rows.get(5).setField("double", -0.0);
    replace(table, zeros, write(table, eu, rows));
    assertThat(verify(table).difference().columns()).containsExactly("double");
    rows.get(6).setField("float", -0.0f);
    replace(table, file(table, "eu"), write(table, eu, rows));
    Difference difference = verify(table).difference();
    assertThat(difference.columns()).containsExactly("float");
    assertThat(difference.examples().get(0).values()).containsEntry("float", "0.0");
    assertThat(difference.examples().get(1).values()).containsEntry("float", "-0.0");
  }

  @Test
  void rowsMovedAcrossPartitionsAreFound() {
    Table table =
        TableBuilder.at(directory.resolve("buckets"))
            .schema(SmallTable.SCHEMA)
            .partitionBy(spec -> spec.bucket("id", 4))
            .create();
    List<DataFile> files =
        TableFiles.of(table).dataByPartition(SmallTable.rows(0, 40, "eu")).stream()
            .sorted(java.util.Comparator.comparing(file -> file.partition().get(0, Integer.class)))
            .toList();
    TableFiles.of(table).append(files.toArray(DataFile[]::new));
    DataFile one = files.get(1);
    DataFile two = files.get(2);
    List<Record> rows = TableRows.inFile(table, one);
    List<Record> others = TableRows.inFile(table, two);
    others.add(rows.remove(3));
    OverwriteFiles overwrite = table.newOverwrite();
    overwrite.deleteFile(one).deleteFile(two);
    overwrite.addFile(write(table, one, rows)).addFile(write(table, two, others)).commit();
    Difference difference = verify(table).difference();
    assertThat(difference.partition()).isEqualTo("id_bucket=1");
    assertThat(difference.partitions()).isEqualTo(2);
    assertThat(difference.files()).containsExactly(new DifferingFile(Side.FROM, one.location(), 1));
    assertThat(difference.examples().get(0).position()).isEqualTo(3);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void resurrectedRowsAreFound(int formatVersion) {
    Table table =
        TableBuilder.at(directory.resolve("deleted"))
            .schema(SmallTable.SCHEMA)
            .partitionBy(spec -> spec.identity("region"))
            .formatVersion(formatVersion)
            .create();
    TableFiles files = TableFiles.of(table);
    DataFile eu = files.append(SmallTable.rows(0, 10, "eu"));
    files.append(SmallTable.rows(10, 10, "us"));
    DeleteFile delete =
        formatVersion == 3
            ? files.vector(eu, 2, 7)
            : files.partitionOf(eu).equalityDeletes(List.of("id"), SmallTable.rows(2, 2, "eu"));
    files.rowDelta(List.of(), List.of(delete));
    table.refresh();
    table
        .newRowDelta()
        .removeDeletes(TableRows.deleteFiles(table, table.currentSnapshot()).get(0))
        .commit();
    Difference difference = verify(table).difference();
    assertThat(difference.partition()).isEqualTo("region=eu");
    assertThat(difference.rows()).isEqualTo(new VerificationReport.Rows(8, 10));
    assertThat(difference.files()).containsExactly(new DifferingFile(Side.TO, eu.location(), 2));
    assertThat(difference.examples().get(0).position()).isEqualTo(2);
  }

  private static DataFile file(Table table, String region) {
    return SmallTable.files(table, region).get(0);
  }

  /** Rows with their lineage as they say, in the partition of a file. */
  private static DataFile write(Table table, DataFile like, List<Record> rows) {
    return TableFiles.of(table).schema(TableRows.schema(table)).partitionOf(like).data(rows);
  }

  private static void replace(Table table, DataFile old, DataFile... with) {
    OverwriteFiles overwrite = table.newOverwrite().deleteFile(old);
    for (DataFile file : with) {
      overwrite.addFile(file);
    }
    overwrite.commit();
    table.refresh();
  }
}
