package dev.firn.engine.parquet;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ColumnReader;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.column.impl.ColumnReadStoreImpl;
import org.apache.parquet.column.page.DataPage;
import org.apache.parquet.column.page.DataPageV1;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.column.page.PageReader;
import org.apache.parquet.column.values.ValuesWriter;
import org.apache.parquet.column.values.deltalengthbytearray.DeltaLengthByteArrayValuesWriter;
import org.apache.parquet.column.values.factory.DefaultV1ValuesWriterFactory;
import org.apache.parquet.column.values.factory.DefaultV2ValuesWriterFactory;
import org.apache.parquet.column.values.factory.ValuesWriterFactory;
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridEncoder;
import org.apache.parquet.example.DummyRecordConverter;
import org.apache.parquet.format.DataPageHeader;
import org.apache.parquet.format.DictionaryPageHeader;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.jspecify.annotations.NullUnmarked;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What does a value cost to take out of the encoding of its page? Measured: levels and values of
 * one uncompressed page of 20 000 entries, into arrays; of dictionary pages the numbers alone. The
 * score is time for an entry.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
@NullUnmarked // JMH sets the fields
public class PageBenchmark {
  static final int ENTRIES = 20_000;

  /** A type and an encoding. */
  public enum Page {
    LONG_PLAIN(PrimitiveTypeName.INT64),
    LONG_DELTA(PrimitiveTypeName.INT64),
    LONG_DICTIONARY(PrimitiveTypeName.INT64),
    INT_PLAIN(PrimitiveTypeName.INT32),
    DOUBLE_SPLIT(PrimitiveTypeName.DOUBLE),
    TEXT_PLAIN(PrimitiveTypeName.BINARY),
    TEXT_DELTA_LENGTH(PrimitiveTypeName.BINARY),
    TEXT_DELTA(PrimitiveTypeName.BINARY),
    TEXT_DICTIONARY(PrimitiveTypeName.BINARY),
    BOOLEAN_PLAIN(PrimitiveTypeName.BOOLEAN),
    BOOLEAN_RUNS(PrimitiveTypeName.BOOLEAN);

    private final PrimitiveTypeName type;

    Page(PrimitiveTypeName type) {
      this.type = type;
    }

    private ValuesWriterFactory writers() {
      return switch (this) {
        case LONG_DELTA, TEXT_DELTA, BOOLEAN_RUNS -> new DefaultV2ValuesWriterFactory();
        default -> new DefaultV1ValuesWriterFactory();
      };
    }
  }

  @Param public Page page;

  @Param({"0", "10"})
  public int nullsPercent;

  private MessageType schema;
  private ColumnDescriptor column;
  private @Nullable DictionaryPage dictionaryPage; // null where there is none
  private DataPageV1 parquetPage;
  private DataPageHeader header;
  private byte[] bytes;
  private byte[] copy;
  private final PageContent content = new PageContent(64 << 20);

  @Setup(Level.Trial)
  public void write() throws IOException {
    schema = MessageTypeParser.parseMessageType("message m {optional " + page.type + " a;}");
    column = schema.getColumns().get(0);
    boolean hasDictionary = page.name().endsWith("DICTIONARY");
    ParquetProperties properties =
        ParquetProperties.builder()
            .withDictionaryEncoding(hasDictionary)
            .withByteStreamSplitEncoding(page == Page.DOUBLE_SPLIT)
            .withValuesWriterFactory(page.writers())
            .withAllocator(new HeapByteBufferAllocator())
            .build();
    ValuesWriter values =
        page == Page.TEXT_DELTA_LENGTH
            ? new DeltaLengthByteArrayValuesWriter(64, 1 << 20, new HeapByteBufferAllocator())
            : properties.newValuesWriter(column);
    RunLengthBitPackingHybridEncoder levels =
        new RunLengthBitPackingHybridEncoder(1, 64, 1 << 20, new HeapByteBufferAllocator());
    Random random = new Random(1);
    for (int i = 0; i < ENTRIES; i++) {
      boolean isNull = random.nextInt(100) < nullsPercent;
      levels.writeInt(isNull ? 0 : 1);
      if (!isNull) {
        write(values, hasDictionary ? random.nextInt(1000) : 7L * i + random.nextInt(50), random);
      }
    }
    BytesInput runs = BytesInput.copy(levels.toBytes());
    BytesInput encoded = BytesInput.copy(values.getBytes());
    Encoding encoding = values.getEncoding();
    bytes = BytesInput.concat(BytesInput.fromInt((int) runs.size()), runs, encoded).toByteArray();
    copy = new byte[bytes.length];
    if (hasDictionary) {
      dictionaryPage = values.toDictPageAndClose().copy();
    }
    parquetPage =
        new DataPageV1(
            BytesInput.from(bytes),
            ENTRIES,
            bytes.length,
            null,
            Encoding.RLE,
            Encoding.RLE,
            encoding);
    header =
        new DataPageHeader(
            ENTRIES,
            org.apache.parquet.format.Encoding.valueOf(encoding.name()),
            org.apache.parquet.format.Encoding.RLE,
            org.apache.parquet.format.Encoding.RLE);
    check();
  }

