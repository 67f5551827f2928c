package dev.firn.sort;

import com.github.luben.zstd.ZstdDecompressCtx;
import com.github.luben.zstd.ZstdException;
import java.util.zip.CRC32C;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;

/**
 * Reads blocks that {@link BlockWriter} wrote, and checks them. Beside its memory from the
 * allocator it holds a few hundred kilobytes in the decompressor. Not thread-safe.
 */
final class BlockReader implements AutoCloseable {
  private static final int READ_BYTES_MAX = 1 << 26;

  private final int buffers;
  private final int pieceBytes;
  private final int capacity;
  private final ArrowBuf staging;
  private final BufferAllocator memory;
  private final ZstdDecompressCtx zstd = new ZstdDecompressCtx();
  private final CRC32C crc = new CRC32C();

  /* The part of the packed block at hand that is in the staging memory, and what is still in the file. */
  private int at;
  private int end;
  private long offset;
  private long left;

  /**
   * @param buffers how many a block has
   * @param stagingBytes as the writer had
   */
  BlockReader(int buffers, int stagingBytes, BufferAllocator memory) {
    this.buffers = buffers;
    this.capacity = stagingBytes;
    this.pieceBytes = BlockWriter.pieceBytes(stagingBytes);
    this.memory = memory;
    try {
      this.staging = memory.buffer(stagingBytes);
    } catch (Throwable failure) {
      zstd.close();
      throw failure;
    }
  }

  /** Reads a block, which the caller closes. */
  RunBlock read(SortedRun run, int number) throws SpillException {
    SortedRun.Block block = run.block(number);
    ArrowBuf buffer = memory.buffer(block.bytes());
    try {
      crc.reset();
      BlockBuffers contents =
          block.packed()
              ? unpack(run, block, buffer.memoryAddress())
              : load(run, block, buffer.memoryAddress());
      return new RunBlock(buffer, contents, block.rows());
    } catch (Throwable failure) {
      buffer.close();
      throw failure;
    }
  }

  /** Reads a block that is stored as it is to lie in memory. */
  private BlockBuffers load(SortedRun run, SortedRun.Block block, long to) throws SpillException {
    long bytes = block.storedBytes();
    if (bytes != block.bytes() - KeyBlock.SLACK_BYTES) {
      throw changed(run, block, null);
    }
    for (long done = 0; done < bytes; ) {
      int part = (int) Math.min(READ_BYTES_MAX, bytes - done);
      run.read(MemoryUtil.directBuffer(to + done, part), block.offset() + done);
      crc.update(MemoryUtil.directBuffer(to + done, part));
      done += part;
    }
    if ((int) crc.getValue() != block.crc()) {
      throw changed(run, block, null);
    }
    BlockBuffers contents = new BlockBuffers();
    long address = to + BlockBuffers.headerBytes(buffers);
    for (int i = 0; i < buffers; i++) {
      long length = MemoryUtil.getLong(to + BlockBuffers.headerBytes(i));
      contents.add(address, length);
      address += BlockBuffers.aligned(length);
    }
    return contents;
  }

  private BlockBuffers unpack(SortedRun run, SortedRun.Block block, long memoryAddress)
      throws SpillException {
    at = 0;
    end = 0;
    offset = block.offset();
    left = block.storedBytes();
    BlockBuffers contents = new BlockBuffers();
    long to = memoryAddress + BlockBuffers.headerBytes(buffers);
    for (int i = 0; i < buffers; i++) {
      need(run, block, Long.BYTES);
      long bytes = MemoryUtil.getLong(staging.memoryAddress() + at);
      at += Long.BYTES;
      if (bytes < 0 || bytes > block.bytes()) {
        throw changed(run, block, null);
      }
      contents.add(to, bytes);
      to += BlockBuffers.aligned(bytes);
    }
    if (contents.blockBytes() != block.bytes()) {
      throw changed(run, block, null);
    }
    for (int i = 0; i < buffers; i++) {
      read(run, block, contents.address(i), contents.bytes(i));
    }
    if (left > 0 || at != end || (int) crc.getValue() != block.crc()) {
      throw changed(run, block, null);
    }
    return contents;
  }

  private void read(SortedRun run, SortedRun.Block block, long to, long bytes)
      throws SpillException {
    for (long done = 0; done < bytes; done += pieceBytes) {
      int piece = (int) Math.min(pieceBytes, bytes - done);
      need(run, block, 4);
      int stored = MemoryUtil.getInt(staging.memoryAddress() + at);
      at += 4;
      if (stored <= 0 || stored > piece) {
        throw changed(run, block, null);
      }
      need(run, block, stored);
      long from = staging.memoryAddress() + at;
      if (stored == piece) {
        MemoryUtil.copyMemory(from, to + done, piece);
      } else {
        try {
          int unpacked =
              zstd.decompressDirectByteBuffer(
                  MemoryUtil.directBuffer(to + done, piece),
                  0,
                  piece,
                  MemoryUtil.directBuffer(from, stored),
                  0,
                  stored);
          if (unpacked != piece) {
            throw changed(run, block, null);
          }
        } catch (ZstdException e) {
          throw changed(run, block, e);
        }
      }
      at += stored;
    }
  }

  /** Makes so many bytes of the block available. */
  private void need(SortedRun run, SortedRun.Block block, int bytes) throws SpillException {
    if (end - at >= bytes) {
      return;
    }
    int kept = end - at;
    if (kept + left < bytes) {
      throw changed(run, block, null);
    }
    if (kept > 0) {
      long start = staging.memoryAddress();
      for (int i = 0; i < kept; i++) { // they may overlap
        MemoryUtil.putByte(start + i, MemoryUtil.getByte(start + at + i));
      }
    }
    int read = (int) Math.min(left, capacity - kept);
    run.read(MemoryUtil.directBuffer(staging.memoryAddress() + kept, read), offset);
    crc.update(MemoryUtil.directBuffer(staging.memoryAddress() + kept, read));
    offset += read;
    left -= read;
    at = 0;
    end = kept + read;
  }

  private static SpillException changed(
      SortedRun run, SortedRun.Block block, @Nullable Throwable cause) {
    return SpillException.corrupt(
        run.file(),
        "the block at byte "
            + block.offset()
            + " is not what was written (its checksum or structure differs)",
        cause);
  }

  /** Closing twice is not allowed. */
  @Override
  public void close() {
    try (zstd) {
      staging.close();
    }
  }
}
