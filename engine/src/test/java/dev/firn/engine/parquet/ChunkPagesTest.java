package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.junit.jupiter.api.Test;

class ChunkPagesTest {
  private static final MessageType TYPE =
      MessageTypeParser.parseMessageType("message m {required int64 a;}");

  @Test
  void chunksAreHeldAndCountedOnceEachUntilClosing() {
    try (BufferAllocator allocator = new RootAllocator();
        ChunkPages pages =
            new ChunkPages(TYPE.getColumns().get(0), CompressionCodecName.UNCOMPRESSED)) {
      RawChunk first = new RawChunk(allocator.buffer(1 << 10), 1000);
      RawChunk second = new RawChunk(allocator.buffer(1 << 12), 4000);
      pages.hold(first);
      pages.hold(first);
      assertThat(pages.heldBytes()).isEqualTo(1 << 10);
      pages.hold(second);
      assertThat(pages.heldBytes()).isEqualTo((1 << 10) + (1 << 12));
      first.release();
      second.release();
      assertThat(allocator.getAllocatedMemory()).isEqualTo(pages.heldBytes());
      pages.close();
      assertThat(pages.heldBytes()).isZero();
      assertThat(allocator.getAllocatedMemory()).isZero();
      pages.close();
    }
  }
}
