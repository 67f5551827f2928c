package dev.firn.engine;

import java.lang.management.ManagementFactory;

/**
 * How one number, the memory of the process, is split.
 *
 * @param totalBytes all of it
 * @param heapBytes what the JVM may use for objects, output pages and delete keys among them
 * @param sortBytes rows held while they are sorted, in Arrow memory
 * @param decodeBytes row groups being decoded, in Arrow and native memory
 * @param keyIndexBytes keys of equality deletes, over all groups in work; what does not fit takes
 *     several passes
 */
record MemoryShares(
    long totalBytes, long heapBytes, long sortBytes, long decodeBytes, long keyIndexBytes) {

  /** Pages of output files that are open at once, for all groups in work. */
  long openOutputsBytes() {
    return heapBytes / 4;
  }

  /** Partitions that rows are spread over, for all groups in work. */
  long partitionsBytes() {
    return heapBytes / 8;
  }

  /** Set by the launcher, which has cut the heap to fit. */
  static final String TOTAL_PROPERTY = "firn.memory.total-bytes";

  static MemoryShares of(long totalBytes) {
    long heap = Math.min(Runtime.getRuntime().maxMemory(), totalBytes);
    long offHeap = Math.max(totalBytes - heap, totalBytes / 4);
    return new MemoryShares(totalBytes, heap, offHeap / 2, offHeap / 2, heap / 4);
  }

  /** 80 % of what the container, or else the machine, has. */
  static long defaultTotalBytes() {
    Long set = Long.getLong(TOTAL_PROPERTY);
    if (set != null && set > 0) {
      return set;
    }
    java.lang.management.OperatingSystemMXBean system =
        ManagementFactory.getOperatingSystemMXBean();
    if (system instanceof com.sun.management.OperatingSystemMXBean platform) {
      return platform.getTotalMemorySize() / 5 * 4;
    }
    return Runtime.getRuntime().maxMemory() * 2;
  }
}
