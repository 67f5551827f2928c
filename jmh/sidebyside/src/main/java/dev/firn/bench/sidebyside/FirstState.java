package dev.firn.bench.sidebyside;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The state in which a table was generated. A table of a Hadoop catalog is the set of files in its
 * directory and the number of its newest metadata, so this list, kept beside the directory, is
 * enough to go back: what came later is deleted. An engine must not delete files of the first
 * state.
 *
 * @param generator version of {@link TableGenerator} that made it
 * @param rows that were asked for
 * @param version of the metadata
 * @param files relative to the table's directory
 * @param contents what a reader finds in it
 */
record FirstState(
    int generator, long rows, long seed, String version, List<String> files, Contents contents) {
  private static final String HINT = "metadata/version-hint.text";
  private static final String HINT_CHECKSUM = "metadata/.version-hint.text.crc";

  /** Takes down the state that a table is in now. */
  static FirstState record(Path table, long rows, long seed, Contents contents) throws IOException {
    FirstState state =
        new FirstState(
            TableGenerator.VERSION,
            rows,
            seed,
            Files.readString(table.resolve(HINT)).trim(),
            files(table),
            contents);
    Json.write(listOf(table), state);
    return state;
  }

  static boolean isRecorded(Path table) {
    return Files.exists(listOf(table));
  }

  static FirstState of(Path table) throws IOException {
    return Json.read(listOf(table), FirstState.class);
  }

  /** Forgets the state of a table, which is to be generated anew. */
  static void forget(Path table) throws IOException {
    Files.deleteIfExists(listOf(table));
  }

  boolean isMadeOf(long wantedRows, long wantedSeed) {
    return generator == TableGenerator.VERSION && rows == wantedRows && seed == wantedSeed;
  }

  /** Brings the table back, and its data into the page cache, so that every run finds the same. */
  void restore(Path table) throws IOException {
    Set<String> keep = Set.copyOf(files);
    Set<String> present = Set.copyOf(files(table));
    for (String file : files) {
      if (!present.contains(file)) {
        throw new IllegalStateException(
            "Cannot bring back " + table + ": its file " + file + " is gone. Generate it anew.");
      }
    }
    for (String file : present) {
      if (!keep.contains(file)) {
        Files.delete(table.resolve(file));
      }
    }
    Files.deleteIfExists(table.resolve(HINT_CHECKSUM)); // that of the newer hint
    Files.writeString(table.resolve(HINT), version);
    ByteBuffer nowhere = ByteBuffer.allocateDirect(1 << 20);
    for (String file : files) {
      try (FileChannel channel = FileChannel.open(table.resolve(file))) {
        while (channel.read(nowhere.clear()) >= 0) {}
      }
    }
  }

  private static Path listOf(Path table) {
    return table.resolveSibling(table.getFileName() + ".first-state.json");
  }

  private static List<String> files(Path table) throws IOException {
    try (Stream<Path> paths = Files.walk(table)) {
      return paths
          .filter(Files::isRegularFile)
          .map(path -> table.relativize(path).toString())
          .filter(file -> !file.equals(HINT_CHECKSUM))
          .sorted()
          .toList();
    }
  }
}
