package dev.firn.engine.parquet;

import java.nio.ByteOrder;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.FieldVector;
import org.apache.parquet.format.Type;
import org.jspecify.annotations.Nullable;

/**
 * Puts the values of pages into the buffers of a vector, one page behind the other. The number of
 * rows is known from the start. Closing it releases what was not loaded into a vector.
 */
final class VectorFill implements AutoCloseable {
  /* Copies of strings may write so many bytes too many. */
  private static final int SLACK = Long.BYTES;

  /* Longer strings are copied by the JDK. */
  private static final int SHORT_BYTES_MAX = 64;

  /* Pages whose entries in a dictionary are so long in all are decoded by Arrow. */
  private static final long STRING_BYTES_MAX = 128L << 20;

  private final ViewSchema.Leaf leaf;
  private final int rows;
  private final BufferAllocator allocator;
  private final ArrowBuf data; // offsets, of byte strings
  private @Nullable ArrowBuf bytes; // of byte strings; null for others
  private @Nullable ArrowBuf validity; // null as long as nothing is
  private int filled;
  private int nulls;
  private int byteCount;

  /**
   * @param bytesExpected of byte strings
   * @throws org.apache.arrow.memory.OutOfMemoryException if there is no room
   */
  VectorFill(ViewSchema.Leaf leaf, int rows, long bytesExpected, BufferAllocator allocator) {
    this.leaf = leaf;
    this.rows = rows;
    this.allocator = allocator;
    this.data = allocator.buffer(dataBytes());
    boolean done = false;
    try {
      if (isOfBytes()) {
        bytes = allocator.buffer(bytesExpected + SLACK);
        data.setInt(0, 0);
      } else if (leaf.type() == Type.BOOLEAN) {
        data.setZero(0, data.capacity());
      }
      done = true;
    } finally {
      if (!done) {
        data.close();
      }
    }
  }

  private boolean isOfBytes() {
    return leaf.type() == Type.BYTE_ARRAY;
  }

  private long dataBytes() {
    return switch (leaf.type()) {
      case BYTE_ARRAY -> (rows + 1L) * Integer.BYTES;
      case BOOLEAN -> (rows + 63L) / 64 * Long.BYTES;
      default -> (long) rows * leaf.width() + SLACK;
    };
  }

  /** Bytes of strings so far. */
  int byteCount() {
    return byteCount;
  }

  /** Adds rows of another vector of the same leaf. */
  void add(FieldVector source, int start, int count) {
    ArrowBuf bits = source.getValidityBuffer();
    if (source.getNullCount() > 0) {
      ArrowBuf target = ensureValidity();
      for (int row = 0; row < count; row++) {
        if (Bits.isSet(bits, start + (long) row)) {
          setBit(target, filled + row);
        } else {
          nulls++;
        }
      }
    } else if (validity != null) {
      setBits(validity, filled, count);
    }
    switch (leaf.type()) {
      case BYTE_ARRAY -> addStrings(source, start, count);
      case BOOLEAN -> {
        ArrowBuf from = source.getDataBuffer();
        for (int row = 0; row < count; row++) {
          if (Bits.isSet(from, start + (long) row)) {
            setBit(data, filled + row);
          }
        }
      }
      default -> {
        long width = leaf.width();
        MemoryUtil.copyMemory(
            source.getDataBuffer().memoryAddress() + start * width,
            data.memoryAddress() + filled * width,
            count * width);
      }
    }
    filled += count;
  }

  private void addStrings(FieldVector source, int start, int count) {
    ArrowBuf offsets = source.getOffsetBuffer();
    int first = offsets.getInt((long) start * Integer.BYTES);
    int length = offsets.getInt(((long) start + count) * Integer.BYTES) - first;
    ArrowBuf target = ensureBytes(length);
    MemoryUtil.copyMemory(
        source.getDataBuffer().memoryAddress() + first, target.memoryAddress() + byteCount, length);
    int shift = byteCount - first;
    long from = offsets.memoryAddress() + (start + 1L) * Integer.BYTES;
    long to = data.memoryAddress() + (filled + 1L) * Integer.BYTES;
    for (long at = 0; at < (long) count * Integer.BYTES; at += Integer.BYTES) {
      MemoryUtil.putInt(to + at, MemoryUtil.getInt(from + at) + shift);
    }
    byteCount += length;
  }

  /**
   * Adds all rows of a page.
   *
   * @param dictionary of its chunk; null if it has none
   */
  void add(PageContent page, @Nullable SourceDictionary dictionary) {
    int count = page.entries();
    if (count > rows - filled) {
      throw new IllegalStateException(count + " rows more than there are");
    }
    if (!page.isAllDefined()) {
      define(page.definitions(), count);
      nulls += count - page.values();
    } else if (validity != null) {
      setBits(validity, filled, count);
    }
    byte @Nullable [] defined = page.isAllDefined() ? null : page.definitions();
    if (page.values() == 0) {
      addNulls(count);
    } else {
      addValues(page, dictionary, defined, count);
    }
    filled += count;
  }

