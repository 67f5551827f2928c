package dev.firn.engine.parquet;

import dev.firn.testdata.LocalFileIO;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

/** A Parquet file of a schema spelled by hand, as other writers have it. */
final class HandMadeParquet {
  private final Path file;
  private final MessageType schema;
  private final List<Group> rows = new ArrayList<>();
  private UnaryOperator<ExampleParquetWriter.Builder> settings =
      builder -> builder.withCompressionCodec(CompressionCodecName.UNCOMPRESSED);

  HandMadeParquet(Path file, String fields) {
    this(file, MessageTypeParser.parseMessageType("message hand { " + fields + " }"));
  }

  HandMadeParquet(Path file, MessageType schema) {
    this.file = file;
    this.schema = schema;
  }

  HandMadeParquet with(UnaryOperator<ExampleParquetWriter.Builder> newSettings) {
    settings = newSettings;
    return this;
  }

  HandMadeParquet row(Consumer<Group> values) {
    Group row = new SimpleGroup(schema);
    values.accept(row);
    rows.add(row);
    return this;
  }

  /** Writes the file, as an unpartitioned data file without lineage. */
  DataFile write() {
    try {
      Files.deleteIfExists(file);
      ExampleParquetWriter.Builder builder =
          ExampleParquetWriter.builder(new LocalOutputFile(file))
              .withType(schema)
              .withConf(new PlainParquetConfiguration())
              .withWriterVersion(ParquetProperties.WriterVersion.PARQUET_1_0);
      try (ParquetWriter<Group> writer = settings.apply(builder).build()) {
        for (Group row : rows) {
          writer.write(row);
        }
      }
      return dataFile(file, rows.size());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static DataFile dataFile(Path file, long rows) throws IOException {
    return DataFiles.builder(PartitionSpec.unpartitioned())
        .withPath(LocalFileIO.location(file))
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(Files.size(file))
        .withRecordCount(rows)
        .build();
  }
}
