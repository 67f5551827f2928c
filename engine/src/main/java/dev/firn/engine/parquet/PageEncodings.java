package dev.firn.engine.parquet;

import java.util.Arrays;
import java.util.Locale;

/** Which pages output files may have. */
public enum PageEncodings {
  /**
   * As Iceberg's own writer writes with the table's properties: pages of version 1, PLAIN or with a
   * dictionary, unless the table asks for version 2. Pages of other files are copied as they are.
   */
  AUTO,

  /** Pages of version 1, PLAIN or with a dictionary. */
  PARQUET_V1,

  /**
   * Pages of version 2, with a dictionary, PLAIN, or of the delta and byte-stream-split encodings:
   * whichever is smallest on a page of each column chunk.
   */
  PARQUET_V2;

  /** The option's value, as in {@code parquet-v1}. */
  public String text() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /**
   * The one of a value.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static PageEncodings of(String text) {
    return Arrays.stream(values())
        .filter(one -> one.text().equals(text))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("There are no encodings " + text));
  }
}
