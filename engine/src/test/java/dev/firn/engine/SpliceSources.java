package dev.firn.engine;

import dev.firn.testdata.LocalFileIO;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetWriter;
import org.apache.iceberg.parquet.ParquetCodecFactory;
import org.apache.iceberg.parquet.ParquetSchemaUtil;
import org.apache.iceberg.parquet.ParquetUtil;
import org.apache.iceberg.parquet.ParquetValueWriter;
import org.apache.parquet.bytes.ByteBufferAllocator;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ColumnWriteStore;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.column.values.ValuesWriter;
import org.apache.parquet.column.values.bytestreamsplit.ByteStreamSplitValuesWriter;
import org.apache.parquet.column.values.delta.DeltaBinaryPackingValuesWriterForInteger;
import org.apache.parquet.column.values.delta.DeltaBinaryPackingValuesWriterForLong;
import org.apache.parquet.column.values.deltalengthbytearray.DeltaLengthByteArrayValuesWriter;
import org.apache.parquet.column.values.deltastrings.DeltaByteArrayWriter;
import org.apache.parquet.column.values.factory.DefaultV1ValuesWriterFactory;
import org.apache.parquet.column.values.factory.DefaultV2ValuesWriterFactory;
import org.apache.parquet.column.values.factory.ValuesWriterFactory;
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridValuesWriter;
import org.apache.parquet.hadoop.ColumnChunkPageWriteStore;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.schema.MessageType;

/**
 * Writes data files with parquet-java's own writers, with settings that Iceberg has no properties
 * for: any encoding with any page version, checksums, no statistics.
 */
final class SpliceSources {
  private static final int TRUNCATE_BYTES = 64;
  private static final int SLAB_BYTES = 32;

  /** How files are written. */
  static final class Settings {
    WriterVersion version = WriterVersion.PARQUET_1_0;
    CompressionCodecName codec = CompressionCodecName.ZSTD;
    int pageBytes = 1 << 20;
    int pageRows = 20_000;
    int rowGroupRows = Integer.MAX_VALUE;
    int dictionaryBytes = 1 << 20;
    boolean dictionary = true;
    boolean checksums = true;
    boolean statistics = true;
    boolean byteStreamSplit;
    boolean streamsOfBytes; // BYTE_STREAM_SPLIT of byte strings too, which DuckDB does not read
    double forcedShare; // of columns with an encoding that the page version would not choose
    long seed;

    static Settings random(Random random) {
      Settings settings = new Settings();
      settings.version = WriterVersion.values()[random.nextInt(2)];
      settings.codec =
          List.of(
                  CompressionCodecName.ZSTD,
                  CompressionCodecName.ZSTD,
                  CompressionCodecName.SNAPPY,
                  CompressionCodecName.GZIP,
                  CompressionCodecName.LZ4_RAW,
                  CompressionCodecName.UNCOMPRESSED)
              .get(random.nextInt(6));
      settings.pageBytes = random.nextInt(3) == 0 ? 1 << 20 : 1000 + random.nextInt(4000);
      settings.pageRows = random.nextInt(3) == 0 ? 20_000 : 5 + random.nextInt(300);
      settings.rowGroupRows = random.nextBoolean() ? 20_000 : 100 + random.nextInt(700);
      settings.dictionaryBytes = random.nextInt(3) == 0 ? 64 + random.nextInt(2000) : 1 << 20;
      settings.dictionary = random.nextInt(5) > 0;
      settings.checksums = random.nextBoolean();
      settings.statistics = random.nextInt(6) > 0;
      settings.byteStreamSplit = random.nextInt(4) == 0;
      settings.streamsOfBytes = random.nextInt(4) == 0;
      settings.forcedShare = random.nextBoolean() ? 0.4 : 0;
      settings.seed = random.nextLong();
      return settings;
    }

    @Override
    public String toString() {
      return version
          + " "
          + codec
          + " page "
          + pageBytes
          + " B, "
          + pageRows
          + " rows; row group "
          + rowGroupRows
          + "; dictionary "
          + (dictionary ? dictionaryBytes : 0)
          + (checksums ? " checksums" : "")
          + (statistics ? "" : " no statistics")
          + (byteStreamSplit ? " byte-stream-split" : "")
          + (streamsOfBytes ? " of byte strings" : "")
          + " forced "
          + forcedShare;
    }
  }

  private SpliceSources() {}

