package dev.firn.deletes;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.IntConsumer;
import org.roaringbitmap.RoaringBitmap;

/** Deleted positions as 32-bit bitmaps, one for each distinct upper half of a position. */
final class DeletedPositions implements DeletedRows {
  static final DeletedPositions NONE = new DeletedPositions(new int[0], new RoaringBitmap[0]);

  private static final long LOWER = 0xFFFF_FFFFL;

  /* The upper halves, ascending. Data files of more than 2^32 rows do not occur, so there is one
  entry as a rule, and a search of the array costs nothing. */
  private final int[] uppers;
  private final RoaringBitmap[] bitmaps;
  private final long count;

  private DeletedPositions(int[] uppers, RoaringBitmap[] bitmaps) {
    this.uppers = uppers;
    this.bitmaps = bitmaps;
    long total = 0;
    for (RoaringBitmap bitmap : bitmaps) {
      total += bitmap.getLongCardinality();
    }
    this.count = total;
  }

  @Override
  public long count() {
    return count;
  }

  @Override
  public int clearDeleted(long firstPosition, int rows, long[] live) {
    checkRange(firstPosition, rows);
    if (live.length < (rows + 63) >>> 6) {
      throw new IllegalArgumentException(
          "live has " + live.length + " words for " + rows + " rows");
    }
    if (count == 0 || rows == 0) {
      return 0;
    }
    int cleared = 0;
    long end = firstPosition + rows;
    for (long from = firstPosition; from < end; ) {
      long to = Math.min(end, (from | LOWER) + 1);
      RoaringBitmap bitmap = bitmapOf((int) (from >>> 32));
      if (bitmap != null) {
        BitClearer clearer = new BitClearer(live, (int) firstPosition);
        bitmap.forEachInRange((int) from, (int) (to - from), clearer);
        cleared += clearer.cleared;
      }
      from = to;
    }
    return cleared;
  }

  @Override
  public boolean anyIn(long firstPosition, long rows) {
    checkRange(firstPosition, rows);
    if (count == 0 || rows == 0) {
      return false;
    }
    long end = firstPosition + rows;
    for (int i = 0; i < uppers.length; i++) {
      long base = (long) uppers[i] << 32;
      long from = Math.max(firstPosition, base);
      long to = Math.min(end, base + LOWER + 1);
      if (from < to && bitmaps[i].intersects(from - base, to - base)) {
        return true;
      }
    }
    return false;
  }

  private static void checkRange(long firstPosition, long rows) {
    if (firstPosition < 0 || rows < 0 || firstPosition + rows < 0) {
      throw new IllegalArgumentException(
          "Not a range of positions: " + rows + " rows from " + firstPosition);
    }
  }

  /** The bitmap of an upper half, or null when no position with it is deleted. */
  private @Nullable RoaringBitmap bitmapOf(int upper) {
    int index = Arrays.binarySearch(uppers, upper);
    return index < 0 ? null : bitmaps[index];
  }

  private static final class BitClearer implements IntConsumer {
    private final long[] live;
    /* The lower half of the first position: the difference to the lower half of any position in
    range is its row, also across a change of the upper half. */
    private final int first;
    private int cleared;

    BitClearer(long[] live, int first) {
      this.live = live;
      this.first = first;
    }

    @Override
    public void accept(int position) {
      int row = position - first;
      long word = live[row >>> 6];
      cleared += (int) (word >>> row) & 1;
      live[row >>> 6] = word & ~(1L << row);
    }
  }

  /** Collects positions in any order, duplicates included. Not thread-safe. */
  static final class Builder {
    private int[] uppers = new int[0];
    private RoaringBitmap[] bitmaps = new RoaringBitmap[0];

    boolean isEmpty() {
      return uppers.length == 0;
    }

    /** Adds positions with one upper half. */
    void addAll(int upper, int[] lowers, int count) {
      if (count > 0) {
        bitmapFor(upper).addN(lowers, 0, count);
      }
    }

    /** Adds a bitmap of positions with one upper half, which this builder then owns. */
    void addAll(int upper, RoaringBitmap lowers) {
      if (!lowers.isEmpty()) {
        int index = Arrays.binarySearch(uppers, upper);
        if (index < 0) {
          insert(-index - 1, upper, lowers);
        } else {
          bitmaps[index].or(lowers);
        }
      }
    }

    /** Adds what is already resolved, leaving it as it is. */
    void addAll(DeletedPositions positions) {
      for (int i = 0; i < positions.uppers.length; i++) {
        int index = Arrays.binarySearch(uppers, positions.uppers[i]);
        if (index < 0) {
          insert(-index - 1, positions.uppers[i], positions.bitmaps[i].clone());
        } else {
          bitmaps[index].or(positions.bitmaps[i]);
        }
      }
    }

    /** What was added; the builder is not used again. */
    DeletedPositions build() {
      if (isEmpty()) {
        return NONE;
      }
      for (RoaringBitmap bitmap : bitmaps) {
        bitmap.runOptimize();
      }
      return new DeletedPositions(uppers, bitmaps);
    }

    private RoaringBitmap bitmapFor(int upper) {
      int index = Arrays.binarySearch(uppers, upper);
      if (index >= 0) {
        return bitmaps[index];
      }
      RoaringBitmap bitmap = new RoaringBitmap();
      insert(-index - 1, upper, bitmap);
      return bitmap;
    }

    private void insert(int index, int upper, RoaringBitmap bitmap) {
      int size = uppers.length;
      int[] grownUppers = Arrays.copyOf(uppers, size + 1);
      RoaringBitmap[] grownBitmaps = Arrays.copyOf(bitmaps, size + 1);
      System.arraycopy(uppers, index, grownUppers, index + 1, size - index);
      System.arraycopy(bitmaps, index, grownBitmaps, index + 1, size - index);
      grownUppers[index] = upper;
      grownBitmaps[index] = bitmap;
      uppers = grownUppers;
      bitmaps = grownBitmaps;
    }
  }
}
