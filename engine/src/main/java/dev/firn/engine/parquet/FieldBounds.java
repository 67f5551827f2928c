package dev.firn.engine.parquet;

import org.apache.iceberg.FieldMetrics;
import org.jspecify.annotations.Nullable;

/**
 * What a file's footer cannot tell of a float or double column: how many values are NaN, and the
 * bounds of the others (M3). One per leaf column and file; the column's encoder fills it. Not
 * thread-safe.
 */
final class FieldBounds {
  private final int fieldId;
  private final boolean isFloat;
  private long values;
  private long nulls;
  private long nans;
  private double lower = Double.POSITIVE_INFINITY;
  private double upper = Double.NEGATIVE_INFINITY;

  FieldBounds(int fieldId, boolean isFloat) {
    this.fieldId = fieldId;
    this.isFloat = isFloat;
  }

  /**
   * Adds some values.
   *
   * @param entries how many, nulls included
   * @param nullEntries how many are null, or lie below a null
   */
  void count(long entries, long nullEntries) {
    values += entries;
    nulls += nullEntries;
  }

  /**
   * Adds what was found among some values that are not null. -0.0 is less than 0.0.
   *
   * @param nanCount how many are NaN
   * @param least the least of the others, positive infinity when there is none
   * @param greatest the greatest of the others, negative infinity when there is none
   */
  void merge(long nanCount, double least, double greatest) {
    nans += nanCount;
    if (Double.compare(least, lower) < 0) {
      lower = least;
    }
    if (Double.compare(greatest, upper) > 0) {
      upper = greatest;
    }
  }

  FieldMetrics<?> metrics() {
    boolean bounded = values - nulls > nans;
    if (isFloat) {
      return metrics(bounded ? (float) lower : null, bounded ? (float) upper : null);
    }
    return metrics(bounded ? lower : null, bounded ? upper : null);
  }

  @SuppressWarnings("NullAway") // Iceberg's bounds are null when there are none.
  private <T> FieldMetrics<T> metrics(@Nullable T least, @Nullable T greatest) {
    return new FieldMetrics<>(fieldId, values, nulls, nans, least, greatest);
  }
}
