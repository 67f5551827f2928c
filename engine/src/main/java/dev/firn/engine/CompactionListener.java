package dev.firn.engine;

/**
 * Hears of a run's progress. Calls come from several threads, one at a time for each method; they
 * should return quickly.
 */
public interface CompactionListener {

  /** Hears nothing. */
  CompactionListener NONE = new CompactionListener() {};

  /** The plan is made: so many groups with so many input bytes are to be rewritten. */
  default void planned(int groups, long bytes) {}

  /** So many more input bytes have been read and written. */
  default void progressed(long inputBytes) {}

  /** A group's files are written, not yet committed. */
  default void rewritten(int group, int inputFiles, int outputFiles) {}

  /** A snapshot with so many groups is committed. */
  default void committed(long snapshotId, int groups) {}

  /** A group has failed; the table is as it was for its files. */
  default void failed(int group, String message) {}
}
