package dev.firn.engine.parquet;

import java.util.Map;
import java.util.TreeMap;

/**
 * How the columns of row groups were moved into other files, in compressed bytes of the sources.
 *
 * @param copiedBytes of pages that were copied as they are
 * @param recompressedBytes of pages that were compressed anew, with another codec
 * @param filteredBytes of pages whose rows were moved in the pages' encoding
 * @param transcodedBytes of columns that were decoded, by the reason for it
 */
public record SpliceTotals(
    long copiedBytes,
    long recompressedBytes,
    long filteredBytes,
    Map<String, Long> transcodedBytes) {

  public static final SpliceTotals NOTHING = new SpliceTotals(0, 0, 0, Map.of());

  public SpliceTotals {
    transcodedBytes = Map.copyOf(transcodedBytes);
  }

  /** The sum of both. */
  public SpliceTotals plus(SpliceTotals other) {
    Map<String, Long> transcoded = new TreeMap<>(transcodedBytes);
    other.transcodedBytes.forEach((reason, bytes) -> transcoded.merge(reason, bytes, Long::sum));
    return new SpliceTotals(
        copiedBytes + other.copiedBytes,
        recompressedBytes + other.recompressedBytes,
        filteredBytes + other.filteredBytes,
        transcoded);
  }

  /** All bytes of columns that were decoded. */
  public long transcodedBytesInAll() {
    return transcodedBytes.values().stream().mapToLong(Long::longValue).sum();
  }
}
