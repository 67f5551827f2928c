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
   * @param scratch at least {@link KeyBatch#ROWS_MAX} longs
   * @return how many bits were cleared that had been set
   */
  abstract int clearDeleted(
      KeyBatch keys, long sequenceNumber, int firstRow, long[] live, long[] scratch);

  /** How many different keys are held. */
  abstract long size();

  static boolean isLive(long[] live, int row) {
    return (live[row >>> 6] >>> row & 1) != 0;
  }

  static void clear(long[] live, int row) {
    live[row >>> 6] &= ~(1L << row);
  }
}
