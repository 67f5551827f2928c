package dev.firn.io;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.List;
import org.apache.iceberg.io.FileIO;
import org.jspecify.annotations.Nullable;

/**
 * Reads many byte ranges of files at once.
 *
 * <p>How a file is read depends on the FileIO and the location:
 *
 * <ul>
 *   <li>S3, through {@code S3FileIO} itself or {@code ResolvingFileIO}: parallel ranged GETs
 *       through the synchronous clients of the FileIO, chosen by location, so that credentials,
 *       vended credentials per prefix, remote signing, endpoints, retries and the HTTP client are
 *       those of the catalog. Access point mappings and SSE-C keys ({@code s3.sse.type=custom})
 *       apply. The S3 analytics accelerator and the CRT client are not used, requester-pays buckets
 *       are not supported (S3FileIO does not either), and the FileIO's metrics do not count these
 *       reads. The HTTP client should allow as many connections as there are requests ({@code
 *       http-client.apache.max-connections}, 50 unless set).
 *   <li>Local files of {@code HadoopFileIO}, also inside {@code ResolvingFileIO}: copied between
 *       channels. Checksum side files are not looked at.
 *   <li>Everything else, {@code EncryptingFileIO} among it: through the FileIO's own streams, a few
 *       at once. What is read is the file as stored: nothing is decrypted.
 * </ul>
 *
 * <p>Large ranges are cut into parts, near ones are fetched together. Reads of S3 that fail on the
 * way are resumed where they broke off, a bounded number of times; what retrying cannot mend
 * (missing file, no access, range out of bounds) is not tried again.
 *
 * <p>Thread-safe. Closing it ends the reader's threads, fails reads in progress and leaves the
 * {@code FileIO} open, which belongs to the table.
 */
public interface RangeReader extends AutoCloseable {

  /**
   * Bytes {@code [offset, offset + length)} of a file, to be written at {@code targetOffset} of
   * where they go to. All three are not negative and neither end passes {@code Long.MAX_VALUE}.
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
      if (offset > Long.MAX_VALUE - length || targetOffset > Long.MAX_VALUE - length) {
        throw new IllegalArgumentException(
            "A range must end below 2^63 but was offset="
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
   * @throws java.io.FileNotFoundException if there is no such file
   * @throws ShortFileException if the file ends before the range does
   * @throws java.io.InterruptedIOException if the calling thread is interrupted, which it still is
   *     then
   * @throws IOException if they cannot be read whole; the message names file and range
   */
  byte[] read(String location, long fileLength, long offset, int length) throws IOException;

  /**
   * Reads all ranges of a file of {@code fileLength} bytes and writes each to its place in {@code
   * target}, in any order and in parallel. On return all bytes are there, and once it has returned
   * or thrown, {@code target} is not touched any more, nor its position ever. After an error the
   * content of the places is undefined; an interrupt does not close the target.
   *
   * @param ranges may overlap in the file, not in the target
   * @throws java.io.FileNotFoundException if there is no such file
   * @throws ShortFileException if the file ends before the range does
   * @throws java.io.InterruptedIOException if the calling thread is interrupted, which it still is
   *     then
   * @throws TargetException if the target cannot be written
   * @throws IOException if a range cannot be read whole; the message names file and range
   */
  void read(String location, long fileLength, List<Range> ranges, FileChannel target)
      throws IOException;

  /** Takes bytes that are read. */
  @FunctionalInterface
  interface Target {
    /**
     * Takes all bytes from the position of {@code part} to its limit. Called by several threads at
     * once, in any order, for places that do not overlap.
     *
     * @param part valid during the call
     * @param at the place of its first byte, by the target offsets of the ranges
     */
    void write(ByteBuffer part, long at) throws IOException;

    /**
     * Memory that bytes can be read into without a detour, if the target has such: they are then
     * not given to {@link #write}. Called as {@code write} is.
     *
     * @param at the place of the next byte that is read
     * @return a direct buffer of the target from that place on, not empty, as far as places are in
     *     one piece; null if there is none
     */
    default @Nullable ByteBuffer room(long at) {
      return null;
    }
  }

  /**
   * Reads all ranges of a file of {@code fileLength} bytes and hands them over in parts, in any
   * order and in parallel. On return all parts have been taken, and once it has returned or thrown,
   * {@code target} is not called any more.
   *
   * @param ranges may overlap in the file, not in the target
   * @throws java.io.FileNotFoundException if there is no such file
   * @throws ShortFileException if the file ends before the range does
   * @throws java.io.InterruptedIOException if the calling thread is interrupted, which it still is
   *     then
   * @throws IOException if a range cannot be read whole; the message names file and range
   */
  void read(String location, long fileLength, List<Range> ranges, Target target) throws IOException;

  /** Bytes taken from files so far, those of gaps and repeated reads included; for the report. */
  long bytesRead();

  /** Read requests made so far, one per GET; the SDK's own retries are not counted. */
  long requests();

  /** Harmless when called again. */
  @Override
  void close();

  /**
   * A reader over a table's FileIO.
   *
   * @param requestsMax requests in flight at once, over all files and callers; positive
   */
  static RangeReader over(FileIO io, int requestsMax) {
    return new ParallelRangeReader(io, requestsMax, Backoff.DEFAULT);
  }
}
