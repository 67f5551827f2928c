package dev.firn.engine.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ColumnWriteStore;
import org.apache.parquet.column.ColumnWriter;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.column.impl.ColumnWriteStoreV1;
import org.apache.parquet.column.impl.ColumnWriteStoreV2;
import org.apache.parquet.column.page.DataPage;
import org.apache.parquet.column.page.DataPageV1;
import org.apache.parquet.column.page.DataPageV2;
import org.apache.parquet.column.values.ValuesWriter;
import org.apache.parquet.column.values.deltalengthbytearray.DeltaLengthByteArrayValuesWriter;
import org.apache.parquet.column.values.factory.DefaultV1ValuesWriterFactory;
import org.apache.parquet.column.values.factory.DefaultV2ValuesWriterFactory;
import org.apache.parquet.column.values.factory.ValuesWriterFactory;
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridEncoder;
import org.apache.parquet.format.DataPageHeader;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.junit.jupiter.api.Test;

/** Pages as parquet-java writes them, decoded as parquet-java decodes them. */
class PageContentTest {
  private static final long MEMORY_MAX = 64 << 20;
  private static final int ENTRIES_LOOKED_AT_MAX = 100_000;

  private final PageContent content = new PageContent(MEMORY_MAX);
  private final PageContent dictionary = new PageContent(MEMORY_MAX);

  private static long seed() {
    return Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
  }

  /** A column of its own, and values for it: what repeats, runs on, grows or goes to extremes. */
  private static final class RandomColumn {
    private final Random random;
    private final MessageType schema;
    private final ColumnDescriptor column;
    private final int style;
    private final long base;
    private final int bits;
    private final String prefix;
    private long last;

    RandomColumn(Random random, PrimitiveTypeName type) {
      this.random = random;
      this.schema = schema(random, type);
      this.column = schema.getColumns().get(0);
      this.style = random.nextInt(6);
      this.base = random.nextLong();
      this.bits = random.nextInt(64);
      this.prefix = "x".repeat(random.nextInt(4) == 0 ? random.nextInt(100) : random.nextInt(9));
    }

    private static MessageType schema(Random random, PrimitiveTypeName type) {
      String leaf =
          switch (type) {
            case BINARY -> "binary leaf;";
            case FIXED_LEN_BYTE_ARRAY ->
                "fixed_len_byte_array(" + (1 + random.nextInt(20)) + ") leaf;";
            default -> type.name().toLowerCase(java.util.Locale.ROOT) + " leaf;";
          };
      List<String> repetitions = List.of("required ", "optional ", "repeated ");
      String field = repetitions.get(random.nextInt(3)) + leaf;
      for (int depth = random.nextInt(4); depth > 0; depth--) {
        field = repetitions.get(random.nextInt(3)) + "group g" + depth + " {" + field + "}";
      }
      return MessageTypeParser.parseMessageType("message m {" + field + "}");
    }

    private long number() {
      last =
          switch (style) {
            case 0 -> base;
            case 1 -> base + random.nextInt(4);
            case 2 -> last + random.nextInt(100);
            case 3 -> random.nextInt(20) == 0 ? random.nextInt(1000) : last;
            case 4 -> random.nextLong() >> bits;
            default ->
                switch (random.nextInt(4)) {
                  case 0 -> Long.MIN_VALUE;
                  case 1 -> Long.MAX_VALUE;
                  case 2 -> 0;
                  default -> random.nextLong();
                };
          };
      return last;
    }

    private int intNumber() {
      long number = number();
      return style == 5 && number == Long.MIN_VALUE
          ? Integer.MIN_VALUE
          : style == 5 && number == Long.MAX_VALUE ? Integer.MAX_VALUE : (int) number;
    }

    private Binary text() {
      String text = prefix + Long.toHexString(number());
      return Binary.fromString(
          random.nextInt(10) == 0 ? text.substring(random.nextInt(text.length())) : text);
    }

    private Binary fixed() {
      byte[] bytes = new byte[column.getPrimitiveType().getTypeLength()];
      ByteBuffer number = ByteBuffer.allocate(Long.BYTES).putLong(0, number());
      number.get(0, bytes, bytes.length - Math.min(8, bytes.length), Math.min(8, bytes.length));
      return Binary.fromConstantByteArray(bytes);
    }

