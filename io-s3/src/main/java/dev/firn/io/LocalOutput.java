package dev.firn.io;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.PositionOutputStream;
import org.jspecify.annotations.Nullable;

/**
 * A new file on a local disk, written without Hadoop, whose local file system keeps a checksum of
 * every 512 bytes in a file beside it. That costs more than writing; a Parquet file has checksums
 * of its own pages. Not thread-safe.
 */
public final class LocalOutput extends PositionOutputStream {
  private static final int BUFFER_BYTES = 128 << 10;

  private final FileChannel channel;
  private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
  private long flushed;

  private LocalOutput(FileChannel channel) {
    this.channel = channel;
  }

  /**
   * Creates a file and the directories it is in.
   *
   * @param io of the table
   * @return null if the location is not local, or not certainly so: the FileIO is to create it
   * @throws AlreadyExistsException if there is one
   */
  public static @Nullable PositionOutputStream create(String location, FileIO io)
      throws IOException {
    Path path = LocalSource.isHadoop(location, io) ? LocalSource.pathOf(location, io) : null;
    if (path == null) {
      return null;
    }
    Path directory = Objects.requireNonNull(path.getParent(), location);
    if (!Files.isDirectory(directory)) { // createDirectories refuses one that is a link
      Files.createDirectories(directory);
    }
    try {
      return new LocalOutput(
          FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW));
    } catch (FileAlreadyExistsException e) {
      throw new AlreadyExistsException(e, "File already exists: %s", location);
    }
  }

  @Override
  public long getPos() {
    return flushed + buffer.position();
  }

  @Override
  public void write(int b) throws IOException {
    if (!buffer.hasRemaining()) {
      drain();
    }
    buffer.put((byte) b);
  }

  @Override
  public void write(byte[] bytes, int from, int length) throws IOException {
    int at = from;
    int end = from + length;
    while (at < end) {
      if (!buffer.hasRemaining()) {
        drain();
      }
      int count = Math.min(buffer.remaining(), end - at);
      buffer.put(bytes, at, count);
      at += count;
    }
  }

  private void drain() throws IOException {
    buffer.flip();
    try {
      while (buffer.hasRemaining()) {
        flushed += channel.write(buffer);
      }
    } finally {
      buffer.compact(); // what was not written stays
    }
  }

  @Override
  public void flush() throws IOException {
    drain();
  }

  /** Writes what is left. Closing again does nothing. */
  @Override
  public void close() throws IOException {
    if (channel.isOpen()) {
      try (channel) {
        drain();
      }
    }
  }
}
