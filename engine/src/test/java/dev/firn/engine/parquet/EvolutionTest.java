package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EvolutionTest {
  private static final Types.StructType AB = ab(11);

  @TempDir Path directory;

  private static Types.StructType ab(int id) {
    return Types.StructType.of(
        Types.NestedField.optional(id, "a", Types.IntegerType.get()),
        Types.NestedField.optional(id + 1, "b", Types.StringType.get()));
  }

  private static Map<Object, Object> map(Object... entries) {
    Map<Object, Object> map = new HashMap<>();
    for (int i = 0; i < entries.length; i += 2) {
      map.put(entries[i], entries[i + 1]);
    }
    return map;
  }

  /**
   * A table with s struct&lt;a,b>, l list of it and m map to it, and one file of all null cases.
   */
  private Table nested() {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .formatVersion(3)
            .schema(
                Types.NestedField.required(1, "id", Types.IntegerType.get()),
                Types.NestedField.optional(2, "s", AB),
                Types.NestedField.optional(3, "l", Types.ListType.ofOptional(13, ab(21))),
                Types.NestedField.optional(
                    4, "m", Types.MapType.ofOptional(14, 15, Types.StringType.get(), ab(31))))
            .create();
    Schema schema = table.schema();
    Types.StructType s = schema.findType("s").asStructType();
    Types.StructType e = schema.findType("l.element").asStructType();
    Types.StructType v = schema.findType("m.value").asStructType();
    List<Record> rows =
        Rows.of(schema)
            .add(0, null, null, null)
            .add(1, Rows.struct(s, null, null), List.of(), map())
            .add(2, Rows.struct(s, 1, "x"), Arrays.asList((Object) null), map("k", null))
            .add(
                3,
                Rows.struct(s, null, "y"),
                Arrays.asList(Rows.struct(e, null, null), null, Rows.struct(e, 7, "z")),
                map("k", Rows.struct(v, 5, null)))
            .list();
    TableFiles.of(table).rowGroupRows(3).append(rows);
    return table;
  }

  private static DataFile file(Table table) {
    return dev.firn.testdata.TableRows.dataFiles(table, table.currentSnapshot()).get(0);
  }

  @Test
  void s11NullsOfEveryLevelAreKept() throws Exception {
    Table table = nested();
    try (ReaderFixture fixture = new ReaderFixture(table, 2)) {
      assertThat(fixture.lines(file(table), table.schema()))
          .containsExactly(
              "{\"id\":0,\"s\":null,\"l\":null,\"m\":null}",
              "{\"id\":1,\"s\":{\"a\":null,\"b\":null},\"l\":[],\"m\":[]}",
              "{\"id\":2,\"s\":{\"a\":1,\"b\":\"x\"},\"l\":[null],\"m\":[[\"k\",null]]}",
              "{\"id\":3,\"s\":{\"a\":null,\"b\":\"y\"},"
                  + "\"l\":[{\"a\":null,\"b\":null},null,{\"a\":7,\"b\":\"z\"}],"
                  + "\"m\":[[\"k\",{\"a\":5,\"b\":null}]]}");
    }
  }

  @Test
  void s4s11StructsWithoutAnyStoredChildAreReadByTheirDefinitionLevels() throws Exception {
    Table table = nested();
    for (String struct : List.of("s", "l.element", "m.value")) {
      table
          .updateSchema()
          .addColumn(struct, "c", Types.LongType.get(), null, Literal.of(9L))
          .addColumn(struct, "n", AB)
          .deleteColumn(struct + ".a")
          .deleteColumn(struct + ".b")
          .commit();
    }
    try (ReaderFixture fixture = new ReaderFixture(table, 2)) {
      String filled = "{\"c\":9,\"n\":null}";
      assertThat(fixture.lines(file(table), table.schema()))
          .containsExactly(
              "{\"id\":0,\"s\":null,\"l\":null,\"m\":null}",
              "{\"id\":1,\"s\":" + filled + ",\"l\":[],\"m\":[]}",
              "{\"id\":2,\"s\":" + filled + ",\"l\":[null],\"m\":[[\"k\",null]]}",
              "{\"id\":3,\"s\":"
                  + filled
                  + ",\"l\":["
                  + filled
                  + ",null,"
                  + filled
                  + "],\"m\":[[\"k\","
                  + filled
                  + "]]}");
    }
  }

  @Test
  void s5s6s11ChildrenAreReorderedRenamedPromotedAndAddedAgain() throws Exception {
    Table table = nested();
    for (String struct : List.of("s", "l.element", "m.value")) {
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
    try (ReaderFixture fixture = new ReaderFixture(table, 2)) {
      assertThat(fixture.lines(file(table), table.schema()).get(3))
          .isEqualTo(
              "{\"id\":3,\"s\":{\"b\":null,\"A\":null},"
                  + "\"l\":[{\"b\":null,\"A\":null},null,{\"b\":null,\"A\":7}],"
                  + "\"m\":[[\"k\",{\"b\":null,\"A\":5}]]}");
      assertThat(fixture.lines(file(table))).isEqualTo(fixture.expected(file(table)));
    }
  }

  @Test
  void s3EveryTypeTakesItsInitialDefaultAndNeverTheWriteDefault() throws Exception {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .formatVersion(3)
            .schema(Types.NestedField.required(1, "id", Types.IntegerType.get()))
            .create();
    TableFiles.of(table).append(Rows.of(table.schema()).add(1).add(2).list());
    UUID uuid = UUID.fromString("f0000000-0000-4000-8000-000000000001");
    table
        .updateSchema()
        .addColumn("bool", Types.BooleanType.get(), Literal.of(true))
        .addColumn("off", Types.BooleanType.get(), Literal.of(false))
        .addColumn("i", Types.IntegerType.get(), Literal.of(-1))
        .addRequiredColumn("lng", Types.LongType.get(), Literal.of(1L << 40))
        .addColumn("f", Types.FloatType.get(), Literal.of(-0.0f))
        .addColumn("d", Types.DoubleType.get(), Literal.of(0.1))
        .addColumn("date", Types.DateType.get(), Literal.of("1969-12-31").to(Types.DateType.get()))
        .addColumn("t", Types.TimeType.get(), Literal.of("10:00:00.5").to(Types.TimeType.get()))
        .addColumn(
            "ts",
            Types.TimestampType.withoutZone(),
            Literal.of("1969-12-31T23:59:59.999999").to(Types.TimestampType.withoutZone()))
        .addColumn("str", Types.StringType.get(), Literal.of("dä"))
        .addColumn("empty", Types.StringType.get(), Literal.of(""))
        .addColumn("u", Types.UUIDType.get(), Literal.of(uuid))
        .addColumn("fix", Types.FixedType.ofLength(2), Literal.of(new byte[] {1, (byte) 255}))
        .addColumn("bin", Types.BinaryType.get(), Literal.of(ByteBuffer.wrap(new byte[] {7})))
        .addColumn("d9", Types.DecimalType.of(9, 2), Literal.of(new BigDecimal("-1.50")))
        .addColumn("d18", Types.DecimalType.of(18, 2), Literal.of(new BigDecimal("-1.50")))
        .addColumn("d38", Types.DecimalType.of(38, 2), Literal.of(new BigDecimal("-1.50")))
        .commit();
    table.updateSchema().updateColumnDefault("i", Literal.of(77)).commit();
    String defaults =
        ",\"bool\":true,\"off\":false,\"i\":-1,\"lng\":1099511627776,\"f\":\"-0x0.0p0\",\"d\":\""
            + Double.toHexString(0.1)
            + "\",\"date\":\"1969-12-31\",\"t\":\"10:00:00.500000\","
            + "\"ts\":\"1969-12-31T23:59:59.999999\",\"str\":\"dä\",\"empty\":\"\",\"u\":\""
            + uuid
            + "\",\"fix\":\"01ff\",\"bin\":\"07\",\"d9\":\"-1.50\",\"d18\":\"-1.50\","
            + "\"d38\":\"-1.50\"}";
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      assertThat(fixture.lines(file(table), table.schema()))
          .containsExactly("{\"id\":1" + defaults, "{\"id\":2" + defaults);
    }
  }

  @Test
  void s2RequiredColumnsThatAreMissingFailBeforeWork() throws Exception {
    Table table = nested();
    Schema required =
        new Schema(
            Types.NestedField.required(99, "new", Types.IntegerType.get()),
            Types.NestedField.required(1, "id", Types.IntegerType.get()));
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      assertThatThrownBy(
              () -> fixture.reader.open(ReaderFixture.task(table, file(table)), required))
          .isInstanceOf(UnsupportedFileException.class)
          .hasMessageContaining("Missing required field: column new")
          .hasMessageContaining(file(table).location());
    }
  }

  @Test
  void columnsThatNoFieldOfTheFileFeedsNeedNoView() throws Exception {
    Table table = nested();
    Schema only =
        new Schema(
            Types.NestedField.optional(98, "x", ab(84)),
            Types.NestedField.optional(97, "l", Types.ListType.ofOptional(96, ab(88))),
            Types.NestedField.optional(
                95,
                "m",
                Types.MapType.ofOptional(94, 93, Types.StringType.get(), Types.LongType.get())));
    try (ReaderFixture fixture = new ReaderFixture(table, 2)) {
      assertThat(fixture.lines(file(table), only))
          .hasSize(4)
          .containsOnly("{\"x\":null,\"l\":null,\"m\":null}");
    }
  }

  @Test
  void s2s25ConstantsOfTheFilesOwnSpecWinOverWhatTheFileHolds() throws Exception {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(
                Types.NestedField.required(1, "id", Types.IntegerType.get()),
                Types.NestedField.optional(2, "p", Types.IntegerType.get()),
                Types.NestedField.optional(3, "q", Types.StringType.get()))
            .partitionBy(spec -> spec.identity("p").identity("q"))
            .create();
    TableFiles files = TableFiles.of(table);
    List<Record> rows = Rows.of(table.schema()).add(1, 5, "in file").list();
    DataFile written = files.data(rows);
    DataFile moved =
        org.apache.iceberg.DataFiles.builder(table.spec())
            .withPath(written.location())
            .withFormat(written.format())
            .withFileSizeInBytes(written.fileSizeInBytes())
            .withRecordCount(1)
            .withPartitionPath("p=6/q=__HIVE_DEFAULT_PARTITION__")
            .build();
    files.append(moved);
    table.updateSchema().updateColumn("p", Types.LongType.get()).commit();
    table.updateSpec().removeField("q").commit();
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      DataFile file = file(table);
      String constant = String.valueOf(file.partition().get(1, Object.class));
      assertThat(fixture.lines(file, table.schema()))
          .containsExactly(
              "{\"id\":1,\"p\":6,\"q\":"
                  + (constant.equals("null") ? "null" : "\"" + constant + "\"")
                  + "}");
    }
  }

  @Test
  void l2l3LineageIsStoredElseInheritedFromPositionAndSequence() throws Exception {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .formatVersion(3)
            .schema(Types.NestedField.required(1, "id", Types.IntegerType.get()))
            .create();
    Schema schema = MetadataColumns.schemaWithRowLineage(table.schema());
    TableFiles files = TableFiles.of(table).rowGroupRows(2);
    files.append(Rows.of(table.schema()).add(0).add(1).list());
    files.append(
        files
            .schema(schema)
            .data(
                Rows.of(schema)
                    .add(10, null, null)
                    .add(11, 1000L, null)
                    .add(12, null, 1L)
                    .add(13, 1001L, 1L)
                    .add(14, null, null)
                    .list()));
    DataFile file =
        dev.firn.testdata.TableRows.dataFiles(table, table.currentSnapshot()).stream()
            .filter(candidate -> candidate.recordCount() == 5)
            .findFirst()
            .orElseThrow();
    assertThat(file.firstRowId()).isEqualTo(2);
    try (ReaderFixture fixture = new ReaderFixture(table, 2)) {
      assertThat(fixture.lines(file, schema))
          .containsExactly(
              "{\"id\":10,\"_row_id\":2,\"_last_updated_sequence_number\":2}",
              "{\"id\":11,\"_row_id\":1000,\"_last_updated_sequence_number\":2}",
              "{\"id\":12,\"_row_id\":4,\"_last_updated_sequence_number\":1}",
              "{\"id\":13,\"_row_id\":1001,\"_last_updated_sequence_number\":1}",
              "{\"id\":14,\"_row_id\":6,\"_last_updated_sequence_number\":2}");
      // L3: a file that has no first row id yet, whatever it stores.
      DataFile uncommitted =
          HandMadeParquet.dataFile(dev.firn.testdata.LocalFileIO.path(file.location()), 5);
      assertThat(fixture.lines(uncommitted, schema))
          .allMatch(
              line -> line.endsWith("\"_row_id\":null,\"_last_updated_sequence_number\":null}"));
    }
  }

  @Test
  void d19LeavesOfStructsAreColumnsThatAreNullUnderNullParents() throws Exception {
    Table table = nested();
    table.updateSchema().addColumn("s", "c", Types.IntegerType.get(), null, Literal.of(9)).commit();
    table.updateSchema().addColumn("t", AB).commit();
    Schema schema = table.schema();
    Schema keys =
        new Schema(
            schema.findField("s.a"),
            schema.findField("id"),
            schema.findField("s.c"),
            schema.findField("t.b"));
    List<String> lines = new java.util.ArrayList<>();
    try (ReaderFixture fixture = new ReaderFixture(table, 2)) {
      fixture.reader.readKeys(
          ReaderFixture.task(table, file(table)),
          keys,
          (batch, first) -> {
            assertThat(first).isEqualTo(lines.size());
            lines.addAll(PhysicalRows.lines(batch, keys));
          });
    }
    assertThat(lines)
        .containsExactly(
            "{\"a\":null,\"id\":0,\"c\":null,\"b\":null}",
            "{\"a\":null,\"id\":1,\"c\":9,\"b\":null}",
            "{\"a\":1,\"id\":2,\"c\":9,\"b\":null}",
            "{\"a\":null,\"id\":3,\"c\":9,\"b\":null}");
  }

  @Test
  void d13LeavesThatTheTableDroppedAreFoundInTheFile() throws Exception {
    Table table = nested();
    Types.NestedField dropped = table.schema().findField("s.b");
    table.updateSchema().deleteColumn("s").commit();
    Schema keys =
        new Schema(dropped, Types.NestedField.required(77, "gone", Types.StringType.get()));
    List<String> lines = new java.util.ArrayList<>();
    try (ReaderFixture fixture = new ReaderFixture(table, 100)) {
      fixture.reader.readKeys(
          ReaderFixture.task(table, file(table)),
          keys,
          (batch, first) -> lines.addAll(PhysicalRows.lines(batch, keys)));
    }
    assertThat(lines)
        .containsExactly(
            "{\"b\":null,\"gone\":null}",
            "{\"b\":null,\"gone\":null}",
            "{\"b\":\"x\",\"gone\":null}",
            "{\"b\":\"y\",\"gone\":null}");
  }
}
