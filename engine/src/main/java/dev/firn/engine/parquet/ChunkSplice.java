package dev.firn.engine.parquet;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.statistics.SizeStatistics;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.format.DataPageHeader;
import org.apache.parquet.format.DataPageHeaderV2;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.jspecify.annotations.Nullable;

/**
 * Moves rows of a column chunk into one that is being built, page by page: as it is where all rows
 * of a page are wanted, else filtered in the page's encoding. Used by one thread at a time.
 */
final class ChunkSplice {
  /* A page is small if it has less than this share of the rows and bytes that a page may have, and
  less than so many bytes as it is stored: two that follow one another become one. Joining takes
  decompressing and compressing, so it is not for pages near the 8 kB that Parquet's documentation
  recommends; and what is kept of each page on the heap is little beside so many bytes. */
  private static final int SMALL_DIVISOR = 4;
  private static final int SMALL_BYTES = 4096;

  private final SourceChunk source;
  private final ColumnChunkBuilder target;
  private final ParquetWriteSettings settings;
  private final byte @Nullable [] levels; // the target's for each of the source's; null if the same
  private final boolean hasNoNan;
  private long copied;
  private long recompressed;
  private long filtered;
  private final Map<String, Long> transcoded = new TreeMap<>();

  ChunkSplice(SplicedView.Leaf leaf, ColumnChunkBuilder target, ParquetWriteSettings settings) {
    this.source = leaf.chunk();
    this.target = target;
    this.settings = settings;
    this.levels = leaf.levels();
    this.hasNoNan = leaf.hasNoNan();
  }

  /**
   * Moves the live ones of the rows {@code [from, to)} of the row group.
   *
   * @param live a bit for each row of the row group, bit 0 of word 0 first
   */
  SpliceTotals move(long[] live, int from, int to) throws IOException {
    Compressors.Lent lent = target.compressor();
    lent.take();
    try {
      for (SourceChunk.Page page : source.pages()) {
        int first = Math.max(from, page.firstRow());
        int end = Math.min(to, page.endRow());
        if (first < end) {
          move(page, live, first, end, lent.pageTools());
        }
      }
    } finally {
      lent.giveBack();
    }
    return new SpliceTotals(copied, recompressed, filtered, transcoded);
  }

  private void move(SourceChunk.Page page, long[] live, int first, int end, PageTools tools)
      throws IOException {
    int wanted = LiveBits.count(live, first, end);
    if (wanted == 0) {
      return;
    }
    boolean isWhole = wanted == page.rows();
    String refusal = settings.refusal(page.isV2(), page.columnEncoding());
    if (isWhole
        && refusal == null
        && !needsOtherLevels()
        && isAllowed(page)
        && !isToBeJoined(page)
        && copy(page, tools)) {
      return;
    }
    PageRows rows = source.decode(page, tools);
    if (!isWhole) {
      long[] selected = LiveBits.slice(live, page.firstRow(), page.rows(), first, end);
      rows.keep(
          selected,
          source.column().getMaxDefinitionLevel(),
          source.column().getMaxRepetitionLevel() > 0);
    }
    byte[] raised = levels;
    if (raised != null) {
      rows.raise(raised);
    }
    if (refusal == null) {
      target.append(rows, page.columnEncoding());
      filtered += page.length();
      return;
    }
    if (rows.isOfIds()) {
      target.append(rows, page.columnEncoding());
    } else {
      target.appendAnew(rows);
    }
    transcoded.merge(refusal, (long) page.length(), Long::sum);
  }

  private boolean isAllowed(SourceChunk.Page page) {
    return settings.allowsPage(
        page.isV2() || getsLevels(), page.rows(), page.header().getUncompressed_page_size());
  }

  /* Whether pages have no levels but are to have one: that of a value, which is put before them. */
  private boolean getsLevels() {
    return levels != null && !needsOtherLevels();
  }

  /* Whether pages have levels that are to be others, or are to have several. */
  private boolean needsOtherLevels() {
    return levels != null && (levels.length > 1 || target.definitionMax() > 1);
  }

  /* A small page that follows rows which are waiting, or another small page. */
  private boolean isToBeJoined(SourceChunk.Page page) {
    return isSmall(page.rows(), page.header().getUncompressed_page_size(), page.length())
        && (target.hasOpenPage() || target.endsWithSmallPage(this::isSmall));
  }

  private boolean isSmall(int rows, long bytes, long storedBytes) {
    return rows < settings.parquet().getPageRowCountLimit() / SMALL_DIVISOR
        && bytes < settings.parquet().getPageSizeThreshold() / SMALL_DIVISOR
        && storedBytes < SMALL_BYTES;
  }

