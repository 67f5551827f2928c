package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.bytes.BytesUtils;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.page.PageWriter;
import org.apache.parquet.column.statistics.SizeStatistics;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.column.statistics.geospatial.GeospatialStatistics;
import org.apache.parquet.column.values.ValuesWriter;
import org.apache.parquet.column.values.bloomfilter.AdaptiveBlockSplitBloomFilter;
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter;
import org.apache.parquet.column.values.bloomfilter.BloomFilter;
import org.apache.parquet.column.values.delta.DeltaBinaryPackingValuesWriterForInteger;
import org.apache.parquet.column.values.delta.DeltaBinaryPackingValuesWriterForLong;
import org.apache.parquet.column.values.deltastrings.DeltaByteArrayWriter;
import org.apache.parquet.hadoop.ColumnChunkPageWriteStore;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.jspecify.annotations.Nullable;

/**
 * One column of one row group being built: takes the values of rows, in order, and makes pages of
 * them. Used by one thread at a time. {@link #close()} frees its buffers.
 */
final class ColumnChunkBuilder implements AutoCloseable {
  /* A page ends when this share of its size is left: the next rows would go over. */
  private static final int PAGE_SLACK_DIVISOR = 10;

  /* Sizes of so few values are added up rather than bounded. */
  private static final int RUN_ROWS_COUNTED_MAX = 64;

  private final ColumnDescriptor column;
  private final ParquetProperties properties;
  private final Compressors.Lent compressor;
  private final ColumnChunkPageWriteStore pages;
  private final PageWriter pageWriter;
  private final CompressionRatio ratio;
  private final @Nullable FieldBounds bounds; // null where the footer says it all
  private final @Nullable BloomFilter bloomFilter; // null where there is none
  private final boolean hasStatistics;
  private final boolean hasSizeStatistics;
  private final int definitionMax;
  private final int repetitionMax;
  private final int width; // bytes of a value, or zero when they differ
  private final PageBuffer definitionLevels = new PageBuffer();
  private final PageBuffer repetitionLevels = new PageBuffer();
  private final RunLengthEncoder definitionEncoder = new RunLengthEncoder(definitionLevels);
  private final RunLengthEncoder repetitionEncoder = new RunLengthEncoder(repetitionLevels);
  private final ColumnValues values;

  // The page.
  private int pageRows;
  private int pageEntries;
  private int pageValues;
  private Statistics<?> statistics;
  private final long[] definitionCounts;
  private final long[] repetitionCounts;

  private long uncompressedBytes;
  private boolean bloomFilterKept;
  private boolean closed;

  /**
   * @param column the leaf column
   * @param schema the same as a message of that column alone
   * @param settings the table's
   * @param compressor what the column's pages are compressed with
   * @param ratio what is known of how the column compresses; updated
   * @param bounds of the file, updated; null where the footer says it all
   */
  ColumnChunkBuilder(
      ColumnDescriptor column,
      MessageType schema,
      ParquetProperties settings,
      Compressors.Lent compressor,
      CompressionRatio ratio,
      @Nullable FieldBounds bounds) {
    this.column = column;
    this.properties = settings;
    this.compressor = compressor;
    this.ratio = ratio;
    this.bounds = bounds;
    this.pages =
        new ColumnChunkPageWriteStore(
            compressor,
            schema,
            settings.getAllocator(),
            settings.getColumnIndexTruncateLength(),
            settings.getPageWriteChecksumEnabled());
    this.pageWriter = pages.getPageWriter(column);
    this.hasStatistics = settings.getStatisticsEnabled(column);
    this.hasSizeStatistics = settings.getSizeStatisticsEnabled(column);
    this.definitionMax = column.getMaxDefinitionLevel();
    this.repetitionMax = column.getMaxRepetitionLevel();
    this.width = fixedWidth(column);
    this.bloomFilter = bloomFilter(column, settings);
    this.values = values(column, settings, bloomFilter, bounds);
    beginLevels();
    this.definitionCounts = new long[definitionMax + 1];
    this.repetitionCounts = new long[repetitionMax + 1];
    this.statistics = newStatistics();
  }

