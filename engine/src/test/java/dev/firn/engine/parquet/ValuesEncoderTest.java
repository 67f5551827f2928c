package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.parquet.bytes.ByteBufferAllocator;
import org.apache.parquet.bytes.ByteBufferInputStream;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.ValuesType;
import org.apache.parquet.column.values.ValuesReader;
import org.apache.parquet.column.values.ValuesWriter;
import org.apache.parquet.column.values.bytestreamsplit.ByteStreamSplitValuesWriter;
import org.apache.parquet.column.values.delta.DeltaBinaryPackingValuesWriterForInteger;
import org.apache.parquet.column.values.delta.DeltaBinaryPackingValuesWriterForLong;
import org.apache.parquet.column.values.deltalengthbytearray.DeltaLengthByteArrayValuesWriter;
import org.apache.parquet.column.values.deltastrings.DeltaByteArrayWriter;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Types;
import org.junit.jupiter.api.RepeatedTest;

/** Every encoding takes as many bytes as parquet-java makes of it, and parquet-java reads them. */
class ValuesEncoderTest {
  private static final int SLAB_BYTES = 64;
  private static final int PAGE_BYTES = 1 << 20;
  private static final int KEEP_BYTES_MAX = 3000;
  private static final ByteBufferAllocator ALLOCATOR = HeapByteBufferAllocator.getInstance();

  private final long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
  private final Random random = new Random(seed);

  private static ColumnDescriptor column(PrimitiveTypeName name, int width) {
    PrimitiveType type =
        name == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY
            ? Types.required(name).length(width).named("c")
            : Types.required(name).named("c");
    return new ColumnDescriptor(new String[] {"c"}, type, 0, 0);
  }

  /* Steps from none to those that wrap around; the awkward ends among them. */
  private long[] numbers(boolean isOfInts) {
    long[] values = new long[random.nextInt(1200)];
    int bits = random.nextInt(isOfInts ? 33 : 65);
    long value = random.nextLong();
    for (int i = 0; i < values.length; i++) {
      if (random.nextInt(100) == 0) {
        bits = random.nextInt(isOfInts ? 33 : 65);
      }
      value += bits == 0 ? 0 : random.nextLong() >> 64 - bits;
      if (random.nextInt(200) == 0) {
        value = random.nextBoolean() ? Long.MIN_VALUE : Long.MAX_VALUE;
      }
      if (isOfInts) {
        value = random.nextInt(200) == 0 ? Integer.MIN_VALUE : (int) value;
      }
      values[i] = value;
    }
    return values;
  }

  private void addInPieces(ValuesEncoder encoder, long[] values) {
    int from = 0;
    while (from < values.length) {
      int to = Math.min(values.length, from + random.nextInt(400));
      encoder.add(values, from, to);
      from = to;
    }
  }

  /* What fills a block up is of no meaning, and not the same. */
  private byte[] bytesOf(ValuesEncoder encoder, ValuesWriter parquets, Object what)
      throws IOException {
    byte[] bytes = encoder.page().toByteArray();
    byte[] expected = parquets.getBytes().toByteArray();
    assertThat(bytes).as("%s, rerun with -Dfirn.test.seed=%s", what, seed).hasSameSizeAs(expected);
    encoder.reset(KEEP_BYTES_MAX);
    parquets.close();
    return bytes;
  }

  private static ValuesReader reader(
      Encoding encoding, ColumnDescriptor column, byte[] page, int values) throws IOException {
    ValuesReader reader = encoding.getValuesReader(column, ValuesType.VALUES);
    reader.initFromPage(values, ByteBufferInputStream.wrap(ByteBuffer.wrap(page)));
    return reader;
  }

  @RepeatedTest(20)
  void numbersAreEncodedAsParquetHasIt() throws IOException {
    for (PrimitiveTypeName type :
        new PrimitiveTypeName[] {
          PrimitiveTypeName.INT32,
          PrimitiveTypeName.INT64,
          PrimitiveTypeName.FLOAT,
          PrimitiveTypeName.DOUBLE
        }) {
      for (Encoding encoding :
          new Encoding[] {Encoding.DELTA_BINARY_PACKED, Encoding.BYTE_STREAM_SPLIT}) {
        ValuesEncoder encoder = ValuesEncoder.of(encoding, column(type, 0));
        boolean isFloating = type == PrimitiveTypeName.FLOAT || type == PrimitiveTypeName.DOUBLE;
        if (encoding == Encoding.DELTA_BINARY_PACKED && isFloating) {
          assertThat(encoder).isNull();
          continue;
        }
        for (int page = 0; page < 3; page++) {
          long[] values =
              numbers(type == PrimitiveTypeName.INT32 || type == PrimitiveTypeName.FLOAT);
          ValuesWriter parquets = writer(encoding, type);
          for (long value : values) {
            switch (type) {
              case INT32 -> parquets.writeInteger((int) value);
              case INT64 -> parquets.writeLong(value);
              case FLOAT -> parquets.writeFloat(Float.intBitsToFloat((int) value));
              default -> parquets.writeDouble(Double.longBitsToDouble(value));
            }
          }
          addInPieces(encoder, values);
          String what = encoding + " " + type + " page " + page;
          byte[] bytes = bytesOf(encoder, parquets, what);
          assertThat(numbers(encoding, type, bytes, values.length))
              .as("%s, rerun with -Dfirn.test.seed=%s", what, seed)
              .isEqualTo(values);
        }
      }
    }
  }

