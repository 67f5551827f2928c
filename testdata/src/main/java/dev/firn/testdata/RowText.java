package dev.firn.testdata;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * Rows of Iceberg generics as lines of JSON, one text for one value, as the golden tables' README
 * tells: floats as hexadecimal strings, timestamps with all their digits, maps as sorted arrays of
 * pairs. Two rows are equal when their lines are.
 *
 * <p>All NaNs have one text; payload bits are not told apart.
 */
public final class RowText {
  /** The order of lines: their UTF-8 bytes, unsigned. */
  public static final Comparator<String> LINE_ORDER =
      (left, right) ->
          Arrays.compareUnsigned(
              left.getBytes(StandardCharsets.UTF_8), right.getBytes(StandardCharsets.UTF_8));

  private RowText() {}

  /** The line of one row, with the columns of {@code schema} in its order. */
  public static String line(StructLike row, Schema schema) {
    return value(row, schema.asStruct());
  }

  /** The lines of rows, sorted; duplicates stay. */
  public static List<String> sortedLines(Collection<? extends StructLike> rows, Schema schema) {
    List<String> lines = new ArrayList<>(rows.size());
    for (StructLike row : rows) {
      lines.add(line(row, schema));
    }
    lines.sort(LINE_ORDER);
    return lines;
  }

  /** The text of a value of {@code type} as Iceberg generics hold it; null is {@code null}. */
  public static String value(@Nullable Object value, Type type) {
    StringBuilder text = new StringBuilder();
    append(text, value, type);
    return text.toString();
  }

  private static void append(StringBuilder text, @Nullable Object value, Type type) {
    if (value == null) {
      text.append("null");
      return;
    }
    switch (type.typeId()) {
      case BOOLEAN, INTEGER, LONG -> text.append(value);
      case FLOAT -> quote(text, Float.toHexString((Float) value));
      case DOUBLE -> quote(text, Double.toHexString((Double) value));
      case DECIMAL ->
          quote(
              text,
              ((BigDecimal) value).setScale(((Types.DecimalType) type).scale()).toPlainString());
      case STRING -> quote(text, value.toString());
      case UUID -> quote(text, value.toString());
      case BINARY, FIXED -> quote(text, hex(value));
      case DATE -> quote(text, ((LocalDate) value).toString());
      case TIME -> quote(text, time((LocalTime) value, 6));
      case TIMESTAMP ->
          quote(text, timestamp(value, ((Types.TimestampType) type).shouldAdjustToUTC(), 6));
      case TIMESTAMP_NANO ->
          quote(text, timestamp(value, ((Types.TimestampNanoType) type).shouldAdjustToUTC(), 9));
      case STRUCT -> appendStruct(text, (StructLike) value, type.asStructType());
      case LIST -> {
        char separator = '[';
        for (Object element : (Collection<?>) value) {
          text.append(separator);
          append(text, element, type.asListType().elementType());
          separator = ',';
        }
        text.append(separator == '[' ? "[]" : "]");
      }
      case MAP -> {
        List<String> entries = new ArrayList<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
          entries.add(
              "["
                  + value(entry.getKey(), type.asMapType().keyType())
                  + ","
                  + value(entry.getValue(), type.asMapType().valueType())
                  + "]");
        }
        entries.sort(LINE_ORDER);
        text.append('[').append(String.join(",", entries)).append(']');
      }
      default -> throw new IllegalArgumentException("No text is defined for values of " + type);
    }
  }

  private static void appendStruct(StringBuilder text, StructLike row, Types.StructType type) {
    text.append('{');
    List<Types.NestedField> fields = type.fields();
    for (int pos = 0; pos < fields.size(); pos++) {
      if (pos > 0) {
        text.append(',');
      }
      quote(text, fields.get(pos).name());
      text.append(':');
      append(text, row.get(pos, Object.class), fields.get(pos).type());
    }
    text.append('}');
  }

  private static void quote(StringBuilder text, String string) {
    text.append('"');
    for (int i = 0; i < string.length(); i++) {
      char c = string.charAt(i);
      switch (c) {
        case '"' -> text.append("\\\"");
        case '\\' -> text.append("\\\\");
        case '\n' -> text.append("\\n");
        case '\r' -> text.append("\\r");
        case '\t' -> text.append("\\t");
        default -> {
          if (c < 0x20) {
            text.append(String.format("\\u%04x", (int) c));
          } else {
            text.append(c);
          }
        }
      }
    }
    text.append('"');
  }

  private static String hex(Object value) {
    ByteBuffer bytes =
        value instanceof byte[] array ? ByteBuffer.wrap(array) : ((ByteBuffer) value).duplicate();
    StringBuilder hex = new StringBuilder(2 * bytes.remaining());
    while (bytes.hasRemaining()) {
      int b = bytes.get() & 0xFF;
      hex.append(Character.forDigit(b >> 4, 16)).append(Character.forDigit(b & 15, 16));
    }
    return hex.toString();
  }

  private static String time(LocalTime time, int digits) {
    String fraction = String.format("%09d", time.getNano()).substring(0, digits);
    return String.format(
        "%02d:%02d:%02d.%s", time.getHour(), time.getMinute(), time.getSecond(), fraction);
  }

  /* Generic readers give an OffsetDateTime for INT96 even where the column has no zone (S16). */
  private static String timestamp(Object value, boolean withZone, int digits) {
    LocalDateTime utc =
        value instanceof OffsetDateTime offset
            ? offset.withOffsetSameInstant(ZoneOffset.UTC).toLocalDateTime()
            : (LocalDateTime) value;
    return utc.toLocalDate() + "T" + time(utc.toLocalTime(), digits) + (withZone ? "Z" : "");
  }
}
