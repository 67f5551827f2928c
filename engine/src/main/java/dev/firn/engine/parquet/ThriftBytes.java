package dev.firn.engine.parquet;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.parquet.format.ColumnIndex;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.InterningProtocol;
import org.apache.parquet.format.OffsetIndex;
import org.apache.parquet.format.PageHeader;
import shaded.parquet.org.apache.thrift.TBase;
import shaded.parquet.org.apache.thrift.TConfiguration;
import shaded.parquet.org.apache.thrift.TException;
import shaded.parquet.org.apache.thrift.protocol.TCompactProtocol;
import shaded.parquet.org.apache.thrift.transport.TTransport;
import shaded.parquet.org.apache.thrift.transport.TTransportException;

/**
 * Reads the structs of a Parquet file, in Thrift's compact protocol, out of bytes that are in
 * memory: parquet-java's own readers take streams, and ask them for one byte at a time. The structs
 * are parquet-java's and keep nothing of the bytes. A list or a text that claims to be longer than
 * the bytes are is refused before it takes memory.
 */
final class ThriftBytes extends TTransport {
  /** What is taken out of a buffer at once: most page headers. */
  private static final int WINDOW_BYTES = 128;

  private final ByteBuffer rest; // what is not in the window yet
  private byte[] window;
  private int at;
  private final TConfiguration configuration = new TConfiguration();

  /** All of an array. */
  private ThriftBytes(byte[] bytes) {
    this.rest = ByteBuffer.allocate(0);
    this.window = bytes;
  }

  /** What remains of a buffer, whose position does not move. */
  private ThriftBytes(ByteBuffer bytes) {
    this.rest = bytes.duplicate();
    this.window = new byte[0];
  }

  /**
   * Reads a footer, that is the bytes before its length.
   *
   * @throws IOException if that is not what the bytes are
   */
  static FileMetaData fileMetaData(byte[] bytes) throws IOException {
    FileMetaData metadata = new FileMetaData();
    new ThriftBytes(bytes).read(metadata);
    return metadata;
  }

  /** As {@link #fileMetaData}. */
  static ColumnIndex columnIndex(byte[] bytes) throws IOException {
    ColumnIndex index = new ColumnIndex();
    new ThriftBytes(bytes).read(index);
    return index;
  }

  /** As {@link #fileMetaData}. */
  static OffsetIndex offsetIndex(byte[] bytes) throws IOException {
    OffsetIndex index = new OffsetIndex();
    new ThriftBytes(bytes).read(index);
    return index;
  }

  /**
   * Reads a page header that a buffer begins with at its position, which is then behind it.
   *
   * @throws IOException if there is none
   */
  static PageHeader pageHeader(ByteBuffer bytes) throws IOException {
    PageHeader header = new PageHeader();
    ThriftBytes transport = new ThriftBytes(bytes);
    transport.read(header);
    bytes.position(bytes.limit() - transport.remaining());
    return header;
  }

  private void read(TBase<?, ?> struct) throws IOException {
    int longest = remaining(); // an element of a list takes a byte at least
    try {
      struct.read(new InterningProtocol(new Protocol(this, longest)));
    } catch (TException | RuntimeException | StackOverflowError malformed) {
      throw new IOException(
          "a " + struct.getClass().getSimpleName() + " cannot be read: " + malformed.getMessage(),
          malformed);
    }
  }

  /** Gives binary values arrays of their own: parquet-java takes the whole array for the value. */
  private static final class Protocol extends TCompactProtocol {
    Protocol(TTransport transport, long longest) {
      super(transport, longest, longest);
    }

    @Override
    public ByteBuffer readBinary() throws TException {
      ByteBuffer value = super.readBinary();
      byte[] own = new byte[value.remaining()];
      value.get(own);
      return ByteBuffer.wrap(own);
    }
  }

  private int remaining() {
    return window.length - at + rest.remaining();
  }

  @Override
  public int read(byte[] into, int offset, int length) throws TTransportException {
    if (at == window.length && rest.hasRemaining()) {
      window = new byte[Math.min(WINDOW_BYTES, rest.remaining())];
      rest.get(window);
      at = 0;
    }
    int count = Math.min(length, window.length - at);
    if (count == 0 && length > 0) {
      throw new TTransportException(TTransportException.END_OF_FILE, "it ends too early");
    }
    System.arraycopy(window, at, into, offset, count);
    at += count;
    return count;
  }

  // ---- of the window, Thrift takes bytes itself

  @Override
  public byte[] getBuffer() {
    return window;
  }

  @Override
  public int getBufferPosition() {
    return at;
  }

  @Override
  public int getBytesRemainingInBuffer() {
    return window.length - at;
  }

  @Override
  public void consumeBuffer(int count) {
    at += count;
  }

  // ---- limits

  @Override
  public void checkReadBytesAvailable(long bytes) throws TTransportException {
    if (bytes > remaining()) {
      throw new TTransportException(
          TTransportException.END_OF_FILE,
          "it claims " + bytes + " bytes where " + remaining() + " are left");
    }
  }

  @Override
  public TConfiguration getConfiguration() {
    return configuration;
  }

  @Override
  public void updateKnownMessageSize(long size) {
    // what is left is known
  }

  // ---- what a transport has beside reading

  @Override
  public boolean isOpen() {
    return true;
  }

  @Override
  public void open() {}

  @Override
  public void close() {}

  @Override
  public void write(byte[] bytes, int offset, int length) {
    throw new UnsupportedOperationException("These bytes are read only");
  }
}
