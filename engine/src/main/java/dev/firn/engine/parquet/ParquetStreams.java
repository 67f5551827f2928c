package dev.firn.engine.parquet;

import dev.firn.io.LocalOutput;
import java.io.IOException;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.io.FileIO;
import org.apache.parquet.io.OutputFile;
import org.apache.parquet.io.PositionOutputStream;
import org.jspecify.annotations.Nullable;

/**
 * An Iceberg output file as Parquet writes to it. Owns the stream, so that a file that failed can
 * be closed and then deleted, and its length is known after it is closed. Opened once.
 */
final class ParquetStreams implements OutputFile {
  private final org.apache.iceberg.io.OutputFile file;
  private final FileIO io;
  private @Nullable Stream stream; // null until Parquet opens it
  private boolean mayExist;

  /**
   * @param io of the table that the file is for
   */
  ParquetStreams(org.apache.iceberg.io.OutputFile file, FileIO io) {
    this.file = file;
    this.io = io;
  }

  @Override
  public PositionOutputStream create(long blockSizeHint) throws IOException {
    mayExist = true;
    try {
      org.apache.iceberg.io.PositionOutputStream local = LocalOutput.create(file.location(), io);
      stream = new Stream(local == null ? file.create() : local);
    } catch (AlreadyExistsException e) {
      mayExist = false;
      throw e;
    }
    return stream;
  }

  @Override
  public PositionOutputStream createOrOverwrite(long blockSizeHint) throws IOException {
    mayExist = true;
    stream = new Stream(file.createOrOverwrite());
    return stream;
  }

  @Override
  public boolean supportsBlockSize() {
    return false;
  }

  @Override
  public long defaultBlockSize() {
    return 0;
  }

  @Override
  public String getPath() {
    return file.location();
  }

  /** Whether there may be a file of ours: one that was there before is another writer's (C13). */
  boolean mayExist() {
    return mayExist;
  }

  /** The bytes written. */
  long length() throws IOException {
    return stream == null ? 0 : stream.getPos();
  }

  /** Closes the stream if it is open. Stores may publish what was written so far: delete after. */
  void close() throws IOException {
    if (stream != null) {
      stream.close();
    }
  }

  private static final class Stream extends PositionOutputStream {
    private final org.apache.iceberg.io.PositionOutputStream delegate;
    private long position;
    private boolean closed;

    Stream(org.apache.iceberg.io.PositionOutputStream delegate) {
      this.delegate = delegate;
    }

    @Override
    public long getPos() {
      return position;
    }

    @Override
    public void write(int b) throws IOException {
      delegate.write(b);
      position++;
    }

    @Override
    public void write(byte[] b, int off, int len) throws IOException {
      delegate.write(b, off, len);
      position += len;
    }

    @Override
    public void flush() throws IOException {
      delegate.flush();
    }

    @Override
    public void close() throws IOException {
      if (!closed) {
        closed = true;
        delegate.close();
      }
    }
  }
}
