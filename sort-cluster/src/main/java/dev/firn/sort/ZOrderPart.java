package dev.firn.sort;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * The z-value of some columns as Iceberg's Spark procedure makes it (O12): each column as bytes
 * whose unsigned order is the values', their bits interleaved, the result cut. A null is all zeros.
 */
final class ZOrderPart implements KeyPart {

  /** What all columns give together, at most. */
  static final int BYTES_MAX = 1 << 16;

  /** The bytes of every value that is not of variable length. */
  private static final int PRIMITIVE_BYTES = 8;

  /* Rows are taken in blocks, so that what is interleaved stays in the processor's cache. */
  private static final int BLOCK_ROWS_MAX = 1024;
  private static final int BLOCK_ROWS_MIN = 16;
  private static final int BLOCK_WORDS = 1 << 15;

  /** How a value becomes bytes. */
  private enum Kind {
    INT,
    LONG,
    SECONDS,
    FLOAT,
    DOUBLE,
    BOOLEAN,
    TEXT,
    BINARY,
    FIXED,
    UUID
  }

  /**
   * A column of the curve.
   *
   * @param bytes what it gives
   */
  private record Column(ColumnPath path, Kind kind, int bytes) {}

  /**
   * Neighbouring bytes of some columns, interleaved in one word.
   *
   * @param from the first of the bytes in each column
   * @param bytes how many bytes of each column
   * @param offset where the interleaved bytes go
   * @param outBytes how many of them
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Step(int from, int bytes, int[] columns, int offset, int outBytes) {}

  private final List<Column> columns;
  private final List<Step> steps = new ArrayList<>();
  private final int fixedBytes;
  private final int columnWords;

  private ZOrderPart(List<Column> columns, int fixedBytes) {
    this.columns = columns;
    this.fixedBytes = fixedBytes;
    int read = 0;
    for (int offset = 0; offset < fixedBytes; ) {
      Step step = step(read, offset);
      steps.add(step);
      read += step.bytes;
      offset += step.outBytes;
    }
    this.columnWords = (read + 7) >>> 3;
  }

  static ZOrderPart of(
      Schema schema, List<String> names, int varLengthContribution, int maxOutputSize) {
    if (varLengthContribution <= 0) {
      throw new IllegalArgumentException(
          "var-length-contribution must be positive but was " + varLengthContribution);
    }
    if (maxOutputSize <= 0) {
      throw new IllegalArgumentException(
          "max-output-size must be positive but was " + maxOutputSize);
    }
    List<Column> columns = new ArrayList<>();
    long bytes = 0;
    for (ColumnPath path : ColumnPath.ofNames(schema, names, "z-order by")) {
      Kind kind = kind(path);
      boolean variable = kind.compareTo(Kind.TEXT) >= 0;
      Column column = new Column(path, kind, variable ? varLengthContribution : PRIMITIVE_BYTES);
      columns.add(column);
      bytes += column.bytes;
    }
    bytes = Math.min(bytes, maxOutputSize);
    if (bytes > BYTES_MAX) {
      throw new IllegalArgumentException(
          "Cannot z-order by "
              + names
              + ": a z-value would have "
              + bytes
              + " bytes and the most is "
              + BYTES_MAX
              + ". Lower var-length-contribution ("
              + varLengthContribution
              + ") or max-output-size.");
    }
    return new ZOrderPart(columns, (int) bytes);
  }

  /** What Spark makes of a type; Spark has no nanoseconds and no time, and refuses decimals. */
  private static Kind kind(ColumnPath path) {
    switch (path.type().typeId()) {
      case BOOLEAN:
        return Kind.BOOLEAN;
      case INTEGER:
      case DATE:
        return Kind.INT;
      case LONG:
        return Kind.LONG;
      case TIMESTAMP:
        // Spark casts a timestamp with zone to a number, which is one of seconds.
        return ((Types.TimestampType) path.type()).shouldAdjustToUTC() ? Kind.SECONDS : Kind.LONG;
      case FLOAT:
        return Kind.FLOAT;
      case DOUBLE:
        return Kind.DOUBLE;
      case STRING:
        return Kind.TEXT;
      case UUID:
        return Kind.UUID;
      case BINARY:
        return Kind.BINARY;
      case FIXED:
        return Kind.FIXED;
      default:
        throw new IllegalArgumentException(
            "Cannot z-order by "
                + path.description()
                + " of type "
                + path.type()
                + ": Iceberg's z-order is not defined for it. Leave the column out, or let the"
                + " curve run over ranks, which takes every primitive type.");
    }
  }

