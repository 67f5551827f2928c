package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class BlockWriterTest {
  private static final int BUFFERS = 4;
  private static final int STAGING_BYTES = 4096;

  @TempDir private Path scratch;

  private final ExecutorService pool = Executors.newSingleThreadExecutor();

  @Test
  void whatShrinksIsCompressedWhereTheDiskIsSlow() {
    double gigabyteASecond = 1;
    double hundredMegabytesASecond = 10;
    assertThat(BlockWriter.pays(1, 1000, gigabyteASecond)).isFalse();
    assertThat(BlockWriter.pays(1, 1000, 4 * gigabyteASecond)).isTrue();
    assertThat(BlockWriter.pays(800, 1000, hundredMegabytesASecond)).isTrue();
    assertThat(BlockWriter.pays(900, 1000, hundredMegabytesASecond)).isFalse();
    assertThat(BlockWriter.pays(1000, 1000, 100 * hundredMegabytesASecond)).isFalse();
  }

  /** Who writes what is staged. */
  private enum Writers {
    NONE,
    ANOTHER,
    ITSELF,
    NEVER,
    REFUSED
  }

  private Executor executor(Writers writers) {
    return switch (writers) {
      case NONE -> null;
      case ANOTHER -> pool;
      case ITSELF -> Runnable::run;
      case NEVER -> task -> {};
      case REFUSED ->
          task -> {
            throw new RejectedExecutionException();
          };
    };
  }

  @AfterEach
  void stop() {
    pool.shutdownNow();
  }

  /** Buffers of all sizes, empty and larger than what is written at once, packed or not. */
  @ParameterizedTest
  @EnumSource
  void blocksComeBackAsTheyWere(Writers writers) throws IOException {
    long seed = Long.getLong("firn.test.seed", new Random().nextLong());
    Random random = new Random(seed);
    List<List<byte[]>> blocks = new ArrayList<>();
    for (int block = 0; block < 70; block++) {
      blocks.add(buffers(random));
    }
    boolean packed = false;
    boolean plain = false;
    try (BufferAllocator memory = UsedMemory.allocator();
        SortedRun run = SortedRun.create(scratch, 0, SortedRun.Opener.DISK)) {
      try (BlockWriter writer =
          new BlockWriter(BUFFERS, STAGING_BYTES, memory, executor(writers))) {
        writer.start(run);
        for (List<byte[]> block : blocks) {
          write(block, run, writer, memory);
        }
        writer.flush(run);
      }
      try (BlockReader reader = new BlockReader(BUFFERS, STAGING_BYTES, memory)) {
        for (int block = 0; block < blocks.size(); block++) {
          packed |= run.block(block).packed();
          plain |= !run.block(block).packed();
          try (RunBlock read = reader.read(run, block)) {
            assertThat(contents(read))
                .as("block %d, rerun with -Dfirn.test.seed=%d", block, seed)
                .containsExactlyElementsOf(blocks.get(block));
            assertThat(read.rows()).isEqualTo(7);
          }
        }
      }
      assertThat(run.rowBytesMax()).isEqualTo(99);
    }
    assertThat(packed).isTrue();
    assertThat(plain).isTrue();
  }

  /** A disk that fails with the third write is heard of, and no memory is left behind. */
  @ParameterizedTest
  @EnumSource
  void aWriteThatFailsIsHeardOfBeforeTheRunIsRead(Writers writers) throws IOException {
    Random random = new Random(1);
    FaultyChannel.Faults faults = new FaultyChannel.Faults(random);
    faults.writesLeft = 2;
    try (BufferAllocator memory = UsedMemory.allocator();
        SortedRun run = SortedRun.create(scratch, 0, faults::open);
        BlockWriter writer = new BlockWriter(BUFFERS, STAGING_BYTES, memory, executor(writers))) {
      writer.start(run);
      assertThatThrownBy(
              () -> {
                for (int block = 0; block < 20; block++) {
                  write(buffers(random), run, writer, memory);
                }
                writer.flush(run);
              })
          .isInstanceOf(SpillException.class)
          .hasRootCauseMessage("No space left on device");
    }
  }

  private static List<byte[]> buffers(Random random) {
    List<byte[]> buffers = new ArrayList<>();
    for (int i = 0; i < BUFFERS; i++) {
      byte[] bytes = new byte[random.nextInt(1 << random.nextInt(15))];
      if (random.nextBoolean()) {
        random.nextBytes(bytes);
      }
      buffers.add(bytes);
    }
    return buffers;
  }

  private static void write(
      List<byte[]> block, SortedRun run, BlockWriter writer, BufferAllocator memory)
      throws SpillException {
    BlockBuffers buffers = new BlockBuffers();
    List<ArrowBuf> held = new ArrayList<>();
    try {
      for (byte[] bytes : block) {
        ArrowBuf buffer = memory.buffer(Math.max(1, bytes.length));
        held.add(buffer);
        buffer.setBytes(0, bytes);
        buffers.add(buffer, bytes.length);
      }
      writer.write(run, buffers, 7, 99, 0, 0);
    } finally {
      held.forEach(ArrowBuf::close);
    }
  }

  private static List<byte[]> contents(RunBlock block) {
    List<byte[]> contents = new ArrayList<>();
    for (int i = 0; i < BUFFERS; i++) {
      byte[] bytes = new byte[(int) block.buffers().bytes(i)];
      if (bytes.length > 0) {
        long offset = block.buffers().address(i) - block.memory().memoryAddress();
        assertThat(offset % 8).isZero();
        block.memory().getBytes(offset, bytes);
      }
      contents.add(bytes);
    }
    return contents;
  }
}