  private void addValues(
      PageContent page,
      @Nullable SourceDictionary dictionary,
      byte @Nullable [] defined,
      int count) {
    boolean isOfIds = page.kind() == PageContent.Kind.IDS;
    if (isOfIds && dictionary == null) {
      throw new MalformedPageException("a page has numbers but its chunk no dictionary");
    }
    switch (leaf.type()) {
      case INT32, FLOAT -> {
        long to = data.memoryAddress() + (long) filled * Integer.BYTES;
        if (isOfIds && dictionary != null) {
          ints(page.ids(), dictionary.longs(), defined, count, to);
        } else {
          ints(page.longs(), defined, count, to);
        }
      }
      case INT64, DOUBLE -> {
        long to = data.memoryAddress() + (long) filled * Long.BYTES;
        if (isOfIds && dictionary != null) {
          longs(page.ids(), dictionary.longs(), defined, count, to);
        } else if (defined == null) {
          data.nioBuffer((long) filled * Long.BYTES, count * Long.BYTES)
              .order(ByteOrder.LITTLE_ENDIAN)
              .asLongBuffer()
              .put(page.longs(), 0, count);
        } else {
          longs(page.longs(), defined, count, to);
        }
      }
      case BOOLEAN -> booleans(page.booleans(), defined, count);
      case BYTE_ARRAY -> {
        if (isOfIds && dictionary != null) {
          strings(page.ids(), dictionary, defined, count, page.values());
        } else {
          strings(page, defined, count);
        }
      }
      default -> {
        if (isOfIds && dictionary != null) {
          fixed(page.ids(), dictionary.bytes(), dictionary.starts(), defined, count);
        } else {
          fixed(null, page.bytes(), page.starts(), defined, count);
        }
      }
    }
  }

  private void addNulls(int count) {
    if (!isOfBytes()) {
      if (leaf.type() != Type.BOOLEAN) {
        data.setZero((long) filled * leaf.width(), (long) count * leaf.width());
      }
      return;
    }
    long to = data.memoryAddress() + (filled + 1L) * Integer.BYTES;
    for (int row = 0; row < count; row++) {
      MemoryUtil.putInt(to + (long) row * Integer.BYTES, byteCount);
    }
  }

  private static void ints(long[] values, byte @Nullable [] defined, int count, long to) {
    if (defined == null) {
      for (int row = 0; row < count; row++) {
        MemoryUtil.putInt(to + ((long) row << 2), (int) values[row]);
      }
      return;
    }
    int value = 0;
    for (int row = 0; row < count; row++) {
      MemoryUtil.putInt(to + ((long) row << 2), defined[row] == 0 ? 0 : (int) values[value]);
      value += defined[row];
    }
  }

  private static void ints(
      int[] ids, long[] entries, byte @Nullable [] defined, int count, long to) {
    if (defined == null) {
      for (int row = 0; row < count; row++) {
        MemoryUtil.putInt(to + ((long) row << 2), (int) entries[ids[row]]);
      }
      return;
    }
    int value = 0;
    for (int row = 0; row < count; row++) {
      MemoryUtil.putInt(to + ((long) row << 2), defined[row] == 0 ? 0 : (int) entries[ids[value]]);
      value += defined[row];
    }
  }

  private static void longs(long[] values, byte[] defined, int count, long to) {
    int value = 0;
    for (int row = 0; row < count; row++) {
      MemoryUtil.putLong(to + ((long) row << 3), defined[row] == 0 ? 0 : values[value]);
      value += defined[row];
    }
  }

  private static void longs(
      int[] ids, long[] entries, byte @Nullable [] defined, int count, long to) {
    if (defined == null) {
      for (int row = 0; row < count; row++) {
        MemoryUtil.putLong(to + ((long) row << 3), entries[ids[row]]);
      }
      return;
    }
    int value = 0;
    for (int row = 0; row < count; row++) {
      MemoryUtil.putLong(to + ((long) row << 3), defined[row] == 0 ? 0 : entries[ids[value]]);
      value += defined[row];
    }
  }

  private void booleans(byte[] values, byte @Nullable [] defined, int count) {
    int value = 0;
    long address = data.memoryAddress();
    for (int row = 0; row < count; ) {
      int at = filled + row;
      int end = Math.min(count, row + 64 - (at & 63));
      long word = 0;
      for (; row < end; row++) {
        boolean isSet = (defined == null || defined[row] != 0) && values[value] != 0;
        word |= (isSet ? 1L : 0L) << (filled + row);
        value += defined == null ? 1 : defined[row];
      }
      long place = address + ((long) at >>> 6 << 3);
      MemoryUtil.putLong(place, MemoryUtil.getLong(place) | word);
    }
  }

  private void fixed(
      int @Nullable [] ids, byte[] from, int[] starts, byte @Nullable [] defined, int count) {
    int width = leaf.width();
    long to = data.memoryAddress() + (long) filled * width;
    int value = 0;
    for (int row = 0; row < count; row++, to += width) {
      if (defined != null && defined[row] == 0) {
        data.setZero(to - data.memoryAddress(), width);
        continue;
      }
      copy(from, starts[ids == null ? value : ids[value]], to, width);
      value++;
    }
  }

