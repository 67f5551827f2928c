package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.BufferAllocator;
import org.jspecify.annotations.Nullable;

/**
 * A row group of a Parquet file whose columns are moved as they are encoded where that is possible.
 * Reading it gives the other columns.
 */
public final class SplicedView implements RowGroupView {

  /**
   * A leaf column that is spliced.
   *
   * @param leaf its place among the leaf columns of the output
   * @param levels the output's definition level for each of the chunk's; null if they are the same
   * @param hasNoNan whether it is known that no value is NaN
   */
  record Leaf(int leaf, SourceChunk chunk, byte @Nullable [] levels, boolean hasNoNan) {}

  /**
   * Columns that are decoded.
   *
   * @param columns their places in the schema, ascending
   * @param leaves the places of their leaves among the leaf columns of the output
   * @param view has their rows, in this order
   */
  record Rest(List<Integer> columns, List<Integer> leaves, RowGroupView view) {}

  private final SourceFile.RowGroup group;
  private final List<Leaf> spliced;
  private final @Nullable Rest rest; // null if all columns are spliced
  private final Map<String, Long> transcodedBytes;

  /**
   * @param transcodedBytes compressed bytes of the columns in {@code rest}, by the reason why they
   *     are there
   */
  SplicedView(
      SourceFile.RowGroup group,
      List<Leaf> spliced,
      @Nullable Rest rest,
      Map<String, Long> transcodedBytes) {
    this.group = group;
    this.spliced =
        spliced.stream().sorted(Comparator.comparingLong(leaf -> -leaf.chunk().bytes())).toList();
    this.rest = rest;
    this.transcodedBytes = Map.copyOf(transcodedBytes);
  }

  @Override
  public SourceFile.RowGroup rowGroup() {
    return group;
  }

  /** The largest first: one that begins last would leave threads idle. */
  List<Leaf> spliced() {
    return spliced;
  }

  @Nullable Rest rest() {
    return rest;
  }

  Map<String, Long> transcodedBytes() {
    return transcodedBytes;
  }

  /** Opens the rows of the columns that are not spliced. */
  @Override
  public RowBatches read(BufferAllocator allocator) throws IOException {
    if (rest == null) {
      throw new IllegalStateException("All columns are spliced");
    }
    return rest.view().read(allocator);
  }

  /** Releases the bytes of the spliced columns, but for pages that an output has taken. */
  @Override
  public void close() throws IOException {
    spliced.forEach(leaf -> leaf.chunk().close());
    if (rest != null) {
      rest.view().close();
    }
  }
}