  private static long[] numbers(Encoding encoding, PrimitiveTypeName type, byte[] page, int count)
      throws IOException {
    long[] values = new long[count];
    if (count == 0) {
      return values;
    }
    ValuesReader reader = reader(encoding, column(type, 0), page, count);
    for (int i = 0; i < count; i++) {
      values[i] =
          switch (type) {
            case INT32 -> reader.readInteger();
            case INT64 -> reader.readLong();
            case FLOAT -> Float.floatToRawIntBits(reader.readFloat());
            default -> Double.doubleToRawLongBits(reader.readDouble());
          };
    }
    return values;
  }

  private static ValuesWriter writer(Encoding encoding, PrimitiveTypeName type) {
    if (encoding == Encoding.DELTA_BINARY_PACKED) {
      return type == PrimitiveTypeName.INT32
          ? new DeltaBinaryPackingValuesWriterForInteger(SLAB_BYTES, PAGE_BYTES, ALLOCATOR)
          : new DeltaBinaryPackingValuesWriterForLong(SLAB_BYTES, PAGE_BYTES, ALLOCATOR);
    }
    return switch (type) {
      case INT32 ->
          new ByteStreamSplitValuesWriter.IntegerByteStreamSplitValuesWriter(
              SLAB_BYTES, PAGE_BYTES, ALLOCATOR);
      case INT64 ->
          new ByteStreamSplitValuesWriter.LongByteStreamSplitValuesWriter(
              SLAB_BYTES, PAGE_BYTES, ALLOCATOR);
      case FLOAT ->
          new ByteStreamSplitValuesWriter.FloatByteStreamSplitValuesWriter(
              SLAB_BYTES, PAGE_BYTES, ALLOCATOR);
      default ->
          new ByteStreamSplitValuesWriter.DoubleByteStreamSplitValuesWriter(
              SLAB_BYTES, PAGE_BYTES, ALLOCATOR);
    };
  }

  @RepeatedTest(20)
  void byteStringsAreEncodedAsParquetHasIt() throws IOException {
    for (Encoding encoding :
        new Encoding[] {
          Encoding.DELTA_LENGTH_BYTE_ARRAY, Encoding.DELTA_BYTE_ARRAY, Encoding.BYTE_STREAM_SPLIT
        }) {
      int width = 1 + random.nextInt(20);
      boolean isFixed =
          encoding == Encoding.BYTE_STREAM_SPLIT
              || encoding == Encoding.DELTA_BYTE_ARRAY && random.nextBoolean();
      ColumnDescriptor column =
          column(
              isFixed ? PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY : PrimitiveTypeName.BINARY, width);
      ValuesEncoder encoder = ValuesEncoder.of(encoding, column);
      for (int page = 0; page < 3; page++) {
        ValuesWriter parquets =
            switch (encoding) {
              case DELTA_LENGTH_BYTE_ARRAY ->
                  new DeltaLengthByteArrayValuesWriter(SLAB_BYTES, PAGE_BYTES, ALLOCATOR);
              case DELTA_BYTE_ARRAY -> new DeltaByteArrayWriter(SLAB_BYTES, PAGE_BYTES, ALLOCATOR);
              default ->
                  new ByteStreamSplitValuesWriter.FixedLenByteArrayByteStreamSplitValuesWriter(
                      width, SLAB_BYTES, PAGE_BYTES, ALLOCATOR);
            };
        List<Binary> strings = addStrings(encoder, parquets, isFixed ? width : 0);
        String what = encoding + " width " + (isFixed ? width : 0);
        byte[] bytes = bytesOf(encoder, parquets, what);
        if (!strings.isEmpty()) {
          ValuesReader reader = reader(encoding, column, bytes, strings.size());
          for (Binary string : strings) {
            assertThat(reader.readBytes())
                .as("%s, rerun with -Dfirn.test.seed=%s", what, seed)
                .isEqualTo(string);
          }
        }
      }
    }
  }

  /* In several arrays, with bytes between them, and beginning as the one before does. */
  private List<Binary> addStrings(ValuesEncoder encoder, ValuesWriter parquets, int width) {
    List<Binary> all = new ArrayList<>();
    byte[] last = new byte[Math.max(width, 90)];
    for (int array = random.nextInt(5); array > 0; array--) {
      int count = random.nextInt(300);
      byte[] bytes = new byte[count * 100 + PageBuffer.SLACK];
      random.nextBytes(bytes);
      int[] starts = new int[count];
      int[] ends = new int[count];
      for (int i = 0; i < count; i++) {
        int start = i * 100 + random.nextInt(10);
        int length = width > 0 ? width : random.nextInt(4) == 0 ? 0 : random.nextInt(90);
        int common = random.nextInt(length + 1);
        System.arraycopy(last, 0, bytes, start, common);
        System.arraycopy(bytes, start, last, 0, length);
        starts[i] = start;
        ends[i] = start + length;
        Binary string = Binary.fromConstantByteArray(bytes, start, length);
        parquets.writeBytes(string);
        all.add(string);
      }
      int split = random.nextInt(count + 1);
      encoder.add(bytes, starts, ends, 0, split);
      encoder.add(bytes, starts, ends, split, count);
    }
    return all;
  }
}
