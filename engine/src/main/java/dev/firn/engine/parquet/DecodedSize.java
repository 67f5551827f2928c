package dev.firn.engine.parquet;

import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.Statistics;
import org.apache.parquet.format.Type;
import org.jspecify.annotations.Nullable;

/**
 * What column chunks take once Arrow has decoded them, estimated from the footer: never much less
 * than they do, for it decides whether a row group fits into memory.
 */
final class DecodedSize {
  private static final int OFFSET_BYTES = 4;

  /** A string whose length nothing tells of, where a dictionary hides how often it is used. */
  private static final int UNKNOWN_STRING_BYTES = 16;

  private DecodedSize() {}

  /** The bytes of a row group's wanted columns. */
  static long of(RowGroup group, ViewSchema view) {
    long bytes = 0;
    for (ViewSchema.Leaf leaf : view.leaves) {
      ColumnChunk chunk = group.getColumns().get(leaf.chunk());
      bytes += of(chunk.getMeta_data(), leaf.type(), leaf.width());
    }
    return bytes;
  }

  private static long of(ColumnMetaData chunk, Type type, int fixedLength) {
    long values = chunk.getNum_values();
    long validity = values / Byte.SIZE + 1;
    return validity
        + switch (type) {
          case BOOLEAN -> values / Byte.SIZE + 1;
          case INT32, FLOAT -> values * Integer.BYTES;
          case INT64, DOUBLE -> values * Long.BYTES;
          case INT96, FIXED_LEN_BYTE_ARRAY -> values * fixedLength;
          case BYTE_ARRAY -> values * OFFSET_BYTES + stringBytes(chunk);
        };
  }

  private static long stringBytes(ColumnMetaData chunk) {
    if (chunk.isSetSize_statistics()
        && chunk.getSize_statistics().isSetUnencoded_byte_array_data_bytes()) {
      return chunk.getSize_statistics().getUnencoded_byte_array_data_bytes();
    }
    long encoded = chunk.getTotal_uncompressed_size();
    boolean dictionary =
        chunk.getEncodings().contains(Encoding.RLE_DICTIONARY)
            || chunk.getEncodings().contains(Encoding.PLAIN_DICTIONARY);
    return dictionary
        ? Math.max(encoded, chunk.getNum_values() * likelyStringBytes(chunk.getStatistics()))
        : encoded;
  }

  private static long likelyStringBytes(@Nullable Statistics statistics) {
    int longest = UNKNOWN_STRING_BYTES;
    if (statistics != null) {
      if (statistics.isSetMin_value()) {
        longest = Math.max(longest, statistics.getMin_value().length);
      }
      if (statistics.isSetMax_value()) {
        longest = Math.max(longest, statistics.getMax_value().length);
      }
    }
    return longest;
  }
}
