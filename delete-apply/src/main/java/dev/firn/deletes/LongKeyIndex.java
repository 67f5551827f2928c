package dev.firn.deletes;

/** Keys that are one long: an open-addressing table with linear probing, keys in place. */
final class LongKeyIndex extends KeyIndex {
  private static final long SLOT_BYTES = 2L * Long.BYTES;

  /* Slot s: the key at 2s, at 2s + 1 the sequence number plus one, or 0 where the slot is free. */
  private long[] table;
  private int size;
  private long nullSequencePlusOne;

  LongKeyIndex(KeyMemory memory) {
    super(memory);
    memory.reserve(SLOTS_MIN * SLOT_BYTES);
    this.table = new long[2 * SLOTS_MIN];
  }

  @Override
  void add(KeyBatch keys, long sequenceNumber) {
    long[] longKeys = keys.longKeys();
    int[] hashes = keys.hashes();
    int rows = keys.rows();
    boolean mayHaveNulls = keys.mayHaveNulls();
    for (int i = 0; i < rows; i++) {
      if (mayHaveNulls && keys.isNull(i)) {
        nullSequencePlusOne = Math.max(nullSequencePlusOne, sequenceNumber + 1);
      } else {
        put(longKeys[i], hashes[i], sequenceNumber + 1);
      }
    }
  }

  private void put(long key, int hash, long sequencePlusOne) {
    int slot = slotOf(table, shift, key, hash);
    long held = table[2 * slot + 1];
    if (held != 0) {
      table[2 * slot + 1] = Math.max(held, sequencePlusOne);
      return;
    }
    table[2 * slot] = key;
    table[2 * slot + 1] = sequencePlusOne;
    addToFilter(hash);
    size++;
    if (size > table.length / 2 / 3 * 2) {
      grow();
    }
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

  private void grow() {
    int slots = table.length / 2;
    if (slots == SLOTS_MAX) {
      throw memory.tableFull(slots * SLOT_BYTES);
    }
    memory.reserve(2 * slots * SLOT_BYTES);
    long[] grown = new long[4 * slots];
    growFilter(2 * slots);
    for (int slot = 0; slot < slots; slot++) {
      long sequencePlusOne = table[2 * slot + 1];
      if (sequencePlusOne != 0) {
        long key = table[2 * slot];
        int hash = KeyBatch.hash(key);
        addToFilter(hash);
        int target = slotOf(grown, shift, key, hash);
        grown[2 * target] = key;
        grown[2 * target + 1] = sequencePlusOne;
      }
    }
    table = grown;
    memory.release(slots * SLOT_BYTES);
  }

  @Override
  int clearDeleted(KeyBatch keys, long sequenceNumber, int firstRow, long[] live) {
    long[] longKeys = keys.longKeys();
    int[] hashes = keys.hashes();
    int[] candidates = keys.candidates();
    long[] first = keys.slots();
    int cleared = keys.mayHaveNulls() ? takeNulls(keys, sequenceNumber, firstRow, live) : 0;
    int count = candidates(keys, firstRow, live, candidates);
    /* Independent loads first: the processor waits for many slots at once and not for each. */
    for (int i = 0; i < count; i++) {
      first[i] = table[2 * (hashes[candidates[i]] >>> shift) + 1];
    }
    boolean mayHaveNulls = keys.mayHaveNulls();
    for (int i = 0; i < count; i++) {
      int key = candidates[i];
      if (first[i] != 0
          && table[2 * slotOf(table, shift, longKeys[key], hashes[key]) + 1] > sequenceNumber + 1
          && !(mayHaveNulls && keys.isNull(key))) {
        clear(live, firstRow + key);
        cleared++;
      }
    }
    return cleared;
  }

  /** Clears the rows whose key is null, if null is deleted. */
  private int takeNulls(KeyBatch keys, long sequenceNumber, int firstRow, long[] live) {
    int cleared = 0;
    if (nullSequencePlusOne > sequenceNumber + 1) {
      for (int i = 0; i < keys.rows(); i++) {
        if (keys.isNull(i) && isLive(live, firstRow + i)) {
          clear(live, firstRow + i);
          cleared++;
        }
      }
    }
    return cleared;
  }

  @Override
  long size() {
    return size + (nullSequencePlusOne == 0 ? 0L : 1L);
  }
}
