package dev.firn.engine.parquet;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.OffsetIndex;
import org.apache.parquet.format.SizeStatistics;
import org.apache.parquet.format.Type;
import org.jspecify.annotations.Nullable;

/**
 * How a row group that would take too much memory once decoded is decoded part by part.
 *
 * <p>Its rows are cut into slices, and each leaf's pages into segments: a segment has the pages
 * that begin in one slice. So no page is decoded twice, and at each row every leaf is in one
 * segment. Leaves whose segments have the same rows are decoded together.
 */
final class RowSlices {
  /* How much longer strings are guessed to be than what each has not in common with the last. */
  private static final int DELTA_FACTOR = 3;

  /* Definition and repetition levels are in memory while their values are decoded. */
  private static final int LEVEL_BYTES = Short.BYTES;

  /* An address and a length. */
  private static final int DICTIONARY_ENTRY_BYTES = 16;

  /* Of the limit, a part is for what is being decoded, the rest for what is. */
  private static final int WORK_SHARE = 3;

  /**
   * Consecutive pages of a leaf, or all of its chunk.
   *
   * @param dictionary to be put before them; null if there is none or it is among them
   * @param workBytes what decoding them takes until it is done
   */
  record Part(
      int leaf, ViewPages.@Nullable Page dictionary, List<ViewPages.Page> pages, long workBytes) {
    long position() {
      return pages.get(0).position();
    }

    long bytes() {
      return pages.get(pages.size() - 1).end() - position();
    }
  }

  /** Rows of some leaves, which are decoded at once. */
  record Segment(long firstRow, long rows, List<Part> parts) {}

  private record Rows(long first, long end) {}

  /**
   * What pages take.
   *
   * @param decoded once decoded
   * @param work beside that while they are decoded: their bytes as they are stored, levels
   */
  private record Cost(long decoded, long work) {
    static final Cost NONE = new Cost(0, 0);

    Cost plus(Cost other) {
      return new Cost(decoded + other.decoded, work + other.work);
    }
  }

  /** The pages of a leaf that begin at rows, and what they take. */
  private static final class Pages {
    final int leaf;
    final ViewPages.@Nullable Page dictionary;
    final List<ViewPages.Page> pages;

    /** The first row of each page, and after them the rows of the group. */
    final long[] firstRows;

    final List<Cost> costs;

    /** The page that the slice in work begins with, the one after those that it has so far. */
    int begin = 0;

    int next = 0;

    /** What the pages of the slice before take, which are there until these are, and these. */
    long decodedBefore = 0;

    Cost cost = Cost.NONE;

    Pages(
        int leaf,
        ViewPages.@Nullable Page dictionary,
        List<ViewPages.Page> pages,
        long[] firstRows,
        List<Cost> costs) {
      this.leaf = leaf;
      this.dictionary = dictionary;
      this.pages = pages;
      this.firstRows = firstRows;
      this.costs = costs;
    }

    /** What the leaf holds if the slice takes the pages that begin before a row too. */
    long decodedUpTo(long row) {
      long sum = cost.decoded();
      for (int page = next; page < pages.size() && firstRows[page] < row; page++) {
        sum += costs.get(page).decoded();
      }
      return Math.max(decodedBefore, sum);
    }

    void take(long row) {
      while (next < pages.size() && firstRows[next] < row) {
        cost = cost.plus(costs.get(next++));
      }
    }

    /** What decoding the dictionary takes: as it is stored, decompressed, and as an index. */
    long dictionaryWork() {
      return dictionary == null
          ? 0
          : dictionary.bytes()
              + 2 * dictionary.uncompressedBytes()
              + DICTIONARY_ENTRY_BYTES * dictionary.values();
    }

    /** What decoding all at once takes at its most. */
    long whole() {
      Cost all = costs.stream().reduce(Cost.NONE, Cost::plus);
      return all.decoded() + all.work() + dictionaryWork();
    }

