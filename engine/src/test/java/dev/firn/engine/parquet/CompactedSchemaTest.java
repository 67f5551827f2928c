package dev.firn.engine.parquet;

import static java.util.Collections.singletonList;
import static java.util.Collections.singletonMap;
import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.engine.Compaction;
import dev.firn.engine.CompactionListener;
import dev.firn.engine.CompactionReport;
import dev.firn.engine.CompactionReport.FailureKind;
import dev.firn.engine.CompactionSettings;
import dev.firn.engine.Layout;
import dev.firn.testdata.LocalFileIO;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.mapping.MappingUtil;
import org.apache.iceberg.mapping.NameMappingParser;
import org.apache.iceberg.types.Types;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.io.ColumnIOFactory;
import org.apache.parquet.io.RecordReader;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation.MapLogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;
import org.apache.parquet.schema.Type.Repetition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Files of other writers and older schemas, compacted; outputs are read by Parquet's own reader.
 */
class CompactedSchemaTest {
  private static final byte[] MALFORMED = {(byte) 0xFF, 'a', (byte) 0xC3};

  @TempDir Path directory;

  private CompactionSettings.Builder settings() {
    return CompactionSettings.builder()
        .option("rewrite-all", "true")
        .option("verify", "true")
        .memoryBytes(512L << 20)
        .scratch(directory)
        .threads(2);
  }

  private CompactionReport run(Table table, Layout layout) {
    return new Compaction(table, settings().layout(layout).build(), CompactionListener.NONE).run();
  }

  private void compact(Table table) {
    compact(table, new Layout.BinPack());
  }

  private void compact(Table table, Layout layout) {
    CompactionReport report = run(table, layout);
    assertThat(report.failures()).isEmpty();
    assertThat(report.groups().committed()).isPositive();
    table.refresh();
  }

  /** The rows of the live files as Parquet's example reader has them. */
  private static List<Group> rows(Table table, String partition) throws IOException {
    List<Group> rows = new ArrayList<>();
    for (DataFile file : TableRows.dataFiles(table, table.currentSnapshot())) {
      if (table.specs().get(file.specId()).partitionToPath(file.partition()).equals(partition)) {
        try (ParquetFileReader reader =
            ParquetFixture.reader(LocalFileIO.path(file.location()).toString())) {
          MessageType schema = reader.getFileMetaData().getSchema();
          for (PageReadStore pages = reader.readNextRowGroup();
              pages != null;
              pages = reader.readNextRowGroup()) {
            RecordReader<Group> records =
                new ColumnIOFactory()
                    .getColumnIO(schema)
                    .getRecordReader(pages, new GroupRecordConverter(schema));
            for (long row = 0; row < pages.getRowCount(); row++) {
              rows.add(records.read());
            }
          }
        }
      }
    }
    return rows;
  }

  private DataFile migrated(Table table, String name, Integer part) throws IOException {
    DataFile file =
        new HandMadeParquet(
                directory.resolve(name),
                "optional double d; optional int32 id; optional int96 ts;"
                    + " optional int32 u (UINT_32); optional binary s (UTF8);"
                    + " optional group l (LIST) { repeated group bag {"
                    + " optional int32 array_element; } }")
            .row(
                row -> {
                  row.add("d", Double.NaN);
                  row.add("id", -1);
                  row.add("ts", Binary.fromConstantByteArray(int96(-719_162, 1_999)));
                  row.add("u", (int) 4_000_000_000L);
                  row.add("s", Binary.fromConstantByteArray(MALFORMED));
                  Group list = row.addGroup("l");
                  list.addGroup("bag").add("array_element", 5);
                  list.addGroup("bag");
                })
            .row(row -> row.add("ts", Binary.fromConstantByteArray(int96(-1, 0))))
            .write();
    StructLike tuple = GenericRecord.create(table.spec().partitionType());
    tuple.set(0, part);
    return DataFiles.builder(table.spec()).copy(file).withPartition(tuple).build();
  }

  private static byte[] int96(int day, long nanos) {
    return ByteBuffer.allocate(12)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(nanos)
        .putInt(day + 2_440_588)
        .array();
  }

