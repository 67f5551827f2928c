package dev.firn.engine.parquet;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;

/**
 * A data file or delete file, of any format, whose schema is read and whose columns are mapped. It
 * is read one row group at a time. Thread-safe; holds no resource but memory.
 */
public abstract sealed class SourceFile implements Closeable
    permits ParquetSource, SpliceSource, StreamedSource {
  /**
   * A row group of the file. A file in a format that is read from its beginning is all one.
   *
   * @param ordinal counts from 0, empty row groups included
   * @param firstPosition the position in the file of its first row
   * @param compressedBytes what reading the wanted columns fetches
   * @param uncompressedBytes the size of the wanted columns' pages once decompressed; of a file
   *     that does not tell, its size
   * @param decodedBytes about what its rows take in memory, all of them
   */
  public record RowGroup(
      int ordinal,
      long firstPosition,
      long rows,
      long compressedBytes,
      long uncompressedBytes,
      long decodedBytes) {

    /**
     * What decoding it whole takes: the fetched pages beside the rows; a tenth more for what is
     * decompressed on the way.
     */
    public long decodingBytes() {
      return compressedBytes + decodedBytes + decodedBytes / 10;
    }
  }

  /** Whether a row group is decoded as a whole; else batch by batch, in little memory. */
  public abstract boolean decodesWhole();

  public abstract String location();

  /** The row groups that have rows, in file order. */
  public abstract List<RowGroup> rowGroups();

  /** The rows of the file, deleted ones included; as many as the table's metadata says. */
  public abstract long rows();

  /** Fetches and opens a row group: {@link #fetch} and {@link RowGroupView#read} in one. */
  public final RowBatches read(RowGroup group, BufferAllocator allocator) throws IOException {
    RowGroupView fetched = fetch(group);
    try {
      return fetched.read(allocator);
    } catch (Throwable failure) {
      fetched.close();
      throw failure;
    }
  }

  /**
   * Fetches the wanted columns of a row group. Can run ahead of decoding, on another thread.
   *
   * @return a view that the caller reads or closes
   */
  public abstract RowGroupView fetch(RowGroup group) throws IOException;

  /** Does nothing yet: a file holds no resource but memory. */
  @Override
  public final void close() {}
}
