package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.List;
import java.util.function.Supplier;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.FixedSizeBinaryVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a leaf that is in no list or struct, decoded a few pages at a time: as many as give a
 * batch. Should a page turn out to need it, Arrow decodes the chunk.
 */
final class PagedRows implements LeafRows {
  private final ViewChunk chunk;
  private final long rows;
  private final int batchRows;
  private final long bytesMax;
  private final NativeMemory counted;
  private final Supplier<PageTools> tools;
  private final Supplier<DecodedRows> other;

  private @Nullable FieldVector vector; // null before the first page is decoded
  private long vectorRow; // its first
  private long end; // of what is given out
  private int nextPage;
  private long bytesExpected;
  private @Nullable DecodedRows decoded; // null as long as Arrow is not needed

  /**
   * @param rows of the row group
   * @param batchRows rows to give out at once, but for the last
   * @param bytesMax when fewer rows are given out: a page more is decoded only while those before
   *     it have less
   * @param counted told of the vectors
   * @param tools used by this thread alone
   * @param other all rows of the leaf, decoded by Arrow
   */
  PagedRows(
      ViewChunk chunk,
      long rows,
      int batchRows,
      long bytesMax,
      NativeMemory counted,
      Supplier<PageTools> tools,
      Supplier<DecodedRows> other) {
    this.chunk = chunk;
    this.rows = rows;
    this.batchRows = batchRows;
    this.bytesMax = bytesMax;
    this.counted = counted;
    this.tools = tools;
    this.other = other;
  }

  @Override
  public long firstRow() {
    return 0;
  }

  @Override
  public long endRow() {
    return rows;
  }

  @Override
  public long decodedEndRow() {
    return decoded == null ? end : decoded.decodedEndRow();
  }

  @Override
  public Stored.@Nullable Piece column(FileField column, long row) {
    if (!column.viewName().equals(chunk.leaf().path().get(0))) {
      return null;
    }
    if (decoded != null) {
      return decoded.column(column, row);
    }
    if (vector == null) {
      throw new IllegalStateException("Nothing is decoded");
    }
    return new Stored.Piece(vector, (int) (row - vectorRow));
  }

  @Override
  public void decode(BufferAllocator allocator) throws IOException {
    if (decoded != null) {
      decoded.decode(allocator);
      return;
    }
    long start = end;
    long filledEnd = vector == null ? 0 : vectorRow + vector.getValueCount();
    if (filledEnd - start < batchRows && nextPage < chunk.pages().size()) {
      try {
        fill(start, (int) (filledEnd - start), allocator);
      } catch (UnsupportedPageException unsupported) {
        decodeOtherwise(start, allocator);
        return;
      }
      filledEnd = vectorRow + (vector == null ? 0 : vector.getValueCount());
    }
    end = Math.min(filledEnd, start + batchRows);
  }

  /* Makes a vector of the rows that are left of the one before, and of pages. */
  private void fill(long start, int left, BufferAllocator allocator) throws IOException {
    List<ViewPages.Page> pages = chunk.pages();
    FieldVector before = vector;
    int from = before == null ? 0 : before.getValueCount() - left;
    long count = left;
    long bytes = 0;
    int endPage = nextPage;
    while (endPage < pages.size()
        && (count == left || count < batchRows && bytes < bytesMax)) { // pages may have no rows
      count += pages.get(endPage).values();
      bytes += pages.get(endPage).uncompressedBytes();
      endPage++;
    }
    FieldVector filled = newVector(allocator);
    try (VectorFill fill =
        new VectorFill(
            chunk.leaf(), Math.toIntExact(count), Math.max(bytes, bytesExpected), allocator)) {
      if (before != null && left > 0) {
        fill.add(before, from, left);
      }
      for (int page = nextPage; page < endPage; page++) {
        if (pages.get(page).values() > 0) {
          chunk.addTo(fill, pages.get(page), tools.get());
        }
      }
      bytesExpected = fill.byteCount();
      fill.loadInto(filled);
    } catch (Throwable failure) {
      filled.close();
      throw failure;
    }
    release();
    counted.count(bytes(filled));
    vector = filled;
    vectorRow = start;
    nextPage = endPage;
  }

  private FieldVector newVector(BufferAllocator allocator) {
    ViewSchema.Leaf leaf = chunk.leaf();
    String name = leaf.path().get(0);
    return switch (leaf.type()) {
      case BOOLEAN -> new BitVector(name, allocator);
      case INT32 -> new IntVector(name, allocator);
      case INT64 -> new BigIntVector(name, allocator);
      case FLOAT -> new Float4Vector(name, allocator);
      case DOUBLE -> new Float8Vector(name, allocator);
      case BYTE_ARRAY -> new VarBinaryVector(name, allocator);
      default -> new FixedSizeBinaryVector(name, allocator, leaf.width());
    };
  }

  private void decodeOtherwise(long start, BufferAllocator allocator) throws IOException {
    release();
    DecodedRows all = other.get();
    decoded = all;
    do {
      all.decode(allocator);
    } while (all.decodedEndRow() <= start);
  }

  private static long bytes(FieldVector vector) {
    long bytes = 0;
    for (ArrowBuf buffer : vector.getBuffers(false)) {
      bytes += buffer.capacity();
    }
    return bytes;
  }

  private void release() {
    if (vector != null) {
      counted.count(-bytes(vector));
      vector.close();
      vector = null;
    }
  }

  @Override
  public void close() throws IOException {
    release();
    if (decoded != null) {
      decoded.close();
    }
  }
}
