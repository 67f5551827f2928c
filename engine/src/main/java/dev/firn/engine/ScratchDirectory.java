package dev.firn.engine;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A directory for what does not fit into memory. Closing removes it with all that is in it. */
record ScratchDirectory(Path path) implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ScratchDirectory.class);

  /**
   * Makes a new directory.
   *
   * @param prefix begins its name
   * @throws UncheckedIOException if {@code parent} cannot be written to
   */
  static ScratchDirectory in(Path parent, String prefix) {
    try {
      return new ScratchDirectory(Files.createTempDirectory(parent, prefix));
    } catch (IOException e) {
      throw new UncheckedIOException(
          "Cannot write to the scratch directory "
              + parent
              + ": nothing was changed; name another with --scratch",
          e);
    }
  }

  @Override
  public void close() {
    try (Stream<Path> files = Files.walk(path)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    } catch (IOException e) {
      LOG.warn("Cannot remove scratch directory {}", path, e);
    }
  }
}
