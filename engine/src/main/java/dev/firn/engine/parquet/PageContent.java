package dev.firn.engine.parquet;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.format.DataPageHeader;
import org.apache.parquet.format.DataPageHeaderV2;
import org.apache.parquet.format.DictionaryPageHeader;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;

/**
 * The levels and values of one page, taken out of their encodings into arrays. The arrays are used
 * again for the next page: what is in them is valid until then. Not thread-safe.
 *
 * <p>Every {@code decode} throws {@link MalformedPageException} if the bytes are not what the
 * header and the encoding ask for, and {@link UnsupportedPageException} if another reader is to be
 * asked: for an encoding that is not {@linkplain #supports supported}, and for content that would
 * take more memory than it may. After either, the content is undefined; the next page may be
 * decoded.
 */
final class PageContent {
  /** What the values of a page are given as. */
  enum Kind {
    /** {@link #ids()}: the values are in the dictionary. */
    IDS,
    /** {@link #longs()}: numbers of 4 or 8 bytes. */
    LONGS,
    /** {@link #bytes()}, {@link #starts()} and {@link #ends()}: byte strings. */
    BYTES,
    /** {@link #booleans()}. */
    BOOLEANS
  }

  /* Arrays of more bytes are given up by trim(). */
  private static final int KEEP_BYTES_MAX = 4 << 20;

  private static final int SHORT_BYTES_MAX = 32;

  private final long memoryBytesMax;

  // The page that is decoded.
  private ByteBuffer source = ByteBuffer.allocate(0);
  private int sourcePosition;
  private long memoryBytes;
  private final PageInput input = new PageInput();

  private int entries;
  private int values;
  private Kind kind = Kind.LONGS;
  private byte[] definitions = new byte[0];
  private byte[] repetitions = new byte[0];
  private int[] ids = new int[0];
  private long[] longs = new long[0];
  private long[] otherLongs = new long[0];
  private byte[] booleans = new byte[0];
  private byte[] bytes = new byte[0]; // those of the input, or built
  private byte[] built = new byte[0];
  private int[] starts = new int[0];
  private int[] ends = new int[0];

  /**
   * @param memoryBytesMax bytes that the content of a page may take, about; 1 GiB at most
   */
  PageContent(long memoryBytesMax) {
    this.memoryBytesMax = Math.min(memoryBytesMax, 1 << 30);
  }

  /**
   * Whether data pages of an encoding can be decoded.
   *
   * @param encoding as the page's header has it
   * @param type of the column's values
   */
  static boolean supports(Encoding encoding, PrimitiveTypeName type) {
    boolean isNumber =
        switch (type) {
          case INT32, INT64, FLOAT, DOUBLE -> true;
          default -> false;
        };
    boolean isBytes =
        type == PrimitiveTypeName.BINARY || type == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY;
    return switch (encoding) {
      case PLAIN -> isNumber || isBytes || type == PrimitiveTypeName.BOOLEAN;
      case PLAIN_DICTIONARY, RLE_DICTIONARY -> isNumber || isBytes;
      case RLE -> type == PrimitiveTypeName.BOOLEAN;
      case DELTA_BINARY_PACKED ->
          type == PrimitiveTypeName.INT32 || type == PrimitiveTypeName.INT64;
      case DELTA_LENGTH_BYTE_ARRAY -> type == PrimitiveTypeName.BINARY;
      case DELTA_BYTE_ARRAY -> isBytes;
      case BYTE_STREAM_SPLIT -> isNumber || type == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY;
      default -> false;
    };
  }

  /**
   * Decodes a data page of the first kind.
   *
   * @param body the whole page, uncompressed; from its position to its limit, left as it is
   * @param dictionarySize entries of the dictionary, 0 if the column chunk has none
   */
  void decode(DataPageHeader header, ByteBuffer body, ColumnDescriptor column, int dictionarySize) {
    begin(header.getNum_values(), column);
    take(body);
    int repetitionMax = column.getMaxRepetitionLevel();
    int definitionMax = column.getMaxDefinitionLevel();
    if (repetitionMax > 0 && entries > 0) {
      boolean isRunLength =
          loadLevels(header.getRepetition_level_encoding(), repetitionMax, "repetition levels");
      decodeRepetitions(repetitionMax, isRunLength);
    }
    if (definitionMax > 0 && entries > 0) {
      boolean isRunLength =
          loadLevels(header.getDefinition_level_encoding(), definitionMax, "definition levels");
      decodeDefinitions(definitionMax, isRunLength);
    }
    decodeValues(header.getEncoding(), column, dictionarySize);
  }

