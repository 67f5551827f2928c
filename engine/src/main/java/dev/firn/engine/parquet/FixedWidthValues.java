package dev.firn.engine.parquet;

import java.util.Arrays;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.column.values.bloomfilter.BloomFilter;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.jspecify.annotations.Nullable;

/**
 * Ints, longs, floats and doubles. All are longs here: floating-point numbers by their bits, which
 * are never changed (S21).
 */
final class FixedWidthValues extends DictionaryValues {
  private static final int RUN_VALUES = 4096;

  private final PrimitiveTypeName type;
  private final int width;
  private final @Nullable BloomFilter bloomFilter; // null where there is none
  private final @Nullable FieldBounds bounds; // null where the footer says it all
  private @Nullable LongDictionary dictionary; // null when it is given up
  private final PageBuffer dictionaryPlain = new PageBuffer();
  private int dictionarySize;
  private final int[] number = new int[1];

  /**
   * @param type one of 4 or 8 bytes
   */
  FixedWidthValues(
      PrimitiveTypeName type,
      Encodings encodings,
      @Nullable BloomFilter bloomFilter,
      @Nullable FieldBounds bounds) {
    super(encodings);
    this.type = type;
    this.width =
        type == PrimitiveTypeName.INT32 || type == PrimitiveTypeName.FLOAT
            ? Integer.BYTES
            : Long.BYTES;
    this.bloomFilter = bloomFilter;
    this.bounds = bounds;
    this.dictionary =
        encodings.hasDictionary() || encodings.keepsDictionary() ? new LongDictionary() : null;
  }

  @Override
  void add(ColumnRows rows, int from, int to, Statistics<?> statistics, Scratch scratch) {
    int count = to - from;
    long[] values = rows.longs(width, from, to, scratch);
    observe(values, count, statistics);
    rawBytesAdded((long) count * width);
    int added = 0;
    LongDictionary known = dictionary;
    if (known != null && usesDictionary()) {
      int[] ids = ids(count);
      while (added < count && usesDictionary()) {
        int end = added + lookUpsUntilLooked(count - added);
        int done = known.lookUp(values, added, end, ids, idCount(), dictionaryBytesMax() / width);
        dictionarySize = known.size();
        idsAdded(done - added);
        added = done;
      }
    }
    if (added < count) {
      write(values, added, count);
    }
  }

  private void observe(long[] values, int count, Statistics<?> statistics) {
    switch (type) {
      case FLOAT -> observeFloats(values, count, statistics);
      case DOUBLE -> observeDoubles(values, count, statistics);
      default -> observeIntegers(values, count, statistics);
    }
  }

  private void observeIntegers(long[] values, int count, Statistics<?> statistics) {
    long least = Long.MAX_VALUE;
    long greatest = Long.MIN_VALUE;
    for (int i = 0; i < count; i++) {
      least = Math.min(least, values[i]);
      greatest = Math.max(greatest, values[i]);
    }
    if (width == Integer.BYTES) {
      statistics.updateStats((int) least);
      statistics.updateStats((int) greatest);
    } else {
      statistics.updateStats(least);
      statistics.updateStats(greatest);
    }
    if (bloomFilter != null) {
      for (int i = 0; i < count; i++) {
        bloomFilter.insertHash(
            width == Integer.BYTES
                ? bloomFilter.hash((int) values[i])
                : bloomFilter.hash(values[i]));
      }
    }
  }

  private void observeFloats(long[] values, int count, Statistics<?> statistics) {
    int nans = 0;
    float least = Float.POSITIVE_INFINITY;
    float greatest = Float.NEGATIVE_INFINITY;
    for (int i = 0; i < count; i++) {
      float value = Float.intBitsToFloat((int) values[i]);
      if (Float.isNaN(value)) {
        nans++;
      } else {
        least = Math.min(least, value); // as Float.compare orders them, -0.0 below 0.0
        greatest = Math.max(greatest, value);
      }
    }
    if (nans < count) {
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
      for (int i = 0; i < count; i++) {
        bloomFilter.insertHash(bloomFilter.hash(Float.intBitsToFloat((int) values[i])));
      }
    }
  }

  private void observeDoubles(long[] values, int count, Statistics<?> statistics) {
    int nans = 0;
    double least = Double.POSITIVE_INFINITY;
    double greatest = Double.NEGATIVE_INFINITY;
    for (int i = 0; i < count; i++) {
      double value = Double.longBitsToDouble(values[i]);
      if (Double.isNaN(value)) {
        nans++;
      } else {
        least = Math.min(least, value);
        greatest = Math.max(greatest, value);
      }
    }
    if (nans < count) {
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
      for (int i = 0; i < count; i++) {
        bloomFilter.insertHash(bloomFilter.hash(Double.longBitsToDouble(values[i])));
      }
    }
  }

