package dev.firn.sort;

import org.apache.arrow.vector.VectorSchemaRoot;

/**
 * One stretch of every key: of a sort field, or of a curve. Immutable. No row's stretch is the
 * beginning of another's, so that what follows in the key is compared only for equal stretches.
 */
interface KeyPart {

  /** The bytes that each row's stretch has at least, and exactly unless it is variable. */
  int fixedBytes();

  /** Whether stretches may be longer than {@link #fixedBytes()}. */
  boolean variable();

  /**
   * Looks at rows of a batch.
   *
   * @param rows numbers of rows of the batch
   * @param count how many of them count
   */
  Rows of(VectorSchemaRoot batch, int[] rows, int count);

  /** The stretches of some rows. Valid as long as the batch is. */
  interface Rows {

    /** Adds to each row's entry what its stretch has beyond {@link KeyPart#fixedBytes()}. */
    default void addLengths(int[] lengths) {}

    /**
     * Writes each row's stretch at its cursor and moves the cursor behind it.
     *
     * @param scratch room for one word for each row
     */
    void write(long[] cursors, long[] scratch);
  }
}
