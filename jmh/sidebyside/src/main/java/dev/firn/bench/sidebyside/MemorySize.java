package dev.firn.bench.sidebyside;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Sizes as text, such as {@code 1g} or {@code 128MB}, in powers of 1024. */
final class MemorySize {
  private static final Pattern SIZE = Pattern.compile("(\\d+)([kmgt]?)(i?b)?");

  private MemorySize() {}

  /** The bytes of a size; refuses what is none. */
  static long bytes(String text) {
    Matcher matcher = SIZE.matcher(text.toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new IllegalArgumentException(text + " is not a size such as 512m, 1g or 128MB");
    }
    String unit = matcher.group(2);
    int power = unit.isEmpty() ? 0 : "kmgt".indexOf(unit) + 1;
    return Long.parseLong(matcher.group(1)) << (10 * power);
  }
}