  @Test
  void s2s8s10s16s17s19s24s25MigratedFilesAreWrittenAsTheTableSays() throws IOException {
    Schema schema =
        new Schema(
            optional(1, "id", Types.IntegerType.get()),
            optional(2, "part", Types.IntegerType.get()),
            optional(3, "ts", Types.TimestampType.withoutZone()),
            optional(4, "u", Types.LongType.get()),
            optional(5, "s", Types.StringType.get()),
            optional(6, "d", Types.DoubleType.get()),
            optional(7, "l", Types.ListType.ofOptional(8, Types.IntegerType.get())));
    Table table =
        TableBuilder.at(directory.resolve("t"))
            .schema(schema)
            .partitionBy(spec -> spec.identity("part"))
            .create();
    String mapping =
        NameMappingParser.toJson(MappingUtil.create(schema))
            .replace("\"element\"", "\"array_element\"");
    table.updateProperties().set("schema.name-mapping.default", mapping).commit();
    for (int file = 0; file < 2; file++) {
      TableFiles.of(table).append(migrated(table, "seven-" + file, 7));
      TableFiles.of(table).append(migrated(table, "null-" + file, null));
    }
    table
        .updateSchema()
        .updateColumn("id", Types.LongType.get())
        .updateColumn("part", Types.LongType.get())
        .renameColumn("s", "text")
        .commit();
    compact(table);
    for (String partition : List.of("part=7", "part=null")) {
      List<Group> rows = rows(table, partition);
      assertThat(rows).as(partition).hasSize(4);
      for (Group row : List.of(rows.get(0), rows.get(2))) {
        assertThat(row.getLong("id", 0)).isEqualTo(-1);
        assertThat(row.getFieldRepetitionCount("part"))
            .isEqualTo(partition.equals("part=7") ? 1 : 0);
        assertThat(row.getLong("ts", 0)).as("0001-01-01").isEqualTo(-62_135_596_799_999_999L);
        assertThat(row.getLong("u", 0)).isEqualTo(4_000_000_000L);
        assertThat(row.getBinary("text", 0).getBytes()).isEqualTo(MALFORMED);
        assertThat(row.getDouble("d", 0)).isNaN();
        Group list = row.getGroup("l", 0);
        assertThat(list.getFieldRepetitionCount("list")).isEqualTo(2);
        assertThat(list.getGroup("list", 0).getInteger("element", 0)).isEqualTo(5);
        assertThat(list.getGroup("list", 1).getFieldRepetitionCount("element")).isZero();
      }
      for (Group row : List.of(rows.get(1), rows.get(3))) {
        assertThat(row.getLong("ts", 0)).as("1969-12-31").isEqualTo(-86_400_000_000L);
        for (String column : List.of("id", "u", "text", "d", "l")) {
          assertThat(row.getFieldRepetitionCount(column)).as(column).isZero();
        }
      }
    }
    assertThat(rows(table, "part=7"))
        .allSatisfy(row -> assertThat(row.getLong("part", 0)).isEqualTo(7));
  }

  @Test
  void s1s3s5s6OldFilesAreWrittenInTheCurrentSchema() throws IOException {
    Schema schema =
        new Schema(
            optional(1, "a", Types.IntegerType.get()),
            optional(2, "b", Types.StringType.get()),
            optional(3, "c", Types.FloatType.get()));
    Table table = TableBuilder.at(directory.resolve("t")).schema(schema).formatVersion(3).create();
    for (int file = 0; file < 2; file++) {
      TableFiles.of(table).append(Rows.of(schema).add(1, "old", 0.1f).list());
    }
    table.updateSchema().deleteColumn("b").commit();
    table
        .updateSchema()
        .addColumn("b", Types.StringType.get())
        .addColumn("n", Types.IntegerType.get(), Literal.of(7))
        .updateColumn("a", Types.LongType.get())
        .updateColumn("c", Types.DoubleType.get())
        .renameColumn("a", "first")
        .moveFirst("c")
        .commit();
    table.updateSchema().updateColumnDefault("n", Literal.of(9)).commit();
    compact(table);
    List<Group> rows = rows(table, "");
    assertThat(rows).hasSize(2);
    for (Group row : rows) {
      assertThat(row.getType().getFieldName(0)).isEqualTo("c");
      assertThat(row.getDouble("c", 0)).isEqualTo(0.1f);
      assertThat(row.getLong("first", 0)).isEqualTo(1);
      assertThat(row.getFieldRepetitionCount("b")).as("dropped and added again").isZero();
      assertThat(row.getInteger("n", 0)).as("the initial default").isEqualTo(7);
    }
  }

  // ---- nested columns

  private static Types.StructType ab(int id) {
    return Types.StructType.of(
        optional(id, "a", Types.IntegerType.get()), optional(id + 1, "b", Types.StringType.get()));
  }

