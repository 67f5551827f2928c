package dev.firn.deletes;

import java.util.Arrays;

/**
 * The bytes of the keys of an index, one behind the other in large chunks.
 *
 * <p>A record: the hash in the upper half of its first word and the mark in the lower one, then the
 * words of the key. It lies in one chunk; one that is longer than a chunk has a longer chunk of its
 * own. An address is the number of the chunk and the word in it. The length is not kept: no key is
 * the beginning of another one, so that a comparison ends before it leaves the record.
 */
final class KeyRecords {
  /** In place of an address: the memory lacks. */
  static final int NO_ROOM = -1;

  private static final int CHUNK_BITS = 17;
  private static final int CHUNK_WORDS = 1 << CHUNK_BITS;
  private static final int FIRST_CHUNK_WORDS = 16;
  private static final int CHUNKS_MAX = (1 << Integer.SIZE - CHUNK_BITS) - 1;
  private static final long MARK = 0x7FFF_FFFFL;

  /* Set once some row has had the key. Threads that look up set it without locks: they can only set
  the same bit of a word that has no other changes then. */
  private static final long MATCHED = 1L << 31;

  /** What no records take. */
  static final long BYTES_MIN = (long) FIRST_CHUNK_WORDS * Long.BYTES;

  private static final long[] FREED = {};

  /** Told of each record that is kept, in the order of its addresses. */
  @FunctionalInterface
  interface Kept {
    void at(int hash, int from, int to);
  }

  /* The bytes of the value of each column of the key, or less than 0 where they vary. */
  private final int[] widths;
  private final KeyMemory memory;
  private long[][] chunks = {new long[FIRST_CHUNK_WORDS]};
  /* The words of each chunk that records take. */
  private int[] used = new int[1];
  private int chunkCount = 1;
  private int freed;
  private int tail;
  private long bytes = BYTES_MIN;

  /** The memory for {@link #BYTES_MIN} is reserved already. */
  KeyRecords(int[] widths, KeyMemory memory) {
    this.widths = widths;
    this.memory = memory;
  }

  /** Adds a key. Returns the address of its record, or {@link #NO_ROOM}. */
  int add(byte[] key, int from, int to, int hash, int mark) {
    int words = (to - from >>> 3) + 1;
    int address = addressFor(words);
    if (address != NO_ROOM) {
      long[] chunk = chunk(address);
      int word = word(address);
      chunk[word] = (long) hash << Integer.SIZE | mark;
      for (int at = from; at < to; at += Long.BYTES) {
        chunk[++word] = (long) KeyColumn.LONG.get(key, at);
      }
    }
    return address;
  }

  private long[] chunk(int address) {
    return chunks[address >>> CHUNK_BITS];
  }

  private static int word(int address) {
    return address & CHUNK_WORDS - 1;
  }

  boolean holds(int address, byte[] key, int from, int to) {
    long[] chunk = chunk(address);
    int word = word(address);
    for (int at = from; at < to; at += Long.BYTES) {
      if (chunk[++word] != (long) KeyColumn.LONG.get(key, at)) {
        return false;
      }
    }
    return true;
  }

  /** Gives the record this mark if its own is lower. */
  void raiseMark(int address, int mark) {
    long[] chunk = chunk(address);
    long first = chunk[word(address)];
    if ((first & MARK) < mark) {
      chunk[word(address)] = first & ~MARK | mark;
    }
  }

  /** Whether the record has this mark or a higher one; if so, notes that a row has its key. */
  boolean match(int address, int markMin) {
    long[] chunk = chunk(address);
    long first = chunk[word(address)];
    if ((first & MARK) < markMin) {
      return false;
    }
    if ((first & MATCHED) == 0) {
      chunk[word(address)] = first | MATCHED;
    }
    return true;
  }

  boolean isMatched(int address) {
    return (chunk(address)[word(address)] & MATCHED) != 0;
  }

