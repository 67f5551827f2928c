package dev.firn.engine;

import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.MetricsModes;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortDirection;
import org.apache.iceberg.SortField;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.transforms.Transform;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.BinaryUtil;
import org.apache.iceberg.util.NaNUtil;
import org.apache.iceberg.util.SerializableFunction;
import org.apache.iceberg.util.UnicodeUtil;
import org.jspecify.annotations.Nullable;

/**
 * Reads the key range of a data file on a sort order from its manifest entry, without opening it.
 *
 * <p>A range never excludes a key that the file has, as far as its bounds are right (M2): what the
 * entry does not say is taken at its widest. A missing bound reaches to the end; a null count that
 * is unknown or not 0, to the end where nulls go; a NaN count that is unknown or not 0, to the end
 * where NaN goes (M3). A further column of the order counts only where those before it are
 * constant. Columns are found by field id, and bounds from before a promotion of the type are read
 * as Iceberg reads them. UUIDs are unsigned (O4); Iceberg's own writer compares the bounds of row
 * groups signed, so that of a file of several row groups it may state too narrow ones (H5).
 *
 * <p>Fields of the order from the first on whose transform does not preserve order ({@code bucket})
 * are not looked at. Immutable and thread-safe.
 */
final class KeyBounds {
  // Beginnings of a column's part of a position. Nothing sorts before all, UNBOUNDED after all.
  private static final byte NULL_FIRST = 0x08;
  private static final byte VALUE = 0x10;
  private static final byte NULL_LAST = 0x20;
  private static final byte UNBOUNDED = (byte) 0xFF;
  private static final byte[] NOTHING = {};

  private static final String GREATEST_CHARACTER = Character.toString(Character.MAX_CODE_POINT);

  private static final int DECIMAL_BYTES = 17;

  /** Bounds that are cut to more than this are taken as whole. */
  private static final int CUT_MAX = 1 << 12;

  /**
   * A field of the order.
   *
   * @param source the column's type today
   * @param optional whether the column or a struct above it may be null
   * @param belowOptional whether a struct above it may be null
   * @param boundLength characters or bytes that bounds of files written today are cut to; 0 if they
   *     are not kept, {@code Integer.MAX_VALUE} if they are kept whole
   */
  private record Column(
      int fieldId,
      String name,
      Type source,
      Type result,
      SerializableFunction<Object, Object> transform,
      boolean optional,
      boolean belowOptional,
      boolean descending,
      boolean nullsFirst,
      int boundLength) {}

  /**
   * A column of a file, in the direction of the order.
   *
   * @param constant whether every row has the same value, or null
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Span(byte[] first, byte[] last, byte[] after, byte[] before, boolean constant) {}

  private final List<Column> columns;
  private final boolean complete;
  private final int columnsTold;
  private final String whyUntold;

  private KeyBounds(List<Column> columns, boolean complete, String whyUntold) {
    this.columns = List.copyOf(columns);
    this.complete = complete;
    int told = 0;
    while (told < columns.size() && columns.get(told).boundLength > 0) {
      told++;
    }
    this.columnsTold = told;
    this.whyUntold =
        told < columns.size()
            ? "no bounds of column "
                + columns.get(told).name
                + " are written: its metrics mode is none or counts"
            : whyUntold;
  }

  /**
   * The ranges on an order.
   *
   * @param table tells how bounds are written
   * @param schema the table's current schema, which has the order's sources
   */
  static KeyBounds of(Table table, Schema schema, SortOrder order) {
    MetricsConfig metrics = MetricsConfig.forTable(table);
    Map<Integer, Integer> parents = TypeUtil.indexParents(schema.asStruct());
    List<Column> columns = new ArrayList<>();
    for (SortField field : order.fields()) {
      if (field.transform().isVoid()) {
        continue; // null in every row
      }
      Type source = schema.findType(field.sourceId());
      if (source == null || !field.transform().preservesOrder()) {
        return new KeyBounds(
            columns,
            false,
            source == null
                ? "field " + field.sourceId() + " is no longer in the schema"
                : field.transform()
                    + " of column "
                    + schema.findColumnName(field.sourceId())
                    + " does not preserve its order, so that bounds tell nothing");
      }
      columns.add(column(schema, parents, metrics, field, source));
    }
    return new KeyBounds(columns, true, "it orders nothing");
  }