    /** The pages that the slice took. */
    Part endSlice() {
      // Vectors grow by doubling.
      long work = 2 * cost.work() + cost.decoded() + dictionaryWork();
      Part part = new Part(leaf, dictionary, pages.subList(begin, next), work);
      begin = next;
      decodedBefore = cost.decoded();
      cost = Cost.NONE;
      return part;
    }
  }

  private final FileChannel view;
  private final ViewPages located;
  private final List<ViewSchema.Leaf> leaves;
  private final List<ColumnChunk> stored;
  private final List<Integer> wanted;
  private final long rows;

  private RowSlices(
      FileChannel view,
      ViewPages located,
      List<ViewSchema.Leaf> leaves,
      List<ColumnChunk> stored,
      List<Integer> wanted) {
    this.wanted = wanted;
    this.view = view;
    this.located = located;
    this.leaves = leaves;
    this.stored = stored;
    this.rows = located.metadata().getRow_groups().get(0).getNum_rows();
  }

  /**
   * Plans the segments of a view.
   *
   * @param stored the column chunks of the file that the leaves are
   * @param wanted the leaves to plan for, by their places
   * @param decodeBytesMax what is decoded at once shall take, if a page of each leaf does
   * @return in the order of their first rows; empty if the row group is to be decoded whole
   */
  static List<Segment> plan(
      FileChannel view,
      ViewPages located,
      List<ViewSchema.Leaf> leaves,
      List<ColumnChunk> stored,
      List<Integer> wanted,
      long decodeBytesMax)
      throws IOException {
    return new RowSlices(view, located, leaves, stored, wanted).plan(decodeBytesMax);
  }

  /** All rows of some leaves of a view. */
  static Segment whole(ViewPages located, List<Integer> leaves) {
    org.apache.parquet.format.RowGroup group = located.metadata().getRow_groups().get(0);
    List<Part> parts = new ArrayList<>();
    for (int leaf : leaves) {
      ViewPages.Page all = whole(group.getColumns().get(leaf), group.getNum_rows());
      parts.add(new Part(leaf, null, List.of(all), 0));
    }
    return new Segment(0, group.getNum_rows(), parts);
  }

  /* A chunk as if it were one page. */
  private static ViewPages.Page whole(ColumnChunk column, long rows) {
    return new ViewPages.Page(
        ParquetFooter.start(column),
        column.getMeta_data().getTotal_compressed_size(),
        column.getMeta_data().getTotal_uncompressed_size(),
        column.getMeta_data().getNum_values(),
        rows,
        Encoding.PLAIN);
  }

  private List<Segment> plan(long decodeBytesMax) throws IOException {
    List<Pages> all = new ArrayList<>();
    for (int leaf : wanted) {
      all.add(pages(leaf));
    }
    if (all.stream().mapToLong(Pages::whole).sum() <= decodeBytesMax
        || all.stream().allMatch(pages -> pages.pages.size() == 1)) {
      return List.of();
    }
    long workBytesMax = decodeBytesMax / WORK_SHARE;
    long decodedBytesMax = decodeBytesMax - workBytesMax;
    TreeSet<Long> cuts = new TreeSet<>();
    for (Pages pages : all) {
      for (int page = 1; page < pages.pages.size(); page++) {
        cuts.add(pages.firstRows[page]);
      }
    }
    cuts.add(rows);
    Map<Rows, List<Part>> slices = new LinkedHashMap<>();
    boolean empty = true;
    for (long cut : cuts) {
      // Takes what begins before this cut, into the slice in work if it fits beside what is there.
      if (!empty
          && all.stream().mapToLong(pages -> pages.decodedUpTo(cut)).sum() > decodedBytesMax) {
        endSlice(all, slices);
      }
      all.forEach(pages -> pages.take(cut));
      empty = false;
    }
    endSlice(all, slices);
    List<Segment> segments = new ArrayList<>();
    slices.forEach((range, parts) -> addSegments(range, parts, workBytesMax, segments));
    segments.sort(Comparator.comparingLong(Segment::firstRow));
    return segments;
  }