  private int addressFor(int words) {
    if (words > CHUNK_WORDS) {
      int own = addChunk(words);
      return own < 0 ? NO_ROOM : own << CHUNK_BITS;
    }
    if (used[tail] + words > CHUNK_WORDS) {
      int added = addChunk(CHUNK_WORDS);
      if (added < 0) {
        return NO_ROOM;
      }
      tail = added;
    } else if (used[tail] + words > chunks[tail].length && !growTail(words)) {
      return NO_ROOM;
    }
    return tail << CHUNK_BITS | take(tail, words);
  }

  private int take(int chunk, int words) {
    int from = used[chunk];
    used[chunk] = from + words;
    return from;
  }

  /* Only the first chunk begins small, because a group may have very many indexes. */
  private boolean growTail(int words) {
    int grown = Math.max(2 * chunks[tail].length, Integer.highestOneBit(words) * 4);
    return resizeTail(Math.min(CHUNK_WORDS, Math.max(grown, used[tail] + words)));
  }

  private boolean resizeTail(int words) {
    long before = (long) chunks[tail].length * Long.BYTES;
    long after = (long) words * Long.BYTES;
    if (!memory.reserveInPlaceOf(before, after)) {
      return false;
    }
    chunks[tail] = Arrays.copyOf(chunks[tail], words);
    memory.release(before);
    bytes += after - before;
    return true;
  }

  /** Returns the number of the chunk, or -1 where the memory lacks. */
  private int addChunk(int words) {
    if (freed == 0 && chunkCount == CHUNKS_MAX || !memory.reserve((long) words * Long.BYTES)) {
      return -1;
    }
    int added = 0;
    if (freed > 0) {
      while (chunks[added].length > 0) {
        added++;
      }
      freed--;
    } else {
      if (chunkCount == chunks.length) {
        chunks = Arrays.copyOf(chunks, 2 * chunkCount);
        used = Arrays.copyOf(used, 2 * chunkCount);
      }
      added = chunkCount++;
    }
    chunks[added] = new long[words];
    used[added] = words > CHUNK_WORDS ? words : 0;
    bytes += (long) words * Long.BYTES;
    return added;
  }

  private void free(int chunk) {
    long before = (long) chunks[chunk].length * Long.BYTES;
    memory.release(before);
    bytes -= before;
    chunks[chunk] = FREED;
    used[chunk] = 0;
    freed++;
  }

  private boolean isShared(int chunk) {
    return chunks[chunk].length > 0 && chunks[chunk].length <= CHUNK_WORDS;
  }

  /**
   * Drops the records whose hashes are not in the slice, moves the others together, in their order,
   * and gives back the chunks that get empty.
   *
   * @return false if the last chunk stays larger than it need be, because the memory lacks
   */
  boolean narrowTo(HashSlice slice, Kept kept) {
    /* No record ever moves to a place behind its own, so that it overwrites none that is to come. */
    int into = 0;
    int filled = 0;
    for (int from = 0; from < chunkCount; from++) {
      if (!isShared(from)) {
        if (chunks[from].length > 0 && !slice.holds(hash(chunks[from], 0))) {
          free(from);
        }
        continue;
      }
      long[] source = chunks[from];
      int end = used[from];
      for (int word = 0, words; word < end; word += words) {
        words = recordWords(source, word);
        int hash = hash(source, word);
        if (slice.holds(hash)) {
          if (filled + words > chunks[into].length) {
            used[into] = filled;
            filled = 0;
            do {
              into++;
            } while (!isShared(into));
          }
          System.arraycopy(source, word, chunks[into], filled, words);
          kept.at(hash, from << CHUNK_BITS | word, into << CHUNK_BITS | filled);
          filled += words;
        }
      }
    }
    used[into] = filled;
    tail = into;
    for (int behind = into + 1; behind < chunkCount; behind++) {
      if (isShared(behind)) {
        free(behind);
      }
    }
    return filled > chunks[tail].length / 2 || resizeTail(Math.max(FIRST_CHUNK_WORDS, filled));
  }

  private static int hash(long[] chunk, int word) {
    return (int) (chunk[word] >>> Integer.SIZE);
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

  /** Gives the memory back; the records are not used again. */
  void release() {
    memory.release(bytes);
  }
}
