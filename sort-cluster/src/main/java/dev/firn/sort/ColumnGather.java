package dev.firn.sort;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import org.apache.arrow.vector.types.pojo.Field;
import org.jspecify.annotations.Nullable;

/**
 * Copies chosen rows of one column, which lies in one or more sources of one type, into a new
 * vector. Sources are vectors, and blocks of a spilled run, which may be exchanged. Holds the
 * addresses of their buffers: they stay the caller's and must neither change nor close while rows
 * of theirs are gathered. Not thread-safe.
 */
abstract class ColumnGather {

  private final Field field;
  private long[] validity;
  private int nullableSources;

  private ColumnGather(List<? extends FieldVector> sources) {
    this.field = sources.get(0).getField();
    this.validity = new long[sources.size()];
    for (int i = 0; i < validity.length; i++) {
      FieldVector source = sources.get(i);
      if (source.getClass() != sources.get(0).getClass()) {
        throw new IllegalArgumentException(
            "Cannot gather " + source.getField() + " together with " + field);
      }
      setValidity(i, validityOf(source));
    }
  }

  static ColumnGather of(List<? extends FieldVector> sources) {
    FieldVector first = sources.get(0);
    if (first instanceof BitVector) {
      return new Bits(sources);
    }
    if (first instanceof BaseFixedWidthVector fixed) {
      return new FixedWidth(sources, fixed.getTypeWidth());
    }
    if (first instanceof BaseVariableWidthVector) {
      return new VariableWidth(sources);
    }
    if (first instanceof StructVector) {
      return new Struct(sources);
    }
    if (first instanceof ListVector) { // a map is a list of entries
      return new Lists(sources);
    }
    throw new IllegalArgumentException("Cannot gather rows of column " + first.getField());
  }

  /**
   * The address of the vector's validity bits; 0 when no row is null, with or without bits: vectors
   * that come through the C data interface may lack them.
   */
  static long validityOf(FieldVector vector) {
    ArrowBuf buffer = vector.getValidityBuffer();
    if (buffer == null || buffer.capacity() == 0 || vector.getNullCount() == 0) {
      return 0;
    }
    return Memory.address(buffer, (vector.getValueCount() + 7L) >>> 3, "validity");
  }

  private void setValidity(int source, long address) {
    nullableSources += (address == 0 ? 0 : 1) - (validity[source] == 0 ? 0 : 1);
    validity[source] = address;
  }

  Field field() {
    return field;
  }

  /** Makes room for so many sources; those that are new have no rows. */
  void reserve(int sources) {
    validity = Arrays.copyOf(validity, sources);
  }

  /**
   * Makes a column of a block a source, in the place of what was there.
   *
   * @param rows how many rows the column has in the block
   * @param buffers stands before the column's first buffer, and moves behind its last
   */
  void load(int source, int rows, BlockBuffers buffers) {
    setValidity(source, buffers.next());
  }

  /** Whether the columns have the same type of vector, of the same width, at every depth. */
  boolean isLike(ColumnGather other) {
    return getClass() == other.getClass();
  }

  /** How many buffers the column has in a block. */
  abstract int blockBuffers();

  /**
   * Lists the buffers of a gathered vector as they lie in a block: validity bits, which have no
   * bytes if no row is null, then offsets, then values or what is below.
   */
  static void addBuffers(FieldVector vector, BlockBuffers to) {
    int count = vector.getValueCount();
    long validity = validityOf(vector);
    to.add(validity, validity == 0 ? 0 : (count + 7L) >>> 3);
    if (vector instanceof BitVector) {
      to.add(vector.getDataBuffer(), (count + 7L) >>> 3);
    } else if (vector instanceof BaseFixedWidthVector fixed) {
      to.add(vector.getDataBuffer(), (long) count * fixed.getTypeWidth());
    } else if (vector instanceof StructVector) {
      vector.getChildrenFromFields().forEach(child -> addBuffers(child, to));
    } else {
      ArrowBuf offsets = vector.getOffsetBuffer();
      to.add(offsets, count == 0 ? 0 : (count + 1L) << 2);
      if (vector instanceof BaseVariableWidthVector) {
        to.add(vector.getDataBuffer(), count == 0 ? 0 : offsets.getInt((long) count << 2));
      } else {
        addBuffers(vector.getChildrenFromFields().get(0), to);
      }
    }
  }

