package dev.firn.engine;

import dev.firn.engine.parquet.SourceFile;
import dev.firn.sort.ColumnRanks;
import dev.firn.sort.KeyRanges;
import dev.firn.sort.KeySampler;
import dev.firn.sort.RankSampler;
import dev.firn.sort.SortKeys;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortField;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.types.TypeUtil;

/** What puts the rows of a group into their order. */
sealed interface RowOrder {

  /** Of larger groups not all row groups are sampled: about so many rows, here and there. */
  long ROWS_SAMPLED = 16L << 20;

  /** The same rows give the same sample. */
  long SEED = 0x4649524EL;

  /** The keys of a group's rows, whatever other columns batches have. */
  @FunctionalInterface
  interface Keys {
    /**
     * @param columns what batches follow
     */
    SortKeys of(Schema columns);
  }

  /**
   * The keys that a group's rows are sorted by.
   *
   * @param columns of the group's rows
   * @param rows to be sampled where the order depends on them
   */
  Keys keys(Schema columns, GroupRows rows) throws IOException;

  /** The fields that the keys are made from. */
  Set<Integer> sources(Schema columns);

  /** A sort order. */
  record Plain(SortOrder order) implements RowOrder {
    @Override
    public Keys keys(Schema columns, GroupRows rows) {
      return schema -> SortKeys.of(schema, order);
    }

    @Override
    public Set<Integer> sources(Schema columns) {
      return order.fields().stream().map(SortField::sourceId).collect(Collectors.toSet());
    }
  }

  /** A z-order over the bytes of values, as Iceberg defines it (O12). */
  record ByteCurve(List<String> names, int varLengthContribution, int maxOutputSize)
      implements RowOrder {
    @Override
    public Keys keys(Schema columns, GroupRows rows) {
      return this::keys;
    }

    SortKeys keys(Schema columns) {
      return SortKeys.zOrder(columns, names, varLengthContribution, maxOutputSize);
    }

    @Override
    public Set<Integer> sources(Schema columns) {
      return ids(names, columns);
    }
  }

  /** A curve over the ranks of values in a sample of the group's rows. */
  record RankCurve(List<String> names, boolean hilbert) implements RowOrder {
    RankSampler sampler(Schema columns) {
      return new RankSampler(columns, names, NullOrder.NULLS_LAST, SEED);
    }

    @Override
    public Keys keys(Schema columns, GroupRows rows) throws IOException {
      Schema read = TypeUtil.select(columns, sources(columns));
      RankSampler sampler = sampler(read);
      rows.forEachBatch(
          read,
          new Sampled(rows) {
            @Override
            public void accept(
                VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins origins) {
              sampler.add(batch, live, liveRows);
            }
          });
      ColumnRanks ranks = sampler.ranks();
      return hilbert
          ? schema -> SortKeys.hilbert(schema, ranks)
          : schema -> SortKeys.zOrder(schema, ranks);
    }

    @Override
    public Set<Integer> sources(Schema columns) {
      return ids(names, columns);
    }
  }

  private static Set<Integer> ids(List<String> names, Schema columns) {
    return names.stream()
        .map(name -> columns.findField(name).fieldId())
        .collect(Collectors.toSet());
  }

  /**
   * Cuts the keys of a group into ranges of about as many rows each.
   *
   * @param sources the fields that the keys are made from
   * @param count how many ranges are wanted; there are fewer where too many keys are equal
   */
  static KeyRanges ranges(
      Schema columns, GroupRows rows, Set<Integer> sources, Keys keys, int count)
      throws IOException {
    Schema read = TypeUtil.select(columns, sources);
    KeySampler sampler = new KeySampler(keys.of(read), rows.memory(), SEED);
    rows.forEachBatch(
        read,
        new Sampled(rows) {
          @Override
          public void accept(
              VectorSchemaRoot batch, long[] live, int liveRows, BatchOrigins origins) {
            sampler.add(batch, live, liveRows);
          }
        });
    return sampler.ranges(count);
  }

  /** Row groups here and there, the same in each run. */
  abstract class Sampled implements GroupRows.RowGroups {
    private final double share;

    Sampled(GroupRows rows) {
      this.share = Math.min(1, (double) ROWS_SAMPLED / Math.max(1, rows.count()));
    }

    @Override
    public final boolean wants(DataFile file, SourceFile.RowGroup rowGroup) {
      int hash = (file.location().hashCode() * 31 + rowGroup.ordinal()) * 0x9E3779B1;
      return share == 1 || (hash >>> 1) < share * Integer.MAX_VALUE;
    }
  }
}
