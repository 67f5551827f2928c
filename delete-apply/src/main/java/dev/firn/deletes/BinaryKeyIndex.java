package dev.firn.deletes;

import org.jspecify.annotations.Nullable;

/** Keys of any number of bytes: slots that lead to records in large chunks. No object per key. */
final class BinaryKeyIndex extends KeyIndex {
  private static final int SLOT_BYTES = Long.BYTES;

  /* A slot: the hash in the upper half, the address of a record plus one in the lower half. */
  private final KeyRecords records;

  private BinaryKeyIndex(int[] widths, SequenceMarks marks, KeyMemory memory) {
    super(marks, SLOT_BYTES, memory);
    this.records = new KeyRecords(widths, memory);
  }

  static @Nullable BinaryKeyIndex empty(int[] widths, SequenceMarks marks, KeyMemory memory) {
    return memory.reserve(bytesMin(SLOT_BYTES) + KeyRecords.BYTES_MIN)
        ? new BinaryKeyIndex(widths, marks, memory)
        : null;
  }

  private static long slot(int hash, int address) {
    return (long) hash << Integer.SIZE | (address + 1 & 0xFFFF_FFFFL);
  }

  @Override
  int hashOf(long slot) {
    return (int) (slot >>> Integer.SIZE);
  }

  private static int address(long slot) {
    return (int) slot - 1;
  }

  @Override
  int put(KeyBatch keys, int from, HashSlice slice, int mark) {
    byte[] bytes = keys.bytes();
    int[] offsets = keys.offsets();
    int[] hashes = keys.hashes();
    int rows = keys.rows();
    for (int i = from; i < rows; i++) {
      if (slice.holds(hashes[i]) && !put(bytes, offsets[i], offsets[i + 1], hashes[i], mark)) {
        return i;
      }
    }
    return rows;
  }

  private boolean put(byte[] bytes, int from, int to, int hash, int mark) {
    int segment = segmentOf(hash);
    long found = find(slots[segment], bytes, from, to, hash);
    if (found != 0) {
      records.raiseMark(address(found), mark);
      return true;
    }
    if (!hasRoom(segment) && !makeRoom(segment)) {
      return false;
    }
    int address = records.add(bytes, from, to, hash, mark);
    if (address == KeyRecords.NO_ROOM) {
      return false;
    }
    slots[segment][freeSlot(slots[segment], hash)] = slot(hash, address);
    added(segment, hash);
    return true;
  }

  /** The slot with the key, or 0 if it is not held. */
  private long find(long[] segment, byte[] bytes, int from, int to, int hash) {
    int slot = home(hash, segment.length);
    long held = segment[slot];
    while (held != 0 && !(hashOf(held) == hash && records.holds(address(held), bytes, from, to))) {
      slot = next(slot, segment.length);
      held = segment[slot];
    }
    return held;
  }

  @Override
  void resize(int segment, int slotCount, HashSlice slice) {
    long[] to = new long[slotCount];
    boolean all = slice.equals(HashSlice.ALL);
    for (long held : slots[segment]) {
      if (held != 0 && (all || slice.holds(hashOf(held)))) {
        to[freeSlot(to, hashOf(held))] = held;
      }
    }
    slots[segment] = to;
  }

  @Override
  void spread(long[] whole) {
    for (long held : whole) {
      if (held != 0) {
        int hash = hashOf(held);
        long[] segment = slots[segmentOf(hash)];
        segment[freeSlot(segment, hash)] = held;
      }
    }
  }

  /** Drops the slots of other keys, then their records, and points to those that have moved. */
  @Override
  boolean narrowTo(HashSlice slice) {
    return narrowSegments(slice) && records.narrowTo(slice, this::moved);
  }

  private void moved(int hash, int from, int to) {
    if (from != to) {
      long[] segment = slots[segmentOf(hash)];
      int slot = home(hash, segment.length);
      while (segment[slot] != slot(hash, from)) {
        slot = next(slot, segment.length);
      }
      segment[slot] = slot(hash, to);
    }
  }

  @Override
  void addAllTo(KeyFilter to) {
    for (long[] segment : slots) {
      for (long held : segment) {
        if (held != 0) {
          to.add(hashOf(held));
        }
      }
    }
  }

  @Override
  void release() {
    super.release();
    records.release();
  }

  @Override
  boolean mayHold(KeyBatch keys) {
    return true;
  }

  @Override
  int clearAside(KeyBatch keys, int markMin, int firstRow, long[] asked, long[] live) {
    return 0;
  }

  @Override
  int clearHeld(KeyBatch keys, int count, int markMin, int firstRow, long[] live) {
    byte[] bytes = keys.bytes();
    int[] offsets = keys.offsets();
    int[] hashes = keys.hashes();
    int[] candidates = keys.candidates();
    long[] first = keys.slots();
    int cleared = 0;
    for (int i = 0; i < count; i++) {
      int at = candidates[i];
      if (first[i] != 0) {
        int hash = hashes[at];
        long found = find(slots[segmentOf(hash)], bytes, offsets[at], offsets[at + 1], hash);
        if (found != 0 && records.match(address(found), markMin)) {
          cleared += clear(live, firstRow + at);
        }
      }
    }
    return cleared;
  }

  @Override
  long unmatched() {
    long unmatched = 0;
    for (long[] segment : slots) {
      for (long held : segment) {
        if (held != 0 && !records.isMatched(address(held))) {
          unmatched++;
        }
      }
    }
    return unmatched;
  }
}
