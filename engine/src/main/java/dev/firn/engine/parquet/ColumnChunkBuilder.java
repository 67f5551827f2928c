package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.FieldVector;
import org.apache.parquet.bytes.BytesInput;
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
import org.apache.parquet.column.values.dictionary.DictionaryValuesWriter;
import org.apache.parquet.column.values.fallback.FallbackValuesWriter;
import org.apache.parquet.column.values.plain.PlainValuesWriter;
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridEncoder;
import org.apache.parquet.hadoop.ColumnChunkPageWriteStore;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.io.api.Binary;
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

  private final ColumnDescriptor column;
  private final ParquetProperties properties;
  private final Compressors.Lent compressor;
  private final ColumnChunkPageWriteStore pages;
  private final PageWriter pageWriter;
  private final CompressionRatio ratio;
  private final @Nullable FieldBounds bounds; // null where the footer says it all
  private final @Nullable BloomFilter bloomFilter; // null where there is none
  private final boolean hasStatistics;
  private final boolean isUnsigned; // bytes are ordered as such; else a decimal
  private final boolean hasSizeStatistics;
  private final int definitionMax;
  private final int repetitionMax;
  private final RunLengthBitPackingHybridEncoder definitionEncoder;
  private final RunLengthBitPackingHybridEncoder repetitionEncoder;
  private final ValuesWriter values;

  // The page.
  private int pageRows;
  private int pageEntries;
  private int pageValues;
  private long pageBinaryBytes;
  private Statistics<?> statistics;
  private final long[] definitionCounts;
  private final long[] repetitionCounts;

  private long uncompressedBytes;
  private byte[] bytes = new byte[0];
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
    this.isUnsigned =
        !(column.getPrimitiveType().getLogicalTypeAnnotation()
            instanceof LogicalTypeAnnotation.DecimalLogicalTypeAnnotation);
    this.hasSizeStatistics = settings.getSizeStatisticsEnabled(column);
    this.definitionMax = column.getMaxDefinitionLevel();
    this.repetitionMax = column.getMaxRepetitionLevel();
    this.definitionEncoder = settings.newDefinitionLevelEncoder(column);
    this.repetitionEncoder = settings.newRepetitionLevelEncoder(column);
    this.values = valuesWriter(column, settings);
    this.bloomFilter = bloomFilter(column, settings);
    this.definitionCounts = new long[definitionMax + 1];
    this.repetitionCounts = new long[repetitionMax + 1];
    this.statistics = newStatistics();
  }

  /* Floats and doubles are written as ints and longs of the same bits: Parquet's own writers for
  them make every NaN the same one (S21). Their encodings, dictionary and plain, are equal. */
  private static ValuesWriter valuesWriter(ColumnDescriptor column, ParquetProperties settings) {
    boolean isFloat = column.getType() == PrimitiveTypeName.FLOAT;
    boolean isDouble = column.getType() == PrimitiveTypeName.DOUBLE;
    if (!isFloat && !isDouble) {
      return settings.newValuesWriter(column);
    }
    PlainValuesWriter plain =
        new PlainValuesWriter(
            settings.getInitialSlabSize(),
            settings.getPageSizeThreshold(),
            settings.getAllocator());
    if (!settings.isDictionaryEnabled(column)) {
      return plain;
    }
    boolean isV1 = settings.getWriterVersion() == WriterVersion.PARQUET_1_0;
    Encoding ofPage = isV1 ? Encoding.PLAIN_DICTIONARY : Encoding.RLE_DICTIONARY;
    Encoding ofDictionary = isV1 ? Encoding.PLAIN_DICTIONARY : Encoding.PLAIN;
    int dictionaryBytes = settings.getDictionaryPageSizeThreshold();
    if (isFloat) {
      return FallbackValuesWriter.of(
          new DictionaryValuesWriter.PlainIntegerDictionaryValuesWriter(
              dictionaryBytes, ofPage, ofDictionary, settings.getAllocator()),
          plain);
    }
    return FallbackValuesWriter.of(
        new DictionaryValuesWriter.PlainLongDictionaryValuesWriter(
            dictionaryBytes, ofPage, ofDictionary, settings.getAllocator()),
        plain);
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
        addValues(leaf, value, run.valueEnd());
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
    int entries = leaf.entries();
    long bytesLeft = Math.max(1, pageBytesLeft());
    int rowsLeft = properties.getPageRowCountLimit() - pageRows;
    int width = fixedWidth();
    if (repetitionMax == 0 && width > 0) {
      long rows = Math.min(Math.min(rowsLeft, entries - entry), (bytesLeft + width - 1) / width);
      int entryEnd = entry + (int) rows;
      return new Run(entryEnd, valueEnd(leaf, entry, entryEnd, value), (int) rows);
    }
    ArrowBuf offsets = width > 0 ? null : leaf.values().getOffsetBuffer();
    int[] slots = leaf.slots();
    byte[] definitions = leaf.definitions();
    byte[] repetitions = leaf.repetitions();
    boolean allDefined = leaf.valueCount() == entries;
    int rows = 0;
    int entryEnd = entry;
    int valueEnd = value;
    while (entryEnd < entries && rows < rowsLeft && bytesLeft > 0) {
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

  /** The bytes of a value, or zero when they differ. */
  private int fixedWidth() {
    return switch (column.getType()) {
      case BOOLEAN -> 1;
      case INT32, FLOAT -> 4;
      case INT64, DOUBLE -> 8;
      case FIXED_LEN_BYTE_ARRAY -> Math.max(1, column.getTypeLength());
      default -> 0;
    };
  }

  private int valueEnd(LeafColumn leaf, int entry, int entryEnd, int value) {
    if (leaf.valueCount() == leaf.entries()) {
      return value + entryEnd - entry;
    }
    byte[] definitions = leaf.definitions();
    int end = value;
    for (int e = entry; e < entryEnd; e++) {
      if (definitions[e] == definitionMax) {
        end++;
      }
    }
    return end;
  }

  private void addLevels(LeafColumn leaf, int from, int to) throws IOException {
    if (definitionMax > 0) {
      byte[] levels = leaf.definitions();
      for (int e = from; e < to; e++) {
        int level = levels[e];
        definitionEncoder.writeInt(level);
        definitionCounts[level]++;
      }
    }
    if (repetitionMax > 0) {
      byte[] levels = leaf.repetitions();
      for (int e = from; e < to; e++) {
        int level = levels[e];
        repetitionEncoder.writeInt(level);
        repetitionCounts[level]++;
      }
    }
  }

  private void addValues(LeafColumn leaf, int from, int to) {
    if (from == to) {
      return;
    }
    FieldVector vector = leaf.values();
    int[] slots = leaf.slots();
    ArrowBuf data = vector.getDataBuffer();
    switch (column.getType()) {
      case BOOLEAN -> addBooleans(data, slots, from, to);
      case INT32 -> addInts(data, slots, from, to);
      case INT64 -> addLongs(data, slots, from, to);
      case FLOAT -> addFloats(data, slots, from, to);
      case DOUBLE -> addDoubles(data, slots, from, to);
      case FIXED_LEN_BYTE_ARRAY -> addFixed(data, slots, from, to);
      case BINARY -> addBinaries(vector.getOffsetBuffer(), data, slots, from, to);
      default -> throw new IllegalStateException("Cannot write column " + column);
    }
  }

  private void addBooleans(ArrowBuf data, int[] slots, int from, int to) {
    int trues = 0;
    for (int i = from; i < to; i++) {
      int slot = slots[i];
      boolean value = (data.getByte(slot >>> 3) >>> (slot & 7) & 1) != 0;
      values.writeBoolean(value);
      trues += value ? 1 : 0;
    }
    if (trues < to - from) {
      statistics.updateStats(false);
    }
    if (trues > 0) {
      statistics.updateStats(true);
    }
  }

  private void addInts(ArrowBuf data, int[] slots, int from, int to) {
    int least = Integer.MAX_VALUE;
    int greatest = Integer.MIN_VALUE;
    for (int i = from; i < to; i++) {
      int value = data.getInt((long) slots[i] << 2);
      values.writeInteger(value);
      least = Math.min(least, value);
      greatest = Math.max(greatest, value);
    }
    statistics.updateStats(least);
    statistics.updateStats(greatest);
    if (bloomFilter != null) {
      for (int i = from; i < to; i++) {
        bloomFilter.insertHash(bloomFilter.hash(data.getInt((long) slots[i] << 2)));
      }
    }
  }

  private void addLongs(ArrowBuf data, int[] slots, int from, int to) {
    long least = Long.MAX_VALUE;
    long greatest = Long.MIN_VALUE;
    for (int i = from; i < to; i++) {
      long value = data.getLong((long) slots[i] << 3);
      values.writeLong(value);
      least = Math.min(least, value);
      greatest = Math.max(greatest, value);
    }
    statistics.updateStats(least);
    statistics.updateStats(greatest);
    if (bloomFilter != null) {
      for (int i = from; i < to; i++) {
        bloomFilter.insertHash(bloomFilter.hash(data.getLong((long) slots[i] << 3)));
      }
    }
  }

  private void addFloats(ArrowBuf data, int[] slots, int from, int to) {
    int nans = 0;
    float least = Float.POSITIVE_INFINITY;
    float greatest = Float.NEGATIVE_INFINITY;
    for (int i = from; i < to; i++) {
      int bits = data.getInt((long) slots[i] << 2);
      values.writeInteger(bits);
      float value = Float.intBitsToFloat(bits);
      if (Float.isNaN(value)) {
        nans++;
      } else {
        least = Math.min(least, value); // as Float.compare orders them, -0.0 below 0.0
        greatest = Math.max(greatest, value);
      }
    }
    if (nans < to - from) {
      statistics.updateStats(least);
      statistics.updateStats(greatest);
    }
    if (nans > 0) {
      statistics.updateStats(Float.NaN);
    }
    if (bounds != null) {
      bounds.merge(nans, least, greatest);
    }
    if (bloomFilter != null) {
      for (int i = from; i < to; i++) {
        float value = Float.intBitsToFloat(data.getInt((long) slots[i] << 2));
        bloomFilter.insertHash(bloomFilter.hash(value));
      }
    }
  }

  private void addDoubles(ArrowBuf data, int[] slots, int from, int to) {
    int nans = 0;
    double least = Double.POSITIVE_INFINITY;
    double greatest = Double.NEGATIVE_INFINITY;
    for (int i = from; i < to; i++) {
      long bits = data.getLong((long) slots[i] << 3);
      values.writeLong(bits);
      double value = Double.longBitsToDouble(bits);
      if (Double.isNaN(value)) {
        nans++;
      } else {
        least = Math.min(least, value);
        greatest = Math.max(greatest, value);
      }
    }
    if (nans < to - from) {
      statistics.updateStats(least);
      statistics.updateStats(greatest);
    }
    if (nans > 0) {
      statistics.updateStats(Double.NaN);
    }
    if (bounds != null) {
      bounds.merge(nans, least, greatest);
    }
    if (bloomFilter != null) {
      for (int i = from; i < to; i++) {
        double value = Double.longBitsToDouble(data.getLong((long) slots[i] << 3));
        bloomFilter.insertHash(bloomFilter.hash(value));
      }
    }
  }

  private void addFixed(ArrowBuf data, int[] slots, int from, int to) {
    int width = column.getTypeLength();
    int first = slots[from];
    long range = (slots[to - 1] + 1L - first) * width;
    boolean isDense = range <= 2L * (to - from) * width;
    ensureBytes(isDense ? range : (long) (to - from) * width);
    if (isDense) {
      data.getBytes((long) first * width, bytes, 0, (int) range);
    }
    int at = 0;
    Extremes extremes = new Extremes();
    for (int i = from; i < to; i++) {
      if (isDense) {
        at = (slots[i] - first) * width;
      } else {
        at = (i - from) * width;
        data.getBytes((long) slots[i] * width, bytes, at, width);
      }
      add(at, at + width, extremes);
    }
    addStatistics(extremes);
  }

  private void addBinaries(ArrowBuf offsets, ArrowBuf data, int[] slots, int from, int to) {
    long first = offsets.getInt((long) slots[from] << 2);
    long range = offsets.getInt((slots[to - 1] + 1L) << 2) - first;
    long wanted = -4L * (to - from);
    for (int i = from; i < to; i++) {
      wanted += plainBytes(offsets, slots[i]);
    }
    boolean isDense = range <= 2 * wanted;
    ensureBytes(isDense ? range : wanted);
    if (isDense && range > 0) {
      data.getBytes(first, bytes, 0, (int) range);
    }
    int end = 0;
    Extremes extremes = new Extremes();
    for (int i = from; i < to; i++) {
      int start = offsets.getInt((long) slots[i] << 2);
      int length = offsets.getInt((slots[i] + 1L) << 2) - start;
      int at = isDense ? (int) (start - first) : end;
      if (!isDense && length > 0) {
        data.getBytes(start, bytes, at, length);
      }
      end = at + length;
      add(at, end, extremes);
    }
    addStatistics(extremes);
    pageBinaryBytes += wanted;
  }

  /** Where in {@link #bytes} the least and the greatest value of a run are. */
  private static final class Extremes {
    private int leastStart = -1;
    private int leastEnd;
    private int greatestStart;
    private int greatestEnd;
  }

  /* The array is reused: what keeps a value, dictionary and statistics, copies it. */
  private void add(int start, int end, Extremes extremes) {
    Binary value = Binary.fromReusedByteArray(bytes, start, end - start);
    values.writeBytes(value);
    if (bloomFilter != null) {
      bloomFilter.insertHash(bloomFilter.hash(value));
    }
    if (!isUnsigned) {
      statistics.updateStats(value);
    } else if (extremes.leastStart < 0) {
      extremes.leastStart = start;
      extremes.leastEnd = end;
      extremes.greatestStart = start;
      extremes.greatestEnd = end;
    } else if (compare(start, end, extremes.leastStart, extremes.leastEnd) < 0) {
      extremes.leastStart = start;
      extremes.leastEnd = end;
    } else if (compare(start, end, extremes.greatestStart, extremes.greatestEnd) > 0) {
      extremes.greatestStart = start;
      extremes.greatestEnd = end;
    }
  }

  private int compare(int start, int end, int otherStart, int otherEnd) {
    return Arrays.compareUnsigned(bytes, start, end, bytes, otherStart, otherEnd);
  }

  private void addStatistics(Extremes extremes) {
    if (extremes.leastStart >= 0) {
      statistics.updateStats(
          Binary.fromReusedByteArray(
              bytes, extremes.leastStart, extremes.leastEnd - extremes.leastStart));
      statistics.updateStats(
          Binary.fromReusedByteArray(
              bytes, extremes.greatestStart, extremes.greatestEnd - extremes.greatestStart));
    }
  }

  private void ensureBytes(long capacity) {
    if (bytes.length < capacity) {
      bytes = new byte[Math.max(Math.toIntExact(capacity), 1024)];
    }
  }

  private long pageBytesLeft() {
    return properties.getPageSizeThreshold() - pageBytes();
  }

  /** Bytes of the page that is not written yet, before compression. */
  private long pageBytes() {
    return values.getBufferedSize()
        + (definitionMax > 0 ? definitionEncoder.getBufferedSize() : 0)
        + (repetitionMax > 0 ? repetitionEncoder.getBufferedSize() : 0);
  }

  private void writePage() throws IOException {
    int nulls = pageEntries - pageValues;
    long before = pageWriter.getMemSize();
    long raw = pageBytes();
    statistics.incrementNumNulls(nulls);
    if (bounds != null) {
      bounds.count(pageEntries, nulls);
    }
    BytesInput data = values.getBytes();
    Encoding encoding = values.getEncoding();
    GeospatialStatistics geospatial =
        GeospatialStatistics.newBuilder(column.getPrimitiveType()).build();
    if (properties.getWriterVersion() == WriterVersion.PARQUET_1_0) {
      pageWriter.writePage(
          BytesInput.concat(
              levelsWithLength(repetitionEncoder, repetitionMax),
              levelsWithLength(definitionEncoder, definitionMax),
              data),
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
          repetitionMax == 0 ? BytesInput.empty() : repetitionEncoder.toBytes(),
          definitionMax == 0 ? BytesInput.empty() : definitionEncoder.toBytes(),
          encoding,
          data,
          statistics,
          sizeStatistics(),
          geospatial);
    }
    ratio.add(raw, pageWriter.getMemSize() - before);
    uncompressedBytes += raw;
    values.reset();
    definitionEncoder.reset();
    repetitionEncoder.reset();
    Arrays.fill(definitionCounts, 0);
    Arrays.fill(repetitionCounts, 0);
    statistics = newStatistics();
    pageRows = 0;
    pageEntries = 0;
    pageValues = 0;
    pageBinaryBytes = 0;
  }

  private static BytesInput levelsWithLength(RunLengthBitPackingHybridEncoder encoder, int levelMax)
      throws IOException {
    if (levelMax == 0) {
      return BytesInput.empty();
    }
    BytesInput levels = encoder.toBytes();
    return BytesInput.concat(BytesInput.fromInt(Math.toIntExact(levels.size())), levels);
  }

  private SizeStatistics sizeStatistics() {
    if (!hasSizeStatistics) {
      return SizeStatistics.noopBuilder(column.getPrimitiveType(), repetitionMax, definitionMax)
          .build();
    }
    return new SizeStatistics(
        column.getPrimitiveType(),
        pageBinaryBytes,
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
      DictionaryPage dictionary = values.toDictPageAndClose();
      if (dictionary != null) {
        pageWriter.writeDictionaryPage(dictionary);
        values.resetDictionary();
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
    if (values instanceof FallbackValuesWriter<?, ?> fallback) {
      pending += Math.min(dictionaryBytes(fallback), uncompressedBytes + pending);
    }
    return pending * ratio.ratio();
  }

  /** Memory in use. */
  long memoryBytes() {
    return pageWriter.allocatedSize()
        + values.getAllocatedSize()
        + definitionEncoder.getAllocatedSize()
        + repetitionEncoder.getAllocatedSize()
        + bytes.length
        + (bloomFilter == null ? 0 : bloomFilter.getBitsetSize());
  }

  private static long dictionaryBytes(FallbackValuesWriter<?, ?> fallback) {
    return Math.max(
        0, fallback.initialWriter.getAllocatedSize() - fallback.initialWriter.getBufferedSize());
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      definitionEncoder.close();
      repetitionEncoder.close();
      values.close();
      pages.close();
    }
  }
}
