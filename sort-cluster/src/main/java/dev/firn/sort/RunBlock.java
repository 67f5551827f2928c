package dev.firn.sort;

import org.apache.arrow.memory.ArrowBuf;

/**
 * A block of a run in memory.
 *
 * @param memory holds all buffers
 * @param buffers the keys, their offsets if they differ in length, then those of each column
 */
record RunBlock(ArrowBuf memory, BlockBuffers buffers, int rows) implements AutoCloseable {

  /** To be called once. */
  @Override
  public void close() {
    memory.close();
  }
}
