package dev.firn.engine.parquet;

import java.util.List;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter;

/**
 * What bloom filters take in memory, each from the beginning of its row group until the file ends.
 */
final class BloomFilterBytes {
  private BloomFilterBytes() {}

  /** Of a column, in a row group. */
  static long of(ColumnDescriptor column, ParquetProperties settings) {
    if (!settings.isBloomFilterEnabled(column)) {
      return 0;
    }
    long bytesMax = settings.getMaxBloomFilterBytes();
    if (settings.getBloomFilterNDV(column).isPresent()) {
      double falsePositives =
          settings.getBloomFilterFPP(column).orElse(ParquetProperties.DEFAULT_BLOOM_FILTER_FPP);
      long bytes =
          BlockSplitBloomFilter.optimalNumOfBits(
                  settings.getBloomFilterNDV(column).getAsLong(), falsePositives)
              / 8;
      return Math.min(bytesMax, Long.highestOneBit(Math.max(1, 2 * bytes - 1)));
    }
    // Candidates of half the size each.
    return settings.getAdaptiveBloomFilterEnabled(column) ? 2 * bytesMax : bytesMax;
  }

  /** Of all columns, in a row group. */
  static long of(List<ColumnDescriptor> columns, ParquetProperties settings) {
    return columns.stream().mapToLong(column -> of(column, settings)).sum();
  }
}