  /** Writes a file that lies below the table's location; not committed. */
  static DataFile write(Table table, Schema schema, List<Record> rows, Settings settings)
      throws IOException {
    Path file =
        LocalFileIO.path(
            table.locationProvider().newDataLocation("source-" + UUID.randomUUID() + ".parquet"));
    java.nio.file.Files.createDirectories(file.getParent());
    MessageType type = ParquetSchemaUtil.convert(schema, "table");
    ParquetProperties properties = properties(settings);
    ParquetFileWriter writer =
        new ParquetFileWriter(
            new LocalOutputFile(file),
            type,
            ParquetFileWriter.Mode.CREATE,
            1L << 27,
            0,
            null,
            properties);
    ParquetCodecFactory codecs = new ParquetCodecFactory(new Configuration(false), 1 << 16);
    writer.start();
    int ordinal = 0;
    ParquetValueWriter<Record> model = GenericParquetWriter.create(schema, type);
    for (int from = 0; from < rows.size(); ) {
      int to = (int) Math.min(rows.size(), (long) from + settings.rowGroupRows);
      ColumnChunkPageWriteStore pages =
          new ColumnChunkPageWriteStore(
              codecs.getCompressor(settings.codec),
              type,
              HeapByteBufferAllocator.getInstance(),
              TRUNCATE_BYTES,
              settings.checksums,
              null,
              ordinal++);
      ColumnWriteStore columns = properties.newColumnWriteStore(type, pages, pages);
      model.setColumnStore(columns);
      for (Record row : rows.subList(from, to)) {
        model.write(0, row);
        columns.endRecord();
      }
      writer.startBlock(to - from);
      columns.flush();
      pages.flushToFileWriter(writer);
      writer.endBlock();
      columns.close();
      pages.close();
      from = to;
    }
    writer.end(Map.of());
    writer.close();
    codecs.release();
    return DataFiles.builder(PartitionSpec.unpartitioned())
        .withPath(LocalFileIO.location(file))
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(java.nio.file.Files.size(file))
        .withMetrics(
            ParquetUtil.footerMetrics(
                writer.getFooter(), model.metrics(), MetricsConfig.forTable(table)))
        .withSplitOffsets(ParquetUtil.getSplitOffsets(writer.getFooter()))
        .build();
  }

  private static ParquetProperties properties(Settings settings) {
    return ParquetProperties.builder()
        .withWriterVersion(settings.version)
        .withPageSize(settings.pageBytes)
        .withPageRowCountLimit(settings.pageRows)
        .withMinRowCountForPageSizeCheck(1)
        .withMaxRowCountForPageSizeCheck(20)
        .withDictionaryPageSize(settings.dictionaryBytes)
        .withDictionaryEncoding(settings.dictionary)
        .withByteStreamSplitEncoding(settings.byteStreamSplit)
        .withPageWriteChecksumEnabled(settings.checksums)
        .withStatisticsEnabled(settings.statistics)
        .withAllocator(HeapByteBufferAllocator.getInstance())
        .withValuesWriterFactory(new Encodings(settings))
        .build();
  }

  /** Gives some columns an encoding of their own, the others what parquet-java gives them. */
  private static final class Encodings implements ValuesWriterFactory {
    private final ValuesWriterFactory others;
    private final Random random;
    private final double share;
    private final boolean streamsOfBytes;
    private final int pageBytes;
    private final ByteBufferAllocator allocator = HeapByteBufferAllocator.getInstance();
    private final Map<ColumnDescriptor, Integer> forced = new HashMap<>();

    Encodings(Settings settings) {
      this.others =
          settings.version == WriterVersion.PARQUET_1_0
              ? new DefaultV1ValuesWriterFactory()
              : new DefaultV2ValuesWriterFactory();
      this.random = new Random(settings.seed);
      this.share = settings.forcedShare;
      this.streamsOfBytes = settings.streamsOfBytes;
      this.pageBytes = settings.pageBytes;
    }

    @Override
    public void initialize(ParquetProperties properties) {
      others.initialize(properties);
    }

    @Override
    public ValuesWriter newValuesWriter(ColumnDescriptor column) {
      int way =
          forced.computeIfAbsent(column, c -> random.nextDouble() < share ? random.nextInt(2) : -1);
      if (way < 0) {
        return others.newValuesWriter(column);
      }
      int width = column.getPrimitiveType().getTypeLength();
      return switch (column.getType()) {
        case BOOLEAN ->
            new RunLengthBitPackingHybridValuesWriter(1, SLAB_BYTES, pageBytes, allocator);
        case INT32 ->
            way == 0
                ? new DeltaBinaryPackingValuesWriterForInteger(SLAB_BYTES, pageBytes, allocator)
                : new ByteStreamSplitValuesWriter.IntegerByteStreamSplitValuesWriter(
                    SLAB_BYTES, pageBytes, allocator);
        case INT64 ->
            way == 0
                ? new DeltaBinaryPackingValuesWriterForLong(SLAB_BYTES, pageBytes, allocator)
                : new ByteStreamSplitValuesWriter.LongByteStreamSplitValuesWriter(
                    SLAB_BYTES, pageBytes, allocator);
        case FLOAT ->
            new ByteStreamSplitValuesWriter.FloatByteStreamSplitValuesWriter(
                SLAB_BYTES, pageBytes, allocator);
        case DOUBLE ->
            new ByteStreamSplitValuesWriter.DoubleByteStreamSplitValuesWriter(
                SLAB_BYTES, pageBytes, allocator);
        case BINARY ->
            way == 0
                ? new DeltaLengthByteArrayValuesWriter(SLAB_BYTES, pageBytes, allocator)
                : new DeltaByteArrayWriter(SLAB_BYTES, pageBytes, allocator);
        case FIXED_LEN_BYTE_ARRAY ->
            way == 0 || !streamsOfBytes
                ? new DeltaByteArrayWriter(SLAB_BYTES, pageBytes, allocator)
                : new ByteStreamSplitValuesWriter.FixedLenByteArrayByteStreamSplitValuesWriter(
                    width, SLAB_BYTES, pageBytes, allocator);
        default -> others.newValuesWriter(column);
      };
    }
  }
}