  /** Two files whose rows have s, l and m null, empty, of nulls, and with values. */
  private Table nested(FileFormat format) {
    Schema schema =
        new Schema(
            optional(1, "id", Types.IntegerType.get()),
            optional(2, "s", ab(5)),
            optional(3, "l", Types.ListType.ofOptional(10, ab(11))),
            optional(4, "m", Types.MapType.ofOptional(20, 21, Types.StringType.get(), ab(22))));
    Table table = TableBuilder.at(directory.resolve("t")).schema(schema).formatVersion(3).create();
    Types.StructType s = schema.findType("s").asStructType();
    Types.StructType e = schema.findType("l.element").asStructType();
    Types.StructType v = schema.findType("m.value").asStructType();
    TableFiles files = TableFiles.of(table).format(format);
    files.append(
        Rows.of(schema)
            .add(0, null, null, null)
            .add(1, Rows.struct(s, null, null), List.of(), Map.of())
            .list());
    files.append(
        Rows.of(schema)
            .add(2, Rows.struct(s, 1, "x"), singletonList(null), singletonMap("k", null))
            .add(
                3,
                Rows.struct(s, null, "y"),
                Arrays.asList(Rows.struct(e, null, null), null, Rows.struct(e, 7, "z")),
                Map.of("k", Rows.struct(v, 5, null)))
            .list());
    return table;
  }

  private static final List<String> NESTED_COLUMNS = List.of("s", "l.element", "m.value");

  /** Compacts; the rows are those that the oracle reads before; they are given by their id. */
  private List<Group> sameRows(Table table, boolean sorted) throws IOException {
    table.refresh();
    List<String> before = TableRows.live(table);
    if (sorted) {
      compact(table, new Layout.Sorted(SortOrder.builderFor(table.schema()).asc("id").build()));
    } else {
      compact(table);
    }
    assertThat(TableRows.live(table)).isEqualTo(before);
    List<Group> rows = rows(table, "");
    assertThat(rows).hasSameSizeAs(before);
    if (!sorted) { // in no order of files
      rows.sort(Comparator.comparing(row -> row.getInteger("id", 0)));
    }
    return rows;
  }

  @ParameterizedTest
  @CsvSource({"PARQUET, false", "PARQUET, true", "AVRO, false"})
  void s4s11DefaultsOfNestedFieldsAreWrittenWhereTheStructIsThere(FileFormat format, boolean sorted)
      throws IOException {
    Table table = nested(format);
    for (String struct : NESTED_COLUMNS) {
      table
          .updateSchema()
          .addColumn(struct, "c", Types.LongType.get(), null, Literal.of(9L))
          .addColumn(struct, "n", ab(90))
          .deleteColumn(struct + ".a")
          .deleteColumn(struct + ".b")
          .commit();
      table.updateSchema().updateColumnDefault(struct + ".c", Literal.of(10L)).commit();
    }
    List<Group> rows = sameRows(table, sorted);
    assertThat(values(rows.get(0))).isEqualTo("{0, null, null, null}");
    assertThat(values(rows.get(1))).isEqualTo("{1, {9, null}, [], <>}");
    assertThat(values(rows.get(2))).isEqualTo("{2, {9, null}, [null], <k=null>}");
    assertThat(values(rows.get(3)))
        .isEqualTo("{3, {9, null}, [{9, null}, null, {9, null}], <k={9, null}>}");
  }

  @ParameterizedTest
  @CsvSource({"PARQUET, false", "PARQUET, true", "AVRO, false", "ORC, false"})
  void s5s11NestedFieldsAreDroppedRenamedMovedPromotedAndAddedAgain(
      FileFormat format, boolean sorted) throws IOException {
    Table table = nested(format);
    for (String struct : NESTED_COLUMNS) {
      table
          .updateSchema()
          .updateColumn(struct + ".a", Types.LongType.get())
          .renameColumn(struct + ".a", "A")
          .deleteColumn(struct + ".b")
          .commit();
      table
          .updateSchema()
          .addColumn(struct, "b", Types.IntegerType.get())
          .moveFirst(struct + ".b")
          .commit();
    }
    List<Group> rows = sameRows(table, sorted);
    assertThat(values(rows.get(1))).isEqualTo("{1, {null, null}, [], <>}");
    assertThat(values(rows.get(2))).isEqualTo("{2, {null, 1}, [null], <k=null>}");
    assertThat(values(rows.get(3)))
        .isEqualTo("{3, {null, null}, [{null, null}, null, {null, 7}], <k={null, 5}>}");
    assertThat(rows.get(3).getGroup("s", 0).getType().asGroupType().getType("A").asPrimitiveType())
        .matches(type -> type.getPrimitiveTypeName() == PrimitiveTypeName.INT64);
  }