  /** The rows in a new vector, which the caller closes. */
  final FieldVector gather(Selection rows, BufferAllocator allocator) {
    FieldVector target = field.createVector(allocator);
    try {
      fill(rows, target, allocator);
      return target;
    } catch (Throwable failure) {
      target.close();
      throw failure;
    }
  }

  /** Makes an empty vector hold the rows. */
  abstract void fill(Selection rows, FieldVector target, BufferAllocator allocator);

  /** Whether rows differ in size. */
  abstract boolean variable();

  /** The bytes of rows {@code [from, to)} of a vector, validity bits apart. */
  abstract long bytes(int source, int from, int to);

  /**
   * Adds the bytes of each row, as {@link #bytes} has them.
   *
   * @param source the source of each row; null when all are of the first
   */
  void addBytes(int @Nullable [] source, int[] row, int count, long[] bytes) {
    for (int i = 0; i < count; i++) {
      bytes[i] += bytes(source == null ? 0 : source[i], row[i], row[i] + 1);
    }
  }

  /** Writes the rows' validity bits and returns how many rows are null. */
  final int gatherValidity(Selection rows, ArrowBuf target) {
    int count = rows.count();
    long to = target.memoryAddress();
    if (nullableSources == 0) {
      fillOnes(to, count);
      return 0;
    }
    return count - gatherBits(validity, rows, to, true);
  }

  private static void fillOnes(long to, int count) {
    int whole = count >>> 6;
    for (int word = 0; word < whole; word++) {
      MemoryUtil.putLong(to + ((long) word << 3), -1L);
    }
    if ((count & 63) != 0) {
      MemoryUtil.putLong(to + ((long) whole << 3), (1L << count) - 1);
    }
  }

  /**
   * Copies bits, 64 rows to a word, and returns how many are set. Bits past the last row are clear.
   *
   * @param bases addresses of bits; where 0, each bit counts as {@code absent}
   */
  private static int gatherBits(long[] bases, Selection rows, long to, boolean absent) {
    int[] source = rows.source();
    int[] row = rows.row();
    int count = rows.count();
    int set = 0;
    if (rows.contiguous() && count > 0) {
      long base = bases[rows.sourceOf(0)];
      for (int first = 0; first < count; first += 64) {
        int bits = Math.min(64, count - first);
        long all = -1L >>> (64 - bits);
        long word = base == 0 ? (absent ? all : 0) : bits(base, (long) row[0] + first, bits) & all;
        set += Long.bitCount(word);
        MemoryUtil.putLong(to + (first >>> 3), word);
      }
      return set;
    }
    long unset = absent ? 1 : 0;
    for (int first = 0; first < count; first += 64) {
      int end = Math.min(count, first + 64);
      long word = 0;
      for (int i = first; i < end; i++) {
        long base = bases[source == null ? 0 : source[i]];
        // Without a branch on the bit: it may be set as often as not.
        long bit =
            base == 0 ? unset : MemoryUtil.getByte(base + (row[i] >>> 3)) >>> (row[i] & 7) & 1L;
        word |= bit << i;
      }
      set += Long.bitCount(word);
      MemoryUtil.putLong(to + (first >>> 3), word);
    }
    return set;
  }

  /** Bits from an index on, the first one lowest. Reads no byte behind that of the last one. */
  private static long bits(long base, long index, int count) {
    long from = base + (index >>> 3);
    int shift = (int) (index & 7);
    int bytes = (shift + count + 7) >>> 3;
    if (bytes >= Long.BYTES) {
      long word = MemoryUtil.getLong(from) >>> shift;
      return bytes == Long.BYTES
          ? word
          : word | (MemoryUtil.getByte(from + Long.BYTES) & 0xFFL) << (64 - shift);
    }
    long word = 0;
    for (int at = 0; at < bytes; at++) {
      word |= (MemoryUtil.getByte(from + at) & 0xFFL) << (at << 3);
    }
    return word >>> shift;
  }

  /** A buffer for {@code count} bits, in whole words. */
  private static ArrowBuf bits(BufferAllocator allocator, int count) {
    return buffer(allocator, (count + 63L) >>> 6 << 3);
  }

  private static ArrowBuf buffer(BufferAllocator allocator, long bytes) {
    ArrowBuf buffer = allocator.buffer(bytes);
    buffer.writerIndex(bytes);
    return buffer;
  }

  private static final class Bits extends ColumnGather {
    private long[] data;

