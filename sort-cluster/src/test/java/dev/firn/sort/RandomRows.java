package dev.firn.sort;

import dev.firn.sort.PhysicalRows.Row;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** Random values of every type, with the awkward ones often among them. */
final class RandomRows {
  private static final long DAY = 86_400_000_000L;
  private static final String[] STRINGS = {
    "",
    "\u0000",
    "\u0000\u0000",
    "\u0001",
    "a",
    "a\u0000",
    "a\u0000b",
    "a\u0001",
    "ab",
    "\uFFFD",
    "\uD83D\uDE00",
    "\u00E9",
    "\u00FF",
    "aaaaaaaa",
    "aaaaaaaaa",
    "aaaaaaaa\u0000",
    "\uD83D\uDE00\uD83D\uDE00\uD83D\uDE00",
    "\u20ACuro",
    "aaaaaaa\u0001b"
  };

  private final Random random;

  RandomRows(Random random) {
    this.random = random;
  }

  List<Row> rows(Schema schema, int count) {
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      rows.add(row(schema.columns()));
    }
    return rows;
  }

  private Row row(List<Types.NestedField> fields) {
    Object[] values = new Object[fields.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] =
          fields.get(i).isOptional() && random.nextInt(6) == 0 ? null : value(fields.get(i).type());
    }
    return new Row(values);
  }

  Object value(Type type) {
    switch (type.typeId()) {
      case BOOLEAN:
        return random.nextBoolean();
      case INTEGER:
      case DATE:
        return (int) number(32);
      case LONG:
      case TIMESTAMP_NANO:
        return number(64);
      case TIME:
        return Math.floorMod(number(64), DAY);
      case TIMESTAMP:
        return number(58);
      case FLOAT:
        return oneOf(
            Float.intBitsToFloat(random.nextInt()),
            random.nextInt(5) - 2f,
            oneOf(-0f, 0f, Float.NEGATIVE_INFINITY, Float.POSITIVE_INFINITY, Float.MIN_VALUE),
            oneOf(Float.NaN, Float.intBitsToFloat(0xFFC00001), Float.intBitsToFloat(0x7FC12345)));
      case DOUBLE:
        return oneOf(
            Double.longBitsToDouble(random.nextLong()),
            random.nextInt(5) - 2d,
            oneOf(-0d, 0d, Double.NEGATIVE_INFINITY, Double.POSITIVE_INFINITY, Double.MIN_VALUE),
            oneOf(
                Double.NaN,
                Double.longBitsToDouble(0xFFF8000000000001L),
                Double.longBitsToDouble(0x7FF8123456789ABCL)));
      case STRING:
        return string();
      case BINARY:
        return ByteBuffer.wrap(bytes(random.nextInt(12)));
      case FIXED:
        return ByteBuffer.wrap(bytes(((Types.FixedType) type).length()));
      case UUID:
        return new UUID(number(64), number(64));
      case DECIMAL:
        return decimal((Types.DecimalType) type);
      case STRUCT:
        return row(type.asStructType().fields());
      case LIST:
        List<Object> elements = new ArrayList<>();
        for (int i = random.nextInt(4); i > 0; i--) {
          boolean none = type.asListType().isElementOptional() && random.nextInt(5) == 0;
          elements.add(none ? null : value(type.asListType().elementType()));
        }
        return elements;
      case MAP:
        List<Object> entries = new ArrayList<>();
        for (int i = random.nextInt(4); i > 0; i--) {
          entries.add(row(type.asMapType().fields()));
        }
        return entries;
      default:
        throw new AssertionError(type);
    }
  }

  /** Small, of any size up to {@code bits}, or near an end or a multiple of a day or second. */
  private long number(int bits) {
    long any = random.nextLong() >> (64 - bits);
    switch (random.nextInt(6)) {
      case 0:
        return random.nextInt(7) - 3;
      case 1:
        return any;
      case 2:
        return any >> random.nextInt(bits);
      case 3:
        return (random.nextBoolean() ? Long.MIN_VALUE : Long.MAX_VALUE) >> (64 - bits);
      case 4:
        long unit = oneOf(DAY, DAY * 1000, 3_600_000_000L, 365L);
        long multiple = (random.nextInt(2000) - 1000) * unit + random.nextInt(3) - 1;
        return multiple << (64 - bits) >> (64 - bits);
      default:
        return random.nextInt(4000) - 2000;
    }
  }

  private String string() {
    if (random.nextBoolean()) {
      return oneOf(STRINGS);
    }
    StringBuilder string = new StringBuilder();
    for (int i = random.nextInt(random.nextInt(10) == 0 ? 40 : 5); i > 0; i--) {
      string.append(oneOf(STRINGS));
    }
    return string.toString();
  }

  private byte[] bytes(int length) {
    byte[] bytes = new byte[length];
    if (random.nextBoolean()) {
      random.nextBytes(bytes);
    } else {
      for (int i = 0; i < length; i++) {
        bytes[i] = oneOf((byte) 0, (byte) 1, (byte) 2, (byte) 0x7F, (byte) 0x80, (byte) 0xFF);
      }
    }
    return bytes;
  }

  private BigDecimal decimal(Types.DecimalType type) {
    BigInteger limit = BigInteger.TEN.pow(type.precision());
    BigInteger unscaled =
        oneOf(
            new BigInteger(128, random),
            BigInteger.valueOf(random.nextInt(400)),
            limit.subtract(BigInteger.ONE),
            BigInteger.ONE.shiftLeft(random.nextInt(128)));
    unscaled = unscaled.mod(limit);
    return new BigDecimal(random.nextBoolean() ? unscaled : unscaled.negate(), type.scale());
  }

  @SafeVarargs
  final <T> T oneOf(T... values) {
    return values[random.nextInt(values.length)];
  }
}
