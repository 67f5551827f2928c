package dev.firn.engine;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.iceberg.DataFile;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where each row of a group's outputs came from: the map from old positions to new ones by which
 * deletes that landed on the inputs meanwhile are carried over to the outputs (C5).
 *
 * <p>An origin is an input's ordinal in the group and a position in it, as one number. Origins are
 * kept in the order the rows were written, as runs of neighbours: some bytes for a whole file that
 * is bin-packed, five or six for a row that is sorted. They stay in memory while they are few and
 * go to the scratch directory otherwise, as do those of finished groups that wait for their commit
 * when together they are many. Where scratch fails the map is {@linkplain #lost() lost} and the
 * group goes on without: then it is redone where its deletes could have been carried over.
 *
 * <p>Written by one thread, then read by one. Closing removes the scratch files.
 */
final class RowOrigins implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RowOrigins.class);

  /** Bits of a position; the bits above are the input's ordinal. */
  private static final int POSITION_BITS = 40;

  static final int INPUTS_MAX = 1 << (Long.SIZE - 1 - POSITION_BITS);

  private static final int MEMORY_BYTES_MIN = 256;
  private static final int MEMORY_BYTES_MAX = 64 << 10;
  private static final int VARINT_BYTES_MAX = 10;

  private final Path scratch;
  private final String name;
  private final MemoryPeaks.Gauge memoryHeld;
  private final long memoryBytesMax;
  private final List<Log> logs = new ArrayList<>();
  private boolean lost;

  /**
   * @param scratch an existing directory
   * @param name begins the names of files there; no other origins have it
   * @param memoryHeld counts what these and others hold
   * @param memoryBytesMax what all of them may hold when a group is finished
   */
  RowOrigins(Path scratch, String name, MemoryPeaks.Gauge memoryHeld, long memoryBytesMax) {
    this.scratch = scratch;
    this.name = name;
    this.memoryHeld = memoryHeld;
    this.memoryBytesMax = memoryBytesMax;
  }

  /** Origins of a group whose deletes can never be carried over: none is kept. */
  static RowOrigins none() {
    RowOrigins origins = new RowOrigins(Path.of(""), "", new MemoryPeaks.Gauge(), 0);
    origins.lost = true;
    return origins;
  }

  static long origin(int input, long position) {
    return (long) input << POSITION_BITS | position;
  }

  static int input(long origin) {
    return (int) (origin >>> POSITION_BITS);
  }

  static long position(long origin) {
    return origin & (1L << POSITION_BITS) - 1;
  }

  /** A log for the rows of one output, which are written to files one after another. */
  Log log() {
    Log log = new Log(scratch.resolve(name + "-" + logs.size()));
    logs.add(log);
    return log;
  }

  /** Whether some origins could not be kept. */
  boolean lost() {
    return lost;
  }

  /** Takes a run of rows: neighbours in an input that are neighbours in an output. */
  @FunctionalInterface
  interface Runs {
    /**
     * @param output the file that the rows are in
     * @param outputPosition the position of the first in it
     * @param origin the origin of the first; those of the others follow it
     */
    void accept(DataFile output, long outputPosition, long origin, long rows) throws IOException;
  }

  /**
   * Gives the runs of all outputs, in the order written.
   *
   * @throws IOException if scratch cannot be read
   */
  void forEachRun(Runs runs) throws IOException {
    for (Log log : logs) {
      log.forEachRun(runs);
    }
  }

  @Override
  public void close() {
    lost = true;
    logs.forEach(Log::close);
  }

  /** The origins of rows of one output. */
  final class Log {
    private final Path file;
    private byte[] buffer = new byte[0];
    private int used;
    private @Nullable OutputStream spilled; // null while all is in the buffer, and after finish
    private boolean onDisk;
    private List<DataFile> files = List.of();

    /* The run that is not written yet, and the end of the one before it. */
    private long runStart;
    private long runRows;
    private long lastEnd;

    private Log(Path file) {
      this.file = file;
    }

    /**
     * Adds the live rows of a batch whose rows are neighbours.
     *
     * @param first the origin of the batch's first row
     */
    void addNeighbours(long first, long[] live, int rows) {
      int row = 0;
      while (row < rows) {
        int from = nextSet(live, row, rows);
        int to = nextClear(live, from, rows);
        if (from < to) {
          add(first + from, to - from);
        }
        row = to;
      }
    }

    /**
     * Adds the live rows of a batch.
     *
     * @param origins one for each row of the batch, eight bytes each
     */
    void addEach(ArrowBuf origins, long[] live, int rows) {
      for (int row = nextSet(live, 0, rows); row < rows; row = nextSet(live, row + 1, rows)) {
        add(origins.getLong((long) row * Long.BYTES), 1);
      }
    }

    private void add(long origin, long rows) {
      if (lost) {
        return;
      }
      if (runRows > 0 && origin == runStart + runRows) {
        runRows += rows;
      } else {
        endRun();
        runStart = origin;
        runRows = rows;
      }
    }

    private void endRun() {
      if (runRows == 0) {
        return;
      }
      if (buffer.length - used < 2 * VARINT_BYTES_MAX) {
        makeRoom();
      }
      long step = runStart - lastEnd;
      put(step << 1 ^ step >> 63);
      put(runRows);
      lastEnd = runStart + runRows;
    }

    private void put(long value) {
      long rest = value;
      while ((rest & ~0x7FL) != 0) {
        buffer[used++] = (byte) (rest & 0x7F | 0x80);
        rest >>>= 7;
      }
      buffer[used++] = (byte) rest;
    }

    private void makeRoom() {
      if (buffer.length < MEMORY_BYTES_MAX) {
        hold(Math.max(MEMORY_BYTES_MIN, 2 * buffer.length));
      } else {
        spill();
      }
    }

    private void hold(int bytes) {
      memoryHeld.add(bytes - buffer.length);
      buffer = Arrays.copyOf(buffer, bytes);
    }

    private void spill() {
      try {
        if (spilled == null) {
          spilled = Files.newOutputStream(file);
          onDisk = true;
        }
        spilled.write(buffer, 0, used);
      } catch (IOException e) {
        LOG.warn(
            "Cannot write row origins to {}: deletes that land meanwhile cannot be carried over",
            file,
            e);
        lost = true;
      }
      used = 0;
    }

    /**
     * Says into which files the rows went.
     *
     * @param written in the order of their rows; together they have all rows that were added
     */
    void finish(List<DataFile> written) {
      endRun();
      runRows = 0;
      files = List.copyOf(written);
      if (!lost && used > 0 && spilled == null && memoryHeld.held() > memoryBytesMax) {
        spill();
      }
      OutputStream out = spilled;
      spilled = null;
      if (out != null) {
        try (out) {
          out.write(buffer, 0, used);
        } catch (IOException e) {
          LOG.warn("Cannot write row origins to {}", file, e);
          lost = true;
        }
        used = 0;
      }
      hold(used);
    }

    private void forEachRun(Runs runs) throws IOException {
      try (InputStream in =
          onDisk
              ? new BufferedInputStream(Files.newInputStream(file), MEMORY_BYTES_MAX)
              : new ByteArrayInputStream(buffer, 0, used)) {
        long end = 0;
        long origin = 0;
        long left = 0;
        for (DataFile output : files) {
          long position = 0;
          while (position < output.recordCount()) {
            if (left == 0) {
              long step = varint(in);
              origin = end + (step >>> 1 ^ -(step & 1));
              left = varint(in);
              end = origin + left;
            }
            long rows = Math.min(left, output.recordCount() - position);
            runs.accept(output, position, origin, rows);
            position += rows;
            origin += rows;
            left -= rows;
          }
        }
        if (left != 0 || in.read() >= 0) {
          throw new IllegalStateException("There are origins of more rows than were written");
        }
      }
    }

    private static long varint(InputStream in) throws IOException {
      long value = 0;
      for (int shift = 0; ; shift += 7) {
        int next = in.read();
        if (next < 0) {
          throw new EOFException("There are origins of fewer rows than were written");
        }
        value |= (long) (next & 0x7F) << shift;
        if ((next & 0x80) == 0) {
          return value;
        }
      }
    }

    private void close() {
      used = 0;
      hold(0);
      files = List.of();
      OutputStream out = spilled;
      spilled = null;
      try {
        if (out != null) {
          out.close();
        }
        if (onDisk) {
          onDisk = false;
          Files.deleteIfExists(file);
        }
      } catch (IOException e) {
        LOG.warn("Cannot remove scratch file {}", file, e);
      }
    }
  }

  private static int nextSet(long[] live, int from, int rows) {
    for (int row = from; row < rows; ) {
      long bits = live[row >>> 6] >>> row;
      if (bits != 0) {
        return row + Long.numberOfTrailingZeros(bits);
      }
      row = (row | 63) + 1;
    }
    return rows;
  }

  private static int nextClear(long[] live, int from, int rows) {
    for (int row = from; row < rows; ) {
      long bits = ~live[row >>> 6] >>> row;
      if (bits != 0) {
        return Math.min(rows, row + Long.numberOfTrailingZeros(bits));
      }
      row = (row | 63) + 1;
    }
    return rows;
  }
}
