package dev.firn.deletes;

/**
 * What resolving the deletes of one file group may use.
 *
 * @param keyIndexBytesMax the most heap, in bytes, that the keys of equality deletes may take
 */
public record DeleteLimits(long keyIndexBytesMax) {
  public DeleteLimits {
    if (keyIndexBytesMax <= 0) {
      throw new IllegalArgumentException(
          "keyIndexBytesMax must be positive but was " + keyIndexBytesMax);
    }
  }
}
