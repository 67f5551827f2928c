package dev.firn.engine.parquet;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.schema.PrimitiveComparator;
import org.jspecify.annotations.Nullable;

/**
 * Makes the bounds of a column chunk exact whose pages were copied with bounds that may be wider
 * than their values: engines answer MIN and MAX from what becomes of them in the manifests (M5).
 *
 * <p>Only pages that may hold the least or the greatest value are looked into: those whose bound is
 * beyond all that is certain.
 */
final class CopiedBounds {
  private CopiedBounds() {}

  /** Puts exact statistics in the place of those that matter. */
  static void settle(ChunkPages chunk, ColumnDescriptor column, PageTools tools)
      throws IOException {
    List<ChunkPages.DataPage> pages = chunk.pages();
    List<Integer> open = new ArrayList<>();
    for (int page = 0; page < pages.size(); page++) {
      if (pages.get(page).exact() != null && pages.get(page).statistics().hasNonNullValue()) {
        open.add(page);
      }
    }
    if (open.isEmpty()) {
      return;
    }
    PrimitiveComparator<Object> order = column.getPrimitiveType().comparator();
    settle(
        pages, open, (one, other) -> order.compare(one, other), Statistics::genericGetMin, tools);
    settle(
        pages, open, (one, other) -> order.compare(other, one), Statistics::genericGetMax, tools);
  }

  @FunctionalInterface
  private interface Bound {
    Object of(Statistics<?> statistics);
  }

  /* Looks into pages in the order of their bounds until the next cannot have a value before the
  first that is known. */
  private static void settle(
      List<ChunkPages.DataPage> pages,
      List<Integer> open,
      Comparator<Object> order,
      Bound bound,
      PageTools tools)
      throws IOException {
    Object first = null;
    for (ChunkPages.DataPage page : pages) {
      if (page.exact() == null && page.statistics().hasNonNullValue()) {
        first = first(first, bound.of(page.statistics()), order);
      }
    }
    List<Integer> candidates = new ArrayList<>(open);
    candidates.sort(Comparator.comparing(place -> bound.of(pages.get(place).statistics()), order));
    for (int place : candidates) {
      ChunkPages.DataPage page = pages.get(place);
      ChunkPages.ExactBounds exact = page.exact();
      if (exact == null) {
        continue; // settled for the other bound
      }
      if (first != null && order.compare(first, bound.of(page.statistics())) <= 0) {
        return;
      }
      Statistics<?> found = exact.find(tools);
      pages.set(place, page.with(found));
      if (found.hasNonNullValue()) {
        first = first(first, bound.of(found), order);
      }
    }
  }

  private static Object first(@Nullable Object one, Object other, Comparator<Object> order) {
    return one == null || order.compare(other, one) < 0 ? other : one;
  }
}
