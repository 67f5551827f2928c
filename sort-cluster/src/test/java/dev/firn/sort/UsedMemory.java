package dev.firn.sort;

import org.apache.arrow.memory.AllocationManager;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.memory.util.MemoryUtil;

/** Memory that is as if others had used it before and at once used it again. */
final class UsedMemory implements AllocationManager.Factory {
  private static final byte BEFORE = (byte) 0xC3;
  private static final byte AFTER = (byte) 0x5A;

  private UsedMemory() {}

  static BufferAllocator allocator() {
    return new RootAllocator(
        RootAllocator.configBuilder().allocationManagerFactory(new UsedMemory()).build());
  }

  @Override
  public AllocationManager create(BufferAllocator allocator, long size) {
    return new AllocationManager(allocator) {
      private final long address = MemoryUtil.allocateMemory(size);

      {
        MemoryUtil.setMemory(address, size, BEFORE);
      }

      @Override
      public long getSize() {
        return size;
      }

      @Override
      protected long memoryAddress() {
        return address;
      }

      @Override
      protected void release0() {
        MemoryUtil.setMemory(address, size, AFTER);
        MemoryUtil.freeMemory(address);
      }
    };
  }

  @Override
  public ArrowBuf empty() {
    return new RootAllocator().getEmpty();
  }
}
