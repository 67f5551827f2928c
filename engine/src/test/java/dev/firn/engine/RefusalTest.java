package dev.firn.engine;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.engine.CompactionReport.FailureKind;
import dev.firn.engine.parquet.UnsupportedTableException;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.types.EdgeAlgorithm;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What Firn does not do is refused by name before any work, and nothing is left behind. */
class RefusalTest {
  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws IOException {
    scratch = Files.createDirectory(directory.resolve("scratch"));
  }

  private CompactionSettings.Builder settings() {
    return CompactionSettings.builder()
        .option("rewrite-all", "true")
        .memoryBytes(512L << 20)
        .scratch(scratch)
        .threads(1);
  }

  /** Plan and run refuse alike; the run has touched nothing. */
  private void refused(
      Table table,
      CompactionSettings settings,
      Class<? extends Exception> type,
      int exitCode,
      String... words)
      throws IOException {
    TableBefore before = TableBefore.of(table);
    int snapshots = List.copyOf(table.history()).size();
    List<RewriteFileGroup> rewritten = new ArrayList<>();
    CompactionListener listener =
        new CompactionListener() {
          @Override
          public void rewritten(RewriteFileGroup group) {
            rewritten.add(group);
          }
        };
    assertThatThrownBy(() -> new Compaction(table, settings, listener).plan())
        .isInstanceOf(type)
        .hasMessageContainingAll(words);
    assertThatThrownBy(() -> new Compaction(table, settings, listener).run())
        .isInstanceOf(type)
        .hasMessageContainingAll(words)
        .satisfies(e -> assertThat(FailureKind.of(e).exitCode()).isEqualTo(exitCode));
    assertThat(rewritten).isEmpty();
    table.refresh();
    assertThat(table.history()).hasSize(snapshots);
    before.checkFiles(table, "a refusal");
    assertThat(before.paths()).isEqualTo(TableBefore.paths(table));
    assertThat(scratch).isEmptyDirectory();
  }

  private void unsupported(Table table, String... words) throws IOException {
    refused(table, settings().build(), UnsupportedTableException.class, 6, words);
  }

  /** IllegalArgumentException: the caller's mistake, exit code 2 of a command. */
  private void wrong(Table table, CompactionSettings.Builder settings, String... words)
      throws IOException {
    refused(table, settings.build(), IllegalArgumentException.class, 1, words);
  }

  // ---- tables

  @Test
  void n10FormatVersion4() throws IOException {
    Table table =
        TableBuilder.at(directory.resolve("t")).schema(SmallTable.SCHEMA).formatVersion(4).create();
    TableFiles.of(table).append(SmallTable.rows(0, 3, "eu"));
    unsupported(table, "format version 4", "local.t");
  }

  static Stream<Arguments> types() {
    Map<String, Type> types = new LinkedHashMap<>();
    types.put("variant", Types.VariantType.get());
    types.put("geometry", Types.GeometryType.crs84());
    types.put("geography", Types.GeographyType.of("srid:4326", EdgeAlgorithm.SPHERICAL));
    types.put("unknown", Types.UnknownType.get());
    return types.entrySet().stream()
        .flatMap(
            type ->
                Stream.of(
                    Arguments.of(type.getKey(), "odd", type.getValue()),
                    Arguments.of(
                        type.getKey(),
                        "odd.inner",
                        Types.StructType.of(optional(10, "inner", type.getValue()))),
                    Arguments.of(
                        type.getKey(),
                        "odd.element",
                        Types.ListType.ofOptional(11, type.getValue())),
                    Arguments.of(
                        type.getKey(),
                        "odd.value",
                        Types.MapType.ofOptional(12, 13, Types.StringType.get(), type.getValue()))))
        // a column of type unknown is not written, which does for none below the top
        .filter(arguments -> !arguments.get()[1].equals("odd") || arguments.get()[0] != "unknown");
  }

  @ParameterizedTest
  @MethodSource("types")
  void s12s13s14TypesThatAreNotDone(String name, String path, Type type) throws IOException {
    Schema schema = new Schema(required(1, "id", Types.LongType.get()), optional(2, "odd", type));
    Table table = TableBuilder.at(directory.resolve("t")).schema(schema).formatVersion(3).create();
    table.newAppend().commit();
    unsupported(table, path, name);
  }