  private static void endSlice(List<Pages> all, Map<Rows, List<Part>> slices) {
    for (Pages pages : all) {
      if (pages.next > pages.begin) {
        Rows range = new Rows(pages.firstRows[pages.begin], pages.firstRows[pages.next]);
        slices.computeIfAbsent(range, none -> new ArrayList<>()).add(pages.endSlice());
      }
    }
  }

  /** Makes segments of the leaves that have the same rows, by what decoding them takes. */
  private static void addSegments(
      Rows range, List<Part> parts, long workBytesMax, List<Segment> segments) {
    List<Part> together = new ArrayList<>();
    long work = 0;
    for (Part part : parts) {
      if (!together.isEmpty() && work + part.workBytes() > workBytesMax) {
        segments.add(new Segment(range.first, range.end - range.first, List.copyOf(together)));
        together.clear();
        work = 0;
      }
      together.add(part);
      work += part.workBytes();
    }
    segments.add(new Segment(range.first, range.end - range.first, together));
  }

  private Pages pages(int leaf) throws IOException {
    ViewPages.Chunk chunk = located.chunks().get(leaf);
    Pages sliced = chunk.understood() ? sliced(leaf, chunk) : null;
    return sliced == null ? whole(leaf, chunk) : sliced;
  }

  /** A leaf that cannot be cut. */
  private Pages whole(int leaf, ViewPages.Chunk chunk) {
    ColumnChunk column = located.metadata().getRow_groups().get(0).getColumns().get(leaf);
    ViewPages.Page all = whole(column, rows);
    Cost cost = Cost.NONE;
    if (chunk.understood()) {
      for (ViewPages.Page page : chunk.data()) {
        cost = cost.plus(cost(leaf, chunk, page, Math.min(rows, page.values()), null));
      }
    } else {
      cost = cost(leaf, chunk, all, rows, null);
    }
    return new Pages(leaf, null, List.of(all), new long[] {0, rows}, List.of(cost));
  }

  /** The pages of a leaf by the rows that they begin with; null if these are not to be known. */
  private @Nullable Pages sliced(int leaf, ViewPages.Chunk chunk) throws IOException {
    OffsetIndex index = leaves.get(leaf).lists() == 0 ? null : index(leaf, chunk);
    List<ViewPages.Page> pages = new ArrayList<>();
    List<Long> firstRows = new ArrayList<>();
    List<Long> unencoded = index == null ? null : index.getUnencoded_byte_array_data_bytes();
    List<Cost> costs = new ArrayList<>();
    long row = 0;
    for (int i = 0; i < chunk.data().size(); i++) {
      ViewPages.Page page = chunk.data().get(i);
      long pageRows = index == null ? rows(leaf, page) : rows(index, i);
      if (pageRows < 0) {
        return null;
      }
      Cost cost = cost(leaf, chunk, page, pageRows, unencoded == null ? null : unencoded.get(i));
      if (row == rows && !pages.isEmpty() || pageRows == 0 && !pages.isEmpty()) {
        // Without rows: goes with the page before it.
        int last = pages.size() - 1;
        pages.set(last, joined(pages.get(last), page));
        costs.set(last, costs.get(last).plus(cost));
      } else {
        pages.add(page);
        firstRows.add(row);
        costs.add(cost);
      }
      row += pageRows;
    }
    if (row != rows || pages.isEmpty()) {
      return null;
    }
    firstRows.add(rows);
    if (unencoded == null) {
      fit(leaf, costs);
    }
    return new Pages(
        leaf,
        chunk.dictionary(),
        pages,
        firstRows.stream().mapToLong(Long::longValue).toArray(),
        costs);
  }

  private static ViewPages.Page joined(ViewPages.Page page, ViewPages.Page next) {
    return new ViewPages.Page(
        page.position(),
        next.end() - page.position(),
        page.uncompressedBytes() + next.uncompressedBytes(),
        page.values() + next.values(),
        page.rows(),
        page.encoding());
  }

  private long rows(int leaf, ViewPages.Page page) {
    if (leaves.get(leaf).lists() > 0) {
      return page.rows();
    }
    return page.rows() == ViewPages.Page.ROWS_UNKNOWN || page.rows() == page.values()
        ? page.values()
        : ViewPages.Page.ROWS_UNKNOWN;
  }

