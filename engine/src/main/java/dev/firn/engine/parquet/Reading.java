package dev.firn.engine.parquet;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import org.jspecify.annotations.Nullable;

/**
 * How the values of one field of a batch come from a field of a view, or from nothing. Stateless,
 * so that many batches can be read at once.
 *
 * <p>A source holds more rows than a batch, which takes {@code length} of them. What needs no cast
 * shares the source's memory. Values that do not fit the type of the table raise an {@link
 * ArithmeticException}, which the caller gives the name of the file.
 */
abstract class Reading {
  /** The name of the field in the table, for messages. */
  final String path;

  /** Whether a null is an error: the table requires what the file leaves optional (S7). */
  boolean nullsRefused;

  Reading(String path) {
    this.path = path;
  }

  /** Replaces what {@code target} holds. The source is null where the view has none. */
  abstract void read(@Nullable Stored source, int length, FieldVector target);

  /** Like read, for the field of a batch whose first row is at {@code position} of its file. */
  void readAt(long position, @Nullable Stored source, int length, FieldVector target) {
    read(source, length, target);
  }

  /** Whether {@link #refuseNulls} has anything to look at, here or below. */
  boolean mayRefuse() {
    return nullsRefused;
  }

  /**
   * Checks that what the table requires is there in the rows just read.
   *
   * @param wanted the values that count, as {@code live} selections: those of rows that are live,
   *     below parents that are not null
   */
  void refuseNulls(long[] wanted, int length, FieldVector target) {
    if (!nullsRefused || target.getNullCount() == 0) {
      return;
    }
    int nulls = Bits.clearUnder(target.getValidityBuffer(), wanted, length);
    if (nulls > 0) {
      throw new ArithmeticException(
          "the table requires column " + path + " but the file holds " + nulls + " nulls in it");
    }
  }

  /** Loads {@code target} with the validity of the source's rows and the given further buffers. */
  static void load(
      FieldVector source, int start, int length, FieldVector target, ArrowBuf... buffers) {
    ArrowBuf bits = source.getValidityBuffer();
    int nulls = bits == null || bits.capacity() == 0 ? 0 : length - Bits.count(bits, start, length);
    if (nulls == 0) {
      load(target, length, 0, target.getAllocator().getEmpty(), buffers);
    } else {
      try (ArrowBuf validity = Bits.slice(bits, start, length, target.getAllocator())) {
        load(target, length, nulls, validity, buffers);
      }
    }
  }

  /** Loads {@code target}; a validity of no bytes means all valid, or all null if nulls=length. */
  static void load(
      FieldVector target, int length, int nulls, ArrowBuf validity, ArrowBuf... buffers) {
    List<ArrowBuf> all = new ArrayList<>(buffers.length + 1);
    all.add(validity);
    all.addAll(List.of(buffers));
    target.loadFieldBuffers(new ArrowFieldNode(length, nulls), all);
  }

  /** The offsets of rows, counted from the first's. The caller releases them. */
  private static ArrowBuf movedOffsets(
      ArrowBuf offsets, int start, int length, int first, BufferAllocator allocator) {
    if (first == 0) {
      long bytes = (length + 1L) * Integer.BYTES;
      return SharedMemory.slice(offsets, (long) start * Integer.BYTES, bytes, allocator);
    }
    ArrowBuf moved = allocator.buffer((length + 1L) * Integer.BYTES);
    long from = (long) start * Integer.BYTES;
    for (long at = 0; at <= (long) length * Integer.BYTES; at += Integer.BYTES) {
      moved.setInt(at, offsets.getInt(from + at) - first);
    }
    return moved;
  }

  /** Values of a fixed number of bytes, as they are. */
  static final class Fixed extends Reading {
    private final int width;

    Fixed(String path, int width) {
      super(path);
      this.width = width;
    }

    @Override
    void read(@Nullable Stored source, int length, FieldVector target) {
      if (length == 0) {
        target.clear();
        return;
      }
      Stored stored = Stored.present(source);
      FieldVector from = stored.vector();
      int start = stored.start();
      long first = (long) start * width;
      try (ArrowBuf data =
          SharedMemory.slice(
              from.getDataBuffer(), first, (long) length * width, target.getAllocator())) {
        load(from, start, length, target, data);
      }
    }
  }

