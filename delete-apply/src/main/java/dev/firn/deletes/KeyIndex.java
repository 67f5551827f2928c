package dev.firn.deletes;

import java.util.List;
import org.apache.iceberg.types.Types;

/**
 * The keys of equality deletes with one set of field ids and one scope; for each key the highest
 * data sequence number that a delete file holding it has.
 *
 * <p>Filled by one thread; then any number of threads may look up at once.
 */
abstract sealed class KeyIndex permits LongKeyIndex, BinaryKeyIndex {
  static final int SLOTS_MIN = 16;

  /** A filter bit has a 32-bit hash to be found by. */
  static final int SLOTS_MAX = 1 << 29;

  private static final int FILTER_BITS_LOG = 3;

  final KeyMemory memory;

  /** A key's slot is the first of those for the upper bits of its hash, from this bit on. */
  int shift = Integer.SIZE - Integer.numberOfTrailingZeros(SLOTS_MIN);

  /* Eight bits for each slot, found by three bits of the hash more. Most rows of a data file are
  not deleted; the filter tells so from memory that the processor's cache can hold. */
  private long[] filter;

  KeyIndex(KeyMemory memory) {
    this.memory = memory;
    memory.reserve(SLOTS_MIN);
    this.filter = filterFor(SLOTS_MIN);
  }

  private static long[] filterFor(int slots) {
    return new long[slots >>> (6 - FILTER_BITS_LOG)];
  }

  static KeyIndex of(List<Types.NestedField> fields, KeyMemory memory) {
    return KeyBatch.longKeys(fields) ? new LongKeyIndex(memory) : new BinaryKeyIndex(memory);
  }

  /** Adds the keys of a delete file with this data sequence number. */
  abstract void add(KeyBatch keys, long sequenceNumber);

  /**
   * Clears the bit in {@code live} of each row whose key is deleted by a file with a data sequence
   * number above {@code sequenceNumber} (rule D1).
   *
   * @param firstRow the row in {@code live} of the first key
   * @return how many bits were cleared that had been set
   */
  abstract int clearDeleted(KeyBatch keys, long sequenceNumber, int firstRow, long[] live);

  /** How many different keys are held. */
  abstract long size();

  /** Notes that a key with this hash is held. */
  final void addToFilter(int hash) {
    int bit = hash >>> (shift - FILTER_BITS_LOG);
    filter[bit >>> 6] |= 1L << bit;
  }

  /** Empties the filter for twice as many slots as there were. */
  final void growFilter(int slots) {
    memory.reserve(slots - (long) filter.length * Long.BYTES);
    filter = filterFor(slots);
    shift--;
  }

  /**
   * Finds the live rows whose keys may be held.
   *
   * @param candidates takes their places among the keys
   * @return how many there are
   */
  final int candidates(KeyBatch keys, int firstRow, long[] live, int[] candidates) {
    long[] bits = filter;
    int[] hashes = keys.hashes();
    int rows = keys.rows();
    int filterShift = shift - FILTER_BITS_LOG;
    int count = 0;
    for (int i = 0; i < rows; i++) {
      int bit = hashes[i] >>> filterShift;
      int row = firstRow + i;
      candidates[count] = i;
      count += (int) (bits[bit >>> 6] >>> bit & live[row >>> 6] >>> row) & 1;
    }
    return count;
  }

  static boolean isLive(long[] live, int row) {
    return (live[row >>> 6] >>> row & 1) != 0;
  }

  static void clear(long[] live, int row) {
    live[row >>> 6] &= ~(1L << row);
  }
}
