package dev.firn.deletes;

/**
 * What resolving the deletes of one file group may use.
 *
 * <p>Equality delete keys that do not fit are taken in several passes over the key columns of the
 * data files. How many is found out on the way, and there are at most {@link #PASSES_MAX}.
 *
 * @param keyIndexBytesMax the most heap, in bytes, that the keys of equality deletes may take at
 *     once. Some bytes are needed for each partition that has a key in a pass, and three times the
 *     longest key
 */
public record DeleteLimits(long keyIndexBytesMax) {
  /** Passes over the key columns of a group at most; a limit that would need more is refused. */
  public static final int PASSES_MAX = 4096;

  public DeleteLimits {
    if (keyIndexBytesMax <= 0) {
      throw new IllegalArgumentException(
          "keyIndexBytesMax must be positive but was " + keyIndexBytesMax);
    }
  }
}
