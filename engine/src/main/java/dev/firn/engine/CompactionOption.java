package dev.firn.engine;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.apache.commons.text.similarity.LevenshteinDistance;
import org.apache.iceberg.util.PropertyUtil;

/**
 * The options of a compaction, by the names and defaults that Spark's {@code rewrite_data_files}
 * gave them.
 */
public enum CompactionOption {
  TARGET_FILE_SIZE_BYTES(
      "target-file-size-bytes",
      Kind.BYTES,
      "write.target-file-size-bytes (512 MB)",
      "Size that output files are to have."),
  MIN_FILE_SIZE_BYTES(
      "min-file-size-bytes", Kind.BYTES, "75 % of the target", "Smaller files are rewritten."),
  MAX_FILE_SIZE_BYTES(
      "max-file-size-bytes", Kind.BYTES, "180 % of the target", "Larger files are rewritten."),
  MIN_INPUT_FILES(
      "min-input-files",
      Kind.COUNT,
      "5",
      "A group of at least so many files is rewritten, whatever its size."),
  MAX_FILE_GROUP_SIZE_BYTES(
      "max-file-group-size-bytes", Kind.BYTES, "100 GB", "Input bytes of a file group at most."),
  MAX_FILE_GROUP_INPUT_FILES(
      "max-file-group-input-files", Kind.COUNT, "no limit", "Files of a file group at most."),
  MAX_FILES_TO_REWRITE(
      "max-files-to-rewrite", Kind.COUNT, "no limit", "Files that a run rewrites at most."),
  REWRITE_ALL("rewrite-all", Kind.FLAG, "false", "Rewrites every file, needed or not."),
  DELETE_FILE_THRESHOLD(
      "delete-file-threshold",
      Kind.COUNT,
      "off",
      "A data file with at least so many delete files is rewritten."),
  DELETE_RATIO_THRESHOLD(
      "delete-ratio-threshold",
      Kind.RATIO,
      "0.3",
      "A data file of which at least this share is deleted, by file-scoped deletes, is rewritten."),
  STRATEGY(
      "strategy",
      List.of("size", "overlap"),
      "size",
      "How files are chosen: by their size and deletes, or because too many of them overlap on the"
          + " sort key: size, overlap."),
  MAX_OVERLAP_DEPTH(
      "max-overlap-depth",
      Kind.NUMBER,
      "4",
      "With strategy overlap: so many other files may cover one place of a file's key range."),
  MAX_WRITE_AMPLIFICATION(
      "max-write-amplification",
      Kind.FACTOR,
      "8",
      "With strategy overlap: bytes rewritten for each byte that is not yet in order, at most."),
  REWRITE_JOB_ORDER(
      "rewrite-job-order",
      List.of("none", "bytes-asc", "bytes-desc", "files-asc", "files-desc"),
      "none",
      "Order of the groups: none, bytes-asc, bytes-desc, files-asc, files-desc."),
  OUTPUT_SPEC_ID(
      "output-spec-id", Kind.NUMBER, "current spec", "Partition spec of the output files."),
  KEEP_PARTITION_SPEC(
      "keep-partition-spec",
      Kind.FLAG,
      "false",
      "Output files keep spec and partition of their inputs: files of old specs are packed, not"
          + " repartitioned."),
  ALLOW_FORMAT_CHANGE(
      "allow-format-change",
      Kind.FLAG,
      "false",
      "Compacts to Parquet a table whose write.format.default is another format."),
  USE_STARTING_SEQUENCE_NUMBER(
      "use-starting-sequence-number",
      Kind.FLAG,
      "true",
      "Gives output files the sequence number of the snapshot the run was planned on."),
  REMOVE_DANGLING_DELETES(
      "remove-dangling-deletes",
      Kind.FLAG,
      "false",
      "Removes delete files that apply to no data file any more, in one more commit."),
  MAX_CONCURRENT_FILE_GROUP_REWRITES(
      "max-concurrent-file-group-rewrites",
      Kind.COUNT,
      "5",
      "Groups in work at once; never more than memory and cores allow."),
  PARTIAL_PROGRESS_ENABLED(
      "partial-progress.enabled",
      Kind.FLAG,
      "false",
      "Commits groups in batches as they are done; a failed group does not take the others down."),
  PARTIAL_PROGRESS_MAX_COMMITS(
      "partial-progress.max-commits", Kind.COUNT, "10", "Commits of a run at most."),
  PARTIAL_PROGRESS_MAX_FAILED_COMMITS(
      "partial-progress.max-failed-commits",
      Kind.NUMBER,
      "partial-progress.max-commits",
      "Commits that may fail before the run starts no more groups."),
  VAR_LENGTH_CONTRIBUTION(
      "var-length-contribution",
      Kind.COUNT,
      "8",
      "Bytes of a text or binary value that count in a z-order over bytes."),
  MAX_OUTPUT_SIZE(
      "max-output-size",
      Kind.COUNT,
      "no limit",
      "Bytes of a z-value that count in a z-order over bytes."),
  SPLICE(
      "splice",
      Kind.FLAG,
      "true",
      "Without a layout, moves pages as they are encoded where that is possible; false decodes and"
          + " encodes every value."),
  ENCODING(
      "encoding",
      List.of("auto", "parquet-v1", "parquet-v2"),
      "auto",
      "Pages of output files: auto as the table's properties have them, which every reader knows;"
          + " parquet-v1 in version 1, plain or with a dictionary; parquet-v2 in version 2, with"
          + " delta and byte-stream-split encodings where they pay."),
  VERIFY(
      "verify",
      Kind.FLAG,
      "false",
      "Reads outputs back before they are committed and compares them with the live rows of their"
          + " inputs.");

