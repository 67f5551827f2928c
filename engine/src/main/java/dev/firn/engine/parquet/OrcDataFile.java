package dev.firn.engine.parquet;

import dev.firn.io.RangeReader;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.iceberg.Schema;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.mapping.MappedFields;
import org.apache.iceberg.mapping.NameMapping;
import org.apache.iceberg.orc.ORC;
import org.apache.iceberg.orc.ORCSchemaUtil;
import org.apache.iceberg.orc.OrcBatchReader;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.orc.OrcProto;
import org.apache.orc.StripeInformation;
import org.apache.orc.TypeDescription;
import org.apache.orc.impl.OrcTail;
import org.apache.orc.impl.ReaderImpl;
import org.apache.orc.storage.ql.exec.vector.BytesColumnVector;
import org.apache.orc.storage.ql.exec.vector.ColumnVector;
import org.apache.orc.storage.ql.exec.vector.DecimalColumnVector;
import org.apache.orc.storage.ql.exec.vector.DoubleColumnVector;
import org.apache.orc.storage.ql.exec.vector.ListColumnVector;
import org.apache.orc.storage.ql.exec.vector.LongColumnVector;
import org.apache.orc.storage.ql.exec.vector.MapColumnVector;
import org.apache.orc.storage.ql.exec.vector.StructColumnVector;
import org.apache.orc.storage.ql.exec.vector.TimestampColumnVector;
import org.apache.orc.storage.ql.exec.vector.VectorizedRowBatch;
import org.jspecify.annotations.Nullable;

/** An ORC file, whose footer is read. Its rows are decoded by ORC's reader. */
final class OrcDataFile implements StreamedFile {
  private static final String ID = "iceberg.id";

  /** What is read of a file's end at first: enough for most footers. */
  private static final int TAIL_BYTES = 64 * 1024;

  private static final int BATCH_ROWS = 1024;

  private final InputFile input;
  private final @Nullable NameMapping mapping;
  private final List<Types.NestedField> fields = new ArrayList<>();
  private final long rows;

  private OrcDataFile(
      InputFile input, OrcTail tail, Supplier<NameMapping> mapping, StreamedFields readable) {
    this.input = input;
    TypeDescription schema = tail.getSchema();
    if (anyUnion(schema)) {
      throw new UnsupportedFileException(
          "Cannot read "
              + input.location()
              + ": it has a union, "
              + schema
              + ". Nothing was changed.");
    }
    this.mapping = anyId(schema) ? null : mapping.get();
    this.rows = tail.getStripes().stream().mapToLong(StripeInformation::getNumberOfRows).sum();
    struct(schema, this.mapping == null ? null : this.mapping.asMappedFields(), readable, fields);
  }

  /**
   * Reads the footer of a file.
   *
   * @param mapping asked for if the file has no field ids (S8)
   * @param wantedIds of all fields that are asked for
   * @throws CorruptFileException if it is not an ORC file
   * @throws UnsupportedFileException if a field that is asked for cannot be read
   */
  static OrcDataFile open(
      InputFile input,
      long fileLength,
      RangeReader ranges,
      Supplier<NameMapping> mapping,
      Set<Integer> wantedIds)
      throws IOException {
    return new OrcDataFile(
        input,
        tail(input.location(), fileLength, ranges),
        mapping,
        new StreamedFields(input.location(), wantedIds));
  }

  private static OrcTail tail(String location, long fileLength, RangeReader ranges)
      throws IOException {
    byte[] tail = end(location, fileLength, TAIL_BYTES, ranges);
    long needed = tailBytes(location, tail);
    if (needed > tail.length) {
      tail = end(location, fileLength, needed, ranges);
    }
    try {
      OrcTail parsed = ReaderImpl.extractFileTail(ByteBuffer.wrap(tail), fileLength, -1);
      if (parsed.getSchema().getCategory() != TypeDescription.Category.STRUCT) {
        throw ParquetFooter.corrupt(location, "its rows are " + parsed.getSchema());
      }
      return parsed;
    } catch (IOException | RuntimeException malformed) {
      throw malformed(location, malformed);
    }
  }

  /** How many bytes of the file's end its footer and postscript are. */
  private static long tailBytes(String location, byte[] tail) {
    if (tail.length == 0) {
      throw ParquetFooter.corrupt(location, "it has no bytes");
    }
    int postscriptBytes = tail[tail.length - 1] & 0xff;
    if (postscriptBytes >= tail.length) {
      throw ParquetFooter.corrupt(location, "it has only " + tail.length + " bytes");
    }
    int start = tail.length - 1 - postscriptBytes;
    try {
      OrcProto.PostScript postscript =
          OrcProto.PostScript.parseFrom(Arrays.copyOfRange(tail, start, tail.length - 1));
      return 1L + postscriptBytes + postscript.getFooterLength();
    } catch (IOException | RuntimeException malformed) {
      throw malformed(location, malformed);
    }
  }

  private static byte[] end(String location, long fileLength, long bytes, RangeReader ranges)
      throws IOException {
    if (bytes > Integer.MAX_VALUE - 8) {
      throw ParquetFooter.corrupt(location, "its footer claims " + bytes + " bytes");
    }
    int length = (int) Math.min(bytes, fileLength);
    return ranges.read(location, fileLength, fileLength - length, length);
  }

