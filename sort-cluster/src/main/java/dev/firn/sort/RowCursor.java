package dev.firn.sort;

import org.apache.arrow.memory.util.MemoryUtil;

/**
 * Stands on one row of a sorted sequence: rows of a block, or ids of rows in chunks. Not
 * thread-safe.
 */
final class RowCursor {
  private final RowSources sources;

  /* Ids, or 0 for the rows of one block from the first to the last. */
  private final long ids;
  private int next;
  private int end;

  /** The row that it stands on. */
  int source;

  int row;

  /** The first eight bytes of the row's key, as a number in unsigned order; the largest if done. */
  long prefix;

  /** The next eight, likewise: many rows of an order by several columns share the first. */
  long second;

  long key;
  long keyBytes;

  /* How long each key is where all are alike and those of a block follow one another; else -1. */
  private final int step;

  /** Stands behind the last row. */
  boolean done;

  private RowCursor(RowSources sources, long ids, int from, int to) {
    this.sources = sources;
    this.ids = ids;
    this.next = from;
    this.end = to;
    this.step = ids == 0 ? sources.fixedKeyStep() : -1;
    advance();
  }

  /**
   * Goes through ids.
   *
   * @param ids the address of the id numbered 0
   */
  static RowCursor ofIds(RowSources sources, long ids, int from, int to) {
    return new RowCursor(sources, ids, from, to);
  }

  /** Goes through the rows of blocks; stands nowhere before the first of them. */
  static RowCursor ofBlocks(RowSources sources) {
    return new RowCursor(sources, 0, 0, 0);
  }

  /** Goes on with the first row of a block. */
  void load(int blockSource, int rows) {
    source = blockSource;
    next = 0;
    end = rows;
    if (step >= 0) {
      key = sources.key(blockSource, 0) - step;
      keyBytes = step;
    }
    advance();
  }

  /** Goes to the next row. */
  void advance() {
    if (next == end) {
      done = true;
      prefix = -1;
      second = -1;
      return;
    }
    done = false;
    if (step >= 0) {
      row = next++;
      key += step;
    } else {
      find();
    }
    prefix = Memory.bigEndian(key, keyBytes);
    second = keyBytes > 8 ? Memory.bigEndian(key + 8, keyBytes - 8) : 0;
  }

  private void find() {
    if (ids == 0) {
      row = next++;
    } else {
      int id = MemoryUtil.getInt(ids + ((long) next++ << 2));
      source = id >>> 16;
      row = id & 0xFFFF;
    }
    key = sources.key(source, row);
    keyBytes = sources.keyBytes(source, row);
  }

  /** How many rows come behind this one, as far as is loaded. */
  int following() {
    return end - next;
  }

  /** Compares the keys of the rows that two cursors stand on. */
  static int compareKeys(RowCursor left, RowCursor right) {
    // No key is the beginning of another: short ones with the same bytes there are equal.
    if (left.prefix != right.prefix || left.keyBytes <= 8 || right.keyBytes <= 8) {
      return Long.compareUnsigned(left.prefix, right.prefix);
    }
    if (left.second != right.second || left.keyBytes <= 16 || right.keyBytes <= 16) {
      return Long.compareUnsigned(left.second, right.second);
    }
    return Memory.compare(left.key + 16, left.keyBytes - 16, right.key + 16, right.keyBytes - 16);
  }
}