  @SuppressWarnings("unchecked") // a transform takes the values of its source
  private static Column column(
      Schema schema,
      Map<Integer, Integer> parents,
      MetricsConfig metrics,
      SortField field,
      Type source) {
    boolean belowOptional = false;
    for (Integer above = parents.get(field.sourceId()); above != null; above = parents.get(above)) {
      belowOptional |= schema.findField(above).isOptional();
    }
    Transform<Object, Object> transform = (Transform<Object, Object>) field.transform();
    return new Column(
        field.sourceId(),
        Objects.requireNonNull(schema.findColumnName(field.sourceId())),
        source,
        transform.getResultType(source),
        transform.bind(source),
        belowOptional || schema.findField(field.sourceId()).isOptional(),
        belowOptional,
        field.direction() == SortDirection.DESC,
        field.nullOrder() == NullOrder.NULLS_FIRST,
        boundLength(metrics.columnMode(field.sourceId())));
  }

  private static int boundLength(MetricsModes.MetricsMode mode) {
    if (mode instanceof MetricsModes.Truncate truncate) {
      return truncate.length();
    }
    return mode instanceof MetricsModes.Full ? Integer.MAX_VALUE : 0;
  }

  /** The columns whose bounds are looked at. */
  List<Integer> fieldIds() {
    return columns.stream().map(Column::fieldId).toList();
  }

  /** Whether bounds of the first column are written and tell its order. */
  boolean tellOverlaps() {
    return columnsTold > 0;
  }

  /** Why overlaps cannot be told, or not to the order's end. */
  String whyUntold() {
    return whyUntold;
  }

  /** The range of a file whose entry was read with the statistics of {@link #fieldIds()}. */
  KeyRange of(DataFile file) {
    ByteArrayOutputStream constants = new ByteArrayOutputStream();
    for (int i = 0; i < columns.size(); i++) {
      Span span = span(columns.get(i), file);
      boolean lastColumn = i == columns.size() - 1;
      if (span.constant && !lastColumn) {
        constants.writeBytes(span.first);
        continue;
      }
      byte[] prefix = constants.toByteArray();
      byte[] first = concat(prefix, span.first);
      byte[] last = concat(prefix, span.last);
      // Rows that are equal in this column may differ in the next.
      last = lastColumn && complete ? last : concat(last, UNBOUNDED);
      byte[] after = concat(concat(prefix, span.after), UNBOUNDED);
      if (span.after.length == 0) {
        after = prefix;
      }
      byte[] before = concat(prefix, span.before);
      boolean inside =
          i < columnsTold && !span.constant && Arrays.compareUnsigned(after, before) < 0;
      return new KeyRange(first, last, inside ? after : null, inside ? before : null);
    }
    return new KeyRange(NOTHING, new byte[] {UNBOUNDED}, null, null);
  }