  private Step step(int from, int offset) {
    int[] with = new int[columns.size()];
    int count = 0;
    int end = Integer.MAX_VALUE;
    for (int c = 0; c < with.length; c++) {
      if (columns.get(c).bytes > from) {
        with[count++] = c;
        end = Math.min(end, columns.get(c).bytes);
      }
    }
    // As many bytes as a word takes, a power of two of them, within one word of each column.
    int bytes = 1;
    while (2 * bytes * count <= 8 && (from & (2 * bytes - 1)) == 0 && from + 2 * bytes <= end) {
      bytes *= 2;
    }
    int outBytes = Math.min(bytes * count, fixedBytes - offset);
    return new Step(from, bytes, Arrays.copyOf(with, count), offset, outBytes);
  }

  @Override
  public int fixedBytes() {
    return fixedBytes;
  }

  @Override
  public boolean variable() {
    return false;
  }

  @Override
  public Rows of(VectorSchemaRoot batch, int[] rows, int count) {
    List<ColumnPath.Leaf> leaves = new ArrayList<>();
    for (Column column : columns) {
      leaves.add(column.path.leaf(batch, rows, count));
    }
    return (cursors, scratch) -> write(leaves, rows, count, cursors);
  }

  private void write(List<ColumnPath.Leaf> leaves, int[] rows, int count, long[] cursors) {
    int most = BLOCK_WORDS / (columnWords * columns.size());
    int block = Math.max(BLOCK_ROWS_MIN, Math.min(BLOCK_ROWS_MAX, most));
    long[][] words = new long[columns.size()][columnWords * block];
    long[] interleaved = new long[block];
    for (int from = 0; from < count; from += block) {
      int n = Math.min(block, count - from);
      for (int c = 0; c < words.length; c++) {
        ColumnPath.Leaf leaf = leaves.get(c);
        Column column = columns.get(c);
        read(column, leaf.vector(), rows, leaf.nulls(), from, n, words[c], block);
        clearNulls(leaf.nulls(), from, n, words[c], block);
      }
      for (Step step : steps) {
        if (step.columns.length > 8) {
          interleaveBits(step, words, block, n, cursors, from);
          continue;
        }
        int start = (step.from >>> 3) * block;
        int shift = 64 - 8 * ((step.from & 7) + step.bytes);
        Arrays.fill(interleaved, 0, n, 0);
        int width = step.columns.length;
        for (int c = 0; c < width; c++) {
          BitInterleave.add(
              words[step.columns[c]], start, shift, step.bytes, width, c, n, interleaved);
        }
        int room = fixedBytes - step.offset;
        int up = 64 - 8 * step.bytes * width;
        BitInterleave.put(interleaved, up, step.outBytes, room, n, cursors, from, step.offset);
      }
    }
    for (int i = 0; i < count; i++) {
      cursors[i] += fixedBytes;
    }
  }

  /** One byte of more columns than a word takes, bit by bit. */
  private static void interleaveBits(
      Step step, long[][] words, int block, int n, long[] cursors, int from) {
    int width = step.columns.length;
    int start = (step.from >>> 3) * block;
    int first = 63 - 8 * (step.from & 7);
    for (int i = 0; i < n; i++) {
      long to = cursors[from + i] + step.offset;
      int bit = first;
      int c = 0;
      for (int out = 0; out < step.outBytes; out++) {
        int value = 0;
        for (int taken = 0; taken < 8; taken++) {
          value = value << 1 | (int) (words[step.columns[c]][start + i] >>> bit & 1);
          if (++c == width) {
            c = 0;
            bit--;
          }
        }
        MemoryUtil.putByte(to + out, (byte) value);
      }
    }
  }

  private static void clearNulls(
      boolean @Nullable [] nulls, int from, int n, long[] words, int block) {
    if (nulls == null) {
      return;
    }
    for (int start = 0; start < words.length; start += block) {
      for (int i = 0; i < n; i++) {
        words[start + i] = nulls[from + i] ? 0 : words[start + i];
      }
    }
  }

