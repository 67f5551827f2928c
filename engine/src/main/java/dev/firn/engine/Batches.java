package dev.firn.engine;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.util.TransferPair;

/** Batches on their way from one thread to another. */
final class Batches {
  private Batches() {}

  /** What a batch takes in memory, about. */
  static long bytes(VectorSchemaRoot batch) {
    long bytes = 0;
    for (FieldVector vector : batch.getFieldVectors()) {
      bytes += vector.getBufferSize();
    }
    return bytes;
  }

  /** The rows in a batch of the caller's own, without a copy. Nothing is left in the other. */
  static VectorSchemaRoot moved(VectorSchemaRoot batch, BufferAllocator memory) {
    List<FieldVector> vectors = new ArrayList<>();
    try {
      for (FieldVector vector : batch.getFieldVectors()) {
        TransferPair pair = vector.getTransferPair(memory);
        pair.transfer();
        vectors.add((FieldVector) pair.getTo());
      }
      return new VectorSchemaRoot(batch.getSchema().getFields(), vectors, batch.getRowCount());
    } catch (Throwable failure) {
      vectors.forEach(FieldVector::close);
      throw failure;
    }
  }
}