  /** Booleans, as they are. */
  static final class Booleans extends Reading {
    Booleans(String path) {
      super(path);
    }

    @Override
    void read(@Nullable Stored source, int length, FieldVector target) {
      if (length == 0) {
        target.clear();
        return;
      }
      Stored stored = Stored.present(source);
      FieldVector from = stored.vector();
      int start = stored.start();
      try (ArrowBuf data = Bits.slice(from.getDataBuffer(), start, length, target.getAllocator())) {
        load(from, start, length, target, data);
      }
    }
  }

  /** Strings and binaries, byte by byte as they are (S19). */
  static final class Binaries extends Reading {
    Binaries(String path) {
      super(path);
    }

    @Override
    void read(@Nullable Stored source, int length, FieldVector target) {
      if (length == 0) {
        target.clear();
        return;
      }
      Stored stored = Stored.present(source);
      FieldVector from = stored.vector();
      int start = stored.start();
      ArrowBuf offsets = from.getOffsetBuffer();
      int first = offsets.getInt((long) start * Integer.BYTES);
      int bytes = offsets.getInt(((long) start + length) * Integer.BYTES) - first;
      BufferAllocator allocator = target.getAllocator();
      try (ArrowBuf moved = movedOffsets(offsets, start, length, first, allocator);
          ArrowBuf data = SharedMemory.slice(from.getDataBuffer(), first, bytes, allocator)) {
        load(from, start, length, target, moved, data);
      }
    }
  }

  /** Values of a fixed number of bytes as binaries. */
  static final class FixedAsBinary extends Reading {
    private final int width;

    FixedAsBinary(String path, int width) {
      super(path);
      this.width = width;
    }

    @Override
    void read(@Nullable Stored source, int length, FieldVector target) {
      if (length == 0) {
        target.clear();
        return;
      }
      Stored stored = Stored.present(source);
      FieldVector from = stored.vector();
      int start = stored.start();
      long first = (long) start * width;
      BufferAllocator allocator = target.getAllocator();
      try (ArrowBuf data =
              SharedMemory.slice(from.getDataBuffer(), first, (long) length * width, allocator);
          ArrowBuf offsets = allocator.buffer((length + 1L) * Integer.BYTES)) {
        for (int row = 0; row <= length; row++) {
          offsets.setInt((long) row * Integer.BYTES, row * width);
        }
        load(from, start, length, target, offsets, data);
      }
    }
  }

  /** Makes values of a fixed number of bytes from others. */
  @FunctionalInterface
  interface Cast {
    /**
     * @throws ArithmeticException if a value that is not null does not fit
     */
    void run(FieldVector source, int start, int length, ArrowBuf target);
  }

  /** Values that a cast makes. */
  static final class Casted extends Reading {
    private final Cast cast;
    private final int width;

    Casted(String path, int width, Cast cast) {
      super(path);
      this.width = width;
      this.cast = cast;
    }

    @Override
    void read(@Nullable Stored source, int length, FieldVector target) {
      if (length == 0) {
        target.clear();
        return;
      }
      Stored stored = Stored.present(source);
      FieldVector from = stored.vector();
      int start = stored.start();
      try (ArrowBuf data = target.getAllocator().buffer((long) length * width)) {
        try {
          cast.run(from, start, length, data);
        } catch (ArithmeticException unfit) {
          throw new ArithmeticException("column " + path + ": " + unfit.getMessage());
        }
        load(from, start, length, target, data);
      }
    }
  }

  /** A struct, of children that the view has or that are filled in (S4, S11). */
  static final class Struct extends Reading {
    private final Reading[] children;
    private final FileField[] sources;

    /**
     * @param sources for each child its field in the file, or null if it is filled in
     */
    Struct(String path, Reading[] children, @Nullable FileField[] sources) {
      super(path);
      this.children = children;
      this.sources = sources;
    }

