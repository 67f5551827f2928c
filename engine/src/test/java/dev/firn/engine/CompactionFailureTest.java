package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.engine.CompactionReport.FailureKind;
import dev.firn.testdata.FaultyTableOperations;
import dev.firn.testdata.LocalFileIO;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a run says of itself when something fails. */
class CompactionFailureTest {
  @TempDir Path directory;
  private Table table;
  private DataFile last;

  @BeforeEach
  void makeTable() {
    table =
        TableBuilder.at(directory.resolve("table"))
            .schema(Types.NestedField.required(1, "id", Types.LongType.get()))
            .create();
    for (long file = 0; file < 6; file++) {
      last = TableFiles.of(table).append(Rows.of(table.schema()).add(file).list());
    }
  }

  private CompactionReport run(Table on, String... options) {
    CompactionSettings.Builder settings =
        CompactionSettings.builder().scratch(directory).memoryBytes(1L << 30);
    for (String option : options) {
      settings.option(option, "true");
    }
    return new Compaction(on, settings.build(), CompactionListener.NONE).run();
  }

  @Test
  void whatFailsAfterTheFirstCommitIsReportedBesideIt() {
    FaultyTableOperations faulty = FaultyTableOperations.of(table);
    boolean[] committed = {false};
    CompactionListener breaks =
        new CompactionListener() {
          @Override
          public void committed(
              long snapshotId, java.util.List<org.apache.iceberg.actions.RewriteFileGroup> groups) {
            committed[0] = true;
            throw new IllegalStateException("the listener fails");
          }
        };
    CompactionReport report =
        new Compaction(
                faulty.table(),
                CompactionSettings.builder().scratch(directory).memoryBytes(1L << 30).build(),
                breaks)
            .run();
    assertThat(committed[0]).isTrue();
    table.refresh();
    assertThat(report.snapshotsCommitted()).containsExactly(table.currentSnapshot().snapshotId());
    assertThat(report.exitCode()).isEqualTo(3);
    assertThat(report.failures())
        .singleElement()
        .satisfies(
            failure -> {
              assertThat(failure.group()).isZero();
              assertThat(failure.message()).contains("the listener fails", "is committed");
            });
  }

  @Test
  void aMissingDataFileIsCorruptInput() throws Exception {
    Files.delete(LocalFileIO.path(last.location()));
    assertCorrupt();
  }

  @Test
  void aTruncatedDataFileIsCorruptInput() throws Exception {
    Path path = LocalFileIO.path(last.location());
    byte[] bytes = Files.readAllBytes(path);
    Files.write(path, java.util.Arrays.copyOf(bytes, bytes.length / 2));
    assertCorrupt();
  }

  private void assertCorrupt() {
    long before = table.currentSnapshot().snapshotId();
    CompactionReport report = run(table);
    assertThat(report.exitCode()).isEqualTo(6);
    assertThat(report.failures())
        .allSatisfy(
            failure -> {
              assertThat(failure.kind()).isEqualTo(FailureKind.CORRUPT);
              assertThat(failure.message()).contains(last.location());
            });
    table.refresh();
    assertThat(table.currentSnapshot().snapshotId()).isEqualTo(before);
  }

  @Test
  void aScratchDirectoryThatIsNotThereIsSaidBeforeAnyWork() {
    CompactionSettings settings =
        CompactionSettings.builder().scratch(directory.resolve("none")).build();
    assertThatThrownBy(() -> new Compaction(table, settings, CompactionListener.NONE).run())
        .hasMessageContaining("none")
        .hasMessageContaining("--scratch");
  }
}
