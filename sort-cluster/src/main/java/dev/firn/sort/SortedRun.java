package dev.firn.sort;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.util.MemoryUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sorted rows in a file of their own, as a sequence of blocks. What is known of the blocks stays in
 * memory, so that a file that is short or changed cannot pass for another. Closing removes the
 * file; closing twice is harmless. Not thread-safe.
 */
final class SortedRun implements AutoCloseable {

  /** Opens the file of a run, which exists and is empty, to be written and read. */
  @FunctionalInterface
  interface Opener {
    Opener DISK = file -> FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);

    FileChannel open(Path file) throws IOException;
  }

  /**
   * A block in the file.
   *
   * @param offset where it begins
   * @param storedBytes what it takes there
   * @param bytes what it takes in memory
   * @param rows how many rows it has
   * @param rowBytesMax what its largest row takes, about
   * @param packed whether some of it is compressed; else it is stored as it is in memory
   * @param crc CRC32C of what is stored
   */
  record Block(
      long offset,
      long storedBytes,
      long bytes,
      int rows,
      long rowBytesMax,
      boolean packed,
      int crc) {}

  private static final Logger LOG = LoggerFactory.getLogger(SortedRun.class);

  private final Path file;
  private final FileChannel channel;
  private final boolean unlinked;
  private final List<Block> blocks = new ArrayList<>();
  private final int level;
  private long rows;
  private long storedBytes;
  private long blockBytesMax;
  private long rowBytesMax;
  private byte[] lastKey = {};
  private boolean open = true;

  private SortedRun(Path file, FileChannel channel, boolean unlinked, int level) {
    this.file = file;
    this.channel = channel;
    this.unlinked = unlinked;
    this.level = level;
  }

  /**
   * An empty run.
   *
   * @param level how many times its rows have been merged into a run
   */
  @SuppressWarnings("MustBeClosedChecker")
  static SortedRun create(Path directory, int level, Opener opener) throws SpillException {
    Path file = directory;
    try {
      file = Files.createTempFile(directory, "firn-sort-", ".run");
      FileChannel channel;
      try {
        channel = opener.open(file);
      } catch (Throwable failure) {
        Files.deleteIfExists(file);
        throw failure;
      }
      return new SortedRun(file, channel, unlink(file), level);
    } catch (IOException e) {
      throw SpillException.writing(file, e);
    }
  }

  /** Deletes the open file, so that nothing is left of it however the process ends. */
  private static boolean unlink(Path file) {
    try {
      Files.delete(file);
      return true;
    } catch (IOException openFilesStay) {
      return false; // deleted when it is closed
    }
  }

  Path file() {
    return file;
  }

  int level() {
    return level;
  }

  long rows() {
    return rows;
  }

  long storedBytes() {
    return storedBytes;
  }

  int blocks() {
    return blocks.size();
  }

  Block block(int number) {
    return blocks.get(number);
  }

  /** What the largest block takes in memory. */
  long blockBytesMax() {
    return blockBytesMax;
  }

  /** What the largest row takes, about, with its key. */
  long rowBytesMax() {
    return rowBytesMax;
  }

  /** Whether a key may follow the run's last row. */
  boolean isContinuedBy(long key, long bytes) {
    byte[] first = new byte[Math.toIntExact(bytes)];
    if (bytes > 0) {
      MemoryUtil.copyFromMemory(key, first, 0, bytes);
    }
    return Arrays.compareUnsigned(lastKey, first) <= 0;
  }

  /** Notes a block, which is written or about to be, and the key of its last row. */
  void add(Block block, long key, long keyBytes) {
    blocks.add(block);
    rows += block.rows;
    storedBytes = block.offset + block.storedBytes;
    blockBytesMax = Math.max(blockBytesMax, block.bytes);
    rowBytesMax = Math.max(rowBytesMax, block.rowBytesMax);
    lastKey = new byte[Math.toIntExact(keyBytes)];
    if (keyBytes > 0) {
      MemoryUtil.copyFromMemory(key, lastKey, 0, keyBytes);
    }
  }

  void write(ByteBuffer bytes, long offset) throws SpillException {
    try {
      long at = offset;
      while (bytes.hasRemaining()) {
        at += channel.write(bytes, at);
      }
    } catch (IOException e) {
      throw SpillException.writing(file, e);
    }
  }

  /** Fills the buffer. */
  void read(ByteBuffer bytes, long offset) throws SpillException {
    try {
      long at = offset;
      while (bytes.hasRemaining()) {
        int read = channel.read(bytes, at);
        if (read < 0) {
          throw SpillException.corrupt(
              file, "it ends at byte " + at + " and was written up to " + storedBytes, null);
        }
        at += read;
      }
    } catch (SpillException e) {
      throw e;
    } catch (IOException e) {
      throw SpillException.reading(file, e);
    }
  }

  @Override
  public void close() {
    if (open) {
      open = false;
      try (channel) {
        if (!unlinked) {
          Files.deleteIfExists(file);
        }
      } catch (IOException e) {
        LOG.warn("Cannot remove scratch file {}. Its rows are needed no more: delete it.", file, e);
      }
    }
  }
}
