package dev.firn.deletes;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/** Keys that are one long: in place in the slots, their marks beside them. */
final class LongKeyIndex extends KeyIndex {
  private static final VarHandle SHORT =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.nativeOrder());
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.nativeOrder());

  private static final int MATCHED = Integer.MIN_VALUE;

  private final int markBytes;

  /* For each slot the mark of its key, with the sign bit set once some row has had that key.
  Threads that look up set it without locks: they can only set the same bit of a number that has no
  other changes then. */
  private byte[][] marksOf;

  /* Of the keys that no slot can tell from none, 0 if they are not held. */
  private int markOfZero;
  private int markOfNull;

  private long min = Long.MAX_VALUE;
  private long max = Long.MIN_VALUE;

  private LongKeyIndex(SequenceMarks marks, KeyMemory memory) {
    super(marks, slotBytes(marks), memory);
    this.markBytes = marks.bytes();
    this.marksOf = new byte[][] {new byte[slots[0].length * markBytes]};
  }

  static @Nullable LongKeyIndex empty(SequenceMarks marks, KeyMemory memory) {
    return memory.reserve(bytesMin(slotBytes(marks))) ? new LongKeyIndex(marks, memory) : null;
  }

  private static int slotBytes(SequenceMarks marks) {
    return Long.BYTES + marks.bytes();
  }

  @Override
  int put(KeyBatch keys, int from, HashSlice slice, int mark) {
    long[] longKeys = keys.longKeys();
    int[] hashes = keys.hashes();
    int rows = keys.rows();
    min = Math.min(min, keys.min());
    max = Math.max(max, keys.max());
    boolean mayHaveNulls = keys.mayHaveNulls();
    for (int i = from; i < rows; i++) {
      if (mayHaveNulls && keys.isNull(i)) {
        if (slice.holdsNulls()) {
          markOfNull = Math.max(markOfNull, mark);
        }
      } else if (slice.holds(hashes[i]) && !put(longKeys[i], hashes[i], mark)) {
        return i;
      }
    }
    return rows;
  }

  private boolean put(long key, int hash, int mark) {
    if (key == 0) {
      markOfZero = Math.max(markOfZero, mark);
      return true;
    }
    int segment = segmentOf(hash);
    int slot = slotOf(slots[segment], key, hash);
    if (slots[segment][slot] != 0) {
      if (mark(segment, slot) < mark) {
        setMark(segment, slot, mark);
      }
      return true;
    }
    if (!hasRoom(segment)) {
      if (!makeRoom(segment)) {
        return false;
      }
      slot = freeSlot(slots[segment], hash);
    }
    slots[segment][slot] = key;
    setMark(segment, slot, mark);
    added(segment, hash);
    return true;
  }

  /** The slot of a segment that holds the key, or the free one where it would go. */
  private int slotOf(long[] segment, long key, int hash) {
    int slot = home(hash, segment.length);
    for (long held = segment[slot]; held != key && held != 0; held = segment[slot]) {
      slot = next(slot, segment.length);
    }
    return slot;
  }

  private int mark(int segment, int slot) {
    byte[] bytes = marksOf[segment];
    return switch (markBytes) {
      case 1 -> bytes[slot];
      case Short.BYTES -> (short) SHORT.get(bytes, slot * Short.BYTES);
      default -> (int) INT.get(bytes, slot * Integer.BYTES);
    };
  }

  private void setMark(int segment, int slot, int mark) {
    byte[] bytes = marksOf[segment];
    switch (markBytes) {
      case 1 -> bytes[slot] = (byte) mark;
      case Short.BYTES -> SHORT.set(bytes, slot * Short.BYTES, (short) mark);
      default -> INT.set(bytes, slot * Integer.BYTES, mark);
    }
  }

  /** The mark as it is kept once a row has had its key, sign extended. */
  private int matched(int mark) {
    return mark | MATCHED >> Integer.SIZE - markBytes * Byte.SIZE;
  }

  private int withoutMatched(int mark) {
    return mark & ~(MATCHED >> Integer.SIZE - markBytes * Byte.SIZE);
  }

  @Override
  void resize(int segment, int slotCount, HashSlice slice) {
    long[] from = slots[segment];
    byte[] fromMarks = marksOf[segment];
    long[] to = new long[slotCount];
    byte[] toMarks = new byte[slotCount * markBytes];
    boolean all = slice.equals(HashSlice.ALL);
    for (int old = 0; old < from.length; old++) {
      long key = from[old];
      if (key != 0) {
        int hash = KeyBatch.hash(key);
        if (all || slice.holds(hash)) {
          int slot = freeSlot(to, hash);
          to[slot] = key;
          copyMark(fromMarks, old, toMarks, slot);
        }
      }
    }
    slots[segment] = to;
    marksOf[segment] = toMarks;
  }

  @Override
  void spread(long[] whole) {
    byte[] fromMarks = marksOf[0];
    marksOf = new byte[slots.length][];
    for (int segment = 0; segment < slots.length; segment++) {
      marksOf[segment] = new byte[slots[segment].length * markBytes];
    }
    for (int old = 0; old < whole.length; old++) {
      if (whole[old] != 0) {
        int hash = KeyBatch.hash(whole[old]);
        int segment = segmentOf(hash);
        int slot = freeSlot(slots[segment], hash);
        slots[segment][slot] = whole[old];
        copyMark(fromMarks, old, marksOf[segment], slot);
      }
    }
  }

  private void copyMark(byte[] from, int old, byte[] to, int slot) {
    for (int i = 0; i < markBytes; i++) {
      to[slot * markBytes + i] = from[old * markBytes + i];
    }
  }

  @Override
  boolean narrowTo(HashSlice slice) {
    if (!slice.holds(KeyBatch.hash(0))) {
      markOfZero = 0;
    }
    if (!slice.holdsNulls()) {
      markOfNull = 0;
    }
    return narrowSegments(slice);
  }

  @Override
  void addAllTo(KeyFilter to) {
    for (long[] segment : slots) {
      for (long key : segment) {
        if (key != 0) {
          to.add(KeyBatch.hash(key));
        }
      }
    }
  }

  @Override
  int hashOf(long slot) {
    return KeyBatch.hash(slot);
  }

  @Override
  boolean mayHold(KeyBatch keys) {
    return keys.max() >= min && keys.min() <= max;
  }

  /** Clears the rows whose key is null or 0, if that is deleted. */
  @Override
  int clearAside(KeyBatch keys, int markMin, int firstRow, long[] asked, long[] live) {
    boolean mayHaveNulls = keys.mayHaveNulls();
    boolean nulls = mayHaveNulls && withoutMatched(markOfNull) >= markMin;
    boolean zeros = withoutMatched(markOfZero) >= markMin && keys.min() <= 0 && keys.max() >= 0;
    if (!nulls && !zeros) {
      return 0;
    }
    long[] longKeys = keys.longKeys();
    int cleared = 0;
    for (int i = 0; i < keys.rows(); i++) {
      boolean isNull = mayHaveNulls && keys.isNull(i);
      boolean deleted = isNull ? nulls : zeros && longKeys[i] == 0;
      if (deleted && isSet(asked, firstRow + i)) {
        if (isNull) {
          markOfNull = matched(markOfNull);
        } else {
          markOfZero = matched(markOfZero);
        }
        cleared += clear(live, firstRow + i);
      }
    }
    return cleared;
  }

  @Override
  int clearHeld(KeyBatch keys, int count, int markMin, int firstRow, long[] live) {
    long[] longKeys = keys.longKeys();
    int[] hashes = keys.hashes();
    int[] candidates = keys.candidates();
    long[] first = keys.slots();
    boolean mayHaveNulls = keys.mayHaveNulls();
    int cleared = 0;
    for (int i = 0; i < count; i++) {
      int at = candidates[i];
      long key = longKeys[at];
      if (first[i] != 0 && key != 0 && !(mayHaveNulls && keys.isNull(at))) {
        int segment = segmentOf(hashes[at]);
        int slot = slotOf(slots[segment], key, hashes[at]);
        if (slots[segment][slot] != 0) {
          int mark = mark(segment, slot);
          if (withoutMatched(mark) >= markMin) {
            if (mark > 0) {
              setMark(segment, slot, matched(mark));
            }
            cleared += clear(live, firstRow + at);
          }
        }
      }
    }
    return cleared;
  }

  @Override
  long size() {
    return super.size() + (markOfNull == 0 ? 0 : 1) + (markOfZero == 0 ? 0 : 1);
  }

  @Override
  long unmatched() {
    long unmatched = (markOfNull > 0 ? 1 : 0) + (markOfZero > 0 ? 1 : 0);
    for (int segment = 0; segment < slots.length; segment++) {
      for (int slot = 0; slot < slots[segment].length; slot++) {
        if (slots[segment][slot] != 0 && mark(segment, slot) > 0) {
          unmatched++;
        }
      }
    }
    return unmatched;
  }
}
