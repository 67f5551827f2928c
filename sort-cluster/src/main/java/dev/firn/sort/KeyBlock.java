package dev.firn.sort;

import org.apache.arrow.memory.ArrowBuf;
import org.jspecify.annotations.Nullable;

/**
 * The keys of some rows, one after another.
 *
 * @param offsets where each key starts, as ints, and where the last ends; null when all keys have
 *     the same length
 * @param bytes the length of all keys together
 */
record KeyBlock(ArrowBuf keys, @Nullable ArrowBuf offsets, long bytes) implements AutoCloseable {

  /** To be called once. */
  @Override
  public void close() {
    keys.close();
    if (offsets != null) {
      offsets.close();
    }
  }
}
