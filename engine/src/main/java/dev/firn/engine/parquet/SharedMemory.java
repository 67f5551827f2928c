package dev.firn.engine.parquet;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.ForeignAllocation;

/** Memory of a decoded row group in the buffers of its batches, without a copy. */
final class SharedMemory {
  /* Decoded row groups belong to an allocator of the reader without a limit, for Arrow loses what
  it is importing when an allocation fails in the middle. Their size is then charged to the
  caller's allocator in one piece, whose refusal can be handled. Buffers of batches are under the
  caller's allocator, and so must be foreign to it. */

  private SharedMemory() {}

  /**
   * A part of a buffer under another allocator, which charges it. The caller releases it; the
   * buffer lives at least as long.
   */
  static ArrowBuf slice(ArrowBuf buffer, long from, long bytes, BufferAllocator allocator) {
    if (bytes == 0) {
      return allocator.getEmpty();
    }
    if (from < 0 || from + bytes > buffer.capacity()) {
      throw new IndexOutOfBoundsException(
          "Bytes " + from + " to " + (from + bytes) + " of " + buffer.capacity());
    }
    buffer.getReferenceManager().retain();
    try {
      return allocator.wrapForeignAllocation(
          new ForeignAllocation(bytes, buffer.memoryAddress() + from) {
            @Override
            protected void release0() {
              buffer.getReferenceManager().release();
            }
          });
    } catch (Throwable failure) {
      buffer.getReferenceManager().release();
      throw failure;
    }
  }

  /**
   * Charges bytes that are allocated already.
   *
   * @throws org.apache.arrow.memory.OutOfMemoryException if they are more than the allocator allows
   */
  static ArrowBuf charge(long bytes, BufferAllocator allocator) {
    return allocator.wrapForeignAllocation(
        new ForeignAllocation(bytes, 0) {
          @Override
          protected void release0() {}
        });
  }
}