  /** The values of a row's own columns, without those of lineage. */
  private static String values(Group row) {
    GroupType own =
        row.getType()
            .withNewFields(row.getType().getFields().subList(0, NESTED_COLUMNS.size() + 1));
    return struct(row, own);
  }

  private static String struct(Group group, GroupType fields) {
    StringJoiner text = new StringJoiner(", ", "{", "}");
    for (Type field : fields.getFields()) {
      text.add(value(group, field));
    }
    return text.toString();
  }

  /** A field of a group; lists and maps are of three levels. */
  private static String value(Group group, Type field) {
    String name = field.getName();
    if (group.getFieldRepetitionCount(name) == 0) {
      return "null";
    } else if (field.isPrimitive()) {
      return group.getValueToString(group.getType().getFieldIndex(name), 0);
    }
    Group child = group.getGroup(name, 0);
    GroupType type = field.asGroupType();
    boolean isMap = type.getLogicalTypeAnnotation() instanceof MapLogicalTypeAnnotation;
    if (!isMap && type.getLogicalTypeAnnotation() == null) {
      return struct(child, type);
    }
    GroupType entry = type.getType(0).asGroupType();
    StringJoiner text = new StringJoiner(", ", isMap ? "<" : "[", isMap ? ">" : "]");
    for (int i = 0; i < child.getFieldRepetitionCount(0); i++) {
      Group of = child.getGroup(0, i);
      String last = value(of, entry.getType(entry.getFieldCount() - 1));
      text.add(isMap ? value(of, entry.getType(0)) + "=" + last : last);
    }
    return text.toString();
  }

  // ---- files of others, by id

  private Table table(int formatVersion, Types.NestedField... columns) {
    return TableBuilder.at(directory.resolve("t"))
        .schema(columns)
        .formatVersion(formatVersion)
        .create();
  }

  private HandMadeParquet file(String name, String fields) {
    return new HandMadeParquet(directory.resolve(name), fields);
  }

  /** The run fails, says why and of which file, and commits nothing. */
  private void refused(Table table, FailureKind kind, String... words) {
    table.refresh();
    long snapshot = table.currentSnapshot().snapshotId();
    CompactionReport report = run(table, new Layout.BinPack());
    assertThat(report.failures())
        .singleElement()
        .satisfies(
            failure -> {
              assertThat(failure.kind()).isEqualTo(kind);
              assertThat(failure.message()).contains(words);
            });
    table.refresh();
    assertThat(table.currentSnapshot().snapshotId()).isEqualTo(snapshot);
  }

  @Test
  void s7ANullInAColumnThatIsRequiredNowIsNotWritten() {
    Table table = table(2, optional(1, "id", Types.LongType.get()));
    TableFiles files = TableFiles.of(table);
    files.append(Rows.of(table.schema()).add(1L).list());
    DataFile odd = files.append(Rows.of(table.schema()).add(2L).add((Object) null).list());
    table.updateSchema().allowIncompatibleChanges().requireColumn("id").commit();
    refused(table, FailureKind.CORRUPT, odd.location(), "requires column id");
  }

  @Test
  void s7ANullInARequiredFieldOfAStructIsNotWritten() {
    Table table =
        table(2, optional(1, "s", Types.StructType.of(optional(2, "x", Types.LongType.get()))));
    Types.StructType struct = table.schema().findType("s").asStructType();
    DataFile odd =
        TableFiles.of(table)
            .append(
                Rows.of(table.schema())
                    .add((Object) null)
                    .add(Rows.struct(struct, (Object) null))
                    .list());
    table.updateSchema().allowIncompatibleChanges().requireColumn("s.x").commit();
    refused(table, FailureKind.CORRUPT, odd.location(), "requires column s.x");
  }

  @ParameterizedTest
  @EnumSource(names = {"PARQUET", "AVRO", "ORC"})
  void s7NullsOfRowsThatAreDeletedDoNotMatter(FileFormat format) throws IOException {
    Table table =
        table(2, optional(1, "id", Types.LongType.get()), optional(2, "v", Types.StringType.get()));
    TableFiles files = TableFiles.of(table).format(format);
    files.append(Rows.of(table.schema()).add(1L, "a").add(null, "b").list());
    DataFile file = files.append(Rows.of(table.schema()).add(null, "c").add(2L, null).list());
    files.rowDelta(
        List.of(),
        List.of(
            files.equalityDeletes(List.of("v"), Rows.of(table.schema()).add(0L, "b").list()),
            files.positionDeletes(file, 0)));
    table.updateSchema().allowIncompatibleChanges().requireColumn("id").commit();
    compact(table);
    List<Group> rows = rows(table, "");
    assertThat(rows).extracting(row -> row.getLong("id", 0)).containsExactlyInAnyOrder(1L, 2L);
    assertThat(rows.get(0).getType().getType("id").isRepetition(Repetition.REQUIRED)).isTrue();
  }

