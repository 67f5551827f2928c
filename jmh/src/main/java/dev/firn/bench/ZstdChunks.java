package dev.firn.bench;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import com.github.luben.zstd.ZstdDecompressCtx;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** What zstd alone takes to decompress pages and to compress a share of each again. */
final class ZstdChunks implements AutoCloseable {
  private final List<ByteBuffer> stored = new ArrayList<>();
  private final List<Integer> sizes = new ArrayList<>();
  private final double share;
  private final ByteBuffer raw;
  private final ByteBuffer compressed;
  private final ZstdCompressCtx compress = new ZstdCompressCtx();
  private final ZstdDecompressCtx decompress = new ZstdDecompressCtx();

  /**
   * @param pages their bytes before compression
   */
  ZstdChunks(List<byte[]> pages, double share) {
    this.share = share;
    int most = 1;
    for (byte[] page : pages) {
      byte[] bytes = Zstd.compress(page, 3);
      stored.add(ByteBuffer.allocateDirect(bytes.length).put(bytes).flip());
      sizes.add(page.length);
      most = Math.max(most, page.length);
    }
    this.raw = ByteBuffer.allocateDirect(most);
    this.compressed = ByteBuffer.allocateDirect((int) Zstd.compressBound(most));
  }

  long run(int level) {
    long bytes = 0;
    compress.setLevel(level);
    for (int page = 0; page < stored.size(); page++) {
      ByteBuffer from = stored.get(page);
      int size = sizes.get(page);
      decompress.decompressDirectByteBuffer(raw, 0, size, from, 0, from.limit());
      bytes +=
          compress.compressDirectByteBuffer(
              compressed, 0, compressed.capacity(), raw, 0, (int) (size * share));
    }
    return bytes;
  }

  @Override
  public void close() {
    compress.close();
    decompress.close();
  }
}
