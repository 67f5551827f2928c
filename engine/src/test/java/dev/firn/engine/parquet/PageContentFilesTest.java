package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.GoldenTables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.page.DataPage;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pages in files of other writers, decoded as parquet-java decodes them. */
class PageContentFilesTest {
  @TempDir Path directory;

  private final PageContent content = new PageContent(64 << 20);
  private final PageContent dictionary = new PageContent(64 << 20);
  private final Set<String> seen = new HashSet<>();

  private void check(Path file) throws IOException {
    try (ParquetFileReader reader = ParquetFixture.reader(file.toString())) {
      MessageType schema = reader.getFooter().getFileMetaData().getSchema();
      for (PageReadStore group = reader.readNextRowGroup();
          group != null;
          group = reader.readNextRowGroup()) {
        for (ColumnDescriptor column : schema.getColumns()) {
          if (column.getPrimitiveType().getPrimitiveTypeName() != PrimitiveTypeName.INT96) {
            check(ParquetPages.of(schema, column, group.getPageReader(column)), file);
          }
        }
      }
    }
  }

  private void check(ParquetPages pages, Path file) {
    pages.decodeDictionary(dictionary);
    List<ParquetPages.Entry> expected = pages.read(pages.pages());
    int from = 0;
    for (DataPage page : pages.pages()) {
      pages.decode(page, content);
      seen.add(
          pages.column().getPrimitiveType().getPrimitiveTypeName()
              + " "
              + ParquetPages.encoding(page));
      int to = from + page.getValueCount();
      assertThat(pages.entries(content, dictionary))
          .as("%s of %s in %s", page, pages.column(), file)
          .isEqualTo(expected.subList(from, to));
      from = to;
    }
    assertThat(from).isEqualTo(expected.size());
  }

  @Test
  void filesOfSparkAndIceberg() throws IOException {
    for (String name : List.of("g09-nested", "g10-types", "g13-parquet-variety")) {
      GoldenTables.copyTo(name, directory);
    }
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.filter(path -> path.toString().endsWith(".parquet")).toList()) {
        check(file);
      }
    }
    assertThat(seen)
        .contains(
            "INT32 PLAIN",
            "INT64 DELTA_BINARY_PACKED",
            "BINARY DELTA_BYTE_ARRAY",
            "BINARY RLE_DICTIONARY",
            "BINARY PLAIN_DICTIONARY");
  }

  @Test
  void filesOfDuckDb() throws Exception {
    for (String version : List.of("V1", "V2")) {
      String dictionaryLimit = version.equals("V1") ? "100000" : "1";
      Path file = directory.resolve(version + ".parquet");
      try (Connection connection = DriverManager.getConnection("jdbc:duckdb:");
          Statement statement = connection.createStatement()) {
        statement.execute("select setseed(0.5)");
        statement.execute(
            "copy (select i % 3 = 0 b, i::int i, (i * 7919) % 100 few, random() d,"
                + " random()::float f, i * i l, 'customer ' || i t,"
                + " case when i % 10 > 0 then 'town ' || i % 50 end town,"
                + " case when i % 7 > 0 then [i, null, i + 1] when i % 2 = 0 then [] end list,"
                + " [[i % 3], [], null] lists, {'x': i, 'y': {'z': i::varchar}} s,"
                + " uuid() u, encode('b' || i) bin, (i * 1.01)::decimal(9, 2) d9,"
                + " (i * 1.01)::decimal(30, 2) d30"
                + " from range(6000) r(i)) to '"
                + file
                + "' (parquet_version "
                + version
                + ", compression zstd, row_group_size 4096, dictionary_size_limit "
                + dictionaryLimit
                + ")");
      }
      check(file);
    }
    assertThat(seen)
        .contains(
            "BOOLEAN PLAIN",
            "INT64 DELTA_BINARY_PACKED",
            "BINARY PLAIN_DICTIONARY",
            "BINARY DELTA_LENGTH_BYTE_ARRAY",
            "DOUBLE BYTE_STREAM_SPLIT");
  }

  @Test
  void filesOfArrow() throws Exception {
    for (String version : List.of("1.0", "2.0")) {
      check(Path.of(getClass().getResource("/arrow/pages-" + version + ".parquet").toURI()));
    }
    assertThat(seen)
        .contains(
            "INT64 PLAIN",
            "INT64 DELTA_BINARY_PACKED",
            "INT32 DELTA_BINARY_PACKED",
            "INT64 BYTE_STREAM_SPLIT",
            "INT32 BYTE_STREAM_SPLIT",
            "FLOAT BYTE_STREAM_SPLIT",
            "DOUBLE BYTE_STREAM_SPLIT",
            "FIXED_LEN_BYTE_ARRAY BYTE_STREAM_SPLIT",
            "FIXED_LEN_BYTE_ARRAY DELTA_BYTE_ARRAY",
            "BINARY DELTA_LENGTH_BYTE_ARRAY",
            "BINARY DELTA_BYTE_ARRAY",
            "BOOLEAN RLE",
            "BOOLEAN PLAIN",
            "BINARY RLE_DICTIONARY",
            "INT64 RLE_DICTIONARY",
            "INT32 RLE_DICTIONARY");
  }
}