  /** A field of a struct, of a struct in a list, and of one in a map; each row has nulls in one. */
  @ParameterizedTest
  @CsvSource({"PARQUET, s.a", "PARQUET, l.element.a", "PARQUET, m.value.a", "AVRO, l.element.a"})
  void s7NullsBelowOtherColumnsAreRefusedInLiveRowsAlone(FileFormat format, String required)
      throws IOException {
    Table table = nested(format);
    Types.StructType s = table.schema().findType("s").asStructType();
    Types.StructType e = table.schema().findType("l.element").asStructType();
    Types.StructType v = table.schema().findType("m.value").asStructType();
    TableFiles files = TableFiles.of(table).format(format);
    DataFile odd =
        files.append(
            Rows.of(table.schema())
                .add(4, Rows.struct(s, null, "x"), null, null)
                .add(5, null, List.of(Rows.struct(e, 1, "x"), Rows.struct(e, null, "y")), null)
                .add(6, null, null, Map.of("k", Rows.struct(v, null, "x")))
                .add(
                    7,
                    Rows.struct(s, 7, null),
                    Arrays.asList(null, Rows.struct(e, 7, null)),
                    Map.of("k", Rows.struct(v, 7, null)))
                .list());
    files.rowDelta(
        List.of(),
        List.of(
            TableFiles.of(table)
                .equalityDeletes(
                    List.of("id"),
                    Rows.of(table.schema())
                        .add(1, null, null, null)
                        .add(3, null, null, null)
                        .list())));
    table.updateSchema().allowIncompatibleChanges().requireColumn(required).commit();
    refused(table, FailureKind.CORRUPT, odd.location(), "requires column " + required);
    TableFiles.of(table).deletePositions(Map.of(odd, new long[] {0, 1, 2}));
    table.refresh();
    compact(table);
    List<Group> rows = rows(table, "");
    rows.sort(Comparator.comparing(row -> row.getInteger("id", 0)));
    assertThat(rows)
        .extracting(CompactedSchemaTest::values)
        .containsExactly(
            "{0, null, null, null}",
            "{2, {1, x}, [null], <k=null>}",
            "{7, {7, null}, [null, {7, null}], <k={7, null}>}");
  }

  @Test
  void s7RequiredColumnsThatAreOptionalNowAreWrittenSo() throws IOException {
    Table table = table(2, required(1, "id", Types.LongType.get()));
    TableFiles.of(table).append(Rows.of(table.schema()).add(1L).list());
    table.updateSchema().makeColumnOptional("id").commit();
    TableFiles.of(table).append(Rows.of(table.schema()).add((Object) null).list());
    compact(table);
    List<Group> rows = rows(table, "");
    assertThat(rows)
        .extracting(row -> row.getFieldRepetitionCount("id"))
        .containsExactlyInAnyOrder(1, 0);
  }

  @Test
  void s9FieldsWithoutIdsBesideOthersWithThemAreNullAndShiftNothing() throws IOException {
    Table table =
        table(
            2,
            optional(1, "a", Types.IntegerType.get()),
            optional(2, "b", Types.IntegerType.get()),
            optional(
                3,
                "s",
                Types.StructType.of(
                    optional(4, "x", Types.IntegerType.get()),
                    optional(5, "y", Types.IntegerType.get()))));
    table
        .updateProperties()
        .set(
            TableProperties.DEFAULT_NAME_MAPPING,
            NameMappingParser.toJson(MappingUtil.create(table.schema())))
        .commit();
    for (int i = 0; i < 2; i++) {
      TableFiles.of(table)
          .append(
              file(
                      "partial-" + i,
                      "optional int32 a; optional group s = 3 { optional int32 x;"
                          + " optional int32 y = 5; } optional int32 b = 2;")
                  .row(
                      row -> {
                        row.append("a", 1).append("b", 2);
                        row.addGroup("s").append("x", 4).append("y", 5);
                      })
                  .write());
    }
    table.refresh();
    List<String> before = TableRows.live(table);
    assertThat(before).containsOnly("{\"a\":null,\"b\":2,\"s\":{\"x\":null,\"y\":5}}");
    compact(table);
    assertThat(rows(table, ""))
        .hasSize(2)
        .allSatisfy(
            row -> assertThat(struct(row, row.getType())).isEqualTo("{null, 2, {null, 5}}"));
  }

