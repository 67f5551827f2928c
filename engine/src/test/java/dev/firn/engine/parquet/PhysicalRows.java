package dev.firn.engine.parquet;

import dev.firn.testdata.RowText;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.FixedSizeBinaryVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** Batches in the physical layout as records of Iceberg generics and as lines of text. */
public final class PhysicalRows {
  private PhysicalRows() {}

  /** The lines of a batch's rows, in order, as {@link RowText} writes them. */
  public static List<String> lines(VectorSchemaRoot batch, Schema columns) {
    List<String> lines = new ArrayList<>();
    for (Record row : records(batch, columns)) {
      lines.add(RowText.line(row, columns));
    }
    return lines;
  }

  /** The rows of a batch, in order. */
  public static List<Record> records(VectorSchemaRoot batch, Schema columns) {
    List<Types.NestedField> fields = columns.columns();
    if (batch.getFieldVectors().size() != fields.size()) {
      throw new AssertionError(batch.getSchema() + " has other columns than " + columns);
    }
    List<Record> rows = new ArrayList<>();
    for (int row = 0; row < batch.getRowCount(); row++) {
      Record record = GenericRecord.create(columns);
      for (int i = 0; i < fields.size(); i++) {
        record.set(i, value(batch.getVector(i), row, fields.get(i)));
      }
      rows.add(record);
    }
    return rows;
  }

  /** One value as generics hold it, or null. */
  public static Object value(FieldVector vector, int row, Types.NestedField field) {
    boolean ofList = vector.getName().equals(ListVector.DATA_VECTOR_NAME);
    if (!ofList && !vector.getName().equals(Integer.toString(field.fieldId()))) {
      throw new AssertionError(vector.getField() + " is not named by the id of " + field);
    }
    if (row >= vector.getValueCount()) {
      throw new AssertionError(
          vector.getField() + " has only " + vector.getValueCount() + " values");
    }
    if (vector.isNull(row)) {
      return null;
    }
    Type type = field.type();
    switch (type.typeId()) {
      case BOOLEAN:
        return ((BitVector) vector).get(row) == 1;
      case INTEGER:
        return ((IntVector) vector).get(row);
      case DATE:
        return LocalDate.ofEpochDay(((IntVector) vector).get(row));
      case LONG:
        return ((BigIntVector) vector).get(row);
      case TIME:
        return LocalTime.ofNanoOfDay(((BigIntVector) vector).get(row) * 1000);
      case TIMESTAMP:
        long micros = ((BigIntVector) vector).get(row);
        return timestamp(
            Math.floorDiv(micros, 1_000_000L),
            Math.floorMod(micros, 1_000_000L) * 1000,
            ((Types.TimestampType) type).shouldAdjustToUTC());
      case TIMESTAMP_NANO:
        long nanos = ((BigIntVector) vector).get(row);
        return timestamp(
            Math.floorDiv(nanos, 1_000_000_000L),
            Math.floorMod(nanos, 1_000_000_000L),
            ((Types.TimestampNanoType) type).shouldAdjustToUTC());
      case FLOAT:
        return ((Float4Vector) vector).get(row);
      case DOUBLE:
        return ((Float8Vector) vector).get(row);
      case STRING:
        return new String(((VarBinaryVector) vector).get(row), StandardCharsets.UTF_8);
      case BINARY:
        return ByteBuffer.wrap(((VarBinaryVector) vector).get(row));
      case FIXED:
        return ((FixedSizeBinaryVector) vector).get(row);
      case UUID:
        ByteBuffer uuid = ByteBuffer.wrap(((FixedSizeBinaryVector) vector).get(row));
        return new UUID(uuid.getLong(), uuid.getLong());
      case DECIMAL:
        return new BigDecimal(unscaled(vector, row), ((Types.DecimalType) type).scale());
      case STRUCT:
        return struct((StructVector) vector, row, type.asStructType());
      case LIST:
        ListVector list = (ListVector) vector;
        List<Object> elements = new ArrayList<>();
        for (int at = list.getElementStartIndex(row); at < list.getElementEndIndex(row); at++) {
          elements.add(value(list.getDataVector(), at, type.asListType().fields().get(0)));
        }
        return elements;
      case MAP:
        return map((ListVector) vector, row, type.asMapType());
      default:
        throw new AssertionError("No value of " + type);
    }
  }

  private static Object timestamp(long seconds, long nanos, boolean utc) {
    Instant instant = Instant.ofEpochSecond(seconds, nanos);
    return utc
        ? instant.atOffset(ZoneOffset.UTC)
        : LocalDateTime.ofInstant(instant, ZoneOffset.UTC);
  }

  private static BigInteger unscaled(FieldVector vector, int row) {
    if (vector instanceof IntVector ints) {
      return BigInteger.valueOf(ints.get(row));
    }
    return vector instanceof BigIntVector longs
        ? BigInteger.valueOf(longs.get(row))
        : new BigInteger(((FixedSizeBinaryVector) vector).get(row));
  }

  private static Record struct(StructVector vector, int row, Types.StructType type) {
    Record record = GenericRecord.create(type);
    for (int i = 0; i < type.fields().size(); i++) {
      record.set(i, value((FieldVector) vector.getChildByOrdinal(i), row, type.fields().get(i)));
    }
    return record;
  }

  private static Map<Object, Object> map(ListVector vector, int row, Types.MapType type) {
    StructVector entries = (StructVector) vector.getDataVector();
    Map<Object, Object> map = new LinkedHashMap<>();
    for (int at = vector.getElementStartIndex(row); at < vector.getElementEndIndex(row); at++) {
      Object key = value((FieldVector) entries.getChildByOrdinal(0), at, type.fields().get(0));
      if (key == null) {
        throw new AssertionError("A map of " + vector.getField() + " has a null key");
      }
      map.put(key, value((FieldVector) entries.getChildByOrdinal(1), at, type.fields().get(1)));
    }
    return map;
  }
}
