package dev.firn.io;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.util.List;
import org.apache.iceberg.io.FileIO;

/**
 * Reads many byte ranges of a file at once.
 *
 * <p>Files on S3 are read with parallel ranged GETs through the clients of the table's own {@code
 * S3FileIO}, so credentials, vended credentials and endpoints are those of the catalog. Local files
 * of a plain {@code HadoopFileIO} are copied between channels; every other {@code FileIO} is read
 * through its own streams. Thread-safe. Closing it ends the reader's threads and leaves the {@code
 * FileIO} open, which belongs to the table.
 */
public interface RangeReader extends AutoCloseable {

  /**
   * Bytes {@code [offset, offset + length)} of a file, to be written at {@code targetOffset} of
   * where they go to.
   */
  record Range(long offset, long length, long targetOffset) {
    public Range {
      if (offset < 0 || length < 0 || targetOffset < 0) {
        throw new IllegalArgumentException(
            "A range must not be negative but was offset="
                + offset
                + ", length="
                + length
                + ", targetOffset="
                + targetOffset);
      }
    }
  }

  /**
   * Reads the bytes {@code [offset, offset + length)} of a file of {@code fileLength} bytes.
   *
   * @throws IOException if they cannot be read whole; the message names the file
   */
  byte[] read(String location, long fileLength, long offset, int length) throws IOException;

  /**
   * Reads all ranges of a file and writes each to its place in {@code target}, in any order and in
   * parallel. On return all bytes are there.
   *
   * @throws IOException if a range cannot be read whole; the message names the file
   */
  void read(String location, long fileLength, List<Range> ranges, FileChannel target)
      throws IOException;

  /** Bytes read so far, for the report. */
  long bytesRead();

  @Override
  void close();

  /**
   * A reader over a table's FileIO.
   *
   * @param requestsMax GETs in flight at once, over all files
   */
  static RangeReader over(FileIO io, int requestsMax) {
    throw new UnsupportedOperationException("not built");
  }
}
