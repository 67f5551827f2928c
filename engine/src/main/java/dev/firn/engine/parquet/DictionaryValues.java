package dev.firn.engine.parquet;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.Function;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.bytes.BytesUtils;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.column.values.ValuesWriter;
import org.jspecify.annotations.Nullable;

/**
 * Values that go into a dictionary as long as it pays. It is given up for the rest of the chunk by
 * parquet-java's rules, so that files are as large as its: when it outgrows the table's limit, or
 * when after the first page dictionary and page are no smaller than the plain values. The page in
 * hand is then written anew; pages before keep the dictionary as it was at their end.
 *
 * <p>What comes from another file in encoded form keeps its encoding instead ({@link #beginPage}):
 * numbers of that file's dictionary become numbers of this one.
 */
abstract class DictionaryValues extends ColumnValues {
  private static final int UNMAPPED = -1;

  /**
   * How the values of a column are encoded.
   *
   * @param hasDictionary whether one is tried for values
   * @param keepsDictionary whether pages of another file may keep theirs
   * @param dictionaryBytesMax what it may have, the limit of the table
   * @param ofIds the encoding of pages that hold numbers of a dictionary
   * @param ofDictionary the encoding of the dictionary
   * @param ofOthers the encoding of values without a dictionary
   * @param writers makes Parquet's writer of an encoding that is not PLAIN; gives null if the
   *     column's type has no such encoding. The writers are closed with the values
   * @param keepBytesMax a page's memory beyond this is given up after the page
   */
  record Encodings(
      boolean hasDictionary,
      boolean keepsDictionary,
      int dictionaryBytesMax,
      Encoding ofIds,
      Encoding ofDictionary,
      Encoding ofOthers,
      Function<Encoding, @Nullable ValuesWriter> writers,
      int keepBytesMax) {}

  private final Encodings encodings;
  final PageBuffer page = new PageBuffer();
  private final RunLengthEncoder idRuns = new RunLengthEncoder(page);
  private final Map<Encoding, ValuesWriter> writers = new EnumMap<>(Encoding.class);
  private int[] ids = new int[0];
  private int idCount;
  private boolean usesDictionary;
  private boolean isFirstPage = true;
  private int writtenSize; // of the dictionary, in entries, at the end of the last page with it
  private long rawBytes;

  // The page in hand, where its encoding was given.
  private boolean isGiven;
  private boolean isOfIds;
  private Encoding ofOthers;
  private @Nullable ValuesWriter writer; // null for PLAIN

  // The dictionary of another file whose numbers came last.
  private @Nullable SourceDictionary source; // null before the first
  private @Nullable SourceDictionary judged; // the last that was to be adopted
  private boolean isAdopted;
  private int[] numbers = {}; // by number of that file
  private int[] seen = {}; // the run in which a number was seen last
  private int run;
  private int[] distinct = {};

  DictionaryValues(Encodings encodings) {
    this.encodings = encodings;
    this.usesDictionary = encodings.hasDictionary();
    this.ofOthers = encodings.ofOthers();
    this.writer = writer(ofOthers);
  }

  private @Nullable ValuesWriter writer(Encoding encoding) {
    return encoding == Encoding.PLAIN
        ? null
        : writers.computeIfAbsent(encoding, encodings.writers()::apply);
  }

  /** Writes values without a dictionary; null where they are PLAIN, in {@link #page}. */
  final @Nullable ValuesWriter writer() {
    return writer;
  }

  /** Whether values go into the dictionary. */
  final boolean usesDictionary() {
    return usesDictionary && !isGiven;
  }

  final int dictionaryBytesMax() {
    return encodings.dictionaryBytesMax();
  }

  /** How many distinct values there are. */
  abstract int dictionarySize();

  /** Bytes of the first {@code size} of them. */
  abstract long dictionaryBytes(int size);

  /** Whether there is a dictionary to which values can be added. */
  abstract boolean canGrow();

  /** Writes values by their numbers into the page as it is without a dictionary. */
  abstract void addById(int[] ids, int count);

  /** The first {@code size} values; not called twice. */
  abstract BytesInput dictionary(int size);

  /** Forgets what is not needed to write the first {@code size} distinct values. */
  abstract void forget(int size);

  abstract long dictionaryMemoryBytes();

  /** What an entry of another dictionary takes in this one. */
  abstract long entryBytes(SourceDictionary source, int id);

  /** The number of an entry of another dictionary in this one, which it is added to if need be. */
  abstract int number(SourceDictionary source, int id);

  /** Whether this dictionary begins with the entries of another. */
  abstract boolean beginsWith(SourceDictionary source);

  /**
   * Takes note of entries that values of the page have.
   *
   * @param distinct the first {@code count} are the numbers of the entries, each once
   * @param ids the numbers {@code [from, to)} of all values
   */
  abstract void observe(
      SourceDictionary source,
      int[] distinct,
      int count,
      int[] ids,
      int from,
      int to,
      Statistics<?> statistics,
      Scratch scratch);

  /** Counts the bytes that values have beside their encoding, by their numbers in a dictionary. */
  abstract void countUnencoded(SourceDictionary source, int[] ids, int from, int to);

  /** Takes note of values that are not numbers. */
  abstract void observeValues(PageRows rows, Statistics<?> statistics, Scratch scratch);

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

