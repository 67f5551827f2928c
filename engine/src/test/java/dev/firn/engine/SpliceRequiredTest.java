package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Splices files in which fields are required, at any depth, that the table says are optional: Spark
 * writes such, as an expression of it cannot be null, and so does a table before a field is made
 * optional.
 */
class SpliceRequiredTest {
  private static final Schema SCHEMA =
      new Schema(
          optional(1, "id", Types.LongType.get()),
          optional(
              2,
              "s",
              Types.StructType.of(
                  optional(3, "number", Types.IntegerType.get()),
                  optional(
                      4, "inner", Types.StructType.of(optional(5, "t", Types.StringType.get()))))),
          optional(6, "list", Types.ListType.ofOptional(7, Types.DoubleType.get())),
          optional(
              8,
              "structs",
              Types.ListType.ofOptional(
                  9,
                  Types.StructType.of(
                      optional(10, "a", Types.LongType.get()),
                      optional(
                          11, "deep", Types.ListType.ofOptional(12, Types.StringType.get()))))),
          optional(
              13,
              "map",
              Types.MapType.ofOptional(14, 15, Types.StringType.get(), Types.IntegerType.get())));

  @TempDir Path directory;

  private static NestedField optional(int id, String name, Type type) {
    return NestedField.optional(id, name, type);
  }

  /** The type as a file may have it: each field is required with a chance of {@code required}. */
  private static Type ofFile(Type type, Random random, double required) {
    if (type.isStructType()) {
      return Types.StructType.of(fields(type.asStructType().fields(), random, required));
    }
    boolean isRequired = random.nextDouble() < required;
    if (type.isListType()) {
      Types.ListType list = type.asListType();
      Type element = ofFile(list.elementType(), random, required);
      return isRequired
          ? Types.ListType.ofRequired(list.elementId(), element)
          : Types.ListType.ofOptional(list.elementId(), element);
    }
    if (type.isMapType()) {
      Types.MapType map = type.asMapType();
      Type value = ofFile(map.valueType(), random, required);
      return isRequired
          ? Types.MapType.ofRequired(map.keyId(), map.valueId(), map.keyType(), value)
          : Types.MapType.ofOptional(map.keyId(), map.valueId(), map.keyType(), value);
    }
    return type;
  }

  private static List<NestedField> fields(List<NestedField> of, Random random, double required) {
    List<NestedField> fields = new ArrayList<>();
    for (NestedField field : of) {
      Type type = ofFile(field.type(), random, required);
      fields.add(
          random.nextDouble() < required
              ? NestedField.required(field.fieldId(), field.name(), type)
              : NestedField.optional(field.fieldId(), field.name(), type));
    }
    return fields;
  }

  private static Record row(Types.StructType type, long id, Random random) {
    Record row = GenericRecord.create(type);
    for (NestedField field : type.fields()) {
      row.setField(field.name(), value(field.type(), field.isOptional(), id, random));
    }
    return row;
  }

  private static Object value(Type type, boolean isOptional, long id, Random random) {
    if (isOptional && random.nextInt(4) == 0) {
      return null;
    }
    return switch (type.typeId()) {
      case STRUCT -> row(type.asStructType(), id, random);
      case LIST -> {
        Types.ListType list = type.asListType();
        List<Object> elements = new ArrayList<>();
        for (int size = random.nextInt(4); size > 0; size--) {
          elements.add(value(list.elementType(), list.isElementOptional(), id, random));
        }
        yield elements;
      }
      case MAP -> {
        Types.MapType map = type.asMapType();
        Map<Object, Object> entries = new LinkedHashMap<>();
        for (int size = random.nextInt(3); size > 0; size--) {
          entries.put("key " + size, value(map.valueType(), map.isValueOptional(), id, random));
        }
        yield entries;
      }
      case LONG -> id * 1000 + random.nextInt(5);
      case INTEGER -> random.nextInt(20);
      case DOUBLE -> random.nextInt(100) / 8.0;
      case STRING -> "text " + random.nextInt(30);
      default -> throw new IllegalArgumentException(type.toString());
    };
  }

  private void spliceFilesOf(
      double required, WriterVersion version, boolean hasDeletes, long seed, Path at)
      throws Exception {
    Random random = new Random(seed);
    Table table =
        TableBuilder.at(at)
            .schema(SCHEMA)
            .formatVersion(2)
            .property("write.parquet.page-row-limit", "300")
            .create();
    for (int file = 0; file < 4; file++) {
      Schema ofFile =
          new Schema(fields(table.schema().columns(), random, file == 3 ? 0 : required));
      List<Record> rows = new ArrayList<>();
      for (int i = 0; i < 1000; i++) {
        rows.add(row(ofFile.asStruct(), file * 1000L + i, random));
      }
      SpliceSources.Settings settings = new SpliceSources.Settings();
      settings.version = version;
      settings.pageRows = 40 + random.nextInt(400);
      settings.rowGroupRows = 700;
      DataFile written = SpliceSources.write(table, ofFile, rows, settings);
      TableFiles.of(table).append(written);
      if (hasDeletes) {
        long[] deleted = LongStream.range(0, 1000).filter(i -> random.nextInt(5) == 0).toArray();
        TableFiles.of(table).deletePositions(Map.of(written, deleted));
      }
    }
    Path scratch = Files.createDirectories(directory.resolve("scratch"));
    CompactionReport report =
        Runs.checked(table, Runs.all(scratch).memoryBytes(1L << 30).threads(2));
    assertThat(report.moved().reasons()).as("why columns were not spliced").isEmpty();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void fieldsThatAreRequiredInTheFileAreSplicedAtAnyDepth(boolean hasDeletes) throws Exception {
    long seed = Long.getLong("firn.test.seed", System.nanoTime());
    for (int run = 0; run < Integer.getInteger("firn.runs", 3); run++) {
      WriterVersion version = run % 2 == 0 ? WriterVersion.PARQUET_2_0 : WriterVersion.PARQUET_1_0;
      double required = run % 3 == 0 ? 1 : 0.5;
      try {
        spliceFilesOf(required, version, hasDeletes, seed + run, directory.resolve("table" + run));
      } catch (AssertionError | Exception e) {
        throw new AssertionError("rerun with -Dfirn.test.seed=" + (seed + run), e);
      }
    }
  }
}
