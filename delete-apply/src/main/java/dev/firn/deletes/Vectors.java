package dev.firn.deletes;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.FieldVector;

/** What is true of vectors however they came to be. */
final class Vectors {
  private Vectors() {}

  /** Whether any value is null. A validity buffer that is absent stands for none. */
  static boolean hasNulls(FieldVector vector) {
    ArrowBuf validity = vector.getValidityBuffer();
    return validity != null && validity.capacity() > 0 && vector.getNullCount() > 0;
  }
}
