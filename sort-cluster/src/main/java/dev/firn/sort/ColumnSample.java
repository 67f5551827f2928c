package dev.firn.sort;

import java.util.Arrays;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.types.Type;
import org.jspecify.annotations.Nullable;

/** Values of one column in numbered slots. Not thread-safe. */
final class ColumnSample {

  /** Of longer values only the beginning is kept: values that differ behind it have one rank. */
  static final int VALUE_BYTES_MAX = 1024;

  private static final int SLOT_BYTES = 9; // a word or reference, and whether it is null
  private static final int ARRAY_BYTES = 20; // an array's header, and about half its padding

  private final ColumnPath path;
  private final boolean numbers;
  private long[] words = {};
  private byte[] @Nullable [] strings = {}; // null where there is no value
  private boolean[] nulls = {};

  ColumnSample(ColumnPath path) {
    this.path = path;
    this.numbers = KeyColumn.isOrderedLong(path.type());
    if (!numbers && !RankColumn.isBytes(path.type())) {
      throw new IllegalArgumentException(
          "Cannot cluster by "
              + path.description()
              + " of type "
              + path.type()
              + ": its values have no order. Leave the column out.");
    }
  }

  /** Puts the values of rows into slots; gives how many bytes more are held then. */
  long put(VectorSchemaRoot batch, int[] rows, int[] slots, int count) {
    int greatest = 0;
    for (int i = 0; i < count; i++) {
      greatest = Math.max(greatest, slots[i]);
    }
    long more = reserve(greatest);
    ColumnPath.Leaf leaf = path.leaf(batch, rows, count);
    if (numbers) {
      long[] values = new long[count];
      KeyColumn.readOrdered(path.type(), leaf.vector(), rows, 0, count, values);
      for (int i = 0; i < count; i++) {
        nulls[slots[i]] = leaf.nulls() != null && leaf.nulls()[i];
        words[slots[i]] = values[i];
      }
      return more;
    }
    ValueBytes bytes = ValueBytes.of(path.type(), leaf.vector());
    for (int i = 0; i < count; i++) {
      int slot = slots[i];
      more -= release(slot);
      boolean isNull = leaf.nulls() != null && leaf.nulls()[i];
      nulls[slot] = isNull;
      if (!isNull) {
        byte[] value = bytes.copy(rows[i], VALUE_BYTES_MAX);
        strings[slot] = value;
        more += ARRAY_BYTES + value.length;
      }
    }
    return more;
  }

  private long reserve(int slot) {
    if (slot < nulls.length) {
      return 0;
    }
    int before = nulls.length;
    int room = Math.max(slot + 1, 2 * before);
    nulls = Arrays.copyOf(nulls, room);
    if (numbers) {
      words = Arrays.copyOf(words, room);
    } else {
      strings = Arrays.copyOf(strings, room);
    }
    return (long) SLOT_BYTES * (room - before);
  }

  /** Forgets what is in a slot; gives how many bytes less are held then. */
  long release(int slot) {
    if (numbers) {
      return 0;
    }
    byte[] value = strings[slot];
    strings[slot] = null;
    return value == null ? 0 : ARRAY_BYTES + value.length;
  }

  RankColumn ranks(int[] slots, int bits, boolean nullsFirst) {
    int nullCount = 0;
    for (int slot : slots) {
      nullCount += nulls[slot] ? 1 : 0;
    }
    int count = slots.length - nullCount;
    long[] sortedWords = new long[numbers ? count : 0];
    byte[][] sortedStrings = new byte[numbers ? 0 : count][];
    int at = 0;
    for (int slot : slots) {
      if (!nulls[slot]) {
        if (numbers) {
          sortedWords[at++] = words[slot];
        } else {
          byte[] value = strings[slot];
          sortedStrings[at++] = value == null ? new byte[0] : value;
        }
      }
    }
    Arrays.sort(sortedWords);
    Arrays.sort(sortedStrings, Arrays::compareUnsigned);
    int[] starts = new int[count + 1];
    int runs = 0;
    for (int i = 0; i < count; i++) {
      boolean starting =
          i == 0
              || (numbers
                  ? sortedWords[i] != sortedWords[i - 1]
                  : !Arrays.equals(sortedStrings[i], sortedStrings[i - 1]));
      if (starting) {
        starts[runs++] = i;
      }
    }
    starts[runs] = count;
    Quantiles quantiles =
        Quantiles.of(Arrays.copyOf(starts, runs + 1), nullCount, nullsFirst, bits);
    int[] firsts = quantiles.firsts();
    if (numbers) {
      long[] boundaries = new long[firsts.length];
      Arrays.setAll(boundaries, i -> sortedWords[firsts[i]]);
      return RankColumn.ofNumbers(path, boundaries, quantiles);
    }
    byte[][] boundaries = new byte[firsts.length][];
    Arrays.setAll(boundaries, i -> sortedStrings[firsts[i]]);
    return RankColumn.ofStrings(path, boundaries, quantiles);
  }

  /** Where the bytes of values lie that are no numbers, in the values' order but for the sign. */
  record ValueBytes(@Nullable VariableBytes variable, long data, int width, int flip) {

    static ValueBytes of(Type type, FieldVector leaf) {
      int width = RankColumn.width(type);
      return width == 0
          ? new ValueBytes(VariableBytes.of(leaf), 0, 0, 0)
          : new ValueBytes(
              null,
              KeyColumn.dataOf(leaf, width),
              width,
              type.typeId() == Type.TypeID.DECIMAL ? 0x80 : 0);
    }

    long address(int row) {
      return variable == null ? data + (long) row * width : variable.address(row);
    }

    int length(int row) {
      return variable == null ? width : variable.length(row);
    }

    /** The bytes in the values' order. */
    byte[] copy(int row, int bytesMax) {
      byte[] bytes = new byte[Math.min(length(row), bytesMax)];
      if (bytes.length > 0) {
        MemoryUtil.copyFromMemory(address(row), bytes, 0, bytes.length);
        bytes[0] ^= (byte) flip;
      }
      return bytes;
    }
  }
}