  private Table ofUnknown(Types.NestedField... columns) {
    Table table = TableBuilder.at(directory.resolve("t")).schema(columns).formatVersion(3).create();
    table.newAppend().commit();
    table.refresh();
    return table;
  }

  @Test
  void s12TablesThatHaveNothingToWriteButUnknownColumns() throws IOException {
    Table table = ofUnknown(optional(1, "u", Types.UnknownType.get()));
    unsupported(table, "column u", "unknown");
  }

  @Test
  void s12PartitionsOfAnUnknownColumn() throws IOException {
    Table table =
        ofUnknown(
            required(1, "id", Types.LongType.get()), optional(2, "u", Types.UnknownType.get()));
    TableFiles.of(table).append(Rows.of(table.schema()).add(1L, null).list());
    table.updateSpec().addField("u").commit();
    unsupported(table, "partition field u", "unknown");
  }

  @Test
  void s12OrdersByAnUnknownColumn() throws IOException {
    Table table =
        ofUnknown(
            required(1, "id", Types.LongType.get()), optional(2, "u", Types.UnknownType.get()));
    SortOrder order = SortOrder.builderFor(table.schema()).asc("id").asc("u").build();
    refused(
        table,
        settings().layout(new Layout.Sorted(order)).build(),
        UnsupportedTableException.class,
        6,
        "column u",
        "unknown");
  }

  @ParameterizedTest
  @CsvSource({
    "encryption.key-id, key-1, encrypted",
    "write.format.default, orc, write.format.default is orc.*allow-format-change",
    "write.format.default, avro, write.format.default is avro.*allow-format-change",
    "write.parquet.compression-codec, lzo, lzo"
  })
  void m11m13m16PropertiesThatAreNotDone(String key, String value, String word) throws IOException {
    Table table = SmallTable.withDeletes(directory.resolve("t"), 2);
    table.updateProperties().set(key, value).commit();
    unsupported(table, word.split("\\.\\*"));
  }

  @ParameterizedTest
  @CsvSource({
    "write.parquet.compression-codec, none-such",
    "write.parquet.page-size-bytes, 0",
    "write.parquet.page-version, v9",
    "write.parquet.row-group-check-min-record-count, 1000000"
  })
  void m11PropertiesThatCannotBe(String key, String value) throws IOException {
    Table table = SmallTable.withDeletes(directory.resolve("t"), 2);
    table.updateProperties().set(key, value).commit();
    wrong(table, settings(), key.endsWith("min-record-count") ? "record-count" : key);
  }

  @Test
  void p5UnknownTransform() throws IOException {
    Table table = SmallTable.withDeletes(directory.resolve("t"), 2);
    Path metadata;
    try (Stream<Path> files = Files.list(directory.resolve("t/metadata"))) {
      metadata =
          files
              .filter(file -> file.toString().endsWith(".metadata.json"))
              .max((a, b) -> Long.compare(a.toFile().length(), b.toFile().length()))
              .orElseThrow();
    }
    Files.writeString(
        metadata,
        Files.readString(metadata)
            .replace("\"transform\":\"identity\"", "\"transform\":\"zonk\"")
            .replace("\"transform\" : \"identity\"", "\"transform\" : \"zonk\""));
    assertThat(table.name()).isEqualTo("local.t");
    Table odd = TableBuilder.open(directory.resolve("t"));
    assertThat(odd.spec().fields().get(0).transform()).hasToString("zonk");
    assertThatThrownBy(() -> new Compaction(odd, settings().build(), CompactionListener.NONE).run())
        .isInstanceOf(UnsupportedTableException.class)
        .hasMessageContainingAll("region", "zonk");
    assertThat(scratch).isEmptyDirectory();
  }

  // ---- wishes

  @Test
  void c16BranchesThatAreNone() throws IOException {
    Table table = SmallTable.withDeletes(directory.resolve("t"), 2);
    table.manageSnapshots().createTag("v1", table.currentSnapshot().snapshotId()).commit();
    wrong(table, settings().branch("none"), "none", "no such branch", "main");
    wrong(table, settings().branch("v1"), "v1", "tag");
  }

  @Test
  void o8OrdersThatCannotBe() throws IOException {
    Table table = SmallTable.withDeletes(directory.resolve("t"), 2);
    wrong(table, settings().layout(new Layout.TableOrder()), "sort order", "none");
    SortOrder order = SortOrder.builderFor(table.schema()).asc("note").build();
    table.updateSchema().deleteColumn("note").commit();
    wrong(table, settings().layout(new Layout.Sorted(order)), "id 3", "O8");
  }

