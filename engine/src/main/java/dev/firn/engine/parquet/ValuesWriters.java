package dev.firn.engine.parquet;

import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.column.values.ValuesWriter;
import org.apache.parquet.column.values.bytestreamsplit.ByteStreamSplitValuesWriter;
import org.apache.parquet.column.values.delta.DeltaBinaryPackingValuesWriterForInteger;
import org.apache.parquet.column.values.delta.DeltaBinaryPackingValuesWriterForLong;
import org.apache.parquet.column.values.deltalengthbytearray.DeltaLengthByteArrayValuesWriter;
import org.apache.parquet.column.values.deltastrings.DeltaByteArrayWriter;
import org.jspecify.annotations.Nullable;

/** Parquet's writers of the encodings that are not PLAIN and need no dictionary. */
final class ValuesWriters {
  private ValuesWriters() {}

  /** A writer; null if values of the column cannot be written so. To be closed by the caller. */
  static @Nullable ValuesWriter of(
      Encoding encoding, ColumnDescriptor column, ParquetProperties settings) {
    int slabBytes = settings.getInitialSlabSize();
    int pageBytes = settings.getPageSizeThreshold();
    return switch (encoding) {
      case DELTA_BINARY_PACKED ->
          switch (column.getType()) {
            case INT32 ->
                new DeltaBinaryPackingValuesWriterForInteger(
                    slabBytes, pageBytes, settings.getAllocator());
            case INT64 ->
                new DeltaBinaryPackingValuesWriterForLong(
                    slabBytes, pageBytes, settings.getAllocator());
            default -> null;
          };
      case DELTA_LENGTH_BYTE_ARRAY ->
          switch (column.getType()) {
            case BINARY ->
                new DeltaLengthByteArrayValuesWriter(slabBytes, pageBytes, settings.getAllocator());
            default -> null;
          };
      case DELTA_BYTE_ARRAY ->
          switch (column.getType()) {
            case BINARY, FIXED_LEN_BYTE_ARRAY ->
                new DeltaByteArrayWriter(slabBytes, pageBytes, settings.getAllocator());
            default -> null;
          };
      case BYTE_STREAM_SPLIT -> split(column, settings);
      default -> null;
    };
  }

  private static @Nullable ValuesWriter split(ColumnDescriptor column, ParquetProperties settings) {
    int slabBytes = settings.getInitialSlabSize();
    int pageBytes = settings.getPageSizeThreshold();
    return switch (column.getType()) {
      case INT32 ->
          new ByteStreamSplitValuesWriter.IntegerByteStreamSplitValuesWriter(
              slabBytes, pageBytes, settings.getAllocator());
      case INT64 ->
          new ByteStreamSplitValuesWriter.LongByteStreamSplitValuesWriter(
              slabBytes, pageBytes, settings.getAllocator());
      case FLOAT ->
          new ByteStreamSplitValuesWriter.FloatByteStreamSplitValuesWriter(
              slabBytes, pageBytes, settings.getAllocator());
      case DOUBLE ->
          new ByteStreamSplitValuesWriter.DoubleByteStreamSplitValuesWriter(
              slabBytes, pageBytes, settings.getAllocator());
      case FIXED_LEN_BYTE_ARRAY ->
          new ByteStreamSplitValuesWriter.FixedLenByteArrayByteStreamSplitValuesWriter(
              column.getTypeLength(), slabBytes, pageBytes, settings.getAllocator());
      default -> null;
    };
  }
}
