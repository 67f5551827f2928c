package dev.firn.engine.parquet;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.column.values.bloomfilter.BloomFilter;
import org.apache.parquet.io.api.Binary;
import org.jspecify.annotations.Nullable;

/** Byte strings, of one width or of many. */
final class BinaryValues extends DictionaryValues {
  private static final VarHandle BIG_ENDIAN_LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private static final int RUN_VALUES = 4096;

  private final int width; // 0 where values have a length of their own
  private final long signBit; // of the first eight bytes, set where values are signed
  private final @Nullable BloomFilter bloomFilter; // null where there is none
  private @Nullable BytesDictionary dictionary; // null when it is given up
  private int dictionarySize;
  private final int[] number = new int[1];
  private byte[] dictionaryPlain = new byte[0]; // of a dictionary that is given up
  private int dictionaryPlainBytes;
  private long unencodedBytes;

  /**
   * @param width bytes of each value, 0 for values of different lengths
   * @param isSigned whether the first bit of values is a sign; of one width only
   */
  BinaryValues(
      int width, boolean isSigned, Encodings encodings, @Nullable BloomFilter bloomFilter) {
    super(encodings);
    this.width = width;
    this.signBit = isSigned ? Long.MIN_VALUE : 0;
    this.bloomFilter = bloomFilter;
    this.dictionary =
        encodings.hasDictionary() || encodings.keepsDictionary()
            ? new BytesDictionary(width > 0)
            : null;
  }

  @Override
  void add(ColumnRows rows, int from, int to, Statistics<?> statistics, Scratch scratch) {
    int count = to - from;
    long valueBytes = rows.byteStrings(width, from, to, scratch);
    if (width == 0) {
      unencodedBytes += valueBytes;
    }
    byte[] bytes = scratch.bytes();
    int[] starts = scratch.starts();
    int[] ends = scratch.ends();
    observe(bytes, starts, ends, count, statistics);
    rawBytesAdded(valueBytes + (long) count * Integer.BYTES);
    int added = 0;
    BytesDictionary known = dictionary;
    if (known != null && usesDictionary()) {
      int[] ids = ids(count);
      while (added < count && usesDictionary()) {
        int end = added + lookUpsUntilLooked(count - added);
        int done =
            known.lookUp(bytes, starts, ends, added, end, ids, idCount(), dictionaryBytesMax());
        dictionarySize = known.size();
        idsAdded(done - added);
        added = done;
      }
    }
    if (added < count) {
      write(bytes, starts, ends, added, count);
    }
  }

  private static Binary binary(byte[] bytes, int start, int end) {
    return Binary.fromReusedByteArray(bytes, start, end - start);
  }

  /* Most values are told apart by their first eight bytes, most others by the next eight. Numbers
  with a sign are of one width, so that behind the first byte they are ordered as if they had none. */
  private void observe(
      byte[] bytes, int[] starts, int[] ends, int count, Statistics<?> statistics) {
    int least = 0;
    int greatest = 0;
    long leastPrefix = prefix(bytes, starts[0], ends[0]) ^ ~signBit & Long.MIN_VALUE;
    long greatestPrefix = leastPrefix;
    for (int i = 1; i < count; i++) {
      long prefix = prefix(bytes, starts[i], ends[i]) ^ ~signBit & Long.MIN_VALUE;
      if (prefix <= leastPrefix
          && (prefix < leastPrefix || compareRest(bytes, starts, ends, i, least) < 0)) {
        least = i;
        leastPrefix = prefix;
      } else if (prefix >= greatestPrefix
          && (prefix > greatestPrefix || compareRest(bytes, starts, ends, i, greatest) > 0)) {
        greatest = i;
        greatestPrefix = prefix;
      }
    }
    statistics.updateStats(binary(bytes, starts[least], ends[least]));
    statistics.updateStats(binary(bytes, starts[greatest], ends[greatest]));
    if (bloomFilter != null) {
      for (int i = 0; i < count; i++) {
        bloomFilter.insertHash(bloomFilter.hash(binary(bytes, starts[i], ends[i])));
      }
    }
  }

  /* Eight bytes, zeros where there are less. */
  private static long prefix(byte[] bytes, int start, int end) {
    long prefix = (long) BIG_ENDIAN_LONG.get(bytes, start);
    int length = end - start;
    if (length < Long.BYTES) {
      int spare = (Long.BYTES - length) << 3;
      prefix = length <= 0 ? 0 : prefix >>> spare << spare;
    }
    return prefix;
  }

  /* Of values whose first eight bytes, filled up with zeros, are the same. */
  private static int compareRest(byte[] bytes, int[] starts, int[] ends, int one, int other) {
    if (ends[one] - starts[one] > Long.BYTES && ends[other] - starts[other] > Long.BYTES) {
      int rest =
          Long.compareUnsigned(
              prefix(bytes, starts[one] + Long.BYTES, ends[one]),
              prefix(bytes, starts[other] + Long.BYTES, ends[other]));
      if (rest != 0) {
        return rest;
      }
    }
    return Arrays.compareUnsigned(bytes, starts[one], ends[one], bytes, starts[other], ends[other]);
  }

  private void write(byte[] bytes, int[] starts, int[] ends, int from, int to) {
    ValuesEncoder encoder = encoder();
    if (encoder != null) {
      encoder.add(bytes, starts, ends, from, to);
      return;
    }
    long total = 0;
    for (int i = from; i < to; i++) {
      total += ends[i] - starts[i];
    }
    page.reserve(total + (width > 0 ? 0 : (long) (to - from) * Integer.BYTES));
    for (int i = from; i < to; i++) {
      int start = starts[i];
      int length = ends[i] - start;
      if (width == 0) {
        page.putReservedInt(length);
      }
      page.putReserved(bytes, start, length);
    }
  }

