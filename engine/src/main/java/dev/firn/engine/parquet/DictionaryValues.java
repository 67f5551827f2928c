package dev.firn.engine.parquet;

import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.bytes.BytesUtils;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.values.ValuesWriter;
import org.jspecify.annotations.Nullable;

/**
 * Values that go into a dictionary as long as it pays. It is given up for the rest of the chunk by
 * parquet-java's rules, so that files are as large as its: when it outgrows the table's limit, or
 * when after the first page dictionary and page are no smaller than the plain values. The page in
 * hand is then written anew; pages before keep the dictionary as it was at their end.
 */
abstract class DictionaryValues extends ColumnValues {

  /**
   * How the values of a column are encoded.
   *
   * @param hasDictionary whether one is tried
   * @param dictionaryBytesMax what it may have, the limit of the table
   * @param ofIds the encoding of pages that hold numbers of a dictionary
   * @param ofDictionary the encoding of the dictionary
   * @param delta writes pages without a dictionary; null when they are PLAIN. Closed with the
   *     values
   * @param keepBytesMax a page's memory beyond this is given up after the page
   */
  record Encodings(
      boolean hasDictionary,
      int dictionaryBytesMax,
      Encoding ofIds,
      Encoding ofDictionary,
      @Nullable ValuesWriter delta,
      int keepBytesMax) {}

  private final Encodings encodings;
  final @Nullable ValuesWriter delta; // null when pages without a dictionary are PLAIN
  final PageBuffer page = new PageBuffer();
  private final RunLengthEncoder idRuns = new RunLengthEncoder(page);
  private int[] ids = new int[0];
  private int idCount;
  private boolean usesDictionary;
  private boolean isFirstPage = true;
  private int writtenSize; // of the dictionary, in entries, at the end of the last page with it
  private long rawBytes;

  DictionaryValues(Encodings encodings) {
    this.encodings = encodings;
    this.delta = encodings.delta();
    this.usesDictionary = encodings.hasDictionary();
  }

  /** Whether values go into the dictionary. */
  final boolean usesDictionary() {
    return usesDictionary;
  }

  final int dictionaryBytesMax() {
    return encodings.dictionaryBytesMax();
  }

  /** How many distinct values there are. */
  abstract int dictionarySize();

  /** Bytes of the first {@code size} of them. */
  abstract long dictionaryBytes(int size);

  /** Writes values by their numbers into the page as it is without a dictionary. */
  abstract void addById(int[] ids, int count);

  /** The first {@code size} values; not called twice. */
  abstract BytesInput dictionary(int size);

  /** Forgets what is not needed to write the first {@code size} distinct values. */
  abstract void forget(int size);

  abstract long dictionaryMemoryBytes();

  /** Room for the numbers of {@code more} values, from {@link #idCount()} on. */
  final int[] ids(int more) {
    if (ids.length < idCount + more) {
      int[] larger = new int[Math.max(idCount + more, Math.min(idCount * 2, idCount + (1 << 16)))];
      System.arraycopy(ids, 0, larger, 0, idCount);
      ids = larger;
    }
    return ids;
  }

  final int idCount() {
    return idCount;
  }

  /** Tells that numbers were added; gives the dictionary up if it has become too large. */
  final void idsAdded(int count) {
    idCount += count;
    if (dictionaryBytes(dictionarySize()) > encodings.dictionaryBytesMax()) {
      fallBack();
    }
  }

  final void rawBytesAdded(long bytes) {
    rawBytes += bytes;
  }

  private void fallBack() {
    page.reset(encodings.keepBytesMax());
    usesDictionary = false;
    addById(ids, idCount);
    idCount = 0;
    ids = new int[0];
    forget(writtenSize);
  }

  @Override
  final long bufferedBytes() {
    if (encodings.hasDictionary()) {
      return rawBytes;
    }
    return delta == null ? page.size() : delta.getBufferedSize();
  }

  @Override
  final BytesInput page() {
    if (usesDictionary) {
      int size = dictionarySize();
      int width = BytesUtils.getWidthFromMaxInt(size - 1);
      page.putByte(width);
      idRuns.begin(width);
      idRuns.add(ids, 0, idCount);
      idRuns.end();
      if (!isFirstPage || page.size() + dictionaryBytes(size) < rawBytes) {
        writtenSize = size;
        return page.input();
      }
      fallBack();
    }
    return delta == null ? page.input() : delta.getBytes();
  }

  @Override
  final Encoding encoding() {
    if (usesDictionary) {
      return encodings.ofIds();
    }
    return delta == null ? Encoding.PLAIN : delta.getEncoding();
  }

  @Override
  void reset() {
    page.reset(encodings.keepBytesMax());
    if (delta != null) {
      delta.reset();
    }
    idCount = 0;
    rawBytes = 0;
    isFirstPage = false;
  }

  @Override
  final @Nullable DictionaryPage dictionaryPage() {
    return writtenSize == 0
        ? null
        : new DictionaryPage(dictionary(writtenSize), writtenSize, encodings.ofDictionary());
  }

  @Override
  final long dictionaryBytes() {
    return dictionaryBytes(usesDictionary ? dictionarySize() : writtenSize);
  }

  @Override
  final long memoryBytes() {
    return page.capacity()
        + ids.length * 4L
        + dictionaryMemoryBytes()
        + (delta == null ? 0 : delta.getAllocatedSize());
  }

  @Override
  final void close() {
    if (delta != null) {
      delta.close();
    }
  }
}
