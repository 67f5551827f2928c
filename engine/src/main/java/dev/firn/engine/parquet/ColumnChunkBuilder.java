package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.bytes.BytesUtils;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.statistics.SizeStatistics;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.column.values.bloomfilter.AdaptiveBlockSplitBloomFilter;
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter;
import org.apache.parquet.column.values.bloomfilter.BloomFilter;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.schema.LogicalTypeAnnotation;
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
  private final ParquetWriteSettings settings;
  private final ParquetProperties properties;
  private final Compressors.Lent compressor;
  private final ChunkPages pages;
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

  private final Encoding ofOthers; // of values without a dictionary

  // The page.
  private boolean isGiven; // whether its encoding is that of pages of another file
  private Encoding given = Encoding.PLAIN;
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
   * @param settings the table's
   * @param compressor what the column's pages are compressed with
   * @param ratio what is known of how the column compresses; updated
   * @param bounds of the file, updated; null where the footer says it all
   */
  ColumnChunkBuilder(
      ColumnDescriptor column,
      ParquetWriteSettings settings,
      Compressors.Lent compressor,
      CompressionRatio ratio,
      @Nullable FieldBounds bounds) {
    this.column = column;
    this.settings = settings;
    this.properties = settings.parquet();
    this.compressor = compressor;
    this.ratio = ratio;
    ratio.beginChunk();
    this.bounds = bounds;
    this.pages = new ChunkPages(column, compressor.getCodecName());
    this.hasStatistics = properties.getStatisticsEnabled(column);
    this.hasSizeStatistics = properties.getSizeStatisticsEnabled(column);
    this.definitionMax = column.getMaxDefinitionLevel();
    this.repetitionMax = column.getMaxRepetitionLevel();
    this.width = fixedWidth(column);
    this.bloomFilter = bloomFilter(column, properties);
    this.ofOthers = ofOthers(column, settings);
    this.values = values(bloomFilter, bounds);
    beginLevels();
    this.definitionCounts = new long[definitionMax + 1];
    this.repetitionCounts = new long[repetitionMax + 1];
    this.statistics = newStatistics();
  }

  private ColumnValues values(@Nullable BloomFilter bloomFilter, @Nullable FieldBounds bounds) {
    boolean isV1 = !settings.isV2();
    int keepBytesMax = properties.getPageSizeThreshold() / 2 * 3 + PageBuffer.SLACK;
    if (column.getType() == PrimitiveTypeName.BOOLEAN) {
      return new BooleanValues(ofOthers == Encoding.RLE, keepBytesMax);
    }
    boolean isFixed = column.getType() == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY;
    boolean keepsDictionary = properties.isDictionaryEnabled(column);
    DictionaryValues.Encodings encodings =
        new DictionaryValues.Encodings(
            keepsDictionary && !(isV1 && isFixed), // as parquet-java has it
            keepsDictionary,
            isFixed && settings.encodings() == PageEncodings.PARQUET_V2,
            properties.getDictionaryPageSizeThreshold(),
            isV1 ? Encoding.PLAIN_DICTIONARY : Encoding.RLE_DICTIONARY,
            isV1 ? Encoding.PLAIN_DICTIONARY : Encoding.PLAIN,
            ofOthers,
            candidates(),
            encoding -> ValuesEncoder.of(encoding, column),
            compressor::sizeOf,
            ratio.history(),
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

  /* Where the table asks for version 2, what parquet-java has in place of PLAIN. Where the run does,
  encodings are chosen; but booleans stay PLAIN, as Iceberg's vectorized reader refuses their RLE. */
  private static Encoding ofOthers(ColumnDescriptor column, ParquetWriteSettings settings) {
    if (!settings.isV2() || settings.encodings() != PageEncodings.AUTO) {
      return Encoding.PLAIN;
    }
    return switch (column.getType()) {
      case BOOLEAN -> Encoding.RLE;
      case INT32, INT64 -> Encoding.DELTA_BINARY_PACKED;
      case BINARY, FIXED_LEN_BYTE_ARRAY -> Encoding.DELTA_BYTE_ARRAY;
      default -> Encoding.PLAIN;
    };
  }

  /* Of byte strings of one width, DELTA_BYTE_ARRAY is unknown to some readers of version 2. */
  private List<Encoding> candidates() {
    if (settings.encodings() != PageEncodings.PARQUET_V2) {
      return List.of();
    }
    return switch (column.getType()) {
      case INT32, INT64 -> List.of(Encoding.DELTA_BINARY_PACKED);
      case FLOAT, DOUBLE -> List.of(Encoding.BYTE_STREAM_SPLIT);
      case BINARY -> List.of(Encoding.DELTA_LENGTH_BYTE_ARRAY, Encoding.DELTA_BYTE_ARRAY);
      default -> List.of();
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

  /** Adds rows, encoded as suits them. */
  void append(ColumnRows rows) throws IOException {
    compressor.take();
    try {
      appendAnew(rows);
    } finally {
      compressor.giveBack();
    }
  }

  /** Adds rows, encoded as suits them; to be called with a compressor. */
  void appendAnew(ColumnRows rows) throws IOException {
    if (isGiven) {
      endPage();
    }
    add(rows);
  }

  private void add(ColumnRows rows) throws IOException {
    int entry = 0;
    int value = 0;
    int entries = rows.entries();
    while (entry < entries) {
      Run run = nextRun(rows, entry, value);
      if (run.valueEnd() > value) {
        values.add(rows, value, run.valueEnd(), statistics, compressor.scratch());
      }
      add(rows, entry, value, run);
      entry = run.entryEnd();
      value = run.valueEnd();
    }
  }

  /* Adds what a run has beside its values, and ends the page if it is full. */
  private void add(ColumnRows rows, int entry, int value, Run run) throws IOException {
    addLevels(rows, entry, run.entryEnd());
    pageEntries += run.entryEnd() - entry;
    pageValues += run.valueEnd() - value;
    pageRows += run.rows();
    if (pageRows >= properties.getPageRowCountLimit()
        || pageEntries >= properties.getPageValueCountThreshold()
        || pageBytesLeft() <= properties.getPageSizeThreshold() / PAGE_SLACK_DIVISOR) {
      writePage();
    }
  }

  /**
   * Adds rows of a page of another file in the encoding that they have there, as far as the column
   * may have it here.
   *
   * @param encoding of the other page
   */
  void append(PageRows rows, Encoding encoding) throws IOException {
    int entry = 0;
    int value = 0;
    int entries = rows.entries();
    Encoding given = encoding;
    if (rows.isOfIds() && rows.valueCount() == 0) {
      rows.lookUp(); // there need not be a dictionary
    }
    while (entry < entries) {
      if (rows.isOfIds() && !begin(Encoding.RLE_DICTIONARY)) {
        rows.lookUp();
      }
      if (!rows.isOfIds() && (given.usesDictionary() || !begin(given))) {
        given = ofOthers;
        begin(given);
      }
      Run run = nextRun(rows, entry, value);
      if (rows.isOfIds()) {
        if (!addIds(rows, value, run.valueEnd())) {
          endPage();
          rows.lookUp();
          continue;
        }
      } else if (run.valueEnd() > value) {
        values.add(rows, value, run.valueEnd(), statistics, compressor.scratch());
      }
      add(rows, entry, value, run);
      entry = run.entryEnd();
      value = run.valueEnd();
    }
  }

  private boolean addIds(PageRows rows, int from, int to) {
    return from == to
        || ((DictionaryValues) values)
            .addIds(rows.dictionary(), rows.ids(), from, to, statistics, compressor.scratch());
  }

  /* Goes on with the page in hand if it is of that encoding, else begins one. */
  private boolean begin(Encoding encoding) throws IOException {
    if (isGiven && given == encoding) {
      return true;
    }
    endPage();
    isGiven = values.beginPage(encoding);
    given = encoding;
    return isGiven;
  }

  /**
   * Whether pages with numbers of another chunk's dictionary can be copied, for which the
   * dictionary becomes the beginning of this chunk's if this has none yet.
   */
  boolean adopt(SourceDictionary dictionary) {
    return ((DictionaryValues) values).adopt(dictionary);
  }

  /** Whether a page must be looked into though it is copied: its values go into a bloom filter. */
  boolean hasBloomFilter() {
    return bloomFilter != null;
  }

  /** The definition level of entries that have a value. */
  int definitionMax() {
    return definitionMax;
  }

  /** Whether NaNs are counted. */
  boolean countsNans() {
    return bounds != null;
  }

  boolean hasStatistics() {
    return hasStatistics;
  }

  /**
   * Takes note of all values of a page that is copied, and gives the page's statistics without the
   * number of nulls.
   */
  Statistics<?> observe(PageRows rows) {
    Statistics<?> found = newStatistics();
    if (rows.valueCount() > 0) {
      values.observe(rows, found, compressor.scratch());
    }
    return found;
  }

  /**
   * Adds a page as it is in another file.
   *
   * @param page its statistics count the nulls
   * @param isStored whether its bytes are those in {@code source}; else they are its own
   * @param source where the page is from
   * @param observed whether {@link #observe} has seen the values; else they are not NaN
   */
  void copy(ChunkPages.DataPage page, boolean isStored, RawChunk source, boolean observed)
      throws IOException {
    endPage();
    if (isStored || page.exact() != null) {
      pages.hold(source);
    }
    if (isStored) {
      pages.addHeld(page);
    } else {
      pages.add(page);
    }
    bloomFilterKept |= bloomFilter != null && !page.encoding().usesDictionary();
    uncompressedBytes += page.repetitions().size() + page.definitions().size() + page.dataBytes();
    if (values instanceof DictionaryValues dictionary && page.nulls() < page.entries()) {
      dictionary.pageCopied(page.encoding());
    }
    if (bounds != null) {
      bounds.count(page.entries(), page.nulls());
      if (!observed && page.statistics().hasNonNullValue()) {
        bounds.merge(
            0,
            ((Number) page.statistics().genericGetMin()).doubleValue(),
            ((Number) page.statistics().genericGetMax()).doubleValue());
      }
    }
  }

  /** Statistics of values that have been counted already, without the number of nulls. */
  Statistics<?> boundsOf(PageRows rows) {
    Statistics<?> found = newStatistics();
    if (rows.valueCount() > 0) {
      ColumnValues once = values(null, null);
      once.observe(rows, found, compressor.scratch());
    }
    return found;
  }

  /** What stands for statistics where the table wants none. */
  Statistics<?> noStatistics() {
    return Statistics.noopStats(column.getPrimitiveType());
  }

  /** Whether there are rows that are not in a page yet. */
  boolean hasOpenPage() {
    return pageEntries > 0;
  }

  /** Tells of pages by their rows, and bytes before and after compression. */
  @FunctionalInterface
  interface PageTest {
    boolean test(int rows, long bytes, long storedBytes);
  }

  /** Whether there is a last page, and {@code isSmall} is true of it. */
  boolean endsWithSmallPage(PageTest isSmall) {
    List<ChunkPages.DataPage> all = pages.pages();
    if (all.isEmpty()) {
      return false;
    }
    ChunkPages.DataPage last = all.get(all.size() - 1);
    return isSmall.test(last.rows(), last.dataBytes(), last.data().size());
  }

  /** What the column's pages are compressed with, and more. */
  Compressors.Lent compressor() {
    return compressor;
  }

  Encoding ofIds() {
    return settings.isV2() ? Encoding.RLE_DICTIONARY : Encoding.PLAIN_DICTIONARY;
  }

  private record Run(int entryEnd, int valueEnd, int rows) {}

  /* The next rows that fill the page and no more: whole rows, and their plain bytes reach what is
  left of it with the last of them only. Exact sizes, not samples, so that a few huge values
  cannot make a huge page (M18). */
  private Run nextRun(ColumnRows leaf, int entry, int value) {
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
      if (rows + leaf.plainBytesMax(value, valueEnd) < bytesLeft) {
        return new Run(entry + rows, valueEnd, rows);
      }
      rows /= 2;
    }
    return nextCounted(leaf, entry, value, Math.min(rowsLeft, rows), bytesLeft);
  }

  private Run nextRepeated(ColumnRows leaf, int entry, int value, int rowsLeft, long bytesLeft) {
    int entries = leaf.entries();
    long valueBytes =
        width > 0
            ? (long) width * (leaf.valueCount() - value)
            : leaf.plainBytesMax(value, leaf.valueCount());
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

  private Run nextCounted(ColumnRows leaf, int entry, int value, int rowsMax, long bytesMax) {
    int entries = leaf.entries();
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
          bytesLeft -= width > 0 ? width : leaf.plainBytes(valueEnd);
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

  private static int fixedWidth(ColumnDescriptor column) {
    return switch (column.getType()) {
      case BOOLEAN -> 1;
      case INT32, FLOAT -> 4;
      case INT64, DOUBLE -> 8;
      case FIXED_LEN_BYTE_ARRAY -> Math.max(1, column.getTypeLength());
      default -> 0;
    };
  }

  private int valueEnd(ColumnRows leaf, int entry, int entryEnd, int value) {
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

  private void addLevels(ColumnRows leaf, int from, int to) {
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

  /* Ends the page in hand if it has rows. */
  private void endPage() throws IOException {
    if (pageEntries > 0) {
      writePage();
    }
  }

  private void writePage() throws IOException {
    int nulls = pageEntries - pageValues;
    long before = pages.bytes();
    long raw = pageBytes();
    statistics.incrementNumNulls(nulls);
    if (bounds != null) {
      bounds.count(pageEntries, nulls);
    }
    BytesInput data = values.page();
    Encoding encoding = values.encoding();
    compressor.effort(ratio.effort(encoding));
    bloomFilterKept |= bloomFilter != null && !encoding.usesDictionary();
    BytesInput repetitions = levels(repetitionEncoder, repetitionLevels, repetitionMax);
    BytesInput definitions = levels(definitionEncoder, definitionLevels, definitionMax);
    boolean isV2 = settings.isV2();
    BytesInput body =
        isV2
            ? data
            : BytesInput.concat(
                withLength(repetitions, repetitionMax),
                withLength(definitions, definitionMax),
                data);
    long bodyBytes = body.size();
    if (bodyBytes > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "Cannot write a page of " + bodyBytes + " bytes: 2 GiB are the most");
    }
    // Of the second version, what is empty is not compressed.
    boolean isCompressed = !isV2 || bodyBytes > 0;
    pages.add(
        new ChunkPages.DataPage(
            isV2,
            isV2 ? own(repetitions) : BytesInput.empty(),
            isV2 ? own(definitions) : BytesInput.empty(),
            isCompressed ? own(compressor.compress(body)) : BytesInput.empty(),
            isCompressed,
            (int) bodyBytes,
            pageEntries,
            nulls,
            pageRows,
            repetitionMax == 0 ? Encoding.BIT_PACKED : Encoding.RLE,
            definitionMax == 0 ? Encoding.BIT_PACKED : Encoding.RLE,
            encoding,
            statistics,
            sizeStatistics(),
            null));
    ratio.add(raw, pages.bytes() - before);
    uncompressedBytes += raw;
    values.reset();
    isGiven = false;
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

  /* Out of buffers that are used again. */
  private static BytesInput own(BytesInput bytes) throws IOException {
    return BytesInput.from(bytes.toByteArray());
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

  private @Nullable SizeStatistics sizeStatistics() {
    return hasSizeStatistics
        ? new SizeStatistics(
            column.getPrimitiveType(),
            values.unencodedBytes(),
            repetitionMax > 0 ? boxed(repetitionCounts) : List.of(),
            definitionMax > 1 ? boxed(definitionCounts) : List.of())
        : null;
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
      endPage();
      if (hasStatistics) {
        CopiedBounds.settle(pages, column, compressor.pageTools());
      }
      DictionaryPage dictionary = values.dictionaryPage();
      if (dictionary != null) {
        int size = Math.toIntExact(dictionary.getBytes().size());
        compressor.effort(ZstdPages.Effort.ofDefault());
        pages.dictionary(
            new DictionaryPage(
                own(compressor.compress(dictionary.getBytes())),
                size,
                dictionary.getDictionarySize(),
                dictionary.getEncoding()));
      }
      if (bloomFilter != null) {
        pages.bloomFilter(bloomFilter);
      }
      values.release();
    } finally {
      compressor.giveBack();
    }
  }

  /** Writes the finished chunk into the row group that {@code file} has begun. */
  void writeTo(ParquetFileWriter file) throws IOException {
    pages.writeTo(file);
  }

  /** Bytes kept: compressed pages and the page that is not full, as Parquet counts them. */
  long bufferedBytes() {
    return pages.bytes() + pageBytes();
  }

  /** All bytes so far, before compression. */
  long uncompressedBytes() {
    return uncompressedBytes + pageBytes();
  }

  /** What the chunk would have if it ended now, and how much of that is not compressed yet. */
  double estimatedBytes() {
    return pages.bytes() + pendingBytes();
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
    return pages.memoryBytes()
        + values.memoryBytes()
        + definitionLevels.capacity()
        + repetitionLevels.capacity()
        + (bloomFilter == null ? 0 : bloomFilter.getBitsetSize());
  }

  /** Memory of other files' column chunks in use. */
  long heldBytes() {
    return pages.heldBytes();
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      pages.close();
    }
  }
}