    Bits(List<? extends FieldVector> sources) {
      super(sources);
      data = new long[sources.size()];
      for (int i = 0; i < data.length; i++) {
        FieldVector source = sources.get(i);
        data[i] =
            Memory.address(source.getDataBuffer(), (source.getValueCount() + 7L) >>> 3, "data");
      }
    }

    @Override
    void reserve(int sources) {
      super.reserve(sources);
      data = Arrays.copyOf(data, sources);
    }

    @Override
    void load(int source, int rows, BlockBuffers buffers) {
      super.load(source, rows, buffers);
      data[source] = buffers.next();
    }

    @Override
    int blockBuffers() {
      return 2;
    }

    @Override
    void fill(Selection rows, FieldVector target, BufferAllocator allocator) {
      try (ArrowBuf validity = bits(allocator, rows.count());
          ArrowBuf values = bits(allocator, rows.count())) {
        int nulls = gatherValidity(rows, validity);
        gatherBits(data, rows, values.memoryAddress(), false);
        target.loadFieldBuffers(new ArrowFieldNode(rows.count(), nulls), List.of(validity, values));
      }
    }

    @Override
    boolean variable() {
      return false;
    }

    @Override
    long bytes(int source, int from, int to) {
      return (to - from + 7L) >>> 3;
    }
  }

  private static final class FixedWidth extends ColumnGather {
    private long[] data;
    private final int width;

    FixedWidth(List<? extends FieldVector> sources, int width) {
      super(sources);
      this.width = width;
      data = new long[sources.size()];
      for (int i = 0; i < data.length; i++) {
        FieldVector source = sources.get(i);
        if (((BaseFixedWidthVector) source).getTypeWidth() != width) {
          throw new IllegalArgumentException(
              "Cannot gather " + source.getField() + " together with " + sources.get(0).getField());
        }
        data[i] =
            Memory.address(source.getDataBuffer(), (long) source.getValueCount() * width, "data");
      }
    }

    @Override
    void reserve(int sources) {
      super.reserve(sources);
      data = Arrays.copyOf(data, sources);
    }

    @Override
    void load(int source, int rows, BlockBuffers buffers) {
      super.load(source, rows, buffers);
      data[source] = buffers.next();
    }

    @Override
    int blockBuffers() {
      return 2;
    }

    @Override
    boolean isLike(ColumnGather other) {
      return other instanceof FixedWidth fixed && fixed.width == width;
    }

    @Override
    void fill(Selection rows, FieldVector target, BufferAllocator allocator) {
      try (ArrowBuf validity = bits(allocator, rows.count());
          ArrowBuf values = buffer(allocator, (long) rows.count() * width)) {
        int nulls = gatherValidity(rows, validity);
        if (rows.count() > 0) {
          gatherValues(rows, values.memoryAddress());
        }
        target.loadFieldBuffers(new ArrowFieldNode(rows.count(), nulls), List.of(validity, values));
      }
    }

    private void gatherValues(Selection rows, long to) {
      if (rows.contiguous()) {
        long from = data[rows.sourceOf(0)] + (long) rows.row()[0] * width;
        MemoryUtil.copyMemory(from, to, (long) rows.count() * width);
      } else if (width == 8) {
        gather8(data, rows.source(), rows.row(), rows.count(), to);
      } else if (width == 4) {
        gather4(data, rows.source(), rows.row(), rows.count(), to);
      } else {
        gatherAny(data, rows.source(), rows.row(), rows.count(), to, width);
      }
    }

    private static void gather8(long[] from, int @Nullable [] source, int[] row, int n, long to) {
      if (source == null) {
        long base = from[0];
        for (int i = 0; i < n; i++) {
          MemoryUtil.putLong(to + ((long) i << 3), MemoryUtil.getLong(base + ((long) row[i] << 3)));
        }
      } else {
        for (int i = 0; i < n; i++) {
          long at = from[source[i]] + ((long) row[i] << 3);
          MemoryUtil.putLong(to + ((long) i << 3), MemoryUtil.getLong(at));
        }
      }
    }

    private static void gather4(long[] from, int @Nullable [] source, int[] row, int n, long to) {
      if (source == null) {
        long base = from[0];
        for (int i = 0; i < n; i++) {
          MemoryUtil.putInt(to + ((long) i << 2), MemoryUtil.getInt(base + ((long) row[i] << 2)));
        }
      } else {
        for (int i = 0; i < n; i++) {
          long at = from[source[i]] + ((long) row[i] << 2);
          MemoryUtil.putInt(to + ((long) i << 2), MemoryUtil.getInt(at));
        }
      }
    }

