package dev.firn.deletes;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Keys of any number of bytes: an open-addressing table with linear probing over records in large
 * chunks. No object per key.
 */
final class BinaryKeyIndex extends KeyIndex {
  private static final int CHUNK_BITS = 17;
  private static final int CHUNK_WORDS = 1 << CHUNK_BITS;
  private static final int FIRST_CHUNK_WORDS = 16;
  private static final long FIRST_CHUNK_BYTES = (long) FIRST_CHUNK_WORDS * Long.BYTES;
  private static final int CHUNKS_MAX = (1 << (Integer.SIZE - CHUNK_BITS)) - 1;

  /* The bytes of the value of each column of the key, or less than 0 where they vary. */
  private final int[] widths;
  /* A slot: the hash in the upper half, the address of a record plus one in the lower half, or 0
  where the slot is free. */
  private long[] slots;
  private int size;
  /* A record: the sequence number and the bit MATCHED, then the words of the key. It lies in one
  chunk; one that is longer than a chunk has a longer chunk of its own. An address is the number of
  the chunk and the word in it. The length is not kept: no key is the beginning of another one, so a
  comparison ends before it leaves the record. Threads that look up set the bit without locks: they
  can only set the same bit of a word that has no other changes then. */
  private long[][] chunks;
  private int chunkCount;
  private int tail;
  private int tailUsed;
  private long chunkBytes;

  private BinaryKeyIndex(int[] widths, KeyMemory memory, int slots) {
    super(memory, slots);
    this.widths = widths;
    this.slots = new long[slots];
    this.chunks = new long[1][];
    this.chunks[0] = new long[FIRST_CHUNK_WORDS];
    this.chunkCount = 1;
    this.chunkBytes = FIRST_CHUNK_BYTES;
  }

  static @Nullable BinaryKeyIndex ofSlots(int[] widths, int slots, KeyMemory memory) {
    return memory.reserve(slotBytes(slots) + FIRST_CHUNK_BYTES)
        ? new BinaryKeyIndex(widths, memory, slots)
        : null;
  }

  private static long slotBytes(int slots) {
    return (long) Long.BYTES * slots + filterBytes(slots);
  }

  @Override
  int add(KeyBatch keys, int from, HashSlice slice, long sequenceNumber) {
    byte[] bytes = keys.bytes();
    int[] offsets = keys.offsets();
    int[] hashes = keys.hashes();
    int rows = keys.rows();
    for (int i = from; i < rows; i++) {
      if (slice.holds(hashes[i])
          && !put(bytes, offsets[i], offsets[i + 1], hashes[i], sequenceNumber)) {
        return i;
      }
    }
    return rows;
  }

  private boolean put(byte[] bytes, int from, int to, int hash, long sequenceNumber) {
    int mask = slots.length - 1;
    int slot = hash >>> shift;
    for (long held = slots[slot]; held != 0; held = slots[slot]) {
      if ((int) (held >>> 32) == hash) {
        int address = (int) held - 1;
        long[] chunk = chunks[address >>> CHUNK_BITS];
        int word = address & (CHUNK_WORDS - 1);
        if (holds(chunk, word, bytes, from, to)) {
          chunk[word] = Math.max(chunk[word], sequenceNumber);
          return true;
        }
      }
      slot = (slot + 1) & mask;
    }
    if (size == keysMax(slots.length)) {
      if (!grow()) {
        return false;
      }
      slot = freeSlot(hash);
    }
    int words = (to - from >>> 3) + 1;
    int address;
    if (tailUsed + words <= chunks[tail].length) {
      address = tail << CHUNK_BITS | tailUsed;
      tailUsed += words;
    } else {
      address = addressFor(words);
      if (address < 0) {
        return false;
      }
    }
    long[] chunk = chunks[address >>> CHUNK_BITS];
    int word = address & (CHUNK_WORDS - 1);
    chunk[word] = sequenceNumber;
    for (int at = from; at < to; at += Long.BYTES) {
      chunk[++word] = (long) KeyColumn.LONG.get(bytes, at);
    }
    set(slot, hash, address);
    return true;
  }

