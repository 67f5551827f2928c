package dev.firn.engine;

import java.lang.management.ManagementFactory;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How one number, the memory of the process, is split. The parts add up to it; what is in the heap
 * has limits of its own below the heap's.
 *
 * @param totalBytes all of it
 * @param runtimeBytes the JVM beside the heap: classes, compiled code, garbage collector, threads,
 *     and what allocators of native memory lose
 * @param heapBytes what the JVM may use for objects, output pages and delete keys among them
 * @param decodeBytes row groups being decoded, in Arrow and native memory
 * @param sortBytes rows held while they are sorted, in Arrow memory; 0 if nothing is sorted
 */
record MemoryShares(
    long totalBytes, long runtimeBytes, long heapBytes, long decodeBytes, long sortBytes) {

  /** Set by the launcher, which has cut the heap to fit. */
  static final String TOTAL_PROPERTY = "firn.memory.total-bytes";

  /** Measured: a run on two cores has 150 to 170 MB of it, the JIT at its busiest. */
  private static final long RUNTIME_BYTES = 184L << 20;

  /** More memory means more threads, buffers and pages of the garbage collector. */
  private static final int RUNTIME_SHARE = 64;

  /** The heap that the launcher gives: 35 % of all. */
  private static final double HEAP_SHARE = 0.35;

  /** Off the heap there is at least this share of all, also where the heap was not cut to fit. */
  private static final int OFF_HEAP_SHARE_MIN = 4;

  /** Keys of equality deletes, over all groups in work; what does not fit takes more passes. */
  long keyIndexBytes() {
    return heapBytes / 4;
  }

  /** Pages of output files that are open at once, for all groups in work. */
  long outputPagesBytes() {
    return heapBytes / 4;
  }

  /** Bloom filters of row groups written, until their files end, for all groups in work. */
  long bloomFiltersBytes() {
    return heapBytes / 8;
  }

  /** Where rows came from and what was deleted of inputs meanwhile, over all groups. */
  long carryOverBytes() {
    return heapBytes / 16;
  }

  /** Partitions that rows are spread over, for all groups in work. */
  long partitionsBytes() {
    return heapBytes / 8;
  }

  /** What is off the heap for rows. */
  long rowBytes() {
    return decodeBytes + sortBytes;
  }

  /**
   * The limit of the allocator of all: a row group that is decoded counts there, and once more what
   * batches share of it. Sorting and decoding have their own limits below it.
   */
  long allocatorBytes() {
    return 2 * decodeBytes + sortBytes;
  }

  /**
   * What released buffers are kept within, together with those in use: what rows are sorted in, or
   * else a part of what is for decoding, which for the most part is not the allocator's.
   */
  long reusedBytes() {
    return Math.max(sortBytes, decodeBytes / 4);
  }

  /** For a run that sorts nothing. */
  static MemoryShares of(long totalBytes) {
    return of(totalBytes, 0, false);
  }

  /**
   * For a run of some groups at once.
   *
   * @param decodeBytesWanted what decoding can use at once; it gets up to a half if rows are sorted
   * @param sorts whether rows are sorted
   */
  static MemoryShares of(long totalBytes, long decodeBytesWanted, boolean sorts) {
    long heap = Math.min(heapBytesMax(), totalBytes);
    long runtime = RUNTIME_BYTES + totalBytes / RUNTIME_SHARE;
    long offHeap = Math.max(totalBytes - heap - runtime, totalBytes / OFF_HEAP_SHARE_MIN);
    long decode = offHeap;
    if (sorts) {
      decode = Math.max(offHeap / 8, Math.min(offHeap / 2, decodeBytesWanted));
    }
    return new MemoryShares(
        totalBytes, Math.max(0, totalBytes - heap - offHeap), heap, decode, offHeap - decode);
  }

  /** The heap with all of its parts: the JVM's own answer leaves out one that is always empty. */
  private static long heapBytesMax() {
    Long launched = Long.getLong(TOTAL_PROPERTY);
    long max = Runtime.getRuntime().maxMemory();
    return launched == null ? max : Math.max(max, (long) (launched * HEAP_SHARE));
  }

  /** The total with which so much is left off the heap, if the launcher cuts the heap. */
  static long totalFor(long offHeapBytes) {
    return (long)
        Math.ceil((offHeapBytes + RUNTIME_BYTES) / (1 - HEAP_SHARE - 1.0 / RUNTIME_SHARE));
  }

  /** The total whose heap has room for so many bytes of output pages. */
  static long totalForOutputPages(long bytes) {
    return (long) Math.ceil(4 * bytes / HEAP_SHARE);
  }

  /** The total whose heap has room for so many bytes of bloom filters of row groups written. */
  static long totalForBloomFilters(long bytes) {
    return (long) Math.ceil(8 * bytes / HEAP_SHARE);
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

  /**
   * The shares by name.
   *
   * @param peaks the most that each has held; null before the run
   */
  MemoryUse use(@Nullable MemoryPeaks peaks) {
    return new MemoryUse(
        totalBytes,
        peaks == null ? null : ProcessMemory.peakBytes(),
        List.of(
            share("runtime", runtimeBytes, null),
            share("heap", heapBytes, peaks == null ? null : ProcessMemory.heapPeakBytes()),
            share("key index (heap)", keyIndexBytes(), peaks == null ? null : peaks.keyIndex()),
            share(
                "output pages (heap)",
                outputPagesBytes(),
                peaks == null ? null : peaks.outputPages()),
            share(
                "bloom filters (heap)",
                bloomFiltersBytes(),
                peaks == null ? null : peaks.bloomFilters()),
            share("carry-over (heap)", carryOverBytes(), peaks == null ? null : peaks.carryOver()),
            share("decode", decodeBytes, peaks == null ? null : peaks.decode()),
            share("sort", sortBytes, peaks == null ? null : peaks.sort())),
        peaks == null ? null : peaks.scratch());
  }

  private static MemoryUse.Share share(String name, long limitBytes, @Nullable Long peakBytes) {
    return new MemoryUse.Share(name, limitBytes, peakBytes);
  }
}
