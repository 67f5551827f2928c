package dev.firn.engine.parquet;

import dev.firn.engine.parquet.FileField.Annotation;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/** Which primitives of a file can be read as which type of the table, and how. */
final class PrimitiveReadings {
  private static final long MILLIS_PER_DAY_FACTOR = 1000L;

  private PrimitiveReadings() {}

  /** The reading of {@code source} as {@code type}, or null if it cannot be read so. */
  static @Nullable Reading of(String path, Type.PrimitiveType type, FileField source) {
    Annotation annotation = source.annotation();
    org.apache.parquet.format.Type physical = source.element.getType();
    switch (type.typeId()) {
      case BOOLEAN:
        return physical == org.apache.parquet.format.Type.BOOLEAN
            ? new Reading.Booleans(path)
            : null;
      case INTEGER:
        return isInt32(physical, annotation) ? new Reading.Fixed(path, Integer.BYTES) : null;
      case LONG:
        return integer(path, physical, annotation);
      case FLOAT:
        return physical == org.apache.parquet.format.Type.FLOAT
            ? new Reading.Fixed(path, Float.BYTES)
            : null;
      case DOUBLE:
        if (physical == org.apache.parquet.format.Type.FLOAT) {
          return new Reading.Casted(path, Double.BYTES, Casts::floatToDouble);
        }
        return physical == org.apache.parquet.format.Type.DOUBLE
            ? new Reading.Fixed(path, Double.BYTES)
            : null;
      case DATE:
        return annotation == Annotation.DATE ? new Reading.Fixed(path, Integer.BYTES) : null;
      case TIME:
        if (annotation == Annotation.TIME_MILLIS) {
          return new Reading.Casted(path, Long.BYTES, Casts.intTimes(MILLIS_PER_DAY_FACTOR));
        }
        return annotation == Annotation.TIME_MICROS ? new Reading.Fixed(path, Long.BYTES) : null;
      case TIMESTAMP:
        boolean local = !((Types.TimestampType) type).shouldAdjustToUTC();
        return timestamp(path, physical, annotation, false, local);
      case TIMESTAMP_NANO:
        boolean localNanos = !((Types.TimestampNanoType) type).shouldAdjustToUTC();
        return timestamp(path, physical, annotation, true, localNanos);
      case STRING:
        return isBinary(physical, annotation) ? new Reading.Binaries(path) : null;
      case BINARY:
        if (physical == org.apache.parquet.format.Type.FIXED_LEN_BYTE_ARRAY
            && annotation == Annotation.NONE) {
          return new Reading.FixedAsBinary(path, source.element.getType_length());
        }
        return isBinary(physical, annotation) ? new Reading.Binaries(path) : null;
      case UUID:
        return isFixed(source, 16)
                && (annotation == Annotation.UUID || annotation == Annotation.NONE)
            ? new Reading.Fixed(path, 16)
            : null;
      case FIXED:
        int length = ((Types.FixedType) type).length();
        return isFixed(source, length) && annotation == Annotation.NONE
            ? new Reading.Fixed(path, length)
            : null;
      case DECIMAL:
        return annotation == Annotation.DECIMAL
            ? decimal(path, (Types.DecimalType) type, source)
            : null;
      default:
        return null;
    }
  }

  private static boolean isInt32(org.apache.parquet.format.Type physical, Annotation annotation) {
    if (physical != org.apache.parquet.format.Type.INT32) {
      return false;
    }
    switch (annotation) {
      case NONE:
      case INT_8:
      case INT_16:
      case INT_32:
      case UINT_8:
      case UINT_16:
        return true;
      default:
        return false;
    }
  }

  private static @Nullable Reading integer(
      String path, org.apache.parquet.format.Type physical, Annotation annotation) {
    if (isInt32(physical, annotation)) {
      return new Reading.Casted(path, Long.BYTES, Casts::intToLong);
    }
    if (physical == org.apache.parquet.format.Type.INT32 && annotation == Annotation.UINT_32) {
      return new Reading.Casted(path, Long.BYTES, Casts::unsignedIntToLong);
    }
    return physical == org.apache.parquet.format.Type.INT64
            && (annotation == Annotation.NONE || annotation == Annotation.INT_64)
        ? new Reading.Fixed(path, Long.BYTES)
        : null;
  }

  private static @Nullable Reading timestamp(
      String path,
      org.apache.parquet.format.Type physical,
      Annotation annotation,
      boolean nanos,
      boolean local) {
    if (physical == org.apache.parquet.format.Type.INT96) {
      return new Reading.Casted(
          path, Long.BYTES, nanos ? Casts::int96ToNanos : Casts::int96ToMicros);
    }
    switch (annotation) {
      case TIMESTAMP_MILLIS:
        return new Reading.Casted(path, Long.BYTES, Casts.longTimes(nanos ? 1_000_000L : 1000L));
      case TIMESTAMP_MICROS:
        return nanos
            ? new Reading.Casted(path, Long.BYTES, Casts.longTimes(1000L))
            : new Reading.Fixed(path, Long.BYTES);
      case TIMESTAMP_NANOS:
        return nanos
            ? new Reading.Fixed(path, Long.BYTES)
            : new Reading.Casted(path, Long.BYTES, Casts::nanosToMicros);
      case DATE:
        // A promotion of format version 3, to timestamps without a zone only (S6).
        return local
            ? new Reading.Casted(path, Long.BYTES, nanos ? Casts::daysToNanos : Casts::daysToMicros)
            : null;
      default:
        return null;
    }
  }

  private static boolean isBinary(org.apache.parquet.format.Type physical, Annotation annotation) {
    if (physical != org.apache.parquet.format.Type.BYTE_ARRAY) {
      return false;
    }
    switch (annotation) {
      case NONE:
      case STRING:
      case ENUM:
      case JSON:
      case BSON:
        return true;
      default:
        return false;
    }
  }

  private static boolean isFixed(FileField source, int length) {
    return source.element.getType() == org.apache.parquet.format.Type.FIXED_LEN_BYTE_ARRAY
        && source.element.getType_length() == length;
  }

  /** S18: any physical type to the one of the table's precision; the scale must be the same. */
  private static @Nullable Reading decimal(String path, Types.DecimalType type, FileField source) {
    int precision = type.precision();
    if (source.decimalScale() != type.scale() || source.decimalPrecision() > precision) {
      return null;
    }
    org.apache.parquet.format.Type physical = source.element.getType();
    int width = source.element.getType_length();
    if (precision <= 18) {
      int to = precision <= 9 ? Integer.BYTES : Long.BYTES;
      boolean same =
          physical
              == (precision <= 9
                  ? org.apache.parquet.format.Type.INT32
                  : org.apache.parquet.format.Type.INT64);
      return same
          ? new Reading.Fixed(path, to)
          : new Reading.Casted(path, to, Casts.decimalToNumber(physical, width, to));
    }
    int to = TypeUtil.decimalRequiredBytes(precision);
    return isFixed(source, to)
        ? new Reading.Fixed(path, to)
        : new Reading.Casted(path, to, Casts.decimalToFixed(physical, width, to));
  }
}