  private void set(int slot, int hash, int address) {
    slots[slot] = (long) hash << 32 | (address + 1 & 0xFFFF_FFFFL);
    addToFilter(hash);
    size++;
  }

  /** The slot where a key goes that is not held. */
  private int freeSlot(int hash) {
    int mask = slots.length - 1;
    int slot = hash >>> shift;
    while (slots[slot] != 0) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  private static boolean holds(long[] chunk, int word, byte[] bytes, int from, int to) {
    int key = word + 1;
    for (int at = from; at < to; at += Long.BYTES) {
      if (chunk[key++] != (long) KeyColumn.LONG.get(bytes, at)) {
        return false;
      }
    }
    return true;
  }

  /** Takes room for a record. Returns its address, or -1 where the memory lacks. */
  private int addressFor(int words) {
    if (words > CHUNK_WORDS) {
      int own = addChunk(words);
      return own < 0 ? -1 : own << CHUNK_BITS;
    }
    if (tailUsed + words > CHUNK_WORDS) {
      int added = addChunk(CHUNK_WORDS);
      if (added < 0) {
        return -1;
      }
      tail = added;
      tailUsed = 0;
    } else if (tailUsed + words > chunks[tail].length && !growTail(words)) {
      return -1;
    }
    int address = tail << CHUNK_BITS | tailUsed;
    tailUsed += words;
    return address;
  }

  /* Only the first chunk begins small, because a group may have very many indexes. */
  private boolean growTail(int words) {
    int held = chunks[tail].length;
    int grown = Math.min(CHUNK_WORDS, Math.max(2 * held, Integer.highestOneBit(words) * 4));
    grown = Math.max(grown, Math.min(CHUNK_WORDS, tailUsed + words));
    if (!memory.reserveInPlaceOf((long) held * Long.BYTES, (long) grown * Long.BYTES)) {
      return false;
    }
    chunks[tail] = Arrays.copyOf(chunks[tail], grown);
    memory.release((long) held * Long.BYTES);
    chunkBytes += (long) (grown - held) * Long.BYTES;
    return true;
  }

  /** Returns the number of the chunk, or -1 where the memory lacks. */
  private int addChunk(int words) {
    if (chunkCount == CHUNKS_MAX || !memory.reserve((long) words * Long.BYTES)) {
      return -1;
    }
    if (chunkCount == chunks.length) {
      chunks = Arrays.copyOf(chunks, 2 * chunkCount);
    }
    chunks[chunkCount] = new long[words];
    chunkBytes += (long) words * Long.BYTES;
    return chunkCount++;
  }

  private boolean grow() {
    int count = slots.length;
    if (count == SLOTS_MAX || !memory.reserveInPlaceOf(slotBytes(count), slotBytes(2 * count))) {
      return false;
    }
    long[] grown = new long[2 * count];
    useSlots(2 * count);
    int mask = grown.length - 1;
    for (long held : slots) {
      if (held != 0) {
        int hash = (int) (held >>> 32);
        addToFilter(hash);
        int slot = hash >>> shift;
        while (grown[slot] != 0) {
          slot = (slot + 1) & mask;
        }
        grown[slot] = held;
      }
    }
    slots = grown;
    memory.release(slotBytes(count));
    return true;
  }

  @Override
  @Nullable KeyIndex narrowedTo(HashSlice slice) {
    int keys = 0;
    for (long held : slots) {
      if (held != 0 && slice.holds((int) (held >>> 32))) {
        keys++;
      }
    }
    BinaryKeyIndex narrowed = ofSlots(widths, slotsFor(keys), memory);
    if (narrowed == null) {
      return null;
    }
    for (long held : slots) {
      int hash = (int) (held >>> 32);
      if (held != 0 && slice.holds(hash) && !narrowed.copy((int) held - 1, this, hash)) {
        narrowed.release();
        return null;
      }
    }
    release();
    return narrowed;
  }

  /** Adds a key that is not held here from another index. */
  private boolean copy(int from, BinaryKeyIndex other, int hash) {
    long[] source = other.chunks[from >>> CHUNK_BITS];
    int word = from & (CHUNK_WORDS - 1);
    int words = recordWords(source, word);
    int address = addressFor(words);
    if (address < 0) {
      return false;
    }
    System.arraycopy(
        source, word, chunks[address >>> CHUNK_BITS], address & (CHUNK_WORDS - 1), words);
    set(freeSlot(hash), hash, address);
    return true;
  }

  /** The length of a record, by the form that {@link KeyColumn} gives to keys. */
  private int recordWords(long[] chunk, int word) {
    int at = 0;
    for (int width : widths) {
      boolean isNull = byteOfKey(chunk, word, at) == KeyColumn.NULL;
      at++;
      if (isNull) {
        continue;
      }
      if (width >= 0) {
        at += width;
      } else {
        int length = 0;
        for (int i = 0; i < Integer.BYTES; i++) {
          length |= (byteOfKey(chunk, word, at + i) & 0xFF) << Byte.SIZE * i;
        }
        at += Integer.BYTES + length;
      }
    }
    return 1 + (at + Long.BYTES - 1) / Long.BYTES;
  }

  private static byte byteOfKey(long[] chunk, int word, int index) {
    return (byte) (chunk[word + 1 + (index >>> 3)] >>> Byte.SIZE * (index & 7));
  }

  @Override
  void release() {
    memory.release(slotBytes(slots.length) + chunkBytes);
  }

  @Override
  int clearDeleted(KeyBatch keys, long sequenceNumber, int firstRow, long[] asked, long[] live) {
    int[] hashes = keys.hashes();
    int[] candidates = keys.candidates();
    long[] first = keys.slots();
    int count = candidates(keys, firstRow, asked, candidates);
    /* Independent loads first: the processor waits for many slots at once and not for each. */
    for (int i = 0; i < count; i++) {
      first[i] = slots[hashes[candidates[i]] >>> shift];
    }
    byte[] bytes = keys.bytes();
    int[] offsets = keys.offsets();
    int cleared = 0;
    for (int i = 0; i < count; i++) {
      int key = candidates[i];
      if (first[i] != 0
          && matches(bytes, offsets[key], offsets[key + 1], hashes[key], sequenceNumber)) {
        cleared += clear(live, firstRow + key);
      }
    }
    return cleared;
  }

  /** Whether the key is held with a higher sequence number; if so, notes that a row has it. */
  private boolean matches(byte[] bytes, int from, int to, int hash, long sequenceNumber) {
    int mask = slots.length - 1;
    int slot = hash >>> shift;
    for (long held = slots[slot]; held != 0; held = slots[slot]) {
      if ((int) (held >>> 32) == hash) {
        int address = (int) held - 1;
        long[] chunk = chunks[address >>> CHUNK_BITS];
        int word = address & (CHUNK_WORDS - 1);
        if (holds(chunk, word, bytes, from, to)) {
          long record = chunk[word];
          if ((record & ~MATCHED) <= sequenceNumber) {
            return false;
          }
          if (record >= 0) {
            chunk[word] = record | MATCHED;
          }
          return true;
        }
      }
      slot = (slot + 1) & mask;
    }
    return false;
  }

  @Override
  long size() {
    return size;
  }

  @Override
  long unmatched() {
    long unmatched = 0;
    for (long held : slots) {
      if (held != 0) {
        int address = (int) held - 1;
        if (chunks[address >>> CHUNK_BITS][address & (CHUNK_WORDS - 1)] >= 0) {
          unmatched++;
        }
      }
    }
    return unmatched;
  }
}
