package dev.firn.engine.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** The directory of a demo: one that a demo made, known by a marker file, and no other. */
final class DemoDirectory {
  private static final String MARKER = ".firn-demo";

  /** All that a demo puts into its directory; anything else there is somebody's. */
  private static final Set<String> OWN =
      Set.of(MARKER, "warehouse", "catalog.db", FirnConfig.FILE_NAME);

  private DemoDirectory() {}

  /**
   * Makes the directory empty and marks it.
   *
   * @throws UsageException if it holds anything that no demo made; nothing is touched then
   */
  static void prepare(Path directory) {
    try {
      if (Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
        requireOwn(directory);
        clear(directory);
      }
      Files.createDirectories(directory);
      Files.writeString(
          directory.resolve(MARKER), "firn demo made this directory and makes it anew.\n");
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot make the demo's directory " + directory, e);
    }
  }

  private static void requireOwn(Path directory) throws IOException {
    if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
      throw refused(directory, "it is not a directory");
    }
    Set<String> strangers = new TreeSet<>();
    boolean marked = false;
    try (Stream<Path> entries = Files.list(directory)) {
      for (Path entry : (Iterable<Path>) entries::iterator) {
        String name = String.valueOf(entry.getFileName());
        marked |= name.equals(MARKER);
        if (!OWN.contains(name) && !name.startsWith("catalog.db-")) {
          strangers.add(name);
        }
      }
    }
    if (!strangers.isEmpty()) {
      throw refused(directory, "it holds " + strangers.iterator().next() + ", which no demo made");
    }
    if (!marked && Files.list(directory).findAny().isPresent()) {
      throw refused(directory, "it was not made by a demo");
    }
  }

  private static UsageException refused(Path directory, String why) {
    return new UsageException(
        "Cannot make the demo in "
            + directory
            + ": "
            + why
            + ". Nothing was touched. Give another directory with --dir.");
  }

  /** Deletes what is in the directory; links are deleted, not followed. */
  private static void clear(Path directory) throws IOException {
    Files.walkFileTree(
        directory,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            // The marker goes last, so that a half-cleared directory is still a demo's.
            if (!file.equals(directory.resolve(MARKER))) {
              Files.delete(file);
            }
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(
              Path visited, @org.jspecify.annotations.Nullable IOException failure) // null: none
              throws IOException {
            if (failure != null) {
              throw failure;
            }
            if (!visited.equals(directory)) {
              Files.delete(visited);
            }
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
