package dev.firn.engine.parquet;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.arrow.dataset.jni.NativeMemoryPool;
import org.apache.arrow.dataset.jni.ReservationListener;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.jspecify.annotations.Nullable;

/**
 * The memory that decoded rows take, counted: what Arrow's native decoder holds, and the vectors
 * that Firn's own fills. Batches share it, so it is not added to what their allocators count.
 * Thread-safe.
 */
final class NativeMemory implements AutoCloseable {
  /* The pool is never released: threads of the decoder can still free a buffer to it when the scan
  that the buffer was for is long closed, and would then touch memory that is gone. Unreleased it
  takes some hundred bytes, once for each reader. */
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicLong bytesPeak = new AtomicLong();
  private @Nullable NativeMemoryPool pool; // null until it is asked for

  /** What decoded row groups are imported with: see {@link SharedMemory}. */
  private final BufferAllocator imports = new RootAllocator();

  BufferAllocator imports() {
    return imports;
  }

  /* Arrow's library, which has 76 MB, is unpacked for the first: not for a run that only plans. */
  synchronized NativeMemoryPool pool() {
    if (pool == null) {
      pool =
          NativeMemoryPool.createListenable(
              new ReservationListener() {
                @Override
                public void reserve(long size) {
                  count(size);
                }

                @Override
                public void unreserve(long size) {
                  count(-size);
                }
              });
    }
    return pool;
  }

  /** Counts what is held from now on, or with a negative number no more. */
  void count(long size) {
    long now = bytes.addAndGet(size);
    bytesPeak.accumulateAndGet(now, Math::max);
  }

  long bytes() {
    return bytes.get();
  }

  long bytesPeak() {
    return bytesPeak.get();
  }

  /** To be closed when all that was decoded is closed, which it checks. */
  @Override
  public void close() {
    imports.close();
  }
}
