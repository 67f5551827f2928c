package dev.firn.engine.cli;

import dev.firn.engine.CompactionOption;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Values of compaction options, layered: those of firn.yaml are defaults, those of the command line
 * win over them.
 */
final class OptionValues {
  private static final List<String> KEYS =
      Arrays.stream(CompactionOption.values()).map(CompactionOption::key).toList();

  private static final List<CompactionOption> OF_SIZE =
      List.of(
          CompactionOption.REWRITE_ALL,
          CompactionOption.MIN_INPUT_FILES,
          CompactionOption.DELETE_FILE_THRESHOLD,
          CompactionOption.DELETE_RATIO_THRESHOLD,
          CompactionOption.MAX_FILE_GROUP_SIZE_BYTES,
          CompactionOption.MAX_FILE_GROUP_INPUT_FILES);
  private static final List<CompactionOption> OF_OVERLAP =
      List.of(CompactionOption.MAX_OVERLAP_DEPTH, CompactionOption.MAX_WRITE_AMPLIFICATION);

  private OptionValues() {}

  /** Refuses a name that is neither an option nor one of Spark's that the settings explain. */
  static void requireKnown(String key, String context) {
    if (CompactionOption.of(key).isEmpty() && !SparkOnly.KEYS.contains(key)) {
      throw new UsageException(
          context + ": unknown option '" + key + "'" + Nearest.hint(key, KEYS));
    }
  }

  /**
   * One map of both layers. A default of the file that the line has made pointless is dropped, for
   * it was not meant for this run; one that the line itself names stays and is refused later.
   */
  static Map<String, String> layered(Map<String, String> file, Map<String, String> line) {
    Map<String, String> values = new TreeMap<>(file);
    if (isTrue(line, CompactionOption.REWRITE_ALL)) {
      values.remove(CompactionOption.MIN_INPUT_FILES.key());
      values.remove(CompactionOption.DELETE_FILE_THRESHOLD.key());
      values.remove(CompactionOption.DELETE_RATIO_THRESHOLD.key());
    }
    String strategy = CompactionOption.STRATEGY.key();
    boolean strategyGiven = line.containsKey(strategy);
    if (isTrue(line, CompactionOption.REWRITE_ALL) && !strategyGiven) {
      values.remove(strategy);
    }
    if (!"overlap".equalsIgnoreCase(line.getOrDefault(strategy, values.get(strategy)))) {
      OF_OVERLAP.forEach(option -> values.remove(option.key()));
    } else if (strategyGiven) {
      OF_SIZE.forEach(option -> values.remove(option.key()));
    }
    if (line.containsKey(CompactionOption.PARTIAL_PROGRESS_ENABLED.key())
        && !isTrue(line, CompactionOption.PARTIAL_PROGRESS_ENABLED)) {
      values.remove(CompactionOption.PARTIAL_PROGRESS_MAX_COMMITS.key());
      values.remove(CompactionOption.PARTIAL_PROGRESS_MAX_FAILED_COMMITS.key());
    }
    if (isTrue(line, CompactionOption.KEEP_PARTITION_SPEC)) {
      values.remove(CompactionOption.OUTPUT_SPEC_ID.key());
    }
    if (line.containsKey(CompactionOption.OUTPUT_SPEC_ID.key())) {
      values.remove(CompactionOption.KEEP_PARTITION_SPEC.key());
    }
    values.putAll(line);
    values.replaceAll(OptionValues::plain);
    return values;
  }

  /** A size such as 128MB as the bytes that the settings take; any other value as it is. */
  private static String plain(String key, String value) {
    return CompactionOption.of(key)
        .filter(option -> option.kind() == CompactionOption.Kind.BYTES)
        .map(option -> Long.toString(ByteSize.parse("Option " + key, value)))
        .orElse(value);
  }

  private static boolean isTrue(Map<String, String> values, CompactionOption option) {
    return "true".equalsIgnoreCase(values.get(option.key()));
  }

  /** Options of Spark's action that the settings refuse, saying why. */
  private static final class SparkOnly {
    static final List<String> KEYS =
        List.of(
            "compression-factor",
            "shuffle-partitions-per-file",
            "var-length-contribution",
            "max-output-size");
  }
}
