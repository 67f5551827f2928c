package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.TableBuilder;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.mapping.MappedField;
import org.apache.iceberg.mapping.MappedFields;
import org.apache.iceberg.mapping.MappingUtil;
import org.apache.iceberg.mapping.NameMapping;
import org.apache.iceberg.mapping.NameMappingParser;
import org.apache.iceberg.types.Types;
import org.apache.parquet.example.data.Group;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** S10: lists and maps as other writers spell them, and S8: names in place of ids. */
class ListsAndMapsTest {
  private static final Schema INTS =
      new Schema(
          Types.NestedField.optional(
              1, "l", Types.ListType.ofOptional(2, Types.IntegerType.get())));
  private static final Schema STRUCTS =
      new Schema(
          Types.NestedField.optional(
              1,
              "l",
              Types.ListType.ofOptional(
                  2,
                  Types.StructType.of(
                      Types.NestedField.optional(3, "a", Types.IntegerType.get())))));
  private static final Schema LISTS =
      new Schema(
          Types.NestedField.optional(
              1,
              "l",
              Types.ListType.ofOptional(2, Types.ListType.ofOptional(3, Types.IntegerType.get()))));
  private static final Schema MAP =
      new Schema(
          Types.NestedField.optional(
              1,
              "m",
              Types.MapType.ofOptional(2, 3, Types.StringType.get(), Types.IntegerType.get())));

  @TempDir Path directory;

  private HandMadeParquet file(String fields) {
    return new HandMadeParquet(directory.resolve("file.parquet"), fields);
  }

  private List<String> read(Schema schema, DataFile file, Map<String, String> properties)
      throws Exception {
    TableBuilder builder = TableBuilder.at(directory.resolve("table")).schema(schema);
    properties.forEach(builder::property);
    Table table = builder.create();
    try (ReaderFixture fixture = new ReaderFixture(table, 2)) {
      return fixture.lines(file, schema);
    }
  }

  private List<String> read(Schema schema, DataFile file) throws Exception {
    return read(schema, file, Map.of());
  }

  private List<String> readByName(Schema schema, DataFile file) throws Exception {
    String mapping = NameMappingParser.toJson(MappingUtil.create(schema));
    return read(schema, file, Map.of(TableProperties.DEFAULT_NAME_MAPPING, mapping));
  }

  private static void twoLevels(Group row, String name, Integer... elements) {
    Group list = row.addGroup("l");
    for (Integer element : elements) {
      list.add(name, element);
    }
  }

  @Test
  void s10TwoLevelsOfPrimitives() throws Exception {
    DataFile file =
        file("optional group l (LIST) = 1 { repeated int32 array = 2; }")
            .row(row -> twoLevels(row, "array", 1, 2))
            .row(row -> {})
            .row(row -> row.addGroup("l"))
            .row(row -> twoLevels(row, "array", 3))
            .write();
    assertThat(read(INTS, file))
        .containsExactly("{\"l\":[1,2]}", "{\"l\":null}", "{\"l\":[]}", "{\"l\":[3]}");
  }

  @ParameterizedTest
  @ValueSource(strings = {"array", "l_tuple"})
  void s10TwoLevelsOfStructsWithOneFieldAreToldByTheirName(String name) throws Exception {
    DataFile file =
        file("optional group l (LIST) = 1 { repeated group "
                + name
                + " = 2 { optional int32 a = 3; } }")
            .row(row -> row.addGroup("l").addGroup(name).add("a", 1))
            .row(row -> row.addGroup("l").addGroup(name))
            .row(row -> row.addGroup("l"))
            .row(row -> {})
            .write();
    assertThat(read(STRUCTS, file))
        .containsExactly(
            "{\"l\":[{\"a\":1}]}", "{\"l\":[{\"a\":null}]}", "{\"l\":[]}", "{\"l\":null}");
  }

  @Test
  void s10TwoLevelsOfStructsWithMoreFieldsOfWhichOneIsRead() throws Exception {
    DataFile file =
        file("optional group l (LIST) = 1 { repeated group element = 2 {"
                + " optional binary b = 4; optional int32 a = 3; } }")
            .row(
                row -> {
                  Group list = row.addGroup("l");
                  list.addGroup("element").add("a", 1);
                  list.addGroup("element").add("b", "x");
                })
            .row(row -> row.addGroup("l"))
            .write();
    assertThat(read(STRUCTS, file))
        .containsExactly("{\"l\":[{\"a\":1},{\"a\":null}]}", "{\"l\":[]}");
  }

  @Test
  void s10TwoLevelsOfListsAreToldByTheInnerAnnotation() throws Exception {
    DataFile file =
        file("optional group l (LIST) = 1 { repeated group array (LIST) = 2 {"
                + " repeated int32 array = 3; } }")
            .row(
                row -> {
                  Group outer = row.addGroup("l");
                  outer.addGroup("array").append("array", 1).append("array", 2);
                  outer.addGroup("array");
                  outer.addGroup("array").append("array", 3);
                })
            .row(row -> row.addGroup("l"))
            .row(row -> {})
            .write();
    assertThat(read(LISTS, file))
        .containsExactly("{\"l\":[[1,2],[],[3]]}", "{\"l\":[]}", "{\"l\":null}");
  }

