package dev.firn.commit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.SnapshotRef;
import org.junit.jupiter.api.Test;

class LineageBaseTest {
  @Test
  void l6UpgradedTableGetsRowIdsOnce() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1").append("d2")) {
      assertThat(LineageBase.ensure(fake.table, SnapshotRef.MAIN_BRANCH)).isFalse();
      fake.other().updateProperties().set("format-version", "3").commit();
      fake.table.refresh();

      assertThat(LineageBase.ensure(fake.table, SnapshotRef.MAIN_BRANCH)).isTrue();
      assertThat(FakeTable.tasks(fake.table, fake.table.currentSnapshot().snapshotId()).values())
          .hasSize(2)
          .allSatisfy(task -> assertThat(task.file().firstRowId()).isNotNull());
      assertThat(LineageBase.ensure(fake.table, SnapshotRef.MAIN_BRANCH)).isFalse();
      assertThat(fake.operations.commits).isOne();
    }
  }

  @Test
  void l6BranchIsTreatedAlone() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1")) {
      fake.other().manageSnapshots().createBranch("audit").commit();
      fake.other().updateProperties().set("format-version", "3").commit();
      fake.table.refresh();
      long main = fake.table.currentSnapshot().snapshotId();

      assertThat(LineageBase.ensure(fake.table, "audit")).isTrue();
      assertThat(fake.table.currentSnapshot().snapshotId()).isEqualTo(main);
    }
  }

  @Test
  void l6NewTablesAndEmptyOnesNeedNothing() throws Exception {
    try (FakeTable fake = FakeTable.of(3, PartitionSpec.unpartitioned())) {
      assertThat(LineageBase.ensure(fake.table, SnapshotRef.MAIN_BRANCH)).isFalse();
      fake.append("d");
      assertThat(LineageBase.ensure(fake.table, SnapshotRef.MAIN_BRANCH)).isFalse();
    }
  }

  @Test
  void l6ALostRaceIsTriedAgainAndTheBranchLookedAtAnew() throws Exception {
    try (FakeTable fake =
        FakeTable.of(2, PartitionSpec.unpartitioned(), Map.of("commit.retry.num-retries", "0"))
            .append("d")) {
      fake.other().updateProperties().set("format-version", "3").commit();
      fake.table.refresh();
      fake.operations.onCommit(
          real -> {
            fake.append("f"); // gives row ids to all
            real.run();
          });

      assertThat(LineageBase.ensure(fake.table, SnapshotRef.MAIN_BRANCH)).isTrue();
      assertThat(fake.table.currentSnapshot().summary()).containsEntry("added-data-files", "1");
      assertThat(fake.operations.commits).isOne();
    }
  }
}
