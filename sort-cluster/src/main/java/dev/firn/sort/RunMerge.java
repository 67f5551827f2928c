package dev.firn.sort;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;

/**
 * Merges sorted runs, and rows in memory that come after all of them, without moving a row: it says
 * which come next, and keeps their blocks until it is asked again. Equal rows come in the order of
 * the runs (O9). Closes runs as it comes to their ends. Not thread-safe.
 */
final class RunMerge implements AutoCloseable {

  /** After so many rows in a row from one sequence, it is compared with the next best alone. */
  private static final int STREAK_ROWS = 8;

  private final List<SortedRun> runs;
  private final RowSources sources;
  private final BlockReader reader;
  private final BufferAllocator memory;
  private final long memoryBytesMax;

  private final RowCursor[] cursors;
  private final RunBlock[] blocks; // the one of each run that its cursor goes through
  private final int[] nextBlock;
  private final List<RunBlock> retired = new ArrayList<>();
  private final List<Integer> retiredSources = new ArrayList<>();
  private final LoserTree tree;
  private int starved = -1; // the run whose next block did not fit beside the rows picked

  /**
   * Reads the first block of each run.
   *
   * @param runs in the order of their rows; stay the caller's
   * @param ids the address of sorted ids of rows in the chunks among the sources; 0 for none
   * @param memoryBytesMax while blocks of rows that are picked are kept, no further ones are read
   *     that would raise what is allocated above this
   */
  @SuppressWarnings("this-escape")
  RunMerge(
      List<SortedRun> runs,
      long ids,
      int idCount,
      RowSources sources,
      BlockReader reader,
      BufferAllocator memory,
      long memoryBytesMax)
      throws SpillException {
    this.runs = runs;
    this.sources = sources;
    this.reader = reader;
    this.memory = memory;
    this.memoryBytesMax = memoryBytesMax;
    int count = runs.size();
    cursors = new RowCursor[count + (idCount > 0 ? 1 : 0)];
    blocks = new RunBlock[count];
    nextBlock = new int[count];
    try {
      for (int run = 0; run < count; run++) {
        cursors[run] = RowCursor.ofBlocks(sources);
        load(run);
      }
    } catch (Throwable failure) {
      close();
      throw failure;
    }
    if (idCount > 0) {
      cursors[count] = RowCursor.ofIds(sources, ids, 0, idCount);
    }
    tree = new LoserTree(cursors);
  }

  private void load(int run) throws SpillException {
    SortedRun from = runs.get(run);
    RunBlock block = reader.read(from, nextBlock[run]++);
    blocks[run] = block;
    cursors[run].load(sources.add(block), block.rows());
    if (nextBlock[run] == from.blocks()) {
      from.close();
    }
  }

  /**
   * The next rows: fills the arrays, or ends before where memory for another block would be short.
   * Their blocks stay until the next call.
   *
   * @return how many rows; 0 at the end
   */
  int pick(int[] source, int[] row) throws SpillException {
    release();
    if (starved >= 0) {
      load(starved);
      starved = -1;
      tree.replay();
    }
    int count = 0;
    int streak = 0;
    int last = -1;
    while (count < row.length) {
      int winner = tree.winner();
      RowCursor cursor = cursors[winner];
      if (cursor.done) {
        break;
      }
      if (winner == last && ++streak >= STREAK_ROWS) {
        count = pickStreak(winner, cursor, source, row, count);
        streak = 0;
      } else {
        streak = winner == last ? streak : 0;
        last = winner;
        source[count] = cursor.source;
        row[count++] = cursor.row;
        cursor.advance();
      }
      if (cursor.done && !refill(winner)) {
        return count;
      }
      tree.replay();
    }
    return count;
  }

  /** Takes rows of the winner as long as they come before the best of the others. */
  private int pickStreak(int winner, RowCursor cursor, int[] source, int[] row, int picked) {
    int other = tree.runnerUp();
    boolean alone = other < 0 || cursors[other].done;
    int count = picked;
    do {
      source[count] = cursor.source;
      row[count++] = cursor.row;
      cursor.advance();
    } while (count < row.length && !cursor.done && (alone || tree.beats(winner, other)));
    return count;
  }

  /**
   * Goes on to the next block of a run whose block is used up, if it has one.
   *
   * @return false if the rows that are picked have to go before there is memory for it
   */
  private boolean refill(int number) throws SpillException {
    if (number >= runs.size()) {
      return true;
    }
    retired.add(blocks[number]);
    retiredSources.add(cursors[number].source);
    blocks[number] = null;
    SortedRun run = runs.get(number);
    if (nextBlock[number] == run.blocks()) {
      return true;
    }
    long bytes = memory.getRoundingPolicy().getRoundedSize(run.block(nextBlock[number]).bytes());
    if (memory.getAllocatedMemory() + bytes > memoryBytesMax) {
      starved = number;
      return false;
    }
    load(number);
    return true;
  }

  private void release() {
    retired.forEach(RunBlock::close);
    retired.clear();
    retiredSources.forEach(sources::remove);
    retiredSources.clear();
  }

  /** Closing twice is harmless. */
  @Override
  public void close() {
    release();
    for (RunBlock block : blocks) {
      if (block != null) {
        block.close();
      }
    }
    Arrays.fill(blocks, null);
  }
}
