package dev.firn.engine.verify;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.FixedSizeBinaryVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.DateTimeUtil;
import org.apache.iceberg.util.UUIDUtil;

/** Values of batches as text for people, so that values that differ look different. */
public final class ValueText {
  private static final int CHARS_MAX = 80;
  private static final int BYTES_MAX = 32;
  private static final int ELEMENTS_MAX = 8;

  private ValueText() {}

  /** The value of a row; long ones are cut. */
  public static String of(Type type, FieldVector vector, int row) {
    StringBuilder text = new StringBuilder();
    append(type, vector, row, text);
    return text.length() <= CHARS_MAX ? text.toString() : text.substring(0, CHARS_MAX) + "...";
  }

  private static void append(Type type, FieldVector vector, int row, StringBuilder text) {
    if (vector.isNull(row)) {
      text.append("null");
    } else if (vector instanceof StructVector struct) {
      List<Types.NestedField> fields = type.asStructType().fields();
      text.append('{');
      for (int i = 0; i < fields.size(); i++) {
        text.append(i == 0 ? "" : ", ").append(fields.get(i).name()).append(": ");
        append(fields.get(i).type(), struct.getChildrenFromFields().get(i), row, text);
      }
      text.append('}');
    } else if (vector instanceof ListVector list) {
      appendElements(type, list, row, text);
    } else if (vector instanceof VarBinaryVector bytes) {
      appendBytes(type, bytes.get(row), text);
    } else if (vector instanceof FixedSizeBinaryVector bytes) {
      appendBytes(type, bytes.get(row), text);
    } else if (vector instanceof BaseFixedWidthVector word) {
      text.append(word(type, word, row));
    } else {
      throw new IllegalArgumentException("No text for " + type);
    }
  }

  private static void appendElements(Type type, ListVector list, int row, StringBuilder text) {
    int start = list.getElementStartIndex(row);
    int end = list.getElementEndIndex(row);
    text.append('[');
    for (int i = start; i < end; i++) {
      text.append(i == start ? "" : ", ");
      if (i - start == ELEMENTS_MAX) {
        text.append("... ").append(end - start).append(" in all");
        break;
      }
      if (type.isMapType()) {
        StructVector entries = (StructVector) list.getDataVector();
        append(type.asMapType().keyType(), entries.getChildrenFromFields().get(0), i, text);
        text.append(" = ");
        append(type.asMapType().valueType(), entries.getChildrenFromFields().get(1), i, text);
      } else {
        append(type.asListType().elementType(), list.getDataVector(), i, text);
      }
    }
    text.append(']');
  }

  private static void appendBytes(Type type, byte[] bytes, StringBuilder text) {
    switch (type.typeId()) {
      case STRING ->
          text.append('\'').append(new String(bytes, StandardCharsets.UTF_8)).append('\'');
      case UUID -> text.append(UUIDUtil.convert(bytes));
      case DECIMAL ->
          text.append(
              new BigDecimal(new BigInteger(bytes), ((Types.DecimalType) type).scale())
                  .toPlainString());
      default -> {
        int length = Math.min(bytes.length, BYTES_MAX);
        text.append("0x").append(HexFormat.of().formatHex(bytes, 0, length));
        text.append(length < bytes.length ? "... " + bytes.length + " bytes" : "");
      }
    }
  }

  private static String word(Type type, BaseFixedWidthVector vector, int row) {
    if (vector instanceof BitVector bits) {
      return bits.get(row) != 0 ? "true" : "false";
    }
    if (vector instanceof Float4Vector floats) {
      float value = floats.get(row);
      return Float.isNaN(value)
          ? "NaN(0x" + Integer.toHexString(Float.floatToRawIntBits(value)) + ")"
          : Float.toString(value);
    }
    if (vector instanceof Float8Vector doubles) {
      double value = doubles.get(row);
      return Double.isNaN(value)
          ? "NaN(0x" + Long.toHexString(Double.doubleToRawLongBits(value)) + ")"
          : Double.toString(value);
    }
    long value =
        vector instanceof IntVector ints ? ints.get(row) : ((BigIntVector) vector).get(row);
    return switch (type.typeId()) {
      case DECIMAL -> BigDecimal.valueOf(value, ((Types.DecimalType) type).scale()).toPlainString();
      case DATE -> DateTimeUtil.dateFromDays((int) value).toString();
      case TIME -> DateTimeUtil.timeFromMicros(value).toString();
      case TIMESTAMP ->
          DateTimeUtil.timestampFromMicros(value)
              + (((Types.TimestampType) type).shouldAdjustToUTC() ? "Z" : "");
      case TIMESTAMP_NANO ->
          DateTimeUtil.timestampFromNanos(value)
              + (((Types.TimestampNanoType) type).shouldAdjustToUTC() ? "Z" : "");
      default -> Long.toString(value);
    };
  }
}
