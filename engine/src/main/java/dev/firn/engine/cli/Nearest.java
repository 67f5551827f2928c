package dev.firn.engine.cli;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.commons.text.similarity.LevenshteinDistance;

/** The known word that a mistyped one was probably meant to be. */
final class Nearest {
  private static final int NAMED_MAX = 12;

  private Nearest() {}

  /** The known word with the least edits to {@code word}, letter case aside; none if none known. */
  static Optional<String> to(String word, Collection<String> known) {
    LevenshteinDistance distance = LevenshteinDistance.getDefaultInstance();
    String lower = word.toLowerCase(Locale.ROOT);
    return known.stream()
        .min(
            Comparator.<String>comparingInt(
                    candidate -> distance.apply(lower, candidate.toLowerCase(Locale.ROOT)))
                .thenComparing(Comparator.naturalOrder()));
  }

  /**
   * "; did you mean 'x'?" when a known word is near, else "; there is 'x', 'y'" when not too many
   * are known to name them all.
   */
  static String hint(String word, Collection<String> known) {
    Optional<String> near = to(word, known).filter(candidate -> alike(word, candidate));
    if (near.isPresent()) {
      return "; did you mean '" + near.get() + "'?";
    }
    return known.isEmpty() || known.size() > NAMED_MAX
        ? ""
        : known.stream().sorted().collect(Collectors.joining("', '", "; there is '", "'"));
  }

  /** Whether most of a word is in the other: one begins the other, or few letters differ. */
  private static boolean alike(String word, String candidate) {
    String one = word.toLowerCase(Locale.ROOT);
    String other = candidate.toLowerCase(Locale.ROOT);
    int edits = LevenshteinDistance.getDefaultInstance().apply(one, other);
    return edits <= Math.max(2, Math.max(one.length(), other.length()) / 2)
        || other.startsWith(one);
  }
}
