package dev.firn.bench.sidebyside;

/**
 * What an engine says of the compaction it did.
 *
 * @param seconds from the first look at the table until the commit was done: start-up aside
 * @param warmUpSeconds spent on a tiny table before that, to have classes loaded
 * @param warmUpCpuSeconds of the process in that time
 */
record Work(double seconds, double warmUpSeconds, double warmUpCpuSeconds) {
  static Work since(long startNanos) {
    return new Work((System.nanoTime() - startNanos) / 1e9, 0, 0);
  }
}
