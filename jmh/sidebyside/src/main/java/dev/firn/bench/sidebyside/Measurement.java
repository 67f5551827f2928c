package dev.firn.bench.sidebyside;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One compaction by one engine, as it is written to the file of results.
 *
 * @param at when it began, as ISO text
 * @param round from 1
 * @param wallSeconds of the process from its start to its end, less what it spent on warming up
 * @param workSeconds of that, as the engine says: start-up aside; null if it failed
 * @param warmUpSeconds spent by the process before its work, on a tiny table
 * @param cpuSeconds of the process, user and system, less what it spent on warming up
 * @param peakBytes the most that was resident
 * @param bytesOut size of the data files it has left
 * @param otherCpuSeconds what the rest of the machine was busy with meanwhile
 * @param flaw what is wrong with the result, or why there is none; null if all is well
 */
record Measurement(
    String at,
    Case which,
    Engine engine,
    int round,
    double wallSeconds,
    @Nullable Double workSeconds,
    double warmUpSeconds,
    double cpuSeconds,
    long peakBytes,
    long bytesOut,
    long filesOut,
    double otherCpuSeconds,
    @Nullable String flaw,
    long bytesIn,
    long filesIn,
    long liveRows,
    int threads,
    String memory,
    List<String> command) {
  /** What other processes have taken of the cores' time while the process ran, from 0 to 1. */
  double disturbance() {
    return otherCpuSeconds / ((wallSeconds + warmUpSeconds) * threads);
  }
}
