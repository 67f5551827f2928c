package dev.firn.deletes;

import java.util.List;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * The keys of equality deletes with one set of field ids and one scope, all of them or a slice; for
 * each key the highest data sequence number that a delete file holding it has.
 *
 * <p>An open-addressing table with linear probing behind a {@link KeyFilter}. Filled by one thread
 * at a time; then any number of threads may look up at once.
 */
abstract sealed class KeyIndex permits LongKeyIndex, BinaryKeyIndex {
  private static final int SLOTS_MIN = 16;
  private static final int SLOTS_MAX = 1 << 28;
  private static final long HASH = (1L << Integer.SIZE) - 1;

  /* A table of one segment is doubled when it is full. From so many keys on it has many segments,
  each of which grows by itself and by little, so that a large table is always nearly full and only
  a small part of it is ever there twice. */
  private static final int KEYS_OF_ONE_SEGMENT = 48 << 10;
  private static final int SEGMENT_BITS = 8;
  private static final int GROWTH_DIVISOR = 4;

  final KeyMemory memory;
  final SequenceMarks marks;

  /* By the upper bits of the hash: the slots of the keys with them. A slot is 0 where it is free.
  Where in its segment a key goes ascends with the hash, too. */
  long[][] slots;
  private int segmentBits;
  private int[] rooms;
  private long held;
  private KeyFilter filter;

  /** The bytes of a slot with whatever else there is for each. */
  private final int slotBytes;

  /** The memory for {@link #bytesMin} is reserved already. */
  KeyIndex(SequenceMarks marks, int slotBytes, KeyMemory memory) {
    this.memory = memory;
    this.marks = marks;
    this.slotBytes = slotBytes;
    this.slots = new long[][] {new long[SLOTS_MIN]};
    this.rooms = new int[] {keysMax(SLOTS_MIN)};
    this.filter = new KeyFilter(KeyFilter.wordsFor(0));
  }

  /** What an index without keys takes. */
  static long bytesMin(int slotBytes) {
    return (long) SLOTS_MIN * slotBytes + KeyFilter.bytes(KeyFilter.wordsFor(0));
  }

  /** How many keys so many slots may hold. */
  private static int keysMax(int slots) {
    return slots - slots / 8 - slots / 64;
  }

  /** The fewest slots that may hold so many keys. */
  private static int slotsFor(int keys) {
    int slots = (int) Math.max(SLOTS_MIN, keys * 64L / 55);
    while (keysMax(slots) < keys) {
      slots++;
    }
    return slots;
  }

  /** An empty index, or null where the memory lacks. */
  static @Nullable KeyIndex of(
      List<Types.NestedField> fields, SequenceMarks marks, KeyMemory memory) {
    return KeyBatch.longKeys(fields)
        ? LongKeyIndex.empty(marks, memory)
        : BinaryKeyIndex.empty(KeyBatch.widths(fields), marks, memory);
  }

  /**
   * Adds those keys of a delete file with this data sequence number that are in the slice. Adding a
   * key again changes nothing.
   *
   * @param from the first key to add
   * @return the first key that was not added because the memory lacks, or else the number of keys
   */
  final int add(KeyBatch keys, int from, HashSlice slice, long sequenceNumber) {
    if (segmentBits == 0 && held > KEYS_OF_ONE_SEGMENT && !split()) {
      return from;
    }
    touch(keys.hashes(), null, from, keys.rows(), keys.slots());
    return put(keys, from, slice, marks.markOf(sequenceNumber));
  }

  abstract int put(KeyBatch keys, int from, HashSlice slice, int mark);

  /**
   * Drops the keys that are not in the slice, so that there is room for more.
   *
   * @return false where the memory lacks for it; then the keys of the slice are held, and others
   */
  abstract boolean narrowTo(HashSlice slice);

  /** Gives the memory back; the index is not used again. */
  void release() {
    for (long[] segment : slots) {
      memory.release(bytesOf(segment.length));
    }
    memory.release(KeyFilter.bytes(filter.words()));
  }

  /**
   * Clears the bit in {@code live} of each row whose key is deleted by a file with a data sequence
   * number above {@code sequenceNumber} (rule D1), and notes that the key has a row.
   *
   * @param firstRow the row in {@code asked} and {@code live} of the first key
   * @param asked the rows to look up
   * @return how many bits of {@code live} were cleared that had been set
   */
  final int clearDeleted(
      KeyBatch keys, long sequenceNumber, int firstRow, long[] asked, long[] live) {
    int markMin = marks.firstAbove(sequenceNumber);
    if (markMin > marks.last()) {
      return 0;
    }
    int cleared = clearAside(keys, markMin, firstRow, asked, live);
    if (held == 0 || !mayHold(keys)) {
      return cleared;
    }
    int[] hashes = keys.hashes();
    int[] candidates = keys.candidates();
    int count = filter.candidates(hashes, keys.rows(), firstRow, asked, candidates);
    touch(hashes, candidates, 0, count, keys.slots());
    return cleared + clearHeld(keys, count, markMin, firstRow, live);
  }

  /** Whether any of the keys may be in the table, by what is known without their hashes. */
  abstract boolean mayHold(KeyBatch keys);

  /** Clears the rows of deleted keys that are kept outside of the table. */
  abstract int clearAside(KeyBatch keys, int markMin, int firstRow, long[] asked, long[] live);

  /** Clears the rows of deleted keys among the first {@code count} candidates. */
  abstract int clearHeld(KeyBatch keys, int count, int markMin, int firstRow, long[] live);

