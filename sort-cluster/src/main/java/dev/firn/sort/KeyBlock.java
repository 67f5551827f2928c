package dev.firn.sort;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.jspecify.annotations.Nullable;

/**
 * The keys of some rows, one after another, with {@link #SLACK_BYTES} behind the last so that eight
 * bytes can be read wherever a key has one.
 *
 * @param offsets where each key starts, as ints, and where the last ends; null when all keys have
 *     the same length
 * @param bytes the length of all keys together
 */
record KeyBlock(ArrowBuf keys, @Nullable ArrowBuf offsets, long bytes) implements AutoCloseable {

  static final int SLACK_BYTES = 7;

  /** An empty block, to be filled. The caller closes it. */
  static KeyBlock allocate(int rows, long bytes, boolean variable, BufferAllocator memory) {
    ArrowBuf offsets = variable ? memory.buffer((rows + 1L) << 2) : null;
    try {
      return new KeyBlock(memory.buffer(bytes == 0 ? 0 : bytes + SLACK_BYTES), offsets, bytes);
    } catch (Throwable failure) {
      if (offsets != null) {
        offsets.close();
      }
      throw failure;
    }
  }

  /** 0 when all keys are empty. */
  long keysAddress() {
    return bytes == 0 ? 0 : keys.memoryAddress();
  }

  /** 0 when there are no offsets. */
  long offsetsAddress() {
    return offsets == null ? 0 : offsets.memoryAddress();
  }

  /** To be called once. */
  @Override
  public void close() {
    keys.close();
    if (offsets != null) {
      offsets.close();
    }
  }
}