  private boolean copy(SourceChunk.Page page, PageTools tools) throws IOException {
    SourceChunk.Known known = source.known(page);
    if (page.isOfIds()) {
      // Without values there need not be a dictionary, but readers ask for it: such a page is
      // written anew. One with values and without a dictionary is refused when it is decoded.
      SourceDictionary dictionary = source.dictionary(tools);
      boolean hasNoValues = known.statistics() != null && !known.statistics().hasNonNullValue();
      if (hasNoValues || dictionary == null || !target.adopt(dictionary)) {
        return false;
      }
    }
    boolean observed =
        known.statistics() == null && (target.hasStatistics() || page.isOfIds())
            || target.hasBloomFilter()
            || target.countsNans() && !(hasNoNan && known.isExact() && target.hasStatistics())
            || known.nulls() < 0;
    Statistics<?> statistics = known.statistics();
    int nulls = known.nulls();
    if (observed) {
      PageRows rows = source.decode(page, tools);
      if (rows.isOfIds() && rows.valueCount() == 0) {
        return false;
      }
      nulls = rows.entries() - rows.valueCount();
      statistics = target.observe(rows);
      statistics.incrementNumNulls(nulls);
    } else if (statistics == null || !target.hasStatistics()) {
      statistics = target.noStatistics();
    }
    ChunkPages.ExactBounds exact =
        observed || known.isExact() || !target.hasStatistics()
            ? null
            : other -> exactStatistics(page, other);
    add(page, statistics, nulls, known.sizes(), exact, observed, tools);
    return true;
  }

  /* The values were counted when the page was copied, where they had to be. */
  private Statistics<?> exactStatistics(SourceChunk.Page page, PageTools tools) throws IOException {
    PageRows rows = source.decode(page, tools);
    Statistics<?> statistics = target.boundsOf(rows);
    statistics.incrementNumNulls(rows.entries() - rows.valueCount());
    return statistics;
  }

  private void add(
      SourceChunk.Page page,
      Statistics<?> statistics,
      int nulls,
      @Nullable SizeStatistics sizes,
      ChunkPages.@Nullable ExactBounds exact,
      boolean observed,
      PageTools tools)
      throws IOException {
    Compressors.Lent compressor = target.compressor();
    CompressionCodecName codec = compressor.getCodecName();
    Encoding encoding = page.isOfIds() ? target.ofIds() : page.columnEncoding();
    ByteBuffer stored = source.stored(page);
    int uncompressed = page.header().getUncompressed_page_size();
    BytesInput repetitions = BytesInput.empty();
    BytesInput definitions = BytesInput.empty();
    ByteBuffer data = stored;
    int dataBytes = uncompressed;
    boolean isCompressed = true;
    Encoding ofRepetitions = Encoding.RLE;
    Encoding ofDefinitions = Encoding.RLE;
    if (page.isV2()) {
      DataPageHeaderV2 header = page.header().getData_page_header_v2();
      int levels = source.levelBytes(page);
      int start = stored.position();
      int ofRows = header.getRepetition_levels_byte_length();
      repetitions = BytesInput.from(slice(stored, start, start + ofRows));
      definitions = BytesInput.from(slice(stored, start + ofRows, start + levels));
      data = slice(stored, start + levels, stored.limit());
      dataBytes = uncompressed - levels;
      isCompressed =
          (!header.isSetIs_compressed() || header.isIs_compressed()) && data.hasRemaining();
    } else {
      DataPageHeader header = page.header().getData_page_header();
      ofRepetitions = Encoding.valueOf(header.getRepetition_level_encoding().name());
      ofDefinitions = Encoding.valueOf(header.getDefinition_level_encoding().name());
    }
    boolean isV2 = page.isV2();
    if (getsLevels()) {
      // The page has no levels. Those of the second version stand outside of what is compressed.
      isV2 = true;
      definitions = BytesInput.from(allDefined(page.entries()));
    }
    boolean isSameCodec = codec == source.codec() || !isCompressed;
    BytesInput body = BytesInput.from(data);
    if (!isSameCodec) {
      ByteBuffer inflated = source.inflate(data.slice(), dataBytes, tools);
      repetitions = BytesInput.copy(repetitions);
      definitions = BytesInput.copy(definitions);
      body = BytesInput.copy(compressor.compress(BytesInput.from(inflated)));
    }
    ChunkPages.DataPage copy =
        new ChunkPages.DataPage(
            isV2,
            repetitions,
            definitions,
            body,
            isCompressed,
            dataBytes,
            page.entries(),
            nulls,
            page.rows(),
            ofRepetitions,
            ofDefinitions,
            encoding,
            statistics,
            sizes,
            exact);
    target.copy(copy, isSameCodec, source.raw(), observed);
    if (isSameCodec) {
      copied += page.length();
    } else {
      recompressed += page.length();
    }
  }

  /* One run of the highest level, which is 1. */
  private static byte[] allDefined(int entries) {
    PageBuffer run = new PageBuffer();
    run.putUnsignedVarInt(entries << 1);
    run.putByte(1);
    return Arrays.copyOf(run.bytes(), run.size());
  }

  private static ByteBuffer slice(ByteBuffer buffer, int from, int to) {
    return buffer.duplicate().position(from).limit(to);
  }
}
