package dev.firn.deletes;

import java.util.Arrays;

/**
 * Keys of any number of bytes: an open-addressing table with linear probing over records in large
 * chunks. No object per key.
 */
final class BinaryKeyIndex extends KeyIndex {
  private static final int CHUNK_BITS = 17;
  private static final int CHUNK_WORDS = 1 << CHUNK_BITS;
  private static final int FIRST_CHUNK_WORDS = 128;
  private static final int CHUNKS_MAX = (1 << (Integer.SIZE - CHUNK_BITS)) - 1;

  /* A slot: the hash in the upper half, the address of a record plus one in the lower half, or 0
  where the slot is free. */
  private long[] slots;
  private int size;
  /* A record: the sequence number, then the words of the key. It lies in one chunk; one that is
  longer than a chunk has a longer chunk of its own. An address is the number of the chunk and the
  word in it. The length is not kept: no key is the beginning of another one, so a comparison ends
  before it leaves the record. */
  private long[][] chunks;
  private int chunkCount;
  private int tail;
  private int tailUsed;

  BinaryKeyIndex(KeyMemory memory) {
    super(memory);
    memory.reserve((long) (SLOTS_MIN + FIRST_CHUNK_WORDS) * Long.BYTES);
    this.slots = new long[SLOTS_MIN];
    this.chunks = new long[1][];
    this.chunks[0] = new long[FIRST_CHUNK_WORDS];
    this.chunkCount = 1;
  }

  @Override
  void add(KeyBatch keys, long sequenceNumber) {
    byte[] bytes = keys.bytes();
    int[] offsets = keys.offsets();
    int[] hashes = keys.hashes();
    int rows = keys.rows();
    for (int i = 0; i < rows; i++) {
      put(bytes, offsets[i], offsets[i + 1], hashes[i], sequenceNumber);
    }
  }

  private void put(byte[] bytes, int from, int to, int hash, long sequenceNumber) {
    int mask = slots.length - 1;
    int slot = hash >>> shift;
    for (long held = slots[slot]; held != 0; held = slots[slot]) {
      if ((int) (held >>> 32) == hash) {
        int address = (int) held - 1;
        long[] chunk = chunks[address >>> CHUNK_BITS];
        int word = address & (CHUNK_WORDS - 1);
        if (holds(chunk, word, bytes, from, to)) {
          chunk[word] = Math.max(chunk[word], sequenceNumber);
          return;
        }
      }
      slot = (slot + 1) & mask;
    }
    int address = append(bytes, from, to, sequenceNumber);
    slots[slot] = (long) hash << 32 | (address + 1 & 0xFFFF_FFFFL);
    addToFilter(hash);
    size++;
    if (size > slots.length / 3 * 2) {
      grow();
    }
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

  private int append(byte[] bytes, int from, int to, long sequenceNumber) {
    int words = (to - from >>> 3) + 1;
    int chunk = chunkFor(words);
    int word = chunk == tail ? tailUsed : 0;
    long[] target = chunks[chunk];
    target[word] = sequenceNumber;
    int key = word + 1;
    for (int at = from; at < to; at += Long.BYTES) {
      target[key++] = (long) KeyColumn.LONG.get(bytes, at);
    }
    if (chunk == tail) {
      tailUsed += words;
    }
    return chunk << CHUNK_BITS | word;
  }

  /** A chunk with room for a record: the tail, which may be a new one, or one of its own. */
  private int chunkFor(int words) {
    if (words > CHUNK_WORDS) {
      return addChunk(words);
    }
    if (tailUsed + words > CHUNK_WORDS) {
      tail = addChunk(CHUNK_WORDS);
      tailUsed = 0;
    } else if (tailUsed + words > chunks[tail].length) {
      /* Only the first chunk begins small, because a group may have very many indexes. */
      int held = chunks[tail].length;
      int grown = Math.min(CHUNK_WORDS, Math.max(2 * held, Integer.highestOneBit(words) * 4));
      grown = Math.max(grown, Math.min(CHUNK_WORDS, tailUsed + words));
      memory.reserve((long) grown * Long.BYTES);
      chunks[tail] = Arrays.copyOf(chunks[tail], grown);
      memory.release((long) held * Long.BYTES);
    }
    return tail;
  }

  private int addChunk(int words) {
    if (chunkCount == CHUNKS_MAX) {
      throw memory.tableFull((long) chunkCount * CHUNK_WORDS * Long.BYTES);
    }
    memory.reserve((long) words * Long.BYTES);
    if (chunkCount == chunks.length) {
      chunks = Arrays.copyOf(chunks, 2 * chunkCount);
    }
    chunks[chunkCount] = new long[words];
    return chunkCount++;
  }

  private void grow() {
    if (slots.length == SLOTS_MAX) {
      throw memory.tableFull((long) slots.length * Long.BYTES);
    }
    memory.reserve(2L * slots.length * Long.BYTES);
    long[] grown = new long[2 * slots.length];
    growFilter(grown.length);
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
    memory.release((long) slots.length * Long.BYTES);
    slots = grown;
  }

  @Override
  int clearDeleted(KeyBatch keys, long sequenceNumber, int firstRow, long[] live) {
    int[] hashes = keys.hashes();
    int[] candidates = keys.candidates();
    long[] first = keys.slots();
    int count = candidates(keys, firstRow, live, candidates);
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
          && sequenceNumberOf(bytes, offsets[key], offsets[key + 1], hashes[key])
              > sequenceNumber) {
        clear(live, firstRow + key);
        cleared++;
      }
    }
    return cleared;
  }

  /** The sequence number held for a key, or the lowest long when the key is not held. */
  private long sequenceNumberOf(byte[] bytes, int from, int to, int hash) {
    int mask = slots.length - 1;
    int slot = hash >>> shift;
    for (long held = slots[slot]; held != 0; held = slots[slot]) {
      if ((int) (held >>> 32) == hash) {
        int address = (int) held - 1;
        long[] chunk = chunks[address >>> CHUNK_BITS];
        int word = address & (CHUNK_WORDS - 1);
        if (holds(chunk, word, bytes, from, to)) {
          return chunk[word];
        }
      }
      slot = (slot + 1) & mask;
    }
    return Long.MIN_VALUE;
  }

  @Override
  long size() {
    return size;
  }
}
