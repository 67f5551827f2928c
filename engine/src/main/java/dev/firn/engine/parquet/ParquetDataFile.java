package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.apache.iceberg.FieldMetrics;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.parquet.ParquetUtil;
import org.apache.iceberg.types.Type;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.crypto.FileEncryptionProperties;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.MessageType;
import org.jspecify.annotations.Nullable;

/**
 * One Parquet file being written: row groups, one after the other. The file is opened when the
 * first row group is full. Used by one thread, but for {@link #builder}s; {@link #write} and {@link
 * #finish} may run on another, one at a time, until {@link #settle} is called after them.
 */
final class ParquetDataFile {
  /* Rough size of what a column chunk and a page take in the footer and in the page index. */
  private static final long FOOTER_BYTES_PER_CHUNK = 160;

  private final EncryptedOutputFile file;
  private final ParquetStreams streams;
  private final List<LeafColumn> leaves;
  private final MessageType type;
  private final ParquetWriteSettings settings;
  private final Compressors compressors;
  private final List<CompressionRatio> ratios;
  private final List<@Nullable FieldBounds> bounds;

  private @Nullable ParquetFileWriter writer; // null before the first row group is full
  private List<ColumnChunkBuilder> builders = List.of();
  private int rowGroups;
  private long rows;
  private long rowGroupRows;
  private long bloomFilterBytes;
  private long lengthSettled;
  private long lengthUnderWay; // about, of the row group that is being written
  private final AtomicLong memoryUnderWay = new AtomicLong();
  private final AtomicLong heldUnderWay = new AtomicLong();

  /** A row group whose columns are finished. */
  record FullRowGroup(List<ColumnChunkBuilder> columns, long rows) {}

  /**
   * @param io of the table
   */
  ParquetDataFile(
      EncryptedOutputFile file,
      FileIO io,
      MessageType type,
      List<LeafColumn> leaves,
      ParquetWriteSettings settings,
      Compressors compressors,
      List<CompressionRatio> ratios) {
    this.file = file;
    this.streams = new ParquetStreams(file.encryptingOutputFile(), io);
    this.type = type;
    this.leaves = leaves;
    this.settings = settings;
    this.compressors = compressors;
    this.ratios = ratios;
    this.bounds = new ArrayList<>(leaves.size());
    for (LeafColumn leaf : leaves) {
      boolean isFloat = leaf.field().type().typeId() == Type.TypeID.FLOAT;
      boolean isDouble = leaf.field().type().typeId() == Type.TypeID.DOUBLE;
      bounds.add(
          !leaf.isRepeated() && (isFloat || isDouble)
              ? new FieldBounds(leaf.field().fieldId(), isFloat)
              : null);
    }
  }

  /** Begins a row group unless one is begun. */
  void ensureRowGroup() {
    if (!builders.isEmpty() || leaves.isEmpty()) {
      return;
    }
    List<ColumnChunkBuilder> begun = new ArrayList<>(leaves.size());
    for (int i = 0; i < leaves.size(); i++) {
      begun.add(
          new ColumnChunkBuilder(
              leaves.get(i).descriptor(),
              settings,
              new Compressors.Lent(compressors),
              ratios.get(i),
              bounds.get(i)));
    }
    builders = begun;
    rowGroupRows = 0;
  }

  /** The column of the row group begun. Columns may be filled by different threads at once. */
  ColumnChunkBuilder builder(int leaf) {
    return builders.get(leaf);
  }

  /** Tells that every column has got so many rows more. */
  void addRows(long count) {
    rowGroupRows += count;
    rows += count;
  }

  long rows() {
    return rows;
  }

  long rowGroupRows() {
    return rowGroupRows;
  }

  /** The size of the row group as the table's property counts it. */
  long rowGroupBytes() {
    long total = 0;
    for (ColumnChunkBuilder builder : builders) {
      total +=
          settings.isRowGroupUncompressed() ? builder.uncompressedBytes() : builder.bufferedBytes();
    }
    return total;
  }

  /** The length of the file if it ended now. */
  double estimatedBytes() {
    double footer = (rowGroups + 1.0) * leaves.size() * FOOTER_BYTES_PER_CHUNK;
    double total = lengthSettled + lengthUnderWay + footer;
    for (ColumnChunkBuilder builder : builders) {
      total += builder.estimatedBytes();
    }
    return total;
  }

  /** The part of {@link #estimatedBytes()} that is a guess. */
  double pendingBytes() {
    double total = 0;
    for (ColumnChunkBuilder builder : builders) {
      total += builder.pendingBytes();
    }
    return total;
  }