  private static CorruptFileException malformed(String location, Exception cause) {
    return new CorruptFileException(
        "Cannot read "
            + location
            + ": its footer cannot be parsed, "
            + cause.getMessage()
            + ". Nothing was changed.",
        cause);
  }

  @Override
  public String location() {
    return input.location();
  }

  @Override
  public List<Types.NestedField> fields() {
    return fields;
  }

  @Override
  public long rows() {
    return rows;
  }

  // ---- the schema

  /* Iceberg's ORC reader fails on a union that nobody asks for too. */
  private static boolean anyUnion(TypeDescription type) {
    List<TypeDescription> children = type.getChildren();
    return type.getCategory() == TypeDescription.Category.UNION
        || children != null && children.stream().anyMatch(OrcDataFile::anyUnion);
  }

  private static boolean anyId(TypeDescription type) {
    List<TypeDescription> children = type.getChildren();
    return children != null
        && children.stream().anyMatch(child -> child.getAttributeValue(ID) != null || anyId(child));
  }

  private static @Nullable Integer id(
      TypeDescription type, String name, @Nullable MappedFields names) {
    if (names != null) {
      return StreamedFields.id(names, name);
    }
    String id = type.getAttributeValue(ID);
    return id == null ? null : Integer.valueOf(id);
  }

  /* All fields are optional: ORC has no required ones, only writers that say so (S7). */
  private static void struct(
      TypeDescription struct,
      @Nullable MappedFields names,
      StreamedFields readable,
      List<Types.NestedField> fields) {
    for (int i = 0; i < struct.getChildren().size(); i++) {
      TypeDescription child = struct.getChildren().get(i);
      String name = struct.getFieldNames().get(i);
      readable.add(
          fields,
          id(child, name, names),
          true,
          name,
          () -> type(child, StreamedFields.below(names, name), readable));
    }
  }

  private static @Nullable Type type(
      TypeDescription type, @Nullable MappedFields names, StreamedFields readable)
      throws StreamedFields.Unreadable {
    switch (type.getCategory()) {
      case STRUCT:
        List<Types.NestedField> children = StreamedFields.none();
        struct(type, names, readable, children);
        return StreamedFields.struct(children);
      case LIST:
        TypeDescription element = type.getChildren().get(0);
        Integer elementId = id(element, "element", names);
        Type elementType = type(element, StreamedFields.below(names, "element"), readable);
        return elementId == null || elementType == null
            ? null
            : Types.ListType.ofOptional(elementId, elementType);
      case MAP:
        TypeDescription key = type.getChildren().get(0);
        TypeDescription value = type.getChildren().get(1);
        Integer keyId = id(key, "key", names);
        Integer valueId = id(value, "value", names);
        Type keyType = type(key, StreamedFields.below(names, "key"), readable);
        Type valueType = type(value, StreamedFields.below(names, "value"), readable);
        return keyId == null || valueId == null || keyType == null || valueType == null
            ? null
            : Types.MapType.ofOptional(keyId, valueId, keyType, valueType);
      default:
        TypeDescription identified = type.clone().setAttribute(ID, "1");
        return ORCSchemaUtil.convert(TypeDescription.createStruct().addField("f", identified))
            .findType(1);
    }
  }

  // ---- the rows

  @Override
  public Rows open(Schema wanted, Appender.Rows rows) {
    ORC.ReadBuilder builder =
        ORC.read(input)
            .project(wanted)
            .recordsPerBatch(BATCH_ROWS)
            .createBatchedReaderFunc(ignored -> new WholeBatches());
    if (mapping != null) {
      builder.withNameMapping(mapping);
    }
    List<Column> columns = new ArrayList<>();
    for (int i = 0; i < wanted.columns().size(); i++) {
      columns.add(column(wanted.columns().get(i).type(), rows.columns.get(i)));
    }
    return new BatchRows(builder.build(), columns);
  }

  /** Gives batches as they are; each is valid until the next. */
  private static final class WholeBatches implements OrcBatchReader<VectorizedRowBatch> {
    @Override
    public VectorizedRowBatch read(VectorizedRowBatch batch) {
      return batch;
    }

    @Override
    public void setBatchContext(long batchOffsetInFile) {}
  }

  private static final class BatchRows implements Rows {
    private final CloseableIterable<VectorizedRowBatch> batches;
    private final Iterator<VectorizedRowBatch> iterator;
    private final List<Column> columns;
    private @Nullable VectorizedRowBatch batch;
    private int nextRow = 0;

    BatchRows(CloseableIterable<VectorizedRowBatch> batches, List<Column> columns) {
      this.batches = batches;
      this.iterator = batches.iterator();
      this.columns = columns;
    }

    @Override
    public boolean next() {
      VectorizedRowBatch current = batch;
      while (current == null || nextRow == current.size) {
        if (!iterator.hasNext()) {
          return false;
        }
        current = iterator.next();
        batch = current;
        nextRow = 0;
      }
      for (int i = 0; i < columns.size(); i++) {
        columns.get(i).append(current.cols[i], nextRow);
      }
      nextRow++;
      return true;
    }

