package dev.firn.sort;

import java.nio.file.Path;
import java.util.Objects;

/**
 * Where a sort puts what does not fit in memory.
 *
 * @param directory must exist; takes one file for each sorted run, which only this process can see
 *     where the system lets open files be deleted
 * @param fanInMax how many runs are merged at once at most. More are merged in rounds, each of
 *     which reads and writes rows once more.
 */
public record Spill(Path directory, int fanInMax) {

  /**
   * Runs that one merge reads with blocks large enough for a disk and few enough for the caches.
   */
  public static final int FAN_IN_MAX_DEFAULT = 256;

  public Spill {
    Objects.requireNonNull(directory, "directory");
    if (fanInMax < 2) {
      throw new IllegalArgumentException("fanInMax must be at least 2 but was " + fanInMax);
    }
  }

  /** Spills to the directory, with the default limit. */
  public static Spill to(Path directory) {
    return new Spill(directory, FAN_IN_MAX_DEFAULT);
  }
}