  /**
   * Decodes a data page of the second kind.
   *
   * @param levels repetition levels, then definition levels; may go on behind them
   * @param encoded the values, uncompressed; both from their positions to their limits, left as
   *     they are
   * @param dictionarySize entries of the dictionary, 0 if the column chunk has none
   */
  void decode(
      DataPageHeaderV2 header,
      ByteBuffer levels,
      ByteBuffer encoded,
      ColumnDescriptor column,
      int dictionarySize) {
    begin(header.getNum_values(), column);
    take(levels);
    int repetitionMax = column.getMaxRepetitionLevel();
    int definitionMax = column.getMaxDefinitionLevel();
    load(header.getRepetition_levels_byte_length(), "repetition levels");
    if (repetitionMax > 0 && entries > 0) {
      decodeRepetitions(repetitionMax, true);
    }
    load(header.getDefinition_levels_byte_length(), "definition levels");
    if (definitionMax > 0 && entries > 0) {
      decodeDefinitions(definitionMax, true);
    }
    take(encoded);
    decodeValues(header.getEncoding(), column, dictionarySize);
  }

  /**
   * Decodes a dictionary page: its entries are the values, in order.
   *
   * @param body the page, uncompressed; from its position to its limit, left as it is
   */
  void decode(DictionaryPageHeader header, ByteBuffer body, ColumnDescriptor column) {
    Encoding encoding = header.getEncoding();
    PrimitiveTypeName type = column.getPrimitiveType().getPrimitiveTypeName();
    if (encoding != Encoding.PLAIN && encoding != Encoding.PLAIN_DICTIONARY
        || !supports(Encoding.RLE_DICTIONARY, type)) {
      throw new UnsupportedPageException("a dictionary of " + type + " is encoded as " + encoding);
    }
    begin(header.getNum_values(), column);
    take(body);
    decodeValues(Encoding.PLAIN, column, 0);
  }

  private void begin(int count, ColumnDescriptor column) {
    if (count < 0) {
      throw new MalformedPageException("it is said to have " + count + " values");
    }
    if (Math.max(column.getMaxDefinitionLevel(), column.getMaxRepetitionLevel()) > Byte.MAX_VALUE) {
      throw new UnsupportedPageException(
          "the column is nested more than " + Byte.MAX_VALUE + " levels deep");
    }
    entries = count;
    values = count;
    memoryBytes = 0;
  }

  /* To be called before arrays are made: of a page that claims much, nothing is held yet. */
  private void claim(long count, int width) {
    memoryBytes += count * width;
    if (memoryBytes > memoryBytesMax) {
      throw new UnsupportedPageException(
          "its " + entries + " values would take more than " + memoryBytesMax + " bytes of memory");
    }
  }

  private void take(ByteBuffer part) {
    source = part;
    sourcePosition = part.position();
  }

  private int left() {
    return source.limit() - sourcePosition;
  }

  private void load(long length, String what) {
    if (length < 0 || length > left()) {
      throw new MalformedPageException(
          what + " are said to have " + length + " bytes where " + left() + " are left");
    }
    input.load(source, sourcePosition, (int) length);
    sourcePosition += (int) length;
  }

  /** Says whether the levels are in runs. */
  private boolean loadLevels(Encoding encoding, int max, String what) {
    if (encoding == Encoding.RLE) {
      loadWithLength(what);
      return true;
    }
    if (encoding == Encoding.BIT_PACKED) {
      int width = Integer.SIZE - Integer.numberOfLeadingZeros(max);
      load((long) entries * width + 7 >>> 3, what);
      return false;
    }
    throw new UnsupportedPageException(what + " are encoded as " + encoding);
  }

  /** Loads what has its length in front. */
  private void loadWithLength(String what) {
    load(Integer.BYTES, what);
    load((int) PageBuffer.INT.get(input.bytes(), 0), what);
  }

  private void decodeRepetitions(int max, boolean isRunLength) {
    String what = "repetition levels";
    claim(entries, 1);
    repetitions = ensure(repetitions, entries);
    if (isRunLength) {
      RunLengthDecoder.levels(input, max, repetitions, entries, what);
    } else {
      RunLengthDecoder.bigEndianLevels(input, max, repetitions, entries, what);
    }
    RunLengthDecoder.countHighest(repetitions, entries, max, what);
  }

