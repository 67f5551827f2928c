package dev.firn.engine.parquet;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ColumnReader;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.impl.ColumnReadStoreImpl;
import org.apache.parquet.column.page.DataPage;
import org.apache.parquet.column.page.DataPageV1;
import org.apache.parquet.column.page.DataPageV2;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.column.page.PageReader;
import org.apache.parquet.column.page.PageWriteStore;
import org.apache.parquet.column.page.PageWriter;
import org.apache.parquet.column.statistics.SizeStatistics;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.column.statistics.geospatial.GeospatialStatistics;
import org.apache.parquet.example.DummyRecordConverter;
import org.apache.parquet.format.DataPageHeader;
import org.apache.parquet.format.DataPageHeaderV2;
import org.apache.parquet.format.DictionaryPageHeader;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;

/**
 * The pages of one column, uncompressed and in memory: what parquet-java's writers left, and what
 * its readers find in them.
 */
final class ParquetPages implements PageWriteStore, PageWriter {
  /** What a page is, before it is decoded: an entry is a level pair and a value, if it has one. */
  record Entry(int repetition, int definition, Object value) {}

  private final MessageType schema;
  private final ColumnDescriptor column;
  private final List<DataPage> pages = new ArrayList<>();
  private DictionaryPage dictionary;

  ParquetPages(MessageType schema, ColumnDescriptor column) {
    this.schema = schema;
    this.column = column;
  }

  /** The pages of a column chunk, which may be read once. */
  static ParquetPages of(MessageType schema, ColumnDescriptor column, PageReader reader) {
    ParquetPages pages = new ParquetPages(schema, column);
    DictionaryPage dictionaryPage = reader.readDictionaryPage();
    if (dictionaryPage != null) {
      pages.writeDictionaryPage(dictionaryPage);
    }
    for (DataPage page = reader.readPage(); page != null; page = reader.readPage()) {
      pages.pages.add(copy(page));
    }
    return pages;
  }

  private static DataPage copy(DataPage page) {
    if (page instanceof DataPageV1 first) {
      return first(
          copy(first.getBytes()),
          first.getValueCount(),
          first.getRlEncoding(),
          first.getDlEncoding(),
          first.getValueEncoding());
    }
    DataPageV2 second = (DataPageV2) page;
    return DataPageV2.uncompressed(
        second.getRowCount(),
        second.getNullCount(),
        second.getValueCount(),
        copy(second.getRepetitionLevels()),
        copy(second.getDefinitionLevels()),
        second.getDataEncoding(),
        copy(second.getData()),
        second.getStatistics());
  }

  static DataPageV1 first(
      BytesInput bytes, int count, Encoding repetitions, Encoding definitions, Encoding values) {
    return new DataPageV1(bytes, count, (int) bytes.size(), null, repetitions, definitions, values);
  }

  private static BytesInput copy(BytesInput bytes) {
    return BytesInput.from(bytes(bytes));
  }