  private static Span span(Column column, DataFile file) {
    int id = column.fieldId;
    long rows = file.recordCount();
    Long nulls = column.optional ? nullCount(column, file) : Long.valueOf(0);
    if (nulls != null && nulls > 0 && nulls >= rows) {
      byte[] ofNull = {column.nullsFirst ? NULL_FIRST : NULL_LAST};
      return new Span(ofNull, ofNull, ofNull, ofNull, true);
    }
    Object lower = bound(column, file.lowerBounds());
    Object upper = bound(column, file.upperBounds());
    if (lower != null && upper != null && overflows(column, upper)) {
      lower = null;
      upper = null;
    } else if (lower != null && overflows(column, lower)) {
      lower = null;
    }
    Object end = upper == null ? endWithoutBound(column) : endOf(column, lower, upper);
    lower = lower == null ? null : column.transform.apply(lower);
    upper = upper == null ? null : column.transform.apply(upper);
    if (isFloating(column.result)) {
      Long nans = get(file.nanValueCounts(), id);
      boolean onlyNans = nans != null && nans > 0 && nulls != null && nulls + nans >= rows;
      lower = onlyNans ? Double.valueOf(Double.NaN) : NaNUtil.isNaN(lower) ? null : lower;
      upper = nans == null || nans > 0 || NaNUtil.isNaN(upper) ? Double.valueOf(Double.NaN) : upper;
      end = upper;
    }
    boolean mayBeNull = nulls == null || nulls > 0;
    return span(column, lower, upper, end, mayBeNull);
  }

  /**
   * @param end where the inside ends if the order is ascending, null if nowhere
   */
  private static Span span(
      Column column,
      @Nullable Object lower,
      @Nullable Object upper,
      @Nullable Object end,
      boolean mayBeNull) {
    // In the order of the values, then turned round if the order is descending.
    byte[] first = lower == null ? NOTHING : part(column, encode(column.result, lower, false));
    byte[] last = upper == null ? unbounded() : part(column, encode(column.result, upper, true));
    if (lower != null
        && upper != null
        && Arrays.compareUnsigned(
                encode(column.result, lower, false), encode(column.result, upper, true))
            > 0) {
      // bounds that contradict one another tell nothing
      return span(column, null, null, endWithoutBound(column), mayBeNull);
    }
    byte[] after = lower == null ? NOTHING : part(column, encode(column.result, lower, true));
    byte[] before = end == null ? unbounded() : part(column, encode(column.result, end, false));
    boolean constant = !mayBeNull && lower != null && Arrays.equals(first, last);
    if (column.descending) {
      byte[] swapped = first;
      first = upper == null ? NOTHING : last;
      last = lower == null ? unbounded() : swapped;
      swapped = after;
      after = end == null ? NOTHING : before;
      before = lower == null ? unbounded() : swapped;
    }
    if (mayBeNull) {
      byte[] ofNull = {column.nullsFirst ? NULL_FIRST : NULL_LAST};
      if (column.nullsFirst) {
        first = first.length == 0 ? first : ofNull;
        after = after.length == 0 ? after : ofNull;
      } else {
        last = last[0] == UNBOUNDED ? last : ofNull;
        before = before[0] == UNBOUNDED ? before : ofNull;
      }
    }
    return new Span(first, last, after, before, constant);
  }

  private static byte[] unbounded() {
    return new byte[] {UNBOUNDED};
  }

  /**
   * Where the inside ends by an upper bound. Bounds of strings are cut, lower ones down and upper
   * ones up (M2), so that files with one and the same long beginning would all seem to overlap: a
   * bound that may have been cut up is taken as what it was cut from, and what comes after is part
   * of the end point.
   */
  private static Object endOf(Column column, @Nullable Object lower, Object upper) {
    Object end = upper;
    if (column.boundLength > 0 && column.boundLength <= CUT_MAX) {
      if (upper instanceof CharSequence text) {
        end = uncut(column.boundLength, lower == null ? null : lower.toString(), text.toString());
      } else if (upper instanceof ByteBuffer bytes
          && column.source.typeId() == Type.TypeID.BINARY) {
        end = uncut(column.boundLength, (ByteBuffer) lower, bytes);
      }
    }
    return column.transform.apply(end);
  }