  @Override
  long unencodedBytes() {
    return unencodedBytes;
  }

  @Override
  void reset() {
    super.reset();
    unencodedBytes = 0;
  }

  @Override
  int dictionarySize() {
    return dictionarySize;
  }

  @Override
  long dictionaryBytes(int size) {
    return dictionary == null ? dictionaryPlainBytes : dictionary.start(size);
  }

  @Override
  boolean canGrow() {
    return dictionary != null;
  }

  @Override
  long entryBytes(SourceDictionary source, int id) {
    return source.ends()[id] - source.starts()[id] + (width > 0 ? 0 : Integer.BYTES);
  }

  @Override
  int number(SourceDictionary source, int id) {
    BytesDictionary known = dictionary;
    if (known == null) {
      throw new IllegalStateException("The dictionary is given up");
    }
    known.lookUp(
        source.bytes(), source.starts(), source.ends(), id, id + 1, number, 0, Integer.MAX_VALUE);
    dictionarySize = known.size();
    return number[0];
  }

  @Override
  boolean beginsWith(SourceDictionary source) {
    BytesDictionary known = dictionary;
    if (known == null || known.size() < source.size()) {
      return false;
    }
    int lengthBytes = width > 0 ? 0 : Integer.BYTES;
    for (int id = 0; id < source.size(); id++) {
      if (!Arrays.equals(
          known.plain(),
          known.start(id) + lengthBytes,
          known.start(id + 1),
          source.bytes(),
          source.starts()[id],
          source.ends()[id])) {
        return false;
      }
    }
    return true;
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
    int[] starts = scratch.starts(count);
    int[] ends = scratch.ends(count);
    for (int i = 0; i < count; i++) {
      starts[i] = source.starts()[distinct[i]];
      ends[i] = source.ends()[distinct[i]];
    }
    observe(source.bytes(), starts, ends, count, statistics);
  }

  @Override
  void countUnencoded(SourceDictionary source, int[] ids, int from, int to) {
    if (width == 0) {
      int[] starts = source.starts();
      int[] ends = source.ends();
      for (int i = from; i < to; i++) {
        unencodedBytes += ends[ids[i]] - starts[ids[i]];
      }
    }
  }

  @Override
  void observeValues(PageRows rows, Statistics<?> statistics, Scratch scratch) {
    int count = rows.valueCount();
    rows.byteStrings(width, 0, count, scratch);
    observe(scratch.bytes(), scratch.starts(), scratch.ends(), count, statistics);
  }

  @Override
  void plainById(int[] ids, int count, PageBuffer target) {
    BytesDictionary known = dictionary;
    if (known == null) {
      return;
    }
    long total = 0;
    for (int i = 0; i < count; i++) {
      total += known.start(ids[i] + 1) - known.start(ids[i]);
    }
    target.reserve(total);
    byte[] plain = known.plain();
    for (int i = 0; i < count; i++) {
      int start = known.start(ids[i]);
      target.putReserved(plain, start, known.start(ids[i] + 1) - start);
    }
  }

  @Override
  void encodeById(int[] ids, int count, ValuesEncoder target) {
    BytesDictionary known = dictionary;
    if (known == null) {
      return;
    }
    int lengthBytes = width > 0 ? 0 : Integer.BYTES;
    int[] starts = new int[count];
    int[] ends = new int[count];
    for (int i = 0; i < count; i++) {
      starts[i] = known.start(ids[i]) + lengthBytes;
      ends[i] = known.start(ids[i] + 1);
    }
    target.add(known.plain(), starts, ends, 0, count);
  }

  @Override
  void encodePlain(PageBuffer plain, ValuesEncoder target) {
    int[] starts = new int[RUN_VALUES];
    int[] ends = new int[RUN_VALUES];
    byte[] bytes = plain.bytes();
    int count = 0;
    int at = 0;
    while (at < plain.size()) {
      int length = width;
      if (width == 0) {
        length = (int) PageBuffer.INT.get(bytes, at);
        at += Integer.BYTES;
      }
      starts[count] = at;
      at += length;
      ends[count++] = at;
      if (count == RUN_VALUES) {
        target.add(bytes, starts, ends, 0, count);
        count = 0;
      }
    }
    target.add(bytes, starts, ends, 0, count);
  }

  @Override
  BytesInput entries(int from, int to) {
    return dictionary == null
        ? BytesInput.empty()
        : BytesInput.from(
            dictionary.plain(),
            dictionary.start(from),
            dictionary.start(to) - dictionary.start(from));
  }

  @Override
  BytesInput dictionary(int size) {
    forget(size);
    return BytesInput.from(dictionaryPlain, 0, dictionaryPlainBytes);
  }

  @Override
  void forget(int size) {
    if (dictionary != null) {
      dictionaryPlainBytes = dictionary.start(size);
      dictionaryPlain = Arrays.copyOf(dictionary.plain(), dictionaryPlainBytes);
      dictionary = null;
    }
  }

  @Override
  long dictionaryMemoryBytes() {
    return dictionaryPlain.length + (dictionary == null ? 0 : dictionary.memoryBytes());
  }

  @Override
  void releaseDictionary() {
    dictionaryPlain = new byte[0];
    dictionaryPlainBytes = 0;
    dictionary = null;
    dictionarySize = 0;
  }
}
