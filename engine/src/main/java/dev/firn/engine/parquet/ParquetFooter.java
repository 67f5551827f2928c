package dev.firn.engine.parquet;

import dev.firn.io.RangeReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.iceberg.Schema;
import org.apache.iceberg.parquet.ParquetSchemaUtil;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.SchemaElement;
import org.apache.parquet.format.Util;
import org.apache.parquet.format.converter.ParquetMetadataConverter;
import org.apache.parquet.schema.MessageType;
import org.jspecify.annotations.Nullable;

/**
 * The footer of a Parquet file.
 *
 * @param whole all bytes of the file if it is small, so that they need not be read again; else null
 */
record ParquetFooter(
    String location, long fileLength, FileMetaData metadata, byte @Nullable [] whole) {
  static final byte[] MAGIC = "PAR1".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] MAGIC_ENCRYPTED = "PARE".getBytes(StandardCharsets.US_ASCII);

  /** What is read of a file's end at first: enough for most footers, and for small files whole. */
  static final int TAIL_BYTES = 64 * 1024;

  /** The length of the footer and the magic behind it. */
  private static final int TRAILER_BYTES = Integer.BYTES + 4;

  /**
   * Reads the footer of a file with one request, or two if it is long.
   *
   * @param tailBytesMax what is read at first; a file that is not longer is kept whole
   * @throws CorruptFileException if the file is not a Parquet file
   * @throws UnsupportedFileException if its footer is encrypted
   */
  static ParquetFooter read(RangeReader ranges, String location, long fileLength, int tailBytesMax)
      throws IOException {
    if (fileLength < MAGIC.length + TRAILER_BYTES) {
      throw corrupt(location, "it has only " + fileLength + " bytes");
    }
    int tailBytes = (int) Math.min(tailBytesMax, fileLength);
    byte[] tail = ranges.read(location, fileLength, fileLength - tailBytes, tailBytes);
    byte[] magic = Arrays.copyOfRange(tail, tailBytes - MAGIC.length, tailBytes);
    if (Arrays.equals(magic, MAGIC_ENCRYPTED)) {
      throw new UnsupportedFileException(
          "Cannot read " + location + ": its footer is encrypted. Nothing was changed.");
    }
    if (!Arrays.equals(magic, MAGIC)) {
      throw corrupt(
          location,
          "no Parquet file of "
              + fileLength
              + " bytes, the size in the table's metadata, ends as it does");
    }
    ByteBuffer end = ByteBuffer.wrap(tail).order(ByteOrder.LITTLE_ENDIAN);
    int footerBytes = end.getInt(tailBytes - TRAILER_BYTES);
    if (footerBytes <= 0 || footerBytes > fileLength - MAGIC.length - TRAILER_BYTES) {
      throw corrupt(location, "its footer claims " + footerBytes + " bytes");
    }
    byte[] footer;
    int before = tailBytes - TRAILER_BYTES - footerBytes;
    if (before >= 0) {
      footer = Arrays.copyOfRange(tail, before, before + footerBytes);
    } else {
      long start = fileLength - TRAILER_BYTES - footerBytes;
      byte[] head = ranges.read(location, fileLength, start, -before);
      footer = Arrays.copyOf(head, footerBytes);
      System.arraycopy(tail, 0, footer, head.length, footerBytes - head.length);
    }
    FileMetaData metadata = parse(location, footer);
    return new ParquetFooter(location, fileLength, metadata, tailBytes == fileLength ? tail : null);
  }

  private static FileMetaData parse(String location, byte[] footer) {
    try {
      FileMetaData metadata = ThriftBytes.fileMetaData(footer);
      if (metadata.isSetEncryption_algorithm()) {
        throw new UnsupportedFileException(
            "Cannot read " + location + ": it is encrypted. Nothing was changed.");
      }
      return metadata;
    } catch (IOException malformed) {
      throw new CorruptFileException(
          "Cannot read " + location + ": its footer cannot be parsed. Nothing was changed.",
          malformed);
    }
  }

  /** The end of a file: its footer, and what follows that. */
  static ByteBuffer trailer(FileMetaData metadata) throws IOException {
    ByteArrayOutputStream footer = new ByteArrayOutputStream();
    Util.writeFileMetaData(metadata, footer);
    return ByteBuffer.allocate(footer.size() + TRAILER_BYTES)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put(footer.toByteArray())
        .putInt(footer.size())
        .put(MAGIC)
        .flip();
  }

  static CorruptFileException corrupt(String location, String reason) {
    return new CorruptFileException(
        "Cannot read " + location + ": " + reason + ". Nothing was changed.");
  }

  /** The fields that have ids, in the types of Iceberg that stand for those they have here. */
  Schema fieldsWithIds() {
    try {
      MessageType message =
          new ParquetMetadataConverter()
              .fromParquetMetadata(metadata)
              .getFileMetaData()
              .getSchema();
      return ParquetSchemaUtil.hasIds(message) ? ParquetSchemaUtil.convert(message) : new Schema();
    } catch (IOException | RuntimeException malformed) {
      throw new CorruptFileException(
          "Cannot read " + location + ": its schema is malformed, " + malformed.getMessage(),
          malformed);
    }
  }

  /** The schema, as a tree that is the caller's to mark. */
  FileField schema() {
    try {
      return FileField.parse(metadata.getSchema());
    } catch (IllegalArgumentException malformed) {
      throw new CorruptFileException(
          "Cannot read " + location + ": its schema is malformed, " + malformed.getMessage(),
          malformed);
    }
  }

  /** Checks what later code relies on, for the chunks of wanted columns. */
  void checkChunks(ViewSchema view) {
    int leaves = 0;
    for (SchemaElement element : metadata.getSchema()) {
      leaves += element.isSetType() ? 1 : 0;
    }
    Set<Integer> wanted = new HashSet<>();
    view.leaves.forEach(leaf -> wanted.add(leaf.chunk()));
    for (RowGroup group : metadata.getRow_groups()) {
      if (group.getColumnsSize() != leaves) {
        throw corrupt(
            location,
            "a row group has " + group.getColumnsSize() + " columns, the schema " + leaves);
      }
      for (int chunk : wanted) {
        checkChunk(group.getColumns().get(chunk));
      }
    }
  }

  private void checkChunk(ColumnChunk chunk) {
    if (chunk.isSetCrypto_metadata() || !chunk.isSetMeta_data()) {
      throw new UnsupportedFileException(
          "Cannot read " + location + ": a column is encrypted. Nothing was changed.");
    }
    String column = String.join(".", chunk.getMeta_data().getPath_in_schema());
    if (chunk.isSetFile_path()) {
      throw new UnsupportedFileException(
          "Cannot read "
              + location
              + ": column "
              + column
              + " is in another file, "
              + chunk.getFile_path());
    }
    switch (chunk.getMeta_data().getCodec()) {
      case UNCOMPRESSED:
      case SNAPPY:
      case GZIP:
      case LZ4:
      case ZSTD:
      case LZ4_RAW:
        break;
      default:
        throw new UnsupportedFileException(
            "Cannot read "
                + location
                + ": column "
                + column
                + " is compressed with "
                + chunk.getMeta_data().getCodec()
                + ", which is not supported. Nothing was changed.");
    }
    long start = start(chunk);
    long length = chunk.getMeta_data().getTotal_compressed_size();
    if (start < MAGIC.length || length < 0 || start + length > fileLength - TRAILER_BYTES) {
      throw corrupt(
          location,
          "column "
              + column
              + " claims bytes "
              + start
              + " to "
              + (start + length)
              + " of "
              + fileLength);
    }
  }

  /** Where the first page of a chunk begins; some writers leave the dictionary's place at 0. */
  static long start(ColumnChunk chunk) {
    long data = chunk.getMeta_data().getData_page_offset();
    long dictionary = chunk.getMeta_data().getDictionary_page_offset();
    return dictionary > 0 && dictionary < data ? dictionary : data;
  }
}
