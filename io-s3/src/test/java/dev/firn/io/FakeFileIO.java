package dev.firn.io;

import java.io.EOFException;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.RangeReadable;
import org.apache.iceberg.io.SeekableInputStream;

/** One file in memory, whose streams are counted and fail on demand. */
final class FakeFileIO implements FileIO {
  static final String LOCATION = "fake://bucket/file";

  private final byte[] bytes;
  private final boolean rangeReadable;
  final AtomicInteger opens = new AtomicInteger();
  final AtomicInteger open = new AtomicInteger();
  final AtomicInteger openMost = new AtomicInteger();
  final AtomicInteger reads = new AtomicInteger();
  volatile int failRead = Integer.MAX_VALUE;
  volatile boolean failClose;

  FakeFileIO(byte[] bytes, boolean rangeReadable) {
    this.bytes = bytes;
    this.rangeReadable = rangeReadable;
  }

  @Override
  public InputFile newInputFile(String location) {
    return new InputFile() {
      @Override
      public long getLength() {
        throw new UnsupportedOperationException("the length was given");
      }

      @Override
      public SeekableInputStream newStream() {
        if (!location.equals(LOCATION)) {
          throw new NotFoundException("No file %s", location);
        }
        opens.incrementAndGet();
        openMost.accumulateAndGet(open.incrementAndGet(), Math::max);
        return rangeReadable ? new RangeStream() : new Stream();
      }

      @Override
      public String location() {
        return location;
      }

      @Override
      public boolean exists() {
        return location.equals(LOCATION);
      }
    };
  }

  @Override
  public InputFile newInputFile(String location, long length) {
    return newInputFile(location);
  }

  @Override
  public OutputFile newOutputFile(String path) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void deleteFile(String path) {
    throw new UnsupportedOperationException();
  }

  private class Stream extends SeekableInputStream {
    private int position;
    private boolean closed;

    @Override
    public long getPos() {
      return position;
    }

    @Override
    public void seek(long to) {
      position = (int) to;
    }

    @Override
    public int read() {
      throw new UnsupportedOperationException("a byte at a time");
    }

    @Override
    public int read(byte[] to, int offset, int length) throws IOException {
      fail();
      if (closed) {
        throw new IOException("closed");
      }
      int count = Math.min(Math.min(length, 70_000), bytes.length - position);
      if (count <= 0) {
        return -1;
      }
      System.arraycopy(bytes, position, to, offset, count);
      position += count;
      return count;
    }

    void fail() throws IOException {
      if (reads.incrementAndGet() >= failRead) {
        throw new IOException("told to fail");
      }
    }

    @Override
    public void close() throws IOException {
      if (!closed) {
        closed = true;
        open.decrementAndGet();
      }
      if (failClose) {
        throw new IOException("told to fail closing");
      }
    }
  }

  private final class RangeStream extends Stream implements RangeReadable {
    @Override
    public void readFully(long position, byte[] buffer, int offset, int length) throws IOException {
      fail();
      if (position + length > bytes.length) {
        throw new EOFException("past the end");
      }
      System.arraycopy(bytes, (int) position, buffer, offset, length);
    }

    @Override
    public void seek(long to) {
      throw new UnsupportedOperationException("it reads ranges");
    }

    @Override
    public int readTail(byte[] buffer, int offset, int length) {
      throw new UnsupportedOperationException();
    }
  }
}