  private static ColumnValues values(
      ColumnDescriptor column,
      ParquetProperties settings,
      @Nullable BloomFilter bloomFilter,
      @Nullable FieldBounds bounds) {
    boolean isV1 = settings.getWriterVersion() == WriterVersion.PARQUET_1_0;
    int keepBytesMax = settings.getPageSizeThreshold() / 2 * 3 + PageBuffer.SLACK;
    if (column.getType() == PrimitiveTypeName.BOOLEAN) {
      return new BooleanValues(!isV1, keepBytesMax);
    }
    boolean isFixed = column.getType() == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY;
    DictionaryValues.Encodings encodings =
        new DictionaryValues.Encodings(
            settings.isDictionaryEnabled(column) && !(isV1 && isFixed), // as parquet-java has it
            settings.getDictionaryPageSizeThreshold(),
            isV1 ? Encoding.PLAIN_DICTIONARY : Encoding.RLE_DICTIONARY,
            isV1 ? Encoding.PLAIN_DICTIONARY : Encoding.PLAIN,
            isV1 ? null : deltaWriter(column, settings),
            keepBytesMax);
    return switch (column.getType()) {
      case INT32, INT64, FLOAT, DOUBLE ->
          new FixedWidthValues(column.getType(), encodings, bloomFilter, bounds);
      case BINARY, FIXED_LEN_BYTE_ARRAY ->
          new BinaryValues(
              isFixed ? column.getTypeLength() : 0,
              column.getPrimitiveType().getLogicalTypeAnnotation()
                  instanceof LogicalTypeAnnotation.DecimalLogicalTypeAnnotation,
              encodings,
              bloomFilter);
      default -> throw new IllegalStateException("Cannot write column " + column);
    };
  }

  /**
   * Parquet's writer of what version 2 has in place of plain values; null where it has them too.
   */
  private static @Nullable ValuesWriter deltaWriter(
      ColumnDescriptor column, ParquetProperties settings) {
    int slabBytes = settings.getInitialSlabSize();
    int pageBytes = settings.getPageSizeThreshold();
    return switch (column.getType()) {
      case INT32 ->
          new DeltaBinaryPackingValuesWriterForInteger(
              slabBytes, pageBytes, settings.getAllocator());
      case INT64 ->
          new DeltaBinaryPackingValuesWriterForLong(slabBytes, pageBytes, settings.getAllocator());
      case BINARY, FIXED_LEN_BYTE_ARRAY ->
          new DeltaByteArrayWriter(slabBytes, pageBytes, settings.getAllocator());
      default -> null;
    };
  }

  private void beginLevels() {
    definitionEncoder.begin(BytesUtils.getWidthFromMaxInt(definitionMax));
    repetitionEncoder.begin(BytesUtils.getWidthFromMaxInt(repetitionMax));
  }

  private static @Nullable BloomFilter bloomFilter(
      ColumnDescriptor column, ParquetProperties settings) {
    if (!settings.isBloomFilterEnabled(column)) {
      return null;
    }
    int bytesMax = settings.getMaxBloomFilterBytes();
    double falsePositives =
        settings.getBloomFilterFPP(column).orElse(ParquetProperties.DEFAULT_BLOOM_FILTER_FPP);
    if (settings.getBloomFilterNDV(column).isPresent()) {
      long distinct = settings.getBloomFilterNDV(column).getAsLong();
      int bits = BlockSplitBloomFilter.optimalNumOfBits(distinct, falsePositives);
      return new BlockSplitBloomFilter(bits / 8, bytesMax);
    }
    if (settings.getAdaptiveBloomFilterEnabled(column)) {
      return new AdaptiveBlockSplitBloomFilter(
          bytesMax, settings.getBloomFilterCandidatesCount(column), falsePositives, column);
    }
    return new BlockSplitBloomFilter(bytesMax, bytesMax);
  }

