package dev.firn.sort;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import java.nio.ByteBuffer;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.zip.CRC32C;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;

/**
 * Writes blocks to runs: the length of each buffer, then the buffers as they are to lie in memory;
 * or, where some are compressed, each buffer in pieces, a piece compressed or as it is. Whether a
 * buffer is compressed is decided by trying, for itself, now and then, and by how fast the disk
 * takes what is written: processors have other work meanwhile. Given another thread, it writes what
 * is staged there, while more is staged. Beside its memory from the allocator it holds about one
 * megabyte in the compressor. Not thread-safe.
 */
final class BlockWriter implements AutoCloseable {

  /** Pieces have this many bytes at most, so that a buffer of any size goes through. */
  static final int PIECE_BYTES_MAX = 1 << 20;

  private static final int LEVEL = 1;

  /** Fewer bytes are not worth a call. */
  private static final int COMPRESSED_BYTES_MIN = 256;

  /** A buffer is tried again after so many blocks. */
  private static final int TRIAL_BLOCKS = 32;

  /** What packing and unpacking cost for each byte before it is packed. */
  private static final double PACKING_NANOS = 3;

  /**
   * After each write, one that takes so much longer than the fastest lately counts all the same.
   */
  private static final double FORGETTING = 1.05;

  private final @Nullable Executor writers; // null if the thread that stages writes too
  private ArrowBuf staging;
  private @Nullable ArrowBuf spare; // being written, or free; null without other threads
  private @Nullable FutureTask<Double> writing; // gives the time for a byte; null before the first
  private final int capacity;
  private final int pieceBytes;
  private final ZstdCompressCtx zstd = new ZstdCompressCtx().setLevel(LEVEL);
  private final CRC32C crc = new CRC32C();

  /* For each buffer of a block, when it is tried again, and whether it is compressed until then. */
  private final int[] blocksToTrial;
  private final boolean[] compressed;
  private final boolean[] trials; // of the block at hand
  private final boolean[] tried; // ever

  private int used;
  private int summed; // up to where staged bytes are in the checksum
  private long flushedTo; // the offset in the run's file of the first staged byte
  private long bytesBefore;
  private long bytesAfter;

  /* What the disk takes for a byte, by the fastest of the last writes: others waited for processors
  too. A gigabyte a second to begin with. */
  private double writeNanos = 1;

  /**
   * @param buffers how many a block has
   * @param stagingBytes what is written at once
   * @param writers runs at most one task at a time, now or later or not at all; null if there is no
   *     other thread
   */
  BlockWriter(int buffers, int stagingBytes, BufferAllocator memory, @Nullable Executor writers) {
    this.blocksToTrial = new int[buffers];
    this.compressed = new boolean[buffers];
    this.trials = new boolean[buffers];
    this.tried = new boolean[buffers];
    this.writers = writers;
    this.capacity = stagingBytes;
    this.pieceBytes = pieceBytes(stagingBytes);
    try {
      this.staging = memory.buffer(stagingBytes);
    } catch (Throwable failure) {
      zstd.close();
      throw failure;
    }
    try {
      this.spare = writers == null ? null : memory.buffer(stagingBytes);
    } catch (Throwable failure) {
      close();
      throw failure;
    }
  }

  /** What is staged at most: memory that a writer takes. */
  static long bytes(int stagingBytes, boolean hasWriters) {
    return (hasWriters ? 2L : 1L) * stagingBytes;
  }

  /** The size of pieces: one fits in the staging memory, whatever compressing makes of it. */
  static int pieceBytes(int stagingBytes) {
    return Math.min(PIECE_BYTES_MAX, stagingBytes / 2);
  }

  /** The bytes of all blocks before compression. */
  long bytesBefore() {
    return bytesBefore;
  }

  /** The bytes of all blocks as they are stored. */
  long bytesAfter() {
    return bytesAfter;
  }

  /** Begins to write behind what the run has. */
  void start(SortedRun run) {
    used = 0;
    summed = 0;
    flushedTo = run.storedBytes();
  }

  /**
   * Writes a block. It may stay in memory until {@link #flush}.
   *
   * @param rowBytesMax what the largest row takes, about
   * @param key the address of the last row's key
   */
  void write(
      SortedRun run, BlockBuffers buffers, int rows, long rowBytesMax, long key, long keyBytes)
      throws SpillException {
    long offset = flushedTo + used;
    crc.reset();
    for (int i = 0; i < buffers.count(); i++) {
      room(run, Long.BYTES);
      staging.setLong(used, buffers.bytes(i));
      used += Long.BYTES;
    }
    boolean packed = chooses(buffers);
    for (int i = 0; i < buffers.count(); i++) {
      if (packed) {
        pack(run, i, buffers.address(i), buffers.bytes(i));
      } else {
        put(run, buffers.address(i), buffers.bytes(i));
      }
    }
    sum();
    long stored = flushedTo + used - offset;
    long bytes = buffers.blockBytes();
    bytesBefore += bytes;
    bytesAfter += stored;
    run.add(
        new SortedRun.Block(offset, stored, bytes, rows, rowBytesMax, packed, (int) crc.getValue()),
        key,
        keyBytes);
  }