  @Test
  void s15s20EachUnitOfTheFileBecomesThatOfTheTable() throws IOException {
    Table table =
        table(
            3,
            optional(1, "us_of_ms", Types.TimestampType.withoutZone()),
            optional(2, "us_of_ns", Types.TimestampType.withZone()),
            optional(3, "ns_of_ms", Types.TimestampNanoType.withoutZone()),
            optional(4, "ns_of_us", Types.TimestampNanoType.withZone()),
            optional(5, "ns", Types.TimestampNanoType.withoutZone()),
            optional(6, "us", Types.TimestampType.withZone()),
            optional(7, "time_of_ms", Types.TimeType.get()),
            optional(8, "date", Types.DateType.get()));
    for (int i = 0; i < 2; i++) {
      TableFiles.of(table)
          .append(
              file(
                      "units-" + i,
                      "optional int64 us_of_ms (TIMESTAMP(MILLIS,false)) = 1;"
                          + " optional int64 us_of_ns (TIMESTAMP(NANOS,true)) = 2;"
                          + " optional int64 ns_of_ms (TIMESTAMP(MILLIS,false)) = 3;"
                          + " optional int64 ns_of_us (TIMESTAMP(MICROS,true)) = 4;"
                          + " optional int64 ns (TIMESTAMP(NANOS,false)) = 5;"
                          + " optional int64 us (TIMESTAMP(MICROS,true)) = 6;"
                          + " optional int32 time_of_ms (TIME(MILLIS,false)) = 7;"
                          + " optional int32 date (DATE) = 8;")
                  .row(row -> units(row, -1, 86_399_999))
                  .row(row -> units(row, 1_700_000_000_123L, 0))
                  .row(row -> {})
                  .write());
    }
    compact(table);
    List<Group> rows = rows(table, "");
    assertThat(rows).hasSize(6);
    GroupType type = rows.get(0).getType();
    assertThat(type.getFields().subList(0, 8))
        .extracting(field -> String.valueOf(field.getLogicalTypeAnnotation()))
        .containsExactly(
            "TIMESTAMP(MICROS,false)",
            "TIMESTAMP(MICROS,true)",
            "TIMESTAMP(NANOS,false)",
            "TIMESTAMP(NANOS,true)",
            "TIMESTAMP(NANOS,false)",
            "TIMESTAMP(MICROS,true)",
            "TIME(MICROS,false)",
            "DATE");
    GroupType own = type.withNewFields(type.getFields().subList(0, 8));
    for (int i = 0; i < 6; i += 3) {
      assertThat(struct(rows.get(i), own))
          .isEqualTo("{-1000, -1, -1000000, -1000, -1, -1, 86399999000, -1}");
      assertThat(struct(rows.get(i + 1), own))
          .isEqualTo(
              "{1700000000123000, 1700000000, 1700000000123000000, 1700000000123000,"
                  + " 1700000000123, 1700000000123, 0, 0}");
      assertThat(struct(rows.get(i + 2), own))
          .isEqualTo("{null, null, null, null, null, null, null, null}");
    }
  }

  private static void units(Group row, long number, int time) {
    for (String column : List.of("us_of_ms", "us_of_ns", "ns_of_ms", "ns_of_us", "ns", "us")) {
      row.append(column, number);
    }
    row.append("time_of_ms", time).append("date", number < 0 ? -1 : 0);
  }

  @Test
  void s15ATimeThatNanosecondsCannotHoldIsNotWritten() {
    Table table = table(3, optional(1, "ns", Types.TimestampNanoType.withZone()));
    DataFile file =
        file("late", "optional int64 ns (TIMESTAMP(MICROS,true)) = 1;")
            .row(row -> row.append("ns", Long.MAX_VALUE / 999))
            .write();
    TableFiles.of(table).append(file);
    refused(table, FailureKind.CORRUPT, file.location(), "column ns", "overflows");
  }

