package dev.firn.engine;

import dev.firn.engine.parquet.ScratchException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A directory for what does not fit into memory. Closing removes it with all that is in it, and so
 * does the end of the process, if it is not killed. What a killed process left is removed when the
 * next directory is made beside it: a lock that the operating system releases tells the dead from
 * the living.
 */
final class ScratchDirectory implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ScratchDirectory.class);
  private static final String PREFIX = "firn-";
  private static final String LOCK = ".lock";

  /** A directory without a lock may be one that is just being made, if it is not older. */
  private static final Duration MADE_WITHIN = Duration.ofMinutes(10);

  /* A process loses its lock when it closes any other channel of the file: it must not look. */
  private static final Set<Path> OWN = ConcurrentHashMap.newKeySet();

  private final Path path;
  private final @Nullable FileChannel lock; // null where the file system has no locks
  private final Thread atExit = new Thread(this::remove, "firn-scratch");

  private ScratchDirectory(Path path, @Nullable FileChannel lock) {
    this.path = path;
    this.lock = lock;
  }

  /**
   * Removes what killed processes left in {@code parent}, and makes a new directory there.
   *
   * @param name in its name
   * @throws UncheckedIOException if {@code parent} cannot be written to
   */
  static ScratchDirectory in(Path parent, String name) {
    sweep(parent);
    Path path;
    try {
      path = Files.createTempDirectory(parent, PREFIX + name + "-").toRealPath();
    } catch (IOException e) {
      ScratchException unusable =
          new ScratchException("what does not fit into memory", parent, e, "No row was read");
      throw new UncheckedIOException(unusable.getMessage(), unusable);
    }
    OWN.add(path);
    ScratchDirectory made = new ScratchDirectory(path, lock(path));
    Runtime.getRuntime().addShutdownHook(made.atExit);
    return made;
  }

  private static @Nullable FileChannel lock(Path directory) {
    FileChannel channel = null;
    try {
      channel =
          FileChannel.open(
              directory.resolve(LOCK), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
      if (channel.tryLock() != null) {
        return channel;
      }
    } catch (IOException e) {
      LOG.debug("Cannot lock scratch directory {}", directory, e);
    }
    close(channel);
    return null;
  }

  private static void close(@Nullable FileChannel channel) {
    try {
      if (channel != null) {
        channel.close();
      }
    } catch (IOException e) {
      LOG.debug("Cannot close a lock", e);
    }
  }

  Path path() {
    return path;
  }

  private static void sweep(Path parent) {
    try (DirectoryStream<Path> left = Files.newDirectoryStream(parent, PREFIX + "*")) {
      for (Path directory : left) {
        if (Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)
            && !OWN.contains(directory.toRealPath())) {
          sweepIfDead(directory);
        }
      }
    } catch (IOException e) {
      LOG.debug("Cannot look for what earlier runs left in {}", parent, e);
    }
  }

  private static void sweepIfDead(Path directory) throws IOException {
    Path lockFile = directory.resolve(LOCK);
    if (!Files.exists(lockFile)) {
      Instant made = Files.getLastModifiedTime(directory).toInstant();
      if (made.isBefore(Instant.now().minus(MADE_WITHIN)) && isEmpty(directory)) {
        Files.delete(directory);
      }
      return;
    }
    try (FileChannel channel = FileChannel.open(lockFile, StandardOpenOption.WRITE);
        FileLock dead = channel.tryLock()) {
      if (dead != null) {
        LOG.info("Removing {}, which a run left that was killed", directory);
        removeAll(directory);
      }
    } catch (IOException e) {
      LOG.debug("Cannot tell whether {} is in use", directory, e);
    }
  }

  /** A directory of a like name that holds something may be somebody's. */
  private static boolean isEmpty(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.findAny().isEmpty();
    }
  }

  private static void removeAll(Path directory) {
    try (Stream<Path> files = Files.walk(directory)) {
      List<Path> deepestFirst = files.sorted(Comparator.reverseOrder()).toList();
      for (Path file : deepestFirst) {
        if (!file.endsWith(LOCK)) {
          file.toFile().delete();
        }
      }
      Files.deleteIfExists(directory.resolve(LOCK));
      Files.deleteIfExists(directory);
    } catch (IOException e) {
      LOG.warn("Cannot remove scratch directory {}", directory, e);
    }
  }

  private void remove() {
    removeAll(path);
    close(lock);
    OWN.remove(path);
  }

  @Override
  public void close() {
    try {
      Runtime.getRuntime().removeShutdownHook(atExit);
    } catch (IllegalStateException e) {
      LOG.debug("The process is ending", e);
    }
    remove();
  }
}