    private static void gatherAny(
        long[] from, int @Nullable [] source, int[] row, int n, long to, int width) {
      for (int i = 0; i < n; i++) {
        long at = from[source == null ? 0 : source[i]] + (long) row[i] * width;
        Memory.copy(at, to + (long) i * width, width);
      }
    }

    @Override
    boolean variable() {
      return false;
    }

    @Override
    long bytes(int source, int from, int to) {
      return (long) (to - from) * width;
    }
  }

  /** Offsets of a variable-width or list column: where each row's range lies in what is below. */
  private static final class Offsets {
    long[] bases;

    /**
     * @param bases the address of each vector's offsets; 0 for a vector without rows
     */
    Offsets(long[] bases) {
      this.bases = bases;
    }

    static long of(FieldVector source) {
      int count = source.getValueCount();
      return Memory.address(source.getOffsetBuffer(), count == 0 ? 0 : (count + 1L) << 2, "offset");
    }

    int at(int source, int row) {
      long base = bases[source];
      return base == 0 ? 0 : MemoryUtil.getInt(base + ((long) row << 2));
    }

    /**
     * Writes the offsets of the rows, from 0, null rows empty whatever lies under them.
     *
     * @param valid the address of the rows' own validity bits
     * @return where the last row ends
     */
    int gather(Selection rows, long valid, int nulls, long to, Field field) {
      int[] source = rows.source();
      int[] row = rows.row();
      int count = rows.count();
      long end = 0;
      MemoryUtil.putInt(to, 0);
      for (int i = 0; i < count; i++) {
        if (nulls == 0 || Memory.bit(valid, i)) {
          long at = bases[source == null ? 0 : source[i]] + ((long) row[i] << 2);
          end += MemoryUtil.getInt(at + 4) - MemoryUtil.getInt(at);
        }
        MemoryUtil.putInt(to + ((i + 1L) << 2), (int) end);
        if (end > Integer.MAX_VALUE) {
          throw new IllegalArgumentException(
              "Cannot gather "
                  + count
                  + " rows of column "
                  + field
                  + " into one vector: they hold"
                  + " more than 2^31 bytes or elements. Gather fewer rows at once.");
        }
      }
      return (int) end;
    }
  }

  private static final class VariableWidth extends ColumnGather {
    private static final int AT_ONCE = 64;

    private final Offsets offsets;

    /** So that looking is not optimized away. */
    @SuppressWarnings("unused")
    private int looked;

    private long[] data;

    VariableWidth(List<? extends FieldVector> sources) {
      super(sources);
      offsets = new Offsets(new long[sources.size()]);
      data = new long[sources.size()];
      for (int i = 0; i < data.length; i++) {
        FieldVector source = sources.get(i);
        offsets.bases[i] = Offsets.of(source);
        data[i] =
            Memory.address(source.getDataBuffer(), offsets.at(i, source.getValueCount()), "data");
      }
    }

    @Override
    void reserve(int sources) {
      super.reserve(sources);
      offsets.bases = Arrays.copyOf(offsets.bases, sources);
      data = Arrays.copyOf(data, sources);
    }

    @Override
    void load(int source, int rows, BlockBuffers buffers) {
      super.load(source, rows, buffers);
      offsets.bases[source] = buffers.next();
      data[source] = buffers.next();
    }

    @Override
    int blockBuffers() {
      return 3;
    }

    @Override
    void addBytes(int @Nullable [] source, int[] row, int count, long[] bytes) {
      long[] bases = offsets.bases;
      for (int i = 0; i < count; i++) {
        long at = bases[source == null ? 0 : source[i]] + ((long) row[i] << 2);
        bytes[i] += 4 + MemoryUtil.getInt(at + 4) - MemoryUtil.getInt(at);
      }
    }

    @Override
    void fill(Selection rows, FieldVector target, BufferAllocator allocator) {
      int count = rows.count();
      try (ArrowBuf validity = bits(allocator, count);
          ArrowBuf ends = buffer(allocator, (count + 1L) << 2)) {
        int nulls = gatherValidity(rows, validity);
        int bytes =
            offsets.gather(
                rows, validity.memoryAddress(), nulls, ends.memoryAddress(), target.getField());
        try (ArrowBuf values = buffer(allocator, bytes)) {
          if (bytes > 0) {
            gatherValues(rows, nulls, ends.memoryAddress(), bytes, values.memoryAddress());
          }
          target.loadFieldBuffers(
              new ArrowFieldNode(count, nulls), List.of(validity, ends, values));
        }
      }
    }