  private long rows(OffsetIndex index, int page) {
    long first = index.getPage_locations().get(page).getFirst_row_index();
    long next =
        page + 1 < index.getPage_locationsSize()
            ? index.getPage_locations().get(page + 1).getFirst_row_index()
            : rows;
    return next - first;
  }

  /** The offset index that was fetched with a chunk, if it is of these pages; else null. */
  private @Nullable OffsetIndex index(int leaf, ViewPages.Chunk chunk) throws IOException {
    ColumnChunk column = located.metadata().getRow_groups().get(0).getColumns().get(leaf);
    if (!column.isSetOffset_index_offset()) {
      return null;
    }
    byte[] bytes = new byte[column.getOffset_index_length()];
    ByteBuffer into = ByteBuffer.wrap(bytes);
    while (into.hasRemaining()) {
      if (view.read(into, column.getOffset_index_offset() + into.position()) < 0) {
        return null;
      }
    }
    OffsetIndex index;
    try {
      index = ThriftBytes.offsetIndex(bytes);
    } catch (IOException malformed) {
      return null;
    }
    List<ViewPages.Page> pages = chunk.data();
    boolean same =
        index.getPage_locationsSize() == pages.size()
            && !pages.isEmpty()
            && index.getPage_locations().get(0).getFirst_row_index() == 0;
    for (int i = 1; i < pages.size() && same; i++) {
      same =
          index.getPage_locations().get(i).getOffset()
                  - index.getPage_locations().get(0).getOffset()
              == pages.get(i).position() - pages.get(0).position();
    }
    if (same && index.isSetUnencoded_byte_array_data_bytes()) {
      same = index.getUnencoded_byte_array_data_bytesSize() == pages.size();
    }
    return same ? index : null;
  }

  private Cost cost(
      int leaf,
      ViewPages.Chunk chunk,
      ViewPages.Page page,
      long pageRows,
      @Nullable Long unencodedBytes) {
    ViewSchema.Leaf of = leaves.get(leaf);
    long values = page.values();
    long decoded = of.optional() ? values / Byte.SIZE + 1 : 0;
    long work = page.bytes() + (of.optional() ? LEVEL_BYTES * values : 0);
    if (of.lists() > 0) {
      work += LEVEL_BYTES * values;
      decoded += Integer.BYTES * (pageRows + values * (of.lists() - 1L));
    }
    if (of.type() == Type.BOOLEAN) {
      return new Cost(decoded + values / Byte.SIZE + 1, work + values);
    } else if (of.width() > 0) {
      return new Cost(decoded + of.width() * values, work);
    }
    decoded += Integer.BYTES * values;
    ViewPages.Page dictionary = chunk.dictionary();
    boolean byDictionary =
        page.encoding() == Encoding.RLE_DICTIONARY || page.encoding() == Encoding.PLAIN_DICTIONARY;
    if (unencodedBytes != null) {
      decoded += unencodedBytes;
    } else if (dictionary != null && byDictionary && dictionary.values() > 0) {
      decoded += values * dictionary.uncompressedBytes() / dictionary.values();
    } else {
      boolean shared = page.encoding() == Encoding.DELTA_BYTE_ARRAY;
      decoded += page.uncompressedBytes() * (shared ? DELTA_FACTOR : 1);
    }
    return new Cost(decoded, work);
  }

  /** Makes guesses at the size of strings add up to what the footer says, if they are below it. */
  private void fit(int leaf, List<Cost> costs) {
    SizeStatistics sizes = stored.get(leaf).getMeta_data().getSize_statistics();
    if (sizes == null || !sizes.isSetUnencoded_byte_array_data_bytes()) {
      return;
    }
    double sum = Math.max(1, costs.stream().mapToLong(Cost::decoded).sum());
    double factor = sizes.getUnencoded_byte_array_data_bytes() / sum;
    if (factor > 1) {
      costs.replaceAll(cost -> new Cost((long) (cost.decoded() * factor), cost.work()));
    }
  }
}
