package dev.firn.sort;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.jspecify.annotations.Nullable;

/**
 * Samples the keys of rows, shown batch after batch, to cut them into ranges of about as many rows
 * each. The sample is uniform over all rows shown, its memory bounded; the same batches and seed
 * give the same one. Not thread-safe.
 */
public final class KeySampler {

  /** The keys of a sample, at most. Long keys lower it. */
  public static final int KEYS_MAX = 1 << 16;

  /** The heap that a sample takes, about, at most. */
  public static final long BYTES_MAX = 16L << 20;

  /** Of longer keys only the beginning is kept: no range begins behind it. */
  static final int KEY_BYTES_MAX = 1024;

  private static final int SLOT_BYTES = 36; // two references, a priority and an array's header

  /* How many keys are made at once, so that long ones need little memory. */
  private static final int PIECE_ROWS = 4096;

  private final SortKeys keys;
  private final BufferAllocator allocator;
  private final long bytesMax;
  private final Reservoir reservoir;
  private byte[] @Nullable [] sample = {}; // by slot
  private long rows;
  private long bytes;

  /**
   * @param allocator for memory that is released before {@link #add} returns
   */
  public KeySampler(SortKeys keys, BufferAllocator allocator, long seed) {
    this(keys, allocator, seed, KEYS_MAX, BYTES_MAX);
  }

  KeySampler(SortKeys keys, BufferAllocator allocator, long seed, int keysMax, long bytesMax) {
    this.keys = keys;
    this.allocator = allocator;
    this.bytesMax = bytesMax;
    this.reservoir = new Reservoir(keysMax, seed);
  }

  /**
   * Shows the live rows of a batch.
   *
   * @param live bit 0 of word 0 is row 0; bits past the last row are clear
   * @param liveRows how many bits are set
   */
  public void add(VectorSchemaRoot batch, long[] live, int liveRows) {
    int[] selected = LiveRows.of(batch, live, liveRows);
    rows += liveRows;
    int[] chosen = new int[liveRows];
    int[] slots = new int[liveRows];
    int count = reservoir.offer(liveRows, chosen, slots);
    for (int from = 0; from < count; from += PIECE_ROWS) {
      int n = Math.min(PIECE_ROWS, count - from);
      int[] piece = new int[n];
      for (int i = 0; i < n; i++) {
        piece[i] = selected[chosen[from + i]];
      }
      RowKeys encoded = keys.encode(batch, piece, n, allocator);
      for (int i = 0; i < n; i++) {
        put(slots[from + i], encoded.bytes(), encoded.offsets()[i], encoded.offsets()[i + 1]);
      }
    }
    while (bytes > bytesMax && reservoir.size() > 1) {
      for (int slot : reservoir.halve()) {
        release(slot);
      }
    }
  }

  private void put(int slot, byte[] all, int from, int to) {
    if (slot >= sample.length) {
      sample = Arrays.copyOf(sample, Math.max(slot + 1, 2 * sample.length));
    }
    release(slot);
    byte[] key = Arrays.copyOfRange(all, from, Math.min(to, from + KEY_BYTES_MAX));
    sample[slot] = key;
    bytes += SLOT_BYTES + key.length;
  }

  private void release(int slot) {
    byte[] key = sample[slot];
    if (key != null) {
      bytes -= SLOT_BYTES + key.length;
      sample[slot] = null;
    }
  }

  /** How many rows were shown. */
  public long rows() {
    return rows;
  }

  /** How many keys are in the sample. */
  int sampled() {
    return reservoir.size();
  }

  /**
   * Cuts all keys into ranges of about as many of the rows shown each.
   *
   * @param count how many ranges are wanted; there are fewer where keys are equal to too many
   *     others, which no cut parts
   * @throws IllegalArgumentException if the count is not positive
   */
  public KeyRanges ranges(int count) {
    if (count <= 0) {
      throw new IllegalArgumentException("count must be positive but was " + count);
    }
    List<byte[]> sorted = new ArrayList<>();
    for (int slot : reservoir.slots()) {
      byte[] key = sample[slot];
      if (key != null) {
        sorted.add(key);
      }
    }
    sorted.sort(Arrays::compareUnsigned);
    int size = sorted.size();
    List<byte[]> cuts = new ArrayList<>();
    List<Double> shares = new ArrayList<>();
    int last = 0;
    int least = Math.max(1, size / count / 4); // no sliver beside a frequent key
    for (int i = 1; i < count; i++) {
      int cut = nearestCut(sorted, (int) ((long) i * size / count));
      if (cut - last >= least && size - cut >= least) {
        cuts.add(sorted.get(cut));
        shares.add((double) (cut - last) / size);
        last = cut;
      }
    }
    shares.add(size == 0 ? 1 : (double) (size - last) / size);
    return new KeyRanges(
        cuts.toArray(new byte[0][]), shares.stream().mapToDouble(Double::doubleValue).toArray());
  }

  /** The place nearest to {@code wanted} where a key differs from the one before. */
  private static int nearestCut(List<byte[]> sorted, int wanted) {
    int size = sorted.size();
    for (int away = 0; away <= size; away++) {
      if (isCut(sorted, wanted - away)) {
        return wanted - away;
      }
      if (isCut(sorted, wanted + away)) {
        return wanted + away;
      }
    }
    return size;
  }

  private static boolean isCut(List<byte[]> sorted, int at) {
    return at == 0
        || at == sorted.size()
        || (at > 0 && at < sorted.size() && !Arrays.equals(sorted.get(at - 1), sorted.get(at)));
  }
}
