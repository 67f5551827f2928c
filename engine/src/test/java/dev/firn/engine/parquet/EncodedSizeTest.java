package dev.firn.engine.parquet;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.testdata.Rows;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * No column takes more room than in the file that Iceberg's generic writer, which is parquet-java
 * as Spark has it, makes of the same rows with the same properties. {@code -Dfirn.runs=N} tries as
 * many tables.
 */
class EncodedSizeTest {
  private static final double LARGER_MAX = 1.01;

  /* Where pages end a few rows sooner, there are headers more. */
  private static final long HEADERS_BYTES = 600;

  private static final int ROWS = 30_000;
  private static final int BATCH_ROWS = 7000;
  private static final String ROW_GROUP_BYTES = "write.parquet.row-group-size-bytes";

  @TempDir Path directory;
  private BufferAllocator allocator;

  @BeforeEach
  void open() {
    allocator = new RootAllocator();
  }

  @AfterEach
  void close() {
    allocator.close();
  }

  /** A column: its type, and its value in a row. */
  private record Kind(Type type, BiFunction<Random, Integer, Object> value) {}

  private static Map<String, Kind> kinds(Random dice) {
    Map<String, Kind> kinds = new TreeMap<>();
    Type.PrimitiveType text = Types.StringType.get();
    Type.PrimitiveType number = Types.LongType.get();
    int pool = 3000 + dice.nextInt(40_000);
    kinds.put("text_few", new Kind(text, (random, row) -> "value " + random.nextInt(40)));
    kinds.put("text_pool", new Kind(text, (random, row) -> "customer " + random.nextInt(pool)));
    kinds.put("text_many", new Kind(text, (random, row) -> Long.toHexString(random.nextLong())));
    kinds.put("text_sorted", new Kind(text, (random, row) -> String.format("key-%09d", row / 3)));
    kinds.put("sorted", new Kind(number, (random, row) -> 1_000_000_000_000L + row * 5L));
    kinds.put("sorted_twice", new Kind(number, (random, row) -> 7_000_000_000L + row / 2));
    kinds.put("sorted_often", new Kind(number, (random, row) -> 7_000_000_000L + row / 9 * 77L));
    kinds.put("random", new Kind(number, (random, row) -> random.nextLong()));
    kinds.put("pool", new Kind(number, (random, row) -> random.nextInt(pool) * 7919L));
    kinds.put("cycle", new Kind(number, (random, row) -> row % (pool / 4) * 7919L));
    kinds.put(
        "time",
        new Kind(
            Types.TimestampType.withoutZone(),
            (random, row) ->
                LocalDateTime.of(2024, 1, 1, 0, 0)
                    .plusSeconds(row)
                    .plusNanos(random.nextInt(999) * 1000L)));
    kinds.put(
        "time_seconds",
        new Kind(
            Types.TimestampType.withoutZone(),
            (random, row) -> LocalDateTime.of(2024, 1, 1, 0, 0).plusSeconds(random.nextInt(pool))));
    kinds.put(
        "day",
        new Kind(
            Types.DateType.get(),
            (random, row) -> LocalDate.ofEpochDay(19_000 + random.nextInt(400))));
    kinds.put(
        "count",
        new Kind(
            Types.IntegerType.get(),
            (random, row) -> (int) Math.abs(random.nextGaussian() * pool)));
    kinds.put("double", new Kind(Types.DoubleType.get(), (random, row) -> random.nextDouble()));
    kinds.put(
        "double_cents",
        new Kind(Types.DoubleType.get(), (random, row) -> random.nextInt(pool) / 100D));
    kinds.put(
        "float_walk",
        new Kind(Types.FloatType.get(), (random, row) -> (float) Math.sin(row / 1000D)));
    kinds.put(
        "decimal9",
        new Kind(
            Types.DecimalType.of(9, 2),
            (random, row) -> BigDecimal.valueOf(random.nextInt(99_999), 2)));
    kinds.put(
        "decimal18",
        new Kind(
            Types.DecimalType.of(18, 4),
            (random, row) -> BigDecimal.valueOf(random.nextInt(pool) * 100L, 4)));
    kinds.put(
        "decimal25",
        new Kind(
            Types.DecimalType.of(25, 2),
            (random, row) -> BigDecimal.valueOf(random.nextInt(pool), 2)));
    kinds.put("flag", new Kind(Types.BooleanType.get(), (random, row) -> random.nextInt(9) == 0));
    kinds.put(
        "uuid",
        new Kind(
            Types.UUIDType.get(), (random, row) -> new UUID(random.nextLong(), random.nextLong())));
    kinds.put(
        "bytes",
        new Kind(
            Types.BinaryType.get(),
            (random, row) -> ByteBuffer.wrap(new byte[random.nextInt(20)])));
    return kinds;
  }

