package dev.firn.engine.cli;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;
import org.apache.commons.text.similarity.LevenshteinDistance;

/** The known word that a mistyped one was probably meant to be. */
final class Nearest {
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

  /** "; did you mean 'x'?", or nothing when nothing is known. */
  static String hint(String word, Collection<String> known) {
    return to(word, known).map(nearest -> "; did you mean '" + nearest + "'?").orElse("");
  }
}