  /** What a value must look like. */
  public enum Kind {
    BYTES,
    COUNT,
    NUMBER,
    RATIO,
    FACTOR,
    FLAG,
    TEXT
  }

  static final int MAX_OVERLAP_DEPTH_DEFAULT = 4;
  static final double MAX_WRITE_AMPLIFICATION_DEFAULT = 8;

  private final String key;
  private final Kind kind;
  private final List<String> texts;
  private final String defaultText;
  private final String meaning;

  CompactionOption(String key, Kind kind, String defaultText, String meaning) {
    this(key, kind, List.of(), defaultText, meaning);
  }

  /**
   * @param texts the values that the option may have
   */
  CompactionOption(String key, List<String> texts, String defaultText, String meaning) {
    this(key, Kind.TEXT, texts, defaultText, meaning);
  }

  CompactionOption(String key, Kind kind, List<String> texts, String defaultText, String meaning) {
    this.key = key;
    this.kind = kind;
    this.texts = texts;
    this.defaultText = defaultText;
    this.meaning = meaning;
  }

  /** The option's name, as in {@code target-file-size-bytes}. */
  public String key() {
    return key;
  }

  public Kind kind() {
    return kind;
  }

  /** The default, in words. */
  public String defaultText() {
    return defaultText;
  }

  /** One sentence on what the option does. */
  public String meaning() {
    return meaning;
  }

  /** The option of a name, if there is one. */
  public static Optional<CompactionOption> of(String key) {
    return Arrays.stream(values()).filter(option -> option.key.equals(key)).findFirst();
  }

  /**
   * Checks the form of a value.
   *
   * @return the value as Iceberg's planner takes it
   * @throws IllegalArgumentException naming key and value if the form is wrong
   */
  public String checked(String value) {
    String text = value.trim();
    boolean good =
        switch (kind) {
          case BYTES -> upTo(text, Long.MAX_VALUE) && (this == MIN_FILE_SIZE_BYTES || !zero(text));
          case COUNT ->
              upTo(text, Integer.MAX_VALUE) && (this == DELETE_FILE_THRESHOLD || !zero(text));
          case NUMBER -> text.matches("\\d{1,9}");
          case RATIO ->
              text.matches("\\d*\\.?\\d+")
                  && Double.parseDouble(text) > 0
                  && Double.parseDouble(text) <= 1;
          case FLAG -> text.equalsIgnoreCase("true") || text.equalsIgnoreCase("false");
          case FACTOR ->
              text.matches("\\d{0,9}(\\.\\d{1,9})?")
                  && text.matches(".*\\d.*")
                  && Double.parseDouble(text) >= 1.1;
          case TEXT -> texts.contains(text.toLowerCase(Locale.ROOT));
        };
    if (!good) {
      throw new IllegalArgumentException(
          "Option " + key + " must be " + form() + " but was '" + value + "'");
    }
    return kind == Kind.FLAG || kind == Kind.TEXT ? text.toLowerCase(Locale.ROOT) : text;
  }

  private static boolean upTo(String text, long max) {
    return text.matches("\\d{1,19}")
        && new BigInteger(text).compareTo(BigInteger.valueOf(max)) <= 0;
  }

  private static boolean zero(String text) {
    return text.matches("0+");
  }

  private String form() {
    return switch (kind) {
      case BYTES -> "a positive number of bytes";
      case COUNT -> "a positive whole number, at most " + Integer.MAX_VALUE;
      case NUMBER -> "a whole number, 0 or more";
      case RATIO -> "a number above 0, at most 1";
      case FLAG -> "true or false";
      case FACTOR -> "a number, at least 1.1";
      case TEXT -> "one of " + String.join(", ", texts);
    };
  }

  /** The known key that is nearest to an unknown one, to be named in an error. */
  static String nearest(String unknown) {
    LevenshteinDistance distance = LevenshteinDistance.getDefaultInstance();
    return Arrays.stream(values())
        .map(CompactionOption::key)
        .min(
            java.util.Comparator.comparingInt(
                key -> distance.apply(key, unknown.toLowerCase(Locale.ROOT))))
        .orElseThrow();
  }

  /** Whether files are chosen by their overlap. */
  static boolean isByOverlap(java.util.Map<String, String> options) {
    return "overlap".equals(options.get(STRATEGY.key));
  }

  long bytes(java.util.Map<String, String> options, long defaultValue) {
    return PropertyUtil.propertyAsLong(options, key, defaultValue);
  }

  int count(java.util.Map<String, String> options, int defaultValue) {
    return PropertyUtil.propertyAsInt(options, key, defaultValue);
  }

  boolean flag(java.util.Map<String, String> options, boolean defaultValue) {
    return PropertyUtil.propertyAsBoolean(options, key, defaultValue);
  }
}
