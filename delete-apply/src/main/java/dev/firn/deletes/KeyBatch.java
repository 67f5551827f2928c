package dev.firn.deletes;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.types.Types;

/**
 * The equality keys of a few rows, in one of two forms: longs, if the key is one column whose
 * values fit in a long, or encoded bytes. Reused from rows to rows. Not thread-safe.
 */
final class KeyBatch {
  /** Rows loaded at once: their keys should stay in the processor's cache. */
  static final int ROWS_MAX = 1024;

  private static final long VALUE_BYTES_MAX = 1L << 26;

  private final KeyColumn[] columns;
  private final int[] vectors;
  private final boolean longs;
  private final int[] hashes = new int[ROWS_MAX];
  private final long[] longKeys;
  private final int[] offsets = new int[ROWS_MAX + 1];
  private final int[] cursors = new int[ROWS_MAX];
  private final int[] candidates = new int[ROWS_MAX];
  private final long[] slots = new long[ROWS_MAX];
  private byte[] bytes = new byte[0];
  private int rows;
  private boolean hashed;
  private long min;
  private long max;

  /**
   * @param fields the columns of the key, by ascending field id
   * @param vectors where in a batch the vector of each column is
   */
  KeyBatch(List<Types.NestedField> fields, int[] vectors) {
    List<KeyColumn> keyColumns = new ArrayList<>();
    for (Types.NestedField field : fields) {
      keyColumns.add(KeyColumn.of(field));
    }
    this.columns = keyColumns.toArray(new KeyColumn[0]);
    this.vectors = vectors.clone();
    this.longs = longKeys(fields);
    this.longKeys = new long[longs ? ROWS_MAX : 0];
  }

  /** Whether keys of these columns take the form of longs. */
  static boolean longKeys(List<Types.NestedField> fields) {
    return fields.size() == 1 && KeyColumn.of(fields.get(0)).fitsInLong();
  }

  /** The bytes of the value of each of these columns in a key, or less than 0 where they vary. */
  static int[] widths(List<Types.NestedField> fields) {
    return fields.stream().mapToInt(field -> KeyColumn.of(field).width()).toArray();
  }

  /** Turns to another batch. */
  void attach(VectorSchemaRoot batch) {
    for (int i = 0; i < columns.length; i++) {
      columns[i].attach(batch.getVector(vectors[i]));
    }
  }

  /**
   * Loads keys of the attached batch, from one row on.
   *
   * @return how many rows were loaded, at least one and at most {@code max}
   */
  int load(int from, int max) {
    int count = Math.min(max, ROWS_MAX);
    while (count > 1 && valueBytes(from, count) > VALUE_BYTES_MAX) {
      count >>>= 1;
    }
    rows = count;
    for (KeyColumn column : columns) {
      column.load(from, count);
    }
    hashed = false;
    if (longs) {
      columns[0].copyTo(longKeys, count);
      findBounds();
    } else {
      encode();
    }
    return count;
  }

  private void findBounds() {
    long lower = Long.MAX_VALUE;
    long upper = Long.MIN_VALUE;
    for (int i = 0; i < rows; i++) {
      lower = Math.min(lower, longKeys[i]);
      upper = Math.max(upper, longKeys[i]);
    }
    min = lower;
    max = upper;
  }

  private long valueBytes(int from, int count) {
    long total = 0;
    for (KeyColumn column : columns) {
      total += column.valueBytes(from, count);
    }
    return total;
  }

  /* Keys are padded with zeros to whole words, so that hashing and comparing go by words. */
  private void encode() {
    for (int i = 0; i < rows; i++) {
      cursors[i] = 0;
    }
    for (KeyColumn column : columns) {
      column.addLengths(cursors, rows);
    }
    long total = 0;
    for (int i = 0; i < rows; i++) {
      offsets[i] = (int) total;
      total += (cursors[i] + 7L) & ~7L;
      cursors[i] = offsets[i];
    }
    int size = Math.toIntExact(total);
    offsets[rows] = size;
    if (bytes.length < size) {
      bytes = new byte[Math.max(size, (int) Math.min(2L * bytes.length, VALUE_BYTES_MAX))];
    }
    for (int i = 0; i < rows; i++) {
      KeyColumn.LONG.set(bytes, offsets[i + 1] - Long.BYTES, 0L);
    }
    for (KeyColumn column : columns) {
      column.write(bytes, cursors, rows);
    }
  }

  int rows() {
    return rows;
  }

  /** Whether any loaded key is in the slice. */
  boolean anyIn(HashSlice slice) {
    int[] hashes = hashes();
    for (int i = 0; i < rows; i++) {
      boolean isNull = longs && isNull(i);
      if (isNull ? slice.holdsNulls() : slice.holds(hashes[i])) {
        return true;
      }
    }
    return false;
  }

  /** The 32-bit hash of each key; of a null that is kept as a long, anything. */
  int[] hashes() {
    if (!hashed) {
      for (int i = 0; i < rows; i++) {
        hashes[i] = longs ? hash(longKeys[i]) : hash(bytes, offsets[i], offsets[i + 1]);
      }
      hashed = true;
    }
    return hashes;
  }

  long[] longKeys() {
    return longKeys;
  }

  /** A lower bound of keys in the form of longs. */
  long min() {
    return min;
  }

  /** An upper bound of keys in the form of longs. */
  long max() {
    return max;
  }

  /** Whether any key may be null; asked of keys in the form of longs. */
  boolean mayHaveNulls() {
    return columns[0].hasNulls();
  }

  /** Whether the key is null; asked of keys in the form of longs. */
  boolean isNull(int index) {
    return columns[0].isNull(index);
  }

  byte[] bytes() {
    return bytes;
  }

  /** Where in {@link #bytes()} each key begins, and after the last one, where it ends. */
  int[] offsets() {
    return offsets;
  }

  /** Room of a look-up: a place among the keys for each row. */
  int[] candidates() {
    return candidates;
  }

  /** Room of a look-up: a slot of an index for each row. */
  long[] slots() {
    return slots;
  }

  static int hash(long key) {
    return (int) (mix(key) >>> 32);
  }

  private static int hash(byte[] bytes, int from, int to) {
    long hash = to - from;
    for (int at = from; at < to; at += Long.BYTES) {
      long word = (long) KeyColumn.LONG.get(bytes, at) * 0x87C37B91114253D5L;
      hash ^= Long.rotateLeft(word, 31) * 0x4CF5AD432745937FL;
      hash = Long.rotateLeft(hash, 27) * 5 + 0x52DCE729L;
    }
    return (int) (mix(hash) >>> 32);
  }

  private static long mix(long value) {
    long mixed = (value ^ value >>> 33) * 0xFF51AFD7ED558CCDL;
    mixed = (mixed ^ mixed >>> 33) * 0xC4CEB9FE1A85EC53L;
    return mixed ^ mixed >>> 33;
  }
}