  private Statistics<?> newStatistics() {
    return hasStatistics
        ? Statistics.createStats(column.getPrimitiveType())
        : Statistics.noopStats(column.getPrimitiveType());
  }

  /** Adds the rows that {@code leaf} has shredded last. */
  void append(LeafColumn leaf) throws IOException {
    compressor.take();
    try {
      int entry = 0;
      int value = 0;
      int entries = leaf.entries();
      while (entry < entries) {
        Run run = nextRun(leaf, entry, value);
        addLevels(leaf, entry, run.entryEnd());
        if (run.valueEnd() > value) {
          values.add(leaf, value, run.valueEnd(), statistics, compressor.scratch());
        }
        int count = run.entryEnd() - entry;
        pageEntries += count;
        pageValues += run.valueEnd() - value;
        pageRows += run.rows();
        entry = run.entryEnd();
        value = run.valueEnd();
        if (pageRows >= properties.getPageRowCountLimit()
            || pageEntries >= properties.getPageValueCountThreshold()
            || pageBytesLeft() <= properties.getPageSizeThreshold() / PAGE_SLACK_DIVISOR) {
          writePage();
        }
      }
    } finally {
      compressor.giveBack();
    }
  }

  private record Run(int entryEnd, int valueEnd, int rows) {}

  /* The next rows that fill the page and no more: whole rows, and their plain bytes reach what is
  left of it with the last of them only. Exact sizes, not samples, so that a few huge values
  cannot make a huge page (M18). */
  private Run nextRun(LeafColumn leaf, int entry, int value) {
    long bytesLeft = Math.max(1, pageBytesLeft());
    int rowsLeft = properties.getPageRowCountLimit() - pageRows;
    if (repetitionMax > 0) {
      return nextRepeated(leaf, entry, value, rowsLeft, bytesLeft);
    }
    int rows = Math.min(rowsLeft, leaf.entries() - entry);
    if (width > 0) {
      rows = (int) Math.min(rows, (bytesLeft + width - 1) / width);
      return new Run(entry + rows, valueEnd(leaf, entry, entry + rows, value), rows);
    }
    // Half as many rows until they fit; few rows are counted one by one. Later runs add the rest.
    while (rows > RUN_ROWS_COUNTED_MAX) {
      int valueEnd = valueEnd(leaf, entry, entry + rows, value);
      if (rows + binaryBytesMax(leaf, value, valueEnd) < bytesLeft) {
        return new Run(entry + rows, valueEnd, rows);
      }
      rows /= 2;
    }
    return nextCounted(leaf, entry, value, Math.min(rowsLeft, rows), bytesLeft);
  }

  /* At least what the values take as PLAIN: what lies between them in the vector counts too. */
  private static long binaryBytesMax(LeafColumn leaf, int value, int valueEnd) {
    if (value == valueEnd) {
      return 0;
    }
    ArrowBuf offsets = leaf.values().getOffsetBuffer();
    long start = offsets.getInt((long) leaf.slots()[value] << 2);
    long end = offsets.getInt((leaf.slots()[valueEnd - 1] + 1L) << 2);
    return end - start + (long) Integer.BYTES * (valueEnd - value);
  }

  private Run nextRepeated(LeafColumn leaf, int entry, int value, int rowsLeft, long bytesLeft) {
    int entries = leaf.entries();
    long valueBytes =
        width > 0
            ? (long) width * (leaf.valueCount() - value)
            : binaryBytesMax(leaf, value, leaf.valueCount());
    if (entries - entry + valueBytes < bytesLeft) {
      byte[] repetitions = leaf.repetitions();
      int rows = 0;
      for (int e = entry; e < entries; e++) {
        rows += repetitions[e] == 0 ? 1 : 0;
      }
      if (rows <= rowsLeft) {
        return new Run(entries, leaf.valueCount(), rows);
      }
    }
    return nextCounted(leaf, entry, value, rowsLeft, bytesLeft);
  }