  private void strings(PageContent page, byte @Nullable [] defined, int count) {
    int[] starts = page.starts();
    int[] ends = page.ends();
    int values = page.values();
    long total = 0;
    for (int value = 0; value < values; value++) {
      total += ends[value] - starts[value];
    }
    ArrowBuf target = ensureBytes(total);
    byte[] from = page.bytes();
    long start = target.memoryAddress();
    long offsets = data.memoryAddress() + (filled + 1L) * Integer.BYTES;
    int at = byteCount;
    int value = 0;
    for (int row = 0; row < count; row++) {
      if (defined == null || defined[row] != 0) {
        int length = ends[value] - starts[value];
        copy(from, starts[value], start + at, length);
        at += length;
        value++;
      }
      MemoryUtil.putInt(offsets + ((long) row << 2), at);
    }
    byteCount = at;
  }

  private void strings(
      int[] ids, SourceDictionary dictionary, byte @Nullable [] defined, int count, int values) {
    int[] starts = dictionary.starts();
    int[] ends = dictionary.ends();
    long total = 0;
    for (int value = 0; value < values; value++) {
      total += ends[ids[value]] - starts[ids[value]];
    }
    ArrowBuf target = ensureBytes(total);
    byte[] from = dictionary.bytes();
    long start = target.memoryAddress();
    long offsets = data.memoryAddress() + (filled + 1L) * Integer.BYTES;
    int at = byteCount;
    int value = 0;
    for (int row = 0; row < count; row++) {
      if (defined == null || defined[row] != 0) {
        int id = ids[value++];
        int length = ends[id] - starts[id];
        copy(from, starts[id], start + at, length);
        at += length;
      }
      MemoryUtil.putInt(offsets + ((long) row << 2), at);
    }
    byteCount = at;
  }

  /* Reads and writes up to seven bytes more. */
  private static void copy(byte[] from, int start, long to, int length) {
    if (length <= SHORT_BYTES_MAX) {
      for (int k = 0; k < length; k += Long.BYTES) {
        MemoryUtil.putLong(to + k, (long) PageBuffer.LONG.get(from, start + k));
      }
    } else {
      MemoryUtil.copyToMemory(from, start, to, length);
    }
  }

  /* Room for so many bytes of strings more. */
  private ArrowBuf ensureBytes(long more) {
    ArrowBuf current = bytes;
    if (current == null) {
      throw new IllegalStateException("The values have no bytes of their own");
    }
    long needed = byteCount + more + SLACK;
    if (needed > STRING_BYTES_MAX) {
      throw new UnsupportedPageException("its strings have " + more + " bytes");
    }
    if (needed > current.capacity()) {
      ArrowBuf larger = allocator.buffer(Math.max(needed, current.capacity() / 2 * 3));
      MemoryUtil.copyMemory(current.memoryAddress(), larger.memoryAddress(), byteCount);
      current.close();
      bytes = larger;
      return larger;
    }
    return current;
  }

  private ArrowBuf ensureValidity() {
    ArrowBuf bits = validity;
    if (bits == null) {
      bits = allocator.buffer((rows + 63L) / 64 * Long.BYTES);
      bits.setZero(0, bits.capacity());
      validity = bits;
      setBits(bits, 0, filled);
    }
    return bits;
  }

  private static void setBit(ArrowBuf bits, int bit) {
    long place = bits.memoryAddress() + ((long) bit >>> 3);
    MemoryUtil.putByte(place, (byte) (MemoryUtil.getByte(place) | 1 << (bit & 7)));
  }

  private static void setBits(ArrowBuf bits, int from, int count) {
    long address = bits.memoryAddress();
    int end = from + count;
    for (int bit = from; bit < end; ) {
      int to = Math.min(end, (bit & ~63) + 64);
      long word = -1L >>> 64 - (to - bit) << bit;
      long place = address + ((long) bit >>> 6 << 3);
      MemoryUtil.putLong(place, MemoryUtil.getLong(place) | word);
      bit = to;
    }
  }

  private void define(byte[] defined, int count) {
    long address = ensureValidity().memoryAddress();
    for (int row = 0; row < count; ) {
      int at = filled + row;
      int end = Math.min(count, row + 64 - (at & 63));
      long word = 0;
      for (; row < end; row++) {
        word |= (long) defined[row] << (filled + row);
      }
      long place = address + ((long) at >>> 6 << 3);
      MemoryUtil.putLong(place, MemoryUtil.getLong(place) | word);
    }
  }

  /** Loads all rows into a vector, which holds the memory then. */
  void loadInto(FieldVector vector) {
    if (filled != rows) {
      throw new IllegalStateException(filled + " of " + rows + " rows are there");
    }
    ArrowBuf bits = nulls == 0 || validity == null ? allocator.getEmpty() : validity;
    if (bytes != null) {
      Reading.load(vector, rows, nulls, bits, data, bytes);
    } else {
      Reading.load(vector, rows, nulls, bits, data);
    }
  }

  @Override
  public void close() {
    data.close();
    if (bytes != null) {
      bytes.close();
    }
    if (validity != null) {
      validity.close();
    }
  }
}
