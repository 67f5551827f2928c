package dev.firn.engine.parquet;

import java.util.Arrays;

/**
 * Writes small numbers in Parquet's hybrid of run lengths and bit packing, with the same runs as
 * parquet-java: values go by eights, eight equal ones begin a run, others are packed, at most 63
 * eights under one header. Not thread-safe.
 */
final class RunLengthEncoder {
  private static final int GROUPS_MAX = 63;
  private static final long LOW_BIT_OF_EACH_BYTE = 0x0101010101010101L;
  private static final long GATHER_LOW_BITS = 0x0102040810204080L;

  private final PageBuffer out;
  private int width;
  private int runValue;
  private int runCount; // 0 when no run is open; then pending may have values
  private final int[] pending = new int[8];
  private int pendingCount;
  private int header = -1; // where the header of the packed groups is, -1 when none are open
  private int groups;

  /**
   * @param out is written to
   */
  RunLengthEncoder(PageBuffer out) {
    this.out = out;
  }

  /**
   * Begins to write.
   *
   * @param bitWidth bits of a value, 0 to 32
   */
  void begin(int bitWidth) {
    width = bitWidth;
    runCount = 0;
    pendingCount = 0;
    header = -1;
    groups = 0;
  }

  /** Adds one value many times. */
  void add(int value, int count) {
    int left = count;
    if (runCount > 0) {
      if (value == runValue) {
        runCount += left;
        return;
      }
      endRun();
    }
    while (left > 0) {
      if (pendingCount == 0 && left >= 8) {
        runValue = value;
        runCount = left;
        return;
      }
      int taken = Math.min(left, 8 - pendingCount);
      Arrays.fill(pending, pendingCount, pendingCount + taken, value);
      pendingCount += taken;
      left -= taken;
      if (pendingCount == 8) {
        pendingCount = 0;
        addEight(pending, 0);
        if (runCount > 0 && left > 0) {
          runCount += left; // the eight were all this value
          return;
        }
      }
    }
  }

  /** Adds values. */
  void add(int[] values, int from, int to) {
    int i = from;
    while (i < to) {
      if (runCount > 0) {
        int start = i;
        while (i < to && values[i] == runValue) {
          i++;
        }
        runCount += i - start;
        if (i == to) {
          return;
        }
        endRun();
      }
      if (pendingCount > 0 || to - i < 8) {
        pending[pendingCount++] = values[i++];
        if (pendingCount == 8) {
          pendingCount = 0;
          addEight(pending, 0);
        }
      } else {
        addEight(values, i);
        i += 8;
      }
    }
  }

  /** Adds levels. */
  void add(byte[] levels, int from, int to) {
    int i = from;
    while (i < to) {
      if (runCount > 0) {
        int start = i;
        while (i < to && levels[i] == runValue) {
          i++;
        }
        runCount += i - start;
        if (i == to) {
          return;
        }
        endRun();
      }
      if (pendingCount > 0 || to - i < 8) {
        pending[pendingCount++] = levels[i++];
        if (pendingCount == 8) {
          pendingCount = 0;
          addEight(pending, 0);
        }
        continue;
      }
      long eight = (long) PageBuffer.LONG.get(levels, i);
      if (eight == (eight & 0xFF) * LOW_BIT_OF_EACH_BYTE) {
        runValue = levels[i];
        runCount = 8;
      } else if (width == 1) {
        openGroup();
        byte[] bytes = out.bytes();
        int at = out.size();
        bytes[at] = (byte) (eight * GATHER_LOW_BITS >>> 56);
        out.size(at + 1);
      } else {
        for (int k = 0; k < 8; k++) {
          pending[k] = levels[i + k];
        }
        pack(pending, 0);
      }
      i += 8;
    }
  }

  private void addEight(int[] v, int i) {
    int first = v[i];
    if (first == v[i + 1]
        && first == v[i + 2]
        && first == v[i + 3]
        && first == v[i + 4]
        && first == v[i + 5]
        && first == v[i + 6]
        && first == v[i + 7]) {
      runValue = first;
      runCount = 8;
    } else {
      pack(v, i);
    }
  }

  /* Room for one group more, under the open header or a new one. */
  private void openGroup() {
    if (groups >= GROUPS_MAX) {
      endGroups();
    }
    out.reserve(1 + width);
    if (header < 0) {
      header = out.size();
      out.size(header + 1);
    }
    groups++;
  }

  private void pack(int[] v, int i) {
    openGroup();
    byte[] bytes = out.bytes();
    int at = out.size();
    int w = width;
    if (w <= 16) {
      long low = v[i] | (long) v[i + 1] << w | (long) v[i + 2] << 2 * w | (long) v[i + 3] << 3 * w;
      long high =
          v[i + 4] | (long) v[i + 5] << w | (long) v[i + 6] << 2 * w | (long) v[i + 7] << 3 * w;
      int half = 4 * w;
      if (w == 16) {
        PageBuffer.LONG.set(bytes, at, low);
        PageBuffer.LONG.set(bytes, at + 8, high);
      } else {
        PageBuffer.LONG.set(bytes, at, low | high << half);
        if (w > 8) {
          PageBuffer.LONG.set(bytes, at + 8, high >>> (64 - half));
        }
      }
    } else {
      long rest = 0;
      int bits = 0;
      int position = at;
      for (int k = 0; k < 8; k++) {
        rest |= (v[i + k] & 0xFFFFFFFFL) << bits;
        bits += w;
        if (bits >= 32) {
          PageBuffer.INT.set(bytes, position, (int) rest);
          position += 4;
          rest >>>= 32;
          bits -= 32;
        }
      }
      PageBuffer.INT.set(bytes, position, (int) rest);
    }
    out.size(at + w);
  }

  private void endGroups() {
    if (header >= 0) {
      out.bytes()[header] = (byte) (groups << 1 | 1);
      header = -1;
      groups = 0;
    }
  }

  private void endRun() {
    endGroups();
    out.putUnsignedVarInt(runCount << 1);
    int value = runValue;
    for (int bits = width; bits > 0; bits -= 8) {
      out.putByte(value);
      value >>>= 8;
    }
    runCount = 0;
  }

  /** Writes what is pending; to be followed by {@link #begin}. */
  void end() {
    if (runCount > 0) {
      endRun();
    } else if (pendingCount > 0) {
      Arrays.fill(pending, pendingCount, 8, 0);
      pendingCount = 0;
      pack(pending, 0);
    }
    endGroups();
  }
}
