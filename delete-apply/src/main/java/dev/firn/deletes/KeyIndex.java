package dev.firn.deletes;

import java.util.List;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * The keys of equality deletes with one set of field ids and one scope, all of them or a slice; for
 * each key the highest data sequence number that a delete file holding it has.
 *
 * <p>Filled by one thread at a time; then any number of threads may look up at once.
 */
abstract sealed class KeyIndex permits LongKeyIndex, BinaryKeyIndex {
  static final int SLOTS_MIN = 16;

  /** A filter bit has a 32-bit hash to be found by. */
  static final int SLOTS_MAX = 1 << 29;

  /** In the word with the sequence number of a key: some row has that key. */
  static final long MATCHED = Long.MIN_VALUE;

  private static final int FILTER_BITS_LOG = 3;

  final KeyMemory memory;

  /** A key's slot is the first of those for the upper bits of its hash, from this bit on. */
  int shift;

  /* Eight bits for each slot, found by three bits of the hash more. Most rows of a data file are
  not deleted; the filter tells so from memory that the processor's cache can hold. */
  private long[] filter;

  /**
   * @param slots a power of two; the memory for them is reserved already
   */
  KeyIndex(KeyMemory memory, int slots) {
    this.memory = memory;
    useSlots(slots);
  }

  /** Bytes of the filter for so many slots. */
  static long filterBytes(int slots) {
    return slots;
  }

  /** How many keys so many slots may hold. */
  static int keysMax(int slots) {
    return slots / 3 * 2;
  }

  /** The fewest slots that may hold so many keys. */
  static int slotsFor(int keys) {
    int slots = SLOTS_MIN;
    while (keysMax(slots) < keys) {
      slots <<= 1;
    }
    return slots;
  }

  /** An empty index, or null where the memory lacks. */
  static @Nullable KeyIndex of(List<Types.NestedField> fields, KeyMemory memory) {
    return KeyBatch.longKeys(fields)
        ? LongKeyIndex.ofSlots(SLOTS_MIN, memory)
        : BinaryKeyIndex.ofSlots(KeyBatch.widths(fields), SLOTS_MIN, memory);
  }

  /**
   * Adds those keys of a delete file with this data sequence number that are in the slice. Adding a
   * key again changes nothing.
   *
   * @param from the first key to add
   * @return the first key that was not added because the memory lacks, or else the number of keys
   */
  abstract int add(KeyBatch keys, int from, HashSlice slice, long sequenceNumber);

  /**
   * Moves the keys of a slice to a new index, in which there is room for more.
   *
   * @return the new index, in whose place this one has been released; or null where the memory
   *     lacks for it, and then this one is as it was
   */
  abstract @Nullable KeyIndex narrowedTo(HashSlice slice);

  /** Gives the memory back; the index is not used again. */
  abstract void release();

  /**
   * Clears the bit in {@code live} of each row whose key is deleted by a file with a data sequence
   * number above {@code sequenceNumber} (rule D1), and notes that the key has a row.
   *
   * @param firstRow the row in {@code asked} and {@code live} of the first key
   * @param asked the rows to look up
   * @return how many bits of {@code live} were cleared that had been set
   */
  abstract int clearDeleted(
      KeyBatch keys, long sequenceNumber, int firstRow, long[] asked, long[] live);

  /** How many different keys are held. */
  abstract long size();

  /** How many of them no row has had in any look-up. Asked when all look-ups are done. */
  abstract long unmatched();

  /** Notes that a key with this hash is held. */
  final void addToFilter(int hash) {
    int bit = hash >>> (shift - FILTER_BITS_LOG);
    filter[bit >>> 6] |= 1L << bit;
  }

  /** Turns to another number of slots, with an empty filter. */
  final void useSlots(int slots) {
    filter = new long[slots >>> (6 - FILTER_BITS_LOG)];
    shift = Integer.SIZE - Integer.numberOfTrailingZeros(slots);
  }

  /**
   * Finds the asked rows whose keys may be held.
   *
   * @param candidates takes their places among the keys
   * @return how many there are
   */
  final int candidates(KeyBatch keys, int firstRow, long[] asked, int[] candidates) {
    long[] bits = filter;
    int[] hashes = keys.hashes();
    int rows = keys.rows();
    int filterShift = shift - FILTER_BITS_LOG;
    int count = 0;
    for (int i = 0; i < rows; i++) {
      int bit = hashes[i] >>> filterShift;
      int row = firstRow + i;
      candidates[count] = i;
      count += (int) (bits[bit >>> 6] >>> bit & asked[row >>> 6] >>> row) & 1;
    }
    return count;
  }

  static boolean isSet(long[] words, int row) {
    return (words[row >>> 6] >>> row & 1) != 0;
  }

  /** Clears the bit. Returns 1 if it had been set, else 0. */
  static int clear(long[] words, int row) {
    long word = words[row >>> 6];
    words[row >>> 6] = word & ~(1L << row);
    return (int) (word >>> row) & 1;
  }
}