    @Override
    void read(@Nullable Stored source, int length, FieldVector target) {
      if (length == 0) {
        target.clear();
        return;
      }
      Stored stored = Stored.present(source);
      StructVector to = (StructVector) target;
      load(stored.vector(), stored.start(), length, to);
      for (int i = 0; i < children.length; i++) {
        FileField field = sources[i];
        Stored child = field == null ? null : stored.child(field);
        FieldVector toChild = (FieldVector) to.getChildByOrdinal(i);
        children[i].read(child, length, toChild);
      }
    }

    @Override
    boolean mayRefuse() {
      return nullsRefused || Arrays.stream(children).anyMatch(Reading::mayRefuse);
    }

    @Override
    void refuseNulls(long[] wanted, int length, FieldVector target) {
      super.refuseNulls(wanted, length, target);
      long[] below = wanted.clone();
      Bits.and(below, target, length);
      for (int i = 0; i < children.length; i++) {
        if (children[i].mayRefuse()) {
          FieldVector child = (FieldVector) ((StructVector) target).getChildByOrdinal(i);
          children[i].refuseNulls(below, length, child);
        }
      }
    }
  }

  /** A list; or a map, which a view holds as a list of entries. */
  static final class Lists extends Reading {
    private final Reading element;

    Lists(String path, Reading element) {
      super(path);
      this.element = element;
    }

    @Override
    void read(@Nullable Stored source, int length, FieldVector target) {
      if (length == 0) {
        target.clear();
        return;
      }
      Stored stored = Stored.present(source);
      FieldVector from = stored.vector();
      int start = stored.start();
      ListVector to = (ListVector) target;
      ArrowBuf offsets = from.getOffsetBuffer();
      int first = offsets.getInt((long) start * Integer.BYTES);
      int elements = offsets.getInt(((long) start + length) * Integer.BYTES) - first;
      try (ArrowBuf moved = movedOffsets(offsets, start, length, first, to.getAllocator())) {
        load(from, start, length, to, moved);
      }
      element.read(stored.elements(length, elements), elements, to.getDataVector());
    }

    @Override
    boolean mayRefuse() {
      return nullsRefused || element.mayRefuse();
    }

    @Override
    void refuseNulls(long[] wanted, int length, FieldVector target) {
      super.refuseNulls(wanted, length, target);
      if (length == 0 || !element.mayRefuse()) {
        return;
      }
      long[] lists = wanted.clone();
      Bits.and(lists, target, length);
      ArrowBuf offsets = target.getOffsetBuffer();
      int elements = offsets.getInt((long) length * Integer.BYTES);
      BitSet below = new BitSet(elements);
      for (int row = 0; row < length; row++) {
        if ((lists[row >>> 6] >>> row & 1) != 0) {
          long at = (long) row * Integer.BYTES;
          below.set(offsets.getInt(at), offsets.getInt(at + Integer.BYTES));
        }
      }
      long[] wantedElements = Arrays.copyOf(below.toLongArray(), (elements + 63) >>> 6);
      element.refuseNulls(wantedElements, elements, ((ListVector) target).getDataVector());
    }
  }

  /** A leaf of a struct as a column of its own: null where a parent is (D19). */
  static final class Leaf extends Reading {
    private final List<FileField> parents;
    private final Reading leaf;
    private final @Nullable FileField source;

    /**
     * @param parents the structs around the leaf, the column of the file first
     * @param source the leaf's field in the file, or null if it is filled in
     */
    Leaf(String path, List<FileField> parents, Reading leaf, @Nullable FileField source) {
      super(path);
      this.parents = parents;
      this.leaf = leaf;
      this.source = source;
    }

    @Override
    void read(@Nullable Stored column, int length, FieldVector target) {
      Stored struct = Stored.present(column);
      List<Stored> structs = new ArrayList<>(List.of(struct));
      for (FileField parent : parents.subList(1, parents.size())) {
        struct = struct.child(parent);
        structs.add(struct);
      }
      leaf.read(source == null ? null : struct.child(source), length, target);
      try (ArrowBuf validity = target.getAllocator().buffer(Bits.bytes(length))) {
        validity.setBytes(0, target.getValidityBuffer(), 0, Bits.bytes(length));
        for (Stored parent : structs) {
          Bits.and(validity, parent.vector().getValidityBuffer(), parent.start(), length);
        }
        replaceValidity(target, length, validity);
      }
    }

