package dev.firn.engine.parquet;

/**
 * How large data files may become, in bytes: files under {@code minBytes} or over {@code maxBytes}
 * would be chosen by the next compaction again (M19).
 *
 * @param targetBytes the size to come near to
 * @param minBytes the least size a planner leaves alone; zero when there is none
 * @param maxBytes the largest size a planner leaves alone; at least {@code targetBytes}
 */
public record OutputSizes(long targetBytes, long minBytes, long maxBytes) {
  public OutputSizes {
    if (targetBytes <= 0) {
      throw new IllegalArgumentException(
          "Target file size must be positive but was " + targetBytes + " bytes");
    }
    if (minBytes < 0 || minBytes > targetBytes) {
      throw new IllegalArgumentException(
          "Least file size must be between 0 and the target of "
              + targetBytes
              + " bytes but was "
              + minBytes);
    }
    if (maxBytes < targetBytes) {
      throw new IllegalArgumentException(
          "Largest file size must be at least the target of "
              + targetBytes
              + " bytes but was "
              + maxBytes);
    }
  }
}
