package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.bytes.BytesUtils;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.statistics.Statistics;
import org.jspecify.annotations.Nullable;

/**
 * Values that go into a dictionary as long as it pays. It is given up for the rest of the chunk by
 * parquet-java's rules, so that files are as large as its: when it outgrows the table's limit, or
 * when after the first page dictionary and page are no smaller than the plain values. The page in
 * hand is then written anew; pages before keep the dictionary as it was at their end.
 *
 * <p>It is given up earlier where that costs nothing: in the middle of the first page, if the
 * column's chunk before gave up after it and began with as many distinct values; and after the
 * second page, if its values are no larger without a dictionary once they are compressed.
 *
 * <p>Where several encodings may stand in the place of PLAIN, a page of the chunk is written in
 * each of them, and compressed, to find the smallest.
 *
 * <p>What comes from another file in encoded form keeps its encoding instead ({@link #beginPage}):
 * numbers of that file's dictionary become numbers of this one, unless values in another encoding
 * than PLAIN are before them in the chunk.
 */
abstract class DictionaryValues extends ColumnValues {
  private static final int UNMAPPED = -1;

  /* A dictionary that grows by a smaller share of a page is not on trial. */
  private static final int GROWTH_DIVISOR = 8;

  /* A page must be smaller by one of so many to change what parquet-java would do: a little where a
  dictionary is given up, which spares work too, a tenth where readers may take longer. */
  private static final int WITHOUT_DICTIONARY_DIVISOR = 33;
  private static final int OTHER_ENCODING_DIVISOR = 10;

  /* Values of which fewer repeat are all but unique. */
  private static final int REPEATED_DIVISOR = 100;

  /* After a trial on a smaller page there is another. */
  private static final int TRIAL_BYTES_MIN = 8192;

  /**
   * How the values of a column are encoded.
   *
   * @param hasDictionary whether one is tried for values
   * @param keepsDictionary whether pages of another file may keep theirs
   * @param hasToPayAtOnce whether a dictionary is given up unless the first page is smaller with it
   *     once compressed: where parquet-java would not have one
   * @param dictionaryBytesMax what it may have, the limit of the table
   * @param ofIds the encoding of pages that hold numbers of a dictionary
   * @param ofDictionary the encoding of the dictionary
   * @param ofOthers the encoding of values without a dictionary
   * @param candidates what is tried in the place of {@code ofOthers}, which is PLAIN then
   * @param encoders makes an encoder for an encoding that is not PLAIN; gives null if the column's
   *     type has no such encoding
   * @param sizes measures pages on trial
   * @param history of the column, updated
   * @param keepBytesMax a page's memory beyond this is given up after the page
   */
  record Encodings(
      boolean hasDictionary,
      boolean keepsDictionary,
      boolean hasToPayAtOnce,
      int dictionaryBytesMax,
      Encoding ofIds,
      Encoding ofDictionary,
      Encoding ofOthers,
      List<Encoding> candidates,
      Function<Encoding, @Nullable ValuesEncoder> encoders,
      CompressedSize sizes,
      EncodingHistory history,
      int keepBytesMax) {}

  /** Tells what bytes take once compressed with the table's codec. */
  @FunctionalInterface
  interface CompressedSize {
    long of(BytesInput bytes) throws IOException;
  }

  private final Encodings encodings;
  final PageBuffer page = new PageBuffer();
  private final RunLengthEncoder idRuns = new RunLengthEncoder(page);
  private final Map<Encoding, ValuesEncoder> encoders = new EnumMap<>(Encoding.class);
  private Encoding ofOthersNow; // of pages that are not given
  private int[] ids = new int[0];
  private int idCount;
  private boolean usesDictionary;
  private boolean isFirstPage = true;
  private int writtenSize; // of the dictionary, in entries, at the end of the last page with it
  private int dictionaryPages; // not given
  private final boolean isTrialDue; // else what the history has is taken as given
  private boolean isSampled;
  private int sampledDistinct;
  private boolean isTried;
  private long rawBytes;