  /**
   * Where it ends without an upper bound: at the greatest value that a cut leaves, null if nothing
   * is cut. There is no upper bound of a value that begins with it, for none is greater (M2).
   */
  private static @Nullable Object endWithoutBound(Column column) {
    int length = column.boundLength;
    if (length > 0 && length <= CUT_MAX) {
      if (column.source.typeId() == Type.TypeID.STRING) {
        return column.transform.apply(GREATEST_CHARACTER.repeat(length));
      } else if (column.source.typeId() == Type.TypeID.BINARY) {
        byte[] greatest = new byte[length];
        Arrays.fill(greatest, (byte) 0xFF);
        return column.transform.apply(ByteBuffer.wrap(greatest));
      }
    }
    return null;
  }

  private static String uncut(int length, @Nullable String lower, String upper) {
    if (lower != null && lower.codePointCount(0, lower.length()) == length) {
      if (upper.equals(UnicodeUtil.truncateStringMax(lower + '0', length))) {
        return lower;
      }
    }
    int points = upper.codePointCount(0, upper.length());
    int lastPoint = upper.isEmpty() ? 0 : upper.codePointBefore(upper.length());
    if (lastPoint == 0 || points > length || upper.equals(GREATEST_CHARACTER.repeat(length))) {
      return upper;
    }
    int surrogatesEnd = Character.MAX_SURROGATE + 1;
    int below = lastPoint == surrogatesEnd ? Character.MIN_SURROGATE - 1 : lastPoint - 1;
    // Where it is shorter, the greatest characters were behind it and could not be raised.
    return new StringBuilder(upper.substring(0, upper.offsetByCodePoints(upper.length(), -1)))
        .appendCodePoint(below)
        .append(GREATEST_CHARACTER.repeat(length - points))
        .toString();
  }

  private static ByteBuffer uncut(int length, @Nullable ByteBuffer lower, ByteBuffer upper) {
    if (lower != null && lower.remaining() == length) {
      ByteBuffer longer = ByteBuffer.allocate(length + 1).put(lower.duplicate()).rewind();
      if (upper.equals(BinaryUtil.truncateBinaryMax(longer, length))) {
        return lower;
      }
    }
    byte[] end = Arrays.copyOf(bytes(upper), length);
    int last = upper.remaining() - 1;
    if (last < 0 || last >= length || end[last] == 0 || isGreatest(end)) {
      return upper;
    }
    end[last]--;
    // Where it is shorter, the greatest bytes were behind it and could not be raised.
    Arrays.fill(end, last + 1, length, (byte) 0xFF);
    return ByteBuffer.wrap(end);
  }

  private static boolean isGreatest(byte[] bytes) {
    for (byte each : bytes) {
      if (each != (byte) 0xFF) {
        return false;
      }
    }
    return true;
  }

  /** Null if it is not known. */
  private static @Nullable Long nullCount(Column column, DataFile file) {
    // Only Parquet counts rows whose struct is null among the nulls of the fields in it.
    boolean counted = !column.belowOptional || file.format() == FileFormat.PARQUET;
    return counted ? get(file.nullValueCounts(), column.fieldId) : null;
  }

  private static <T> @Nullable T get(@Nullable Map<Integer, T> values, int fieldId) {
    return values == null ? null : values.get(fieldId);
  }

  /** Null if there is none, or none that is of today's type or was promoted to it. */
  private static @Nullable Object bound(Column column, @Nullable Map<Integer, ByteBuffer> bounds) {
    ByteBuffer bytes = get(bounds, column.fieldId);
    if (bytes == null) {
      return null;
    }
    int length = bytes.remaining();
    boolean fits =
        switch (column.source.typeId()) {
          case BOOLEAN -> length == 1;
          case INTEGER, DATE, FLOAT -> length == 4;
          case LONG, DOUBLE -> length == 4 || length == 8;
          case TIME, TIMESTAMP, TIMESTAMP_NANO -> length == 8;
          case DECIMAL -> length > 0 && length <= DECIMAL_BYTES;
          case UUID -> length == 16;
          case FIXED -> length == ((Types.FixedType) column.source).length();
          case STRING, BINARY -> true;
          default -> false;
        };
    if (!fits) {
      return null;
    }
    try {
      return Conversions.fromByteBuffer(column.source, bytes);
    } catch (org.apache.iceberg.exceptions.RuntimeIOException e) {
      return null; // not UTF-8, as when another writer has cut a character
    }
  }

