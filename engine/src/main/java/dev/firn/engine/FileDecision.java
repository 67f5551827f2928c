package dev.firn.engine;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Why the plan takes a data file or leaves it.
 *
 * @param location the data file
 * @param partition the partition's path in its own spec, empty if unpartitioned
 * @param specId the file's partition spec
 * @param bytes size of the file
 * @param rows rows in the file, deleted or not
 * @param deleteFiles delete files that apply to it
 * @param group index of the group that takes it, null if it is left
 * @param reason why
 * @param detail the reason with its numbers
 */
public record FileDecision(
    String location,
    String partition,
    int specId,
    long bytes,
    long rows,
    int deleteFiles,
    @Nullable Integer group,
    Reason reason,
    String detail) {

  /** Whether the file is rewritten. */
  public boolean chosen() {
    return group != null;
  }

  /** Reasons to take a file, then reasons to leave it. */
  public enum Reason {
    REWRITE_ALL,
    SMALL,
    LARGE,
    DELETE_FILES,
    DELETE_RATIO,
    OVERLAP,
    RIGHT_SIZE,
    IN_ORDER,
    GROUP_TOO_SMALL,
    FILES_CAP,
    WRITE_BUDGET,
    OTHER_SPEC,
    UNWRITABLE_SPEC,
    FILTERED;

    /** The reason as it is printed, as in {@code right-size}. */
    public String text() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }
}
