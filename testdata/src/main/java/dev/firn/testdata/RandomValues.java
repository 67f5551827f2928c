package dev.firn.testdata;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * Values of every type as Iceberg generics hold them, among them the awkward ones: NaNs with
 * payloads, negative zero, infinities, extremes, empty strings and bytes, surrogate pairs, times
 * before 1970. Half of a column's values come from a few that repeat, so that keys meet.
 */
public final class RandomValues {
  private static final LocalDate EARLIEST = LocalDate.of(1, 1, 1);
  private static final LocalDate LATEST = LocalDate.of(9999, 12, 31);
  private static final int REPEATED_VALUES = 4;

  private final Random random;
  private final int lastSecond; // ORC's writer moves fractions of 23:59:59 into 1970
  private final Map<Integer, List<Object>> repeated = new HashMap<>();
  private final Map<Integer, Double> nullShares = new HashMap<>();

  /**
   * @param orc whether only such times are made that ORC's writer keeps
   */
  public RandomValues(Random random, boolean orc) {
    this.random = random;
    this.lastSecond = orc ? 58 : 59;
  }

  Record row(Schema schema) {
    return struct(schema.asStruct(), List.of());
  }

  /** A row whose columns with these ids have few different values. */
  Record row(Schema schema, List<Integer> fewValued) {
    return struct(schema.asStruct(), fewValued);
  }

  private Record struct(Types.StructType type, List<Integer> fewValued) {
    Record row = GenericRecord.create(type);
    for (int pos = 0; pos < type.fields().size(); pos++) {
      Types.NestedField field = type.fields().get(pos);
      boolean few = fewValued.contains(field.fieldId());
      row.set(pos, field(field, few));
    }
    return row;
  }

  private @Nullable Object field(Types.NestedField field, boolean few) {
    if (field.isOptional() && random.nextDouble() < nullShare(field.fieldId())) {
      return null;
    }
    if (!field.type().isPrimitiveType()) {
      return value(field.type());
    }
    List<Object> pool = repeated.get(field.fieldId());
    if (pool == null || !sameType(pool, field.type())) {
      pool = new ArrayList<>();
      for (int i = 0; i < REPEATED_VALUES; i++) {
        pool.add(primitive(field.type()));
      }
      repeated.put(field.fieldId(), pool);
    }
    return few || random.nextBoolean()
        ? pool.get(random.nextInt(pool.size()))
        : primitive(field.type());
  }

  /* A pool of before a promotion has values of the wrong Java class. */
  private static boolean sameType(List<Object> pool, Type type) {
    return type.typeId().javaClass().isInstance(pool.get(0))
        || !(pool.get(0) instanceof Number)
        || pool.get(0) instanceof BigDecimal;
  }

  private double nullShare(int fieldId) {
    return nullShares.computeIfAbsent(
        fieldId,
        ignored ->
            switch (random.nextInt(6)) {
              case 0 -> 0.0;
              case 1 -> 0.9;
              case 2 -> random.nextInt(4) == 0 ? 1.0 : 0.5;
              default -> 0.15;
            });
  }

  Object value(Type type) {
    if (type.isStructType()) {
      return struct(type.asStructType(), List.of());
    } else if (type.isListType()) {
      Types.ListType list = type.asListType();
      List<@Nullable Object> values = new ArrayList<>();
      for (int i = size(); i > 0; i--) {
        values.add(field(list.fields().get(0), false));
      }
      return values;
    } else if (type.isMapType()) {
      Types.MapType map = type.asMapType();
      Map<Object, @Nullable Object> values = new LinkedHashMap<>();
      for (int i = size(); i > 0; i--) {
        values.put(primitive(map.keyType()), field(map.fields().get(1), false));
      }
      return values;
    }
    return primitive(type);
  }

  private int size() {
    return random.nextInt(3) == 0 ? 0 : 1 + random.nextInt(3);
  }