    private void write(ColumnWriter writer, int r, int d) {
      if (d < column.getMaxDefinitionLevel()) {
        writer.writeNull(r, d);
        return;
      }
      switch (column.getPrimitiveType().getPrimitiveTypeName()) {
        case BOOLEAN -> writer.write((number() & 1) != 0, r, d);
        case INT32 -> writer.write(intNumber(), r, d);
        case INT64 -> writer.write(number(), r, d);
        case FLOAT -> writer.write(Float.intBitsToFloat((int) number()), r, d);
        case DOUBLE -> writer.write(Double.longBitsToDouble(number()), r, d);
        case BINARY -> writer.write(text(), r, d);
        default -> writer.write(fixed(), r, d);
      }
    }

    /** Levels need not be those of rows that could be: that is nothing to a page. */
    ParquetPages pages(int entries, ParquetProperties properties, WriterVersion version) {
      ParquetPages pages = new ParquetPages(schema, column);
      ColumnWriteStore store =
          version == WriterVersion.PARQUET_1_0
              ? new ColumnWriteStoreV1(schema, pages, properties)
              : new ColumnWriteStoreV2(schema, pages, properties);
      ColumnWriter writer = store.getColumnWriter(column);
      int nullsPercent = random.nextInt(3) == 0 ? 0 : random.nextInt(101);
      boolean runs = random.nextBoolean();
      int repetition = 0;
      int definition = column.getMaxDefinitionLevel();
      for (int i = 0; i < entries; i++) {
        if (!runs || random.nextInt(20) == 0) {
          definition =
              random.nextInt(100) < nullsPercent
                  ? random.nextInt(column.getMaxDefinitionLevel() + 1)
                  : column.getMaxDefinitionLevel();
          repetition = i == 0 ? 0 : random.nextInt(column.getMaxRepetitionLevel() + 1);
        }
        if (repetition == 0 && i > 0) {
          store.endRecord();
        }
        write(writer, repetition, definition);
      }
      store.endRecord();
      store.flush();
      store.close();
      return pages;
    }
  }

  private static final class DeltaLengths implements ValuesWriterFactory {
    @Override
    public void initialize(ParquetProperties properties) {}

    @Override
    public ValuesWriter newValuesWriter(ColumnDescriptor descriptor) {
      return new DeltaLengthByteArrayValuesWriter(64, 1 << 20, new HeapByteBufferAllocator());
    }
  }

  private static final List<PrimitiveTypeName> TYPES =
      List.of(
          PrimitiveTypeName.BOOLEAN,
          PrimitiveTypeName.INT32,
          PrimitiveTypeName.INT64,
          PrimitiveTypeName.FLOAT,
          PrimitiveTypeName.DOUBLE,
          PrimitiveTypeName.BINARY,
          PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY);

  /** A number of the round gives all combinations of what can be chosen. */
  private static ParquetPages randomPages(Random random, int round, int entriesMax) {
    PrimitiveTypeName type = TYPES.get(round % TYPES.size());
    int choice = round / TYPES.size();
    WriterVersion version = WriterVersion.values()[choice & 1];
    boolean split = (choice & 2) != 0;
    ValuesWriterFactory values =
        type == PrimitiveTypeName.BINARY && split
            ? new DeltaLengths()
            : (choice & 4) != 0
                ? new DefaultV1ValuesWriterFactory()
                : new DefaultV2ValuesWriterFactory();
    ParquetProperties properties =
        ParquetProperties.builder()
            .withWriterVersion(version)
            .withValuesWriterFactory(values)
            .withDictionaryEncoding((choice & 8) != 0)
            .withByteStreamSplitEncoding(split)
            .withExtendedByteStreamSplitEncoding(split)
            .withDictionaryPageSize(random.nextBoolean() ? 200 : 1 << 20)
            .withPageRowCountLimit(1 + random.nextInt(2000))
            .withPageSize(100 + random.nextInt(20_000))
            .withMinRowCountForPageSizeCheck(1 + random.nextInt(200))
            .withAllocator(new HeapByteBufferAllocator())
            .build();
    return new RandomColumn(random, type)
        .pages(1 + random.nextInt(entriesMax), properties, version);
  }

  private void check(ParquetPages pages, String rerun) {
    dictionary.trim();
    pages.decodeDictionary(dictionary);
    List<ParquetPages.Entry> expected = pages.read(pages.pages());
    int from = 0;
    for (DataPage page : pages.pages()) {
      pages.decode(page, content);
      int to = from + page.getValueCount();
      assertThat(pages.entries(content, dictionary))
          .as("%s of %s, %s", page, pages.column(), rerun)
          .isEqualTo(expected.subList(from, to));
      from = to;
    }
    assertThat(from).isEqualTo(expected.size());
  }

