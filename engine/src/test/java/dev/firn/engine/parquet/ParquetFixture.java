package dev.firn.engine.parquet;

import dev.firn.testdata.LocalFileIO;
import dev.firn.testdata.TableBuilder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Files;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetReaders;
import org.apache.iceberg.data.parquet.GenericParquetWriter;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileAppender;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.types.Types;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;

/** Tables in a directory, and their files as other readers and writers have them. */
final class ParquetFixture {
  private final Path directory;

  ParquetFixture(Path directory) {
    this.directory = directory;
  }

  /** A table of format v3, unpartitioned. */
  Table table(Schema schema, Map<String, String> properties) {
    TableBuilder builder = builder().schema(schema);
    properties.forEach(builder::property);
    return builder.create();
  }

  TableBuilder builder() {
    return TableBuilder.at(directory.resolve("t-" + UUID.randomUUID()))
        .formatVersion(3)
        .property("write.parquet.compression-codec", "zstd");
  }

  static String path(DataFile file) {
    return LocalFileIO.path(file.location()).toString();
  }

  /** The rows as Iceberg's generic reader has them. */
  static List<Record> rows(DataFile file, Schema schema) {
    try (CloseableIterable<Record> rows =
        Parquet.read(Files.localInput(path(file)))
            .project(schema)
            .createReaderFunc(type -> GenericParquetReaders.buildReader(schema, type))
            .build()) {
      List<Record> list = new ArrayList<>();
      rows.forEach(list::add);
      return list;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static ParquetMetadata footer(String path) {
    try (ParquetFileReader reader = reader(path)) {
      return reader.getFooter();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static ParquetFileReader reader(String path) throws IOException {
    return ParquetFileReader.open(new org.apache.parquet.io.LocalInputFile(Path.of(path)));
  }

  /** The same rows as Iceberg's generic writer writes them. */
  DataFile reference(Table table, Schema columns, List<Record> rows) throws IOException {
    OutputFile output =
        Files.localOutput(
            directory.resolve("reference-" + UUID.randomUUID() + ".parquet").toFile());
    FileAppender<Record> appender =
        Parquet.write(output)
            .forTable(table)
            .schema(columns)
            .metricsConfig(MetricsConfig.forTable(table))
            .createWriterFunc(type -> GenericParquetWriter.create(columns, type))
            .build();
    try (appender) {
      appender.addAll(rows);
    }
    return DataFiles.builder(PartitionSpec.unpartitioned())
        .withPath(output.location())
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(appender.length())
        .withMetrics(appender.metrics())
        .withSplitOffsets(appender.splitOffsets())
        .build();
  }

  /** How many rows DuckDB finds in one of two files and not in the other, row by row. */
  static long differenceInDuckDb(String one, String other) {
    String sql =
        "select count(*) from (select * from read_parquet('%s', file_row_number=true)"
            + " except all select * from read_parquet('%s', file_row_number=true))";
    return duckDb(String.format(sql, one, other)) + duckDb(String.format(sql, other, one));
  }

  /** The number that a query gives. */
  static long duckDb(String sql) {
    try (Connection connection = DriverManager.getConnection("jdbc:duckdb:");
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(sql)) {
      result.next();
      return result.getLong(1);
    } catch (SQLException e) {
      throw new IllegalStateException(sql, e);
    }
  }

  static List<String> texts(List<? extends StructLike> rows, Schema schema) {
    List<String> texts = new ArrayList<>(rows.size());
    for (StructLike row : rows) {
      texts.add(text(row, schema.asStruct()));
    }
    return texts;
  }

  /** A value to the last bit. */
  private static String text(Object value, org.apache.iceberg.types.Type type) {
    if (value == null) {
      return "null";
    } else if (type instanceof Types.StructType struct) {
      StringBuilder text = new StringBuilder("{");
      for (int i = 0; i < struct.fields().size(); i++) {
        Object child = ((StructLike) value).get(i, Object.class);
        text.append(text(child, struct.fields().get(i).type())).append(", ");
      }
      return text.append('}').toString();
    } else if (type instanceof Types.ListType list) {
      StringBuilder text = new StringBuilder("[");
      ((List<?>) value).forEach(v -> text.append(text(v, list.elementType())).append(", "));
      return text.append(']').toString();
    } else if (type instanceof Types.MapType map) {
      StringBuilder text = new StringBuilder("<");
      ((Map<?, ?>) value)
          .forEach(
              (k, v) ->
                  text.append(text(k, map.keyType()))
                      .append("=")
                      .append(text(v, map.valueType()))
                      .append(", "));
      return text.append('>').toString();
    } else if (value instanceof ByteBuffer buffer) {
      byte[] bytes = new byte[buffer.remaining()];
      buffer.duplicate().get(bytes);
      return HexFormat.of().formatHex(bytes);
    } else if (value instanceof byte[] bytes) {
      return HexFormat.of().formatHex(bytes);
    } else if (value instanceof Float f) {
      return Integer.toHexString(Float.floatToRawIntBits(f));
    } else if (value instanceof Double d) {
      return Long.toHexString(Double.doubleToRawLongBits(d));
    }
    return value.toString();
  }
}
