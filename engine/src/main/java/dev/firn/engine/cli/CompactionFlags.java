package dev.firn.engine.cli;

import dev.firn.engine.CompactionOption;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * Every {@link CompactionOption} as an option of the command line, {@code --target-file-size-bytes
 * 128MB}.
 */
final class CompactionFlags {
  private static final List<CompactionOption> WHICH_FILES =
      List.of(
          CompactionOption.TARGET_FILE_SIZE_BYTES,
          CompactionOption.MIN_FILE_SIZE_BYTES,
          CompactionOption.MAX_FILE_SIZE_BYTES,
          CompactionOption.MIN_INPUT_FILES,
          CompactionOption.DELETE_FILE_THRESHOLD,
          CompactionOption.DELETE_RATIO_THRESHOLD,
          CompactionOption.STRATEGY,
          CompactionOption.MAX_OVERLAP_DEPTH,
          CompactionOption.MAX_WRITE_AMPLIFICATION,
          CompactionOption.MAX_FILES_TO_REWRITE,
          CompactionOption.REWRITE_ALL);

  private final Map<String, String> values = new TreeMap<>();

  /** Adds the flags to a command, in two groups of its help. */
  void addTo(CommandSpec command) {
    ArgGroupSpec.Builder files = group("%nWhich files, and how large (sizes as in 128MB):%n", 20);
    ArgGroupSpec.Builder rest = group("%nGroups and commits:%n", 21);
    for (CompactionOption option : CompactionOption.values()) {
      (WHICH_FILES.contains(option) ? files : rest).addArg(flag(option));
    }
    command.addArgGroup(files.build());
    command.addArgGroup(rest.build());
  }

  /** What the command line gave, by option name, as written. */
  Map<String, String> values() {
    return Map.copyOf(values);
  }

  private static ArgGroupSpec.Builder group(String heading, int order) {
    return ArgGroupSpec.builder().heading(heading).order(order).validate(false).exclusive(false);
  }

  private OptionSpec flag(CompactionOption option) {
    boolean flag = option.kind() == CompactionOption.Kind.FLAG;
    OptionSpec.Builder builder =
        OptionSpec.builder("--" + option.key())
            .type(String.class)
            .arity(flag ? "0..1" : "1")
            .paramLabel(label(option))
            .description(
                option.meaning() + " Default: " + option.defaultText().replace("%", "%%") + ".")
            .getter(new Getter(option.key()))
            .setter(new Setter(option.key()));
    return (flag ? builder.fallbackValue("true") : builder).build();
  }

  private static String label(CompactionOption option) {
    return switch (option.kind()) {
      case BYTES -> "SIZE";
      case COUNT, NUMBER -> "N";
      case RATIO -> "SHARE";
      case FACTOR -> "FACTOR";
      case FLAG -> "true|false";
      case TEXT ->
          option == CompactionOption.REWRITE_JOB_ORDER
              ? "ORDER"
              : option.key().toUpperCase(Locale.ROOT);
    };
  }

  private final class Getter implements picocli.CommandLine.Model.IGetter {
    private final String key;

    Getter(String key) {
      this.key = key;
    }

    @Override
    @SuppressWarnings({"unchecked", "NullAway", "TypeParameterUnusedInFormals"}) // null: not given
    public <T> T get() {
      return (T) values.get(key);
    }
  }

  private final class Setter implements picocli.CommandLine.Model.ISetter {
    private final String key;

    Setter(String key) {
      this.key = key;
    }

    /** Null comes when a parse begins, to clear what an earlier one left. */
    @Override
    @SuppressWarnings({"unchecked", "NullAway"})
    public <T> T set(@Nullable T value) {
      String old = value == null ? values.remove(key) : values.put(key, value.toString());
      return (T) old;
    }
  }
}
