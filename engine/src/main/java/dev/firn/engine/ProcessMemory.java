package dev.firn.engine;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryType;
import java.nio.file.Files;
import java.nio.file.Path;

/** The memory of this process, as the operating system counts it. */
final class ProcessMemory {
  private static final Path STATUS = Path.of("/proc/self/status");
  private static final String PEAK_RESIDENT = "VmHWM:";

  private ProcessMemory() {}

  /** Peak resident bytes so far; where the system does not tell, the heap committed now. */
  static long peakBytes() {
    try {
      if (Files.exists(STATUS)) {
        for (String line : Files.readAllLines(STATUS)) {
          if (line.startsWith(PEAK_RESIDENT)) {
            return Long.parseLong(line.replaceAll("\\D", "")) << 10;
          }
        }
      }
    } catch (IOException | NumberFormatException e) {
      return heapBytes();
    }
    return heapBytes();
  }

  /** The most heap that was in use; each of its pools may have had its peak at another time. */
  static long heapPeakBytes() {
    return ManagementFactory.getMemoryPoolMXBeans().stream()
        .filter(pool -> pool.getType() == MemoryType.HEAP)
        .mapToLong(pool -> pool.getPeakUsage().getUsed())
        .sum();
  }

  private static long heapBytes() {
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getCommitted();
  }
}
