package dev.firn.engine.parquet;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.InvalidAvroMagicException;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.file.DataFileStream;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.util.Utf8;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.mapping.MappedFields;
import org.apache.iceberg.mapping.NameMapping;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/** An Avro file, whose header is read. Its rows are decoded by Avro's generic reader. */
final class AvroFile implements StreamedFile {
  /** The magic and the sync marker. */
  private static final int FILE_BYTES_MIN = 4 + 16;

  private static final String FIELD_ID = "field-id";
  private static final String ELEMENT_ID = "element-id";
  private static final String KEY_ID = "key-id";
  private static final String VALUE_ID = "value-id";
  private static final String ADJUST_TO_UTC = "adjust-to-utc";

  private final InputFile input;
  private final Schema schema;
  private final List<Types.NestedField> fields = new ArrayList<>();
  private final boolean empty;

  private AvroFile(
      InputFile input,
      Schema schema,
      @Nullable MappedFields names,
      boolean empty,
      StreamedFields readable) {
    this.input = input;
    this.schema = schema;
    this.empty = empty;
    new Ids(readable).struct(schema, names, fields);
  }

  /**
   * Reads the header of a file.
   *
   * @param mapping asked for if the file has no field ids (S8)
   * @param wantedIds of all fields that are asked for
   * @throws CorruptFileException if it is not an Avro file
   * @throws UnsupportedFileException if a field that is asked for cannot be read
   */
  static AvroFile open(InputFile input, Supplier<NameMapping> mapping, Set<Integer> wantedIds)
      throws IOException {
    if (input.getLength() < FILE_BYTES_MIN) {
      throw ParquetFooter.corrupt(input.location(), "it has only " + input.getLength() + " bytes");
    }
    Schema schema;
    boolean empty;
    try (DataFileStream<Object> stream = stream(input, new GenericDatumReader<>())) {
      schema = stream.getSchema();
      empty = !stream.hasNext();
    } catch (AvroRuntimeException | InvalidAvroMagicException | EOFException malformed) {
      throw new CorruptFileException(
          "Cannot read "
              + input.location()
              + ": its header cannot be parsed, "
              + malformed.getMessage()
              + ". Nothing was changed.",
          malformed);
    }
    if (schema.getType() != Schema.Type.RECORD) {
      throw ParquetFooter.corrupt(input.location(), "its rows are " + schema.getType());
    }
    MappedFields names = anyId(schema, new HashSet<>()) ? null : mapping.get().asMappedFields();
    return new AvroFile(
        input, schema, names, empty, new StreamedFields(input.location(), wantedIds));
  }

  private static <D> DataFileStream<D> stream(InputFile input, GenericDatumReader<D> reader)
      throws IOException {
    InputStream in = input.newStream();
    try {
      return new DataFileStream<>(in, reader);
    } catch (Throwable failure) {
      in.close();
      throw failure;
    }
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
    return empty ? 0 : ROWS_UNKNOWN;
  }

  // ---- the schema

  private static boolean anyId(Schema schema, Set<String> records) {
    switch (schema.getType()) {
      case RECORD:
        return records.add(schema.getFullName())
            && schema.getFields().stream()
                .anyMatch(
                    field ->
                        field.getObjectProp(FIELD_ID) != null || anyId(field.schema(), records));
      case ARRAY:
        return schema.getObjectProp(ELEMENT_ID) != null || anyId(schema.getElementType(), records);
      case MAP:
        return schema.getObjectProp(KEY_ID) != null || anyId(schema.getValueType(), records);
      case UNION:
        return schema.getTypes().stream().anyMatch(option -> anyId(option, records));
      default:
        return false;
    }
  }

  /** The only option of a union that is not null, or the type itself; null if there are several. */
  private static @Nullable Schema present(Schema schema) {
    if (schema.getType() != Schema.Type.UNION) {
      return schema;
    }
    Schema present = null;
    for (Schema option : schema.getTypes()) {
      if (option.getType() != Schema.Type.NULL) {
        if (present != null) {
          return null;
        }
        present = option;
      }
    }
    return present;
  }

  private static boolean isMap(Schema array) {
    return "map".equals(array.getProp(LogicalType.LOGICAL_TYPE_PROP))
        && array.getElementType().getType() == Schema.Type.RECORD
        && array.getElementType().getFields().size() == 2;
  }

