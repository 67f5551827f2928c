package dev.firn.testdata;

import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.io.BulkDeletionFailureException;
import org.apache.iceberg.io.DelegateFileIO;
import org.apache.iceberg.io.FileInfo;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;
import org.apache.iceberg.io.RangeReadable;
import org.apache.iceberg.io.SeekableInputStream;

/**
 * A FileIO of the local file system without Hadoop: no checksum files, no decoding of names.
 *
 * <p>Understands {@code file:///a}, {@code file:/a} and {@code /a}, and reports a location as it
 * was asked for. Holds nothing open; may be used by any thread.
 */
public final class LocalFileIO implements DelegateFileIO {
  /** The path of a location. */
  public static Path path(String location) {
    String path = location;
    if (path.startsWith("file:")) {
      path = path.substring("file:".length());
      if (path.startsWith("///")) {
        path = path.substring(2);
      }
    }
    return Path.of(path);
  }

  /** The location of an absolute path: {@code file:/a/b}. */
  public static String location(Path path) {
    return "file:" + path.toAbsolutePath();
  }

  @Override
  public InputFile newInputFile(String location) {
    return new LocalInput(location);
  }

  @Override
  public OutputFile newOutputFile(String location) {
    return new LocalOutput(location);
  }

  @Override
  public void deleteFile(String location) {
    try {
      Files.delete(path(location));
    } catch (NoSuchFileException e) {
      throw new NotFoundException(e, "Cannot delete %s: there is no such file", location);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot delete " + location, e);
    }
  }

  @Override
  public void deleteFiles(Iterable<String> locations) throws BulkDeletionFailureException {
    int failed = 0;
    for (String location : locations) {
      try {
        deleteFile(location);
      } catch (NotFoundException e) {
        // deleted already
      } catch (UncheckedIOException e) {
        failed++;
      }
    }
    if (failed > 0) {
      throw new BulkDeletionFailureException(failed);
    }
  }

  @Override
  public Iterable<FileInfo> listPrefix(String prefix) {
    Path root = path(prefix);
    List<FileInfo> files = new ArrayList<>();
    if (Files.exists(root)) {
      try (Stream<Path> below = Files.walk(root)) {
        for (Path file : below.filter(Files::isRegularFile).sorted().toList()) {
          String location =
              prefix.replaceAll("/+$", "") + file.toString().substring(root.toString().length());
          files.add(
              new FileInfo(location, Files.size(file), Files.getLastModifiedTime(file).toMillis()));
        }
      } catch (IOException e) {
        throw new UncheckedIOException("Cannot list " + prefix, e);
      }
    }
    return files;
  }

  @Override
  public void deletePrefix(String prefix) {
    try (Stream<Path> below = Files.walk(path(prefix))) {
      for (Path file : below.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot delete " + prefix, e);
    }
  }

  private record LocalInput(String location) implements InputFile {
    @Override
    public long getLength() {
      try {
        return Files.size(path(location));
      } catch (NoSuchFileException e) {
        throw new NotFoundException(e, "Cannot find %s", location);
      } catch (IOException e) {
        throw new UncheckedIOException("Cannot stat " + location, e);
      }
    }

    @Override
    public SeekableInputStream newStream() {
      try {
        return new LocalInputStream(FileChannel.open(path(location)), location);
      } catch (NoSuchFileException e) {
        throw new NotFoundException(e, "Cannot find %s", location);
      } catch (IOException e) {
        throw new UncheckedIOException("Cannot open " + location, e);
      }
    }

    @Override
    public boolean exists() {
      return Files.exists(path(location));
    }
  }

  private record LocalOutput(String location) implements OutputFile {
    @Override
    public PositionOutputStream create() {
      return open(StandardOpenOption.CREATE_NEW);
    }

    @Override
    public PositionOutputStream createOrOverwrite() {
      return open(StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING);
    }

    private PositionOutputStream open(StandardOpenOption... how) {
      Path path = path(location);
      try {
        Path parent = path.getParent();
        if (parent != null) {
          Files.createDirectories(parent);
        }
        StandardOpenOption[] options = java.util.Arrays.copyOf(how, how.length + 1);
        options[how.length] = StandardOpenOption.WRITE;
        return new LocalOutputStream(Files.newOutputStream(path, options));
      } catch (FileAlreadyExistsException e) {
        throw new AlreadyExistsException(e, "Cannot create %s: it exists", location);
      } catch (IOException e) {
        throw new UncheckedIOException("Cannot create " + location, e);
      }
    }

    @Override
    public InputFile toInputFile() {
      return new LocalInput(location);
    }
  }

  private static final class LocalInputStream extends SeekableInputStream implements RangeReadable {
    private final FileChannel channel;
    private final String location;

    LocalInputStream(FileChannel channel, String location) {
      this.channel = channel;
      this.location = location;
    }

    @Override
    public long getPos() throws IOException {
      return channel.position();
    }

    @Override
    public void seek(long position) throws IOException {
      channel.position(position);
    }

    @Override
    public int read() throws IOException {
      ByteBuffer one = ByteBuffer.allocate(1);
      return channel.read(one) < 0 ? -1 : one.get(0) & 0xFF;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      return length == 0 ? 0 : channel.read(ByteBuffer.wrap(bytes, offset, length));
    }

    @Override
    public void readFully(long position, byte[] bytes, int offset, int length) throws IOException {
      ByteBuffer target = ByteBuffer.wrap(bytes, offset, length);
      long next = position;
      while (target.hasRemaining()) {
        int read = channel.read(target, next);
        if (read < 0) {
          throw new EOFException(location + " ends " + target.remaining() + " bytes early");
        }
        next += read;
      }
    }

    @Override
    public int readTail(byte[] bytes, int offset, int length) throws IOException {
      int available = (int) Math.min(length, channel.size());
      readFully(channel.size() - available, bytes, offset, available);
      return available;
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }

  private static final class LocalOutputStream extends PositionOutputStream {
    private final OutputStream out;
    private long position;

    LocalOutputStream(OutputStream out) {
      this.out = new BufferedOutputStream(out, 1 << 16);
    }

    @Override
    public long getPos() {
      return position;
    }

    @Override
    public void write(int b) throws IOException {
      out.write(b);
      position++;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      out.write(bytes, offset, length);
      position += length;
    }

    @Override
    public void flush() throws IOException {
      out.flush();
    }

    @Override
    public void close() throws IOException {
      out.close();
    }
  }
}
