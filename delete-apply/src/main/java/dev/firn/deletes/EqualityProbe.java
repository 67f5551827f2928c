package dev.firn.deletes;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;

/**
 * Finds the rows of one data file that the equality deletes of a pass delete, by one scan of its
 * key columns. Immutable and thread-safe.
 *
 * @param columns the key columns of all lookups
 */
record EqualityProbe(Schema columns, List<Lookup> lookups) {

  /**
   * The keys of one set of field ids and where to look them up.
   *
   * @param fields the columns of the key, by ascending id
   * @param vectors the place of each among the columns of the probe
   */
  record Lookup(List<Types.NestedField> fields, int[] vectors, List<KeyIndex> indexes) {}

  /**
   * Adds the positions that are deleted to {@code deleted}.
   *
   * @param byPosition the rows that are deleted by position and are not looked up
   * @param before those, and the rows that probes before this one have found
   * @return how many rows were found that are not among those
   */
  long run(
      FileScanTask task,
      long sequenceNumber,
      DeletedPositions byPosition,
      DeletedPositions before,
      DeleteSource source,
      DeletedPositions.Builder deleted)
      throws IOException {
    Scan scan = new Scan(this, task, sequenceNumber, byPosition, before, deleted);
    source.readKeys(task, columns, scan);
    DataFile file = task.file();
    if (scan.rowsSeen != file.recordCount()) {
      throw new CorruptDeleteException(
          "Cannot apply equality deletes to "
              + file.location()
              + ": its key columns have "
              + scan.rowsSeen
              + " rows but its record count is "
              + file.recordCount()
              + ". The group is left as it was.");
    }
    return scan.rowsFound;
  }

  private static final class Scan implements DeleteSource.Batches {
    private final FileScanTask task;
    private final long sequenceNumber;
    private final DeletedPositions byPosition;
    private final DeletedPositions before;
    private final DeletedPositions.Builder deleted;
    private final List<Lookup> lookups;
    private final KeyBatch[] keys;
    private final int[] lowers = new int[KeyBatch.ROWS_MAX];
    private long[] asked = new long[0];
    private long[] unresolved = new long[0];
    private long[] live = new long[0];
    private long rowsSeen;
    private long rowsFound;

    Scan(
        EqualityProbe probe,
        FileScanTask task,
        long sequenceNumber,
        DeletedPositions byPosition,
        DeletedPositions before,
        DeletedPositions.Builder deleted) {
      this.task = task;
      this.sequenceNumber = sequenceNumber;
      this.byPosition = byPosition;
      this.before = before;
      this.deleted = deleted;
      this.lookups = probe.lookups;
      this.keys =
          lookups.stream()
              .map(lookup -> new KeyBatch(lookup.fields, lookup.vectors))
              .toArray(KeyBatch[]::new);
    }

    @Override
    public void accept(VectorSchemaRoot batch, long firstPosition) {
      int rows = batch.getRowCount();
      if (firstPosition != rowsSeen) {
        throw new IllegalStateException(
            "Key columns of "
                + task.file().location()
                + " came out of order: row "
                + firstPosition
                + " where row "
                + rowsSeen
                + " was due");
      }
      rowsSeen += rows;
      int words = (rows + 63) >>> 6;
      if (live.length < words) {
        live = new long[words];
        asked = new long[words];
        unresolved = before == byPosition ? asked : new long[words];
      }
      setAll(asked, rows);
      int askedRows = rows - byPosition.clearDeleted(firstPosition, rows, asked);
      System.arraycopy(asked, 0, live, 0, words);
      if (before != byPosition) {
        before.clearDeleted(firstPosition, rows, live);
        System.arraycopy(live, 0, unresolved, 0, words);
      }
      int cleared = 0;
      for (int i = 0; i < keys.length && askedRows > 0; i++) {
        cleared += lookUp(keys[i], lookups.get(i).indexes, batch, rows);
      }
      if (cleared > 0) {
        rowsFound += cleared;
        addFound(firstPosition, words);
      }
    }

    /* Each asks about all rows, also those that another has cleared: which keys have a row does not
    depend on their order. */
    private int lookUp(
        KeyBatch batchKeys, List<KeyIndex> indexes, VectorSchemaRoot batch, int rows) {
      batchKeys.attach(batch);
      int cleared = 0;
      for (int row = 0; row < rows; row += batchKeys.rows()) {
        batchKeys.load(row, rows - row);
        for (KeyIndex index : indexes) {
          cleared += index.clearDeleted(batchKeys, sequenceNumber, row, asked, live);
        }
      }
      return cleared;
    }

    /** Adds the rows that lookups have cleared. */
    private void addFound(long firstPosition, int words) {
      int buffered = 0;
      int upper = (int) (firstPosition >>> 32);
      for (int word = 0; word < words; word++) {
        for (long bits = unresolved[word] & ~live[word]; bits != 0; bits &= bits - 1) {
          long position = firstPosition + ((long) word << 6) + Long.numberOfTrailingZeros(bits);
          if (buffered == lowers.length || (int) (position >>> 32) != upper) {
            deleted.addAll(upper, lowers, buffered);
            buffered = 0;
            upper = (int) (position >>> 32);
          }
          lowers[buffered++] = (int) position;
        }
      }
      deleted.addAll(upper, lowers, buffered);
    }

    private static void setAll(long[] words, int rows) {
      Arrays.fill(words, 0, rows >>> 6, -1L);
      if ((rows & 63) != 0) {
        words[rows >>> 6] = (1L << rows) - 1;
      }
    }
  }
}
