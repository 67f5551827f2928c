package dev.firn.deletes;

import java.util.Arrays;
import org.roaringbitmap.RoaringBatchIterator;
import org.roaringbitmap.RoaringBitmap;

/** Deleted positions as 32-bit bitmaps, one for each distinct upper half of a position. */
final class DeletedPositions implements DeletedRows {
  static final DeletedPositions NONE = new DeletedPositions(new int[0], new RoaringBitmap[0]);

  private static final long LOWER = 0xFFFF_FFFFL;
  private static final int LOWERS_READ = 256;

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
    for (int i = 0; i < uppers.length; i++) {
      long base = (long) uppers[i] << 32;
      long from = Math.max(firstPosition, base);
      long to = Math.min(end, base + LOWER + 1);
      if (from < to) {
        cleared += clear(bitmaps[i], from - base, to - base, base - firstPosition, live);
      }
    }
    return cleared;
  }

  /* By batches and not by RoaringBitmap.forEachInRange, which skips positions where a range goes
  across 2^31. */
  private static int clear(RoaringBitmap bitmap, long from, long to, long rowOfZero, long[] live) {
    int cleared = 0;
    RoaringBatchIterator positions = bitmap.getBatchIterator();
    positions.advanceIfNeeded((int) from);
    int[] lowers = new int[LOWERS_READ];
    while (positions.hasNext()) {
      int count = positions.nextBatch(lowers);
      for (int i = 0; i < count; i++) {
        long lower = lowers[i] & LOWER;
        if (lower >= to) {
          return cleared;
        }
        int row = (int) (lower + rowOfZero);
        long word = live[row >>> 6];
        cleared += (int) (word >>> row) & 1;
        live[row >>> 6] = word & ~(1L << row);
      }
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
