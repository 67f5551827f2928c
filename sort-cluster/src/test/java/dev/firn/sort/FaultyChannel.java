package dev.firn.sort;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;

/** A file that writes and reads in parts, and whose faults are told by {@link Faults}. */
final class FaultyChannel extends FileChannel {

  /** Faults of all files of a sort. Each counts down to 0 and comes once. */
  static final class Faults {
    int opensLeft = Integer.MAX_VALUE;
    int writesLeft = Integer.MAX_VALUE;
    int readsLeft = Integer.MAX_VALUE;

    /** What a read that comes to its fault does: fail, find the end, or change a bit. */
    String readFault = "fail";

    int opens;
    int open;
    int writes;
    int reads;
    final Random random;

    Faults(Random random) {
      this.random = random;
    }

    FileChannel open(Path file) throws IOException {
      opens++;
      if (opensLeft-- == 0) {
        throw new IOException("Too many open files");
      }
      open++;
      return new FaultyChannel(
          FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE), this);
    }
  }

  private final FileChannel file;
  private final Faults faults;

  private FaultyChannel(FileChannel file, Faults faults) {
    this.file = file;
    this.faults = faults;
  }

  @Override
  public int write(ByteBuffer bytes, long position) throws IOException {
    faults.writes++;
    if (faults.writesLeft-- == 0) {
      throw new IOException("No space left on device");
    }
    int limit = bytes.limit();
    bytes.limit(bytes.position() + part(bytes.remaining()));
    try {
      return file.write(bytes, position);
    } finally {
      bytes.limit(limit);
    }
  }

  @Override
  public int read(ByteBuffer bytes, long position) throws IOException {
    faults.reads++;
    boolean faulty = faults.readsLeft-- == 0;
    if (faulty && faults.readFault.equals("fail")) {
      throw new IOException("Input/output error");
    }
    if (faulty && faults.readFault.equals("end")) {
      return -1;
    }
    int limit = bytes.limit();
    int start = bytes.position();
    bytes.limit(start + part(bytes.remaining()));
    try {
      int read = file.read(bytes, position);
      if (faulty && read > 0) {
        int at = start + faults.random.nextInt(read);
        bytes.put(at, (byte) (bytes.get(at) ^ 1 << faults.random.nextInt(8)));
      }
      return read;
    } finally {
      bytes.limit(limit);
    }
  }

  private int part(int bytes) {
    return faults.random.nextInt(3) == 0 ? 1 + faults.random.nextInt(bytes) : bytes;
  }

  @Override
  protected void implCloseChannel() throws IOException {
    faults.open--;
    file.close();
  }

  // ---- what the sort does not use

  @Override
  public int read(ByteBuffer bytes) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long read(ByteBuffer[] bytes, int offset, int length) {
    throw new UnsupportedOperationException();
  }

  @Override
  public int write(ByteBuffer bytes) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long write(ByteBuffer[] bytes, int offset, int length) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long position() {
    throw new UnsupportedOperationException();
  }

  @Override
  public FileChannel position(long newPosition) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long size() {
    throw new UnsupportedOperationException();
  }

  @Override
  public FileChannel truncate(long size) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void force(boolean metaData) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long transferTo(long position, long count, WritableByteChannel target) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long transferFrom(ReadableByteChannel source, long position, long count) {
    throw new UnsupportedOperationException();
  }

  @Override
  public MappedByteBuffer map(MapMode mode, long position, long size) {
    throw new UnsupportedOperationException();
  }

  @Override
  public FileLock lock(long position, long size, boolean shared) {
    throw new UnsupportedOperationException();
  }

  @Override
  public FileLock tryLock(long position, long size, boolean shared) {
    throw new UnsupportedOperationException();
  }
}