  private void write(ValuesWriter values, long number, Random random) {
    switch (page.type) {
      case INT64 -> values.writeLong(number);
      case INT32 -> values.writeInteger((int) number);
      case DOUBLE -> values.writeDouble(number / 100.0);
      case BOOLEAN -> values.writeBoolean(random.nextInt(10) == 0);
      default -> values.writeBytes(Binary.fromString("customer-" + number));
    }
  }

  private void check() throws IOException {
    PageContent dictionary = new PageContent(64 << 20);
    if (dictionaryPage != null) {
      dictionary.decode(
          new DictionaryPageHeader(
              dictionaryPage.getDictionarySize(), org.apache.parquet.format.Encoding.PLAIN),
          ByteBuffer.wrap(dictionaryPage.getBytes().toByteArray()),
          column);
    }
    decode();
    ColumnReader reader = reader();
    int at = 0;
    for (int i = 0; i < ENTRIES; i++) {
      boolean isDefined = reader.getCurrentDefinitionLevel() == 1;
      if (isDefined != (content.isAllDefined() || content.definitions()[i] == 1)
          || isDefined && !isSame(reader, content, dictionary, at++)) {
        throw new IllegalStateException("The readers disagree on entry " + i + " of " + page);
      }
      reader.consume();
    }
  }

  private boolean isSame(ColumnReader reader, PageContent values, PageContent dictionary, int i) {
    return switch (values.kind()) {
      case IDS -> isSame(reader, dictionary, dictionary, values.ids()[i]);
      case BOOLEANS -> reader.getBoolean() == (values.booleans()[i] != 0);
      case BYTES ->
          reader
              .getBinary()
              .toStringUsingUTF8()
              .equals(
                  new String(
                      values.bytes(),
                      values.starts()[i],
                      values.ends()[i] - values.starts()[i],
                      StandardCharsets.UTF_8));
      case LONGS ->
          values.longs()[i]
              == switch (page.type) {
                case INT32 -> reader.getInteger();
                case DOUBLE -> Double.doubleToRawLongBits(reader.getDouble());
                default -> reader.getLong();
              };
    };
  }

  private ColumnReader reader() {
    PageReader pages =
        new PageReader() {
          private boolean isRead;

          @Override
          public @Nullable DictionaryPage readDictionaryPage() {
            return dictionaryPage;
          }

          @Override
          public long getTotalValueCount() {
            return ENTRIES;
          }

          @Override
          public @Nullable DataPage readPage() {
            DataPage next = isRead ? null : parquetPage;
            isRead = true;
            return next;
          }
        };
    PageReadStore store =
        new PageReadStore() {
          @Override
          public PageReader getPageReader(ColumnDescriptor descriptor) {
            return pages;
          }

          @Override
          public long getRowCount() {
            return ENTRIES;
          }
        };
    return new ColumnReadStoreImpl(
            store,
            new DummyRecordConverter(schema).getRootConverter(),
            schema,
            "parquet-mr version 1.17.1")
        .getColumnReader(column);
  }

  /** Firn. */
  @Benchmark
  @OperationsPerInvocation(ENTRIES)
  public int decode() {
    content.decode(
        header,
        ByteBuffer.wrap(bytes),
        column,
        dictionaryPage == null ? 0 : dictionaryPage.getDictionarySize());
    return content.values();
  }

  /** parquet-java's column reader, with its dictionary decoded each time. */
  @Benchmark
  @OperationsPerInvocation(ENTRIES)
  public long byValue() {
    ColumnReader reader = reader();
    long sum = 0;
    for (int i = 0; i < ENTRIES; i++) {
      if (reader.getCurrentDefinitionLevel() == 1) {
        sum +=
            switch (page.type) {
              case INT64 -> reader.getLong();
              case INT32 -> reader.getInteger();
              case DOUBLE -> (long) reader.getDouble();
              case BOOLEAN -> reader.getBoolean() ? 1 : 0;
              default -> reader.getBinary().length();
            };
      }
      reader.consume();
    }
    return sum;
  }

  /** The limit: the page's bytes, copied. */
  @Benchmark
  @OperationsPerInvocation(ENTRIES)
  public byte[] copyBytes() {
    System.arraycopy(bytes, 0, copy, 0, bytes.length);
    return copy;
  }
}
