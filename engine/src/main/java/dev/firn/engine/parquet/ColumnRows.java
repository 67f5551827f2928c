package dev.firn.engine.parquet;

/**
 * Some rows of one leaf column on their way to its encoder: their levels, and where their values
 * are. Not thread-safe.
 */
interface ColumnRows {
  /** How many levels the rows have. */
  int entries();

  /** How many of the entries have a value. */
  int valueCount();

  /** Whether every entry has a value. Definition levels are not given then: all are the highest. */
  boolean isAllDefined();

  /** Definition levels; valid up to {@link #entries()} unless {@link #isAllDefined()}. */
  byte[] definitions();

  /** Repetition levels; valid up to {@link #entries()} if the column is repeated. */
  byte[] repetitions();

  /** At least what some byte strings of different lengths take as PLAIN. */
  long plainBytesMax(int from, int to);

  /** What a byte string of any length takes as PLAIN. */
  int plainBytes(int value);

  /**
   * The values {@code [from, to)} from the first place on, those of 4 bytes too; floating-point
   * numbers by their bits. Valid until the next call.
   *
   * @param width bytes of a value, 4 or 8
   */
  long[] longs(int width, int from, int to, Scratch scratch);

  /** The same for booleans, 0 or 1. */
  byte[] booleans(int from, int to, Scratch scratch);

  /**
   * The same for byte strings: the i-th is then in the scratch's bytes between its starts and ends.
   *
   * @param width bytes of each value, 0 if they differ
   * @return the sum of their lengths
   */
  long byteStrings(int width, int from, int to, Scratch scratch);
}
