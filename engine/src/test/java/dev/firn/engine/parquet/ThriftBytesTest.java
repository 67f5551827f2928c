package dev.firn.engine.parquet;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.parquet.format.BoundaryOrder;
import org.apache.parquet.format.ColumnIndex;
import org.apache.parquet.format.DataPageHeaderV2;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.KeyValue;
import org.apache.parquet.format.OffsetIndex;
import org.apache.parquet.format.PageHeader;
import org.apache.parquet.format.PageLocation;
import org.apache.parquet.format.PageType;
import org.apache.parquet.format.SchemaElement;
import org.apache.parquet.format.Statistics;
import org.apache.parquet.format.Util;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Structs as parquet-java writes them, read as parquet-java reads them. */
class ThriftBytesTest {
  private final long seed = Long.getLong("firn.test.seed", new Random().nextInt(1 << 30));
  private final Random random = new Random(seed);

  @FunctionalInterface
  private interface Writer {
    void write(ByteArrayOutputStream to) throws IOException;
  }

  @FunctionalInterface
  private interface Reader {
    Object read(byte[] bytes) throws IOException;
  }

  private static byte[] bytes(Writer writer) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    writer.write(out);
    return out.toByteArray();
  }

  private byte[] text(int length) {
    byte[] text = new byte[length];
    for (int i = 0; i < length; i++) {
      text[i] = (byte) ('a' + random.nextInt(26));
    }
    return text;
  }

  /** Bounds of that many bytes, so that headers end within any window. */
  private PageHeader header(int boundBytes) {
    DataPageHeaderV2 data =
        new DataPageHeaderV2(random.nextInt(1 << random.nextInt(31)), 7, 30, Encoding.PLAIN, 5, 0);
    data.setIs_compressed(random.nextBoolean());
    Statistics bounds = new Statistics();
    bounds.setMin_value(text(boundBytes));
    bounds.setMax_value(text(boundBytes + 1));
    bounds.setNull_count(random.nextInt(100));
    data.setStatistics(bounds);
    PageHeader header = new PageHeader(PageType.DATA_PAGE_V2, random.nextInt(), 1234);
    header.setData_page_header_v2(data);
    header.setCrc(random.nextInt());
    return header;
  }

  private FileMetaData footer() {
    List<SchemaElement> schema = new ArrayList<>();
    for (int i = 0; i < 1 + random.nextInt(50); i++) {
      SchemaElement element = new SchemaElement(new String(text(random.nextInt(40)), US_ASCII));
      element.setField_id(random.nextInt());
      schema.add(element);
    }
    FileMetaData footer = new FileMetaData(2, schema, random.nextLong(), new ArrayList<>());
    footer.addToKey_value_metadata(new KeyValue("ünï" + new String(text(300), US_ASCII)));
    return footer;
  }

  private ColumnIndex columnIndex(int pages) {
    List<Boolean> nulls = new ArrayList<>();
    List<ByteBuffer> bounds = new ArrayList<>();
    for (int i = 0; i < pages; i++) {
      nulls.add(random.nextBoolean());
      bounds.add(ByteBuffer.wrap(text(random.nextInt(200))));
    }
    return new ColumnIndex(nulls, bounds, bounds, BoundaryOrder.UNORDERED);
  }

  private OffsetIndex offsetIndex(int pages) {
    List<PageLocation> locations = new ArrayList<>();
    for (int i = 0; i < pages; i++) {
      locations.add(new PageLocation(random.nextLong(), random.nextInt(), random.nextLong()));
    }
    return new OffsetIndex(locations);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aPageHeaderIsReadOutOfAnyBufferAndLeftBehind(boolean direct) throws IOException {
    for (int boundBytes = 0; boundBytes < 700; boundBytes++) {
      PageHeader header = header(boundBytes);
      byte[] stored = bytes(to -> Util.writePageHeader(header, to));
      int before = random.nextInt(10);
      int after = random.nextInt(3) == 0 ? 0 : random.nextInt(1000);
      int size = before + stored.length + after;
      ByteBuffer buffer = direct ? ByteBuffer.allocateDirect(size) : ByteBuffer.allocate(size);
      buffer.put(before, stored).position(before);
      PageHeader read = ThriftBytes.pageHeader(buffer);
      assertThat(read).as("seed %d", seed).isEqualTo(header);
      // parquet-java takes whole arrays for values
      Statistics bounds = read.getData_page_header_v2().getStatistics();
      assertThat(bounds.min_value.array()).as("seed %d", seed).hasSize(boundBytes);
      assertThat(bounds.max_value.array()).as("seed %d", seed).hasSize(boundBytes + 1);
      assertThat(buffer.position()).as("seed %d", seed).isEqualTo(before + stored.length);
    }
  }

  @Test
  void footersAndIndexesAreWhatParquetJavaReads() throws IOException {
    for (int i = 0; i < 100; i++) {
      byte[] footer = bytes(to -> Util.writeFileMetaData(footer(), to));
      assertThat(ThriftBytes.fileMetaData(footer))
          .as("seed %d", seed)
          .isEqualTo(Util.readFileMetaData(new ByteArrayInputStream(footer)));
      int pages = random.nextInt(200);
      byte[] columns = bytes(to -> Util.writeColumnIndex(columnIndex(pages), to));
      ColumnIndex expected = Util.readColumnIndex(new ByteArrayInputStream(columns));
      ColumnIndex read = ThriftBytes.columnIndex(columns);
      assertThat(read).as("seed %d", seed).isEqualTo(expected);
      for (int page = 0; page < pages; page++) {
        assertThat(read.getMin_values().get(page).array())
            .as("seed %d", seed)
            .isEqualTo(expected.getMin_values().get(page).array());
      }
      byte[] offsets = bytes(to -> Util.writeOffsetIndex(offsetIndex(pages), to));
      assertThat(ThriftBytes.offsetIndex(offsets))
          .as("seed %d", seed)
          .isEqualTo(Util.readOffsetIndex(new ByteArrayInputStream(offsets)));
    }
  }

  @Test
  void whatIsCutOffIsRefused() throws IOException {
    byte[] header = bytes(to -> Util.writePageHeader(header(200), to));
    byte[] footer = bytes(to -> Util.writeFileMetaData(footer(), to));
    byte[] index = bytes(to -> Util.writeColumnIndex(columnIndex(20), to));
    byte[] offsets = bytes(to -> Util.writeOffsetIndex(offsetIndex(20), to));
    for (int lost = 1; lost < 50; lost++) {
      refused(header, lost, bytes -> ThriftBytes.pageHeader(ByteBuffer.wrap(bytes)));
      refused(footer, lost, ThriftBytes::fileMetaData);
      refused(index, lost, ThriftBytes::columnIndex);
      refused(offsets, lost, ThriftBytes::offsetIndex);
    }
    assertThatThrownBy(() -> ThriftBytes.pageHeader(ByteBuffer.allocate(0)))
        .isInstanceOf(IOException.class);
  }

  private void refused(byte[] bytes, int lost, Reader reader) {
    byte[] rest = Arrays.copyOf(bytes, Math.max(0, bytes.length - lost));
    assertThatThrownBy(() -> reader.read(rest))
        .as("seed %d, without %d bytes", seed, lost)
        .isInstanceOf(IOException.class);
  }

  /** In a list of that length, or a text, what is claimed would not fit in any heap. */
  @Test
  void aLengthThatTheBytesCannotHoldIsRefusedBeforeItTakesMemory() {
    byte[] most = {(byte) 0xFF, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF, 7};
    byte[] list = {(byte) 0x19, (byte) 0xFC, most[0], most[1], most[2], most[3], most[4], 0};
    assertThatThrownBy(() -> ThriftBytes.offsetIndex(list))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("OffsetIndex");
    byte[] text = {(byte) 0x68, most[0], most[1], most[2], most[3], most[4], 'a', 0};
    assertThatThrownBy(() -> ThriftBytes.fileMetaData(text)).isInstanceOf(IOException.class);
  }

  /** Thrift skips what it does not know by recursion. */
  @Test
  void structsWithinStructsWithoutEndAreRefused() {
    byte[] deep = new byte[4 << 20];
    Arrays.fill(deep, (byte) 0x1C); // the next field, a struct
    assertThatThrownBy(() -> ThriftBytes.fileMetaData(deep)).isInstanceOf(IOException.class);
  }

  @Test
  void bytesThatAreNoStructGiveNothingElseThanAnIoException() throws IOException {
    byte[] footer = bytes(to -> Util.writeFileMetaData(footer(), to));
    byte[] header = bytes(to -> Util.writePageHeader(header(150), to));
    for (int i = 0; i < 20_000; i++) {
      flip(footer, ThriftBytes::fileMetaData);
      flip(header, bytes -> ThriftBytes.pageHeader(ByteBuffer.wrap(bytes)));
    }
  }

  private void flip(byte[] bytes, Reader reader) {
    byte[] changed = bytes.clone();
    for (int i = random.nextInt(4); i >= 0; i--) {
      changed[random.nextInt(changed.length)] = (byte) random.nextInt();
    }
    try {
      reader.read(changed);
    } catch (IOException expected) {
      return; // as it may be
    } catch (RuntimeException | Error other) {
      throw new AssertionError("rerun with -Dfirn.test.seed=" + seed, other);
    }
  }
}
