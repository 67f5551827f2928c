package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.engine.parquet.UnsupportedTableException;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.LocationProvider;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.io.LocalInputFile;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.Type;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the manifests and footers of a compaction's outputs say. */
class OutputMetadataTest {
  private static final Schema NESTED =
      new Schema(
          required(1, "id", Types.LongType.get()),
          optional(2, "text", Types.StringType.get()),
          optional(3, "bytes", Types.BinaryType.get()),
          optional(4, "number", Types.DoubleType.get()),
          optional(
              5,
              "struct",
              Types.StructType.of(
                  optional(6, "inner", Types.IntegerType.get()),
                  optional(7, "words", Types.StringType.get()))),
          optional(8, "list", Types.ListType.ofOptional(9, Types.IntegerType.get())),
          optional(
              10,
              "map",
              Types.MapType.ofOptional(11, 12, Types.StringType.get(), Types.FloatType.get())));

  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
  }

  private TableBuilder builder(Schema schema) {
    return TableBuilder.at(directory.resolve("table")).schema(schema);
  }

  private static List<DataFile> files(Table table) {
    return TableRows.dataFiles(table, table.currentSnapshot());
  }

  private static DataFile only(Table table) {
    assertThat(files(table)).hasSize(1);
    return files(table).get(0);
  }

  private static ParquetMetadata footer(DataFile file) throws IOException {
    try (ParquetFileReader reader =
        ParquetFileReader.open(new LocalInputFile(TableBefore.path(file.location())))) {
      return reader.getFooter();
    }
  }

  private static List<Record> nestedRows(int count) {
    Types.StructType struct = NESTED.findType("struct").asStructType();
    Rows rows = Rows.of(NESTED);
    for (int i = 0; i < count; i++) {
      rows.add(
          (long) i,
          i % 5 == 0 ? null : "a text of more than sixteen letters, " + i,
          i % 7 == 0 ? null : ByteBuffer.wrap(new byte[] {(byte) i, 1, 2}),
          number(i),
          i % 4 == 0 ? null : Rows.struct(struct, i % 8 == 1 ? null : i, "words " + i),
          i % 6 == 0 ? null : new ArrayList<>(java.util.Arrays.asList(i, null)),
          i % 9 == 0 ? null : Map.of("key " + i, i % 2 == 0 ? Float.NaN : (float) i));
    }
    return rows.list();
  }

  private static Double number(int i) {
    if (i % 11 == 0) {
      return Double.NaN;
    }
    return i % 3 == 0 ? null : Double.valueOf(i);
  }

  // ---- statistics

  static Stream<Arguments> modes() {
    return Stream.of(
            Map.<String, String>of(),
            Map.of("write.metadata.metrics.default", "none"),
            Map.of("write.metadata.metrics.default", "counts"),
            Map.of("write.metadata.metrics.default", "truncate(3)"),
            Map.of("write.metadata.metrics.default", "full"),
            Map.of("write.metadata.metrics.default", "not a mode"),
            Map.of(
                "write.metadata.metrics.default", "none",
                "write.metadata.metrics.column.text", "full",
                "write.metadata.metrics.column.struct.words", "counts",
                "write.metadata.metrics.column.list.element", "full"),
            Map.of("write.metadata.metrics.max-inferred-column-defaults", "2"))
        .map(Arguments::of);
  }

  /** Iceberg's writer and a compaction say the same of the same rows. */
  @ParameterizedTest
  @MethodSource("modes")
  void m1m2m3m4m6StatisticsAreThoseOfIcebergsWriter(Map<String, String> properties) {
    TableBuilder builder = builder(NESTED).sortBy(order -> order.asc("text"));
    properties.forEach(builder::property);
    Table table = builder.create();
    List<Record> rows = nestedRows(300);
    TableFiles files = TableFiles.of(table);
    files.append(rows.subList(0, 100));
    files.append(rows.subList(100, 300));
    Runs.of(table, Runs.all(scratch));
    DataFile ours = only(table);
    DataFile theirs = files.data(rows);
    assertThat(ours.recordCount()).isEqualTo(theirs.recordCount());
    assertThat(ours.valueCounts()).isEqualTo(theirs.valueCounts());
    assertThat(ours.nullValueCounts()).isEqualTo(theirs.nullValueCounts());
    assertThat(ours.nanValueCounts()).isEqualTo(theirs.nanValueCounts());
    assertThat(ours.lowerBounds()).isEqualTo(theirs.lowerBounds());
    assertThat(ours.upperBounds()).isEqualTo(theirs.upperBounds());
    assertThat(keys(ours.columnSizes())).isEqualTo(keys(theirs.columnSizes()));
  }

  private static Set<Integer> keys(Map<Integer, Long> sizes) {
    return sizes == null ? Set.of() : sizes.keySet();
  }

  @Test
  void m4CountsHaveNullsAndLeaveOutElements() {
    Table table = builder(NESTED).create();
    TableFiles.of(table).append(nestedRows(100));
    Runs.of(table, Runs.all(scratch));
    DataFile file = only(table);
    assertThat(file.valueCounts()).containsEntry(2, 100L).containsEntry(7, 100L);
    assertThat(file.nullValueCounts()).containsEntry(2, 20L).containsEntry(7, 25L);
    assertThat(file.nanValueCounts()).containsEntry(4, 10L);
    for (int inListOrMap : new int[] {9, 11, 12}) {
      assertThat(file.valueCounts()).doesNotContainKey(inListOrMap);
      assertThat(file.nullValueCounts()).doesNotContainKey(inListOrMap);
      assertThat(file.lowerBounds()).doesNotContainKey(inListOrMap);
    }
  }

  static Stream<Arguments> bounds() {
    String last = Character.toString(0x10FFFF);
    return Stream.of(
        Arguments.of(List.of("abcdef"), "ab", "ac"),
        Arguments.of(List.of("ab"), "ab", "ab"),
        Arguments.of(List.of("x", "a\uD7FFz"), "a\uD7FF", "x"),
        Arguments.of(List.of("\uD7FF\uD7FFz"), "\uD7FF\uD7FF", "\uD7FF\uE000"),
        Arguments.of(List.of("a" + last + "z"), "a" + last, "b"),
        Arguments.of(List.of(last + last + last), last + last, null),
        Arguments.of(List.of("\uFFFDaa", "\uD83D\uDE00aa"), "\uFFFDa", "\uD83D\uDE00b"));
  }

  /** By code points, over the surrogates, with no bound where there is none. */
  @ParameterizedTest
  @MethodSource("bounds")
  void m2TextBoundsAreCutByCodePointsAndRoundedOutwards(
      List<String> texts, String lower, String upper) {
    Schema schema = NESTED.select("id", "text");
    Table table =
        builder(schema).property("write.metadata.metrics.default", "truncate(2)").create();
    Rows rows = Rows.of(schema);
    texts.forEach(text -> rows.add(1L, text));
    TableFiles.of(table).append(rows.list());
    Runs.of(table, Runs.all(scratch));
    DataFile file = only(table);
    assertThat(file.lowerBounds().get(2)).isEqualTo(utf8(lower));
    assertThat(file.upperBounds().get(2)).isEqualTo(upper == null ? null : utf8(upper));
  }

  private static ByteBuffer utf8(String text) {
    return Conversions.toByteBuffer(Types.StringType.get(), text);
  }

  @Test
  void m2BinaryBoundsAreCutByBytesAndRoundedOutwards() {
    Schema schema = NESTED.select("id", "bytes");
    Table table =
        builder(schema).property("write.metadata.metrics.default", "truncate(2)").create();
    TableFiles files = TableFiles.of(table);
    files.append(Rows.of(schema).add(1L, bytes(1, 0xFF, 7)).add(2L, bytes(0, 9, 9)).list());
    Runs.of(table, Runs.all(scratch));
    assertThat(only(table).lowerBounds().get(3)).isEqualTo(bytes(0, 9));
    assertThat(only(table).upperBounds().get(3)).isEqualTo(bytes(2));
    files.append(Rows.of(schema).add(3L, bytes(0xFF, 0xFF, 0xFF)).list());
    Runs.of(table, Runs.all(scratch));
    assertThat(only(table).upperBounds()).as("nothing is above FF FF").doesNotContainKey(3);
  }

  private static ByteBuffer bytes(int... values) {
    ByteBuffer bytes = ByteBuffer.allocate(values.length);
    for (int i = 0; i < values.length; i++) {
      bytes.put(i, (byte) values[i]);
    }
    return bytes;
  }

  // ---- sizes and offsets

  @Test
  void m6m7m8SizesAndOffsetsAreThoseOfTheFooter() throws IOException {
    Table table =
        builder(NESTED)
            .property("write.parquet.row-group-size-bytes", "10000")
            .property("write.parquet.row-group-check-min-record-count", "10")
            .create();
    TableFiles.of(table).append(nestedRows(2000));
    Runs.of(table, Runs.all(scratch));
    DataFile file = only(table);
    Map<Integer, Long> sizes = new HashMap<>();
    List<Long> offsets = new ArrayList<>();
    long rows = 0;
    for (BlockMetaData block : footer(file).getBlocks()) {
      offsets.add(block.getStartingPos());
      rows += block.getRowCount();
      for (ColumnChunkMetaData chunk : block.getColumns()) {
        sizes.merge(chunk.getPrimitiveType().getId().intValue(), chunk.getTotalSize(), Long::sum);
      }
    }
    assertThat(offsets).hasSizeGreaterThan(2);
    assertThat(file.splitOffsets()).isEqualTo(offsets);
    assertThat(file.columnSizes()).isEqualTo(sizes);
    assertThat(file.recordCount()).isEqualTo(rows).isEqualTo(2000);
    assertThat(file.fileSizeInBytes()).isEqualTo(Files.size(TableBefore.path(file.location())));
  }

  // ---- sort orders

  @Test
  void m9OnlyASortByAnOrderOfTheTableClaimsIt() {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    table.replaceSortOrder().asc("id").commit();
    int byId = table.sortOrder().orderId();
    table.replaceSortOrder().desc("note", NullOrder.NULLS_LAST).commit();
    int byNote = table.sortOrder().orderId();
    assertThat(claimed(table, new Layout.TableOrder())).containsOnly(byNote);
    assertThat(claimed(table, new Layout.BinPack())).as("not inherited").containsOnly(0);
    assertThat(claimed(table, sorted(table, "id"))).as("a past order").containsOnly(byId);
    assertThat(claimed(table, sorted(table, "region"))).as("no order of it").containsOnly(0);
  }

  private static Layout sorted(Table table, String column) {
    return new Layout.Sorted(SortOrder.builderFor(table.schema()).asc(column).build());
  }

  private List<Integer> claimed(Table table, Layout layout) {
    Runs.of(table, Runs.all(scratch).layout(layout));
    return files(table).stream()
        .map(file -> file.sortOrderId() == null ? Integer.valueOf(0) : file.sortOrderId())
        .toList();
  }

  @Test
  void m9o4AnOrderByUuidsIsNotClaimed() {
    Schema schema =
        new Schema(required(1, "id", Types.LongType.get()), optional(2, "u", Types.UUIDType.get()));
    Table table = builder(schema).sortBy(order -> order.asc("u")).create();
    UUID low = new UUID(0x10L << 56, 0);
    UUID high = new UUID(0xF0L << 56, 0);
    TableFiles.of(table).append(Rows.of(schema).add(1L, high).add(2L, low).add(3L, null).list());
    Runs.of(table, Runs.all(scratch).layout(new Layout.TableOrder()));
    assertThat(TableRows.inFile(table, only(table)))
        .extracting(row -> row.getField("u"))
        .as("unsigned, as the statistics of the file are")
        .containsExactly(null, low, high);
    assertThat(only(table).sortOrderId()).isIn(null, 0);
  }

  // ---- partitions

  @Test
  void m10p3TuplesAreCopiedWhereTheSpecStaysAndComputedWhereItChanges() {
    Table table =
        builder(SmallTable.SCHEMA)
            .partitionBy(spec -> spec.truncate("id", 10).bucket("note", 4))
            .create();
    TableFiles files = TableFiles.of(table);
    List<Record> rows = new ArrayList<>(SmallTable.rows(-15, 40, "eu"));
    rows.add(SmallTable.row(100, "eu", null));
    files.append(files.dataByPartition(rows).toArray(DataFile[]::new));
    Runs.of(table, Runs.all(scratch)); // holds each row against its tuple
    assertThat(files(table))
        .extracting(file -> file.partition().get(0, Object.class))
        .contains(-20L, -10L, 0L, 100L);
    table.updateSpec().removeField("note_bucket").addField("region").commit();
    Runs.of(table, Runs.all(scratch));
    assertThat(files(table))
        .hasSize(6)
        .allMatch(file -> file.specId() == table.spec().specId())
        .extracting(file -> file.partition().get(1, Object.class).toString())
        .containsOnly("eu");
  }

  // ---- locations

  /** Puts files where its property says, after the way of the default provider. */
  public static final class OwnLocations implements LocationProvider {
    private final String root;

    public OwnLocations(String location, Map<String, String> properties) {
      this.root = location + "/own";
    }

    @Override
    public String newDataLocation(String filename) {
      return root + "/" + filename;
    }

    @Override
    public String newDataLocation(PartitionSpec spec, StructLike partition, String filename) {
      return root + "/" + spec.partitionToPath(partition).length() + "/" + filename;
    }
  }

  static Stream<Arguments> locations() {
    Map<Map<String, String>, String> cases = new LinkedHashMap<>();
    cases.put(Map.of(), "/table/data/region=eu/[^/]+");
    cases.put(
        Map.of("write.data.path", "@/else where//a%20b"), "/else where//a%20b/region=eu/[^/]+");
    cases.put(
        Map.of("write.object-storage.enabled", "true"),
        "/table/data/[01]{4}/[01]{4}/[01]{4}/[01]{8}/region=eu/[^/]+");
    cases.put(
        Map.of(
            "write.object-storage.enabled", "true",
            "write.object-storage.partitioned-paths", "false"),
        "/table/data/[01]{4}/[01]{4}/[01]{4}/[01]{8}-[^/]+");
    cases.put(
        Map.of("write.location-provider.impl", OwnLocations.class.getName()), "/table/own/9/[^/]+");
    return cases.entrySet().stream().map(one -> Arguments.of(one.getKey(), one.getValue()));
  }

  @ParameterizedTest
  @MethodSource("locations")
  void m14m17FilesLieWhereTheTableSaysAndAreCalledWhatTheyWereWrittenAs(
      Map<String, String> properties, String pattern) {
    String root = "file:" + directory;
    TableBuilder builder = builder(SmallTable.SCHEMA).partitionBy(spec -> spec.identity("region"));
    properties.forEach((key, value) -> builder.property(key, value.replace("@", root)));
    Table table = builder.create();
    TableFiles.of(table).append(SmallTable.rows(0, 10, "eu"));
    Runs.of(table, Runs.all(scratch));
    assertThat(only(table).location()).startsWith(root);
    assertThat(only(table).location().substring(root.length())).matches(pattern);
    assertThat(TableBefore.path(only(table).location())).exists();
    Runs.of(table, Runs.all(scratch)); // what was written is read by the same name
  }

  @ParameterizedTest
  @ValueSource(strings = {"write.object-storage.path", "write.folder-storage.path"})
  void m14ALocationThatIcebergNoLongerTakesIsRefusedBeforeAnyWork(String key) {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    table
        .updateProperties()
        .set(key, "file:" + directory + "/x")
        .set("write.object-storage.enabled", "true")
        .commit();
    Set<Path> before = TableBefore.paths(table);
    assertThatThrownBy(
            () -> new Compaction(table, Runs.all(scratch).build(), CompactionListener.NONE).run())
        .hasMessageContaining(key);
    assertThat(TableBefore.paths(table)).isEqualTo(before);
    assertThat(scratch).isEmptyDirectory();
  }

  // ---- footers

  @Test
  void m15s10FootersHoldTheSchemaAndIdsAndListsOfThreeLevels() throws IOException {
    Table table = builder(NESTED).create();
    TableFiles.of(table).append(nestedRows(10));
    Runs.of(table, Runs.all(scratch));
    ParquetMetadata footer = footer(only(table));
    Schema schema =
        SchemaParser.fromJson(footer.getFileMetaData().getKeyValueMetaData().get("iceberg.schema"));
    assertThat(schema.asStruct()).isEqualTo(NESTED.asStruct());
    GroupType root = footer.getFileMetaData().getSchema();
    assertThat(root.getName()).isEqualTo("table");
    Map<Integer, String> ids = new HashMap<>();
    collect(root, "", ids);
    assertThat(ids)
        .containsOnlyKeys(TypeUtil.indexById(NESTED.asStruct()).keySet())
        .containsEntry(9, "/list/list/element")
        .containsEntry(11, "/map/key_value/key")
        .containsEntry(12, "/map/key_value/value");
  }

  private static void collect(GroupType group, String path, Map<Integer, String> ids) {
    for (Type field : group.getFields()) {
      String name = path + "/" + field.getName();
      if (field.getId() != null) {
        ids.put(field.getId().intValue(), name);
      }
      if (!field.isPrimitive()) {
        collect(field.asGroupType(), name, ids);
      }
    }
  }

  // ---- encryption

  @Test
  void d30m16FilesWithAKeyAreRefusedBeforeAnyWork() {
    Table table = builder(SmallTable.SCHEMA).create();
    DataFile plain = TableFiles.of(table).data(SmallTable.rows(0, 10, "eu"));
    DataFile encrypted =
        DataFiles.builder(table.spec())
            .copy(plain)
            .withEncryptionKeyMetadata(ByteBuffer.wrap(new byte[] {1, 2, 3}))
            .build();
    table.newAppend().appendFile(encrypted).commit();
    refusedAsEncrypted(table, plain.location());
  }

  @Test
  void d30m16DeleteFilesWithAKeyAreRefusedBeforeAnyWork() {
    Table table = builder(SmallTable.SCHEMA).create();
    TableFiles files = TableFiles.of(table);
    DataFile data = files.append(SmallTable.rows(0, 10, "eu"));
    var plain = files.positionDeletes(data, 3);
    files.rowDelta(
        List.of(),
        List.of(
            org.apache.iceberg.FileMetadata.deleteFileBuilder(table.spec())
                .copy(plain)
                .withEncryptionKeyMetadata(ByteBuffer.wrap(new byte[] {1, 2, 3}))
                .build()));
    refusedAsEncrypted(table, plain.location());
  }

  private void refusedAsEncrypted(Table table, String location) {
    table.refresh();
    long snapshot = table.currentSnapshot().snapshotId();
    Set<Path> before = TableBefore.paths(table);
    assertThatThrownBy(
            () -> new Compaction(table, Runs.all(scratch).build(), CompactionListener.NONE).run())
        .isInstanceOf(UnsupportedTableException.class)
        .hasMessageContainingAll(location, "encrypted");
    table.refresh();
    assertThat(table.currentSnapshot().snapshotId()).isEqualTo(snapshot);
    assertThat(TableBefore.paths(table)).isEqualTo(before);
  }

  // ---- a second run

  @ParameterizedTest
  @ValueSource(strings = {"bin-pack", "sort"})
  void m19ASecondRunPlansNothing(String layout) {
    Table table =
        builder(SmallTable.SCHEMA)
            .property("write.parquet.row-group-size-bytes", "20000")
            .property("write.parquet.row-group-check-min-record-count", "10")
            .property("write.target-file-size-bytes", "100000")
            .create();
    TableFiles files = TableFiles.of(table);
    Random random = new Random(1);
    for (int file = 0; file < 8; file++) {
      List<Record> rows = new ArrayList<>();
      for (int i = 0; i < 2000; i++) {
        rows.add(SmallTable.row(random.nextLong(), "eu", Long.toHexString(random.nextLong())));
      }
      files.append(rows);
    }
    Layout by = layout.equals("sort") ? sorted(table, "note") : new Layout.BinPack();
    CompactionSettings settings =
        CompactionSettings.builder()
            .option("min-input-files", "2")
            .layout(by)
            .scratch(scratch)
            .memoryBytes(512L << 20)
            .build();
    table.refresh();
    CompactionReport first = new Compaction(table, settings, CompactionListener.NONE).run();
    assertThat(first.groups().committed()).isOne();
    table.refresh();
    assertThat(files(table)).hasSizeGreaterThan(2);
    assertThat(new Compaction(table, settings, CompactionListener.NONE).plan().groups())
        .as("sizes %s", files(table).stream().map(DataFile::fileSizeInBytes).toList())
        .isEmpty();
  }

  // ---- filters

  @Test
  void p10AFilterTakesWholeFiles() {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 2);
    List<String> rows = TableRows.live(table);
    Set<String> us = new java.util.HashSet<>();
    SmallTable.files(table, "us").forEach(file -> us.add(file.location()));
    Runs.of(
        table,
        Runs.all(scratch)
            .filter(
                Expressions.and(Expressions.equal("region", "eu"), Expressions.equal("id", 2L))));
    assertThat(TableRows.live(table)).isEqualTo(rows);
    assertThat(FileTruth.locations(table)).containsAll(us);
  }
}
