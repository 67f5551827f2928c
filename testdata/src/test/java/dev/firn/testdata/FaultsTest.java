package dev.firn.testdata;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.testdata.FaultyFileIO.Call;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FaultsTest {
  private static final Schema SCHEMA =
      new Schema(required(1, "id", Types.LongType.get()), optional(2, "v", Types.StringType.get()));

  @TempDir Path directory;

  private Table local() {
    return TableBuilder.at(directory.resolve("t")).schema(SCHEMA).create();
  }

  private static Table memory() {
    return TableBuilder.inMemory()
        .schema(SCHEMA)
        .partitionBy(spec -> spec.identity("v"))
        .property("commit.retry.min-wait-ms", "1")
        .create();
  }

  private static List<Record> rows(int count) {
    Rows rows = Rows.of(SCHEMA);
    for (long id = 0; id < count; id++) {
      rows.add(id, "v" + id);
    }
    return rows.list();
  }

  @Test
  void opensAndBytesAreCountedByLocation() {
    Table table = local();
    DataFile file = TableFiles.of(table).append(rows(100));
    Table counted = Tables.withIo(table, CountingFileIO::new);
    CountingFileIO io = (CountingFileIO) counted.io();
    assertThat(TableRows.live(counted)).hasSize(100);
    assertThat(io.opens(file.location())).isPositive();
    assertThat(io.bytesRead(file.location())).isPositive().isLessThanOrEqualTo(io.bytesRead());
    assertThat(io.openStreams()).isEmpty();
    DataFile written = TableFiles.of(counted).append(rows(1));
    assertThat(io.created()).contains(written.location());
  }

  @Test
  void theNthCallFailsOnceAndLeavesNoStreamOpen() {
    Table table = local();
    DataFile file = TableFiles.of(table).append(rows(100));
    Table faulty = Tables.withIo(table, FaultyFileIO::new);
    FaultyFileIO io = (FaultyFileIO) faulty.io();
    io.fail(Call.READ, 2, file.location()::equals);
    assertThatThrownBy(() -> TableRows.inFile(faulty, file))
        .hasStackTraceContaining("Made to fail");
    assertThat(io.failed()).isOne();
    assertThat(io.openStreams()).isEmpty();
    assertThat(TableRows.inFile(faulty, file)).hasSize(100);
    io.failAll(Call.CREATE, location -> location.endsWith(".parquet"));
    assertThatThrownBy(() -> TableFiles.of(faulty).data(rows(1)))
        .hasStackTraceContaining("Made to fail: CREATE");
    io.heal();
    assertThat(TableFiles.of(faulty).data(rows(1)).recordCount()).isOne();
  }

  @Test
  void aLocationPrefixIsExchangedWithoutDecoding() throws Exception {
    LocalFileIO local = new LocalFileIO();
    String to = LocalFileIO.location(directory) + "/";
    RelocatingFileIO io = new RelocatingFileIO(local, "file:/nowhere/", to);
    String name = "a=x%2Fy/b c.txt";
    try (var out = io.newOutputFile("file:/nowhere/" + name).create()) {
      out.write(7);
    }
    assertThat(directory.resolve(name)).exists();
    assertThat(io.newInputFile("file:/nowhere/" + name, 1).location())
        .isEqualTo("file:/nowhere/" + name);
    assertThat(io.listPrefix("file:/nowhere/a=x%2Fy"))
        .extracting(file -> file.location())
        .containsExactly("file:/nowhere/" + name);
    io.deleteFile("file:/nowhere/" + name);
    assertThat(directory.resolve(name)).doesNotExist();
  }

  @Test
  void aLostRaceIsRetriedOnTheNewMetadata() {
    Table table = memory();
    FaultyTableOperations faulty = FaultyTableOperations.of(table);
    Table other = Tables.another(table);
    faulty.beforeCommit(
        1, () -> other.newAppend().appendFile(FakeFiles.dataFile(other, "v=other", 1)).commit());
    Table mine = faulty.table();
    mine.newAppend().appendFile(FakeFiles.dataFile(mine, "v=mine", 1)).commit();
    assertThat(faulty.attempts()).isEqualTo(2);
    assertThat(TableRows.dataFiles(mine, mine.currentSnapshot())).hasSize(2);
  }

  @Test
  void commitsFailAsToldAndUnknownOnesMayHaveHappened() {
    Table table = memory();
    FaultyTableOperations faulty = FaultyTableOperations.of(table);
    Table mine = faulty.table();
    mine.updateProperties().set("commit.retry.num-retries", "1").commit();

    faulty.failCommits(2);
    assertThatThrownBy(
            () -> mine.newAppend().appendFile(FakeFiles.dataFile(mine, "v=a", 1)).commit())
        .isInstanceOf(CommitFailedException.class);
    faulty.unknownWithoutCommit(1);
    assertThatThrownBy(
            () -> mine.newAppend().appendFile(FakeFiles.dataFile(mine, "v=a", 1)).commit())
        .isInstanceOf(CommitStateUnknownException.class);
    mine.refresh();
    assertThat(mine.currentSnapshot()).isNull();
    faulty.unknownAfterCommit(1);
    assertThatThrownBy(
            () -> mine.newAppend().appendFile(FakeFiles.dataFile(mine, "v=a", 1)).commit())
        .isInstanceOf(CommitStateUnknownException.class);
    mine.refresh();
    assertThat(TableRows.dataFiles(mine, mine.currentSnapshot())).hasSize(1);
  }

  @Test
  void fakeFilesBehaveAsRealOnesInMetadata() throws Exception {
    Table table = memory();
    DataFile a = FakeFiles.dataFile(table, "v=a", 10);
    DataFile b = FakeFiles.dataFile(table, "v=b", 10);
    table.newAppend().appendFile(a).appendFile(b).commit();
    table
        .newRowDelta()
        .addDeletes(FakeFiles.equalityDeletes(table, "v=a", 1))
        .addDeletes(FakeFiles.positionDeletes(table, b))
        .addDeletes(FakeFiles.positionDeletes(table, table.spec(), "v=b"))
        .commit();
    List<Integer> deletes = new ArrayList<>();
    try (CloseableIterable<org.apache.iceberg.FileScanTask> tasks = table.newScan().planFiles()) {
      tasks.forEach(task -> deletes.add(task.deletes().size()));
    }
    assertThat(deletes).containsExactlyInAnyOrder(1, 2);

    table.updateProperties().set("format-version", "3").commit();
    DeleteFile first = FakeFiles.vector(table, a, "memory:/table/data/p.puffin", 0, 3);
    DeleteFile second = FakeFiles.vector(table, b, "memory:/table/data/p.puffin", 1, 3);
    table.newRowDelta().addDeletes(first).addDeletes(second).commit();
    assertThat(TableRows.deleteFiles(table, table.currentSnapshot())).hasSize(5);
  }

  @Test
  void aStaleHandleCannotCommit() {
    for (Table table : List.of(memory(), local())) {
      TableOperations other = ((HasTableOperations) Tables.another(table)).operations();
      TableMetadata stale = other.current();
      table.updateProperties().set("a", "1").commit();
      assertThatThrownBy(() -> other.commit(stale, stale.replaceProperties(Map.of("a", "2"))))
          .isInstanceOf(CommitFailedException.class);
      assertThat(other.current().properties()).containsEntry("a", "1");
      assertThatThrownBy(() -> other.commit(stale, stale.replaceProperties(Map.of("a", "3"))))
          .isInstanceOf(CommitFailedException.class);
    }
  }

  @Test
  void aGoldenCopyCanBeCommittedTo() {
    Table table = GoldenTables.copyTo("g08-migrated", directory);
    int before = TableRows.live(table).size();
    DataFile victim = TableRows.dataFiles(table, table.currentSnapshot()).get(0);
    List<Record> rows = TableRows.inFile(table, victim);
    TableFiles files = TableFiles.of(table).partitionOf(victim);
    DataFile added = files.append(rows);
    assertThat(added.location()).startsWith("file:/firn-golden/g08-migrated/data/");
    Table other = GoldenTables.open("g08-migrated", directory);
    assertThat(TableRows.live(other)).hasSize(before + rows.size());
    assertThatThrownBy(() -> other.newRewrite().validateFromSnapshot(1).deleteFile(victim).commit())
        .isInstanceOf(ValidationException.class);
  }
}