  private static @Nullable Integer id(Object property) {
    return property instanceof Number number ? number.intValue() : null;
  }

  /** Finds the ids and types of fields. */
  private static final class Ids {
    private final StreamedFields readable;
    private final Set<String> around = new HashSet<>();

    Ids(StreamedFields readable) {
      this.readable = readable;
    }

    void struct(Schema record, @Nullable MappedFields names, List<Types.NestedField> fields) {
      for (Schema.Field field : record.getFields()) {
        readable.add(
            fields,
            idOf(field, names),
            field.schema().isNullable(),
            field.name(),
            () -> type(field.schema(), StreamedFields.below(names, field.name())));
      }
    }

    private @Nullable Type type(Schema schema, @Nullable MappedFields names)
        throws StreamedFields.Unreadable {
      Schema present = present(schema);
      if (present == null) {
        throw new StreamedFields.Unreadable("Avro union " + schema + " is not supported");
      }
      switch (present.getType()) {
        case RECORD:
          return record(present, names);
        case ARRAY:
          return isMap(present) ? mapInArray(present, names) : array(present, names);
        case MAP:
          return map(present, names);
        default:
          return primitive(present);
      }
    }

    private Type record(Schema record, @Nullable MappedFields names)
        throws StreamedFields.Unreadable {
      if (!around.add(record.getFullName())) {
        throw new StreamedFields.Unreadable(record.getFullName() + " holds itself");
      }
      if ("variant".equals(record.getProp(LogicalType.LOGICAL_TYPE_PROP))) {
        throw new StreamedFields.Unreadable("variants are not supported");
      }
      List<Types.NestedField> children = StreamedFields.none();
      struct(record, names, children);
      around.remove(record.getFullName());
      return StreamedFields.struct(children);
    }

    private @Nullable Type array(Schema array, @Nullable MappedFields names)
        throws StreamedFields.Unreadable {
      Integer id =
          names == null ? id(array.getObjectProp(ELEMENT_ID)) : StreamedFields.id(names, "element");
      Schema element = array.getElementType();
      Type type = id == null ? null : type(element, StreamedFields.below(names, "element"));
      if (id == null || type == null) {
        return null;
      }
      return element.isNullable()
          ? Types.ListType.ofOptional(id, type)
          : Types.ListType.ofRequired(id, type);
    }

    private @Nullable Type map(Schema map, @Nullable MappedFields names)
        throws StreamedFields.Unreadable {
      Integer key = names == null ? id(map.getObjectProp(KEY_ID)) : StreamedFields.id(names, "key");
      Integer value =
          names == null ? id(map.getObjectProp(VALUE_ID)) : StreamedFields.id(names, "value");
      return map(key, Types.StringType.get(), value, map.getValueType(), names);
    }

    private @Nullable Type mapInArray(Schema array, @Nullable MappedFields names)
        throws StreamedFields.Unreadable {
      Schema.Field key = array.getElementType().getFields().get(0);
      Schema.Field value = array.getElementType().getFields().get(1);
      Type keyType = type(key.schema(), StreamedFields.below(names, "key"));
      return map(idOf(key, names), keyType, idOf(value, names), value.schema(), names);
    }

    private @Nullable Type map(
        @Nullable Integer key,
        @Nullable Type keyType,
        @Nullable Integer value,
        Schema valueSchema,
        @Nullable MappedFields names)
        throws StreamedFields.Unreadable {
      Type valueType = type(valueSchema, StreamedFields.below(names, "value"));
      if (key == null || keyType == null || value == null || valueType == null) {
        return null;
      }
      return valueSchema.isNullable()
          ? Types.MapType.ofOptional(key, value, keyType, valueType)
          : Types.MapType.ofRequired(key, value, keyType, valueType);
    }

    private static @Nullable Integer idOf(Schema.Field field, @Nullable MappedFields names) {
      return names == null
          ? id(field.getObjectProp(FIELD_ID))
          : StreamedFields.id(names, field.name());
    }
  }

