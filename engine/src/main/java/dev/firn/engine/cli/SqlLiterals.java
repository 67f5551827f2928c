package dev.firn.engine.cli;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalQueries;
import java.util.HexFormat;
import java.util.Locale;
import java.util.UUID;
import net.sf.jsqlparser.expression.BooleanValue;
import net.sf.jsqlparser.expression.CastExpression;
import net.sf.jsqlparser.expression.DoubleValue;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.HexValue;
import net.sf.jsqlparser.expression.LongValue;
import net.sf.jsqlparser.expression.SignedExpression;
import net.sf.jsqlparser.expression.StringValue;
import net.sf.jsqlparser.expression.operators.relational.ParenthesedExpressionList;
import net.sf.jsqlparser.schema.Column;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.types.Types.TimestampNanoType;
import org.apache.iceberg.types.Types.TimestampType;
import org.jspecify.annotations.Nullable;

/**
 * SQL literals as Iceberg literals of a column's type. The column decides: {@code '2026-01-31'} is
 * a date beside a date column and text beside a string column. A timestamp with zone that is
 * written without an offset is in UTC.
 */
final class SqlLiterals {
  private static final DateTimeFormatter DATE_TIME =
      new DateTimeFormatterBuilder()
          .parseCaseInsensitive()
          .append(DateTimeFormatter.ISO_LOCAL_DATE)
          .optionalStart()
          .appendLiteral('T')
          .append(DateTimeFormatter.ISO_LOCAL_TIME)
          .optionalStart()
          .appendOffset("+HH:mm", "Z")
          .optionalEnd()
          .optionalEnd()
          .toFormatter(Locale.ROOT);

  private final Columns columns;

  SqlLiterals(Columns columns) {
    this.columns = columns;
  }

  /**
   * The literal for a comparison with {@code field}.
   *
   * @throws UsageException if it is not a literal, or of a type that does not go with the column
   */
  Literal<?> of(Expression sql, NestedField field, String name) {
    Written written = written(sql, false);
    if (written == null) {
      throw columns.refused(
          sql instanceof Column
              ? "'" + sql + "' is a column: only comparisons with literals are understood"
              : "'" + sql + "' is not a literal");
    }
    Literal<?> literal;
    try {
      literal = converted(written, field.type(), sql, name);
    } catch (DateTimeException | IllegalArgumentException e) {
      throw columns.refused(
          "'" + sql + "' is not a " + field.type() + ", which the column '" + name + "' is");
    }
    if (literal == null) {
      throw columns.refused(
          "'"
              + sql
              + "' cannot be compared with the column '"
              + name
              + "' of type "
              + field.type());
    }
    return literal;
  }

  /** The kinds of literals that SQL tells apart. */
  private enum Kind {
    NUMBER,
    STRING,
    BOOLEAN,
    DATE,
    TIME,
    TIMESTAMP,
    BYTES
  }

  /** A literal as it is written: its kind and its text. */
  private record Written(Kind kind, String text) {}

  /** Null if {@code sql} is not a literal. */
  private @Nullable Written written(Expression sql, boolean negative) {
    if (sql instanceof SignedExpression signed) {
      boolean minus = signed.getSign() == '-';
      if (!minus && signed.getSign() != '+') {
        return null;
      }
      Written inner = written(signed.getExpression(), negative != minus);
      return inner != null && inner.kind == Kind.NUMBER ? inner : null;
    } else if (sql instanceof ParenthesedExpressionList<?> list && list.size() == 1) {
      return written(list.get(0), negative);
    } else if (sql instanceof LongValue number) {
      return new Written(Kind.NUMBER, (negative ? "-" : "") + number.getStringValue());
    } else if (sql instanceof DoubleValue number) {
      return new Written(Kind.NUMBER, (negative ? "-" : "") + number);
    } else if (sql instanceof StringValue string && string.getPrefix() == null) {
      return new Written(Kind.STRING, string.getNotExcapedValue());
    } else if (sql instanceof BooleanValue bool) {
      return new Written(Kind.BOOLEAN, Boolean.toString(bool.getValue()));
    } else if (sql instanceof HexValue hex
        && hex.getValue().toUpperCase(Locale.ROOT).startsWith("X'")) {
      return new Written(Kind.BYTES, hex.getDigits());
    } else if (sql instanceof CastExpression cast
        && cast.getLeftExpression() instanceof StringValue string) {
      return typed(cast.getColDataType().getDataType(), string.getNotExcapedValue());
    }
    return null;
  }

  private static @Nullable Written typed(String type, String text) {
    return switch (type.toLowerCase(Locale.ROOT)) {
      case "date" -> new Written(Kind.DATE, text);
      case "time" -> new Written(Kind.TIME, text);
      case "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns" ->
          new Written(Kind.TIMESTAMP, text);
      default -> null;
    };
  }