  /** A value of a primitive type. */
  public Object primitive(Type type) {
    boolean special = random.nextInt(4) == 0;
    return switch (type.typeId()) {
      case BOOLEAN -> random.nextBoolean();
      case INTEGER ->
          special
              ? pick(0, -1, Integer.MIN_VALUE, Integer.MAX_VALUE)
              : random.nextBoolean() ? random.nextInt(200) - 100 : random.nextInt();
      case LONG ->
          special
              ? pick(0L, -1L, Long.MIN_VALUE, Long.MAX_VALUE, 1L << 32)
              : random.nextBoolean() ? random.nextInt(200) - 100L : random.nextLong();
      case FLOAT ->
          special
              ? pick(
                  Float.NaN,
                  Float.intBitsToFloat(0xFFC0_1234),
                  -0.0f,
                  0.0f,
                  Float.POSITIVE_INFINITY,
                  Float.NEGATIVE_INFINITY,
                  Float.MIN_VALUE,
                  -Float.MAX_VALUE)
              : (float) random.nextGaussian() * 1000;
      case DOUBLE ->
          special
              ? pick(
                  Double.NaN,
                  Double.longBitsToDouble(0xFFF8_0000_0000_1234L),
                  -0.0,
                  0.0,
                  Double.POSITIVE_INFINITY,
                  Double.NEGATIVE_INFINITY,
                  Double.MIN_VALUE,
                  -Double.MAX_VALUE)
              : random.nextGaussian() * 1e6;
      case DECIMAL -> decimal((Types.DecimalType) type, special);
      case STRING -> string(special);
      case UUID ->
          special
              ? pick(new UUID(0, 0), new UUID(-1, -1), new UUID(Long.MIN_VALUE, 0))
              : new UUID(random.nextLong(), random.nextLong());
      case FIXED -> bytes(((Types.FixedType) type).length());
      case BINARY -> ByteBuffer.wrap(bytes(special ? 0 : random.nextInt(24)));
      case DATE ->
          special
              ? pick(EARLIEST, LATEST, LocalDate.EPOCH, LocalDate.of(1969, 12, 31))
              : LocalDate.of(1900 + random.nextInt(200), 1, 1).plusDays(random.nextInt(366));
      case TIME ->
          special
              ? pick(LocalTime.MIN, LocalTime.of(23, 59, 59, 999_999_000))
              : LocalTime.ofNanoOfDay(random.nextLong(86_400_000_000L) * 1000);
      case TIMESTAMP -> {
        LocalDateTime micros =
            special
                ? pick(
                    EARLIEST.atStartOfDay(),
                    LATEST.atTime(23, 59, 59, 999_999_000),
                    LocalDateTime.of(1969, 12, 31, 23, 59, lastSecond, 999_999_000),
                    LocalDateTime.of(1970, 1, 1, 0, 0))
                : time(1900, 200).withNano(random.nextInt(1_000_000) * 1000);
        yield zoned(micros, ((Types.TimestampType) type).shouldAdjustToUTC());
      }
      case TIMESTAMP_NANO -> {
        LocalDateTime nanos =
            special
                ? pick(
                    LocalDateTime.of(1678, 1, 1, 0, 0, 0, 1),
                    LocalDateTime.of(2261, 12, 31, 23, 59, 59, 999_999_999),
                    LocalDateTime.of(1969, 12, 31, 23, 59, 59, 999_999_999))
                : time(1700, 500).withNano(random.nextInt(1_000_000_000));
        yield zoned(nanos, ((Types.TimestampNanoType) type).shouldAdjustToUTC());
      }
      default -> throw new IllegalArgumentException("No values of " + type);
    };
  }

  private LocalDateTime time(int firstYear, int years) {
    return Instant.EPOCH
        .atOffset(ZoneOffset.UTC)
        .toLocalDateTime()
        .withYear(firstYear)
        .plusSeconds(random.nextLong(years * 365L * 86_400));
  }

  private static Object zoned(LocalDateTime time, boolean withZone) {
    return withZone ? time.atOffset(ZoneOffset.UTC) : time;
  }

  private BigDecimal decimal(Types.DecimalType type, boolean special) {
    BigInteger limit = BigInteger.TEN.pow(type.precision());
    BigInteger greatest = limit.subtract(BigInteger.ONE);
    BigInteger unscaled =
        special
            ? pick(BigInteger.ZERO, greatest, greatest.negate(), BigInteger.ONE.negate())
            : new BigInteger(limit.bitLength() - 1, random);
    if (!special && random.nextBoolean()) {
      unscaled = unscaled.mod(BigInteger.valueOf(100).min(limit)).negate();
    }
    return new BigDecimal(unscaled, type.scale());
  }

  private String string(boolean special) {
    if (special) {
      return pick(
          "",
          "null",
          "\uFFFD",
          "\uD83D\uDE00",
          "a/b=c%20 d",
          "\"quote\\ \t\n",
          "\u0001",
          "\u00E9\u4E2D",
          "0123456789abcdef0123456789abcdef");
    }
    StringBuilder text = new StringBuilder();
    for (int i = random.nextInt(12); i > 0; i--) {
      text.appendCodePoint(random.nextInt(20) == 0 ? 0x1F600 + i : 'a' + random.nextInt(26));
    }
    return text.toString();
  }

  private byte[] bytes(int length) {
    byte[] bytes = new byte[length];
    if (random.nextInt(4) > 0) {
      random.nextBytes(bytes);
    }
    return bytes;
  }

  @SafeVarargs
  private <T> T pick(T... values) {
    return values[random.nextInt(values.length)];
  }
}
