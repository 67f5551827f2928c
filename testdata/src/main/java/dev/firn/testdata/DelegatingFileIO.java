package dev.firn.testdata;

import java.io.Closeable;
import java.io.IOException;
import java.util.Map;
import org.apache.iceberg.io.BulkDeletionFailureException;
import org.apache.iceberg.io.DelegateFileIO;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.FileInfo;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;
import org.apache.iceberg.io.RangeReadable;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.iceberg.io.SupportsPrefixOperations;

/**
 * A FileIO around another one, with a hook at every call that reaches storage. Locations that come
 * out are the ones that went in, whatever {@link #locate} makes of them.
 */
abstract class DelegatingFileIO implements DelegateFileIO {
  private final transient FileIO delegate;

  DelegatingFileIO(FileIO delegate) {
    this.delegate = delegate;
  }

  /** The FileIO that does the work. */
  public final FileIO delegate() {
    return delegate;
  }

  /** The delegate's name of a location. */
  String locate(String location) {
    return location;
  }

  /** Called before a stream is opened to read. */
  void beforeOpen(String location) throws IOException {}

  /** Called before each read of a stream, with how many bytes were asked for at most. */
  void beforeRead(String location, long bytes) throws IOException {}

  /** Called after each read of a stream, with how many bytes came. */
  void afterRead(String location, long bytes) {}

  /** Called before a file is created. */
  void beforeCreate(String location) throws IOException {}

  /** Called before each write to a stream. */
  void beforeWrite(String location, long bytes) throws IOException {}

  /** Called before an output stream is closed for the first time. */
  void beforeCloseOutput(String location) throws IOException {}

  /** Called before a file is deleted. */
  void beforeDelete(String location) {}

  /** Called before the length or the existence of a file is asked for. */
  void beforeStat(String location) {}

  /** Called when a stream has been opened. */
  void opened(String location, Closeable stream) {}

  /** Called when a stream is closed for the first time. */
  void closed(String location, Closeable stream) {}

  @Override
  public InputFile newInputFile(String location) {
    return new Input(delegate.newInputFile(locate(location)), location);
  }

  @Override
  public InputFile newInputFile(String location, long length) {
    return new Input(delegate.newInputFile(locate(location), length), location);
  }

  @Override
  public OutputFile newOutputFile(String location) {
    return new Output(delegate.newOutputFile(locate(location)), location);
  }

  @Override
  public void deleteFile(String location) {
    beforeDelete(location);
    delegate.deleteFile(locate(location));
  }

  @Override
  public void deleteFiles(Iterable<String> locations) throws BulkDeletionFailureException {
    int failed = 0;
    for (String location : locations) {
      try {
        deleteFile(location);
      } catch (RuntimeException e) {
        failed++;
      }
    }
    if (failed > 0) {
      throw new BulkDeletionFailureException(failed);
    }
  }

  @Override
  public Iterable<FileInfo> listPrefix(String prefix) {
    return prefixOperations().listPrefix(locate(prefix));
  }

  @Override
  public void deletePrefix(String prefix) {
    prefixOperations().deletePrefix(locate(prefix));
  }

  private SupportsPrefixOperations prefixOperations() {
    if (delegate instanceof SupportsPrefixOperations operations) {
      return operations;
    }
    throw new UnsupportedOperationException(delegate.getClass().getName() + " lists no prefixes");
  }

  @Override
  public Map<String, String> properties() {
    return delegate.properties();
  }

  @Override
  public void close() {
    delegate.close();
  }

  private final class Input implements InputFile {
    private final InputFile file;
    private final String location;

    Input(InputFile file, String location) {
      this.file = file;
      this.location = location;
    }

    @Override
    public long getLength() {
      beforeStat(location);
      return file.getLength();
    }

    @Override
    public SeekableInputStream newStream() {
      try {
        beforeOpen(location);
      } catch (IOException e) {
        throw new org.apache.iceberg.exceptions.RuntimeIOException(e);
      }
      HookedInput stream = new HookedInput(file.newStream(), location);
      opened(location, stream);
      return stream;
    }