  @Override
  final boolean beginPage(Encoding encoding) {
    if (encoding.usesDictionary()) {
      if (!encodings.keepsDictionary() || !canGrow()) {
        return false;
      }
      isOfIds = true;
    } else {
      ValuesWriter other = writer(encoding);
      if (other == null && encoding != Encoding.PLAIN) {
        return false;
      }
      isOfIds = false;
      ofOthers = encoding;
      writer = other;
    }
    isGiven = true;
    isFirstPage = false;
    return true;
  }

  /**
   * Makes the entries of another dictionary the first of this one, which it is if it has none yet.
   *
   * @return whether a page with numbers of the other can stand among the pages as it is
   */
  final boolean adopt(SourceDictionary other) {
    if (!encodings.keepsDictionary() || !canGrow()) {
      return false;
    }
    if (judged != other) {
      judged = other;
      long bytes = 0;
      for (int id = 0; id < other.size(); id++) {
        bytes += entryBytes(other, id);
      }
      if (dictionarySize() == 0 && bytes <= encodings.dictionaryBytesMax()) {
        for (int id = 0; id < other.size(); id++) {
          number(other, id);
        }
      }
      isAdopted = beginsWith(other);
    }
    return isAdopted;
  }

  private void map(SourceDictionary other) {
    source = other;
    numbers = new int[other.size()];
    Arrays.fill(numbers, UNMAPPED);
    seen = new int[0];
    run = 0;
  }

  /** Tells that a page was copied which has numbers of a dictionary that was adopted. */
  final void pageCopied() {
    writtenSize = dictionarySize();
    isFirstPage = false;
  }

  /**
   * Adds values that another dictionary has, by their numbers there, to a page of numbers.
   *
   * @return false if this dictionary would become too large with them: nothing is added then
   */
  final boolean addIds(
      SourceDictionary other,
      int[] otherIds,
      int from,
      int to,
      Statistics<?> statistics,
      Scratch scratch) {
    int count = distinct(other, otherIds, from, to);
    long more = 0;
    for (int i = 0; i < count; i++) {
      more += numbers[distinct[i]] == UNMAPPED ? entryBytes(other, distinct[i]) : 0;
    }
    if (more > 0 && dictionaryBytes(dictionarySize()) + more > encodings.dictionaryBytesMax()) {
      return false;
    }
    for (int i = 0; i < count; i++) {
      int id = distinct[i];
      if (numbers[id] == UNMAPPED) {
        numbers[id] = number(other, id);
      }
    }
    observe(other, distinct, count, otherIds, from, to, statistics, scratch);
    countUnencoded(other, otherIds, from, to);
    int[] target = ids(to - from);
    int at = idCount;
    int[] mapped = numbers;
    for (int i = from; i < to; i++) {
      target[at++] = mapped[otherIds[i]];
    }
    idCount = at;
    rawBytes += (long) (to - from) * Integer.BYTES;
    return true;
  }

  private int distinct(SourceDictionary other, int[] otherIds, int from, int to) {
    if (source != other) {
      map(other);
    }
    if (seen.length < other.size()) {
      seen = new int[other.size()];
      run = 0;
    }
    if (distinct.length < Math.min(seen.length, to - from)) {
      distinct = new int[Math.min(seen.length, to - from)];
    }
    run++;
    int count = 0;
    for (int i = from; i < to; i++) {
      int id = otherIds[i];
      if (seen[id] != run) {
        seen[id] = run;
        distinct[count++] = id;
      }
    }
    return count;
  }

  @Override
  final void observe(PageRows rows, Statistics<?> statistics, Scratch scratch) {
    if (!rows.isOfIds()) {
      observeValues(rows, statistics, scratch);
      return;
    }
    SourceDictionary other = rows.dictionary();
    int count = distinct(other, rows.ids(), 0, rows.valueCount());
    observe(other, distinct, count, rows.ids(), 0, rows.valueCount(), statistics, scratch);
  }

  private void fallBack() {
    page.reset(encodings.keepBytesMax());
    usesDictionary = false;
    addById(ids, idCount);
    idCount = 0;
    ids = new int[0];
    forget(writtenSize);
  }

  private boolean isPageOfIds() {
    return isGiven ? isOfIds : usesDictionary;
  }

  @Override
  final long bufferedBytes() {
    if (isGiven ? isOfIds : encodings.hasDictionary()) {
      return rawBytes;
    }
    return writer == null ? page.size() : writer.getBufferedSize();
  }

  @Override
  final BytesInput page() {
    if (!isFirstPage && isPageOfIds() && dictionarySize() == 0) {
      // Without any value there is no dictionary, but readers ask for the one of such a page.
      isGiven = true;
      isOfIds = false;
    }
    if (isPageOfIds()) {
      int size = dictionarySize();
      int width = BytesUtils.getWidthFromMaxInt(Math.max(0, size - 1));
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
    return writer == null ? page.input() : writer.getBytes();
  }

  @Override
  final Encoding encoding() {
    return isPageOfIds() ? encodings.ofIds() : ofOthers;
  }

  @Override
  void reset() {
    page.reset(encodings.keepBytesMax());
    if (writer != null) {
      writer.reset();
    }
    idCount = 0;
    rawBytes = 0;
    isFirstPage = false;
    isGiven = false;
    ofOthers = encodings.ofOthers();
    writer = writer(ofOthers);
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
    long bytes =
        page.capacity()
            + (ids.length + numbers.length + seen.length + distinct.length) * 4L
            + dictionaryMemoryBytes();
    for (ValuesWriter one : writers.values()) {
      bytes += one.getAllocatedSize();
    }
    return bytes;
  }

  @Override
  final void close() {
    writers.values().forEach(ValuesWriter::close);
  }
}
