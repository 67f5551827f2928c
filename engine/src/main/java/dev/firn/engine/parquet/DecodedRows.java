package dev.firn.engine.parquet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
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

/**
 * Rows of a view, all of a row group's or some, of all its leaves or some, which Arrow decodes at
 * once.
 */
final class DecodedRows implements LeafRows {
  /* Arrow decodes all of a file's row group and then cuts it. Cutting it here instead costs no copy,
  for its interface to Java copies every batch whose rows are not the first of what it decoded. */
  private static final long ROWS_AT_ONCE_MAX = 1 << 30;

  /** Makes the Parquet file of the rows, and of no others. */
  @FunctionalInterface
  interface Contents {
    Path file() throws IOException;
  }

  private final ParquetSource source;
  private final SourceFile.RowGroup group;
  private final long firstRow;
  private final long rows;
  private final Contents contents;
  private final Deque<AutoCloseable> scan = new ArrayDeque<>();
  private final Map<String, FieldVector> columns = new HashMap<>();
  private @Nullable ArrowReader reader;

  /** Rows that were decoded before those that are now. */
  private long rowsBefore = 0;

  private int decodedRows = 0;

  /** Holds the size of the decoded rows against the allocator of the batches. */
  private @Nullable ArrowBuf charge;

  /**
   * @param firstRow the place of the first row in the row group
   * @param contents called at most once; this deletes the file
   */
  DecodedRows(
      ParquetSource source,
      SourceFile.RowGroup group,
      long firstRow,
      long rows,
      Contents contents) {
    this.source = source;
    this.group = group;
    this.firstRow = firstRow;
    this.rows = rows;
    this.contents = contents;
  }

  @Override
  public long firstRow() {
    return firstRow;
  }

  @Override
  public long endRow() {
    return firstRow + rows;
  }

  @Override
  public long decodedEndRow() {
    return firstRow + rowsBefore + decodedRows;
  }

  @Override
  public Stored.@Nullable Piece column(FileField column, long row) {
    FieldVector vector = columns.get(column.viewName());
    return vector == null ? null : new Stored.Piece(vector, (int) (row - firstRow - rowsBefore));
  }

  @Override
  public void decode(BufferAllocator allocator) throws IOException {
    rowsBefore += decodedRows;
    decodedRows = 0;
    release();
    try {
      if (reader == null) {
        reader = open();
      }
      while (decodedRows == 0 && reader.loadNextBatch()) {
        VectorSchemaRoot decoded = reader.getVectorSchemaRoot();
        decodedRows = decoded.getRowCount();
        charge = SharedMemory.charge(decodedBytes(decoded), allocator);
        decoded.getFieldVectors().forEach(vector -> columns.put(vector.getName(), vector));
      }
    } catch (RuntimeException failure) {
      throw undecodable(failure);
    }
    long decoded = rowsBefore + decodedRows;
    if (decoded > rows || decodedRows == 0) {
      throw ParquetFooter.corrupt(source.location(), wrongRows(decoded));
    }
    if (decoded == rows) {
      // What was read to be decoded is not needed any more; what was decoded is its own.
      closeScan();
    }
  }

  private String wrongRows(long decoded) {
    String start = "row group " + group.ordinal() + " holds ";
    return rows == group.rows()
        ? start + decoded + " rows, its footer says " + rows
        : start + decoded + " rows from row " + firstRow + " on where its pages say " + rows;
  }

  private ArrowReader open() throws IOException {
    Path file = contents.file();
    scan.push(() -> Files.deleteIfExists(file));
    NativeMemoryPool pool = source.nativeMemory().pool();
    String uri = file.toUri().toString();
    DatasetFactory factory =
        new FileSystemDatasetFactory(
            source.nativeMemory().imports(), pool, FileFormat.PARQUET, uri);
    scan.push(factory);
    Dataset dataset = factory.finish();
    scan.push(dataset);
    // One row more than there may be, so that none is overlooked.
    Scanner scanner = dataset.newScan(new ScanOptions(Math.min(rows + 1, ROWS_AT_ONCE_MAX)));
    scan.push(scanner);
    return scanner.scanBatches();
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

  private static long decodedBytes(VectorSchemaRoot decoded) {
    long bytes = 0;
    for (FieldVector vector : decoded.getFieldVectors()) {
      for (ArrowBuf buffer : vector.getBuffers(false)) {
        bytes += buffer.capacity();
      }
    }
    return bytes;
  }

  private void release() {
    columns.clear();
    if (charge != null) {
      charge.close();
      charge = null;
    }
  }

  private void closeScan() throws IOException {
    Throwable failure = null;
    while (!scan.isEmpty()) {
      try {
        scan.pop().close();
      } catch (Exception e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    if (failure instanceof IOException e) {
      throw e;
    } else if (failure instanceof RuntimeException e) {
      throw e;
    } else if (failure != null) {
      throw new IllegalStateException("Cannot close a view of " + source.location(), failure);
    }
  }

  @Override
  public void close() throws IOException {
    release();
    ArrowReader open = reader;
    reader = null;
    try {
      if (open != null) {
        open.close();
      }
    } finally {
      closeScan();
    }
  }
}