  private void write(long[] values, int from, int to) {
    ValuesEncoder encoder = encoder();
    if (encoder == null) {
      plain(page, values, from, to);
    } else {
      encoder.add(values, from, to);
    }
  }

  private void plain(PageBuffer target, long[] values, int from, int to) {
    if (width == Integer.BYTES) {
      target.putInts(values, from, to);
    } else {
      target.putLongs(values, from, to);
    }
  }

  @Override
  long unencodedBytes() {
    return 0;
  }

  @Override
  int dictionarySize() {
    return dictionarySize;
  }

  @Override
  long dictionaryBytes(int size) {
    return (long) size * width;
  }

  @Override
  boolean canGrow() {
    return dictionary != null;
  }

  @Override
  long entryBytes(SourceDictionary source, int id) {
    return width;
  }

  @Override
  int number(SourceDictionary source, int id) {
    LongDictionary known = dictionary;
    if (known == null) {
      throw new IllegalStateException("The dictionary is given up");
    }
    known.lookUp(source.longs(), id, id + 1, number, 0, Integer.MAX_VALUE);
    dictionarySize = known.size();
    return number[0];
  }

  @Override
  boolean beginsWith(SourceDictionary source) {
    LongDictionary known = dictionary;
    int size = source.size();
    return known != null
        && known.size() >= size
        && Arrays.equals(source.longs(), 0, size, known.values(), 0, size);
  }

  @Override
  void observe(
      SourceDictionary source,
      int[] distinct,
      int count,
      int[] ids,
      int from,
      int to,
      Statistics<?> statistics,
      Scratch scratch) {
    long[] entries = source.longs();
    long[] values = scratch.longs(to - from);
    for (int i = 0; i < count; i++) {
      values[i] = entries[distinct[i]];
    }
    if (bounds != null && anyNan(values, count)) { // NaNs are counted
      for (int i = from; i < to; i++) {
        values[i - from] = entries[ids[i]];
      }
      observe(values, to - from, statistics);
    } else {
      observe(values, count, statistics);
    }
  }

  @Override
  void countUnencoded(SourceDictionary source, int[] ids, int from, int to) {}

  @Override
  void observeValues(PageRows rows, Statistics<?> statistics, Scratch scratch) {
    int count = rows.valueCount();
    observe(rows.longs(width, 0, count, scratch), count, statistics);
  }

  private boolean anyNan(long[] values, int count) {
    for (int i = 0; i < count; i++) {
      if (type == PrimitiveTypeName.FLOAT
          ? Float.isNaN(Float.intBitsToFloat((int) values[i]))
          : Double.isNaN(Double.longBitsToDouble(values[i]))) {
        return true;
      }
    }
    return false;
  }

  @Override
  void plainById(int[] ids, int count, PageBuffer target) {
    plain(target, byId(ids, count), 0, count);
  }

  @Override
  void encodeById(int[] ids, int count, ValuesEncoder target) {
    target.add(byId(ids, count), 0, count);
  }

  private long[] byId(int[] ids, int count) {
    long[] values = new long[count];
    if (dictionary != null) {
      long[] known = dictionary.values();
      for (int i = 0; i < count; i++) {
        values[i] = known[ids[i]];
      }
    }
    return values;
  }

  @Override
  void encodePlain(PageBuffer plain, ValuesEncoder target) {
    long[] values = new long[RUN_VALUES];
    byte[] bytes = plain.bytes();
    int count = 0;
    for (int at = 0; at < plain.size(); at += width) {
      values[count++] =
          width == Integer.BYTES
              ? (int) PageBuffer.INT.get(bytes, at)
              : (long) PageBuffer.LONG.get(bytes, at);
      if (count == RUN_VALUES) {
        target.add(values, 0, count);
        count = 0;
      }
    }
    target.add(values, 0, count);
  }

  @Override
  BytesInput entries(int from, int to) {
    PageBuffer entries = new PageBuffer();
    if (dictionary != null) {
      plain(entries, dictionary.values(), from, to);
    }
    return entries.input();
  }

  @Override
  BytesInput dictionary(int size) {
    forget(size);
    return dictionaryPlain.input();
  }

  @Override
  void forget(int size) {
    if (dictionary != null) {
      plain(dictionaryPlain, dictionary.values(), 0, size);
      dictionary = null;
    }
  }

  @Override
  long dictionaryMemoryBytes() {
    return dictionaryPlain.capacity() + (dictionary == null ? 0 : dictionary.memoryBytes());
  }

  @Override
  void releaseDictionary() {
    dictionaryPlain.reset(0);
    dictionary = null;
    dictionarySize = 0;
  }
}
