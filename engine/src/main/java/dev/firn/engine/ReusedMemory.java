package dev.firn.engine;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.apache.arrow.memory.AllocationManager;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.memory.unsafe.UnsafeAllocationManager;
import org.apache.arrow.memory.util.MemoryUtil;

/**
 * Where the buffers of a run's allocators come from: large ones that are released are kept for
 * those to come, as a page that is fresh from the system costs a fault, and a batch after another
 * is of the same sizes. What is kept and what is in use stay below a limit together, whatever is
 * kept giving way, and what was of no use for a while goes back to the system. Allocators count
 * what is in use alone. Thread-safe.
 *
 * <p>To be closed after the allocators; buffers released later are not kept.
 */
final class ReusedMemory implements AllocationManager.Factory, AutoCloseable {

  /** Smaller ones come from the C library, which keeps them itself. */
  static final long BYTES_MIN = 32L << 10;

  /** Of larger ones, an eighth of the next smaller power of two more may be taken. */
  private static final long POWERS_BYTES_MAX = 16L << 20;

  private static final byte POISON = (byte) 0xA5;

  private final long bytesMax;
  private final long sweepBytes;

  /** Buffers of one size that are kept, the one kept last on top: it may be in a cache. */
  private static final class Kept {
    private long[] addresses = new long[16];
    private int count;
    private int countMin; // since the last sweep: so many were of no use

    void push(long address) {
      if (count == addresses.length) {
        addresses = Arrays.copyOf(addresses, 2 * count);
      }
      addresses[count++] = address;
    }

    long pop() {
      long address = addresses[--count];
      countMin = Math.min(countMin, count);
      return address;
    }
  }

  /* All guarded by this. */
  private final TreeMap<Long, Kept> kept = new TreeMap<>();
  private long bytesKept;
  private long bytesUsed;
  private long bytesPeak;
  private long bytesSinceSweep;
  private boolean closed;

  /**
   * @param bytesMax nothing is kept beyond this, with what is in use
   */
  ReusedMemory(long bytesMax) {
    this.bytesMax = bytesMax;
    this.sweepBytes = 2 * bytesMax;
  }

  /** An allocator of such memory. To be closed by the caller, before this. */
  BufferAllocator allocator(long limit) {
    return new RootAllocator(
        RootAllocator.configBuilder().allocationManagerFactory(this).maxAllocation(limit).build());
  }

  @Override
  public AllocationManager create(BufferAllocator accountingAllocator, long size) {
    return size < BYTES_MIN
        ? UnsafeAllocationManager.FACTORY.create(accountingAllocator, size)
        : new Buffer(accountingAllocator, size);
  }

  @Override
  public ArrowBuf empty() {
    return UnsafeAllocationManager.FACTORY.empty();
  }

  /** What is kept now. */
  synchronized long bytesKept() {
    return bytesKept;
  }

  /** The most that was kept and in use at once, small buffers apart. */
  synchronized long bytesPeak() {
    return bytesPeak;
  }

  private final class Buffer extends AllocationManager {
    private final long size;
    private final long capacity;
    private final long address;

    Buffer(BufferAllocator allocator, long size) {
      super(allocator);
      this.size = size;
      this.capacity = capacity(size);
      this.address = take(capacity);
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
      giveBack(address, capacity);
    }
  }

  /** The allocators round to powers of two, but for the largest. */
  private static long capacity(long size) {
    if (size <= POWERS_BYTES_MAX) {
      return size;
    }
    long step = Long.highestOneBit(size) >>> 3;
    return (size + step - 1) / step * step;
  }

  private long take(long capacity) {
    synchronized (this) {
      bytesSinceSweep += capacity;
      if (bytesSinceSweep > sweepBytes) {
        sweep();
      }
      bytesUsed += capacity;
      Kept same = kept.get(capacity);
      if (same != null && same.count > 0) {
        bytesKept -= capacity;
        return same.pop();
      }
      makeRoom();
      bytesPeak = Math.max(bytesPeak, bytesUsed + bytesKept);
    }
    try {
      return MemoryUtil.allocateMemory(capacity);
    } catch (Throwable failure) {
      synchronized (this) {
        bytesUsed -= capacity;
      }
      throw failure;
    }
  }

  private void giveBack(long address, long capacity) {
    assert poisoned(address, capacity); // who still reads it is found out
    synchronized (this) {
      bytesUsed -= capacity;
      if (!closed && bytesUsed + bytesKept + capacity <= bytesMax) {
        kept.computeIfAbsent(capacity, none -> new Kept()).push(address);
        bytesKept += capacity;
        return;
      }
    }
    MemoryUtil.freeMemory(address);
  }

  private static boolean poisoned(long address, long capacity) {
    MemoryUtil.setMemory(address, capacity, POISON);
    return true;
  }

  /** Gives back what nobody has asked for since the last time. */
  private void sweep() {
    bytesSinceSweep = 0;
    for (Map.Entry<Long, Kept> entry : kept.entrySet()) {
      free(entry.getKey(), entry.getValue(), entry.getValue().countMin);
      entry.getValue().countMin = entry.getValue().count;
    }
  }

  /** Largest first: few calls. */
  private void makeRoom() {
    for (Map.Entry<Long, Kept> entry : kept.descendingMap().entrySet()) {
      long over = bytesUsed + bytesKept - bytesMax;
      if (over <= 0) {
        return;
      }
      long buffers = (over - 1) / entry.getKey() + 1;
      free(entry.getKey(), entry.getValue(), (int) Math.min(entry.getValue().count, buffers));
    }
  }

  /** Frees the buffers kept first. */
  private void free(long capacity, Kept same, int buffers) {
    for (int i = 0; i < buffers; i++) {
      MemoryUtil.freeMemory(same.addresses[i]);
    }
    same.count -= buffers;
    same.countMin = Math.min(same.countMin, same.count);
    System.arraycopy(same.addresses, buffers, same.addresses, 0, same.count);
    bytesKept -= buffers * capacity;
  }

  /** Gives back all that is kept. Closing twice is harmless. */
  @Override
  public synchronized void close() {
    closed = true;
    kept.forEach((capacity, same) -> free(capacity, same, same.count));
    kept.clear();
  }
}