    private void gatherValues(Selection rows, int nulls, long ends, int bytes, long to) {
      if (rows.contiguous() && nulls == 0) {
        int source = rows.sourceOf(0);
        MemoryUtil.copyMemory(data[source] + offsets.at(source, rows.row()[0]), to, bytes);
        return;
      }
      if (rows.scattered()) {
        gatherScattered(rows, ends, to);
        return;
      }
      int[] source = rows.source();
      int[] row = rows.row();
      long[] bases = offsets.bases;
      int start = 0;
      for (int i = 0; i < rows.count(); i++) {
        int end = MemoryUtil.getInt(ends + ((i + 1L) << 2));
        if (end > start) {
          int s = source == null ? 0 : source[i];
          long from = data[s] + MemoryUtil.getInt(bases[s] + ((long) row[i] << 2));
          Memory.copy(from, to + start, end - start);
        }
        start = end;
      }
    }

    private void gatherScattered(Selection rows, long ends, long to) {
      long[] addresses = new long[AT_ONCE];
      for (int first = 0; first < rows.count(); first += AT_ONCE) {
        int count = Math.min(AT_ONCE, rows.count() - first);
        find(rows, first, count, ends, addresses);
        int start = MemoryUtil.getInt(ends + ((long) first << 2));
        for (int i = 0; i < count; i++) {
          int end = MemoryUtil.getInt(ends + ((first + i + 1L) << 2));
          Memory.copy(addresses[i], to + start, end - start);
          start = end;
        }
      }
    }

    /**
     * Says where values lie, and has looked at them: they come from anywhere, and while one is
     * copied at a time, each waits for its memory by itself.
     */
    private void find(Selection rows, int first, int count, long ends, long[] addresses) {
      int[] source = rows.source();
      int[] row = rows.row();
      long[] bases = offsets.bases;
      long[] bytes = data;
      int seen = 0;
      for (int i = 0; i < count; i++) {
        int s = source == null ? 0 : source[first + i];
        long at = bases[s] + ((long) row[first + i] << 2);
        long address = bytes[s] + MemoryUtil.getInt(at);
        addresses[i] = address;
        long end = ends + ((long) (first + i) << 2);
        int length = MemoryUtil.getInt(end + 4) - MemoryUtil.getInt(end);
        if (length > 0) {
          seen += MemoryUtil.getByte(address) + MemoryUtil.getByte(address + length - 1);
        }
      }
      looked = seen;
    }

    @Override
    boolean variable() {
      return true;
    }

    @Override
    long bytes(int source, int from, int to) {
      return ((long) (to - from) << 2) + offsets.at(source, to) - offsets.at(source, from);
    }
  }

  private static final class Struct extends ColumnGather {
    private final ColumnGather[] children;

    Struct(List<? extends FieldVector> sources) {
      super(sources);
      int width = sources.get(0).getChildrenFromFields().size();
      children = new ColumnGather[width];
      for (int child = 0; child < width; child++) {
        List<FieldVector> vectors = new ArrayList<>(sources.size());
        for (FieldVector source : sources) {
          FieldVector vector = source.getChildrenFromFields().get(child);
          if (vector.getValueCount() < source.getValueCount()) {
            throw new IllegalArgumentException(
                "Column "
                    + source.getField()
                    + " has "
                    + source.getValueCount()
                    + " rows but its"
                    + " field "
                    + vector.getName()
                    + " has "
                    + vector.getValueCount());
          }
          vectors.add(vector);
        }
        children[child] = ColumnGather.of(vectors);
      }
    }

    @Override
    void reserve(int sources) {
      super.reserve(sources);
      for (ColumnGather child : children) {
        child.reserve(sources);
      }
    }

    @Override
    void load(int source, int rows, BlockBuffers buffers) {
      super.load(source, rows, buffers);
      for (ColumnGather child : children) {
        child.load(source, rows, buffers);
      }
    }

    @Override
    int blockBuffers() {
      int buffers = 1;
      for (ColumnGather child : children) {
        buffers += child.blockBuffers();
      }
      return buffers;
    }

