package dev.firn.engine.parquet;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.compression.CompressionCodecFactory;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;

/**
 * Writes pages as Hadoop frames LZ4, with literals only, whatever the codec is called: there is no
 * Java implementation here of some.
 */
final class StoringCodecs implements CompressionCodecFactory {
  @Override
  public BytesInputCompressor getCompressor(CompressionCodecName codec) {
    return new BytesInputCompressor() {
      @Override
      public BytesInput compress(BytesInput bytes) throws IOException {
        byte[] page = bytes.toByteArray();
        return BytesInput.from(lz4(page));
      }

      @Override
      public CompressionCodecName getCodecName() {
        return codec;
      }

      @Override
      public void release() {}
    };
  }

  @Override
  public BytesInputDecompressor getDecompressor(CompressionCodecName codec) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void release() {}

  private static byte[] lz4(byte[] page) throws IOException {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    if (page.length < 15) {
      block.write(page.length << 4);
    } else {
      block.write(15 << 4);
      int rest = page.length - 15;
      for (; rest >= 255; rest -= 255) {
        block.write(255);
      }
      block.write(rest);
    }
    block.write(page);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    DataOutputStream frame = new DataOutputStream(out);
    frame.writeInt(page.length);
    frame.writeInt(block.size());
    block.writeTo(frame);
    return out.toByteArray();
  }
}
