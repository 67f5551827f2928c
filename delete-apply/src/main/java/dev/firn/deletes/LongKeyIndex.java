package dev.firn.deletes;

import org.jspecify.annotations.Nullable;

/** Keys that are one long: an open-addressing table with linear probing, keys in place. */
final class LongKeyIndex extends KeyIndex {
  /* Slot s: the key at 2s, at 2s + 1 the sequence number plus one and the bit MATCHED, or 0 where
  the slot is free. Threads that look up set that bit without locks: they can only set the same bit
  of a word that has no other changes then. */
  private long[] table;
  private int size;
  private long nullSequencePlusOne;

  private LongKeyIndex(KeyMemory memory, int slots) {
    super(memory, slots);
    this.table = new long[2 * slots];
  }

  static @Nullable LongKeyIndex ofSlots(int slots, KeyMemory memory) {
    return memory.reserve(bytes(slots)) ? new LongKeyIndex(memory, slots) : null;
  }

  private static long bytes(int slots) {
    return 2L * Long.BYTES * slots + filterBytes(slots);
  }

  private int slots() {
    return table.length / 2;
  }

  @Override
  int add(KeyBatch keys, int from, HashSlice slice, long sequenceNumber) {
    long[] longKeys = keys.longKeys();
    int[] hashes = keys.hashes();
    int rows = keys.rows();
    boolean mayHaveNulls = keys.mayHaveNulls();
    for (int i = from; i < rows; i++) {
      if (mayHaveNulls && keys.isNull(i)) {
        if (slice.holdsNulls()) {
          nullSequencePlusOne = Math.max(nullSequencePlusOne, sequenceNumber + 1);
        }
      } else if (slice.holds(hashes[i]) && !put(longKeys[i], hashes[i], sequenceNumber + 1)) {
        return i;
      }
    }
    return rows;
  }

  private boolean put(long key, int hash, long sequencePlusOne) {
    int slot = slotOf(table, shift, key, hash);
    long held = table[2 * slot + 1];
    if (held != 0) {
      table[2 * slot + 1] = Math.max(held, sequencePlusOne);
      return true;
    }
    if (size == keysMax(slots())) {
      if (!grow()) {
        return false;
      }
      slot = slotOf(table, shift, key, hash);
    }
    set(slot, key, sequencePlusOne, hash);
    return true;
  }

  private void set(int slot, long key, long sequencePlusOne, int hash) {
    table[2 * slot] = key;
    table[2 * slot + 1] = sequencePlusOne;
    addToFilter(hash);
    size++;
  }

  /** The slot that holds the key, or the free one where it would go. */
  private static int slotOf(long[] table, int shift, long key, int hash) {
    int mask = table.length / 2 - 1;
    int slot = hash >>> shift;
    while (table[2 * slot + 1] != 0 && table[2 * slot] != key) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  private boolean grow() {
    int slots = slots();
    if (slots == SLOTS_MAX || !memory.reserveInPlaceOf(bytes(slots), bytes(2 * slots))) {
      return false;
    }
    long[] old = table;
    table = new long[4 * slots];
    useSlots(2 * slots);
    size = 0;
    copy(old, HashSlice.ALL);
    memory.release(bytes(slots));
    return true;
  }

  /** Adds keys that are not held here from another table. */
  private void copy(long[] from, HashSlice slice) {
    for (int at = 0; at < from.length; at += 2) {
      if (from[at + 1] != 0) {
        int hash = KeyBatch.hash(from[at]);
        if (slice.holds(hash)) {
          set(slotOf(table, shift, from[at], hash), from[at], from[at + 1], hash);
        }
      }
    }
  }

  @Override
  @Nullable KeyIndex narrowedTo(HashSlice slice) {
    int keys = 0;
    for (int at = 0; at < table.length; at += 2) {
      if (table[at + 1] != 0 && slice.holds(KeyBatch.hash(table[at]))) {
        keys++;
      }
    }
    LongKeyIndex narrowed = ofSlots(slotsFor(keys), memory);
    if (narrowed != null) {
      narrowed.copy(table, slice);
      narrowed.nullSequencePlusOne = slice.holdsNulls() ? nullSequencePlusOne : 0;
      release();
    }
    return narrowed;
  }

  @Override
  void release() {
    memory.release(bytes(slots()));
  }

  @Override
  int clearDeleted(KeyBatch keys, long sequenceNumber, int firstRow, long[] asked, long[] live) {
    long[] longKeys = keys.longKeys();
    int[] hashes = keys.hashes();
    int[] candidates = keys.candidates();
    long[] first = keys.slots();
    int cleared = keys.mayHaveNulls() ? takeNulls(keys, sequenceNumber, firstRow, asked, live) : 0;
    int count = candidates(keys, firstRow, asked, candidates);
    /* Independent loads first: the processor waits for many slots at once and not for each. */
    for (int i = 0; i < count; i++) {
      first[i] = table[2 * (hashes[candidates[i]] >>> shift) + 1];
    }
    boolean mayHaveNulls = keys.mayHaveNulls();
    for (int i = 0; i < count; i++) {
      int key = candidates[i];
      if (first[i] != 0) {
        int at = 2 * slotOf(table, shift, longKeys[key], hashes[key]) + 1;
        long held = table[at];
        if ((held & ~MATCHED) > sequenceNumber + 1 && !(mayHaveNulls && keys.isNull(key))) {
          if (held > 0) {
            table[at] = held | MATCHED;
          }
          cleared += clear(live, firstRow + key);
        }
      }
    }
    return cleared;
  }

  /** Clears the rows whose key is null, if null is deleted. */
  private int takeNulls(
      KeyBatch keys, long sequenceNumber, int firstRow, long[] asked, long[] live) {
    int cleared = 0;
    if ((nullSequencePlusOne & ~MATCHED) > sequenceNumber + 1) {
      for (int i = 0; i < keys.rows(); i++) {
        if (keys.isNull(i) && isSet(asked, firstRow + i)) {
          nullSequencePlusOne |= MATCHED;
          cleared += clear(live, firstRow + i);
        }
      }
    }
    return cleared;
  }

  @Override
  long size() {
    return size + (nullSequencePlusOne == 0 ? 0L : 1L);
  }

  @Override
  long unmatched() {
    long unmatched = nullSequencePlusOne > 0 ? 1 : 0;
    for (int at = 1; at < table.length; at += 2) {
      if (table[at] > 0) {
        unmatched++;
      }
    }
    return unmatched;
  }
}
