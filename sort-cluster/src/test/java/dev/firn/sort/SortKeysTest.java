package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.sort.Orders.Key;
import dev.firn.sort.PhysicalRows.Row;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortDirection;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.SortOrderParser;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Term;
import org.apache.iceberg.transforms.Transforms;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SortKeysTest {
  private final BufferAllocator allocator = new RootAllocator();
  private final long seed = Long.getLong("firn.test.seed", new Random().nextLong());
  private final Random random = new Random(seed);

  static List<Type> types() {
    return Orders.TYPES;
  }

  @AfterEach
  void nothingLeaks() {
    allocator.close();
  }

  @ParameterizedTest
  @MethodSource("types")
  void o1o2o3o5o6KeysCompareAsIcebergCompares(Type type) {
    Schema schema = new Schema(Types.NestedField.optional(7, "c", type));
    List<Row> rows = new RandomRows(random).rows(schema, 140);
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      for (Term term : Orders.terms(type, "c")) {
        for (SortDirection direction : SortDirection.values()) {
          for (NullOrder nulls : NullOrder.values()) {
            compareAll(schema, rows, batch, new Key("c", term, direction, nulls));
          }
        }
      }
    }
  }

  private void compareAll(Schema schema, List<Row> rows, VectorSchemaRoot batch, Key key) {
    Comparator<Row> iceberg = Orders.comparator(schema, List.of(key));
    SortKeys keys = SortKeys.of(schema, Orders.order(schema, List.of(key)));
    byte[][] encoded = encode(keys, batch);
    for (int l = 0; l < encoded.length; l++) {
      for (int r = 0; r < encoded.length; r++) {
        int ours = Integer.signum(Arrays.compareUnsigned(encoded[l], encoded[r]));
        int theirs = Integer.signum(iceberg.compare(rows.get(l), rows.get(r)));
        if (ours != theirs) {
          assertThat(ours)
              .as(
                  "rerun with -Dfirn.test.seed=%s: %s, %s and %s",
                  seed, key, rows.get(l), rows.get(r))
              .isEqualTo(theirs);
        }
      }
    }
  }

  @Test
  void p4EveryTypeHasItsTransforms() {
    assertThat(Orders.terms(Types.BooleanType.get(), "c")).hasSize(1);
    assertThat(Orders.terms(Types.DateType.get(), "c")).hasSize(1 + 4 + 3);
    assertThat(Orders.terms(Types.TimestampNanoType.withZone(), "c")).hasSize(1 + 4 + 4);
    assertThat(Orders.terms(Types.DecimalType.of(38, 2), "c")).hasSize(1 + 4 + 3);
  }

  @Test
  void o2StringsAreInUtf8ByteOrder() {
    Schema schema = new Schema(Types.NestedField.required(1, "s", Types.StringType.get()));
    SortKeys keys = SortKeys.of(schema, SortOrder.builderFor(schema).asc("s").build());
    List<Row> rows = rowsOf("\uFFFD", "\uD83D\uDE00");
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      assertThat(keys.compare(batch, 0, batch, 1)).isNegative();
      assertThat(keys.compare(batch, 1, batch, 0)).isPositive();
      assertThat(keys.compare(batch, 1, batch, 1)).isZero();
    }
  }

  @Test
  void o5APrefixComesFirstAndTheNextColumnIsComparedOnlyForEqualValues() {
    Schema schema =
        new Schema(
            Types.NestedField.required(1, "s", Types.StringType.get()),
            Types.NestedField.required(2, "n", Types.IntegerType.get()));
    List<Row> ascending =
        List.of(
            new Row(new Object[] {"a", 9}),
            new Row(new Object[] {"a\u0000", -9}),
            new Row(new Object[] {"a\u0000", 5}),
            new Row(new Object[] {"a\u0001", -9}),
            new Row(new Object[] {"ab", Integer.MIN_VALUE}));
    SortKeys keys = SortKeys.of(schema, SortOrder.builderFor(schema).asc("s").asc("n").build());
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, ascending, allocator)) {
      for (int i = 1; i < ascending.size(); i++) {
        assertThat(keys.compare(batch, i - 1, batch, i)).as("row %s", i).isNegative();
      }
    }
  }

  @Test
  void o3NanOfAnyBitsIsLastAndMinusZeroBeforeZero() {
    Schema schema = new Schema(Types.NestedField.required(1, "d", Types.DoubleType.get()));
    SortKeys keys = SortKeys.of(schema, SortOrder.builderFor(schema).asc("d").build());
    List<Row> rows =
        rowsOf(
            Double.NEGATIVE_INFINITY,
            -0d,
            0d,
            Double.POSITIVE_INFINITY,
            Double.longBitsToDouble(0xFFF8000000000001L),
            Double.NaN);
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      for (int i = 1; i < 5; i++) {
        assertThat(keys.compare(batch, i - 1, batch, i)).as("row %s", i).isNegative();
      }
      assertThat(keys.compare(batch, 4, batch, 5)).isZero();
    }
  }

  @Test
  void o1NestedSourceIsNullWhereAStructAboveItIsNull() {
    Schema schema =
        new Schema(
            Types.NestedField.optional(1, "id", Types.LongType.get()),
            Types.NestedField.optional(
                2,
                "outer",
                Types.StructType.of(
                    Types.NestedField.required(3, "skip", Types.StringType.get()),
                    Types.NestedField.required(
                        4,
                        "inner",
                        Types.StructType.of(
                            Types.NestedField.required(5, "leaf", Types.IntegerType.get()))))));
    List<Row> rows = new RandomRows(random).rows(schema, 200);
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      for (NullOrder nulls : NullOrder.values()) {
        Key key =
            new Key(
                "outer.inner.leaf", Expressions.ref("outer.inner.leaf"), SortDirection.DESC, nulls);
        compareAll(schema, rows, batch, key);
      }
    }
  }

  @Test
  void voidOrdersNothing() {
    Schema schema =
        new Schema(
            Types.NestedField.optional(1, "a", Types.LongType.get()),
            Types.NestedField.optional(2, "b", Types.LongType.get()));
    SortOrder order =
        SortOrder.builderFor(schema)
            .asc(Expressions.transform("a", Transforms.alwaysNull()))
            .desc("b")
            .build();
    List<Row> rows = List.of(new Row(new Object[] {1L, 5L}), new Row(new Object[] {2L, 6L}));
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(schema, rows, allocator)) {
      assertThat(SortKeys.of(schema, order).compare(batch, 0, batch, 1)).isPositive();
    }
  }

  @Test
  void o6UnknownTransformIsRefusedByName() {
    Schema schema = new Schema(Types.NestedField.optional(1, "a", Types.LongType.get()));
    String json =
        "{\"order-id\":3,\"fields\":[{\"transform\":\"spiral[4]\",\"source-id\":1,"
            + "\"direction\":\"asc\",\"null-order\":\"nulls-first\"}]}";
    SortOrder order = SortOrderParser.fromJson(schema, json);
    assertThatThrownBy(() -> SortKeys.of(schema, order))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("spiral[4]")
        .hasMessageContaining("a (field 1)");
  }

  @Test
  void o8MissingSourceIsRefusedByName() {
    Schema old =
        new Schema(
            Types.NestedField.optional(1, "a", Types.LongType.get()),
            Types.NestedField.optional(2, "gone", Types.LongType.get()));
    Schema now = new Schema(Types.NestedField.optional(1, "gone", Types.LongType.get()));
    SortOrder order = SortOrder.builderFor(old).asc("gone").build();
    assertThatThrownBy(() -> SortKeys.of(now, order))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("field 2 (gone)");
  }

  @Test
  void o8RenamedSourceIsFoundById() {
    Schema old = new Schema(Types.NestedField.optional(1, "a", Types.LongType.get()));
    Schema now =
        new Schema(
            Types.NestedField.optional(2, "a", Types.LongType.get()),
            Types.NestedField.optional(1, "b", Types.LongType.get()));
    SortKeys keys = SortKeys.of(now, SortOrder.builderFor(old).asc("a").build());
    List<Row> rows = List.of(new Row(new Object[] {1L, 9L}), new Row(new Object[] {2L, 8L}));
    try (VectorSchemaRoot batch = new PhysicalRows(random).batch(now, rows, allocator)) {
      assertThat(keys.compare(batch, 0, batch, 1)).isPositive();
    }
  }

  @Test
  void nullInARequiredSourceIsRefused() {
    Schema optional = new Schema(Types.NestedField.optional(1, "a", Types.LongType.get()));
    Schema required = new Schema(Types.NestedField.required(1, "a", Types.LongType.get()));
    SortKeys keys = SortKeys.of(required, SortOrder.builderFor(required).asc("a").build());
    try (VectorSchemaRoot batch =
        new PhysicalRows(random).batch(optional, rowsOf((Object) null), allocator)) {
      assertThatThrownBy(() -> keys.encode(batch, 0))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("a (field 1)");
    }
  }

  /** As the sorter does it, all rows at once. */
  private byte[][] encode(SortKeys keys, VectorSchemaRoot batch) {
    int[] all = IntStream.range(0, batch.getRowCount()).toArray();
    byte[][] encoded = new byte[all.length][];
    try (KeyBlock block = keys.encode(keys.prepare(batch, all, all.length), allocator)) {
      int end = 0;
      for (int i = 0; i < all.length; i++) {
        int start = end;
        end =
            block.offsets() == null
                ? start + keys.fixedBytes()
                : block.offsets().getInt(4L * i + 4);
        encoded[i] = new byte[end - start];
        block.keys().getBytes(start, encoded[i]);
      }
      assertThat(block.bytes()).isEqualTo(end);
    }
    int any = random.nextInt(all.length);
    assertThat(keys.encode(batch, any)).isEqualTo(encoded[any]);
    return encoded;
  }

  private static List<Row> rowsOf(Object... values) {
    List<Row> rows = new ArrayList<>();
    for (Object value : values) {
      rows.add(new Row(new Object[] {value}));
    }
    return rows;
  }
}