    @Override
    public void close() throws IOException {
      batches.close();
    }
  }

  /** Appends a row of a column of ORC. */
  private abstract static class Column {
    private final Appender to;

    Column(Appender to) {
      this.to = to;
    }

    final void append(ColumnVector from, int row) {
      int at = from.isRepeating ? 0 : row;
      if (!from.noNulls && from.isNull[at]) {
        to.appendNull();
      } else {
        appendValue(from, at);
      }
    }

    abstract void appendValue(ColumnVector from, int at);
  }

  /** Appends a value of a primitive that is not null. */
  @FunctionalInterface
  private interface Value {
    void append(ColumnVector from, int at);
  }

  private static final class Primitive extends Column {
    private final Value value;

    Primitive(Appender to, Value value) {
      super(to);
      this.value = value;
    }

    @Override
    void appendValue(ColumnVector from, int at) {
      value.append(from, at);
    }
  }

  private static final class StructColumn extends Column {
    private final Appender.Structs to;
    private final List<Column> children = new ArrayList<>();

    StructColumn(Appender.Structs to, Types.StructType type) {
      super(to);
      this.to = to;
      for (int i = 0; i < type.fields().size(); i++) {
        children.add(column(type.fields().get(i).type(), to.children.get(i)));
      }
    }

    @Override
    void appendValue(ColumnVector from, int at) {
      ColumnVector[] fields = ((StructColumnVector) from).fields;
      to.append();
      for (int i = 0; i < fields.length; i++) {
        children.get(i).append(fields[i], at);
      }
    }
  }

  private static final class ListColumn extends Column {
    private final Appender.Lists to;
    private final Column element;

    ListColumn(Appender.Lists to, Type elementType) {
      super(to);
      this.to = to;
      this.element = column(elementType, to.element);
    }

    @Override
    void appendValue(ColumnVector from, int at) {
      ListColumnVector list = (ListColumnVector) from;
      int first = Math.toIntExact(list.offsets[at]);
      int length = Math.toIntExact(list.lengths[at]);
      to.start();
      for (int i = first; i < first + length; i++) {
        element.append(list.child, i);
      }
      to.end(length);
    }
  }

  private static final class MapColumn extends Column {
    private final Appender.Lists to;
    private final Column key;
    private final Column value;

    MapColumn(Appender.Lists to, Types.MapType type) {
      super(to);
      this.to = to;
      this.key = column(type.keyType(), to.entry().children.get(0));
      this.value = column(type.valueType(), to.entry().children.get(1));
    }

    @Override
    void appendValue(ColumnVector from, int at) {
      MapColumnVector map = (MapColumnVector) from;
      int first = Math.toIntExact(map.offsets[at]);
      int length = Math.toIntExact(map.lengths[at]);
      to.start();
      for (int i = first; i < first + length; i++) {
        to.entry().append();
        key.append(map.keys, i);
        value.append(map.values, i);
      }
      to.end(length);
    }
  }

  private static Column column(Type type, Appender to) {
    if (type.isStructType()) {
      return new StructColumn((Appender.Structs) to, type.asStructType());
    } else if (type.isListType()) {
      return new ListColumn((Appender.Lists) to, type.asListType().elementType());
    } else if (type.isMapType()) {
      return new MapColumn((Appender.Lists) to, type.asMapType());
    }
    return new Primitive(to, value(type, to));
  }

  private static Value value(Type type, Appender to) {
    switch (type.typeId()) {
      case BOOLEAN:
      case INTEGER:
      case DATE:
      case LONG:
      case TIME:
        return (from, at) -> to.append(((LongColumnVector) from).vector[at]);
      case FLOAT:
        return (from, at) -> to.append((float) ((DoubleColumnVector) from).vector[at]);
      case DOUBLE:
        return (from, at) -> to.append(((DoubleColumnVector) from).vector[at]);
      case TIMESTAMP:
        return (from, at) -> to.append(time((TimestampColumnVector) from, at, 1_000_000));
      case TIMESTAMP_NANO:
        return (from, at) -> to.append(time((TimestampColumnVector) from, at, 1_000_000_000));
      case DECIMAL:
        int scale = ((Types.DecimalType) type).scale();
        return (from, at) -> to.append(unscaled((DecimalColumnVector) from, at, scale));
      default:
        return (from, at) -> {
          BytesColumnVector bytes = (BytesColumnVector) from;
          to.append(bytes.vector[at], bytes.start[at], bytes.length[at]);
        };
    }
  }

  private static long time(TimestampColumnVector from, int at, long unitsPerSecond) {
    long seconds = Math.floorDiv(from.time[at], 1000L);
    long units = from.nanos[at] / (1_000_000_000L / unitsPerSecond);
    return Math.addExact(Math.multiplyExact(seconds, unitsPerSecond), units);
  }

  private static BigInteger unscaled(DecimalColumnVector from, int at, int scale) {
    return from.vector[at].getHiveDecimal().bigDecimalValue().setScale(scale).unscaledValue();
  }
}