    @Override
    public String location() {
      return location;
    }

    @Override
    public boolean exists() {
      beforeStat(location);
      return file.exists();
    }
  }

  private final class Output implements OutputFile {
    private final OutputFile file;
    private final String location;

    Output(OutputFile file, String location) {
      this.file = file;
      this.location = location;
    }

    @Override
    public PositionOutputStream create() {
      return opening(false);
    }

    @Override
    public PositionOutputStream createOrOverwrite() {
      return opening(true);
    }

    private PositionOutputStream opening(boolean overwrite) {
      try {
        beforeCreate(location);
      } catch (IOException e) {
        throw new org.apache.iceberg.exceptions.RuntimeIOException(e);
      }
      HookedOutput stream =
          new HookedOutput(overwrite ? file.createOrOverwrite() : file.create(), location);
      opened(location, stream);
      return stream;
    }

    @Override
    public String location() {
      return location;
    }

    @Override
    public InputFile toInputFile() {
      return new Input(file.toInputFile(), location);
    }
  }

  private final class HookedInput extends SeekableInputStream implements RangeReadable {
    private final SeekableInputStream in;
    private final String location;
    private boolean closed;

    HookedInput(SeekableInputStream in, String location) {
      this.in = in;
      this.location = location;
    }

    @Override
    public long getPos() throws IOException {
      return in.getPos();
    }

    @Override
    public void seek(long position) throws IOException {
      in.seek(position);
    }

    @Override
    public int read() throws IOException {
      beforeRead(location, 1);
      int read = in.read();
      afterRead(location, read < 0 ? 0 : 1);
      return read;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      beforeRead(location, length);
      int read = in.read(bytes, offset, length);
      afterRead(location, Math.max(read, 0));
      return read;
    }

    @Override
    public void readFully(long position, byte[] buffer, int offset, int length) throws IOException {
      beforeRead(location, length);
      if (in instanceof RangeReadable ranges) {
        ranges.readFully(position, buffer, offset, length);
      } else {
        long back = in.getPos();
        in.seek(position);
        int read = in.readNBytes(buffer, offset, length);
        in.seek(back);
        if (read < length) {
          throw new java.io.EOFException(location + " ends " + (length - read) + " bytes early");
        }
      }
      afterRead(location, length);
    }

    @Override
    public int readTail(byte[] buffer, int offset, int length) throws IOException {
      beforeRead(location, length);
      int read;
      if (in instanceof RangeReadable ranges) {
        read = ranges.readTail(buffer, offset, length);
      } else {
        long back = in.getPos();
        long fileLength = delegate.newInputFile(locate(location)).getLength();
        in.seek(Math.max(0, fileLength - length));
        read = in.readNBytes(buffer, offset, length);
        in.seek(back);
      }
      afterRead(location, read);
      return read;
    }

    @Override
    public void close() throws IOException {
      if (!closed) {
        closed = true;
        DelegatingFileIO.this.closed(location, this);
        in.close();
      }
    }
  }

  private final class HookedOutput extends PositionOutputStream {
    private final PositionOutputStream out;
    private final String location;
    private boolean closed;

    HookedOutput(PositionOutputStream out, String location) {
      this.out = out;
      this.location = location;
    }

    @Override
    public long getPos() throws IOException {
      return out.getPos();
    }

    @Override
    public long storedLength() throws IOException {
      return out.storedLength();
    }

    @Override
    public void write(int b) throws IOException {
      beforeWrite(location, 1);
      out.write(b);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      beforeWrite(location, length);
      out.write(bytes, offset, length);
    }

    @Override
    public void flush() throws IOException {
      out.flush();
    }

    @Override
    public void close() throws IOException {
      if (!closed) {
        closed = true;
        DelegatingFileIO.this.closed(location, this);
        try {
          beforeCloseOutput(location);
        } finally {
          out.close();
        }
      }
    }
  }
}
