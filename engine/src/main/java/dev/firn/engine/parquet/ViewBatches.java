package dev.firn.engine.parquet;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;

/** The batches of one view. */
final class ViewBatches implements RowBatches {
  /** Of batches that nothing is decoded for. */
  private static final int ROWS_MAX = 1 << 30;

  private final ParquetSource source;
  private final SourceFile.RowGroup group;
  private final Closeable view;
  private final BufferAllocator allocator;
  private VectorSchemaRoot batch;

  /** What is to be decoded, by first row. */
  private final Deque<LeafRows> ahead;

  /** What holds the next row; together all leaves that are wanted. */
  private final List<LeafRows> current = new ArrayList<>();

  /** The row of the row group that the next batch begins with. */
  private long nextRow = 0;

  private long firstPosition;
  private boolean closed = false;

  /**
   * @param decoded by first row; for each row of the row group and each leaf there is one. Empty if
   *     nothing of the file is wanted
   * @param view closed with this
   */
  ViewBatches(
      ParquetSource source,
      SourceFile.RowGroup group,
      List<LeafRows> decoded,
      Closeable view,
      BufferAllocator allocator) {
    this.source = source;
    this.group = group;
    this.view = view;
    this.allocator = allocator;
    this.ahead = new ArrayDeque<>(decoded);
    this.firstPosition = group.firstPosition();
    this.batch = VectorSchemaRoot.create(source.layout(), allocator);
  }

  @Override
  public boolean next() throws IOException {
    if (nextRow == group.rows()) {
      return false;
    }
    decode();
    long end = Math.min(group.rows(), nextRow + ROWS_MAX);
    for (LeafRows rows : current) {
      end = Math.min(end, rows.decodedEndRow());
    }
    int length = (int) Math.min(source.batchRows(), end - nextRow);
    firstPosition = group.firstPosition() + nextRow;
    source.projection().read(this::stored, length, firstPosition, batch);
    nextRow += length;
    return true;
  }

  /** Decodes what the next row needs, having released what it does not. */
  private void decode() throws IOException {
    boolean released = false;
    for (Iterator<LeafRows> all = current.iterator(); all.hasNext(); ) {
      LeafRows rows = all.next();
      if (rows.decodedEndRow() == nextRow) {
        if (!released) {
          batch.clear(); // shares memory with them
          released = true;
        }
        if (rows.endRow() == nextRow) {
          all.remove();
          rows.close();
        } else {
          rows.decode(allocator);
        }
      }
    }
    while (!ahead.isEmpty() && ahead.getFirst().firstRow() == nextRow) {
      LeafRows rows = ahead.removeFirst();
      current.add(rows);
      rows.decode(allocator);
    }
  }

  private Stored stored(FileField column) {
    List<Stored.Piece> pieces = new ArrayList<>(1);
    for (LeafRows rows : current) {
      Stored.Piece piece = rows.column(column, nextRow);
      if (piece != null) {
        pieces.add(piece);
      }
    }
    return new Stored(pieces);
  }

  @Override
  public VectorSchemaRoot batch() {
    return batch;
  }

  @Override
  public VectorSchemaRoot take() {
    VectorSchemaRoot taken = batch;
    batch = VectorSchemaRoot.create(source.layout(), allocator);
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
    batch.close();
    Throwable failure = null;
    for (LeafRows rows : current) {
      try {
        rows.close();
      } catch (IOException | RuntimeException e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    current.clear();
    try {
      view.close();
    } catch (IOException | RuntimeException e) {
      if (failure == null) {
        failure = e;
      } else {
        failure.addSuppressed(e);
      }
    }
    if (failure instanceof IOException e) {
      throw e;
    } else if (failure instanceof RuntimeException e) {
      throw e;
    }
  }
}