  private Run nextCounted(LeafColumn leaf, int entry, int value, int rowsMax, long bytesMax) {
    int entries = leaf.entries();
    ArrowBuf offsets = width > 0 ? null : leaf.values().getOffsetBuffer();
    int[] slots = leaf.slots();
    byte[] definitions = leaf.definitions();
    byte[] repetitions = leaf.repetitions();
    boolean allDefined = leaf.isAllDefined();
    long bytesLeft = bytesMax;
    int rows = 0;
    int entryEnd = entry;
    int valueEnd = value;
    while (entryEnd < entries && rows < rowsMax && bytesLeft > 0) {
      do {
        if (allDefined || definitions[entryEnd] == definitionMax) {
          bytesLeft -= offsets == null ? width : plainBytes(offsets, slots[valueEnd]);
          valueEnd++;
        } else {
          bytesLeft--;
        }
        entryEnd++;
      } while (repetitionMax > 0 && entryEnd < entries && repetitions[entryEnd] > 0);
      rows++;
    }
    return new Run(entryEnd, valueEnd, rows);
  }

  private static int plainBytes(ArrowBuf offsets, int slot) {
    return 4 + offsets.getInt((slot + 1L) << 2) - offsets.getInt((long) slot << 2);
  }

  private static int fixedWidth(ColumnDescriptor column) {
    return switch (column.getType()) {
      case BOOLEAN -> 1;
      case INT32, FLOAT -> 4;
      case INT64, DOUBLE -> 8;
      case FIXED_LEN_BYTE_ARRAY -> Math.max(1, column.getTypeLength());
      default -> 0;
    };
  }

  private int valueEnd(LeafColumn leaf, int entry, int entryEnd, int value) {
    if (leaf.isAllDefined()) {
      return value + entryEnd - entry;
    }
    byte[] definitions = leaf.definitions();
    int end = value;
    for (int e = entry; e < entryEnd; e++) {
      end += definitions[e] == definitionMax ? 1 : 0;
    }
    return end;
  }

  private void addLevels(LeafColumn leaf, int from, int to) {
    if (definitionMax > 0) {
      if (leaf.isAllDefined()) {
        definitionEncoder.add(definitionMax, to - from);
        definitionCounts[definitionMax] += to - from;
      } else {
        definitionEncoder.add(leaf.definitions(), from, to);
        if (definitionMax > 1) {
          count(leaf.definitions(), from, to, definitionCounts);
        }
      }
    }
    if (repetitionMax > 0) {
      repetitionEncoder.add(leaf.repetitions(), from, to);
      count(leaf.repetitions(), from, to, repetitionCounts);
    }
  }

  private static void count(byte[] levels, int from, int to, long[] counts) {
    for (int e = from; e < to; e++) {
      counts[levels[e]]++;
    }
  }

  private long pageBytesLeft() {
    return properties.getPageSizeThreshold() - pageBytes();
  }

  /** Bytes of the page that is not written yet, before compression. */
  private long pageBytes() {
    return values.bufferedBytes() + definitionLevels.size() + repetitionLevels.size();
  }

  private void writePage() throws IOException {
    int nulls = pageEntries - pageValues;
    long before = pageWriter.getMemSize();
    long raw = pageBytes();
    statistics.incrementNumNulls(nulls);
    if (bounds != null) {
      bounds.count(pageEntries, nulls);
    }
    BytesInput data = values.page();
    Encoding encoding = values.encoding();
    compressor.effort(ratio.effort(encoding.usesDictionary()));
    bloomFilterKept |= bloomFilter != null && !encoding.usesDictionary();
    BytesInput repetitions = levels(repetitionEncoder, repetitionLevels, repetitionMax);
    BytesInput definitions = levels(definitionEncoder, definitionLevels, definitionMax);
    GeospatialStatistics geospatial =
        GeospatialStatistics.newBuilder(column.getPrimitiveType()).build();
    if (properties.getWriterVersion() == WriterVersion.PARQUET_1_0) {
      pageWriter.writePage(
          BytesInput.concat(
              withLength(repetitions, repetitionMax), withLength(definitions, definitionMax), data),
          pageEntries,
          pageRows,
          statistics,
          sizeStatistics(),
          geospatial,
          repetitionMax == 0 ? Encoding.BIT_PACKED : Encoding.RLE,
          definitionMax == 0 ? Encoding.BIT_PACKED : Encoding.RLE,
          encoding);
    } else {
      pageWriter.writePageV2(
          pageRows,
          nulls,
          pageEntries,
          repetitions,
          definitions,
          encoding,
          data,
          statistics,
          sizeStatistics(),
          geospatial);
    }
    ratio.add(raw, pageWriter.getMemSize() - before);
    uncompressedBytes += raw;
    values.reset();
    definitionLevels.reset(properties.getPageSizeThreshold());
    repetitionLevels.reset(properties.getPageSizeThreshold());
    beginLevels();
    Arrays.fill(definitionCounts, 0);
    Arrays.fill(repetitionCounts, 0);
    statistics = newStatistics();
    pageRows = 0;
    pageEntries = 0;
    pageValues = 0;
  }