  /** Says which buffers are to be compressed, or tried, and returns whether any is. */
  private boolean chooses(BlockBuffers buffers) {
    boolean any = false;
    for (int i = 0; i < buffers.count(); i++) {
      boolean large = buffers.bytes(i) >= COMPRESSED_BYTES_MIN;
      trials[i] = large && --blocksToTrial[i] < 0;
      if (trials[i] && tried[i] && !pays(0, 1, writeNanos)) {
        trials[i] = false; // whatever it shrinks to; asked again with the next block
        compressed[i] = false;
        blocksToTrial[i] = 0;
      }
      tried[i] |= trials[i];
      any |= large && (trials[i] || compressed[i]);
    }
    return any;
  }

  /** Writes a buffer as it is, and up to seven bytes behind it. */
  private void put(SortedRun run, long address, long bytes) throws SpillException {
    for (long at = 0; at < bytes; ) {
      room(run, 1);
      int part = (int) Math.min(capacity - used, bytes - at);
      MemoryUtil.copyMemory(address + at, staging.memoryAddress() + used, part);
      used += part;
      at += part;
    }
    int padding = (int) (BlockBuffers.aligned(bytes) - bytes);
    if (padding > 0) {
      room(run, padding);
      for (int i = 0; i < padding; i++) {
        staging.setByte(used++, 0);
      }
    }
  }

  private void pack(SortedRun run, int buffer, long address, long bytes) throws SpillException {
    if (bytes == 0) {
      return;
    }
    boolean trial = trials[buffer];
    boolean compress = bytes >= COMPRESSED_BYTES_MIN && (trial || compressed[buffer]);
    long stored = 0;
    for (long at = 0; at < bytes; at += pieceBytes) {
      int piece = (int) Math.min(pieceBytes, bytes - at);
      stored += writePiece(run, address + at, piece, compress);
    }
    if (trial) {
      blocksToTrial[buffer] = TRIAL_BLOCKS;
      compressed[buffer] = pays(stored, bytes, writeNanos);
    }
  }

  /**
   * Whether to compress what shrinks so much.
   *
   * @param writeNanos what the disk takes to write a byte, or to read it
   */
  static boolean pays(long stored, long bytes, double writeNanos) {
    return bytes * PACKING_NANOS < 2 * writeNanos * (bytes - stored);
  }

  private int writePiece(SortedRun run, long address, int bytes, boolean compress)
      throws SpillException {
    int stored = bytes;
    if (compress) {
      int bound = (int) Zstd.compressBound(bytes);
      room(run, 4 + bound);
      ByteBuffer from = MemoryUtil.directBuffer(address, bytes);
      ByteBuffer to = MemoryUtil.directBuffer(staging.memoryAddress() + used + 4, bound);
      stored = zstd.compressDirectByteBuffer(to, 0, bound, from, 0, bytes);
      if (stored >= bytes - bytes / 8) {
        stored = bytes; // not worth unpacking
      }
    }
    room(run, 4 + stored);
    staging.setInt(used, stored);
    if (stored == bytes) {
      MemoryUtil.copyMemory(address, staging.memoryAddress() + used + 4, bytes);
    }
    used += 4 + stored;
    return stored;
  }

  private void room(SortedRun run, int bytes) throws SpillException {
    if (used + bytes > capacity) {
      send(run);
    }
  }

  private void sum() {
    if (used > summed) {
      crc.update(MemoryUtil.directBuffer(staging.memoryAddress() + summed, used - summed));
      summed = used;
    }
  }

  /** Writes what is still in memory, and returns when all is written. */
  void flush(SortedRun run) throws SpillException {
    send(run);
    settle();
  }

  /** Writes what is staged, or has it written. */
  private void send(SortedRun run) throws SpillException {
    sum();
    if (used > 0) {
      settle();
      ArrowBuf full = staging;
      int bytes = used;
      long offset = flushedTo;
      FutureTask<Double> task = new FutureTask<>(() -> write(run, full, bytes, offset));
      writing = task;
      ArrowBuf free = spare;
      if (writers != null && free != null) {
        staging = free;
        spare = full;
        hand(task, writers);
      } else {
        settle();
      }
      flushedTo += used;
    }
    used = 0;
    summed = 0;
  }

  private static void hand(Runnable task, Executor writers) {
    try {
      writers.execute(task);
    } catch (RejectedExecutionException noThread) {
      // This one does it, before the memory is needed again.
    }
  }

  private static double write(SortedRun run, ArrowBuf from, int bytes, long offset)
      throws SpillException {
    long start = System.nanoTime();
    run.write(MemoryUtil.directBuffer(from.memoryAddress(), bytes), offset);
    return (double) (System.nanoTime() - start) / bytes;
  }

  /** Waits for what is being written; if no thread has begun with it, this one does it. */
  private void settle() throws SpillException {
    FutureTask<Double> task = writing;
    if (task == null) {
      return;
    }
    task.run(); // nothing, if another thread does
    boolean interrupted = false;
    try {
      while (true) {
        try {
          double nanos = task.get();
          writing = null;
          writeNanos = Math.min(FORGETTING * writeNanos, nanos);
          return;
        } catch (InterruptedException e) {
          interrupted = true; // the memory is in use until the end
        }
      }
    } catch (ExecutionException e) {
      writing = null;
      throw SpillException.of(e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Closing twice is not allowed. Drops what is not flushed. */
  @Override
  public void close() {
    try (zstd;
        ArrowBuf first = staging;
        ArrowBuf second = spare) {
      settle();
    } catch (SpillException | RuntimeException dropped) {
      // What was written is given up with what was not.
    }
  }
}
