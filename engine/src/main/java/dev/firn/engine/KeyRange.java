package dev.firn.engine;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Where the sort keys of a data file lie, as positions that compare as unsigned bytes.
 *
 * <p>{@code first} and {@code last} are the reach: no key of the file is outside of it. Between
 * {@code after} and {@code before} is the inside: the reach without its end points, which are
 * values as far as bounds tell them apart. Files that follow one another in a sorted partition
 * often share an end point; they share a piece of their insides only if they overlap.
 *
 * @param first at or before every key of the file
 * @param last at or after every key of the file
 * @param after where the inside begins, null if there is no inside: all keys are one value, or
 *     cannot be told from one
 * @param before where the inside ends, null if there is none
 */
@SuppressWarnings("ArrayRecordComponent") // compared by their content, by the methods below
record KeyRange(byte[] first, byte[] last, byte @Nullable [] after, byte @Nullable [] before) {

  /** Whether the file has no inside, so that it overlaps with nothing. */
  boolean isPoint() {
    return after == null || before == null;
  }

  /** Whether no key of this file can be between keys of the other: at most they meet. */
  boolean precedes(KeyRange other) {
    return Arrays.compareUnsigned(last, other.first) <= 0;
  }
}