  /** How many different keys are held. */
  long size() {
    return held;
  }

  /** How many of them no row has had in any look-up. Asked when all look-ups are done. */
  abstract long unmatched();

  final int segmentOf(int hash) {
    return (int) ((hash & HASH) >>> Integer.SIZE - segmentBits);
  }

  /** The first slot of its segment for a hash. */
  final int home(int hash, int slotCount) {
    return (int) (((hash & HASH) << segmentBits & HASH) * slotCount >>> Integer.SIZE);
  }

  static int next(int slot, int slotCount) {
    return slot + 1 == slotCount ? 0 : slot + 1;
  }

  /** The free slot of a segment where a key goes that is not held. */
  final int freeSlot(long[] segment, int hash) {
    int slot = home(hash, segment.length);
    while (segment[slot] != 0) {
      slot = next(slot, segment.length);
    }
    return slot;
  }

  /* Independent loads first: the processor waits for many slots at once and not for each. */
  private void touch(int[] hashes, int @Nullable [] places, int from, int count, long[] first) {
    for (int i = from; i < count; i++) {
      int hash = hashes[places == null ? i : places[i]];
      long[] segment = slots[segmentOf(hash)];
      first[i] = segment[home(hash, segment.length)];
    }
  }

  private long bytesOf(int slotCount) {
    return (long) slotCount * slotBytes;
  }

  /** Whether one more key fits, in the segment and in the filter, as they are. */
  final boolean hasRoom(int segment) {
    return rooms[segment] > 0 && held < filter.keysMax();
  }

  /**
   * Makes room for one more key in a segment.
   *
   * @return false where the memory lacks
   */
  final boolean makeRoom(int segment) {
    int count = slots[segment].length;
    if (rooms[segment] == 0) {
      int grown = segmentBits == 0 ? 2 * count : count + count / GROWTH_DIVISOR;
      if (grown > SLOTS_MAX || !memory.reserveInPlaceOf(bytesOf(count), bytesOf(grown))) {
        return false;
      }
      int size = keysMax(count);
      resize(segment, grown, HashSlice.ALL);
      rooms[segment] = keysMax(grown) - size;
      memory.release(bytesOf(count));
    }
    return held < filter.keysMax() || refilter();
  }

  /** Notes a new key that has got a slot. */
  final void added(int segment, int hash) {
    rooms[segment]--;
    held++;
    filter.add(hash);
  }

  /** Moves the keys of a segment that are in the slice to another number of slots. */
  abstract void resize(int segment, int slotCount, HashSlice slice);

  /** Makes a filter for the keys that are held and some more. */
  private boolean refilter() {
    int words = KeyFilter.wordsFor(held);
    if (!memory.replace(KeyFilter.bytes(filter.words()), KeyFilter.bytes(words))) {
      return false;
    }
    filter = new KeyFilter(0);
    filter = new KeyFilter(words);
    addAllTo(filter);
    return true;
  }

  abstract void addAllTo(KeyFilter to);

  private boolean split() {
    long[] whole = slots[0];
    int segments = 1 << SEGMENT_BITS;
    int[] keys = new int[segments];
    for (long slot : whole) {
      if (slot != 0) {
        keys[hashOf(slot) >>> Integer.SIZE - SEGMENT_BITS]++;
      }
    }
    int[] counts = new int[segments];
    long bytes = 0;
    for (int i = 0; i < segments; i++) {
      /* Of different sizes, so that they do not all grow at once and all have much room then. */
      int fewest = slotsFor(keys[i]);
      counts[i] = fewest + (int) ((long) fewest * i / segments / GROWTH_DIVISOR);
      bytes += bytesOf(counts[i]);
    }
    if (!memory.reserveInPlaceOf(bytesOf(whole.length), bytes)) {
      return false;
    }
    segmentBits = SEGMENT_BITS;
    slots = new long[segments][];
    rooms = new int[segments];
    for (int i = 0; i < segments; i++) {
      slots[i] = new long[counts[i]];
      rooms[i] = keysMax(counts[i]) - keys[i];
    }
    spread(whole);
    memory.release(bytesOf(whole.length));
    return true;
  }

  /** Moves the keys of the only segment there was to those that there are now, all empty. */
  abstract void spread(long[] whole);

  abstract int hashOf(long slot);

  /**
   * Moves each segment to as many slots as its keys in the slice need.
   *
   * @return false where the memory lacks; some segments are done then
   */
  final boolean narrowSegments(HashSlice slice) {
    for (int segment = 0; segment < slots.length; segment++) {
      int keys = 0;
      int before = 0;
      for (long slot : slots[segment]) {
        if (slot != 0) {
          before++;
          if (slice.holds(hashOf(slot))) {
            keys++;
          }
        }
      }
      int count = slots[segment].length;
      int fewer = Math.min(count, slotsFor(keys));
      if (!memory.reserveInPlaceOf(bytesOf(count), bytesOf(fewer))) {
        return false;
      }
      resize(segment, fewer, slice);
      memory.release(bytesOf(count));
      rooms[segment] = keysMax(fewer) - keys;
      held -= before - keys;
    }
    return refilter();
  }

  /** Clears the bit. Returns 1 if it had been set, else 0. */
  static int clear(long[] words, int row) {
    long word = words[row >>> 6];
    words[row >>> 6] = word & ~(1L << row);
    return (int) (word >>> row) & 1;
  }

  static boolean isSet(long[] words, int row) {
    return (words[row >>> 6] >>> row & 1) != 0;
  }
}
