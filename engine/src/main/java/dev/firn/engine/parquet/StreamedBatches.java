package dev.firn.engine.parquet;

import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.jspecify.annotations.Nullable;

/** The batches of a file that is streamed. */
final class StreamedBatches implements RowBatches {

  /** A batch ends early once its values have so many bytes. */
  private static final long BATCH_BYTES = 32L << 20;

  private final StreamedSource source;
  private final BufferAllocator allocator;
  private final VectorSchemaRoot decoded;
  private VectorSchemaRoot batch;
  private final Appender.Rows appender;
  private final StreamedFile.@Nullable Rows rows;
  private long nextPosition = 0;
  private long firstPosition = 0;
  private boolean ended = false;
  private boolean closed = false;

  StreamedBatches(StreamedSource source, BufferAllocator allocator) throws IOException {
    this.source = source;
    this.allocator = allocator;
    this.decoded = VectorSchemaRoot.create(PhysicalLayout.of(source.wanted()), allocator);
    this.batch = VectorSchemaRoot.create(PhysicalLayout.of(source.columns()), allocator);
    this.appender = new Appender.Rows(decoded);
    this.rows =
        source.wanted().columns().isEmpty() && source.file().rows() != StreamedFile.ROWS_UNKNOWN
            ? null // all columns are filled in, as often as the footer says
            : open();
  }

  private StreamedFile.Rows open() throws IOException {
    try {
      return source.file().open(source.wanted(), appender);
    } catch (RuntimeException failure) {
      throw undecodable(failure);
    }
  }

  private RuntimeException undecodable(RuntimeException cause) throws IOException {
    for (Throwable t = cause; t != null; t = t.getCause()) {
      if (t instanceof IOException e && !(t instanceof EOFException)) {
        throw e;
      } else if (t instanceof OutOfMemoryException || t instanceof CorruptFileException) {
        return (RuntimeException) t;
      }
    }
    return new CorruptFileException(
        "Cannot decode position "
            + nextPosition
            + " of "
            + source.location()
            + ": "
            + cause.getMessage()
            + ". Nothing was changed.",
        cause);
  }

  @Override
  public boolean next() throws IOException {
    firstPosition = nextPosition;
    int length = rows == null ? fill() : decode(rows);
    if (length == 0) {
      return false;
    }
    source.projection().read(this::stored, length, firstPosition, batch);
    return true;
  }

  private Stored stored(FileField column) {
    return Stored.of(decoded.getVector(column.viewName()), 0);
  }

  private int fill() {
    int length = (int) Math.min(source.batchRows(), source.rows() - nextPosition);
    nextPosition += length;
    return length;
  }

  /** Decodes rows; none when there are no more, having checked that none are missing. */
  private int decode(StreamedFile.Rows from) throws IOException {
    appender.begin();
    int length = 0;
    try {
      while (!ended && length < source.batchRows() && appender.bytes() < BATCH_BYTES) {
        if (from.next()) {
          length++;
          nextPosition++;
        } else {
          ended = true;
        }
      }
      appender.end(length);
    } catch (EOFException cut) {
      throw undecodable(new UncheckedIOException(cut));
    } catch (RuntimeException failure) {
      throw undecodable(failure);
    }
    if (nextPosition > source.rows() || ended && nextPosition < source.rows()) {
      throw source.wrongCount("it holds " + (ended ? "" : "at least ") + nextPosition);
    }
    return length;
  }

  @Override
  public VectorSchemaRoot batch() {
    return batch;
  }

  @Override
  public VectorSchemaRoot take() {
    VectorSchemaRoot taken = batch;
    batch = VectorSchemaRoot.create(PhysicalLayout.of(source.columns()), allocator);
    return taken;
  }

  @Override
  public void refuseNulls(long[] live) {
    source.projection().refuseNulls(batch, firstPosition, live);
  }

  @Override
  public long firstPosition() {
    return firstPosition;
  }

  @Override
  public void close() throws IOException {
    if (closed) {
      return;
    }
    closed = true;
    try (decoded;
        rows) {
      batch.close();
      appender.begin();
    }
  }
}
