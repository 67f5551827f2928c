package dev.firn.commit;

import static dev.firn.commit.FakeTable.equalityDeletes;
import static dev.firn.commit.FakeTable.positionDeletes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.actions.RemoveDanglingDeleteFilesAction;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.junit.jupiter.api.Test;

class DanglingDeletesTest {
  private static final PartitionSpec NONE = PartitionSpec.unpartitioned();

  @Test
  void d34RemovesWhatAppliesToNothingAndNamesTheRun() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("old").delete(equalityDeletes("live"))) {
      fake.delete(positionDeletes(NONE, "", "dangling", "gone"));

      assertThat(DanglingDeletes.remove(fake.table, SnapshotRef.MAIN_BRANCH, "run-1")).isOne();
      assertThat(fake.live().get("old")).containsExactly("live");
      assertThat(fake.other().currentSnapshot().summary())
          .containsEntry("firn.run-id", "run-1")
          .containsEntry("removed-delete-files", "1");
      assertThat(DanglingDeletes.remove(fake.table, SnapshotRef.MAIN_BRANCH, "run-1")).isZero();
    }
  }

  @Test
  void d34GlobalDeletesOfOtherSpecsAreNotDangling() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("old")) {
      fake.other().updateSpec().addField("v").commit();
      fake.table.refresh();
      fake.append(FakeTable.dataFile(fake.table.spec(), "v=a", "new", 10));
      fake.delete(equalityDeletes("global"));
      fake.other().newDelete().deleteFile(FakeTable.path("old")).commit();

      assertThat(DanglingDeletes.remove(fake.table, SnapshotRef.MAIN_BRANCH, "run-1")).isZero();
      assertThat(fake.live().get("new")).containsExactly("global");
    }
  }

  @Test
  void h5DeletesOnUuidsAreLeftAlone() throws Exception {
    DeleteFile onUuid =
        FileMetadata.deleteFileBuilder(NONE)
            .ofEqualityDeletes(4)
            .withPath(FakeTable.path("e"))
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(10)
            .withMetrics(FakeTable.uuidMetrics("20", "20"))
            .withRecordCount(1)
            .build();
    try (FakeTable fake =
        FakeTable.v2()
            .append(FakeTable.dataFile(NONE, "", "d", 10, FakeTable.uuidMetrics("10", "F0")))
            .delete(onUuid)) {
      assertThat(DanglingDeletes.remove(fake.table, SnapshotRef.MAIN_BRANCH, "run-1")).isZero();

      assertThat(
              new RemoveDanglingDeleteFilesAction(fake.other())
                  .toBranch(SnapshotRef.MAIN_BRANCH)
                  .execute()
                  .removedDeleteFiles())
          .as("what Iceberg does with a delete that is live")
          .hasSize(1);
    }
  }

  @Test
  void n12TableWithoutSnapshotIsLeftAlone() throws Exception {
    try (FakeTable fake = FakeTable.v2()) {
      assertThat(DanglingDeletes.remove(fake.table, SnapshotRef.MAIN_BRANCH, "run-1")).isZero();
      assertThat(fake.operations.commits).isZero();
    }
  }

  @Test
  void branchThatChangesMeanwhileIsScannedAgain() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d")) {
      fake.delete(positionDeletes(NONE, "", "dangling", "gone"));
      fake.operations.onCommit(
          real -> {
            fake.append("f");
            real.run();
          });

      assertThat(DanglingDeletes.remove(fake.table, SnapshotRef.MAIN_BRANCH, "run-1")).isOne();
      assertThat(fake.live()).containsOnlyKeys("d", "f");
    }
  }

  /** Iceberg would commit again and delete the manifests of the snapshot that it does not know. */
  @Test
  void c12RefusalOfACommitThatLandedDeletesNothing() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d")) {
      fake.delete(positionDeletes(NONE, "", "dangling", "gone"));
      fake.operations.onCommit(
          real -> {
            real.run();
            throw new CommitFailedException("refused, as it has landed before");
          });

      assertThat(DanglingDeletes.remove(fake.table, SnapshotRef.MAIN_BRANCH, "run-1")).isOne();
      assertThat(fake.live()).containsOnlyKeys("d");
      assertThat(fake.live().get("d")).isEmpty();
    }
  }

  @Test
  void c12odAnAttemptThatFailsUnexpectedlyLeavesNoManifests() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d")) {
      fake.delete(positionDeletes(NONE, "", "dangling", "gone"));
      fake.operations.onCommit(
          real -> {
            fake.append("f");
            fake.operations.onRefresh(() -> {}); // that which looks whether the commit landed
            fake.operations.onRefresh(
                () -> {
                  throw new IllegalArgumentException("Missing field 5");
                });
            real.run();
          });

      assertThatThrownBy(() -> DanglingDeletes.remove(fake.table, SnapshotRef.MAIN_BRANCH, "run-1"))
          .hasMessage("Missing field 5");
      assertThat(fake.operations.commits).isEqualTo(1);
      assertThat(fake.operations.io.left).as("manifests, which Iceberg leaves").isEmpty();
      assertThat(fake.live()).containsOnlyKeys("d", "f");
    }
  }

  /** Whether the catalog has it cannot be found out: then it is left (C11). */
  @Test
  void c11c12WhatMayHaveLandedKeepsItsManifests() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d")) {
      fake.delete(positionDeletes(NONE, "", "dangling", "gone"));
      fake.operations.onCommit(
          real -> {
            real.run();
            fake.operations.onRefresh(
                () -> {
                  throw new IllegalStateException("no answer");
                });
            throw new IllegalStateException("no answer");
          });

      assertThatThrownBy(() -> DanglingDeletes.remove(fake.table, SnapshotRef.MAIN_BRANCH, "run-1"))
          .hasMessage("no answer");
      fake.table.refresh();
      assertThat(fake.live().get("d")).isEmpty();
    }
  }
}
