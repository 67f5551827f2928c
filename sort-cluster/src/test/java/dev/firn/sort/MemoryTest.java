package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.Test;

class MemoryTest {

  @Test
  void bytesOfAnyLengthAreCopiedAndNoOthers() {
    byte[] bytes = new byte[300];
    new Random(7).nextBytes(bytes);
    try (BufferAllocator allocator = UsedMemory.allocator();
        ArrowBuf from = allocator.buffer(bytes.length);
        ArrowBuf to = allocator.buffer(bytes.length)) {
      from.setBytes(0, bytes);
      for (int length = 0; length < 200; length++) {
        for (int start = 0; start < 9; start++) {
          to.setZero(0, bytes.length);
          Memory.copy(from.memoryAddress() + start, to.memoryAddress() + 50, length);
          byte[] expected = new byte[bytes.length];
          System.arraycopy(bytes, start, expected, 50, length);
          byte[] copied = new byte[bytes.length];
          to.getBytes(0, copied);
          assertThat(Arrays.equals(copied, expected))
              .as("%d bytes from %d", length, start)
              .isTrue();
        }
      }
    }
  }
}