  private static Type primitive(Schema schema) throws StreamedFields.Unreadable {
    LogicalType logical = schema.getLogicalType();
    String name = logical == null ? "" : logical.getName();
    boolean utc = Boolean.parseBoolean(String.valueOf(schema.getObjectProp(ADJUST_TO_UTC)));
    switch (schema.getType()) {
      case BOOLEAN:
        return Types.BooleanType.get();
      case INT:
        return name.equals("date")
            ? Types.DateType.get()
            : name.equals("time-millis") ? Types.TimeType.get() : Types.IntegerType.get();
      case LONG:
        switch (name) {
          case "":
            return Types.LongType.get();
          case "time-micros":
            return Types.TimeType.get();
          case "timestamp-millis":
          case "timestamp-micros":
            return utc ? Types.TimestampType.withZone() : Types.TimestampType.withoutZone();
          case "timestamp-nanos":
            return utc ? Types.TimestampNanoType.withZone() : Types.TimestampNanoType.withoutZone();
          default:
            throw new StreamedFields.Unreadable("Avro type " + name + " is not supported");
        }
      case FLOAT:
        return Types.FloatType.get();
      case DOUBLE:
        return Types.DoubleType.get();
      case STRING:
        return name.equals("uuid") ? Types.UUIDType.get() : Types.StringType.get();
      case ENUM:
        return Types.StringType.get();
      case BYTES:
      case FIXED:
        if (logical instanceof LogicalTypes.Decimal decimal) {
          return Types.DecimalType.of(decimal.getPrecision(), decimal.getScale());
        } else if (schema.getType() == Schema.Type.BYTES) {
          return Types.BinaryType.get();
        }
        return name.equals("uuid") && schema.getFixedSize() == 16
            ? Types.UUIDType.get()
            : Types.FixedType.ofLength(schema.getFixedSize());
      default:
        throw new StreamedFields.Unreadable("Avro type " + schema + " is not supported");
    }
  }

  // ---- the rows

  /** Appends a value, as Avro's reader gives it, that is not null. */
  @FunctionalInterface
  private interface Value {
    void append(Object read);
  }

  /** A field of a row or of what is nested in it, and what its values are appended to. */
  private record Field(Value value, Appender to) {
    void append(@Nullable Object read) {
      if (read == null) {
        to.appendNull();
      } else {
        value.append(read);
      }
    }
  }

  @Override
  public Rows open(org.apache.iceberg.Schema wanted, Appender.Rows rows) throws IOException {
    List<Schema.Field> read = new ArrayList<>();
    for (Types.NestedField column : wanted.columns()) {
      Schema.Field field = schema.getField(column.name());
      read.add(new Schema.Field(field, field.schema()));
    }
    Schema projection =
        Schema.createRecord(
            schema.getName(), schema.getDoc(), schema.getNamespace(), schema.isError(), read);
    Field[] values = new Field[read.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = field(wanted.columns().get(i).type(), read.get(i).schema(), rows.columns.get(i));
    }
    return new RecordRows(stream(input, new ExactReader(schema, projection)), values);
  }

  private static final class RecordRows implements Rows {
    private final DataFileStream<IndexedRecord> stream;
    private final Field[] values;
    private @Nullable IndexedRecord record;

    RecordRows(DataFileStream<IndexedRecord> stream, Field[] values) {
      this.stream = stream;
      this.values = values;
    }

    @Override
    public boolean next() throws IOException {
      if (!stream.hasNext()) {
        return false;
      }
      IndexedRecord next = stream.next(record);
      for (int i = 0; i < values.length; i++) {
        values[i].append(next.get(i));
      }
      record = next;
      return true;
    }

    @Override
    public void close() throws IOException {
      stream.close();
    }
  }

  private static Field field(Type type, Schema schema, Appender to) {
    Schema present = present(schema);
    if (present == null) {
      throw new IllegalStateException("A union of several types is not read: " + schema);
    }
    return new Field(
        type.isPrimitiveType() ? primitive(type, present, to) : nested(type, present, to), to);
  }