  // The page in hand, where its encoding was given.
  private boolean isGiven;
  private boolean isOfIds;
  private Encoding ofOthers;
  private @Nullable ValuesEncoder encoder; // null for PLAIN

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
    this.isTrialDue = encodings.history().isTrialDue();
    this.ofOthersNow = isTrialDue ? encodings.ofOthers() : chosenBefore(encodings);
    this.ofOthers = ofOthersNow;
    this.encoder = encoder(ofOthers);
  }

  private static Encoding chosenBefore(Encodings encodings) {
    Encoding chosen = encodings.history().ofOthers();
    return chosen != null && encodings.candidates().contains(chosen)
        ? chosen
        : encodings.ofOthers();
  }

  private @Nullable ValuesEncoder encoder(Encoding encoding) {
    return encoding == Encoding.PLAIN
        ? null
        : encoders.computeIfAbsent(encoding, encodings.encoders()::apply);
  }

  /** Writes values without a dictionary; null where they are PLAIN, in {@link #page}. */
  final @Nullable ValuesEncoder encoder() {
    return encoder;
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

  /** Writes values by their numbers as PLAIN. */
  abstract void plainById(int[] ids, int count, PageBuffer target);

  /** Writes values by their numbers in another encoding. */
  abstract void encodeById(int[] ids, int count, ValuesEncoder target);

  /** Writes values that are PLAIN in another encoding. */
  abstract void encodePlain(PageBuffer plain, ValuesEncoder target);

  /** Some entries of the dictionary as PLAIN, while it can grow. */
  abstract BytesInput entries(int from, int to);

  /** The first {@code size} values; not called twice. */
  abstract BytesInput dictionary(int size);

  /** Forgets what is not needed to write the first {@code size} distinct values. */
  abstract void forget(int size);

  abstract long dictionaryMemoryBytes();

  /** Gives up what is left of the dictionary. */
  abstract void releaseDictionary();

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

  /** How many of the next values are to be looked up before {@link #idsAdded} is called. */
  final int lookUpsUntilLooked(int left) {
    return isFirstPage && !isSampled
        ? Math.min(left, EncodingHistory.SAMPLE_VALUES - idCount)
        : left;
  }

  /**
   * Tells that numbers were added; gives the dictionary up if it has become too large, or is known
   * to be of no use.
   */
  final void idsAdded(int count) {
    idCount += count;
    if (dictionaryBytes(dictionarySize()) > encodings.dictionaryBytesMax()) {
      fallBack();
    } else if (isFirstPage && !isSampled && idCount >= EncodingHistory.SAMPLE_VALUES) {
      isSampled = true;
      sampledDistinct = dictionarySize();
      if (!isTrialDue && encodings.history().gaveUpWith(sampledDistinct)) {
        fallBack();
      }
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
      ValuesEncoder other = encoder(encoding);
      if (other == null && encoding != Encoding.PLAIN) {
        return false;
      }
      isOfIds = false;
      ofOthers = encoding;
      encoder = other;
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

  /**
   * Tells that a page was copied which has values: numbers of a dictionary that was adopted, or
   * others.
   */
  final void pageCopied(Encoding encoding) {
    if (encoding.usesDictionary()) {
      writtenSize = dictionarySize();
      isFirstPage = false;
    } else {
      pageOfOthers(encoding);
    }
  }

  /* parquet-java never goes back to a dictionary in a chunk, and not all readers can: DuckDB 2.0
  writes numbers that follow deltas behind the end of the memory that the deltas were in. Only
  values that are PLAIN may stand between pages of numbers. */
  private void pageOfOthers(Encoding encoding) {
    if (encoding != Encoding.PLAIN) {
      usesDictionary = false;
      forget(writtenSize);
    }
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
    if (encoder == null) {
      plainById(ids, idCount, page);
    } else {
      encodeById(ids, idCount, encoder);
    }
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
    return encoder == null ? page.size() : encoder.bufferedBytes();
  }

  @Override
  final BytesInput page() throws IOException {
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
      if (isGiven || keepsDictionary(size)) {
        writtenSize = size;
        dictionaryPages += isGiven ? 0 : 1;
        return page.input();
      }
      fallBack();
    }
    boolean isToBeTried = isTrialDue && !isTried && !encodings.candidates().isEmpty();
    if (isToBeTried && !isGiven && page.size() > 0) {
      chooseEncoding();
    }
    if (rawBytes == 0 && (isGiven || !encodings.candidates().isEmpty())) {
      // Iceberg's vectorized reader fails on deltas of no values.
      ofOthers = Encoding.PLAIN;
      encoder = null;
    }
    pageOfOthers(ofOthers);
    return encoder == null ? page.input() : encoder.page();
  }

  private boolean keepsDictionary(int size) throws IOException {
    boolean keeps = true;
    if (isFirstPage) {
      keeps =
          page.size() + dictionaryBytes(size) < rawBytes
              && (!encodings.hasToPayAtOnce() || paysAtOnce(size));
    } else if (dictionaryPages == 1 && isTrialDue) {
      keeps = paysAtTheMargin(size);
    } else {
      return true;
    }
    // Where some of the first page's values repeat, the next chunk's first page may just do.
    boolean isClear = keeps || !isFirstPage || size >= idCount - idCount / REPEATED_DIVISOR;
    if (isSampled && isClear) {
      encodings.history().dictionary(keeps, sampledDistinct);
    }
    return keeps;
  }

  private boolean paysAtOnce(int size) throws IOException {
    CompressedSize sizes = encodings.sizes();
    PageBuffer plain = new PageBuffer();
    plainById(ids, idCount, plain);
    return sizes.of(page.input()) + sizes.of(entries(0, size)) < sizes.of(plain.input());
  }

  /*
   * Whether pages with numbers are smaller than others would be, judged by the second page. Only
   * where the dictionary will outgrow its limit does what it takes count, and until then: one that
   * ceases to grow costs nothing with each further page. If q times as many values are new in the
   * second page as in the first, q times as many as in the second will be new in the third.
   */
  private boolean paysAtTheMargin(int size) throws IOException {
    long growth = dictionaryBytes(size) - dictionaryBytes(writtenSize);
    if (encodings.candidates().isEmpty() && growth < rawBytes / GROWTH_DIVISOR) {
      return true;
    }
    double pages = pagesUntilGivenUp(growth);
    if (encodings.candidates().isEmpty() && pages == Double.POSITIVE_INFINITY) {
      return true;
    }
    CompressedSize sizes = encodings.sizes();
    double withDictionary = sizes.of(page.input());
    if (pages < Double.POSITIVE_INFINITY) {
      double left = encodings.dictionaryBytesMax() - dictionaryBytes(writtenSize);
      withDictionary += sizes.of(entries(writtenSize, size)) * left / growth / pages;
    }
    PageBuffer plain = new PageBuffer();
    plainById(ids, idCount, plain);
    long ofOthers = sizeOf(encodings.ofOthers(), plain);
    if (ofOthers < less(withDictionary, WITHOUT_DICTIONARY_DIVISOR)) {
      return false;
    }
    for (Encoding candidate : encodings.candidates()) {
      if (sizeOf(candidate, plain) < less(withDictionary, OTHER_ENCODING_DIVISOR)) {
        return false;
      }
    }
    return true;
  }

  /* From the second page on; infinitely many if the dictionary will not outgrow its limit. */
  private double pagesUntilGivenUp(long growth) {
    double left = encodings.dictionaryBytesMax() - dictionaryBytes(writtenSize);
    double q = growth / (double) Math.max(1, dictionaryBytes(writtenSize));
    if (growth == 0) {
      return Double.POSITIVE_INFINITY;
    }
    if (q >= 1) {
      return Math.max(1, left / growth);
    }
    double share = left * (1 - q) / growth; // of what will have been added in the end
    return share >= 1 ? Double.POSITIVE_INFINITY : Math.max(1, Math.log1p(-share) / Math.log(q));
  }

  private static double less(double bytes, int divisor) {
    return bytes - bytes / divisor;
  }

  /* Compressed, and the encoder empty again. */
  private long sizeOf(Encoding encoding, PageBuffer plain) throws IOException {
    ValuesEncoder one = encoder(encoding);
    if (one == null) {
      return encodings.sizes().of(plain.input());
    }
    one.reset(encodings.keepBytesMax());
    encodePlain(plain, one);
    long size = encodings.sizes().of(one.page());
    one.reset(encodings.keepBytesMax());
    return size;
  }

  /* Of the page, whose values are PLAIN; and of those after it, unless it is too small to tell. */
  private void chooseEncoding() throws IOException {
    Encoding best = Encoding.PLAIN;
    double bestSize = less(sizeOf(best, page), OTHER_ENCODING_DIVISOR);
    for (Encoding candidate : encodings.candidates()) {
      long size = sizeOf(candidate, page);
      if (size < bestSize) {
        best = candidate;
        bestSize = size;
      }
    }
    if (page.size() >= TRIAL_BYTES_MIN) {
      isTried = true;
      ofOthersNow = best;
      encodings.history().ofOthers(best);
    }
    ofOthers = best;
    encoder = encoder(best);
    if (encoder != null) {
      encodePlain(page, encoder);
      page.reset(encodings.keepBytesMax());
    }
  }

  @Override
  final Encoding encoding() {
    return isPageOfIds() ? encodings.ofIds() : ofOthers;
  }

  @Override
  void reset() {
    page.reset(encodings.keepBytesMax());
    if (encoder != null) {
      encoder.reset(encodings.keepBytesMax());
    }
    encodings.history().pageEnded();
    idCount = 0;
    rawBytes = 0;
    isFirstPage = false;
    isGiven = false;
    ofOthers = ofOthersNow;
    encoder = encoder(ofOthers);
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
    for (ValuesEncoder one : encoders.values()) {
      bytes += one.memoryBytes();
    }
    return bytes;
  }

  @Override
  final void release() {
    page.reset(0);
    encoders.clear();
    ids = new int[0];
    idCount = 0;
    rawBytes = 0;
    numbers = new int[0];
    seen = new int[0];
    distinct = new int[0];
    usesDictionary = false;
    writtenSize = 0;
    isGiven = false;
    encoder = null;
    releaseDictionary();
  }
}