  static Stream<Arguments> cases() {
    Long given = Long.getLong("firn.test.seed");
    return IntStream.range(0, Integer.getInteger("firn.runs", 1))
        .boxed()
        .flatMap(
            run ->
                Stream.of(
                        List.of("v1", "auto"),
                        List.of("v2", "auto"),
                        List.of("v1", "parquet-v1"),
                        List.of("v1", "parquet-v2"))
                    .map(
                        of ->
                            Arguments.of(
                                of.get(0),
                                of.get(1),
                                given != null ? given : ThreadLocalRandom.current().nextLong())));
  }

  @ParameterizedTest(name = "{0} {1} {2}")
  @MethodSource("cases")
  void noColumnIsLargerThanByIcebergsWriter(String pages, String encoding, long seed)
      throws IOException {
    Random dice = new Random(seed);
    Map<String, String> properties = new HashMap<>();
    properties.put("write.parquet.page-version", pages);
    pick(
        dice,
        properties,
        "write.parquet.compression-codec",
        List.of("zstd", "zstd", "uncompressed", "snappy", "gzip"));
    pick(dice, properties, "write.parquet.page-row-limit", List.of("3000", "20000"));
    pick(dice, properties, "write.parquet.dict-size-bytes", List.of("30000", "200000", "2097152"));
    pick(dice, properties, ROW_GROUP_BYTES, List.of("1000000", "134217728"));
    int nulls = List.of(0, 1, 50).get(dice.nextInt(3));
    Map<String, Kind> kinds = kinds(dice);
    List<Types.NestedField> fields = new ArrayList<>();
    kinds.forEach((name, kind) -> fields.add(optional(fields.size() + 1, name, kind.type())));
    ParquetFixture fixture = new ParquetFixture(directory);
    Table table = fixture.table(new Schema(fields), properties);
    Rows rows = Rows.of(table.schema());
    for (int row = 0; row < ROWS; row++) {
      int at = row;
      rows.add(
          kinds.values().stream()
              .map(kind -> dice.nextInt(100) < nulls ? null : kind.value().apply(dice, at))
              .toArray());
    }
    String theirs = fixture.reference(table, table.schema(), rows.list()).location();
    List<Integer> rowGroups = new ArrayList<>();
    ParquetFixture.footer(theirs)
        .getBlocks()
        .forEach(block -> rowGroups.add((int) block.getRowCount()));
    table.updateProperties().set(ROW_GROUP_BYTES, "134217728").commit();
    String ours =
        ParquetFixture.path(write(table, rows.list(), rowGroups, PageEncodings.of(encoding)));
    for (int group = 0; group < rowGroups.size(); group++) {
      Map<String, Long> bytes = bytes(ours, group);
      String where =
          "row group " + group + " of " + properties + ", rerun with -Dfirn.test.seed=" + seed;
      bytes(theirs, group)
          .forEach(
              (column, most) ->
                  assertThat(bytes.get(column))
                      .as("%s in %s", column, where)
                      .isLessThanOrEqualTo((long) (most * LARGER_MAX) + HEADERS_BYTES));
    }
  }

  private static void pick(Random dice, Map<String, String> into, String key, List<String> values) {
    into.put(key, values.get(dice.nextInt(values.size())));
  }

  /* Row groups end where the others do: each has dictionaries of its own. */
  private DataFile write(
      Table table, List<Record> rows, List<Integer> rowGroups, PageEncodings encodings)
      throws IOException {
    DataFileOutput.Options options =
        new DataFileOutput.Options(
            table.spec(),
            null,
            new OutputSizes(1L << 40, 0, 1L << 41),
            rows.size(),
            UUID.randomUUID().toString(),
            7,
            encodings);
    try (DataFileOutput output =
        DataFileOutput.create(table, table.schema(), options, Runnable::run, 1)) {
      int from = 0;
      for (int ofGroup : rowGroups) {
        int end = from + ofGroup;
        while (from < end) {
          int to = Math.min(end, from + BATCH_ROWS);
          List<Record> some = rows.subList(from, to);
          long[] live = new long[(some.size() + 63) / 64];
          for (int i = 0; i < some.size(); i++) {
            live[i >>> 6] |= 1L << i;
          }
          try (VectorSchemaRoot batch = Batches.of(table.schema(), some, allocator)) {
            output.append(batch, live, some.size());
          }
          from = to;
        }
        output.endRowGroup();
      }
      return output.finish().get(0);
    }
  }

  /** The bytes of each column in a row group. */
  private static Map<String, Long> bytes(String path, int group) {
    Map<String, Long> bytes = new TreeMap<>();
    for (ColumnChunkMetaData chunk :
        ParquetFixture.footer(path).getBlocks().get(group).getColumns()) {
      bytes.put(chunk.getPath().toDotString(), chunk.getTotalSize());
    }
    return bytes;
  }
}