  private static Set<String> supported() {
    Set<String> supported = new HashSet<>();
    for (PrimitiveTypeName type : TYPES) {
      for (Encoding encoding : Encoding.values()) {
        boolean isWritten = // by parquet-java
            type != PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY || encoding != Encoding.PLAIN_DICTIONARY;
        if (isWritten && PageContent.supports(encoding, type)) {
          supported.add(type + " " + encoding + " DataPageV1");
          supported.add(type + " " + encoding + " DataPageV2");
        }
      }
    }
    return supported;
  }

  @Test
  void randomColumnsAreDecodedAsParquetDoes() {
    long seed = seed();
    Random random = new Random(seed);
    Set<String> missing = supported();
    for (int round = 0; round < 400 || !missing.isEmpty() && round < 5000; round++) {
      ParquetPages pages = randomPages(random, round, 1500);
      check(pages, "round " + round + ", rerun with -Dfirn.test.seed=" + seed);
      for (DataPage page : pages.pages()) {
        missing.remove(
            pages.column().getPrimitiveType().getPrimitiveTypeName()
                + " "
                + ParquetPages.encoding(page)
                + " "
                + page.getClass().getSimpleName());
      }
      if (round % 100 == 0) {
        content.trim();
      }
    }
    assertThat(missing).as("rerun with -Dfirn.test.seed=" + seed).isEmpty();
  }

  private static MessageType message(String field) {
    return MessageTypeParser.parseMessageType("message m {" + field + "}");
  }

  private static ParquetPages single(MessageType schema, DataPage page) {
    ParquetPages pages = new ParquetPages(schema, schema.getColumns().get(0));
    pages.pages().add(page);
    return pages;
  }

  private static DataPageV1 page(
      byte[] bytes,
      int count,
      org.apache.parquet.column.Encoding levels,
      org.apache.parquet.column.Encoding values) {
    return ParquetPages.first(BytesInput.from(bytes), count, levels, levels, values);
  }

  private static byte[] bytes(Object... parts) {
    ByteBuffer buffer = ByteBuffer.allocate(1 << 20).order(java.nio.ByteOrder.LITTLE_ENDIAN);
    for (Object part : parts) {
      if (part instanceof byte[] array) {
        buffer.put(array);
      } else if (part instanceof Long number) {
        buffer.putInt((int) (long) number);
      } else {
        buffer.put((byte) (int) (Integer) part);
      }
    }
    return Arrays.copyOf(buffer.array(), buffer.position());
  }

