package dev.firn.deletes;

/**
 * The deleted positions of one data file, each counted once however many deletes name it. Immutable
 * and thread-safe.
 */
public interface DeletedRows {

  /** How many rows of the file are deleted. */
  long count();

  /**
   * Clears the bit of each deleted row in {@code live}, which stands for the rows {@code
   * [firstPosition, firstPosition + rows)} of the file, bit 0 of word 0 first. Costs one step for
   * each deleted row.
   *
   * @return how many bits were cleared that had been set
   */
  int clearDeleted(long firstPosition, int rows, long[] live);

  /** Whether any row of {@code [firstPosition, firstPosition + rows)} is deleted. */
  boolean anyIn(long firstPosition, long rows);
}
