package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.statistics.SizeStatistics;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.column.values.bloomfilter.BloomFilter;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.jspecify.annotations.Nullable;

/**
 * The pages of one column chunk, compressed, waiting for the row group to be full. Where their
 * bytes came from does not matter here: they were encoded just now, or copied from another file.
 * Not thread-safe; {@link #close()} releases what copied pages hold.
 */
final class ChunkPages implements AutoCloseable {
  /* About what a page's header takes. */
  private static final int HEADER_BYTES = 32;

  /* About what is kept of a page on the heap beside its bytes: header, bounds, sizes, buffers. */
  private static final int HEAP_BYTES = 1024;

  /**
   * A data page.
   *
   * @param isV2 whether levels stand before the compressed data, in {@code levels}; else they are
   *     part of it
   * @param data as it is stored
   * @param isCompressed whether {@code data} is; of the first version it always is
   * @param dataBytes of {@code data} once decompressed
   * @param entries the nulls among them too
   * @param statistics the bounds in them are never too narrow
   * @param sizes null if nothing is known
   * @param exact finds the bounds that are values of the page; null if those in {@code statistics}
   *     are
   */
  record DataPage(
      boolean isV2,
      BytesInput repetitions,
      BytesInput definitions,
      BytesInput data,
      boolean isCompressed,
      int dataBytes,
      int entries,
      int nulls,
      int rows,
      Encoding repetitionEncoding,
      Encoding definitionEncoding,
      Encoding encoding,
      Statistics<?> statistics,
      @Nullable SizeStatistics sizes,
      @Nullable ExactBounds exact) {

    long bytes() {
      return HEADER_BYTES + repetitions.size() + definitions.size() + data.size();
    }

    DataPage with(Statistics<?> bounds) {
      return new DataPage(
          isV2,
          repetitions,
          definitions,
          data,
          isCompressed,
          dataBytes,
          entries,
          nulls,
          rows,
          repetitionEncoding,
          definitionEncoding,
          encoding,
          bounds,
          sizes,
          null);
    }
  }

  /** Looks into a page that was copied. */
  @FunctionalInterface
  interface ExactBounds {
    /** The page's statistics, nulls counted, with bounds that are values of it. */
    Statistics<?> find(PageTools tools) throws IOException;
  }

  private final ColumnDescriptor column;
  private final CompressionCodecName codec;
  private final List<DataPage> pages = new ArrayList<>();
  private final List<RawChunk> held = new ArrayList<>();
  private long heldBytes;
  private @Nullable DictionaryPage dictionary; // null if there is none
  private @Nullable BloomFilter bloomFilter; // null if there is none
  private long bytes;
  private long ownBytes;
  private long entries;

  ChunkPages(ColumnDescriptor column, CompressionCodecName codec) {
    this.column = column;
    this.codec = codec;
  }

  /** Adds a page whose bytes belong to it alone. */
  void add(DataPage page) {
    pages.add(page);
    bytes += page.bytes();
    ownBytes += page.bytes();
    entries += page.entries();
  }

  /** Keeps a chunk of another file until the end. */
  void hold(RawChunk source) {
    if (held.isEmpty() || held.get(held.size() - 1) != source) {
      source.retain();
      held.add(source);
      heldBytes += source.bytes();
    }
  }

  /** Adds a page whose bytes lie in a chunk that is held. */
  void addHeld(DataPage page) {
    pages.add(page);
    bytes += page.bytes();
    entries += page.entries();
  }

  /**
   * Sets the dictionary.
   *
   * @param page compressed; its bytes belong to it alone
   */
  void dictionary(DictionaryPage page) {
    dictionary = page;
    bytes += HEADER_BYTES + page.getBytes().size();
    ownBytes += page.getBytes().size();
  }

  void bloomFilter(BloomFilter filter) {
    bloomFilter = filter;
  }

  /** The pages so far; their places are stable. */
  List<DataPage> pages() {
    return pages;
  }

  /** What the pages so far take in the file, about. */
  long bytes() {
    return bytes;
  }

  /** Memory in use beside {@link #heldBytes()}. */
  long memoryBytes() {
    return ownBytes + (long) HEAP_BYTES * pages.size();
  }

  /** Memory of the chunks that copied pages lie in. */
  long heldBytes() {
    return heldBytes;
  }

  /** Writes the chunk into the row group that {@code file} has begun. */
  void writeTo(ParquetFileWriter file) throws IOException {
    file.startColumn(column, entries, codec);
    if (dictionary != null) {
      file.writeDictionaryPage(dictionary);
    }
    boolean anyWithoutDictionary = false;
    boolean hasSizes = true; // parquet-java takes the sizes of all pages or of none
    for (DataPage page : pages) {
      anyWithoutDictionary |= !page.encoding().usesDictionary();
      hasSizes &= page.sizes() != null;
    }
    for (DataPage page : pages) {
      write(page, hasSizes ? page.sizes() : null, file);
    }
    if (bloomFilter != null && anyWithoutDictionary) { // else the dictionary says as much
      file.addBloomFilter(String.join(".", column.getPath()), bloomFilter);
    }
    file.endColumn();
  }

  @SuppressWarnings("NullAway") // Parquet takes null for a plain file, and for unknown sizes.
  private static void write(DataPage page, @Nullable SizeStatistics sizes, ParquetFileWriter file)
      throws IOException {
    if (page.isV2()) {
      file.writeDataPageV2(
          page.rows(),
          page.nulls(),
          page.entries(),
          page.repetitions(),
          page.definitions(),
          page.encoding(),
          page.data(),
          page.isCompressed(),
          page.dataBytes(),
          page.statistics(),
          null,
          null,
          sizes);
    } else {
      file.writeDataPage(
          page.entries(),
          page.dataBytes(),
          page.data(),
          page.statistics(),
          page.rows(),
          page.repetitionEncoding(),
          page.definitionEncoding(),
          page.encoding(),
          null,
          null,
          sizes);
    }
  }

  /** Harmless when repeated. */
  @Override
  public void close() {
    pages.clear();
    held.forEach(RawChunk::release);
    held.clear();
    heldBytes = 0;
  }
}
