package dev.firn.sort;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;

/**
 * Copies chosen rows of Arrow vectors into new vectors, buffer by buffer and bit-exact, for all
 * types of the physical layout at any depth: fixed and variable width, booleans, structs, lists and
 * maps. Absent validity buffers, offsets that do not start at 0 and null slots with anything under
 * them are all right. Null strings and lists become empty ones under a null.
 *
 * <p>Results belong to the caller, who closes them; their buffers come from the allocator given. If
 * it is exhausted, Arrow's {@code OutOfMemoryException} is thrown and nothing stays allocated.
 */
public final class VectorGather {

  private VectorGather() {}

  /**
   * The numbers of the live rows, ascending.
   *
   * @param live bit 0 of word 0 is row 0; bits past the last row are clear
   * @param liveRows how many bits are set
   * @param rows how many rows there are
   * @throws IllegalArgumentException if the numbers do not agree with the bits
   */
  public static int[] liveRows(long[] live, int liveRows, int rows) {
    int set = 0;
    for (long word : live) {
      set += Long.bitCount(word);
    }
    int[] numbers = new int[set];
    int count = 0;
    for (int word = 0; word < live.length; word++) {
      for (long bits = live[word]; bits != 0; bits &= bits - 1) {
        numbers[count++] = (word << 6) + Long.numberOfTrailingZeros(bits);
      }
    }
    if (set != liveRows || (set > 0 && numbers[set - 1] >= rows)) {
      throw new IllegalArgumentException(
          set
              + " rows are marked live, of which the last should be below "
              + rows
              + ", and "
              + liveRows
              + " should be");
    }
    return numbers;
  }

  /**
   * Copies rows of one vector.
   *
   * @param rows row numbers in any order, repeats allowed
   * @param count how many entries of {@code rows} count
   */
  public static FieldVector gather(
      FieldVector source, int[] rows, int count, BufferAllocator allocator) {
    checkRows(rows, count, source.getValueCount());
    return ColumnGather.of(List.of(source)).gather(Selection.ofRows(rows, count), allocator);
  }

  /**
   * Copies rows of a batch, all columns. See {@link #gather(FieldVector, int[], int,
   * BufferAllocator)}.
   */
  public static VectorSchemaRoot gather(
      VectorSchemaRoot source, int[] rows, int count, BufferAllocator allocator) {
    checkRows(rows, count, source.getRowCount());
    Selection selection = Selection.ofRows(rows, count);
    List<FieldVector> vectors =
        gather(columnsOf(List.of(source.getFieldVectors())), selection, allocator);
    return root(vectors, count);
  }

  /** Copies the live rows of a batch, all columns. */
  public static VectorSchemaRoot gather(
      VectorSchemaRoot source, long[] live, int liveRows, BufferAllocator allocator) {
    int[] rows = liveRows(live, liveRows, source.getRowCount());
    return gather(source, rows, liveRows, allocator);
  }

  /** One gather for each column of batches of the same schema. */
  static ColumnGather[] columnsOf(List<List<FieldVector>> batches) {
    int width = batches.get(0).size();
    ColumnGather[] columns = new ColumnGather[width];
    for (int column = 0; column < width; column++) {
      List<FieldVector> sources = new ArrayList<>(batches.size());
      for (List<FieldVector> batch : batches) {
        sources.add(batch.get(column));
      }
      columns[column] = ColumnGather.of(sources);
    }
    return columns;
  }

  /** The rows of all columns; closes what it has made when a column fails. */
  static List<FieldVector> gather(
      ColumnGather[] columns, Selection rows, BufferAllocator allocator) {
    List<FieldVector> vectors = new ArrayList<>(columns.length);
    try {
      for (ColumnGather column : columns) {
        vectors.add(column.gather(rows, allocator));
      }
      return vectors;
    } catch (Throwable failure) {
      vectors.forEach(FieldVector::close);
      throw failure;
    }
  }

  static VectorSchemaRoot root(List<FieldVector> vectors, int rows) {
    return new VectorSchemaRoot(
        vectors.stream().map(FieldVector::getField).toList(), vectors, rows);
  }

  private static void checkRows(int[] rows, int count, int valueCount) {
    if (count > rows.length) {
      throw new IllegalArgumentException(count + " rows wanted of " + rows.length + " numbers");
    }
    for (int i = 0; i < count; i++) {
      if (rows[i] < 0 || rows[i] >= valueCount) {
        throw new IllegalArgumentException(
            "Row " + rows[i] + " does not exist: the vector has " + valueCount + " rows");
      }
    }
  }
}
