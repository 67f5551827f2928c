package dev.firn.testdata;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.FileIO;

/**
 * Small tables as Spark, Flink and Iceberg's Java writers leave them, and the rows that they hold.
 * What each is about is in {@code golden/README.md}.
 *
 * <p>The tables say that they are at {@code file:/firn-golden/NAME}, where nothing is. A copy is
 * read and written at that location all the same: its FileIO finds the files in the copy.
 */
public final class GoldenTables {
  private static final String PREFIX = "file:/firn-golden/";

  private GoldenTables() {}

  /** The names of all golden tables, sorted. */
  public static List<String> names() {
    try (Stream<Path> files = Files.list(home())) {
      return files
          .filter(Files::isDirectory)
          .map(directory -> directory.getFileName().toString())
          .sorted()
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot list " + home(), e);
    }
  }

  /** Copies a table into a directory and opens the copy, which can be committed to. */
  public static Table copyTo(String name, Path directory) {
    Path source = home().resolve(name);
    Path copy = directory.resolve(name);
    try (Stream<Path> files = Files.walk(source)) {
      for (Path file : files.sorted().toList()) {
        Path target = copy.resolve(source.relativize(file).toString());
        if (Files.isDirectory(file)) {
          Files.createDirectories(target);
        } else {
          Files.copy(file, target);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot copy " + source + " to " + copy, e);
    }
    return open(name, directory);
  }

  /** Opens a copy made before, as another process would: a handle of its own. */
  public static Table open(String name, Path directory) {
    FileIO io =
        new RelocatingFileIO(
            new LocalFileIO(),
            PREFIX + name + "/",
            LocalFileIO.location(directory.resolve(name)) + "/");
    return new BaseTable(
        new LocalTableOperations(PREFIX + name, directory.resolve(name), io), "golden." + name);
  }

  /** The lines that {@link TableRows#live(Table)} must give, sorted. */
  public static List<String> expectedRows(String name) {
    return expectedRows(name, SnapshotRef.MAIN_BRANCH);
  }

  /** The lines that {@link TableRows#live(Table, String)} must give for a branch or tag. */
  public static List<String> expectedRows(String name, String ref) {
    String infix = ref.equals(SnapshotRef.MAIN_BRANCH) ? "" : "." + ref;
    Path file = home().resolve(name + infix + ".expected.jsonl");
    try {
      return Files.readAllLines(file);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + file, e);
    }
  }

  /* The tables lie in the module, above its classes or its jar; else above the work directory. */
  private static Path home() {
    Path classes;
    try {
      classes =
          Path.of(GoldenTables.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException e) {
      throw new IllegalStateException("Cannot find the golden tables", e);
    }
    for (Path start : List.of(classes, Path.of("").toAbsolutePath())) {
      for (Path path = start; path != null; path = path.getParent()) {
        for (String home : List.of("golden", "testdata/golden")) {
          if (Files.exists(path.resolve(home).resolve("README.md"))) {
            return path.resolve(home);
          }
        }
      }
    }
    throw new IllegalStateException("No testdata/golden above " + classes);
  }
}