  @ParameterizedTest
  @ValueSource(strings = {"bag.array_element", "bag.array", "list.element", "list.item"})
  void s10ThreeLevelsOfAnyNames(String names) throws Exception {
    String group = names.substring(0, names.indexOf('.'));
    String element = names.substring(names.indexOf('.') + 1);
    for (String ids : List.of("", "ids")) {
      DataFile file =
          file(("optional group l (LIST) = 1 { repeated group "
                      + group
                      + " { optional int32 "
                      + element
                      + " = 2; } }")
                  .replaceAll(ids.isEmpty() ? " = \\d" : "never", ""))
              .row(
                  row -> {
                    Group list = row.addGroup("l");
                    list.addGroup(group).add(element, 1);
                    list.addGroup(group);
                    list.addGroup(group).add(element, 2);
                  })
              .row(row -> row.addGroup("l"))
              .row(row -> {})
              .write();
      assertThat(ids.isEmpty() ? readByName(INTS, file) : read(INTS, file))
          .containsExactly("{\"l\":[1,null,2]}", "{\"l\":[]}", "{\"l\":null}");
      deleteTable();
    }
  }

  private void deleteTable() throws Exception {
    try (var files = java.nio.file.Files.walk(directory.resolve("table"))) {
      files.sorted(java.util.Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "optional group m (MAP) = 1 { repeated group key_value { required binary key = 2;"
            + " optional int32 value = 3; } }",
        "optional group m (MAP_KEY_VALUE) = 1 { repeated group map { required binary key = 2;"
            + " optional int32 value = 3; } }",
        "optional group m (MAP) = 1 { repeated group map (MAP_KEY_VALUE) {"
            + " optional binary key = 2; optional int32 value = 3; } }",
        "optional group m (MAP) = 1 { repeated group bag { optional binary k; required int32 v; } }"
      })
  void s10MapsOfAnySpelling(String field) throws Exception {
    boolean named = field.contains(" k;");
    String key = named ? "k" : "key";
    String value = named ? "v" : "value";
    String entry = field.replaceAll(".*repeated group (\\w+) .*", "$1");
    DataFile file =
        file(field)
            .row(
                row -> {
                  Group map = row.addGroup("m");
                  map.addGroup(entry).append(key, "a").append(value, 1);
                  map.addGroup(entry).append(key, "b").append(value, 2);
                })
            .row(row -> {})
            .row(row -> row.addGroup("m"))
            .row(
                row -> {
                  Group only = row.addGroup("m").addGroup(entry).append(key, "c");
                  if (named) {
                    only.add(value, 3);
                  }
                })
            .write();
    assertThat(read(MAP, file))
        .containsExactly(
            "{\"m\":[[\"a\",1],[\"b\",2]]}",
            "{\"m\":null}",
            "{\"m\":[]}",
            "{\"m\":[[\"c\"," + (named ? 3 : null) + "]]}");
  }

  @Test
  void s7NullKeysOfMapsFailLoudly() throws Exception {
    DataFile file =
        file("optional group m (MAP) = 1 { repeated group map { optional binary key = 2;"
                + " optional int32 value = 3; } }")
            .row(row -> row.addGroup("m").addGroup("map").append("value", 3))
            .write();
    assertThatThrownBy(() -> read(MAP, file))
        .isInstanceOf(CorruptFileException.class)
        .hasMessageContaining("m.key");
  }

  @Test
  void s10RepeatedFieldsOutsideOfListsAreRefused() throws Exception {
    DataFile primitive = file("repeated int32 l = 1;").row(row -> row.add("l", 1)).write();
    assertThatThrownBy(() -> read(INTS, primitive))
        .isInstanceOf(UnsupportedFileException.class)
        .hasMessageContaining("column l");
    deleteTable();
    DataFile noAnnotation =
        file("optional group l = 1 { repeated group list { optional int32 element = 2; } }")
            .row(row -> {})
            .write();
    assertThatThrownBy(() -> read(INTS, noAnnotation))
        .isInstanceOf(UnsupportedFileException.class)
        .hasMessageContaining("column l");
  }

  @Test
  void s10RepeatedFieldsThatAreNotAskedForDoNoHarm() throws Exception {
    DataFile file =
        file("repeated int32 x = 7; repeated group y = 8 { optional int32 z = 9; }"
                + " optional group l (LIST) = 1 { repeated int32 array = 2; }")
            .row(
                row -> {
                  row.append("x", 1).append("x", 2);
                  row.addGroup("y").add("z", 1);
                  twoLevels(row, "array", 5);
                })
            .write();
    assertThat(read(INTS, file)).containsExactly("{\"l\":[5]}");
  }

  @Test
  void s8NamesAreTakenLiterallyAndSeveralNamesMeanOneField() throws Exception {
    Schema schema =
        new Schema(
            Types.NestedField.optional(1, "a", Types.IntegerType.get()),
            Types.NestedField.optional(2, "b", Types.IntegerType.get()),
            Types.NestedField.optional(
                3,
                "s",
                Types.StructType.of(Types.NestedField.optional(4, "x", Types.IntegerType.get()))),
            Types.NestedField.optional(
                5,
                "l",
                Types.ListType.ofOptional(
                    6,
                    Types.StructType.of(
                        Types.NestedField.optional(7, "y", Types.IntegerType.get())))));
    NameMapping mapping =
        NameMapping.of(
            MappedField.of(1, List.of("old", "a")),
            MappedField.of(2, "with.dot"),
            MappedField.of(3, "s", MappedFields.of(MappedField.of(4, List.of("X", "x")))),
            MappedField.of(
                5,
                "l",
                MappedFields.of(
                    MappedField.of(6, "element", MappedFields.of(MappedField.of(7, "y"))))));
    DataFile file =
        new HandMadeParquet(
                directory.resolve("file.parquet"),
                org.apache.parquet.schema.Types.buildMessage()
                    .optional(org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT32)
                    .named("with.dot")
                    .optional(org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT32)
                    .named("b")
                    .optionalGroup()
                    .optional(org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT32)
                    .named("X")
                    .named("s")
                    .optional(org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT32)
                    .named("old")
                    .addField(
                        org.apache.parquet.schema.MessageTypeParser.parseMessageType(
                                "message m { optional group l (LIST) { repeated group bag {"
                                    + " optional group array_element { optional int32 y; } } } }")
                            .getType(0))
                    .named("hand"))
            .row(
                row -> {
                  row.append("with.dot", 2).append("b", 99).append("old", 1);
                  row.addGroup("s").add("X", 4);
                  row.addGroup("l").addGroup("bag").addGroup("array_element").add("y", 7);
                })
            .write();
    assertThat(
            read(
                schema,
                file,
                Map.of(TableProperties.DEFAULT_NAME_MAPPING, NameMappingParser.toJson(mapping))))
        .containsExactly("{\"a\":1,\"b\":2,\"s\":{\"x\":4},\"l\":[{\"y\":7}]}");
  }

  @Test
  void s8WithoutMappingColumnsAreTakenByPositionAndStructsRefused() throws Exception {
    DataFile file =
        file("optional binary first; optional group l (LIST) { repeated int32 array; }")
            .row(
                row -> {
                  row.add("first", "x");
                  twoLevels(row, "array", 5);
                })
            .write();
    Schema schema =
        new Schema(
            Types.NestedField.optional(
                2, "l", Types.ListType.ofOptional(7, Types.IntegerType.get())),
            Types.NestedField.optional(1, "s", Types.StringType.get()),
            Types.NestedField.optional(9, "absent", Types.StringType.get()));
    // The builder gives a new table's columns their ids in order.
    Table table = TableBuilder.at(directory.resolve("table")).schema(schema).create();
    try (ReaderFixture fixture = new ReaderFixture(table)) {
      assertThat(fixture.lines(file, schema))
          .containsExactly("{\"l\":[5],\"s\":\"x\",\"absent\":null}");
    }
    deleteTable();
    DataFile struct =
        file("optional group l { optional int32 a; }")
            .row(row -> row.addGroup("l").add("a", 1))
            .write();
    Schema structSchema =
        new Schema(
            Types.NestedField.optional(
                1,
                "l",
                Types.StructType.of(Types.NestedField.optional(3, "a", Types.IntegerType.get()))));
    assertThatThrownBy(() -> read(structSchema, struct))
        .isInstanceOf(UnsupportedFileException.class)
        .hasMessageContaining("schema.name-mapping.default");
  }

  @Test
  void s9FieldsWithoutIdsInAFileWithSomeAreNotRead() throws Exception {
    Schema schema =
        new Schema(
            Types.NestedField.optional(1, "a", Types.IntegerType.get()),
            Types.NestedField.optional(2, "b", Types.IntegerType.get()));
    DataFile file =
        file("optional int32 a; optional int32 b = 2;")
            .row(row -> row.append("a", 1).append("b", 2))
            .write();
    assertThat(readByName(schema, file)).containsExactly("{\"a\":null,\"b\":2}");
  }

  @Test
  void s22NamesThatDifferByCaseOrHoldDotsAreOnlyNames() throws Exception {
    Schema schema =
        new Schema(
            Types.NestedField.optional(1, "a", Types.IntegerType.get()),
            Types.NestedField.optional(2, "A", Types.IntegerType.get()),
            Types.NestedField.optional(3, "a.b", Types.IntegerType.get()));
    DataFile file =
        file("optional int32 A = 1; optional int32 a = 2; optional int32 a_x2Eb = 3;")
            .row(row -> row.append("A", 1).append("a", 2).append("a_x2Eb", 3))
            .write();
    assertThat(read(schema, file)).containsExactly("{\"a\":1,\"A\":2,\"a.b\":3}");
  }
}