  /** Null if the kinds do not go together. */
  private @Nullable Literal<?> converted(Written written, Type type, Expression sql, String name) {
    Kind kind = written.kind;
    String text = written.text;
    switch (type.typeId()) {
      case BOOLEAN:
        return kind == Kind.BOOLEAN ? Literal.of(Boolean.parseBoolean(text)) : null;
      case INTEGER:
      case LONG:
        return kind == Kind.NUMBER ? integer(text, type, sql, name) : null;
      case FLOAT:
      case DOUBLE:
        return kind == Kind.NUMBER ? Literal.of(Double.parseDouble(text)).to(type) : null;
      case DECIMAL:
        return kind == Kind.NUMBER ? decimal(text, (Types.DecimalType) type, sql, name) : null;
      case STRING:
        return kind == Kind.STRING ? Literal.of(text) : null;
      case UUID:
        return kind == Kind.STRING ? Literal.of(UUID.fromString(text)) : null;
      case FIXED:
      case BINARY:
        return kind == Kind.BYTES
            ? Literal.of(ByteBuffer.wrap(HexFormat.of().parseHex(text))).to(type)
            : null;
      case DATE:
        return kind == Kind.STRING || kind == Kind.DATE
            ? Literal.of(LocalDate.parse(text.trim()).toString()).to(type)
            : null;
      case TIME:
        return kind == Kind.STRING || kind == Kind.TIME
            ? Literal.of(micros(LocalTime.parse(text.trim()), sql).toString()).to(type)
            : null;
      case TIMESTAMP:
      case TIMESTAMP_NANO:
        return kind == Kind.STRING || kind == Kind.DATE || kind == Kind.TIMESTAMP
            ? timestamp(text, type, sql, name)
            : null;
      default:
        return null;
    }
  }

  private Literal<?> integer(String text, Type type, Expression sql, String name) {
    BigDecimal value = new BigDecimal(text);
    if (value.stripTrailingZeros().scale() > 0) {
      throw columns.refused(
          "'" + sql + "' has a fraction, but the column '" + name + "' is " + type);
    }
    if (value.abs().compareTo(BigDecimal.valueOf(Long.MAX_VALUE)) > 0) {
      throw columns.refused(
          "'" + sql + "' is beyond every " + type + " of the column '" + name + "'");
    }
    long exact = value.longValueExact();
    // Beyond an int column's range: binding knows what a comparison with that comes to.
    return type.typeId() == Type.TypeID.INTEGER && exact == (int) exact
        ? Literal.of((int) exact)
        : Literal.of(exact);
  }

  private Literal<?> decimal(String text, Types.DecimalType type, Expression sql, String name) {
    try {
      return Literal.of(new BigDecimal(text).setScale(type.scale()));
    } catch (ArithmeticException e) {
      throw columns.refused(
          "'" + sql + "' has more decimals than the column '" + name + "' of type " + type);
    }
  }

  private LocalTime micros(LocalTime time, Expression sql) {
    if (time.getNano() % 1000 != 0) {
      throw columns.refused("'" + sql + "' is finer than the column's microseconds");
    }
    return time;
  }

  private Literal<?> timestamp(String text, Type type, Expression sql, String name) {
    boolean nanos = type instanceof TimestampNanoType;
    boolean zoned =
        type instanceof TimestampNanoType fine
            ? fine.shouldAdjustToUTC()
            : ((TimestampType) type).shouldAdjustToUTC();
    String trimmed = text.trim();
    TemporalAccessor parsed =
        DATE_TIME.parse(
            trimmed.length() > 10 && trimmed.charAt(10) == ' '
                ? trimmed.substring(0, 10) + 'T' + trimmed.substring(11).replace(" ", "")
                : trimmed);
    LocalTime time = parsed.query(TemporalQueries.localTime());
    LocalDateTime local =
        LocalDateTime.of(
            LocalDate.from(parsed),
            time == null ? LocalTime.MIDNIGHT : nanos ? time : micros(time, sql));
    ZoneOffset offset = (ZoneOffset) parsed.query(TemporalQueries.offset());
    if (!zoned && offset != null) {
      throw columns.refused(
          "'"
              + sql
              + "' has an offset, but the column '"
              + name
              + "' of type "
              + type
              + " has none");
    }
    String iso =
        zoned
            ? OffsetDateTime.of(local, offset == null ? ZoneOffset.UTC : offset)
                .withOffsetSameInstant(ZoneOffset.UTC)
                .format(DateTimeFormatter.ISO_OFFSET_DATE_TIME)
                .replace("Z", "+00:00")
            : local.format(DateTimeFormatter.ISO_LOCAL_DATE_TIME);
    return Literal.of(iso).to(type);
  }
}