  private void decodeDefinitions(int max, boolean isRunLength) {
    String what = "definition levels";
    if (isRunLength && RunLengthDecoder.isOneRunOf(max, input, entries)) {
      return;
    }
    claim(entries, 1);
    definitions = ensure(definitions, entries);
    if (isRunLength) {
      RunLengthDecoder.levels(input, max, definitions, entries, what);
    } else {
      RunLengthDecoder.bigEndianLevels(input, max, definitions, entries, what);
    }
    values = RunLengthDecoder.countHighest(definitions, entries, max, what);
  }

  /* The format has no values, and no bytes for them, where all are null; writers differ in what
  they leave there. */
  private void decodeValues(Encoding encoding, ColumnDescriptor column, int dictionarySize) {
    PrimitiveTypeName type = column.getPrimitiveType().getPrimitiveTypeName();
    if (encoding == null || !supports(encoding, type)) {
      throw new UnsupportedPageException("values of " + type + " are encoded as " + encoding);
    }
    int length = column.getPrimitiveType().getTypeLength();
    kind =
        encoding == Encoding.PLAIN_DICTIONARY || encoding == Encoding.RLE_DICTIONARY
            ? Kind.IDS
            : switch (type) {
              case BOOLEAN -> Kind.BOOLEANS;
              case INT32, INT64, FLOAT, DOUBLE -> Kind.LONGS;
              default -> Kind.BYTES;
            };
    if (values == 0) {
      return;
    }
    switch (encoding) {
      case PLAIN -> {
        switch (type) {
          case INT32, FLOAT -> plainInts();
          case INT64, DOUBLE -> plainLongs();
          case BOOLEAN -> plainBooleans();
          case BINARY -> plainBinaries();
          default -> plainFixed(length);
        }
      }
      case PLAIN_DICTIONARY, RLE_DICTIONARY -> numbers(dictionarySize);
      case RLE -> runsOfBooleans();
      case DELTA_BINARY_PACKED -> deltas(type);
      case DELTA_LENGTH_BYTE_ARRAY -> deltaLengths();
      case DELTA_BYTE_ARRAY ->
          prefixes(type == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY ? length : -1);
      default -> {
        switch (type) {
          case INT32, FLOAT -> streams(Integer.BYTES);
          case INT64, DOUBLE -> streams(Long.BYTES);
          default -> streamsOfBytes(length);
        }
      }
    }
  }

  private void requireLeft(long count) {
    if (count > left()) {
      throw new MalformedPageException(
          "its " + values + " values take " + count + " bytes where " + left() + " are left");
    }
  }

  private void plainInts() {
    requireLeft((long) values * Integer.BYTES);
    claim(values, Long.BYTES + Integer.BYTES);
    longs = ensure(longs, values);
    ids = ensure(ids, values);
    remaining().asIntBuffer().get(ids, 0, values);
    int[] from = ids;
    long[] to = longs;
    for (int i = 0; i < values; i++) {
      to[i] = from[i];
    }
  }

  private void plainLongs() {
    requireLeft((long) values * Long.BYTES);
    claim(values, Long.BYTES);
    longs = ensure(longs, values);
    remaining().asLongBuffer().get(longs, 0, values);
  }

  private ByteBuffer remaining() {
    return source.duplicate().position(sourcePosition).order(ByteOrder.LITTLE_ENDIAN);
  }

  private void plainBooleans() {
    int size = values + 7 >>> 3;
    requireLeft(size);
    claim(values, 1);
    load(size, "values");
    booleans = ensure(booleans, values);
    RunLengthDecoder.bits(input, booleans, values);
  }

  private void runsOfBooleans() {
    claim(values, 1);
    loadWithLength("values");
    booleans = ensure(booleans, values);
    RunLengthDecoder.levels(input, 1, booleans, values, "values");
  }

  private void numbers(int dictionarySize) {
    load(left(), "values");
    int width = input.unsignedByte("values");
    if (width > Integer.SIZE) {
      throw new MalformedPageException("dictionary numbers are said to have " + width + " bits");
    }
    claim(values, Integer.BYTES);
    ids = ensure(ids, values);
    RunLengthDecoder.ids(input, width, ids, values, dictionarySize);
  }

  private void deltas(PrimitiveTypeName type) {
    load(left(), "values");
    claim(values, Long.BYTES);
    longs = ensure(longs, values);
    if (type == PrimitiveTypeName.INT32) {
      DeltaDecoder.ints(input, longs, values, "values");
    } else {
      DeltaDecoder.longs(input, longs, values, "values");
    }
  }

