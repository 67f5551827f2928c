package dev.firn.sort;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.arrow.memory.util.MemoryUtil;

/**
 * Different byte strings in unsigned order, to find the place of others among them. What all of
 * them begin with is compared once, so that it costs little however long it is. Immutable.
 */
final class SortedBytes {
  private static final VarHandle BIG_ENDIAN =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private static final VarHandle LITTLE_ENDIAN =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final byte[][] values;
  private final int prefixBytes;
  private final byte[] prefix;
  private final WordTable words; // the bytes of each value after the prefix, signs flipped
  private final int[] runEnds; // behind the last value that has the same word

  /**
   * @param values ascending and different
   */
  SortedBytes(byte[][] values) {
    this.values = values;
    int count = values.length;
    byte[] first = count == 0 ? new byte[0] : values[0];
    int differs = count == 0 ? 0 : Arrays.mismatch(first, values[count - 1]);
    this.prefixBytes = differs < 0 ? first.length : differs;
    this.prefix = Arrays.copyOf(first, prefixBytes);
    this.runEnds = new int[count];
    long[] after = new long[count];
    for (int i = count - 1; i >= 0; i--) {
      after[i] = word(values[i], prefixBytes) ^ Long.MIN_VALUE;
      runEnds[i] = i + 1 < count && after[i + 1] == after[i] ? runEnds[i + 1] : i + 1;
    }
    this.words = new WordTable(after);
  }

  private static long word(byte[] bytes, int from) {
    if (from + 8 <= bytes.length) {
      return (long) BIG_ENDIAN.get(bytes, from);
    }
    long word = 0;
    for (int at = from; at < bytes.length; at++) {
      word |= (bytes[at] & 0xFFL) << (56 - 8 * (at - from));
    }
    return word;
  }

  /**
   * Finds the places of many byte strings.
   *
   * @param addresses where each lies
   * @param flip what is to be flipped in the first byte of each
   * @param n how many there are
   * @param places takes twice the number of values that come before it, and 1 more if it is a value
   */
  void search(long[] addresses, int[] lengths, int flip, int n, int[] places) {
    long[] sought = new long[n];
    int[] beside = new int[n];
    for (int i = 0; i < n; i++) {
      long address = addresses[i];
      int length = lengths[i];
      beside[i] = compareToPrefix(address, length, flip);
      if (beside[i] == 0) {
        long word = VariableBytes.word(address + prefixBytes, length - prefixBytes);
        long flipped = prefixBytes == 0 && length > 0 ? (long) flip << 56 : 0;
        sought[i] = word ^ flipped ^ Long.MIN_VALUE;
      }
    }
    words.places(sought, n, places);
    for (int i = 0; i < n; i++) {
      if (beside[i] != 0) {
        places[i] = beside[i] < 0 ? 0 : 2 * values.length;
      } else if (words.isAt(places[i], sought[i])) {
        places[i] = searchRun(places[i], addresses[i], lengths[i]);
      } else {
        places[i] *= 2;
      }
    }
  }

  /** Searches the values of the same word from {@code first} on. */
  private int searchRun(int first, long address, int length) {
    int low = first;
    int high = runEnds[first];
    while (low < high) {
      int middle = (low + high) >>> 1;
      int compared = compare(values[middle], address, length);
      if (compared == 0) {
        return 2 * middle + 1;
      }
      if (compared < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return 2 * low;
  }

  /** Below 0 when the bytes come before all that begin with the prefix, 0 when they do so too. */
  private int compareToPrefix(long address, int length, int flip) {
    int common = Math.min(length, prefixBytes);
    int at = 0;
    if (flip == 0) {
      while (at + 8 <= common
          && MemoryUtil.getLong(address + at) == (long) LITTLE_ENDIAN.get(prefix, at)) {
        at += 8;
      }
    }
    for (; at < common; at++) {
      int theirs = (MemoryUtil.getByte(address + at) ^ (at == 0 ? flip : 0)) & 0xFF;
      int ours = prefix[at] & 0xFF;
      if (theirs != ours) {
        return theirs - ours;
      }
    }
    return length < prefixBytes ? -1 : 0;
  }

  /** Compares behind the word, which is known to be equal. */
  private int compare(byte[] value, long address, int length) {
    int at = prefixBytes + 8;
    int common = Math.min(value.length, length);
    for (; at + 8 <= common; at += 8) {
      long ours = (long) BIG_ENDIAN.get(value, at);
      long theirs = Long.reverseBytes(MemoryUtil.getLong(address + at));
      if (ours != theirs) {
        return Long.compareUnsigned(ours, theirs);
      }
    }
    for (; at < common; at++) {
      int ours = value[at] & 0xFF;
      int theirs = MemoryUtil.getByte(address + at) & 0xFF;
      if (ours != theirs) {
        return ours - theirs;
      }
    }
    return value.length - length;
  }
}
