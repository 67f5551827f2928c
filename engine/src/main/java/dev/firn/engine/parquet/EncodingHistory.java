package dev.firn.engine.parquet;

import org.apache.parquet.column.Encoding;
import org.jspecify.annotations.Nullable;

/**
 * What the chunks of a column before have taught about its encoding, so that each need not find out
 * anew. Owned by one column of an output; not thread-safe.
 */
final class EncodingHistory {
  /** How many values at the beginning of a chunk are looked at. */
  static final int SAMPLE_VALUES = 2048;

  /* A chunk is like the one before if its sample has at most so many distinct values less. */
  private static final int SAMPLE_TOLERANCE = SAMPLE_VALUES / 64;

  private static final int PAGES_PER_TRIAL = 64;

  private int distinctGivenUp = Integer.MAX_VALUE;
  private @Nullable Encoding ofOthers; // null if never tried
  private int pagesToTrial;

  /** Whether a chunk that begins is to find out by itself. */
  boolean isTrialDue() {
    return pagesToTrial <= 0;
  }

  void pageEnded() {
    pagesToTrial--;
  }

  /**
   * Tells that a dictionary was kept or given up after a full page or two.
   *
   * @param distinct how many distinct values the chunk's sample had
   */
  void dictionary(boolean isKept, int distinct) {
    distinctGivenUp = isKept ? Integer.MAX_VALUE : distinct;
    if (!isKept) {
      pagesToTrial = PAGES_PER_TRIAL;
    }
  }

  /** Whether a dictionary was given up in a chunk that began with as many distinct values. */
  boolean gaveUpWith(int distinct) {
    return distinct >= (long) distinctGivenUp - SAMPLE_TOLERANCE;
  }

  /** Tells which encoding was the smallest without a dictionary. */
  void ofOthers(Encoding encoding) {
    ofOthers = encoding;
    pagesToTrial = PAGES_PER_TRIAL;
  }

  /** The encoding that was the smallest without a dictionary; null if that is not known. */
  @Nullable Encoding ofOthers() {
    return ofOthers;
  }
}
