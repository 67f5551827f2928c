package dev.firn.testdata;

import java.util.Map;
import java.util.TreeMap;

/** The streams of a FileIO that nobody has closed yet. */
final class OpenStreams {
  private final Map<String, Integer> counts = new TreeMap<>();

  synchronized void add(String location) {
    counts.merge(location, 1, Integer::sum);
  }

  synchronized void remove(String location) {
    counts.computeIfPresent(location, (ignored, count) -> count == 1 ? null : count - 1);
  }

  synchronized Map<String, Integer> byLocation() {
    return new TreeMap<>(counts);
  }
}