  static byte[] bytes(BytesInput input) {
    try {
      return input.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  MessageType schema() {
    return schema;
  }

  ColumnDescriptor column() {
    return column;
  }

  List<DataPage> pages() {
    return pages;
  }

  int dictionarySize() {
    return dictionary == null ? 0 : dictionary.getDictionarySize();
  }

  @Override
  public PageWriter getPageWriter(ColumnDescriptor path) {
    return this;
  }

  @Override
  public void writePage(
      BytesInput bytes,
      int valueCount,
      Statistics<?> statistics,
      Encoding rlEncoding,
      Encoding dlEncoding,
      Encoding valuesEncoding) {
    pages.add(first(copy(bytes), valueCount, rlEncoding, dlEncoding, valuesEncoding));
  }

  @Override
  public void writePage(
      BytesInput bytes,
      int valueCount,
      int rowCount,
      Statistics<?> statistics,
      Encoding rlEncoding,
      Encoding dlEncoding,
      Encoding valuesEncoding) {
    writePage(bytes, valueCount, statistics, rlEncoding, dlEncoding, valuesEncoding);
  }

  @Override
  public void writePage(
      BytesInput bytes,
      int valueCount,
      int rowCount,
      Statistics<?> statistics,
      SizeStatistics sizes,
      GeospatialStatistics places,
      Encoding rlEncoding,
      Encoding dlEncoding,
      Encoding valuesEncoding) {
    writePage(bytes, valueCount, statistics, rlEncoding, dlEncoding, valuesEncoding);
  }

  @Override
  public void writePageV2(
      int rowCount,
      int nullCount,
      int valueCount,
      BytesInput repetitionLevels,
      BytesInput definitionLevels,
      Encoding dataEncoding,
      BytesInput data,
      Statistics<?> statistics,
      SizeStatistics sizes,
      GeospatialStatistics places) {
    writePageV2(
        rowCount,
        nullCount,
        valueCount,
        repetitionLevels,
        definitionLevels,
        dataEncoding,
        data,
        statistics);
  }

  @Override
  public void writePageV2(
      int rowCount,
      int nullCount,
      int valueCount,
      BytesInput repetitionLevels,
      BytesInput definitionLevels,
      Encoding dataEncoding,
      BytesInput data,
      Statistics<?> statistics) {
    pages.add(
        DataPageV2.uncompressed(
            rowCount,
            nullCount,
            valueCount,
            copy(repetitionLevels),
            copy(definitionLevels),
            dataEncoding,
            copy(data),
            statistics));
  }

  @Override
  public void writeDictionaryPage(DictionaryPage dictionaryPage) {
    dictionary =
        new DictionaryPage(
            copy(dictionaryPage.getBytes()),
            dictionaryPage.getDictionarySize(),
            dictionaryPage.getEncoding());
  }

  @Override
  public long getMemSize() {
    return 0;
  }

  @Override
  public long allocatedSize() {
    return 0;
  }

  @Override
  public String memUsageString(String prefix) {
    return prefix;
  }

  @Override
  public void close() {}

  /** What parquet-java reads from some of the pages. */
  List<Entry> read(List<DataPage> some) {
    long count = some.stream().mapToLong(DataPage::getValueCount).sum();
    Queue<DataPage> queue = new ArrayDeque<>(some);
    PageReader reader =
        new PageReader() {
          @Override
          public DictionaryPage readDictionaryPage() {
            return dictionary;
          }

          @Override
          public long getTotalValueCount() {
            return count;
          }

          @Override
          public DataPage readPage() {
            return queue.poll();
          }
        };
    PageReadStore store =
        new PageReadStore() {
          @Override
          public PageReader getPageReader(ColumnDescriptor descriptor) {
            return reader;
          }

          @Override
          public long getRowCount() {
            return count;
          }
        };
    ColumnReader values =
        new ColumnReadStoreImpl(
                store,
                new DummyRecordConverter(schema).getRootConverter(),
                schema,
                "parquet-mr version 1.17.1")
            .getColumnReader(column);
    List<Entry> entries = new ArrayList<>();
    for (long i = 0; i < count; i++) {
      int definition = values.getCurrentDefinitionLevel();
      Object value =
          definition < column.getMaxDefinitionLevel()
              ? null
              : switch (type()) {
                case BOOLEAN -> values.getBoolean();
                case INT32 -> (long) values.getInteger();
                case INT64 -> values.getLong();
                case FLOAT -> (long) Float.floatToRawIntBits(values.getFloat());
                case DOUBLE -> Double.doubleToRawLongBits(values.getDouble());
                default -> ByteBuffer.wrap(values.getBinary().getBytes());
              };
      entries.add(new Entry(values.getCurrentRepetitionLevel(), definition, value));
      values.consume();
    }
    return entries;
  }

  private PrimitiveTypeName type() {
    return column.getPrimitiveType().getPrimitiveTypeName();
  }

  static org.apache.parquet.format.Encoding encoding(DataPage page) {
    return format(
        page instanceof DataPageV1 first
            ? first.getValueEncoding()
            : ((DataPageV2) page).getDataEncoding());
  }

  private static org.apache.parquet.format.Encoding format(Encoding encoding) {
    return org.apache.parquet.format.Encoding.valueOf(encoding.name());
  }

  void decodeDictionary(PageContent content) {
    if (dictionary != null) {
      content.decode(
          new DictionaryPageHeader(
              dictionary.getDictionarySize(), format(dictionary.getEncoding())),
          ByteBuffer.wrap(bytes(dictionary.getBytes())),
          column);
    }
  }

  void decode(DataPage page, PageContent content) {
    decode(page, page.getValueCount(), content);
  }

  /** Decodes a page as if its header said that it had so many values. */
  void decode(DataPage page, int count, PageContent content) {
    if (page instanceof DataPageV1 first) {
      content.decode(
          new DataPageHeader(
              count,
              format(first.getValueEncoding()),
              format(first.getDlEncoding()),
              format(first.getRlEncoding())),
          inside(bytes(first.getBytes())),
          column,
          dictionarySize());
      return;
    }
    DataPageV2 second = (DataPageV2) page;
    byte[] repetitions = bytes(second.getRepetitionLevels());
    byte[] definitions = bytes(second.getDefinitionLevels());
    ByteBuffer levels = ByteBuffer.allocate(repetitions.length + definitions.length);
    levels.put(repetitions).put(definitions).flip();
    content.decode(
        new DataPageHeaderV2(
            count,
            second.getNullCount(),
            second.getRowCount(),
            format(second.getDataEncoding()),
            definitions.length,
            repetitions.length),
        levels,
        inside(bytes(second.getData())),
        column,
        dictionarySize());
  }

  /* Among other bytes, which are not to be read as values. */
  private static ByteBuffer inside(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(bytes.length + 40);
    while (buffer.hasRemaining()) {
      buffer.put((byte) 0xA5);
    }
    return buffer.position(7).put(bytes).flip().position(7);
  }

  /** The same as {@link #read} from what was decoded. */
  List<Entry> entries(PageContent content, PageContent dictionaryContent) {
    List<Entry> entries = new ArrayList<>();
    int max = column.getMaxDefinitionLevel();
    int at = 0;
    for (int i = 0; i < content.entries(); i++) {
      int definition = content.isAllDefined() ? max : content.definitions()[i];
      entries.add(
          new Entry(
              column.getMaxRepetitionLevel() == 0 ? 0 : content.repetitions()[i],
              definition,
              definition < max ? null : value(content, dictionaryContent, at++)));
    }
    if (at != content.values()) {
      throw new AssertionError(at + " entries are defined, not " + content.values());
    }
    return entries;
  }

  private static Object value(PageContent content, PageContent dictionary, int i) {
    return switch (content.kind()) {
      case IDS -> value(dictionary, dictionary, content.ids()[i]);
      case LONGS -> content.longs()[i];
      case BOOLEANS -> content.booleans()[i] != 0;
      case BYTES ->
          ByteBuffer.wrap(
              Arrays.copyOfRange(content.bytes(), content.starts()[i], content.ends()[i]));
    };
  }
}
