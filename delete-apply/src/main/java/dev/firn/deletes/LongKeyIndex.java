package dev.firn.deletes;

/** Keys that are one long: an open-addressing table with linear probing, keys in place. */
final class LongKeyIndex extends KeyIndex {
  private static final int SLOTS_MIN = 16;
  private static final int SLOTS_MAX = 1 << 29;
  private static final long SLOT_BYTES = 2L * Long.BYTES;

  private final KeyMemory memory;
  /* Slot s: the key at 2s, at 2s + 1 the sequence number plus one, or 0 where the slot is free. */
  private long[] table;
  private int shift;
  private int size;
  private long nullSequencePlusOne;

  LongKeyIndex(KeyMemory memory) {
    this.memory = memory;
    memory.reserve(SLOTS_MIN * SLOT_BYTES);
    this.table = new long[2 * SLOTS_MIN];
    this.shift = Integer.SIZE - Integer.numberOfTrailingZeros(SLOTS_MIN);
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
    int grownShift = shift - 1;
    for (int slot = 0; slot < slots; slot++) {
      long sequencePlusOne = table[2 * slot + 1];
      if (sequencePlusOne != 0) {
        long key = table[2 * slot];
        int target = slotOf(grown, grownShift, key, KeyBatch.hash(key));
        grown[2 * target] = key;
        grown[2 * target + 1] = sequencePlusOne;
      }
    }
    table = grown;
    shift = grownShift;
    memory.release(slots * SLOT_BYTES);
  }

  @Override
  int clearDeleted(KeyBatch keys, long sequenceNumber, int firstRow, long[] live, long[] scratch) {
    long[] longKeys = keys.longKeys();
    int[] hashes = keys.hashes();
    int rows = keys.rows();
    /* Independent loads first: the processor waits for many slots at once and not for each. */
    for (int i = 0; i < rows; i++) {
      scratch[i] = table[2 * (hashes[i] >>> shift) + 1];
    }
    boolean mayHaveNulls = keys.mayHaveNulls();
    int cleared = 0;
    for (int i = 0; i < rows; i++) {
      int row = firstRow + i;
      if (!isLive(live, row)) {
        continue;
      }
      long sequencePlusOne;
      if (mayHaveNulls && keys.isNull(i)) {
        sequencePlusOne = nullSequencePlusOne;
      } else if (scratch[i] == 0) {
        continue;
      } else {
        sequencePlusOne = table[2 * slotOf(table, shift, longKeys[i], hashes[i]) + 1];
      }
      if (sequencePlusOne > sequenceNumber + 1) {
        clear(live, row);
        cleared++;
      }
    }
    return cleared;
  }

  @Override
  long size() {
    return size + (nullSequencePlusOne == 0 ? 0L : 1L);
  }
}
