package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.TableBuilder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class CodecsTest {
  @TempDir Path directory;

  static List<Arguments> layouts() {
    List<Arguments> layouts = new ArrayList<>();
    for (String codec : List.of("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4_RAW", "LZ4")) {
      for (WriterVersion version : WriterVersion.values()) {
        layouts.add(Arguments.of(codec, version, true));
        layouts.add(Arguments.of(codec, version, false));
      }
    }
    return layouts;
  }

  @ParameterizedTest
  @MethodSource("layouts")
  void pagesOfEveryCodecAndVersionAreRead(String codec, WriterVersion version, boolean dictionary)
      throws Exception {
    HandMadeParquet file =
        new HandMadeParquet(
                directory.resolve("file.parquet"),
                "required int64 id = 1; optional binary s (UTF8) = 2; required boolean b = 3;"
                    + " optional group l (LIST) = 4 { repeated group list {"
                    + " optional int32 element = 5; } } optional double d = 6;")
            .with(
                builder ->
                    (codec.equals("LZ4") ? builder.withCodecFactory(new StoringCodecs()) : builder)
                        .withCompressionCodec(CompressionCodecName.valueOf(codec))
                        .withWriterVersion(version)
                        .withDictionaryEncoding(dictionary)
                        .withPageSize(500)
                        .withPageRowCountLimit(70));
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      long id = i;
      file.row(
          row -> {
            row.add("id", id);
            if (id % 3 != 0) {
              row.add("s", "text " + id % 17);
            }
            row.add("b", id % 5 < 2);
            for (int e = 0; e < id % 4 - 1; e++) {
              if (e == 0) {
                row.addGroup("l");
              }
              row.getGroup("l", 0).addGroup("list").add("element", (int) id + e);
            }
            if (id % 7 != 0) {
              row.add("d", id / 2.0);
            }
          });
      String list = i % 4 < 2 ? "null" : i % 4 == 2 ? "[" + i + "]" : "[" + i + "," + (i + 1) + "]";
      expected.add(
          "{\"id\":"
              + i
              + ",\"s\":"
              + (i % 3 == 0 ? "null" : "\"text " + i % 17 + "\"")
              + ",\"b\":"
              + (i % 5 < 2)
              + ",\"l\":"
              + list
              + ",\"d\":"
              + (i % 7 == 0 ? "null" : "\"" + Double.toHexString(i / 2.0) + "\"")
              + "}");
    }
    DataFile written = file.write();
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(
                Types.NestedField.required(1, "id", Types.LongType.get()),
                Types.NestedField.optional(2, "s", Types.StringType.get()),
                Types.NestedField.required(3, "b", Types.BooleanType.get()),
                Types.NestedField.optional(
                    4, "l", Types.ListType.ofOptional(5, Types.IntegerType.get())),
                Types.NestedField.optional(6, "d", Types.DoubleType.get()))
            .create();
    try (ReaderFixture fixture = new ReaderFixture(table, 64)) {
      assertThat(fixture.lines(written)).containsExactlyElementsOf(expected);
    }
  }

  @Test
  void codecsThatArrowLacksAreRefusedByName() throws Exception {
    DataFile file =
        new HandMadeParquet(directory.resolve("file.parquet"), "optional int64 id = 1;")
            .with(
                builder ->
                    builder
                        .withCodecFactory(new StoringCodecs())
                        .withCompressionCodec(CompressionCodecName.BROTLI))
            .row(row -> row.add("id", 1L))
            .write();
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(Types.NestedField.optional(1, "id", Types.LongType.get()))
            .create();
    try (ReaderFixture fixture = new ReaderFixture(table, 64)) {
      assertThatThrownBy(() -> fixture.reader.open(ReaderFixture.task(table, file), table.schema()))
          .isInstanceOf(UnsupportedFileException.class)
          .hasMessageContaining("BROTLI")
          .hasMessageContaining(file.location());
    }
  }
}