  private static BytesInput levels(RunLengthEncoder encoder, PageBuffer levels, int levelMax) {
    if (levelMax == 0) {
      return BytesInput.empty();
    }
    encoder.end();
    return levels.input();
  }

  private static BytesInput withLength(BytesInput levels, int levelMax) {
    return levelMax == 0
        ? levels
        : BytesInput.concat(BytesInput.fromInt(Math.toIntExact(levels.size())), levels);
  }

  private SizeStatistics sizeStatistics() {
    if (!hasSizeStatistics) {
      return SizeStatistics.noopBuilder(column.getPrimitiveType(), repetitionMax, definitionMax)
          .build();
    }
    return new SizeStatistics(
        column.getPrimitiveType(),
        values.unencodedBytes(),
        repetitionMax > 0 ? boxed(repetitionCounts) : List.of(),
        definitionMax > 1 ? boxed(definitionCounts) : List.of());
  }

  private static List<Long> boxed(long[] counts) {
    List<Long> list = new ArrayList<>(counts.length);
    for (long count : counts) {
      list.add(count);
    }
    return list;
  }

  /** Writes what is left as the last page, then dictionary and bloom filter. No rows after that. */
  void finish() throws IOException {
    compressor.take();
    try {
      if (pageEntries > 0) {
        writePage();
      }
      DictionaryPage dictionary = values.dictionaryPage();
      if (dictionary != null) {
        pageWriter.writeDictionaryPage(dictionary);
      }
      if (bloomFilter != null) {
        pages.getBloomFilterWriter(column).writeBloomFilter(bloomFilter);
      }
    } finally {
      compressor.giveBack();
    }
  }

  /** Writes the finished chunk into the row group that {@code file} has begun. */
  void writeTo(ParquetFileWriter file) throws IOException {
    pages.flushToFileWriter(file);
  }

  /** Bytes kept: compressed pages and the page that is not full, as Parquet counts them. */
  long bufferedBytes() {
    return pageWriter.getMemSize() + pageBytes();
  }

  /** All bytes so far, before compression. */
  long uncompressedBytes() {
    return uncompressedBytes + pageBytes();
  }

  /** What the chunk would have if it ended now, and how much of that is not compressed yet. */
  double estimatedBytes() {
    return pageWriter.getMemSize() + pendingBytes();
  }

  /** The part of {@link #estimatedBytes()} that is a guess. */
  double pendingBytes() {
    long pending = pageBytes();
    pending += Math.min(values.dictionaryBytes(), uncompressedBytes + pending);
    return pending * ratio.ratio();
  }

  /** Whether the file keeps its bloom filter, as it does where not all pages have a dictionary. */
  boolean keepsBloomFilter() {
    return bloomFilterKept;
  }

  /** Memory in use. */
  long memoryBytes() {
    return pageWriter.allocatedSize()
        + values.memoryBytes()
        + definitionLevels.capacity()
        + repetitionLevels.capacity()
        + (bloomFilter == null ? 0 : bloomFilter.getBitsetSize());
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      values.close();
      pages.close();
    }
  }
}