    @Override
    boolean isLike(ColumnGather other) {
      if (!(other instanceof Struct struct) || struct.children.length != children.length) {
        return false;
      }
      for (int child = 0; child < children.length; child++) {
        if (!children[child].isLike(struct.children[child])) {
          return false;
        }
      }
      return true;
    }

    @Override
    void fill(Selection rows, FieldVector target, BufferAllocator allocator) {
      List<FieldVector> targets = target.getChildrenFromFields();
      for (int child = 0; child < children.length; child++) {
        children[child].fill(rows, targets.get(child), allocator);
      }
      try (ArrowBuf validity = bits(allocator, rows.count())) {
        int nulls = gatherValidity(rows, validity);
        target.loadFieldBuffers(new ArrowFieldNode(rows.count(), nulls), List.of(validity));
      }
    }

    @Override
    boolean variable() {
      for (ColumnGather child : children) {
        if (child.variable()) {
          return true;
        }
      }
      return false;
    }

    @Override
    long bytes(int source, int from, int to) {
      long bytes = 0;
      for (ColumnGather child : children) {
        bytes += child.bytes(source, from, to);
      }
      return bytes;
    }
  }

  private static final class Lists extends ColumnGather {
    private final Offsets offsets;
    private final ColumnGather elements;

    Lists(List<? extends FieldVector> sources) {
      super(sources);
      offsets = new Offsets(new long[sources.size()]);
      List<FieldVector> vectors = new ArrayList<>(sources.size());
      for (int i = 0; i < sources.size(); i++) {
        FieldVector source = sources.get(i);
        FieldVector vector = source.getChildrenFromFields().get(0);
        offsets.bases[i] = Offsets.of(source);
        int end = offsets.at(i, source.getValueCount());
        if (vector.getValueCount() < end) {
          throw new IllegalArgumentException(
              "Column "
                  + source.getField()
                  + " has lists of "
                  + end
                  + " elements together but only "
                  + vector.getValueCount()
                  + " elements");
        }
        vectors.add(vector);
      }
      elements = ColumnGather.of(vectors);
    }

    @Override
    void reserve(int sources) {
      super.reserve(sources);
      offsets.bases = Arrays.copyOf(offsets.bases, sources);
      elements.reserve(sources);
    }

    @Override
    void load(int source, int rows, BlockBuffers buffers) {
      super.load(source, rows, buffers);
      offsets.bases[source] = buffers.next();
      elements.load(source, offsets.at(source, rows), buffers);
    }

    @Override
    int blockBuffers() {
      return 2 + elements.blockBuffers();
    }

    @Override
    boolean isLike(ColumnGather other) {
      return other instanceof Lists lists && elements.isLike(lists.elements);
    }

    @Override
    void fill(Selection rows, FieldVector target, BufferAllocator allocator) {
      int count = rows.count();
      try (ArrowBuf validity = bits(allocator, count);
          ArrowBuf ends = buffer(allocator, (count + 1L) << 2)) {
        int nulls = gatherValidity(rows, validity);
        int total =
            offsets.gather(
                rows, validity.memoryAddress(), nulls, ends.memoryAddress(), target.getField());
        elements.fill(
            elementsOf(rows, ends.memoryAddress(), total),
            target.getChildrenFromFields().get(0),
            allocator);
        target.loadFieldBuffers(new ArrowFieldNode(count, nulls), List.of(validity, ends));
      }
    }

    private Selection elementsOf(Selection rows, long ends, int total) {
      int[] source = rows.source();
      int[] elementSource = source == null ? null : new int[total];
      int[] elementRow = new int[total];
      int at = 0;
      for (int i = 0; i < rows.count(); i++) {
        int end = MemoryUtil.getInt(ends + ((i + 1L) << 2));
        int s = source == null ? 0 : source[i];
        for (int element = end > at ? offsets.at(s, rows.row()[i]) : 0; at < end; at++) {
          elementRow[at] = element++;
          if (elementSource != null) {
            elementSource[at] = s;
          }
        }
      }
      return Selection.ofRows(elementSource, elementRow, total);
    }

    @Override
    boolean variable() {
      return true;
    }

    @Override
    long bytes(int source, int from, int to) {
      int first = offsets.at(source, from);
      int end = offsets.at(source, to);
      // An element costs an index while it is gathered, however small it is itself.
      return ((long) (to - from) << 2)
          + ((long) (end - first) << 3)
          + elements.bytes(source, first, end);
    }
  }
}
