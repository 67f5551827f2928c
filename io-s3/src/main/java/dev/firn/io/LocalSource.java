package dev.firn.io;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Supplier;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.ResolvingFileIO;
import org.jspecify.annotations.Nullable;

/**
 * A local file, copied between channels.
 *
 * <p>Copies to files go through a buffer: of {@code FileChannel}'s own transfers, one moves the
 * target's position, which other lanes share, and the other does not write past the target's end.
 */
final class LocalSource implements ByteSource {
  static final int LANES_MAX = 4;
  static final long REQUEST_BYTES_MAX = 32L << 20;

  /** By name: linking the class would need Hadoop, which S3 alone does not. */
  private static final String HADOOP_FILE_IO = "org.apache.iceberg.hadoop.HadoopFileIO";

  private final String location;
  private final Path path;
  private final Supplier<ByteBuffer> buffers;
  private final Traffic traffic;

  /**
   * @param buffers the buffer of the thread that asks
   */
  LocalSource(String location, Path path, Supplier<ByteBuffer> buffers, Traffic traffic) {
    this.location = location;
    this.path = path;
    this.buffers = buffers;
    this.traffic = traffic;
  }

  /** Whether a location goes to a HadoopFileIO. */
  static boolean isHadoop(String location, FileIO io) {
    return io instanceof ResolvingFileIO resolving
        ? resolving.ioClass(location).getName().equals(HADOOP_FILE_IO)
        : io.getClass().getName().equals(HADOOP_FILE_IO);
  }

  /** As {@link Names#pathOf}, of names that are asked for once. */
  static @Nullable Path pathOf(String location, FileIO io) {
    return Names.of(io).pathOf(location);
  }

  /**
   * Which locations of a FileIO are local files, by its Hadoop configuration.
   *
   * @param schemed whether those are that begin with {@code file:}
   * @param plain whether those are that have no scheme
   */
  record Names(boolean schemed, boolean plain) {
    /**
     * @param io a HadoopFileIO, or a ResolvingFileIO that hands locations to one
     */
    static Names of(FileIO io) {
      boolean schemed =
          LOCAL_FILE_SYSTEM.equals(setting(io, "fs.file.impl", LOCAL_FILE_SYSTEM))
              && !Path.of("/").getFileSystem().getSeparator().equals("\\");
      return new Names(
          schemed, schemed && "file:///".equals(setting(io, "fs.defaultFS", "file:///")));
    }

    /**
     * The file that Hadoop's local file system would open, or null if the location is not local or
     * not certainly so. Hadoop takes the path of a location as it stands: {@code %20} is not a
     * space.
     */
    @Nullable Path pathOf(String location) {
      boolean isSchemed = location.startsWith("file:");
      String name = isSchemed ? location.substring("file:".length()) : location;
      if (name.startsWith("//")) {
        // An authority; only the empty one is this machine for certain.
        if (!name.startsWith("///")) {
          return null;
        }
        name = name.substring(2);
      }
      if (!name.startsWith("/")
          || name.contains("/./")
          || name.contains("/../")
          || name.endsWith("/.")
          || name.endsWith("/..")) {
        return null;
      }
      return (isSchemed ? schemed : plain) ? Path.of(name) : null;
    }
  }

  private static final String LOCAL_FILE_SYSTEM = "org.apache.hadoop.fs.LocalFileSystem";

  /** A key of the FileIO's Hadoop configuration, or null if it cannot be told. */
  private static @Nullable String setting(FileIO io, String key, String preset) {
    // By reflection: Hadoop is no dependency of this module.
    try {
      Object conf = io.getClass().getMethod("getConf").invoke(io);
      if (conf == null) {
        return null;
      }
      Object value =
          conf.getClass().getMethod("get", String.class, String.class).invoke(conf, key, preset);
      return value instanceof String text ? text : null;
    } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
      return null;
    }
  }

  @Override
  public int lanesMax() {
    return LANES_MAX;
  }

  @Override
  public long requestBytesMax() {
    return REQUEST_BYTES_MAX;
  }

  @Override
  public long gapBytesMax() {
    // Gaps are not read, so a request may hold any.
    return REQUEST_BYTES_MAX;
  }

  @Override
  public boolean isNear() {
    return true;
  }

  @Override
  public Lane lane() {
    return new LocalLane();
  }

  private final class LocalLane implements Lane {
    private @Nullable FileChannel channel;

    @Override
    public void read(RangeRequest request, Transfer transfer) throws IOException {
      try {
        copy(request, transfer);
      } catch (NoSuchFileException e) {
        FileNotFoundException missing =
            new FileNotFoundException(
                "Cannot read " + request + " of " + location + ": there is no file " + path);
        missing.initCause(e);
        throw missing;
      } catch (ClosedByInterruptException e) { // the caller's own thread reads
        InterruptedIOException interrupted =
            new InterruptedIOException(
                "Reading " + request + " of " + location + " was interrupted");
        interrupted.initCause(e);
        throw interrupted;
      }
    }

    private void copy(RangeRequest request, Transfer transfer) throws IOException {
      if (channel == null) {
        channel = FileChannel.open(path, StandardOpenOption.READ);
      }
      traffic.requests.increment();
      ByteBuffer buffer = buffers.get();
      for (RangeReader.Range piece : request.pieces()) {
        long end = piece.offset() + piece.length();
        for (long position = piece.offset(); position < end; ) {
          transfer.check();
          long target = piece.targetOffset() + (position - piece.offset());
          int most = (int) Math.min(buffer.capacity(), end - position);
          int count = transfer.read(channel, position, most, target);
          boolean isThere = count > 0;
          if (count == 0) {
            count = channel.read(buffer.clear().limit(most), position);
          }
          if (count < 0) {
            throw new ShortFileException(
                "Cannot read "
                    + request
                    + " of "
                    + location
                    + ": the file ends at "
                    + channel.size()
                    + ". It is shorter than the table's metadata says: it is damaged or replaced",
                null);
          }
          traffic.bytes.add(count);
          if (!isThere) {
            transfer.write(buffer.flip(), target);
          }
          position += count;
        }
      }
    }

    @Override
    public void close() throws IOException {
      if (channel != null) {
        channel.close();
      }
    }
  }
}
