package dev.firn.engine;

import java.util.concurrent.atomic.AtomicLong;

/** The most that each named part of the memory has held in a run. Thread-safe. */
final class MemoryPeaks {

  /** Something that groups take and give back, counted over all of them. */
  static final class Gauge {
    private final AtomicLong held = new AtomicLong();
    private final AtomicLong peak = new AtomicLong();

    /** Takes, or with a negative number gives back. */
    void add(long bytes) {
      long now = held.addAndGet(bytes);
      peak.accumulateAndGet(now, Math::max);
    }

    long held() {
      return held.get();
    }

    long peak() {
      return peak.get();
    }
  }

  private final AtomicLong keyIndex = new AtomicLong();
  private final AtomicLong decode = new AtomicLong();
  private final Gauge outputPages = new Gauge();
  private final Gauge bloomFilters = new Gauge();
  private final Gauge carryOver = new Gauge();
  private final Gauge sort = new Gauge();
  private final Gauge scratch = new Gauge();

  /** The keys of one group took so much. */
  void keyIndexOfGroup(long bytes) {
    keyIndex.accumulateAndGet(bytes, Math::max);
  }

  /** The decoder has taken so much at once. */
  void decoded(long bytes) {
    decode.accumulateAndGet(bytes, Math::max);
  }

  /** Pages of open output files. */
  Gauge outputPagesHeld() {
    return outputPages;
  }

  /** Bloom filters of row groups that are written, in open output files. */
  Gauge bloomFiltersHeld() {
    return bloomFilters;
  }

  /** Where rows came from, and what was deleted of inputs meanwhile. */
  Gauge carryOverHeld() {
    return carryOver;
  }

  /** Rows in sorters. */
  Gauge sortHeld() {
    return sort;
  }

  /** Sorted runs on disk, those that are being merged and what they become among them. */
  Gauge scratchHeld() {
    return scratch;
  }

  /** Of the group whose keys took most. */
  long keyIndex() {
    return keyIndex.get();
  }

  long decode() {
    return decode.get();
  }

  long outputPages() {
    return outputPages.peak();
  }

  long bloomFilters() {
    return bloomFilters.peak();
  }

  long carryOver() {
    return carryOver.peak();
  }

  long sort() {
    return sort.peak();
  }

  long scratch() {
    return scratch.peak();
  }
}
