package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.engine.CompactionReport.FailureKind;
import dev.firn.engine.parquet.TableReader;
import dev.firn.io.RangeReader;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import dev.firn.testdata.Tables;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A compaction that reads its outputs back commits nothing that is damaged, even if all checksums
 * and counts are right.
 */
class CompactVerifyTest {
  @TempDir Path directory;
  private Path scratch;

  @BeforeEach
  void makeScratch() throws IOException {
    scratch = java.nio.file.Files.createDirectory(directory.resolve("scratch"));
  }

  private CompactionReport run(Table table, boolean sorted, String... options) {
    CompactionSettings.Builder settings =
        CompactionSettings.builder()
            .option("rewrite-all", "true")
            .memoryBytes(1L << 30)
            .scratch(scratch)
            .threads(2);
    for (String option : options) {
      settings.option(option, "true");
    }
    if (sorted) {
      settings.layout(
          new Layout.Sorted(
              SortOrder.builderFor(table.schema()).desc("id", NullOrder.NULLS_LAST).build()));
    }
    return new Compaction(table, settings.build(), CompactionListener.NONE).run();
  }

  @ParameterizedTest
  @CsvSource({"2, false", "2, true", "3, false", "3, true"})
  void c26AllRowsWrittenAreVerified(int formatVersion, boolean sorted) {
    Table table = SmallTable.withDeletes(directory.resolve("table"), formatVersion);
    List<String> before = TableRows.live(table);
    CompactionReport report = run(table, sorted, "verify");
    assertThat(report.failures()).isEmpty();
    assertThat(report.rows().verified()).isEqualTo(before.size()).isPositive();
    table.refresh();
    assertThat(TableRows.live(table)).isEqualTo(before);
    assertThat(run(table, sorted).rows().verified()).as("only where asked for").isZero();
  }