  @Test
  void s18DecimalsUuidsAndFixedAreWrittenInTheFormOfTheirPrecision() throws IOException {
    Table table =
        table(
            2,
            optional(1, "narrow", Types.DecimalType.of(9, 2)),
            optional(2, "middle", Types.DecimalType.of(18, 2)),
            optional(3, "wide", Types.DecimalType.of(38, 2)),
            optional(4, "u", Types.UUIDType.get()),
            optional(5, "f", Types.FixedType.ofLength(3)));
    byte[] uuid = HexFormat.of().parseHex("f0000000000040008000000000000001");
    byte[] fixed = {-1, 0, 1};
    for (String physical : List.of("int32", "int64", "binary", "fixed_len_byte_array(16)")) {
      String decimal = "optional " + physical + " %s (DECIMAL(9,2)) = %d; ";
      TableFiles.of(table)
          .append(
              file(
                      physical,
                      decimal.formatted("narrow", 1)
                          + decimal.formatted("middle", 2)
                          + decimal.formatted("wide", 3)
                          + "optional fixed_len_byte_array(16) u = 4;"
                          + " optional fixed_len_byte_array(3) f = 5;")
                  .row(
                      row -> {
                        for (String column : List.of("narrow", "middle", "wide")) {
                          unscaled(row, column, physical, -12_345);
                        }
                        row.append("u", Binary.fromConstantByteArray(uuid));
                        row.append("f", Binary.fromConstantByteArray(fixed));
                      })
                  .row(row -> {})
                  .write());
    }
    compact(table);
    List<Group> rows = rows(table, "");
    assertThat(rows).hasSize(8);
    GroupType type = rows.get(0).getType();
    assertThat(type.getFields())
        .extracting(Type::toString)
        .containsExactly(
            "optional int32 narrow (DECIMAL(9,2)) = 1",
            "optional int64 middle (DECIMAL(18,2)) = 2",
            "optional fixed_len_byte_array(16) wide (DECIMAL(38,2)) = 3",
            "optional fixed_len_byte_array(16) u (UUID) = 4",
            "optional fixed_len_byte_array(3) f = 5");
    for (int i = 0; i < 8; i += 2) {
      Group row = rows.get(i);
      assertThat(row.getInteger("narrow", 0)).isEqualTo(-12_345);
      assertThat(row.getLong("middle", 0)).isEqualTo(-12_345);
      assertThat(new BigInteger(row.getBinary("wide", 0).getBytes())).isEqualTo(-12_345);
      assertThat(row.getBinary("u", 0).getBytes()).isEqualTo(uuid);
      assertThat(row.getBinary("f", 0).getBytes()).isEqualTo(fixed);
      assertThat(struct(rows.get(i + 1), type)).isEqualTo("{null, null, null, null, null}");
    }
  }

  private static void unscaled(Group row, String column, String physical, int unscaled) {
    if (physical.equals("int32")) {
      row.append(column, unscaled);
    } else if (physical.equals("int64")) {
      row.append(column, (long) unscaled);
    } else {
      byte[] bytes = BigInteger.valueOf(unscaled).toByteArray();
      byte[] wide = new byte[physical.equals("binary") ? bytes.length : 16];
      Arrays.fill(wide, (byte) (unscaled < 0 ? -1 : 0));
      System.arraycopy(bytes, 0, wide, wide.length - bytes.length, bytes.length);
      row.append(column, Binary.fromConstantByteArray(wide));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "int32 c (DECIMAL(9,3)) = 1 | decimal(9, 3)",
        "fixed_len_byte_array(4) c (DECIMAL(9,1)) = 1 | decimal(9, 1)",
        "int64 c (DECIMAL(18,2)) = 1 | decimal(18, 2)"
      })
  void s18AnotherScaleOrMoreDigitsThanTheTableHasAreRefused(String field, String type) {
    Table table = table(2, optional(1, "c", Types.DecimalType.of(9, 2)));
    DataFile file = file("odd", "optional " + field + ";").row(row -> {}).write();
    TableFiles.of(table).append(file);
    refused(table, FailureKind.UNSUPPORTED, file.location(), "column c", type);
  }

  private static final int FLOAT_MARK = 0x12345600;
  private static final long DOUBLE_MARK = 0x1122334455667700L;