  private void plainBinaries() {
    requireLeft((long) values * Integer.BYTES);
    claimBytes(left());
    load(left(), "values");
    byte[] from = input.bytes();
    int end = input.limit();
    int at = 0;
    for (int i = 0; i < values; i++) {
      if (end - at < Integer.BYTES) {
        throw new MalformedPageException("values end after " + i + " of " + values);
      }
      int length = (int) PageBuffer.INT.get(from, at);
      at += Integer.BYTES;
      if (length < 0 || length > end - at) {
        throw tooLong(i, length, end - at);
      }
      starts[i] = at;
      at += length;
      ends[i] = at;
    }
    bytes = from;
  }

  /** Makes room for the places of byte strings. */
  private void claimBytes(long length) {
    claim(length, 1);
    claim(values, Integer.BYTES + Integer.BYTES);
    starts = ensure(starts, values);
    ends = ensure(ends, values);
  }

  private static MalformedPageException tooLong(int value, int length, int left) {
    return new MalformedPageException(
        "value " + value + " is said to have " + length + " bytes where " + left + " are left");
  }

  private void plainFixed(int width) {
    long size = (long) values * width;
    requireLeft(size);
    claimBytes(size);
    load(size, "values");
    bytes = input.bytes();
    places(width);
  }

  private void places(int width) {
    for (int i = 0; i < values; i++) {
      starts[i] = i * width;
      ends[i] = i * width + width;
    }
  }

  private void deltaLengths() {
    load(left(), "values");
    claim(values, Long.BYTES);
    longs = ensure(longs, values);
    DeltaDecoder.ints(input, longs, values, "lengths");
    claimBytes(input.limit());
    int at = input.position();
    int end = input.limit();
    for (int i = 0; i < values; i++) {
      int length = (int) longs[i];
      if (length < 0 || length > end - at) {
        throw tooLong(i, length, end - at);
      }
      starts[i] = at;
      at += length;
      ends[i] = at;
    }
    bytes = input.bytes();
  }

  /** Byte strings that begin as the one before; {@code width} is -1 where they may differ in it. */
  private void prefixes(int width) {
    load(left(), "values");
    claim(values, Long.BYTES + Long.BYTES);
    longs = ensure(longs, values);
    otherLongs = ensure(otherLongs, values);
    DeltaDecoder.ints(input, longs, values, "prefix lengths");
    DeltaDecoder.ints(input, otherLongs, values, "suffix lengths");
    if (longs[0] > 0) {
      // Early writers went on from the page before.
      throw new UnsupportedPageException("its first value has a prefix");
    }
    long total = 0;
    long before = 0;
    long left = input.remaining();
    for (int i = 0; i < values; i++) {
      long prefix = longs[i];
      long suffix = otherLongs[i];
      if (prefix < 0 || prefix > before) {
        throw new MalformedPageException(
            "value " + i + " begins with " + prefix + " bytes of one with " + before);
      }
      if (suffix < 0 || suffix > left) {
        throw tooLong(i, (int) suffix, (int) left);
      }
      before = prefix + suffix;
      if (width >= 0 && before != width) {
        throw new MalformedPageException(
            "value " + i + " has " + before + " bytes where all have " + width);
      }
      left -= suffix;
      total += before;
    }
    claimBytes(total + input.limit());
    built = ensure(built, total);
    byte[] from = input.bytes();
    byte[] to = built;
    int source = input.position();
    int start = 0;
    int at = 0;
    for (int i = 0; i < values; i++) {
      int prefix = (int) longs[i];
      int suffix = (int) otherLongs[i];
      copy(to, start, to, at, prefix);
      copy(from, source, to, at + prefix, suffix);
      source += suffix;
      start = at;
      at += prefix + suffix;
      starts[i] = start;
      ends[i] = at;
    }
    bytes = to;
  }

  /* May read and write up to seven bytes more. */
  private static void copy(byte[] source, int from, byte[] target, int to, int length) {
    if (length <= SHORT_BYTES_MAX) {
      for (int k = 0; k < length; k += Long.BYTES) {
        PageBuffer.LONG.set(target, to + k, (long) PageBuffer.LONG.get(source, from + k));
      }
    } else {
      System.arraycopy(source, from, target, to, length);
    }
  }