  private static Value nested(Type type, Schema schema, Appender to) {
    if (type.isStructType()) {
      return struct(type.asStructType(), schema, (Appender.Structs) to);
    } else if (type.isListType()) {
      Appender.Lists list = (Appender.Lists) to;
      Field element = field(type.asListType().elementType(), schema.getElementType(), list.element);
      return read -> {
        list.start();
        Collection<?> elements = (Collection<?>) read;
        elements.forEach(element::append);
        list.end(elements.size());
      };
    }
    Types.MapType map = type.asMapType();
    Appender.Lists list = (Appender.Lists) to;
    Appender.Structs entry = list.entry();
    if (schema.getType() == Schema.Type.ARRAY) {
      Schema.Field keyField = schema.getElementType().getFields().get(0);
      Schema.Field valueField = schema.getElementType().getFields().get(1);
      Field key = field(map.keyType(), keyField.schema(), entry.children.get(0));
      Field value = field(map.valueType(), valueField.schema(), entry.children.get(1));
      return read -> {
        list.start();
        Collection<?> entries = (Collection<?>) read;
        for (Object each : entries) {
          entry.append();
          key.append(((IndexedRecord) each).get(0));
          value.append(((IndexedRecord) each).get(1));
        }
        list.end(entries.size());
      };
    }
    Field key = field(map.keyType(), Schema.create(Schema.Type.STRING), entry.children.get(0));
    Field value = field(map.valueType(), schema.getValueType(), entry.children.get(1));
    return read -> {
      list.start();
      Collection<?> entries = (Collection<?>) read;
      for (Object each : entries) {
        entry.append();
        key.append(((Map.Entry<?, ?>) each).getKey());
        value.append(((Map.Entry<?, ?>) each).getValue());
      }
      list.end(entries.size());
    };
  }

  private static Value struct(Types.StructType type, Schema schema, Appender.Structs struct) {
    int size = type.fields().size();
    Field[] values = new Field[size];
    int[] positions = new int[size];
    for (int i = 0; i < size; i++) {
      Types.NestedField field = type.fields().get(i);
      Schema.Field source = schema.getField(field.name());
      positions[i] = source.pos();
      values[i] = field(field.type(), source.schema(), struct.children.get(i));
    }
    return read -> {
      struct.append();
      for (int i = 0; i < size; i++) {
        values[i].append(((IndexedRecord) read).get(positions[i]));
      }
    };
  }

  private static Value primitive(Type type, Schema schema, Appender to) {
    LogicalType logical = schema.getLogicalType();
    String name = logical == null ? "" : logical.getName();
    switch (type.typeId()) {
      case BOOLEAN:
        return read -> to.append((Boolean) read ? 1L : 0L);
      case INTEGER:
      case DATE:
        return read -> to.append(((Integer) read).longValue());
      case LONG:
      case TIME:
      case TIMESTAMP:
      case TIMESTAMP_NANO:
        long factor = name.endsWith("-millis") ? 1000 : 1;
        return read -> to.append(Math.multiplyExact(((Number) read).longValue(), factor));
      case FLOAT:
        return read -> to.append((float) (Float) read);
      case DOUBLE:
        return read -> to.append((double) (Double) read);
      case DECIMAL:
        return read -> to.append(new BigInteger(bytes(read)));
      case UUID:
        if (schema.getType() == Schema.Type.STRING) {
          return read -> append(uuid(read.toString()), to);
        }
        return read -> append(bytes(read), to);
      case STRING:
        return read -> {
          if (read instanceof Utf8 utf8) {
            to.append(utf8.getBytes(), 0, utf8.getByteLength());
          } else {
            append(read.toString().getBytes(StandardCharsets.UTF_8), to);
          }
        };
      default:
        return read -> append(bytes(read), to);
    }
  }

  private static void append(byte[] bytes, Appender to) {
    to.append(bytes, 0, bytes.length);
  }

  private static byte[] uuid(String text) {
    UUID uuid = UUID.fromString(text);
    return ByteBuffer.allocate(2 * Long.BYTES)
        .putLong(uuid.getMostSignificantBits())
        .putLong(uuid.getLeastSignificantBits())
        .array();
  }

  private static byte[] bytes(Object value) {
    if (value instanceof GenericFixed fixed) {
      return fixed.bytes();
    }
    ByteBuffer buffer = ((ByteBuffer) value).duplicate();
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  /**
   * Gives strings as their bytes, logical types as what they are stored in, and maps as lists of
   * entries, in file order.
   */
  private static final class ExactReader extends GenericDatumReader<IndexedRecord> {
    ExactReader(Schema schema, Schema projection) {
      super(schema, projection, new GenericData().setFastReaderEnabled(false));
    }

    @Override
    protected Class<?> findStringClass(Schema schema) {
      return CharSequence.class;
    }

    @Override
    protected Object newMap(Object old, int size) {
      return new ArrayList<Map.Entry<?, ?>>();
    }

    @Override
    @SuppressWarnings("unchecked")
    protected void addToMap(Object map, Object key, Object value) {
      ((List<Map.Entry<?, ?>>) map).add(new AbstractMap.SimpleImmutableEntry<>(key, value));
    }
  }
}