  /**
   * Reads values of a block of rows as bytes in words, most significant first: the first word of
   * each row, then, {@code block} further, the second of each. Rows that are null get anything.
   */
  private void read(
      Column column,
      FieldVector leaf,
      int[] rows,
      boolean @Nullable [] nulls,
      int from,
      int n,
      long[] words,
      int block) {
    switch (column.kind) {
      case INT:
        KeyColumn.readInts(leaf, rows, from, n, words);
        flipSigns(n, words);
        return;
      case LONG:
        KeyColumn.readLongs(leaf, rows, from, n, words);
        flipSigns(n, words);
        return;
      case SECONDS:
        KeyColumn.readLongs(leaf, rows, from, n, words);
        for (int i = 0; i < n; i++) {
          words[i] = Math.floorDiv(words[i], 1_000_000L);
        }
        flipSigns(n, words);
        return;
      case FLOAT:
        KeyColumn.readInts(leaf, rows, from, n, words);
        for (int i = 0; i < n; i++) {
          words[i] = ordered(Float.intBitsToFloat((int) words[i]));
        }
        return;
      case DOUBLE:
        KeyColumn.readLongs(leaf, rows, from, n, words);
        for (int i = 0; i < n; i++) {
          words[i] = ordered(Double.longBitsToDouble(words[i]));
        }
        return;
      case BOOLEAN:
        KeyColumn.readBits(leaf, rows, from, n, words);
        for (int i = 0; i < n; i++) {
          words[i] *= 0x81L << 56;
        }
        return;
      case TEXT:
      case BINARY:
        readVariable(column, leaf, rows, nulls, from, n, words, block);
        return;
      case FIXED:
        readFixed(column, leaf, rows, from, n, words, block);
        return;
      case UUID:
        readUuids(leaf, column.bytes, rows, from, n, words, block);
        return;
    }
    throw new AssertionError(column.kind);
  }

  private static void flipSigns(int n, long[] words) {
    for (int i = 0; i < n; i++) {
      words[i] ^= Long.MIN_VALUE;
    }
  }

  private static long ordered(double value) {
    long bits = Double.doubleToLongBits(value);
    return bits ^ (bits >> 63 | Long.MIN_VALUE);
  }

  private void readVariable(
      Column column,
      FieldVector leaf,
      int[] rows,
      boolean @Nullable [] nulls,
      int from,
      int n,
      long[] words,
      int block) {
    VariableBytes bytes = VariableBytes.of(leaf);
    boolean text = column.kind == Kind.TEXT;
    for (int i = 0; i < n; i++) {
      if (nulls != null && nulls[from + i]) {
        continue;
      }
      long at = bytes.address(rows[from + i]);
      int length = bytes.length(rows[from + i]);
      int kept = length <= column.bytes ? length : text ? kept(at, column.bytes) : column.bytes;
      for (int word = 0, done = 0; word < columnWords; word++, done += 8) {
        words[word * block + i] = VariableBytes.word(at + done, kept - done);
      }
    }
  }

  /** How many bytes of a longer text Java's encoder fits into so many: no part of a character. */
  private static int kept(long text, int bytes) {
    int kept = bytes;
    while (kept > 0 && (MemoryUtil.getByte(text + kept) & 0xC0) == 0x80) {
      kept--;
    }
    return kept;
  }

  private void readFixed(
      Column column, FieldVector leaf, int[] rows, int from, int n, long[] words, int block) {
    int length = ((Types.FixedType) column.path.type()).length();
    long data = KeyColumn.dataOf(leaf, length);
    int kept = Math.min(length, column.bytes);
    for (int i = 0; i < n; i++) {
      long at = data + (long) rows[from + i] * length;
      for (int word = 0, done = 0; word < columnWords; word++, done += 8) {
        words[word * block + i] = VariableBytes.word(at + done, kept - done);
      }
    }
  }

  /** Spark has UUIDs as text. */
  private void readUuids(
      FieldVector leaf, int bytes, int[] rows, int from, int n, long[] words, int block) {
    long data = KeyColumn.dataOf(leaf, 16);
    for (int i = 0; i < n; i++) {
      long at = data + ((long) rows[from + i] << 4);
      for (int word = 0; word < columnWords; word++) {
        long letters = 0;
        for (int letter = 8 * word; letter < 8 * word + 8; letter++) {
          letters = letters << 8 | (letter < bytes ? uuidLetter(at, letter) : 0);
        }
        words[word * block + i] = letters;
      }
    }
  }

  private static int uuidLetter(long uuid, int letter) {
    int dashes = letter <= 8 ? 0 : letter >= 24 ? 4 : (letter - 4) / 5;
    if (letter == 8 || letter == 13 || letter == 18 || letter == 23) {
      return '-';
    }
    if (letter >= 36) {
      return 0;
    }
    int digit = letter - dashes;
    int pair = MemoryUtil.getByte(uuid + (digit >>> 1));
    int value = pair >>> (4 - 4 * (digit & 1)) & 0xF;
    return value < 10 ? '0' + value : 'a' + value - 10;
  }
}
