package dev.firn.engine.parquet;

import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.statistics.Statistics;
import org.jspecify.annotations.Nullable;

/** Booleans: single bits, or runs of them where the page version is 2. */
final class BooleanValues extends ColumnValues {
  private final boolean isRunLengthPreset;
  private boolean isRunLength;
  private final PageBuffer page = new PageBuffer();
  private final RunLengthEncoder runs = new RunLengthEncoder(page);
  private final int keepBytesMax;
  private int bitsInLastByte; // of a page of single bits; 0 when the last byte is full

  BooleanValues(boolean isRunLength, int keepBytesMax) {
    this.isRunLengthPreset = isRunLength;
    this.isRunLength = isRunLength;
    this.keepBytesMax = keepBytesMax;
    begin();
  }

  private void begin() {
    bitsInLastByte = 0;
    if (isRunLength) {
      page.reserve(Integer.BYTES);
      page.size(Integer.BYTES); // the length, when it is known
      runs.begin(1);
    }
  }

  @Override
  void add(ColumnRows rows, int from, int to, Statistics<?> statistics, Scratch scratch) {
    int count = to - from;
    byte[] values = rows.booleans(from, to, scratch);
    observe(values, count, statistics);
    if (isRunLength) {
      runs.add(values, 0, count);
    } else {
      addBits(values, count);
    }
  }

  @Override
  void observe(PageRows rows, Statistics<?> statistics, Scratch scratch) {
    int count = rows.valueCount();
    observe(rows.booleans(0, count, scratch), count, statistics);
  }

  private static void observe(byte[] values, int count, Statistics<?> statistics) {
    int trues = 0;
    for (int i = 0; i < count; i++) {
      trues += values[i];
    }
    if (trues < count) {
      statistics.updateStats(false);
    }
    if (trues > 0) {
      statistics.updateStats(true);
    }
  }

  @Override
  boolean beginPage(Encoding encoding) {
    if (encoding != Encoding.PLAIN && encoding != Encoding.RLE) {
      return false;
    }
    isRunLength = encoding == Encoding.RLE;
    page.reset(keepBytesMax);
    begin();
    return true;
  }

  private void addBits(byte[] values, int count) {
    page.reserve((count >>> 3) + 2L);
    byte[] bytes = page.bytes();
    int at = bitsInLastByte == 0 ? page.size() : page.size() - 1;
    int bits = bitsInLastByte;
    int last = bits == 0 ? 0 : bytes[at];
    for (int i = 0; i < count; i++) {
      last |= values[i] << bits;
      if (++bits == 8) {
        bytes[at++] = (byte) last;
        last = 0;
        bits = 0;
      }
    }
    if (bits > 0) {
      bytes[at++] = (byte) last;
    }
    bitsInLastByte = bits;
    page.size(at);
  }

  @Override
  long bufferedBytes() {
    return isRunLength ? page.size() - Integer.BYTES : page.size();
  }

  @Override
  long unencodedBytes() {
    return 0;
  }

  @Override
  BytesInput page() {
    if (isRunLength) {
      runs.end();
      PageBuffer.INT.set(page.bytes(), 0, page.size() - Integer.BYTES);
    }
    return page.input();
  }

  @Override
  Encoding encoding() {
    return isRunLength ? Encoding.RLE : Encoding.PLAIN;
  }

  @Override
  void reset() {
    isRunLength = isRunLengthPreset;
    page.reset(keepBytesMax);
    begin();
  }

  @Override
  @Nullable DictionaryPage dictionaryPage() {
    return null;
  }

  @Override
  long dictionaryBytes() {
    return 0;
  }

  @Override
  long memoryBytes() {
    return page.capacity();
  }

  @Override
  void release() {
    isRunLength = false;
    page.reset(0);
  }
}