  /** Whether the transform of a number near the least one wraps round. */
  private static boolean overflows(Column column, Object value) {
    return column.result.equals(column.source)
        && (value instanceof Integer || value instanceof Long)
        && ((Number) column.transform.apply(value)).longValue() > ((Number) value).longValue();
  }

  private static boolean isFloating(Type type) {
    return type.typeId() == Type.TypeID.FLOAT || type.typeId() == Type.TypeID.DOUBLE;
  }

  private static byte[] part(Column column, byte[] value) {
    byte[] part = new byte[value.length + 1];
    part[0] = VALUE;
    for (int i = 0; i < value.length; i++) {
      part[i + 1] = column.descending ? (byte) ~value[i] : value[i];
    }
    return part;
  }

  /**
   * A value as bytes that compare as it does; no encoding is the beginning of another.
   *
   * @param high how a floating zero is taken, as 0.0 or as -0.0: writers do not tell them apart
   */
  private static byte[] encode(Type type, Object value, boolean high) {
    return switch (type.typeId()) {
      case BOOLEAN -> new byte[] {(byte) ((Boolean) value ? 1 : 0)};
      case INTEGER, DATE, LONG, TIME, TIMESTAMP, TIMESTAMP_NANO ->
          ofLong(((Number) value).longValue() ^ Long.MIN_VALUE);
      case FLOAT, DOUBLE -> ofDouble(((Number) value).doubleValue(), high);
      case DECIMAL -> ofDecimal((BigDecimal) value);
      case STRING -> ofBytes(value.toString().getBytes(StandardCharsets.UTF_8));
      case BINARY, FIXED -> ofBytes(bytes((ByteBuffer) value));
      case UUID ->
          ByteBuffer.allocate(16)
              .putLong(((UUID) value).getMostSignificantBits())
              .putLong(((UUID) value).getLeastSignificantBits())
              .array();
      default -> throw new IllegalArgumentException("Cannot sort by values of type " + type);
    };
  }

  private static byte[] ofLong(long bits) {
    return ByteBuffer.allocate(Long.BYTES).putLong(bits).array();
  }

  private static byte[] ofDouble(double value, boolean high) {
    double one = value == 0 ? (high ? 0.0 : -0.0) : value;
    long bits = Double.doubleToLongBits(one);
    return ofLong(bits < 0 ? ~bits : bits ^ Long.MIN_VALUE);
  }

  private static byte[] ofDecimal(BigDecimal value) {
    byte[] unscaled = value.unscaledValue().toByteArray();
    byte[] bytes = new byte[DECIMAL_BYTES];
    Arrays.fill(bytes, (byte) (unscaled[0] < 0 ? 0xFF : 0));
    System.arraycopy(unscaled, 0, bytes, bytes.length - unscaled.length, unscaled.length);
    bytes[0] ^= (byte) 0x80;
    return bytes;
  }

  /** A zero is followed by 1, and the end is a zero followed by 0. */
  private static byte[] ofBytes(byte[] value) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(value.length + 2);
    for (byte each : value) {
      bytes.write(each);
      if (each == 0) {
        bytes.write(1);
      }
    }
    bytes.write(0);
    bytes.write(0);
    return bytes.toByteArray();
  }

  private static byte[] bytes(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.duplicate().get(bytes);
    return bytes;
  }

  private static byte[] concat(byte[] prefix, byte... rest) {
    byte[] all = Arrays.copyOf(prefix, prefix.length + rest.length);
    System.arraycopy(rest, 0, all, prefix.length, rest.length);
    return all;
  }
}
