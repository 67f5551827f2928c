package dev.firn.engine.parquet;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.arrow.dataset.jni.NativeMemoryPool;
import org.apache.arrow.dataset.jni.ReservationListener;

/**
 * The memory that Arrow's native decoder takes, counted. Batches share it, so it is not added to
 * what their allocators count. Thread-safe.
 */
final class NativeMemory implements AutoCloseable {
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicLong bytesPeak = new AtomicLong();
  private final NativeMemoryPool pool =
      NativeMemoryPool.createListenable(
          new ReservationListener() {
            @Override
            public void reserve(long size) {
              long now = bytes.addAndGet(size);
              bytesPeak.accumulateAndGet(now, Math::max);
            }

            @Override
            public void unreserve(long size) {
              bytes.addAndGet(-size);
            }
          });

  NativeMemoryPool pool() {
    return pool;
  }

  long bytes() {
    return bytes.get();
  }

  long bytesPeak() {
    return bytesPeak.get();
  }

  /** To be closed when all that was decoded is closed. */
  @Override
  public void close() {
    try {
      pool.close();
    } catch (RuntimeException failure) {
      throw failure;
    } catch (Exception failure) {
      throw new IllegalStateException("Cannot release the native memory pool", failure);
    }
  }
}
