package dev.firn.engine.parquet;

import java.util.List;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.FileMetaData;
import org.jspecify.annotations.Nullable;

/**
 * Where the pages of a view are.
 *
 * @param metadata the footer of the view
 * @param chunks one for each leaf, in the order of the footer
 */
record ViewPages(FileMetaData metadata, List<Chunk> chunks) {

  /**
   * The pages of a column chunk.
   *
   * @param dictionary null if it has none
   * @param data the data pages, each beginning where the one before ends
   * @param understood whether these are all: false if a header cannot be read, or there is a page
   *     where none of its kind should be
   */
  record Chunk(@Nullable Page dictionary, List<Page> data, boolean understood) {}

  /**
   * A page.
   *
   * @param position of its header in the view
   * @param bytes with its header, as it is stored
   * @param uncompressedBytes without its header
   * @param values the nulls among them too; of a dictionary, its entries
   * @param rows -1 if its header does not tell
   */
  record Page(
      long position,
      long bytes,
      long uncompressedBytes,
      long values,
      long rows,
      @Nullable Encoding encoding) {
    static final long ROWS_UNKNOWN = -1;

    long end() {
      return position + bytes;
    }
  }
}
