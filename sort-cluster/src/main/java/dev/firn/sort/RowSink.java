package dev.firn.sort;

import java.io.IOException;
import org.apache.arrow.vector.VectorSchemaRoot;

/** Takes sorted rows, batch by batch. */
@FunctionalInterface
public interface RowSink {
  /**
   * @param batch the next rows in order, all live; owned by the caller, valid during the call
   */
  void accept(VectorSchemaRoot batch) throws IOException;
}