  @Test
  void p1SpecsThatAreNone() throws IOException {
    Table table = SmallTable.withDeletes(directory.resolve("t"), 2);
    wrong(table, settings().option("output-spec-id", "77"), "77");
  }

  @ParameterizedTest
  @CsvSource({
    "target-file-size-byte, 1, target-file-size-bytes",
    "compression-factor, 1, cannot apply",
    "target-file-size-bytes, 0, positive",
    "target-file-size-bytes, 12MB, positive",
    "delete-ratio-threshold, 1.5, at most 1",
    "partial-progress.max-commits, 3, partial-progress.enabled is not true",
    "min-input-files, 2, rewrite-all",
    "rewrite-job-order, sideways, 'none, bytes-asc'",
    "strategy, overlap, rewrite-all cannot apply",
    "strategy, zorder, 'size, overlap'",
    "max-overlap-depth, 3, strategy is not overlap",
    "max-overlap-depth, -1, 0 or more",
    "max-write-amplification, 3, strategy is not overlap",
    "max-write-amplification, 1, at least 1.1",
    "allow-format-change, orc, true or false",
    "rewrite-all, yes, true or false",
    "use-starting-sequence-number, 1, true or false"
  })
  void optionsThatCannotApply(String key, String value, String word) {
    assertThatThrownBy(() -> settings().option(key, value).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll(key, word);
  }

  @ParameterizedTest
  @CsvSource({
    "min-file-size-bytes, 2000, target-file-size-bytes, 1000",
    "max-file-size-bytes, 500, target-file-size-bytes, 1000"
  })
  void optionsThatDoNotFitTogether(String key, String value, String with, String other)
      throws IOException {
    Table table = SmallTable.withDeletes(directory.resolve("t"), 2);
    wrong(table, settings().option(key, value).option(with, other), key.split("-")[0]);
  }

  @Test
  void n12AnEmptyTableIsNothingToDo() {
    Table table = TableBuilder.at(directory.resolve("t")).schema(SmallTable.SCHEMA).create();
    CompactionReport report =
        new Compaction(table, settings().build(), CompactionListener.NONE).run();
    assertThat(report.exitCode()).isZero();
    assertThat(report.snapshotBefore()).isNull();
    assertThat(report.groups().planned()).isZero();
    assertThat(table.currentSnapshot()).isNull();
  }

  // ---- memory

  @Test
  void aRunThatDoesNotFitSaysBeforeAnyWorkWhatItNeedsAndRunsInThat() {
    Table table = TableBuilder.at(directory.resolve("t")).schema(SmallTable.SCHEMA).create();
    TableFiles files = TableFiles.of(table);
    files.append(SmallTable.rows(0, 20_000, "eu"));
    files.append(SmallTable.rows(20_000, 20_000, "us"));
    table.refresh();
    List<String> rows = TableRows.live(table);
    Set<Path> before = TableBefore.paths(table);
    CompactionSettings.Builder sorting =
        settings()
            .layout(new Layout.Sorted(SortOrder.builderFor(table.schema()).desc("note").build()));
    CompactionSettings tooLittle = sorting.memoryBytes(4 << 20).build();

    CompactionPlan plan = new Compaction(table, tooLittle, CompactionListener.NONE).plan();
    assertThat(plan.memoryBytesNeeded()).isGreaterThan(4 << 20);
    assertThatThrownBy(() -> new Compaction(table, tooLittle, CompactionListener.NONE).run())
        .isInstanceOf(GroupMemoryException.class)
        .hasMessageContainingAll(
            "4 MiB", "--memory " + ((plan.memoryBytesNeeded() >> 20) + 1) + "m")
        .matches(failure -> FailureKind.of(failure).exitCode() == 7, "exit code 7");
    assertThat(TableBefore.paths(table)).isEqualTo(before);
    assertThat(scratch).isEmptyDirectory();

    CompactionSettings enough = sorting.memoryBytes(plan.memoryBytesNeeded()).build();
    assertThat(new Compaction(table, enough, CompactionListener.NONE).run().failures()).isEmpty();
    table.refresh();
    assertThat(TableRows.live(table)).isEqualTo(rows);
  }
}