  /** Memory of a row group that has ended and is not written yet. */
  long memoryBytesUnderWay() {
    return memoryUnderWay.get();
  }

  /** Memory of other files' column chunks that such a row group uses. */
  long heldBytesUnderWay() {
    return heldUnderWay.get();
  }

  /** Memory of the row group that is open. */
  long memoryBytes() {
    long total = 0;
    for (ColumnChunkBuilder builder : builders) {
      total += builder.memoryBytes();
    }
    return total;
  }

  /** Memory of other files' column chunks that the row group uses which is open. */
  long heldBytes() {
    long total = 0;
    for (ColumnChunkBuilder builder : builders) {
      total += builder.heldBytes();
    }
    return total;
  }

  /** Bloom filters of the row groups written, which stay in memory until the file is finished. */
  long bloomFilterBytes() {
    return bloomFilterBytes;
  }

  /**
   * Ends the row group begun, whose columns were all {@linkplain ColumnChunkBuilder#finish
   * finished}. It is to be written, and settled, before the next is ended.
   */
  FullRowGroup endRowGroup() {
    FullRowGroup full = new FullRowGroup(builders, rowGroupRows);
    for (int i = 0; i < builders.size(); i++) {
      ColumnChunkBuilder builder = builders.get(i);
      memoryUnderWay.addAndGet(builder.memoryBytes());
      heldUnderWay.addAndGet(builder.heldBytes());
      lengthUnderWay += (long) builder.estimatedBytes();
      if (builder.keepsBloomFilter()) {
        bloomFilterBytes += BloomFilterBytes.of(leaves.get(i).descriptor(), settings.parquet());
      }
    }
    rowGroups++;
    rowGroupRows = 0;
    builders = List.of();
    return full;
  }

  /** Writes a row group. */
  void write(FullRowGroup full) throws IOException {
    try {
      if (writer == null) {
        ParquetProperties properties = settings.parquet();
        writer =
            new ParquetFileWriter(
                streams,
                type,
                ParquetFileWriter.Mode.CREATE,
                settings.rowGroupBytes(),
                0,
                properties.getColumnIndexTruncateLength(),
                properties.getStatisticsTruncateLength(),
                properties.getPageWriteChecksumEnabled(),
                noEncryption());
        writer.start();
      }
      writer.startBlock(full.rows());
      for (ColumnChunkBuilder column : full.columns()) {
        column.writeTo(writer);
        long memory = column.memoryBytes();
        long held = column.heldBytes();
        column.close();
        memoryUnderWay.addAndGet(-memory);
        heldUnderWay.addAndGet(-held);
      }
      writer.endBlock();
    } finally {
      full.columns().forEach(ColumnChunkBuilder::close);
    }
  }

  /** Takes note that what was to be written is. */
  void settle() throws IOException {
    lengthSettled = streams.length();
    lengthUnderWay = 0;
    memoryUnderWay.set(0);
    heldUnderWay.set(0);
  }

  @SuppressWarnings("NullAway") // Parquet takes null for a plain file.
  private static FileEncryptionProperties noEncryption() {
    return null;
  }

  /** Writes the footer and closes the file. There must be rows, and no row group begun. */
  void finish(Map<String, String> keyValues) throws IOException {
    try {
      openWriter().end(keyValues);
    } catch (IOException e) {
      // Parquet's own message is the footer, all of it.
      throw new IOException("Cannot write the footer of " + location(), e);
    }
    streams.close();
  }

  private ParquetFileWriter openWriter() {
    if (writer == null) {
      throw new IllegalStateException("No row group was written to " + location());
    }
    return writer;
  }

  ParquetMetadata footer() {
    return openWriter().getFooter();
  }

  Metrics metrics(MetricsConfig config) {
    Stream<FieldMetrics<?>> own =
        bounds.stream().flatMap(b -> b == null ? Stream.empty() : Stream.of(b.metrics()));
    return ParquetUtil.footerMetrics(footer(), own, config);
  }

  EncryptedOutputFile file() {
    return file;
  }

  /** Whether there may be something at the location that this has written. */
  boolean mayExist() {
    return streams.mayExist();
  }

  String location() {
    return file.encryptingOutputFile().location();
  }

  /** Real length once finished. */
  long length() throws IOException {
    return streams.length();
  }

  /** Closes the file without a footer, so that it can be deleted. */
  void abort() throws IOException {
    if (writer != null) {
      writer.abort();
    }
    try {
      streams.close();
    } finally {
      builders.forEach(ColumnChunkBuilder::close);
      builders = List.of();
    }
  }
}
