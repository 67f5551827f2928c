package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.engine.Layout.CurveInput;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.ZOrderByteUtils;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Rows on space-filling curves. */
class CurveTest {
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.optional(1, "a", Types.LongType.get()),
          Types.NestedField.optional(2, "b", Types.StringType.get()),
          Types.NestedField.optional(3, "c", Types.IntegerType.get()));

  /** Nulls first ascending, last descending. */
  private static final Comparator<Record> BY_B_THEN_A =
      Comparator.comparing(
              (Record row) -> (String) row.getField("b"),
              Comparator.nullsFirst(Comparator.naturalOrder()))
          .thenComparing(
              row -> (Long) row.getField("a"), Comparator.nullsLast(Comparator.reverseOrder()));

  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
  }

  private int tables;

  private Table table(int rowCount) {
    Table table =
        TableBuilder.at(directory.resolve("table" + tables++))
            .schema(SCHEMA)
            .formatVersion(3)
            .partitionBy(spec -> spec.identity("c"))
            .create();
    Random random = new Random(5);
    Rows rows = Rows.of(SCHEMA);
    for (int i = 0; i < rowCount; i++) {
      long skewed = (long) Math.pow(2, random.nextInt(30)) + random.nextInt(3);
      String text = random.nextInt(20) == 0 ? null : "customer-" + random.nextInt(1000);
      rows.add(i % 50 == 0 ? null : skewed, text, i % 2);
    }
    TableFiles files = TableFiles.of(table);
    int quarter = rowCount / 4;
    for (int i = 0; i < 4; i++) {
      List<Record> some = rows.list().subList(i * quarter, (i + 1) * quarter);
      files.append(files.dataByPartition(some).toArray(DataFile[]::new));
    }
    DataFile first = TableRows.dataFiles(table, table.currentSnapshot()).get(0);
    files.deletePositions(java.util.Map.of(first, new long[] {0, 3}));
    table.refresh();
    return table;
  }

  private static List<DataFile> files(Table table) {
    return TableRows.dataFiles(table, table.currentSnapshot());
  }

  private static byte[] zValue(Record row, int contribution, int outputSize) {
    ByteBuffer reused = ByteBuffer.allocate(8);
    Long number = (Long) row.getField("a");
    byte[] a =
        number == null ? new byte[8] : ZOrderByteUtils.longToOrderedBytes(number, reused).array();
    ByteBuffer text = ByteBuffer.allocate(contribution);
    byte[] b =
        ZOrderByteUtils.stringToOrderedBytes(
                (String) row.getField("b"),
                contribution,
                text,
                java.nio.charset.StandardCharsets.UTF_8.newEncoder())
            .array();
    int size = Math.min(outputSize, 8 + contribution);
    return ZOrderByteUtils.interleaveBits(
        new byte[][] {a.clone(), b.clone()}, size, ByteBuffer.allocate(size));
  }

  @Test
  void o12RowsAreInTheOrderOfIcebergsOwnZValuesAndNoOrderIsClaimed() throws IOException {
    for (int[] options : new int[][] {{8, Integer.MAX_VALUE}, {16, Integer.MAX_VALUE}, {12, 9}}) {
      Table table = table(400);
      List<String> rows = TableRows.live(table);
      Runs.of(
          table,
          Runs.all(scratch)
              .layout(new Layout.ZOrder(List.of("a", "c", "b"), CurveInput.BYTES))
              .option("var-length-contribution", String.valueOf(options[0]))
              .option("max-output-size", String.valueOf(options[1]))
              .option("verify", "true"));
      assertThat(TableRows.live(table)).isEqualTo(rows);
      assertThat(files(table)).hasSize(2).allMatch(file -> file.sortOrderId() == 0);
      for (DataFile file : files(table)) {
        List<byte[]> values =
            TableRows.inFile(table, file).stream()
                .map(row -> zValue(row, options[0], options[1]))
                .toList();
        assertThat(values).isSortedAccordingTo(Arrays::compareUnsigned);
        assertThat(values.stream().map(Arrays::toString).distinct().count()).isGreaterThan(3);
      }
    }
  }

  static List<Arguments> rankCurves() {
    return List.of(
        Arguments.of(new Layout.ZOrder(List.of("a", "b"), CurveInput.RANK)),
        Arguments.of(new Layout.Hilbert(List.of("a", "b"))),
        Arguments.of(new Layout.Hilbert(List.of("b"))));
  }

  @ParameterizedTest
  @MethodSource("rankCurves")
  void curvesOverRanksKeepTheRowsAndServeEachColumn(Layout layout) throws IOException {
    Table table = table(8000);
    List<String> rows = TableRows.live(table);
    String small = "4000";
    Runs.of(
        table, Runs.all(scratch).option("target-file-size-bytes", small).option("splice", "false"));
    int unsortedA = opened(table, "a");
    int unsortedB = opened(table, "b");
    Runs.of(table, Runs.all(scratch).layout(layout).option("target-file-size-bytes", small));
    assertThat(TableRows.live(table)).isEqualTo(rows);
    assertThat(files(table)).hasSizeGreaterThan(8).allMatch(file -> file.sortOrderId() == 0);
    assertThat(opened(table, "b")).as("files that lookups open").isLessThan(unsortedB * 4 / 5);
    if (!layout.equals(new Layout.Hilbert(List.of("b")))) {
      assertThat(opened(table, "a")).as("files that lookups open").isLessThan(unsortedA * 4 / 5);
    }
  }

  /** How many files lookups by a column open in all. */
  private static int opened(Table table, String column) {
    List<Expression> lookups = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      lookups.add(Expressions.equal(column, column.equals("a") ? 1L << i : "customer-" + i * 31));
    }
    int opened = 0;
    for (Expression lookup : lookups) {
      try (var tasks = table.newScan().filter(lookup).planFiles()) {
        for (var ignored : tasks) {
          opened++;
        }
      } catch (IOException e) {
        throw new java.io.UncheckedIOException(e);
      }
    }
    return opened;
  }

  @Test
  void columnsThatCannotBeClusteredByAreRefusedBeforeAnyWork() {
    Table table = table(40);
    TableBefore before = TableBefore.of(table);
    assertThatThrownBy(() -> run(table, new Layout.ZOrder(List.of("c"), CurveInput.BYTES)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("[c]", "one value in each partition");
    assertThatThrownBy(() -> run(table, new Layout.Hilbert(List.of("a", "nope"))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("nope");
    assertThatThrownBy(
            () ->
                Runs.all(scratch)
                    .layout(new Layout.Hilbert(List.of("a")))
                    .option("var-length-contribution", "8")
                    .build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("var-length-contribution", "z-order");
    assertThat(before.paths()).isEqualTo(TableBefore.paths(table));
  }

  private void run(Table table, Layout layout) {
    new Compaction(table, Runs.all(scratch).layout(layout).build(), CompactionListener.NONE).run();
  }

  @Test
  void o11AGroupLargerThanGroupsAreToBeIsSortedInRangesThatDoNotOverlap() throws IOException {
    Table table = table(8000);
    List<String> rows = TableRows.live(table);
    long bytes = files(table).stream().mapToLong(DataFile::fileSizeInBytes).max().orElseThrow();
    table.replaceSortOrder().asc("b").desc("a").commit();
    table.refresh();
    Runs.of(
        table,
        Runs.all(scratch)
            .layout(new Layout.TableOrder())
            .option("target-file-size-bytes", "4000")
            .option("max-file-group-size-bytes", String.valueOf(bytes / 3))
            .option("verify", "true"));
    assertThat(TableRows.live(table)).isEqualTo(rows);
    assertThat(files(table)).allMatch(file -> file.sortOrderId() == table.sortOrder().orderId());
    // Sorted and joined by their first rows, the files of a partition are one sorted sequence.
    for (int part = 0; part < 2; part++) {
      int partition = part;
      List<List<Record>> rowsOf = new ArrayList<>();
      for (DataFile file : files(table)) {
        SortedTruth.checkFile(table, table.sortOrder(), file);
        if (file.partition().get(0, Integer.class) == partition) {
          rowsOf.add(TableRows.inFile(table, file));
        }
      }
      assertThat(rowsOf).hasSizeGreaterThan(3);
      rowsOf.sort((x, y) -> BY_B_THEN_A.compare(x.get(0), y.get(0)));
      assertThat(rowsOf.stream().flatMap(List::stream)).isSortedAccordingTo(BY_B_THEN_A);
    }
  }
}
