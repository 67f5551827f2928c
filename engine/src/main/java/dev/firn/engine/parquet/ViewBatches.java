package dev.firn.engine.parquet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.arrow.dataset.file.FileFormat;
import org.apache.arrow.dataset.file.FileSystemDatasetFactory;
import org.apache.arrow.dataset.jni.NativeMemoryPool;
import org.apache.arrow.dataset.scanner.ScanOptions;
import org.apache.arrow.dataset.scanner.Scanner;
import org.apache.arrow.dataset.source.Dataset;
import org.apache.arrow.dataset.source.DatasetFactory;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.jspecify.annotations.Nullable;

/** The batches of one view. */
final class ViewBatches implements RowBatches {
  /* Arrow decodes the whole row group and then cuts it. Cutting it here instead costs no copy, for
  its interface to Java copies every batch whose rows are not the first of what it decoded. */
  private static final int ROWS_AT_ONCE_MAX = 1 << 30;

  private final ParquetSource source;
  private final SourceFile.RowGroup group;
  private final BufferAllocator allocator;
  private final @Nullable ArrowReader reader;
  private final VectorSchemaRoot batch;
  private final Deque<AutoCloseable> open = new ArrayDeque<>();

  /** Rows of the row group in the batches before the decoded rows. */
  private long rowsBefore = 0;

  private int decodedRows = 0;
  private int nextRow = 0;

  /** Holds the size of the decoded rows against the allocator. */
  private ArrowBuf charge;

  private long firstPosition;
  private boolean closed = false;

  ViewBatches(
      ParquetSource source,
      SourceFile.RowGroup group,
      @Nullable Path view,
      BufferAllocator allocator)
      throws IOException {
    this.source = source;
    this.group = group;
    this.allocator = allocator;
    this.firstPosition = group.firstPosition();
    this.charge = allocator.getEmpty();
    try {
      this.reader = view == null ? null : open(view);
      this.batch = VectorSchemaRoot.create(source.layout(), allocator);
      open.push(batch);
      open.push(() -> charge.close());
    } catch (Throwable failure) {
      closeAll(failure);
      throw failure;
    }
    if (view != null) {
      open.addLast(() -> Files.deleteIfExists(view));
    }
  }

  private ArrowReader open(Path view) {
    try {
      NativeMemoryPool pool = source.nativeMemory().pool();
      String uri = view.toUri().toString();
      DatasetFactory factory =
          new FileSystemDatasetFactory(
              source.nativeMemory().imports(), pool, FileFormat.PARQUET, uri);
      open.push(factory);
      Dataset dataset = factory.finish();
      open.push(dataset);
      Scanner scanner = dataset.newScan(new ScanOptions(Math.min(group.rows(), ROWS_AT_ONCE_MAX)));
      open.push(scanner);
      ArrowReader batches = scanner.scanBatches();
      open.push(batches);
      return batches;
    } catch (RuntimeException failure) {
      throw undecodable(failure);
    }
  }

  /** What a failure of the decoder means: wrong bytes, if not too little memory or ability. */
  private RuntimeException undecodable(RuntimeException failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      String message = String.valueOf(cause.getMessage());
      if (cause instanceof OutOfMemoryException
          || message.contains("malloc of size")
          || message.contains("realloc of size")) {
        return new OutOfMemoryException(
            "Cannot decode row group "
                + group.ordinal()
                + " of "
                + source.location()
                + " in the memory there is: "
                + message
                + ". Nothing was changed.",
            failure);
      }
    }
    if (String.valueOf(failure.getMessage()).contains("not implemented")) {
      // Also if a nested column has more than 2 GiB of strings in one row group.
      return new UnsupportedFileException(
          "Cannot decode row group "
              + group.ordinal()
              + " of "
              + source.location()
              + ", which needs what Arrow does not have: "
              + failure.getMessage()
              + ". Nothing was changed.",
          failure);
    }
    return new CorruptFileException(
        "Cannot decode row group "
            + group.ordinal()
            + " of "
            + source.location()
            + ": "
            + failure.getMessage()
            + ". Nothing was changed.",
        failure);
  }

  @Override
  public boolean next() throws IOException {
    if (nextRow == decodedRows && !decode()) {
      return false;
    }
    int length = Math.min(source.batchRows(), decodedRows - nextRow);
    firstPosition = group.firstPosition() + rowsBefore + nextRow;
    VectorSchemaRoot decoded = reader == null ? null : reader.getVectorSchemaRoot();
    source.projection().read(decoded, nextRow, length, firstPosition, batch);
    nextRow += length;
    return true;
  }

  /** Decodes more rows; false when there are no more, having checked that none are missing. */
  private boolean decode() throws IOException {
    rowsBefore += decodedRows;
    decodedRows = 0;
    charge.close();
    charge = allocator.getEmpty();
    nextRow = 0;
    if (reader == null) {
      decodedRows = (int) Math.min(group.rows() - rowsBefore, ROWS_AT_ONCE_MAX);
      return decodedRows > 0;
    }
    try {
      while (decodedRows == 0 && reader.loadNextBatch()) {
        decodedRows = reader.getVectorSchemaRoot().getRowCount();
        charge = SharedMemory.charge(decodedBytes(reader.getVectorSchemaRoot()), allocator);
      }
    } catch (RuntimeException failure) {
      throw undecodable(failure);
    }
    long decoded = rowsBefore + decodedRows;
    if (decoded > group.rows() || decodedRows == 0 && decoded < group.rows()) {
      throw ParquetFooter.corrupt(
          source.location(),
          "row group "
              + group.ordinal()
              + " holds "
              + decoded
              + " rows, its footer says "
              + group.rows());
    }
    return decodedRows > 0;
  }

  private static long decodedBytes(VectorSchemaRoot decoded) {
    long bytes = 0;
    for (FieldVector vector : decoded.getFieldVectors()) {
      for (ArrowBuf buffer : vector.getBuffers(false)) {
        bytes += buffer.capacity();
      }
    }
    return bytes;
  }

  @Override
  public VectorSchemaRoot batch() {
    return batch;
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
    if (!closed) {
      closed = true;
      Throwable failure = closeAll(null);
      if (failure instanceof IOException e) {
        throw e;
      } else if (failure instanceof RuntimeException e) {
        throw e;
      } else if (failure != null) {
        throw new IllegalStateException("Cannot close a view of " + source.location(), failure);
      }
    }
  }

  private @Nullable Throwable closeAll(@Nullable Throwable first) {
    Throwable failure = first;
    for (AutoCloseable resource : open) {
      try {
        resource.close();
      } catch (Exception e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    open.clear();
    return failure;
  }
}
