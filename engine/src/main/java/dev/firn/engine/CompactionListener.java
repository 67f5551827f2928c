package dev.firn.engine;

import java.nio.file.Path;
import java.util.List;
import org.apache.iceberg.actions.RewriteFileGroup;

/**
 * Hears of a run's progress. Calls come from several threads, one at a time for each method; they
 * should return quickly.
 */
public interface CompactionListener {

  /** Hears nothing. */
  CompactionListener NONE = new CompactionListener() {};

  /** The plan is made: so many groups with so many input bytes are to be rewritten. */
  default void planned(int groups, long bytes) {}

  /** Before the plan: sorting will put about so many bytes on scratch disk at once. */
  default void scratchNeeded(long bytes, Path directory) {}

  /** So many more input bytes have been read and written. */
  default void progressed(long inputBytes) {}

  /** A group's files are written, not yet committed. */
  default void rewritten(RewriteFileGroup group) {}

  /** A snapshot with these groups is committed. */
  default void committed(long snapshotId, List<RewriteFileGroup> groups) {}

  /** A group has failed; the table is as it was for its files. */
  default void failed(RewriteFileGroup group, String message) {}
}
