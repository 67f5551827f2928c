package dev.firn.engine.cli;

import java.math.BigDecimal;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Sizes as people write them: {@code 128MB}, {@code 1.5 GiB}, {@code 512m}, {@code 1048576}. */
final class ByteSize {
  private static final Pattern SIZE =
      Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*([kmgt]?)(?:b|i|ib)?", Pattern.CASE_INSENSITIVE);
  private static final String UNITS = "kmgt";

  private ByteSize() {}

  /**
   * The bytes of {@code text}. All units are powers of 1024, as in Spark and on a JVM's command
   * line.
   *
   * @throws UsageException if the text is not a size, or more than a long holds
   */
  static long parse(String name, String text) {
    Matcher matcher = SIZE.matcher(text.trim());
    if (!matcher.matches()) {
      throw new UsageException(
          name + " is '" + text + "', which is not a size such as 128MB, 1GiB or 1048576");
    }
    String unit = matcher.group(2).toLowerCase(Locale.ROOT);
    int power = unit.isEmpty() ? 0 : UNITS.indexOf(unit.charAt(0)) + 1;
    BigDecimal bytes =
        new BigDecimal(matcher.group(1)).multiply(BigDecimal.valueOf(1L << 10 * power));
    if (bytes.compareTo(BigDecimal.valueOf(Long.MAX_VALUE)) > 0) {
      throw new UsageException(name + " is '" + text + "', which is more than a file system holds");
    }
    return bytes.longValue();
  }

  /** A size for people, with three significant digits: {@code 1.21 GB}. */
  static String format(long bytes) {
    if (bytes < 1024) {
      return bytes + " B";
    }
    double value = bytes;
    int power = 0;
    // 999.5 would round to four digits: it is better said in the next unit.
    while (value >= 999.5 && power < UNITS.length()) {
      value /= 1024;
      power++;
    }
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return String.format(
        Locale.ROOT,
        "%." + decimals + "f %sB",
        value,
        Character.toUpperCase(UNITS.charAt(power - 1)));
  }
}
