package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.sort.PhysicalRows.Row;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.ZOrderByteUtils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ZOrderTest {
  private static final int ALL = Integer.MAX_VALUE;
  private static final HexFormat HEX = HexFormat.of();

  private final BufferAllocator allocator = new RootAllocator();
  private final long seed = Long.getLong("firn.test.seed", new Random().nextLong());
  private final Random random = new Random(seed);

  static List<Type> sparkTypes() {
    return Orders.TYPES.stream().filter(ZOrderTest::isSparks).toList();
  }

  static List<Type> otherTypes() {
    List<Type> types = new ArrayList<>(Orders.TYPES);
    types.removeAll(sparkTypes());
    types.add(Types.StructType.of(NestedField.optional(9, "f", Types.LongType.get())));
    return types;
  }

  private static boolean isSparks(Type type) {
    return switch (type.typeId()) {
      case TIME, TIMESTAMP_NANO, DECIMAL -> false;
      default -> true;
    };
  }

  @AfterEach
  void nothingLeaks() {
    allocator.close();
  }

  @ParameterizedTest
  @MethodSource("sparkTypes")
  void zValueOfEachTypeIsIcebergs(Type type) {
    Schema schema =
        new Schema(
            NestedField.optional(1, "a", type), NestedField.optional(2, "b", Types.LongType.get()));
    for (int contribution : new int[] {1, 8, 13, 40}) {
      compare(schema, List.of("a"), contribution, ALL, 300);
      compare(schema, List.of("b", "a"), contribution, ALL, 300);
    }
  }

  @RepeatedTest(60)
  void zValueOfManyColumnsIsIcebergsAtAnyContributionAndOutputSize() {
    List<NestedField> fields = new ArrayList<>();
    List<String> names = new ArrayList<>();
    int count = 1 + random.nextInt(random.nextInt(4) == 0 ? 14 : 5);
    for (int i = 0; i < count; i++) {
      Type type = sparkTypes().get(random.nextInt(sparkTypes().size()));
      boolean optional = random.nextBoolean();
      String name = "c" + i;
      if (random.nextInt(4) == 0) {
        Type struct = Types.StructType.of(NestedField.of(100 + i, optional, "f", type));
        fields.add(NestedField.optional(i + 1, name, struct));
        names.add(name + ".f");
      } else {
        fields.add(NestedField.of(i + 1, optional, name, type));
        names.add(name);
      }
    }
    int contribution = random.nextBoolean() ? 8 : 1 + random.nextInt(30);
    int outputSize = random.nextBoolean() ? ALL : 1 + random.nextInt(40);
    int rows = random.nextInt(10) == 0 ? 2500 : random.nextInt(100);
    compare(new Schema(fields), names, contribution, outputSize, rows);
  }

  private void compare(
      Schema schema, List<String> names, int contribution, int outputSize, int count) {
    List<Row> rows = new RandomRows(random).rows(schema, count);
    SortKeys keys = SortKeys.zOrder(schema, names, contribution, outputSize);
    assertThat(keys.variable()).isFalse();
    int[] some = IntStream.range(0, count).filter(row -> random.nextInt(10) > 0).toArray();
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      RowKeys encoded = keys.encode(batch, some, some.length, allocator);
      for (int i = 0; i < some.length; i++) {
        byte[] ours =
            Arrays.copyOfRange(encoded.bytes(), encoded.offsets()[i], encoded.offsets()[i + 1]);
        byte[] theirs = icebergs(schema, names, contribution, outputSize, rows.get(some[i]));
        if (!Arrays.equals(ours, theirs)) {
          assertThat(HEX.formatHex(ours))
              .as(
                  "rerun with -Dfirn.test.seed=%s: %s by %s, %s and %s, row %s",
                  seed, schema, names, contribution, outputSize, rows.get(some[i]))
              .isEqualTo(HEX.formatHex(theirs));
        }
      }
    }
  }

  /** As Spark's action puts Iceberg's functions together, but with null booleans and structs. */
  private static byte[] icebergs(
      Schema schema, List<String> names, int contribution, int outputSize, Row row) {
    byte[][] columns = new byte[names.size()][];
    long size = 0;
    for (int i = 0; i < columns.length; i++) {
      String name = names.get(i);
      int dot = name.indexOf('.');
      NestedField column = schema.findField(dot < 0 ? name : name.substring(0, dot));
      Object value = row.values()[schema.columns().indexOf(column)];
      if (dot > 0 && value != null) {
        value = ((Row) value).values()[0];
      }
      columns[i] = icebergs(schema.findType(name), value, contribution);
      size += columns[i].length;
    }
    int bytes = (int) Math.min(size, outputSize);
    return ZOrderByteUtils.interleaveBits(columns, bytes, ByteBuffer.allocate(bytes)).clone();
  }

  private static byte[] icebergs(Type type, Object value, int contribution) {
    ByteBuffer primitive = ByteBuffer.allocate(ZOrderByteUtils.PRIMITIVE_BUFFER_SIZE);
    ByteBuffer variable = ByteBuffer.allocate(contribution);
    switch (type.typeId()) {
      case STRING:
      case UUID:
        String text = value == null ? null : value.toString();
        return ZOrderByteUtils.stringToOrderedBytes(
                text, contribution, variable, StandardCharsets.UTF_8.newEncoder())
            .array();
      case BINARY:
      case FIXED:
        byte[] bytes = value == null ? null : new byte[((ByteBuffer) value).remaining()];
        if (bytes != null) {
          ((ByteBuffer) value).duplicate().get(bytes);
        }
        return ZOrderByteUtils.byteTruncateOrFill(bytes, contribution, variable).array();
      default:
        if (value == null) {
          return primitive.array();
        }
    }
    switch (type.typeId()) {
      case BOOLEAN:
        return primitive.put(0, (byte) ((Boolean) value ? -127 : 0)).array();
      case INTEGER:
      case DATE:
        return ZOrderByteUtils.intToOrderedBytes((Integer) value, primitive).array();
      case LONG:
        return ZOrderByteUtils.longToOrderedBytes((Long) value, primitive).array();
      case TIMESTAMP:
        boolean zone = ((Types.TimestampType) type).shouldAdjustToUTC();
        long number = zone ? Math.floorDiv((Long) value, 1_000_000L) : (Long) value;
        return ZOrderByteUtils.longToOrderedBytes(number, primitive).array();
      case FLOAT:
        return ZOrderByteUtils.floatToOrderedBytes((Float) value, primitive).array();
      case DOUBLE:
        return ZOrderByteUtils.doubleToOrderedBytes((Double) value, primitive).array();
      default:
        throw new AssertionError(type);
    }
  }

  @ParameterizedTest
  @MethodSource("otherTypes")
  void typesThatSparkRefusesAreRefusedByName(Type type) {
    Schema schema = new Schema(NestedField.optional(1, "odd", type));
    assertThatThrownBy(() -> SortKeys.zOrder(schema, List.of("odd"), 8, ALL))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("odd (field 1) of type " + type);
  }

  @Test
  void columnsThatCannotBeAreRefusedByName() {
    Schema schema =
        new Schema(
            NestedField.optional(1, "a", Types.LongType.get()),
            NestedField.optional(
                2, "l", Types.ListType.ofOptional(3, Types.StructType.of(leaf(4, "x")))));
    refused(schema, List.of("a", "gone"), 8, ALL, "z-order by gone");
    refused(schema, List.of("l.element.x"), 8, ALL, "outside of lists");
    refused(schema, List.of("a", "a"), 8, ALL, "a (field 1) twice");
    refused(schema, List.of(), 8, ALL, "no columns");
  }

  @Test
  void limitsThatCannotBeAreRefusedByName() {
    Schema schema = new Schema(leaf(1, "s"), leaf(2, "t"));
    refused(schema, List.of("s"), 0, ALL, "var-length-contribution must be positive but was 0");
    refused(schema, List.of("s"), 8, 0, "max-output-size must be positive but was 0");
    refused(schema, List.of("s", "t"), ALL, ALL, "most is 65536");
    assertThat(SortKeys.zOrder(schema, List.of("s", "t"), ALL, 99).fixedBytes()).isEqualTo(99);
  }

  private static NestedField leaf(int id, String name) {
    return NestedField.optional(id, name, Types.StringType.get());
  }

  private static void refused(
      Schema schema, List<String> names, int contribution, int outputSize, String why) {
    assertThatThrownBy(() -> SortKeys.zOrder(schema, names, contribution, outputSize))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(why);
  }

  @Test
  void keysThatFollowOthersOrderWithinThem() {
    Schema schema =
        new Schema(
            NestedField.required(1, "p", Types.StringType.get()),
            NestedField.required(2, "a", Types.IntegerType.get()));
    SortKeys keys =
        SortKeys.of(schema, SortOrder.builderFor(schema).asc("p").build())
            .then(SortKeys.zOrder(schema, List.of("a"), 8, ALL));
    List<Row> ascending =
        List.of(
            new Row(new Object[] {"", 9}),
            new Row(new Object[] {"x", -4}),
            new Row(new Object[] {"x", 4}),
            new Row(new Object[] {"x\u0000", -9}));
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, ascending, allocator)) {
      for (int i = 1; i < ascending.size(); i++) {
        assertThat(keys.compare(batch, i - 1, batch, i)).as("row %s", i).isNegative();
      }
      assertThat(keys.encode(batch, 1)).hasSize(1 + 1 + 8);
    }
  }
}