  @Test
  void rowsOfAnOldSpecAreVerifiedInTheirNewPartitions() {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 3);
    table.updateSpec().removeField("region").addField("note").commit();
    List<String> before = TableRows.live(table);
    CompactionReport report = run(table, false, "verify");
    assertThat(report.failures()).isEmpty();
    assertThat(report.rows().verified()).isEqualTo(before.size());
  }

  // ---- lineage

  @Test
  void l1RowIdsThatAreNotStoredAreADifference() throws IOException {
    Table table = SmallTable.withDeletes(directory.resolve("table"), 3);
    CompactionSettings settings =
        CompactionSettings.builder().option("rewrite-all", "true").scratch(scratch).build();
    Pin pin = Objects.requireNonNull(Pin.of(table, settings));
    List<RewriteFileGroup> groups =
        new Compaction(table, settings, CompactionListener.NONE).plan().groups();
    RewriteFileGroup group =
        groups.stream()
            .filter(of -> of.rewrittenFiles().toString().contains("region=eu"))
            .findFirst()
            .orElseThrow();
    List<Record> rows =
        TableRows.liveRecords(table, table.currentSnapshot()).stream()
            .filter(row -> row.getField("region").equals("eu"))
            .toList();
    DataFile like = group.rewrittenFiles().iterator().next();
    TableFiles files = TableFiles.of(table).partitionOf(like);
    ExecutorService fetchers = Threads.pool(2, "fetch");
    try (BufferAllocator allocator = new RootAllocator();
        RangeReader ranges = RangeReader.over(table.io(), 4);
        TableReader reader =
            new TableReader(
                table.io(), pin.schema(), pin.specs(), null, ranges, allocator, scratch, 1000)) {
      GroupVerifier verifier =
          new GroupVerifier(
              pin,
              SnapshotFiles.of(table, table.currentSnapshot(), location -> true),
              reader,
              MemoryShares.of(1L << 30),
              fetchers,
              fetchers,
              1,
              1);
      DataFile good = files.schema(TableRows.schema(table)).data(rows);
      assertThat(verifier.verify(group, List.of(good), allocator)).isEqualTo(rows.size());
      DataFile bad = files.data(rows);
      assertThatThrownBy(() -> verifier.verify(group, List.of(bad), allocator))
          .isInstanceOf(RowsDifferException.class)
          .hasMessageContaining("column _row_id, _last_updated_sequence_number differs")
          .hasMessageContaining(bad.location());
    } finally {
      Threads.stop(fetchers);
    }
  }

  // ---- damage

  /** Two partitions of two files each, and an equality delete in one of them. */
  private Table table(int formatVersion) {
    Table table =
        TableBuilder.at(directory.resolve("table"))
            .schema(SmallTable.SCHEMA)
            .partitionBy(spec -> spec.identity("region"))
            .formatVersion(formatVersion)
            .create();
    TableFiles files = TableFiles.of(table).codec("uncompressed");
    files.append(SmallTable.rows(0, 10, "eu"));
    DataFile damaged = files.append(SmallTable.rows(10, 10, "eu"));
    files.append(SmallTable.rows(20, 10, "us"));
    files.append(SmallTable.rows(30, 10, "us"));
    files.rowDelta(
        List.of(),
        List.of(
            files
                .partitionOf(damaged)
                .equalityDeletes(List.of("id"), SmallTable.rows(12, 1, "eu"))));
    table.refresh();
    return table;
  }

  /** A file that could stand for another one unnoticed, for it has the same size. */
  private static <F extends ContentFile<F>> F twin(F file, IntFunction<F> attempts) {
    return IntStream.range(0, 100)
        .mapToObj(attempts)
        .filter(attempt -> attempt.fileSizeInBytes() == file.fileSizeInBytes())
        .findFirst()
        .orElseThrow();
  }

  private static DataFile damagedData(Table table, DataFile file) {
    return twin(
        file,
        attempt -> {
          List<Record> rows = SmallTable.rows(10, 10, "eu");
          rows.get(7).setField("note", "note " + (char) ('a' + attempt % 26) + attempt / 26);
          return TableFiles.of(table).codec("uncompressed").data(rows);
        });
  }

  private static DeleteFile damagedDelete(Table table, DeleteFile file) {
    return twin(
        file,
        attempt ->
            TableFiles.of(table)
                .codec("uncompressed")
                .partitionOf(file)
                .equalityDeletes(
                    List.of("id"), SmallTable.rows(attempt == 2 ? 13 : 3 + attempt, 1, "eu")));
  }

  @ParameterizedTest
  @CsvSource({"2, false", "2, true", "3, false", "3, true"})
  void c26AnOutputWithAWrongValueIsNotCommitted(int formatVersion, boolean sorted)
      throws IOException {
    Table table = table(formatVersion);
    DataFile damaged = SmallTable.files(table, "eu").stream().skip(1).findFirst().orElseThrow();
    DataFile twin = damagedData(table, damaged);
    Table faulty =
        Tables.withIo(table, io -> new SwappedFile(io, damaged.location(), twin.location()));
    List<String> before = TableRows.live(table);
    Set<String> files = FileTruth.locations(table);
    long snapshot = table.currentSnapshot().snapshotId();

    CompactionReport report = run(faulty, sorted, "verify");
    assertThat(report.exitCode()).isEqualTo(8);
    assertThat(report.snapshotsCommitted()).isEmpty();
    assertThat(report.failures())
        .filteredOn(failure -> failure.kind() == FailureKind.MISMATCH)
        .singleElement()
        .satisfies(
            failure ->
                assertThat(failure.message())
                    .contains(
                        "in partition region=eu",
                        "column note differs",
                        "1 rows were in " + damaged.location(),
                        "1 other rows are in ",
                        "note='note 17'",
                        "its outputs are removed"));
    table.refresh();
    assertThat(table.currentSnapshot().snapshotId()).isEqualTo(snapshot);
    assertThat(TableRows.live(table)).isEqualTo(before);
    assertThat(FileTruth.locations(table)).as("no orphan (O-D)").isEqualTo(files);
    assertThat(scratch).isEmptyDirectory();

    ((SwappedFile) faulty.io()).swapped = true;
    CompactionReport partial = run(faulty, sorted, "verify", "partial-progress.enabled");
    assertThat(partial.exitCode()).as("the other group is committed").isEqualTo(3);
    assertThat(partial.rows().verified()).isEqualTo(20);
    table.refresh();
    assertThat(TableRows.live(table)).isEqualTo(before);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void c26ADeleteReadWronglyIsFoundByReadingItAnew(int formatVersion) throws IOException {
    Table table = table(formatVersion);
    DeleteFile delete = TableRows.deleteFiles(table, table.currentSnapshot()).get(0);
    DeleteFile twin = damagedDelete(table, delete);
    Table faulty =
        Tables.withIo(table, io -> new SwappedFile(io, delete.location(), twin.location()));
    Set<String> files = FileTruth.locations(table);
    CompactionReport report = run(faulty, false, "verify");
    assertThat(report.exitCode()).isEqualTo(8);
    assertThat(report.failures().toString())
        .contains("in partition region=eu", "id=12", "19 rows became");
    assertThat(FileTruth.locations(table)).as("no orphan (O-D)").isEqualTo(files);
  }

  /** Gives a file's twin in its place until an output of its partition is closed. */
  private static final class SwappedFile implements FileIO {
    private final FileIO delegate;
    private final Map<String, String> twins;
    private volatile boolean swapped = true;

    SwappedFile(FileIO delegate, String location, String twin) {
      this.delegate = delegate;
      this.twins = Map.of(location, twin);
    }

    @Override
    public InputFile newInputFile(String location) {
      return delegate.newInputFile(swapped ? twins.getOrDefault(location, location) : location);
    }

    @Override
    public OutputFile newOutputFile(String location) {
      OutputFile file = delegate.newOutputFile(location);
      return new OutputFile() {
        @Override
        public PositionOutputStream create() {
          return new Closing(location, file.create());
        }

        @Override
        public PositionOutputStream createOrOverwrite() {
          return new Closing(location, file.createOrOverwrite());
        }

        @Override
        public String location() {
          return file.location();
        }

        @Override
        public InputFile toInputFile() {
          return file.toInputFile();
        }
      };
    }

    @Override
    public void deleteFile(String location) {
      delegate.deleteFile(location);
    }

    private final class Closing extends PositionOutputStream {
      private final String location;
      private final PositionOutputStream stream;

      Closing(String location, PositionOutputStream stream) {
        this.location = location;
        this.stream = stream;
      }

      @Override
      public long getPos() throws IOException {
        return stream.getPos();
      }

      @Override
      public void write(int b) throws IOException {
        stream.write(b);
      }

      @Override
      public void write(byte[] bytes, int offset, int length) throws IOException {
        stream.write(bytes, offset, length);
      }

      @Override
      public void close() throws IOException {
        stream.close();
        if (location.contains("/region=eu/")) {
          swapped = false;
        }
      }
    }
  }
}
