package dev.firn.deletes;

import java.util.Arrays;
import java.util.Collection;

/**
 * The data sequence numbers of the delete files whose keys one index may hold, each as a small
 * number that is kept with a key: its mark, from 1 on, ascending. Immutable.
 */
final class SequenceMarks {
  private final long[] sequenceNumbers;

  private SequenceMarks(long[] sequenceNumbers) {
    this.sequenceNumbers = sequenceNumbers;
  }

  static SequenceMarks of(Collection<Long> sequenceNumbers) {
    return new SequenceMarks(
        sequenceNumbers.stream().mapToLong(Long::longValue).sorted().distinct().toArray());
  }

  /** The mark of one of the sequence numbers. */
  int markOf(long sequenceNumber) {
    int place = Arrays.binarySearch(sequenceNumbers, sequenceNumber);
    if (place < 0) {
      throw new IllegalStateException("No delete file has sequence number " + sequenceNumber);
    }
    return place + 1;
  }

  /** The lowest mark of a sequence number above this one, which need not be one of them. */
  int firstAbove(long sequenceNumber) {
    int place = Arrays.binarySearch(sequenceNumbers, sequenceNumber);
    return place < 0 ? -place : place + 2;
  }

  /** The highest mark. */
  int last() {
    return sequenceNumbers.length;
  }

  /** Bytes that hold a mark as a signed number, of which the sign is left free: 1, 2 or 4. */
  int bytes() {
    return last() <= Byte.MAX_VALUE ? 1 : last() <= Short.MAX_VALUE ? Short.BYTES : Integer.BYTES;
  }
}
