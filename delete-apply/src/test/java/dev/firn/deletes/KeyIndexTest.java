package dev.firn.deletes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.LongStream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class KeyIndexTest {
  private static final Types.NestedField LONG = field(1, Types.LongType.get());
  private static final Types.NestedField TEXT = field(2, Types.StringType.get());
  private static final Types.NestedField OTHER_TEXT = field(3, Types.StringType.get());
  private static final SequenceMarks MARKS =
      SequenceMarks.of(List.of(9L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L));

  private final BufferAllocator memory = new RootAllocator();

  @AfterEach
  void nothingLeaks() {
    memory.close();
  }

  private static Types.NestedField field(int id, Type type) {
    return Types.NestedField.optional(id, "c" + id, type);
  }

  private static KeyBatch batch(Types.NestedField... fields) {
    int[] vectors = new int[fields.length];
    Arrays.setAll(vectors, i -> i);
    return new KeyBatch(List.of(fields), vectors);
  }

  private static KeyMemory unlimited() {
    return new KeyMemory(Long.MAX_VALUE / 2);
  }

  private BigIntVector longs(Long... values) {
    BigIntVector vector = new BigIntVector("1", memory);
    vector.allocateNew(values.length);
    for (int i = 0; i < values.length; i++) {
      if (values[i] == null) {
        vector.setNull(i);
      } else {
        vector.set(i, values[i]);
      }
    }
    vector.setValueCount(values.length);
    return vector;
  }

  private VarBinaryVector texts(byte[]... values) {
    VarBinaryVector vector = new VarBinaryVector("2", memory);
    vector.allocateNew();
    for (int i = 0; i < values.length; i++) {
      if (values[i] == null) {
        vector.setNull(i);
      } else {
        vector.setSafe(i, values[i]);
      }
    }
    vector.setValueCount(values.length);
    return vector;
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void add(
      KeyIndex index, KeyBatch keys, long sequenceNumber, FieldVector... vectors) {
    try (VectorSchemaRoot root = VectorSchemaRoot.of(vectors)) {
      keys.attach(root);
      for (int row = 0; row < root.getRowCount(); row += keys.rows()) {
        keys.load(row, root.getRowCount() - row);
        assertThat(index.add(keys, 0, HashSlice.ALL, sequenceNumber)).isEqualTo(keys.rows());
      }
    }
  }

  /** The rows that stay, of rows that are all live. */
  private static List<Integer> survivors(
      KeyIndex index, KeyBatch keys, long sequenceNumber, FieldVector... vectors) {
    try (VectorSchemaRoot root = VectorSchemaRoot.of(vectors)) {
      int rows = root.getRowCount();
      long[] live = new long[(rows + 63) / 64];
      for (int row = 0; row < rows; row++) {
        live[row >> 6] |= 1L << row;
      }
      int cleared = 0;
      keys.attach(root);
      for (int row = 0; row < rows; row += keys.rows()) {
        keys.load(row, rows - row);
        cleared += index.clearDeleted(keys, sequenceNumber, row, live.clone(), live);
      }
      List<Integer> survivors =
          java.util.stream.IntStream.range(0, rows)
              .filter(row -> (live[row >> 6] >>> row & 1) != 0)
              .boxed()
              .toList();
      assertThat(cleared).isEqualTo(rows - survivors.size());
      return survivors;
    }
  }

  @Test
  void d10NullLongMatchesNullOnly() {
    KeyBatch keys = batch(LONG);
    KeyIndex index = KeyIndex.of(List.of(LONG), MARKS, unlimited());
    assertThat(index).isInstanceOf(LongKeyIndex.class);
    add(index, keys, 5, longs(0L));
    assertThat(survivors(index, keys, 4, longs(0L, null, 1L))).containsExactly(1, 2);
    add(index, keys, 5, longs((Long) null));
    assertThat(survivors(index, keys, 4, longs(0L, null, 1L))).containsExactly(2);
    assertThat(survivors(index, keys, 5, longs(0L, null, 1L))).containsExactly(0, 1, 2);
    assertThat(index.size()).isEqualTo(2);
  }

  @Test
  void d1TheHighestSequenceNumberOfAKeyCountsInAnyOrder() {
    KeyBatch keys = batch(LONG, TEXT);
    KeyIndex index = KeyIndex.of(List.of(LONG, TEXT), MARKS, unlimited());
    add(index, keys, 3, longs(1L, 2L), texts(utf8("a"), utf8("b")));
    add(index, keys, 9, longs(1L), texts(utf8("a")));
    add(index, keys, 6, longs(1L, 2L), texts(utf8("a"), utf8("b")));
    assertThat(survivors(index, keys, 8, longs(1L, 2L), texts(utf8("a"), utf8("b"))))
        .containsExactly(1);
    assertThat(survivors(index, keys, 5, longs(1L, 2L), texts(utf8("a"), utf8("b")))).isEmpty();
    assertThat(index.size()).isEqualTo(2);
  }

  @Test
  void d18NanEqualsEveryNanAndZeroDiffersFromMinusZero() {
    Types.NestedField single = field(1, Types.FloatType.get());
    KeyBatch keys = batch(single);
    KeyIndex index = KeyIndex.of(List.of(single), MARKS, unlimited());
    add(index, keys, 5, floats(0.0f, Float.intBitsToFloat(0xFFC0_0001)));
    assertThat(
            survivors(
                index, keys, 1, floats(0.0f, -0.0f, Float.NaN, Float.intBitsToFloat(0x7FC0_0077))))
        .containsExactly(1);

    Types.NestedField twice = field(1, Types.DoubleType.get());
    KeyBatch doubleKeys = batch(twice, TEXT);
    KeyIndex doubles = KeyIndex.of(List.of(twice, TEXT), MARKS, unlimited());
    byte[] text = utf8("t");
    add(doubles, doubleKeys, 5, doubles(-0.0, Double.NaN), texts(text, text));
    assertThat(
            survivors(
                doubles,
                doubleKeys,
                1,
                doubles(0.0, -0.0, Double.longBitsToDouble(0xFFF8_0000_0000_0077L)),
                texts(text, text, text)))
        .containsExactly(0);
  }

  private Float4Vector floats(float... values) {
    Float4Vector vector = new Float4Vector("1", memory);
    vector.allocateNew(values.length);
    for (int i = 0; i < values.length; i++) {
      vector.set(i, values[i]);
    }
    vector.setValueCount(values.length);
    return vector;
  }

  private Float8Vector doubles(double... values) {
    Float8Vector vector = new Float8Vector("1", memory);
    vector.allocateNew(values.length);
    for (int i = 0; i < values.length; i++) {
      vector.set(i, values[i]);
    }
    vector.setValueCount(values.length);
    return vector;
  }

  @Test
  void d20WhereOneTextEndsAndTheNextBeginsIsPartOfTheKey() {
    KeyBatch keys = batch(TEXT, OTHER_TEXT);
    KeyIndex index = KeyIndex.of(List.of(TEXT, OTHER_TEXT), MARKS, unlimited());
    add(
        index,
        keys,
        5,
        texts(utf8("ab"), utf8(""), null, utf8("a\0")),
        texts(utf8("c"), null, utf8(""), utf8("")));
    assertThat(
            survivors(
                index,
                keys,
                1,
                texts(utf8("a"), utf8("ab"), utf8(""), null, utf8(""), null, utf8("a")),
                texts(utf8("bc"), utf8("c"), null, utf8(""), utf8(""), null, utf8("\0"))))
        .containsExactly(0, 4, 5, 6);
  }

  @Test
  void keysLongerThanAChunkAndManyChunks() {
    KeyBatch keys = batch(TEXT);
    KeyMemory limit = unlimited();
    KeyIndex index = KeyIndex.of(List.of(TEXT), MARKS, limit);
    byte[] huge = new byte[3 << 20];
    huge[huge.length - 1] = 1;
    byte[] nearly = huge.clone();
    nearly[huge.length - 1] = 2;
    for (int i = 0; i < 40; i++) {
      byte[] large = new byte[100_000 + i];
      add(index, keys, 5, texts(utf8("k" + i), large, i == 20 ? huge : utf8("k" + i)));
    }
    assertThat(index.size()).isEqualTo(81);
    assertThat(limit.bytesHeld()).isBetween(7_000_000L, 10_000_000L);
    assertThat(
            survivors(
                index,
                keys,
                1,
                texts(
                    huge, nearly, new byte[100_039], new byte[100_040], utf8("k39"), utf8("k40"))))
        .containsExactly(1, 3, 5);
  }

  @Test
  void vectorsWithoutAValidityBufferHaveNoNulls() {
    KeyBatch keys = batch(LONG);
    KeyIndex index = KeyIndex.of(List.of(LONG), MARKS, unlimited());
    add(index, keys, 5, longs(2L));
    BigIntVector vector = new BigIntVector("1", memory);
    try (ArrowBuf values = memory.buffer(24)) {
      values.setLong(0, 1);
      values.setLong(8, 2);
      values.setLong(16, 3);
      values.writerIndex(24);
      vector.loadFieldBuffers(new ArrowFieldNode(3, 0), Arrays.asList(memory.getEmpty(), values));
    }
    assertThat(survivors(index, keys, 1, vector)).containsExactly(0, 2);
  }

  @Test
  void offsetsNeedNotBeginAtZero() {
    KeyBatch keys = batch(TEXT);
    KeyIndex index = KeyIndex.of(List.of(TEXT), MARKS, unlimited());
    add(index, keys, 5, texts(utf8("bb")));
    VarBinaryVector vector = new VarBinaryVector("2", memory);
    try (ArrowBuf offsets = memory.buffer(12);
        ArrowBuf bytes = memory.buffer(16)) {
      offsets.setInt(0, 3);
      offsets.setInt(4, 5);
      offsets.setInt(8, 6);
      offsets.writerIndex(12);
      bytes.setBytes(0, utf8("xxxbbc"));
      bytes.writerIndex(6);
      try (ArrowBuf validity = memory.buffer(8)) {
        validity.setLong(0, 3);
        validity.writerIndex(8);
        vector.loadFieldBuffers(new ArrowFieldNode(2, 0), Arrays.asList(validity, offsets, bytes));
      }
    }
    assertThat(survivors(index, keys, 1, vector)).containsExactly(1);
  }

  @Test
  void aVectorOfAnotherTypeIsRefused() {
    KeyBatch keys = batch(LONG);
    IntVector ints = new IntVector("1", memory);
    ints.allocateNew(1);
    ints.setValueCount(1);
    try (VectorSchemaRoot root = VectorSchemaRoot.of(ints)) {
      assertThatThrownBy(() -> keys.attach(root)).isInstanceOf(IllegalStateException.class);
    }
  }

  @Test
  void randomKeysAgreeWithAMap() {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    SplittableRandom random = new SplittableRandom(seed);
    for (boolean inline : new boolean[] {true, false}) {
      List<Types.NestedField> fields = inline ? List.of(LONG) : List.of(LONG, TEXT);
      KeyBatch keys = batch(fields.toArray(new Types.NestedField[0]));
      KeyMemory limit = unlimited();
      KeyIndex index = KeyIndex.of(fields, MARKS, limit);
      Map<List<Object>, Long> model = new HashMap<>();
      for (int round = 0; round < 12; round++) {
        long sequenceNumber = random.nextInt(1, 10);
        Long[] numbers = numbers(random);
        byte[][] texts = textsFor(numbers, random);
        for (int i = 0; i < numbers.length; i++) {
          model.merge(key(inline, numbers[i], texts[i]), sequenceNumber, Math::max);
        }
        add(index, keys, sequenceNumber, vectors(inline, numbers, texts));
      }
      assertThat(index.size()).as("rerun with -Dfirn.test.seed=" + seed).isEqualTo(model.size());
      Long[] numbers = numbers(random);
      byte[][] texts = textsFor(numbers, random);
      long sequenceNumber = random.nextInt(1, 10);
      List<Integer> expected =
          java.util.stream.IntStream.range(0, numbers.length)
              .filter(
                  i -> model.getOrDefault(key(inline, numbers[i], texts[i]), 0L) <= sequenceNumber)
              .boxed()
              .toList();
      assertThat(survivors(index, keys, sequenceNumber, vectors(inline, numbers, texts)))
          .as("rerun with -Dfirn.test.seed=" + seed)
          .isEqualTo(expected);
    }
  }

  @Test
  void d10ZeroIsAKeyLikeAnyOther() {
    KeyBatch keys = batch(LONG);
    KeyIndex index = KeyIndex.of(List.of(LONG), MARKS, unlimited());
    add(index, keys, 5, longs(1L));
    assertThat(survivors(index, keys, 1, longs(0L, 1L))).containsExactly(0);
    add(index, keys, 5, longs(0L, 0L));
    assertThat(index.size()).isEqualTo(2);
    assertThat(survivors(index, keys, 5, longs(0L, 1L))).containsExactly(0, 1);
    assertThat(index.unmatched()).as("1 has had a row").isEqualTo(1);
    assertThat(survivors(index, keys, 1, longs(0L, null, 2L))).containsExactly(1, 2);
    assertThat(index.unmatched()).isZero();
  }

  /** So many keys that there are segments; sequence numbers that take one, two and four bytes. */
  @Test
  void d1ManyKeysKeepTheirSequenceNumbersWhenTheyAreNarrowedToSlices() {
    int count = 200_000;
    for (int sequenceNumbers : new int[] {5, 300, 40_000}) {
      for (boolean inline : new boolean[] {true, false}) {
        List<Types.NestedField> fields = inline ? List.of(LONG) : List.of(LONG, TEXT);
        KeyBatch keys = batch(fields.toArray(new Types.NestedField[0]));
        KeyMemory limit = unlimited();
        SequenceMarks marks =
            SequenceMarks.of(LongStream.rangeClosed(1, sequenceNumbers).boxed().toList());
        KeyIndex index = KeyIndex.of(fields, marks, limit);
        // Keys of even numbers with the last sequence number, of odd ones with the one before.
        for (int parity = 0; parity < 2; parity++) {
          int odd = parity;
          Long[] numbers =
              LongStream.range(0, count / 2).mapToObj(i -> 2 * i + odd).toArray(Long[]::new);
          add(index, keys, 1, vectors(inline, numbers, sameTexts(numbers)));
          add(index, keys, sequenceNumbers - odd, vectors(inline, numbers, sameTexts(numbers)));
        }
        assertThat(index.size()).isEqualTo(count);
        double bytes = (double) limit.bytesHeld() / count;
        assertThat(bytes)
            .as("bytes of a key")
            .isLessThan(inline ? 2 + 1.5 * (8 + marks.bytes()) : 55);

        Long[] all = LongStream.range(-count, 2 * count).boxed().toArray(Long[]::new);
        byte[][] texts = sameTexts(all);
        assertThat(survivors(index, keys, sequenceNumbers - 1, vectors(inline, all, texts)))
            .hasSize(3 * count - count / 2);
        assertThat(index.unmatched()).isEqualTo(count / 2);
        HashSlice slice = HashSlice.ALL;
        long before = count;
        for (int narrowed = 0; narrowed < 3; narrowed++) {
          slice = slice.withWidth(slice.width() / 3);
          assertThat(index.narrowTo(slice)).isTrue();
          assertThat(index.size()).isBetween(before / 4, before / 2);
          before = index.size();
          assertThat(survivors(index, keys, 0, vectors(inline, all, texts)))
              .isEqualTo(outside(slice, keys, count, vectors(inline, all, texts)));
          assertThat(survivors(index, keys, sequenceNumbers, vectors(inline, all, texts)))
              .hasSize(all.length);
        }
        assertThat(index.unmatched()).isZero();
        assertThat(limit.bytesHeld()).isLessThan((long) (bytes * count / 10));
        index.release();
        assertThat(limit.bytesHeld()).isZero();
      }
    }
  }

  private static byte[][] sameTexts(Long[] numbers) {
    return Arrays.stream(numbers).map(number -> utf8("t" + number)).toArray(byte[][]::new);
  }

  /** The rows that are not keys or whose keys are not in the slice. */
  private static List<Integer> outside(
      HashSlice slice, KeyBatch keys, int count, FieldVector... vectors) {
    List<Integer> outside = new ArrayList<>();
    try (VectorSchemaRoot root = VectorSchemaRoot.of(vectors)) {
      keys.attach(root);
      for (int row = 0; row < root.getRowCount(); row += keys.rows()) {
        keys.load(row, root.getRowCount() - row);
        for (int i = 0; i < keys.rows(); i++) {
          int number = row + i - count;
          if (number < 0 || number >= count || !slice.holds(keys.hashes()[i])) {
            outside.add(row + i);
          }
        }
      }
    }
    return outside;
  }

  private FieldVector[] vectors(boolean inline, Long[] numbers, byte[][] texts) {
    return inline
        ? new FieldVector[] {longs(numbers)}
        : new FieldVector[] {longs(numbers), texts(texts)};
  }

  private static Long[] numbers(SplittableRandom random) {
    Long[] numbers = new Long[random.nextInt(1, 9000)];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = random.nextInt(50) == 0 ? null : (Long) (long) random.nextInt(-20_000, 20_000);
    }
    return numbers;
  }

  private static byte[][] textsFor(Long[] numbers, SplittableRandom random) {
    byte[][] texts = new byte[numbers.length][];
    for (int i = 0; i < texts.length; i++) {
      texts[i] =
          random.nextInt(50) == 0 ? null : utf8("t" + (numbers[i] == null ? "" : numbers[i] / 3));
    }
    return texts;
  }

  private static List<Object> key(boolean inline, Long number, byte[] text) {
    return inline
        ? Arrays.asList(number)
        : Arrays.asList(number, text == null ? null : new String(text, StandardCharsets.UTF_8));
  }
}