  private static byte[] runs(int[] values, int width) {
    try (RunLengthBitPackingHybridEncoder encoder =
        new RunLengthBitPackingHybridEncoder(width, 64, 1 << 20, new HeapByteBufferAllocator())) {
      for (int value : values) {
        encoder.writeInt(value);
      }
      return encoder.toBytes().toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int[] runs(Random random, int count, int width) {
    int[] values = new int[count];
    int mask = width == 0 ? 0 : -1 >>> (32 - width);
    int runMax = 1 + random.nextInt(40);
    for (int i = 0; i < count; ) {
      int value = (random.nextInt(3) == 0 ? random.nextInt(2) : random.nextInt()) & mask;
      for (int end = Math.min(count, i + 1 + random.nextInt(runMax)); i < end; i++) {
        values[i] = value;
      }
    }
    return values;
  }

  private int[] ids(byte[] body, int count, int dictionarySize) {
    content.decode(
        new DataPageHeader(count, Encoding.RLE_DICTIONARY, Encoding.RLE, Encoding.RLE),
        ByteBuffer.wrap(body),
        message("required int32 a;").getColumns().get(0),
        dictionarySize);
    assertThat(content.kind()).isEqualTo(PageContent.Kind.IDS);
    return Arrays.copyOf(content.ids(), content.values());
  }

  @Test
  void dictionaryNumbersOfEveryWidth() {
    long seed = seed();
    Random random = new Random(seed);
    for (int round = 0; round < 32 * 60; round++) {
      int width = round % 32;
      int[] values = runs(random, 1 + random.nextInt(1500), width);
      assertThat(ids(bytes(width, runs(values, width)), values.length, Integer.MAX_VALUE))
          .as("width " + width + ", rerun with -Dfirn.test.seed=" + seed)
          .isEqualTo(values);
    }
    int[] wide = {0, 1, 2, Integer.MAX_VALUE - 1, 4, 5, 6, 7, 8};
    assertThat(ids(bytes(32, runs(wide, 32)), 9, Integer.MAX_VALUE)).isEqualTo(wide);
  }

  @Test
  void numbersThatTheDictionaryDoesNotHaveAreRefused() {
    int[] wide = {0, 1, 2, 3, 4, 5, 6, 7, -1};
    assertThatThrownBy(() -> ids(bytes(32, runs(wide, 32)), 9, Integer.MAX_VALUE))
        .isInstanceOf(MalformedPageException.class)
        .hasMessageContaining("value 8 is number 4294967295 of a dictionary with 2147483647");
    int[] narrow = {0, 1, 2, 3, 2, 1, 0, 1};
    assertThat(ids(bytes(2, runs(narrow, 2)), 8, 4)).isEqualTo(narrow);
    assertThatThrownBy(() -> ids(bytes(2, runs(narrow, 2)), 8, 3))
        .isInstanceOf(MalformedPageException.class)
        .hasMessageContaining("value 3 is number 3 of a dictionary with 3 entries");
    assertThatThrownBy(() -> ids(bytes(2, 16 << 1, 0x80), 16, 0x80))
        .isInstanceOf(MalformedPageException.class);
    assertThatThrownBy(() -> ids(bytes(0), 16, 0)).isInstanceOf(MalformedPageException.class);
    assertThatThrownBy(() -> ids(bytes(33, 16 << 1, 0, 0, 0, 0, 0), 16, 9))
        .isInstanceOf(MalformedPageException.class)
        .hasMessageContaining("33 bits");
  }

  @Test
  void aDictionaryOfOneNeedsNoNumbers() {
    assertThat(ids(bytes(0), 5, 1)).isEqualTo(new int[5]);
    assertThat(ids(bytes(0, 5 << 1), 5, 1)).isEqualTo(new int[5]);
  }

  @Test
  void lastPackedValuesNeedNoPadding() {
    // Eight values of three bits are announced; of the three bytes, two hold the five there are.
    assertThat(ids(bytes(3, 1 << 1 | 1, 0b10_001_000, 0b0_100_011_0 >>> 1), 5, 8))
        .isEqualTo(new int[] {0, 1, 6, 1, 2});
    assertThatThrownBy(() -> ids(bytes(3, 1 << 1 | 1, 0, 0), 6, 8))
        .isInstanceOf(MalformedPageException.class);
  }

  @Test
  void levelsWithoutRunsAreDecodedAsParquetDoes() {
    long seed = seed();
    Random random = new Random(seed);
    for (int round = 0; round < 200; round++) {
      StringBuilder field = new StringBuilder("repeated int32 leaf;");
      int depth = random.nextInt(9);
      for (int i = 0; i < depth; i++) {
        field.insert(0, "repeated group g" + i + " {").append('}');
      }
      MessageType schema = message(field.toString());
      int count = 1 + random.nextInt(100);
      int[] levels = new int[count];
      for (int i = 0; i < count; i++) {
        levels[i] = random.nextInt(depth + 2);
      }
      int width = 32 - Integer.numberOfLeadingZeros(depth + 1);
      byte[] packed = new byte[(count * width + 7) / 8];
      for (int bit = 0; bit < count * width; bit++) {
        int value = levels[bit / width] >>> (width - 1 - bit % width) & 1;
        packed[bit / 8] |= (byte) (value << (7 - bit % 8));
      }
      byte[] values = new byte[count * 4];
      random.nextBytes(values);
      ParquetPages pages =
          single(
              schema,
              page(
                  bytes(packed, packed, values),
                  count,
                  org.apache.parquet.column.Encoding.BIT_PACKED,
                  org.apache.parquet.column.Encoding.PLAIN));
      check(pages, "rerun with -Dfirn.test.seed=" + seed);
    }
  }

  @Test
  void levelsThatTheColumnDoesNotHaveAreRefused() {
    MessageType schema =
        message("optional group g { optional int32 a; }"); // at most 2, in two bits
    for (byte[] levels :
        List.of(bytes(4 << 1, 3), bytes(1 << 1 | 1, 0b11_10_01_00, 0), bytes(4 << 1, 0x82))) {
      ParquetPages pages =
          single(
              schema,
              page(
                  bytes((long) levels.length, levels, new byte[40]),
                  4,
                  org.apache.parquet.column.Encoding.RLE,
                  org.apache.parquet.column.Encoding.PLAIN));
      assertThatThrownBy(() -> pages.decode(pages.pages().get(0), content))
          .isInstanceOf(MalformedPageException.class)
          .hasMessageContaining("definition levels are at most 2");
    }
  }

  @Test
  void aPageThatIsDefinedThroughoutHasNoLevels() {
    MessageType schema = message("optional int64 a;");
    byte[] runs = runs(new int[] {1, 1, 1, 1, 1, 1, 1, 1, 1}, 1);
    ParquetPages pages =
        single(
            schema,
            page(
                bytes((long) runs.length, runs, new byte[72]),
                9,
                org.apache.parquet.column.Encoding.RLE,
                org.apache.parquet.column.Encoding.PLAIN));
    pages.decode(pages.pages().get(0), content);
    assertThat(content.isAllDefined()).isTrue();
    assertThat(content.values()).isEqualTo(9);
    assertThat(content.definitions()).isEmpty();
  }

  @Test
  void pagesThatPromiseMoreThanTheyHaveTakeNoMemory() {
    int many = Integer.MAX_VALUE;
    for (PrimitiveTypeName type : TYPES) {
      for (Encoding encoding : Encoding.values()) {
        if (PageContent.supports(encoding, type)) {
          String field =
              type == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY
                  ? "fixed_len_byte_array(7) a;"
                  : type.name().toLowerCase(java.util.Locale.ROOT) + " a;";
          for (String repetition : List.of("required ", "optional ", "repeated ")) {
            PageContent fresh = new PageContent(MEMORY_MAX);
            assertThatThrownBy(
                    () ->
                        fresh.decode(
                            new DataPageHeader(many, encoding, Encoding.RLE, Encoding.RLE),
                            // levels of one run, if they are asked for
                            ByteBuffer.wrap(
                                bytes(6L, 0xFE, 0xFF, 0xFF, 0xFF, 0x0F, 1, 4L, 1, 2, 3, 4)),
                            message(repetition + field).getColumns().get(0),
                            1))
                .isInstanceOfAny(MalformedPageException.class, UnsupportedPageException.class);
            assertThat(fresh.memoryBytes()).isLessThan(1000);
          }
        }
      }
    }
  }

  @Test
  void prefixesThatAddUpAreLimited() {
    // 8 000 values that repeat one of 10 000 bytes.
    int count = 8_000;
    Binary value = Binary.fromConstantByteArray(new byte[10_000]);
    ParquetPages pages = new ParquetPages(message("required binary a;"), binary());
    ParquetProperties properties =
        ParquetProperties.builder()
            .withWriterVersion(WriterVersion.PARQUET_2_0)
            .withDictionaryEncoding(false)
            .withPageRowCountLimit(count)
            .withStatisticsEnabled(false)
            .withAllocator(new HeapByteBufferAllocator())
            .build();
    ColumnWriteStore store = new ColumnWriteStoreV2(pages.schema(), pages, properties);
    for (int i = 0; i < count; i++) {
      store.getColumnWriter(pages.column()).write(value, 0, 0);
      store.endRecord();
    }
    store.flush();
    assertThat(pages.pages()).hasSize(1);
    assertThatThrownBy(() -> pages.decode(pages.pages().get(0), content))
        .isInstanceOf(UnsupportedPageException.class)
        .hasMessageContaining("more than " + MEMORY_MAX + " bytes");
    assertThat(content.memoryBytes()).isLessThan(4 << 20);
  }

  private static ColumnDescriptor binary() {
    return message("required binary a;").getColumns().get(0);
  }

  @Test
  void aPrefixOfThePageBeforeIsLeftToOthers() {
    byte[] prefixes = bytes(0x80, 1, 4, 1, 2); // one value: 1
    byte[] suffixes = bytes(0x80, 1, 4, 1, 2, 97);
    ParquetPages pages =
        single(
            message("required binary a;"),
            page(
                bytes(prefixes, suffixes),
                1,
                org.apache.parquet.column.Encoding.RLE,
                org.apache.parquet.column.Encoding.DELTA_BYTE_ARRAY));
    assertThatThrownBy(() -> pages.decode(pages.pages().get(0), content))
        .isInstanceOf(UnsupportedPageException.class);
  }

  @Test
  void unsupportedTypesAndEncodingsSaySo() {
    for (Encoding encoding : Encoding.values()) {
      assertThat(PageContent.supports(encoding, PrimitiveTypeName.INT96)).isFalse();
      assertThat(PageContent.supports(Encoding.BIT_PACKED, PrimitiveTypeName.BOOLEAN)).isFalse();
    }
    ColumnDescriptor column = message("required int96 a;").getColumns().get(0);
    assertThatThrownBy(
            () ->
                content.decode(
                    new DataPageHeader(1, Encoding.PLAIN, Encoding.RLE, Encoding.RLE),
                    ByteBuffer.allocate(12),
                    column,
                    0))
        .isInstanceOf(UnsupportedPageException.class);
  }

  /** Flips, cuts, repeats and overwrites bytes. */
  private static byte[] damaged(Random random, byte[] bytes) {
    byte[] damaged = bytes.clone();
    for (int i = random.nextInt(4); i >= 0 && damaged.length > 0; i--) {
      int at =
          random.nextInt(3) == 0
              ? random.nextInt(Math.min(16, damaged.length))
              : random.nextInt(damaged.length);
      switch (random.nextInt(4)) {
        case 0 -> damaged[at] ^= (byte) (1 << random.nextInt(8));
        case 1 -> damaged[at] = (byte) random.nextInt();
        case 2 -> damaged[at] = (byte) -random.nextInt(2);
        default -> damaged = Arrays.copyOf(damaged, at);
      }
    }
    return damaged;
  }

  private static DataPage damaged(Random random, DataPage page) {
    if (page instanceof DataPageV1 first) {
      return ParquetPages.first(
          BytesInput.from(damaged(random, ParquetPages.bytes(first.getBytes()))),
          first.getValueCount(),
          first.getRlEncoding(),
          first.getDlEncoding(),
          first.getValueEncoding());
    }
    DataPageV2 second = (DataPageV2) page;
    List<BytesInput> parts = new ArrayList<>();
    int which = random.nextInt(3);
    for (BytesInput part :
        List.of(second.getRepetitionLevels(), second.getDefinitionLevels(), second.getData())) {
      byte[] bytes = ParquetPages.bytes(part);
      parts.add(BytesInput.from(parts.size() == which ? damaged(random, bytes) : bytes));
    }
    return DataPageV2.uncompressed(
        second.getRowCount(),
        second.getNullCount(),
        second.getValueCount(),
        parts.get(0),
        parts.get(1),
        second.getDataEncoding(),
        parts.get(2),
        second.getStatistics());
  }

  @Test
  void damagedPagesAreRefusedOrDecodedAsParquetDoes() {
    long seed = seed();
    Random random = new Random(seed);
    int refused = 0;
    int decoded = 0;
    for (int round = 0; round < 224; round++) {
      ParquetPages pages = randomPages(random, round, 300);
      dictionary.trim();
      pages.decodeDictionary(dictionary);
      for (int time = 0; time < 30; time++) {
        DataPage sound = pages.pages().get(random.nextInt(pages.pages().size()));
        DataPage page = damaged(random, sound);
        String rerun = page + " of " + pages.column() + ", rerun with -Dfirn.test.seed=" + seed;
        int count =
            random.nextInt(8) == 0 ? random.nextInt() >>> random.nextInt(32) : page.getValueCount();
        try {
          pages.decode(page, count, content);
        } catch (MalformedPageException | UnsupportedPageException expected) {
          refused++;
          continue;
        } catch (RuntimeException | Error e) {
          throw new AssertionError(rerun, e);
        }
        assertThat(content.entries()).as(rerun).isEqualTo(count);
        if (count > ENTRIES_LOOKED_AT_MAX) {
          continue; // a few runs can say that many
        }
        List<ParquetPages.Entry> entries = pages.entries(content, dictionary);
        assertThat(entries).as(rerun).hasSize(count);
        if (count == page.getValueCount()) {
          Supplier<List<ParquetPages.Entry>> others = () -> pages.read(List.of(page));
          List<ParquetPages.Entry> expected = orNull(others);
          if (expected != null) {
            decoded++;
            assertThat(entries).as(rerun).isEqualTo(expected);
          }
        }
      }
    }
    assertThat(refused).isGreaterThan(500);
    assertThat(decoded).isGreaterThan(500);
  }

  private static List<ParquetPages.Entry> orNull(Supplier<List<ParquetPages.Entry>> reading) {
    try {
      return reading.get();
    } catch (RuntimeException | OutOfMemoryError refused) {
      return null; // parquet-java believes any size that it reads
    }
  }
}