  /** Numbers whose bytes are apart: the first of each, then the second of each. */
  private void streams(int width) {
    loadStreams(width);
    claim(values, Long.BYTES);
    longs = ensure(longs, values);
    byte[] from = input.bytes();
    long[] to = longs;
    int count = values;
    for (int i = 0; i < count; i++) {
      int low = from[i] & 0xFF;
      low |= (from[count + i] & 0xFF) << 8;
      low |= (from[2 * count + i] & 0xFF) << 16;
      low |= from[3 * count + i] << 24;
      to[i] = low;
    }
    if (width == Long.BYTES) {
      int half = 4 * count;
      for (int i = 0; i < count; i++) {
        int high = from[half + i] & 0xFF;
        high |= (from[half + count + i] & 0xFF) << 8;
        high |= (from[half + 2 * count + i] & 0xFF) << 16;
        high |= from[half + 3 * count + i] << 24;
        to[i] = to[i] & 0xFFFFFFFFL | (long) high << 32;
      }
    }
  }

  private void streamsOfBytes(int width) {
    loadStreams(width);
    long size = (long) values * width;
    claimBytes(2 * size);
    built = ensure(built, size);
    byte[] from = input.bytes();
    byte[] to = built;
    int at = 0;
    for (int stream = 0; stream < width; stream++) {
      for (int i = 0, target = stream; i < values; i++, target += width) {
        to[target] = from[at++];
      }
    }
    bytes = to;
    places(width);
  }

  /* Where each stream begins follows from the number of values: one too few would mix them. */
  private void loadStreams(int width) {
    if (left() != (long) values * width) {
      throw new MalformedPageException(
          "its " + values + " values of " + width + " bytes are in " + left() + " bytes");
    }
    load(left(), "values");
  }

  /** How many levels the page has; of a dictionary, how many values. */
  int entries() {
    return entries;
  }

  /** How many of the entries have a value. */
  int values() {
    return values;
  }

  /** Whether every entry has a value. Definition levels are not given then: all are the highest. */
  boolean isAllDefined() {
    return values == entries;
  }

  /** Definition levels; valid up to {@link #entries()} unless {@link #isAllDefined()}. */
  byte[] definitions() {
    return definitions;
  }

  /** Repetition levels; valid up to {@link #entries()} if the column is repeated. */
  byte[] repetitions() {
    return repetitions;
  }

  /** Which of the following have the values, up to {@link #values()}. */
  Kind kind() {
    return kind;
  }

  /** The values' numbers in the dictionary, all of which it has. */
  int[] ids() {
    return ids;
  }

  /** Numbers; those of 4 bytes with their sign, floating-point ones by their bits. */
  long[] longs() {
    return longs;
  }

  /** Bits, as bytes of 0 and 1. */
  byte[] booleans() {
    return booleans;
  }

  /**
   * Byte strings, the i-th from {@link #starts()} to {@link #ends()}, in order, though there may be
   * other bytes between them. {@link PageBuffer#SLACK} bytes behind the last can be read.
   */
  byte[] bytes() {
    return bytes;
  }

  int[] starts() {
    return starts;
  }

  int[] ends() {
    return ends;
  }

  /** Memory that is held. */
  long memoryBytes() {
    return input.capacity()
        + definitions.length
        + repetitions.length
        + booleans.length
        + built.length
        + (long) Integer.BYTES * (ids.length + starts.length + ends.length)
        + (long) Long.BYTES * (longs.length + otherLongs.length);
  }

  /** Gives up what a huge page took; the content is undefined then. */
  void trim() {
    source = ByteBuffer.allocate(0);
    bytes = new byte[0];
    if (input.capacity() > KEEP_BYTES_MAX) {
      input.release();
    }
    definitions = kept(definitions);
    repetitions = kept(repetitions);
    booleans = kept(booleans);
    built = kept(built);
    ids = kept(ids);
    starts = kept(starts);
    ends = kept(ends);
    longs = kept(longs);
    otherLongs = kept(otherLongs);
  }

  private static byte[] kept(byte[] array) {
    return array.length > KEEP_BYTES_MAX ? new byte[0] : array;
  }

  private static int[] kept(int[] array) {
    return array.length > KEEP_BYTES_MAX / Integer.BYTES ? new int[0] : array;
  }

  private static long[] kept(long[] array) {
    return array.length > KEEP_BYTES_MAX / Long.BYTES ? new long[0] : array;
  }

  private static byte[] ensure(byte[] array, long length) {
    long needed = length + PageBuffer.SLACK;
    return array.length >= needed ? array : new byte[Math.toIntExact(needed + length / 8)];
  }

  private static int[] ensure(int[] array, int length) {
    int needed = length + RunLengthDecoder.ROOM;
    return array.length >= needed ? array : new int[needed + length / 8];
  }

  private static long[] ensure(long[] array, int length) {
    return array.length >= length ? array : new long[length + length / 8];
  }
}