  /** Writes the bits that the marks stand for: parquet-java writes every NaN alike. */
  private static void replaceMarks(Path file, int[] floats, long[] doubles) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    ByteBuffer content = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    for (int at = 0; at < bytes.length - 8; at++) {
      int asFloat = content.getInt(at) - FLOAT_MARK;
      long asDouble = content.getLong(at) - DOUBLE_MARK;
      if (asFloat >= 0 && asFloat < floats.length) {
        content.putInt(at, floats[asFloat]);
      } else if (asDouble >= 0 && asDouble < doubles.length) {
        content.putLong(at, doubles[(int) asDouble]);
      }
    }
    Files.write(file, bytes);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void s21FloatsAreWrittenToTheBit(boolean sorted) throws IOException {
    int[] floats = {0x7FC00001, 0xFFA00002, 0x7F800001, 0x80000000, 1, 0x7F800000, 0xFF800000, 0};
    long[] doubles = {
      0x7FF8000000000001L,
      0xFFF4000000000002L,
      0x7FF0000000000001L,
      Long.MIN_VALUE,
      1L,
      0x7FF0000000000000L,
      0xFFF0000000000000L,
      0L
    };
    Table table =
        table(
            2,
            optional(1, "id", Types.IntegerType.get()),
            optional(2, "f", Types.FloatType.get()),
            optional(3, "d", Types.DoubleType.get()),
            optional(4, "fs", Types.ListType.ofOptional(5, Types.FloatType.get())),
            optional(6, "s", Types.StructType.of(optional(7, "d", Types.DoubleType.get()))));
    for (int from = 0; from < floats.length; from += 4) {
      HandMadeParquet file =
          file(
              "floats-" + from,
              "optional int32 id = 1; optional float f = 2; optional double d = 3;"
                  + " optional group fs (LIST) = 4 { repeated group list {"
                  + " optional float element = 5; } }"
                  + " optional group s = 6 { optional double d = 7; }");
      for (int i = from; i < from + 4; i++) {
        int id = i;
        float f = Float.intBitsToFloat(FLOAT_MARK + i);
        double d = Double.longBitsToDouble(DOUBLE_MARK + i);
        file.row(
            row -> {
              row.append("id", id).append("f", f).append("d", d);
              row.addGroup("fs").addGroup("list").append("element", f);
              row.addGroup("s").append("d", d);
            });
      }
      DataFile written =
          file.with(
                  builder ->
                      builder.withDictionaryEncoding(false).withPageWriteChecksumEnabled(false))
              .write();
      replaceMarks(LocalFileIO.path(written.location()), floats, doubles);
      TableFiles.of(table).append(written);
    }
    table.refresh();
    if (sorted) {
      compact(table, new Layout.Sorted(SortOrder.builderFor(table.schema()).asc("f").build()));
    } else {
      compact(table);
    }
    List<Group> rows = rows(table, "");
    assertThat(rows)
        .extracting(row -> row.getInteger("id", 0))
        .containsExactlyInAnyOrder(0, 1, 2, 3, 4, 5, 6, 7);
    for (Group row : rows) {
      int id = row.getInteger("id", 0);
      Group element = row.getGroup("fs", 0).getGroup("list", 0);
      assertThat(Float.floatToRawIntBits(row.getFloat("f", 0))).isEqualTo(floats[id]);
      assertThat(Float.floatToRawIntBits(element.getFloat("element", 0))).isEqualTo(floats[id]);
      assertThat(Double.doubleToRawLongBits(row.getDouble("d", 0))).isEqualTo(doubles[id]);
      assertThat(Double.doubleToRawLongBits(row.getGroup("s", 0).getDouble("d", 0)))
          .isEqualTo(doubles[id]);
    }
  }

  @Test
  void s22ColumnsAreToldApartByCaseInFiltersAndOrdersAndDotsAreNoPaths() throws IOException {
    Table table =
        table(
            2,
            optional(1, "a", Types.IntegerType.get()),
            optional(2, "A", Types.IntegerType.get()),
            optional(3, "a.b", Types.IntegerType.get()),
            optional(4, "1 \u00e4", Types.IntegerType.get()));
    TableFiles files = TableFiles.of(table);
    files.append(Rows.of(table.schema()).add(1, 2, 3, 4).add(1, 2, 1, 7).list());
    files.append(Rows.of(table.schema()).add(1, 2, 2, 5).list());
    DataFile other = files.append(Rows.of(table.schema()).add(2, 1, 0, 6).list());
    table.refresh();
    List<String> before = TableRows.live(table);
    SortOrder order = SortOrder.builderFor(table.schema()).desc("a.b").asc("A").build();
    CompactionReport report =
        new Compaction(
                table,
                settings()
                    .filter(Expressions.equal("A", 2))
                    .layout(new Layout.Sorted(order))
                    .build(),
                CompactionListener.NONE)
            .run();
    assertThat(report.failures()).isEmpty();
    table.refresh();
    assertThat(TableRows.live(table)).isEqualTo(before);
    List<DataFile> live = TableRows.dataFiles(table, table.currentSnapshot());
    assertThat(live).hasSize(2).anyMatch(file -> file.location().equals(other.location()));
    assertThat(rows(table, ""))
        .extracting(row -> struct(row, row.getType()))
        .containsSubsequence("{1, 2, 3, 4}", "{1, 2, 2, 5}", "{1, 2, 1, 7}");
  }
}
