package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.junit.jupiter.api.Test;

class ReusedMemoryTest {
  private static final long KIB = 1L << 10;

  @Test
  void aBufferThatIsReleasedServesTheNextOfItsSize() {
    try (ReusedMemory memory = new ReusedMemory(1024 * KIB);
        BufferAllocator allocator = memory.allocator(Long.MAX_VALUE)) {
      ArrowBuf first = allocator.buffer(64 * KIB);
      long address = first.memoryAddress();
      first.close();
      assertThat(memory.bytesKept()).isEqualTo(64 * KIB);
      try (ArrowBuf other = allocator.buffer(128 * KIB);
          ArrowBuf same = allocator.buffer(64 * KIB)) {
        assertThat(same.memoryAddress()).isEqualTo(address);
        assertThat(other.memoryAddress()).isNotEqualTo(address);
        assertThat(memory.bytesKept()).isZero();
      }
    }
  }

  @Test
  void largeBuffersServeForSomewhatSmallerOnes() {
    try (ReusedMemory memory = new ReusedMemory(1L << 30);
        BufferAllocator allocator = memory.allocator(Long.MAX_VALUE)) {
      ArrowBuf first = allocator.buffer((19L << 20) + 5);
      long address = first.memoryAddress();
      first.close();
      try (ArrowBuf next = allocator.buffer((18L << 20) + 7)) {
        assertThat(next.memoryAddress()).isEqualTo(address);
        assertThat(allocator.getAllocatedMemory()).isEqualTo((18L << 20) + 7);
      }
    }
  }

  @Test
  void whatIsKeptGivesWayToWhatIsInUse() {
    try (ReusedMemory memory = new ReusedMemory(512 * KIB);
        BufferAllocator allocator = memory.allocator(Long.MAX_VALUE)) {
      List<ArrowBuf> small = buffers(allocator, 8, 64 * KIB);
      small.forEach(ArrowBuf::close);
      assertThat(memory.bytesKept()).isEqualTo(512 * KIB);
      try (ArrowBuf large = allocator.buffer(256 * KIB)) {
        assertThat(memory.bytesKept()).isEqualTo(256 * KIB);
        assertThat(memory.bytesPeak()).isEqualTo(512 * KIB);
        assertThat(large.capacity()).isEqualTo(256 * KIB);
      }
    }
  }

  @Test
  void nothingIsKeptBeyondTheLimit() {
    try (ReusedMemory memory = new ReusedMemory(100 * KIB);
        BufferAllocator allocator = memory.allocator(Long.MAX_VALUE)) {
      buffers(allocator, 3, 64 * KIB).forEach(ArrowBuf::close);
      assertThat(memory.bytesKept()).isEqualTo(64 * KIB);
    }
  }

  @Test
  void whatWasOfNoUseGoesBack() {
    try (ReusedMemory memory = new ReusedMemory(1024 * KIB);
        BufferAllocator allocator = memory.allocator(Long.MAX_VALUE)) {
      buffers(allocator, 8, 64 * KIB).forEach(ArrowBuf::close);
      for (int round = 0; round < 80; round++) {
        buffers(allocator, 2, 32 * KIB).forEach(ArrowBuf::close);
      }
      assertThat(memory.bytesKept()).isEqualTo(2 * 32 * KIB);
    }
  }

  @Test
  void smallBuffersAreNotKept() {
    try (ReusedMemory memory = new ReusedMemory(1024 * KIB);
        BufferAllocator allocator = memory.allocator(Long.MAX_VALUE)) {
      allocator.buffer(1000).close();
      assertThat(memory.bytesKept()).isZero();
    }
  }

  @Test
  void allocatorsStillFindWhatIsNotReleased() {
    try (ReusedMemory memory = new ReusedMemory(1024 * KIB)) {
      BufferAllocator allocator = memory.allocator(Long.MAX_VALUE);
      allocator.buffer(64 * KIB);
      assertThatThrownBy(allocator::close)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("leak");
    }
  }

  @Test
  void theLimitOfAllocatorsHolds() {
    try (ReusedMemory memory = new ReusedMemory(1024 * KIB);
        BufferAllocator allocator = memory.allocator(100 * KIB)) {
      assertThatThrownBy(() -> allocator.buffer(128 * KIB))
          .isInstanceOf(OutOfMemoryException.class);
      assertThat(allocator.getAllocatedMemory()).isZero();
    }
  }

  @Test
  void whoReadsAReleasedBufferDoesNotFindWhatWasThere() {
    try (ReusedMemory memory = new ReusedMemory(1024 * KIB);
        BufferAllocator allocator = memory.allocator(Long.MAX_VALUE)) {
      ArrowBuf first = allocator.buffer(64 * KIB);
      first.setLong(0, 42);
      first.close();
      try (ArrowBuf next = allocator.buffer(64 * KIB)) {
        assertThat(next.getLong(0)).isNotIn(0L, 42L);
      }
    }
  }

  /** Random buffers on several threads, each full of its own number until it is released. */
  @Test
  void noBufferIsTwoPeoplesAtOnce() throws Exception {
    long seed = Long.getLong("firn.test.seed", System.nanoTime());
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try (ReusedMemory memory = new ReusedMemory(2048 * KIB);
        BufferAllocator allocator = memory.allocator(Long.MAX_VALUE)) {
      List<Future<?>> all = new ArrayList<>();
      for (int thread = 0; thread < 4; thread++) {
        Random random = new Random(seed + thread);
        all.add(threads.submit(() -> churn(random, allocator)));
      }
      for (Future<?> one : all) {
        one.get();
      }
      assertThat(memory.bytesKept())
          .as("rerun with -Dfirn.test.seed=" + seed)
          .isBetween(1L, 2048 * KIB);
    } finally {
      threads.shutdown();
    }
  }

  private static void churn(Random random, BufferAllocator allocator) {
    List<ArrowBuf> held = new ArrayList<>();
    List<Long> marks = new ArrayList<>();
    for (int step = 0; step < 500; step++) {
      if (held.size() > 6 || (!held.isEmpty() && random.nextBoolean())) {
        int one = random.nextInt(held.size());
        check(held.remove(one), marks.remove(one));
      } else {
        ArrowBuf buffer = allocator.buffer(20 * KIB << random.nextInt(5));
        long mark = random.nextLong();
        for (long at = 0; at < buffer.capacity(); at += 512) {
          buffer.setLong(at, mark);
        }
        held.add(buffer);
        marks.add(mark);
      }
    }
    while (!held.isEmpty()) {
      check(held.remove(0), marks.remove(0));
    }
  }

  private static void check(ArrowBuf buffer, long mark) {
    for (long at = 0; at < buffer.capacity(); at += 512) {
      assertThat(buffer.getLong(at)).isEqualTo(mark);
    }
    buffer.close();
  }

  private static List<ArrowBuf> buffers(BufferAllocator allocator, int count, long bytes) {
    List<ArrowBuf> buffers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      buffers.add(allocator.buffer(bytes));
    }
    return buffers;
  }
}
