package dev.firn.engine.parquet;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;
import org.jspecify.annotations.Nullable;

/**
 * The decoded values of one field of a file, from a row on. Those of a nested field can be in
 * several vectors, each with some of the leaves below it and its own place for the row, for leaves
 * whose pages begin at other rows are decoded apart.
 */
final class Stored {
  /** Values of a field: {@code start} is where in the vector the first row is. */
  record Piece(FieldVector vector, int start) {}

  /** The decoded rows of a file, from a row on. */
  @FunctionalInterface
  interface Rows {
    /** The values of a column of the file. */
    Stored column(FileField column);
  }

  /** Each tells, by itself, where the field is null and how long its lists are. */
  private final List<Piece> pieces;

  Stored(List<Piece> pieces) {
    if (pieces.isEmpty()) {
      throw new IllegalStateException("A view lacks a field that was asked for");
    }
    this.pieces = pieces;
  }

  static Stored of(FieldVector vector, int start) {
    return new Stored(List.of(new Piece(vector, start)));
  }

  FieldVector vector() {
    return pieces.get(0).vector();
  }

  int start() {
    return pieces.get(0).start();
  }

  /** The values of a child of a struct. */
  Stored child(FileField field) {
    List<Piece> children = new ArrayList<>(pieces.size());
    for (Piece piece : pieces) {
      FieldVector child = ((StructVector) piece.vector()).getChild(field.viewName());
      if (child != null) {
        children.add(new Piece(child, piece.start()));
      }
    }
    return new Stored(children);
  }

  /**
   * The elements of lists.
   *
   * @param elements how many there are in the rows that are read
   */
  Stored elements(int length, int elements) {
    List<Piece> below = new ArrayList<>(pieces.size());
    for (Piece piece : pieces) {
      ArrowBuf offsets = piece.vector().getOffsetBuffer();
      int first = offsets.getInt((long) piece.start() * Integer.BYTES);
      int end = offsets.getInt(((long) piece.start() + length) * Integer.BYTES);
      if (end - first != elements) {
        throw new ArithmeticException(
            "leaves of a list hold " + elements + " and " + (end - first) + " elements");
      }
      below.add(new Piece(((ListVector) piece.vector()).getDataVector(), first));
    }
    return new Stored(below);
  }

  static Stored present(@Nullable Stored source) {
    if (source == null) {
      throw new IllegalStateException("A view lacks a field that was asked for");
    }
    return source;
  }
}
