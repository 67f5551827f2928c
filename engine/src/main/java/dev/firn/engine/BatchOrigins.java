package dev.firn.engine;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.jspecify.annotations.Nullable;

/**
 * Where the rows of a batch came from: neighbours in one input, or one by one.
 *
 * @param first the origin of the first row; the others follow it, if {@code each} is null
 * @param each the origin of each row, null for neighbours; valid as long as the batch
 */
record BatchOrigins(long first, @Nullable BigIntVector each) {

  static BatchOrigins neighbours(int input, long firstPosition) {
    return new BatchOrigins(RowOrigins.origin(input, firstPosition), null);
  }

  static BatchOrigins each(BigIntVector origins) {
    return new BatchOrigins(0, origins);
  }

  /** The input of a batch of neighbours. */
  int input() {
    return RowOrigins.input(first);
  }

  void addTo(RowOrigins.Log log, long[] live, int rows) {
    if (each == null) {
      log.addNeighbours(first, live, rows);
    } else {
      log.addEach(each.getDataBuffer(), live, rows);
    }
  }

  /** A vector of the origins of {@code rows} rows, to be closed by the caller. */
  BigIntVector vector(String name, int rows, BufferAllocator memory) {
    BigIntVector vector = new BigIntVector(name, memory);
    try {
      vector.allocateNew(rows);
      ArrowBuf values = vector.getDataBuffer();
      if (each == null) {
        long at = values.memoryAddress();
        for (int row = 0; row < rows; row++) {
          MemoryUtil.putLong(at + ((long) row << 3), first + row);
        }
      } else {
        values.setBytes(0, each.getDataBuffer(), 0, (long) rows << 3);
      }
      vector.getValidityBuffer().setOne(0, (rows + 7L) >>> 3);
      vector.setValueCount(rows);
      return vector;
    } catch (Throwable failure) {
      vector.close();
      throw failure;
    }
  }

  /** The batch without its last column, which holds the origins. Shares the batch's vectors. */
  static VectorSchemaRoot withoutLast(VectorSchemaRoot batch) {
    int columns = batch.getFieldVectors().size() - 1;
    return new VectorSchemaRoot(
        batch.getSchema().getFields().subList(0, columns),
        batch.getFieldVectors().subList(0, columns),
        batch.getRowCount());
  }
}
