package dev.firn.engine.verify;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.engine.parquet.PhysicalLayout;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.apache.parquet.column.values.bloomfilter.XxHash;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RowHasherTest {
  private final BufferAllocator allocator = new RootAllocator();

  @AfterEach
  void closeAllocator() {
    allocator.close();
  }

  // ---- the hash

  @Test
  void theHashIsXxHash64() {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    Random random = new Random(seed);
    XxHash other = new XxHash();
    try (ArrowBuf memory = allocator.buffer(300)) {
      assertThat(hash(memory, 0, 0)).isEqualTo(0xEF46DB3751D8E999L);
      memory.setBytes(0, "abc".getBytes(StandardCharsets.UTF_8));
      assertThat(hash(memory, 3, 0)).isEqualTo(0x44BC2CF5AD770999L);
      for (int length = 0; length < 300; length++) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        memory.setBytes(0, bytes);
        assertThat(hash(memory, length, 0))
            .as("%d bytes, rerun with -Dfirn.test.seed=%d", length, seed)
            .isEqualTo(other.hashBytes(bytes));
        if (length == 8) {
          assertThat(XxHash64.ofLong(memory.getLong(0), 7)).isEqualTo(hash(memory, 8, 7));
        }
      }
      assertThat(other.hashByteBuffer(ByteBuffer.allocate(0))).isEqualTo(0xEF46DB3751D8E999L);
    }
  }

  /** The hash with one seed, which must not depend on which of the two it is. */
  private static long hash(ArrowBuf memory, int length, long seed) {
    long[] hashes = new long[2];
    XxHash64.ofBytes(memory.memoryAddress(), length, seed, ~seed, hashes);
    long first = hashes[0];
    XxHash64.ofBytes(memory.memoryAddress(), length, ~seed, seed, hashes);
    assertThat(hashes[1]).isEqualTo(first).isNotEqualTo(hashes[0]);
    return first;
  }

  // ---- values that are nearly the same

  private RowDigest digest(Schema schema, VectorSchemaRoot batch, int... rows) {
    return digest(new RowHasher(schema, Set.of()), batch, rows);
  }

  private RowDigest digest(RowHasher hasher, VectorSchemaRoot batch, int... rows) {
    RowDigest digest = new RowDigest(hasher.columnNames().size());
    long[] live = new long[(batch.getRowCount() + 63) / 64];
    for (int row : rows) {
      live[row >>> 6] |= 1L << row;
    }
    if (rows.length > 0) {
      hasher.hash(batch, live, rows.length, digest);
    }
    return digest;
  }

  private VectorSchemaRoot batch(Schema schema, int rows) {
    VectorSchemaRoot batch = VectorSchemaRoot.create(PhysicalLayout.of(schema), allocator);
    for (FieldVector vector : batch.getFieldVectors()) {
      vector.setInitialCapacity(rows);
      vector.allocateNew();
    }
    return batch;
  }

  @Test
  void floatsAreToldApartByTheirBits() {
    Schema schema =
        new Schema(
            optional(1, "f", Types.FloatType.get()), optional(2, "d", Types.DoubleType.get()));
    int[] floats = {0, 0x80000000, 0x7FC00000, 0x7FC00001, 0xFFC00000, 0x7F800001, 0x7F800000};
    long[] doubles = {
      0,
      Long.MIN_VALUE,
      0x7FF8000000000000L,
      0x7FF8000000000001L,
      0xFFF8000000000000L,
      0x7FF0000000000001L,
      0x7FF0000000000000L
    };
    try (VectorSchemaRoot batch = batch(schema, floats.length)) {
      Float4Vector f = (Float4Vector) batch.getVector(0);
      Float8Vector d = (Float8Vector) batch.getVector(1);
      for (int row = 0; row < floats.length; row++) {
        f.setSafe(row, 0f);
        d.setSafe(row, 0d);
        f.getDataBuffer().setInt(4L * row, floats[row]);
        d.getDataBuffer().setLong(8L * row, doubles[row]);
      }
      batch.setRowCount(floats.length);
      for (int one = 0; one < floats.length; one++) {
        for (int other = 0; other < floats.length; other++) {
          RowDigest first = digest(schema, batch, one);
          RowDigest second = digest(schema, batch, other);
          assertThat(first.sameAs(second)).as("%d and %d", one, other).isEqualTo(one == other);
          assertThat(first.differingColumns(second).cardinality()).isEqualTo(one == other ? 0 : 2);
          RowHasher oneNan = new RowHasher(schema, Set.of(1, 2));
          assertThat(digest(oneNan, batch, one).sameAs(digest(oneNan, batch, other)))
              .as("%d and %d where one NaN is as good as another", one, other)
              .isEqualTo(one == other || isNan(floats[one]) && isNan(floats[other]));
        }
      }
    }
  }

  private static boolean isNan(int bits) {
    return Float.isNaN(Float.intBitsToFloat(bits));
  }

  private static final Schema LISTS =
      new Schema(
          optional(
              1,
              "lists",
              Types.ListType.ofOptional(2, Types.ListType.ofOptional(3, Types.StringType.get()))));

  private VectorSchemaRoot lists(List<@Nullable List<@Nullable List<@Nullable String>>> rows) {
    VectorSchemaRoot batch = batch(LISTS, rows.size());
    ListVector outer = (ListVector) batch.getVector(0);
    ListVector inner = (ListVector) outer.getDataVector();
    VarBinaryVector texts = (VarBinaryVector) inner.getDataVector();
    int lists = 0;
    int elements = 0;
    for (int row = 0; row < rows.size(); row++) {
      List<@Nullable List<@Nullable String>> value = rows.get(row);
      if (value == null) {
        outer.setNull(row);
        continue;
      }
      outer.startNewValue(row);
      for (List<@Nullable String> list : value) {
        if (list == null) {
          inner.setNull(lists++);
          continue;
        }
        inner.startNewValue(lists);
        for (String text : list) {
          if (text == null) {
            texts.setNull(elements++);
          } else {
            texts.setSafe(elements++, text.getBytes(StandardCharsets.UTF_8));
          }
        }
        inner.endValue(lists++, list.size());
      }
      outer.endValue(row, value.size());
    }
    texts.setValueCount(elements);
    inner.setValueCount(lists);
    outer.setValueCount(rows.size());
    batch.setRowCount(rows.size());
    return batch;
  }

  @Test
  void listsAreToldApartByTheirShape() {
    List<@Nullable List<@Nullable List<@Nullable String>>> rows =
        Arrays.asList(
            null,
            List.of(),
            Arrays.asList((List<String>) null),
            List.of(List.of()),
            List.of(List.of(""), List.of()),
            List.of(List.of(), List.of("")),
            List.of(List.of("")),
            List.of(Arrays.asList((String) null)),
            List.of(List.of("a", "b")),
            List.of(List.of("b", "a")),
            List.of(List.of("ab")),
            List.of(List.of("a"), List.of("b")),
            List.of(List.of("b"), List.of("a")),
            List.of(List.of("a", "b"), List.of()),
            List.of(List.of("a"), List.of(), List.of("b")));
    try (VectorSchemaRoot batch = lists(rows)) {
      for (int one = 0; one < rows.size(); one++) {
        for (int other = 0; other < rows.size(); other++) {
          assertThat(digest(LISTS, batch, one).sameAs(digest(LISTS, batch, other)))
              .as("%s and %s", rows.get(one), rows.get(other))
              .isEqualTo(one == other);
        }
      }
    }
  }

  @Test
  void longListsAreHashedAsOne() {
    String[] texts = new String[200_000];
    Arrays.setAll(texts, i -> Integer.toString(i));
    List<String> list = Arrays.asList(texts);
    List<String> swapped = Arrays.asList(texts.clone());
    java.util.Collections.swap(swapped, 3, 150_000);
    try (VectorSchemaRoot batch =
        lists(List.of(List.of(list), List.of(swapped), List.of(list), List.of(List.of())))) {
      assertThat(digest(LISTS, batch, 0).sameAs(digest(LISTS, batch, 2))).isTrue();
      assertThat(digest(LISTS, batch, 0).sameAs(digest(LISTS, batch, 1))).isFalse();
      assertThat(digest(LISTS, batch, 0, 1, 3).sameAs(digest(LISTS, batch, 1, 2, 3))).isTrue();
    }
  }

  // ---- rows

  private static final Schema TWO =
      new Schema(optional(1, "a", Types.LongType.get()), optional(2, "b", Types.LongType.get()));

  private VectorSchemaRoot two(long... values) {
    VectorSchemaRoot batch = batch(TWO, values.length / 2);
    for (int i = 0; i < values.length; i++) {
      ((BigIntVector) batch.getVector(i % 2)).setSafe(i / 2, values[i]);
    }
    batch.setRowCount(values.length / 2);
    return batch;
  }

  @Test
  void theOrderOfRowsDoesNotMatterButWhichValuesStandTogetherDoes() {
    try (VectorSchemaRoot batch = two(1, 10, 2, 20, 3, 30, 1, 20, 2, 10, 10, 1)) {
      RowDigest sum = digest(TWO, batch, 0);
      sum.add(digest(TWO, batch, 2));
      sum.add(digest(TWO, batch, 1));
      assertThat(sum.sameAs(digest(TWO, batch, 0, 1, 2))).isTrue();
      assertThat(sum.rows()).isEqualTo(3);
      RowDigest swapped = digest(TWO, batch, 2, 3, 4);
      assertThat(sum.sameAs(swapped)).isFalse();
      assertThat(sum.differingColumns(swapped).isEmpty()).isTrue();
      assertThat(digest(TWO, batch, 0).sameAs(digest(TWO, batch, 5)))
          .as("the same values in each other's columns")
          .isFalse();
      assertThat(digest(TWO, batch).sameAs(digest(TWO, batch, 0))).isFalse();
    }
  }

  @Test
  void theColumnWhoseValuesChangedPlacesIsTheOneWithoutWhichRowsStay() {
    try (VectorSchemaRoot batch = two(1, 10, 2, 20, 1, 20, 2, 10)) {
      RowHasher hasher = new RowHasher(TWO, Set.of());
      long[] before = new long[2];
      long[] after = new long[2];
      RowDigest digest = new RowDigest(2);
      hasher.hashWithout(batch, new long[] {0b0011}, 2, digest, before);
      RowDigest same = digest(TWO, batch, 0, 1);
      assertThat(digest.sameAs(same)).isTrue();
      long first = hasher.rowHash(0);
      hasher.hashWithout(batch, new long[] {0b1100}, 2, new RowDigest(2), after);
      assertThat(hasher.row(0)).isEqualTo(2);
      assertThat(hasher.rowHash(0)).isNotEqualTo(first);
      // Of two rows in two columns it cannot be said which column was changed.
      assertThat(before).isEqualTo(after);
    }
    try (VectorSchemaRoot batch = two(1, 10, 2, 20, 3, 30, 1, 20, 2, 30, 3, 10)) {
      RowHasher hasher = new RowHasher(TWO, Set.of());
      long[] before = new long[2];
      hasher.hashWithout(batch, new long[] {0b000111}, 3, new RowDigest(2), before);
      long[] after = new long[2];
      hasher.hashWithout(batch, new long[] {0b111000}, 3, new RowDigest(2), after);
      assertThat(before).isEqualTo(after);
    }
  }
}