    private static void replaceValidity(FieldVector target, int length, ArrowBuf validity) {
      List<ArrowBuf> buffers = target.getFieldBuffers();
      // Loading releases what the vector holds first, which is also what it is to load.
      buffers.forEach(buffer -> buffer.getReferenceManager().retain());
      List<ArrowBuf> rest = buffers.subList(1, buffers.size());
      int nulls = length - Bits.count(validity, 0, length);
      load(target, length, nulls, validity, rest.toArray(new ArrowBuf[0]));
      buffers.forEach(buffer -> buffer.getReferenceManager().release());
    }
  }

  /** A column of row lineage: what the file stores, else first + step * position (L2). */
  static final class Inherited extends Reading {
    private final long first;
    private final long step;

    Inherited(String path, long first, long step) {
      super(path);
      this.first = first;
      this.step = step;
    }

    @Override
    void read(@Nullable Stored source, int length, FieldVector target) {
      throw new UnsupportedOperationException("Row lineage is of rows, not of nested values");
    }

    @Override
    void readAt(long position, @Nullable Stored source, int length, FieldVector target) {
      try (ArrowBuf data = target.getAllocator().buffer((long) length * Long.BYTES)) {
        for (int row = 0; row < length; row++) {
          data.setLong((long) row * Long.BYTES, first + step * (position + row));
        }
        if (source != null && source.vector().getNullCount() < source.vector().getValueCount()) {
          overlay(source.vector(), source.start(), length, data);
        }
        load(target, length, 0, target.getAllocator().getEmpty(), data);
      }
    }

    private static void overlay(FieldVector source, int start, int length, ArrowBuf data) {
      ArrowBuf validity = source.getValidityBuffer();
      ArrowBuf stored = source.getDataBuffer();
      for (int row = 0; row < length; row++) {
        long from = start + (long) row;
        if (Bits.isSet(validity, from)) {
          data.setLong((long) row * Long.BYTES, stored.getLong(from * Long.BYTES));
        }
      }
    }
  }

  /** The same value in every row, or null in every row. */
  static final class Constant extends Reading {
    private final @Nullable PhysicalValue value;

    Constant(String path, @Nullable PhysicalValue value) {
      super(path);
      this.value = value;
    }

    @Override
    void read(@Nullable Stored source, int length, FieldVector target) {
      if (value == null) {
        fillNulls(target, length);
      } else {
        value.fill(target, length);
      }
    }

    private static void fillNulls(FieldVector target, int length) {
      BufferAllocator allocator = target.getAllocator();
      ArrowBuf none = allocator.getEmpty();
      if (length == 0) {
        target.clear();
      } else if (target instanceof StructVector struct) {
        try (ArrowBuf validity = zeros(allocator, Bits.bytes(length))) {
          load(struct, length, length, validity);
        }
        for (FieldVector child : struct.getChildrenFromFields()) {
          fillNulls(child, length);
        }
      } else {
        try (ArrowBuf validity = zeros(allocator, Bits.bytes(length));
            ArrowBuf zeros = zeros(allocator, zeroBytes(target, length))) {
          if (target instanceof ListVector list) {
            load(list, length, length, validity, zeros);
            fillNulls(list.getDataVector(), 0);
          } else if (target instanceof VarBinaryVector) {
            load(target, length, length, validity, zeros, none);
          } else {
            load(target, length, length, validity, zeros);
          }
        }
      }
    }

    private static long zeroBytes(FieldVector target, int length) {
      if (target instanceof BitVector) {
        return Bits.bytes(length);
      }
      return target instanceof BaseFixedWidthVector fixed
          ? (long) length * fixed.getTypeWidth()
          : (length + 1L) * Integer.BYTES;
    }

    private static ArrowBuf zeros(BufferAllocator allocator, long bytes) {
      ArrowBuf buffer = allocator.buffer(bytes);
      buffer.setZero(0, buffer.capacity());
      return buffer;
    }
  }
}
