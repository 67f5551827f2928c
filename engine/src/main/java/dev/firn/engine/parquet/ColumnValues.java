package dev.firn.engine.parquet;

import java.io.IOException;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.statistics.Statistics;
import org.jspecify.annotations.Nullable;

/**
 * The values of one column chunk as they are encoded, page by page. One implementation for each
 * width; what differs is decided once for a run of values. Not thread-safe.
 */
abstract class ColumnValues {
  /**
   * Adds values to the page.
   *
   * @param rows has the values
   * @param from the first of them to take
   * @param to the one after the last; greater than {@code from}
   * @param statistics of the page, updated
   * @param scratch room to work in
   */
  abstract void add(ColumnRows rows, int from, int to, Statistics<?> statistics, Scratch scratch);

  /**
   * Says of what the page is to be that begins, which has no values yet: not of what suits the
   * values best, but in the encoding that they have where they come from.
   *
   * @return false if that cannot be: what comes is to be given as values in another encoding
   */
  abstract boolean beginPage(Encoding encoding);

  /**
   * Takes note of the values of a page that is copied, as {@link #add} does, but adds nothing.
   *
   * @param rows with at least one value
   * @param statistics of that page, updated
   */
  abstract void observe(PageRows rows, Statistics<?> statistics, Scratch scratch);

  /** Bytes of the page, as parquet-java counts them: before the dictionary where there is one. */
  abstract long bufferedBytes();

  /** Bytes of the page's byte strings without their lengths; 0 for other types. */
  abstract long unencodedBytes();

  /** Ends the page. Valid until {@link #reset()}, which is to follow. */
  abstract BytesInput page() throws IOException;

  /** The encoding of what {@link #page()} gave. */
  abstract Encoding encoding();

  /** Begins the next page. */
  abstract void reset();

  /** The dictionary of the pages, null if none has one. To be called after the last page. */
  abstract @Nullable DictionaryPage dictionaryPage();

  /** Bytes of the dictionary so far, before compression. */
  abstract long dictionaryBytes();

  /** Memory in use. */
  abstract long memoryBytes();

  /** Gives all memory up; nothing else is called after that. */
  abstract void release();
}
