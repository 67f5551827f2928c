package dev.firn.engine.parquet;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;

/** A file in a format that is read row by row from its beginning, its schema read. Thread-safe. */
interface StreamedFile {

  /** The number of rows of a file that does not say it. */
  long ROWS_UNKNOWN = -1;

  String location();

  /** The fields that have ids and can be read, in file order, in the types that the file has. */
  List<Types.NestedField> fields();

  /** The number of rows, or {@link #ROWS_UNKNOWN}. */
  long rows();

  /**
   * Opens the rows.
   *
   * @param wanted some of {@link #fields}, in their order
   * @param rows a batch of these columns, to append to
   */
  Rows open(Schema wanted, Appender.Rows rows) throws IOException;

  /** The rows of a file in file order. */
  interface Rows extends Closeable {

    /**
     * Appends the next row.
     *
     * @return false after the last row
     */
    boolean next() throws IOException;
  }
}
