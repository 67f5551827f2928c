package dev.firn.commit;

import static dev.firn.commit.FakeTable.BY_V;
import static dev.firn.commit.FakeTable.dataFile;
import static dev.firn.commit.FakeTable.deletionVector;
import static dev.firn.commit.FakeTable.equalityDeletes;
import static dev.firn.commit.FakeTable.path;
import static dev.firn.commit.FakeTable.positionDeletes;
import static dev.firn.commit.FakeTable.settings;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.iceberg.BaseMetadataTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.MetadataTableType;
import org.apache.iceberg.MetadataTableUtils;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

class CommitCoordinatorTest {
  private static final PartitionSpec NONE = PartitionSpec.unpartitioned();

  /** Iceberg knows only the specs that the table had when the commit was begun. */
  @Test
  void c8InputsRewrittenToASpecThatCameBetweenAttemptsAreGone() throws Exception {
    try (FakeTable fake = FakeTable.of(2, BY_V)) {
      fake.append(dataFile(BY_V, "v=a", "d", 10), dataFile(BY_V, "v=a", "x", 10));
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile(BY_V, "v=a", "c", 10)));
      fake.operations.onCommit(
          real -> {
            fake.other().updateSpec().removeField("v").addField("w").commit();
            Table other = fake.other();
            other
                .newRewrite()
                .deleteFile(dataFile(BY_V, "v=a", "d", 10))
                .addFile(dataFile(other.spec(), "w=z", "y", 10))
                .commit();
            real.run();
          });

      assertThat(coordinator.finish())
          .singleElement()
          .isInstanceOfSatisfying(
              CommitOutcome.Conflicted.class,
              conflict -> assertThat(conflict.kind()).isEqualTo(CommitOutcome.Kind.INPUT_GONE));
      assertThat(fake.live()).containsOnlyKeys("x", "y");
    }
  }

  /** Iceberg's second attempt would take over manifests that version 2 cannot read. */
  @Test
  void n8UpgradeTo2BetweenAttemptsLeavesTheTableReadable() throws Exception {
    try (FakeTable fake = FakeTable.of(1, PartitionSpec.unpartitioned())) {
      fake.append(dataFile("d"), dataFile("x"));
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.operations.onCommit(
          real -> {
            fake.other().updateProperties().set("format-version", "2").commit();
            real.run();
          });

      assertThat(coordinator.finish()).singleElement().isInstanceOf(CommitOutcome.Committed.class);
      fake.append("y");
      assertThat(fake.live()).containsOnlyKeys("c", "x", "y");
    }
  }

  @Test
  void n1c21c22SnapshotIsAReplaceThatNamesTheRunAndCounts() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      assertThat(coordinator.offer(fake.group(base, List.of("d1", "d2"), rows("c", 19)))).isEmpty();
      List<CommitOutcome> outcomes = coordinator.finish();

      Snapshot head = fake.other().currentSnapshot();
      assertThat(committed(outcomes).snapshotId()).isEqualTo(head.snapshotId());
      assertThat(head.operation()).isEqualTo(DataOperations.REPLACE);
      assertThat(head.summary())
          .containsEntry("firn.run-id", "run-1")
          .containsKey("firn.commit-id")
          .containsEntry("team", "tundra")
          .containsEntry("added-data-files", "1")
          .containsEntry("deleted-data-files", "2")
          .containsEntry("added-records", "19")
          .containsEntry("deleted-records", "20")
          .containsEntry("total-records", "29")
          .containsEntry("total-data-files", "2")
          .containsEntry("changed-partition-count", "1");
      assertThat(coordinator.finish()).isEmpty();
      assertThat(coordinator.doomed()).isFalse();
    }
  }

  @Test
  void c2DeletesFromBeforeThePlanAreNoConflict() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      fake.delete(positionDeletes(NONE, "", "p", null), equalityDeletes("e"));
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 9)));

      committed(coordinator.finish());
      assertThat(fake.live().get("c")).doesNotContain("e");
    }
  }

  @Test
  void c3OutputsKeepThePlannedSequenceNumberSoThatLaterEqualityDeletesApply() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      fake.other()
          .newRowDelta()
          .addDeletes(equalityDeletes("e"))
          .addRows(rows("upserted", 1))
          .commit();

      committed(coordinator.finish());
      assertThat(fake.live())
          .isEqualTo(Map.of("c", Set.of("e"), "x", Set.of("e"), "upserted", Set.of()));
      DataFile output = file(fake, "c");
      assertThat(output.dataSequenceNumber()).isEqualTo(base.sequenceNumber());
      assertThat(output.fileSequenceNumber())
          .isEqualTo(fake.other().currentSnapshot().sequenceNumber());
    }
  }

  @Test
  void c4WithoutStartingSequenceNumberConcurrentEqualityDeletesConflict() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator =
          new CommitCoordinator(fake.table, base, settings(1, true, false));
      fake.delete(equalityDeletes("e"));

      assertThat(
              conflicted(coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)))).kind())
          .isEqualTo(CommitOutcome.Kind.NEW_DELETES);
      assertThat(fake.live().get("d")).containsExactly("e");
      assertThat(fake.exists("c")).isFalse();
      assertThat(coordinator.doomed()).isTrue();
    }
  }

  @Test
  void c4WithoutStartingSequenceNumberOutputsAreNew() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator =
          new CommitCoordinator(fake.table, base, settings(1, true, false));
      committed(coordinator.offer(fake.group(base, List.of("d"), rows("c", 10))));
      assertThat(file(fake, "c").dataSequenceNumber()).isGreaterThan(base.sequenceNumber());
    }
  }

  @Test
  void c5NewPositionDeletesOfAnInputConflict() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      fake.delete(positionDeletes(NONE, "", "p", "d"));

      assertThat(conflicted(coordinator.finish()).kind()).isEqualTo(CommitOutcome.Kind.NEW_DELETES);
      assertThat(fake.live()).containsOnlyKeys("d", "x");
    }
  }

  @Test
  void c5NewPartitionScopedPositionDeletesConflictWithThePartition() throws Exception {
    try (FakeTable fake =
        FakeTable.of(2, BY_V)
            .append(dataFile(BY_V, "v=a", "d1", 10), dataFile(BY_V, "v=b", "d2", 10))) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      RewriteFileGroup inA = fake.group(base, List.of("d1"), dataFile(BY_V, "v=a", "c1", 10));
      RewriteFileGroup inB = fake.group(base, List.of("d2"), dataFile(BY_V, "v=b", "c2", 10));
      coordinator.offer(inA);
      coordinator.offer(inB);
      fake.delete(positionDeletes(BY_V, "v=a", "p", null));

      List<CommitOutcome> outcomes = coordinator.finish();
      assertThat(of(outcomes, CommitOutcome.Conflicted.class).groups()).containsExactly(inA);
      assertThat(of(outcomes, CommitOutcome.Committed.class).groups()).containsExactly(inB);
    }
  }

  @Test
  void c5NewVectorsOfOtherFilesAreNoConflict() throws Exception {
    try (FakeTable fake = FakeTable.of(3, NONE).append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      fake.delete(deletionVector("dv", "x"));

      committed(coordinator.finish());
    }
  }

  @Test
  void c6SeveralVectorsOfOneFileInTheWindowAreNoConflict() throws Exception {
    try (FakeTable fake = FakeTable.of(3, NONE).append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      var first = deletionVector("dv1", "x");
      fake.delete(first);
      fake.other()
          .newRowDelta()
          .validateFromSnapshot(fake.other().currentSnapshot().snapshotId())
          .removeDeletes(first)
          .addDeletes(deletionVector("dv2", "x"))
          .commit();

      committed(coordinator.finish());
      assertThat(fake.live()).isEqualTo(Map.of("c", Set.of(), "x", Set.of("dv2")));
    }
  }

  @Test
  void d33VectorsOfReplacedFilesGoWithThem() throws Exception {
    try (FakeTable fake = FakeTable.of(3, NONE).append("d", "x")) {
      fake.delete(deletionVector("dv", "d"));
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 9)));

      committed(coordinator.finish());
      assertThat(fake.other().currentSnapshot().summary()).containsEntry("removed-dvs", "1");
    }
  }

  @Test
  void c7OfTwoCompactorsOfTheSameFilesOneWins() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator one = fake.coordinator(base);
      one.offer(fake.group(base, List.of("d"), rows("c1", 10)));
      CommitCoordinator other = fake.coordinator(base);
      other.offer(fake.group(base, List.of("d"), rows("c2", 10)));

      committed(one.finish());
      CommitOutcome.Conflicted conflict = conflicted(other.finish());
      assertThat(conflict.kind()).isEqualTo(CommitOutcome.Kind.INPUT_GONE);
      assertThat(conflict.message()).contains(path("d"));
      assertThat(fake.live()).containsOnlyKeys("c1", "x");
      assertThat(fake.exists("c1")).isTrue();
      assertThat(fake.exists("c2")).isFalse();
    }
  }

  @Test
  void c8GoodGroupsSurviveTheConflictsOfOthers() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2", "d3", "d4", "d5", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      for (int i = 1; i <= 5; i++) {
        coordinator.offer(fake.group(base, List.of("d" + i), rows("c" + i, 10)));
      }
      fake.delete(positionDeletes(NONE, "", "p", "d2"));
      fake.other().newDelete().deleteFile(path("d4")).commit();

      List<CommitOutcome> outcomes = coordinator.finish();
      assertThat(of(outcomes, CommitOutcome.Committed.class).groups()).hasSize(3);
      assertThat(outcomes)
          .filteredOn(CommitOutcome.Conflicted.class::isInstance)
          .extracting(outcome -> ((CommitOutcome.Conflicted) outcome).kind())
          .containsExactlyInAnyOrder(CommitOutcome.Kind.NEW_DELETES, CommitOutcome.Kind.INPUT_GONE);
      assertThat(fake.live())
          .isEqualTo(
              Map.of(
                  "c1",
                  Set.of(),
                  "d2",
                  Set.of("p"),
                  "c3",
                  Set.of(),
                  "c5",
                  Set.of(),
                  "x",
                  Set.of()));
      assertThat(coordinator.doomed()).as("a batch with commits has not failed").isFalse();
    }
  }

  @Test
  void c8GroupsAreTriedApartWhenNobodyKnowsWhoConflicts() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2", "d3", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      for (int i = 1; i <= 2; i++) {
        coordinator.offer(fake.group(base, List.of("d" + i), rows("c" + i, 10)));
      }
      // planned on a file that no snapshot ever held, so no snapshot removed it either
      FileScanTask d3 = FakeTable.tasks(fake.other(), base.snapshotId()).get(path("d3"));
      coordinator.offer(fake.group(List.of(new OtherFile(d3, rows("never", 10))), rows("c3", 10)));

      List<CommitOutcome> outcomes = coordinator.finish();
      assertThat(outcomes).hasSize(3);
      assertThat(of(outcomes, CommitOutcome.Conflicted.class).kind())
          .isEqualTo(CommitOutcome.Kind.INPUT_GONE);
      assertThat(fake.live()).containsOnlyKeys("c1", "c2", "d3", "x");
    }
  }

  @Test
  void c8LostRacesRecommitTheSameOutputs() throws Exception {
    try (FakeTable fake =
        FakeTable.of(2, NONE, Map.of("commit.retry.num-retries", "0")).append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      for (int i = 0; i < 2; i++) {
        String name = "f" + i;
        fake.operations.onCommit(
            real -> {
              fake.append(name);
              real.run();
            });
      }

      committed(coordinator.finish());
      assertThat(fake.operations.commits).isEqualTo(3);
      Snapshot head = fake.other().currentSnapshot();
      Set<String> written = new TreeSet<>();
      head.allManifests(fake.io()).stream()
          .filter(manifest -> manifest.snapshotId() == head.snapshotId())
          .forEach(manifest -> written.add(manifest.path()));
      written.add(head.manifestListLocation());
      assertThat(fake.operations.io.left).as("files of lost attempts").isEqualTo(written);
      assertThat(fake.live()).containsOnlyKeys("c", "x", "f0", "f1");
    }
  }

  @Test
  void c8RacesLostTooOftenFailCleanly() throws Exception {
    try (FakeTable fake =
        FakeTable.of(2, NONE, Map.of("commit.retry.num-retries", "1")).append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      for (int i = 0; i < 6; i++) {
        fake.operations.onCommit(
            real -> {
              throw new CommitFailedException("lost");
            });
      }

      assertThat(coordinator.finish())
          .singleElement()
          .isInstanceOfSatisfying(
              CommitOutcome.Failed.class,
              failed -> assertThat(failed.cause()).isInstanceOf(CommitFailedException.class));
      assertThat(fake.exists("c")).isFalse();
      assertThat(fake.exists("d")).isTrue();
      assertThat(fake.operations.io.left).as("no manifest is left behind").isEmpty();
      assertThat(coordinator.doomed()).isTrue();
    }
  }

  @Test
  void c8RolledBackHistoryIsLostForAllGroups() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2")) {
      long before = fake.other().currentSnapshot().snapshotId();
      fake.append("d3");
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d1"), rows("c1", 10)));
      coordinator.offer(fake.group(base, List.of("d2"), rows("c2", 10)));
      fake.other().manageSnapshots().rollbackTo(before).commit();

      CommitOutcome.Conflicted conflict = conflicted(coordinator.finish());
      assertThat(conflict.kind()).isEqualTo(CommitOutcome.Kind.HISTORY_LOST);
      assertThat(conflict.groups()).hasSize(2);
      assertThat(fake.live()).containsOnlyKeys("d1", "d2");
    }
  }

  @Test
  void c8InvalidReplaceFailsAndIsNotRetried() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      FileScanTask planned = FakeTable.tasks(fake.other(), base.snapshotId()).get(path("d"));
      DataFile claimsMore =
          DataFiles.builder(NONE).copy(planned.file()).withRecordCount(20).build();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(List.of(new OtherFile(planned, claimsMore)), rows("c", 15)));

      assertThat(coordinator.finish())
          .singleElement()
          .isInstanceOfSatisfying(
              CommitOutcome.Failed.class,
              failed ->
                  assertThat(failed.cause())
                      .isInstanceOf(IllegalArgumentException.class)
                      .hasMessageContaining("Invalid REPLACE operation"));
      assertThat(fake.operations.commits).isZero();
      assertThat(fake.exists("c")).isFalse();
    }
  }

  @Test
  void c8c19RemovedOutputSpecConflicts() throws Exception {
    try (FakeTable fake = FakeTable.of(2, BY_V).append(dataFile(BY_V, "v=a", "d", 10))) {
      fake.other().updateSpec().removeField("v").addField("w").commit();
      fake.table.refresh();
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(
          fake.group(base, List.of("d"), dataFile(fake.table.spec(), "w=z", "c", 10)));
      fake.other().updateSpec().removeField("w").commit();
      fake.other().expireSnapshots().cleanExpiredMetadata(true).commit();

      assertThat(conflicted(coordinator.finish()).kind()).isEqualTo(CommitOutcome.Kind.SPEC_GONE);
    }
  }

  @Test
  void c10CommitsRunOneAtATimeWhoeverOffers() throws Exception {
    try (FakeTable fake = FakeTable.v2()) {
      int groups = 24;
      String[] names = new String[groups];
      for (int i = 0; i < groups; i++) {
        names[i] = "d" + i;
      }
      fake.append(names);
      CommitBase base = fake.base();
      CommitCoordinator coordinator =
          new CommitCoordinator(fake.table, base, settings(2, true, true));
      List<CommitOutcome> outcomes = Collections.synchronizedList(new ArrayList<>());
      List<Thread> threads = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        List<RewriteFileGroup> offered = new ArrayList<>();
        for (int i = t; i < groups; i += 4) {
          offered.add(fake.group(base, List.of(names[i]), rows("c" + i, 10)));
        }
        Thread thread =
            new Thread(() -> offered.forEach(group -> outcomes.addAll(coordinator.offer(group))));
        threads.add(thread);
        thread.start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
      outcomes.addAll(coordinator.finish());

      assertThat(outcomes).hasSize(12).allMatch(CommitOutcome.Committed.class::isInstance);
      assertThat(fake.operations.runningMax).isEqualTo(1);
      assertThat(fake.live()).hasSize(groups).allSatisfy((n, d) -> assertThat(n).startsWith("c"));
    }
  }

  @Test
  void c13ReplacedFilesAndOlderSnapshotsStay() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      committed(coordinator.finish());

      assertThat(fake.exists("d")).isTrue();
      assertThat(FakeTable.tasks(fake.other(), base.snapshotId()))
          .containsOnlyKeys(path("d"), path("x"));
    }
  }

  @Test
  void c16BranchIsCommittedAndMainIsNot() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d")) {
      fake.other().manageSnapshots().createBranch("audit").commit();
      fake.other().newAppend().appendFile(rows("onBranch", 10)).toBranch("audit").commit();
      long main = fake.other().currentSnapshot().snapshotId();
      CommitBase base = fake.base("audit");
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d", "onBranch"), rows("c", 20)));

      CommitOutcome.Committed committed = committed(coordinator.finish());
      assertThat(fake.other().snapshot("audit").snapshotId()).isEqualTo(committed.snapshotId());
      assertThat(fake.live("audit")).containsOnlyKeys("c");
      assertThat(fake.other().currentSnapshot().snapshotId()).isEqualTo(main);
    }
  }

  @Test
  void c16BranchThatWasDroppedIsNotCreatedAgain() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d")) {
      fake.other().manageSnapshots().createBranch("audit").commit();
      CommitBase base = fake.base("audit");
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      fake.other().manageSnapshots().removeBranch("audit").commit();

      assertThat(conflicted(coordinator.finish()).kind())
          .isEqualTo(CommitOutcome.Kind.HISTORY_LOST);
      assertThat(fake.other().refs()).containsOnlyKeys("main");
    }
  }

  @Test
  void c22ReservedSnapshotPropertiesAreRefused() {
    for (String key :
        List.of(
            "firn.run-id",
            "wap.id",
            "added-records",
            "total-records",
            "iceberg-version",
            "operation",
            "partitions.v=a",
            "source-snapshot-id",
            "manifests-created")) {
      assertThatThrownBy(() -> withProperty(key))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(key);
    }
    assertThat(withProperty("additional").snapshotProperties()).containsKey("additional");
  }

  @Test
  void c23ExpiredPlannedSnapshotIsNoConflictWhileItsChildNamesIt() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      fake.append("f");
      fake.other().expireSnapshots().expireSnapshotId(base.snapshotId()).commit();

      committed(coordinator.finish());
      assertThat(file(fake, "c").dataSequenceNumber()).isEqualTo(base.sequenceNumber());
    }
  }

  @Test
  void c23DeeperExpiryLosesTheHistory() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      fake.append("f1").append("f2");
      fake.other().expireSnapshots().expireOlderThan(Long.MAX_VALUE).retainLast(1).commit();

      assertThat(conflicted(coordinator.finish()).kind())
          .isEqualTo(CommitOutcome.Kind.HISTORY_LOST);
    }
  }

  @Test
  void c25EarlierCommitsOfTheRunAreNoConflicts() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2", "d3")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator =
          new CommitCoordinator(fake.table, base, settings(1, true, true));
      for (int i = 1; i <= 3; i++) {
        committed(coordinator.offer(fake.group(base, List.of("d" + i), rows("c" + i, 10))));
      }
      assertThat(fake.live()).containsOnlyKeys("c1", "c2", "c3");
      assertThat(fake.other().history()).hasSize(4);
    }
  }

  @Test
  void c25c15GroupsMustBeDisjointAndTheirOutputsNew() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d1"), rows("c1", 10)));

      assertThatThrownBy(
              () -> coordinator.offer(fake.group(base, List.of("d1", "d2"), rows("c2", 20))))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining(path("d1"));
      assertThatThrownBy(() -> coordinator.offer(fake.group(base, List.of("d2"), rows("c1", 10))))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining(path("c1"));
      assertThatThrownBy(() -> coordinator.offer(fake.group(base, List.of("d2"), rows("d2", 10))))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining(path("d2"));
      assertThatThrownBy(() -> coordinator.offer(fake.group(base, List.of("d2"), rows("d1", 10))))
          .isInstanceOf(IllegalStateException.class);
    }
  }

  @Test
  void c26n2d31RowsMustNotGrowAndOutputsNotBeEmpty() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      assertThatThrownBy(() -> coordinator.offer(fake.group(base, List.of("d1"), rows("c", 11))))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("11 rows");
      assertThatThrownBy(() -> coordinator.offer(fake.group(base, List.of("d1"), rows("c", 0))))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("no rows");
      RewriteFileGroup good = fake.group(base, List.of("d1"), rows("c", 10));
      coordinator.offer(good);
      committed(coordinator.finish());
      assertThatThrownBy(() -> coordinator.offer(good)).isInstanceOf(IllegalStateException.class);
    }
  }

  @Test
  void d31GroupWithoutOutputsCommitsTheRemoval() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d")));

      committed(coordinator.finish());
      assertThat(fake.live()).containsOnlyKeys("x");
    }
  }

  @Test
  void withoutPartialProgressOneConflictMeansNothingIsCommitted() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator =
          new CommitCoordinator(fake.table, base, settings(1, false, true));
      assertThat(coordinator.offer(fake.group(base, List.of("d1"), rows("c1", 10)))).isEmpty();
      assertThat(coordinator.offer(fake.group(base, List.of("d2"), rows("c2", 10)))).isEmpty();
      fake.other().newDelete().deleteFile(path("d2")).commit();

      CommitOutcome.Conflicted conflict = conflicted(coordinator.finish());
      assertThat(conflict.groups()).hasSize(2);
      assertThat(conflict.kind()).isEqualTo(CommitOutcome.Kind.INPUT_GONE);
      assertThat(fake.live()).containsOnlyKeys("d1", "x");
      assertThat(fake.exists("c1")).isFalse();
      assertThat(fake.exists("c2")).isFalse();
    }
  }

  @Test
  void withoutPartialProgressAllGroupsAreOneSnapshot() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator =
          new CommitCoordinator(fake.table, base, settings(1, false, true));
      coordinator.offer(fake.group(base, List.of("d1"), rows("c1", 10)));
      coordinator.offer(fake.group(base, List.of("d2"), rows("c2", 10)));

      assertThat(committed(coordinator.finish()).groups()).hasSize(2);
      assertThat(fake.other().history()).hasSize(2);
    }
  }

  @Test
  void n3ManifestsKeepSequenceNumbersAndStatusAlsoWhenMerged() throws Exception {
    try (FakeTable fake =
        FakeTable.of(2, NONE, Map.of("commit.manifest.min-count-to-merge", "2"))
            .append("d1", "x1")
            .append("d2", "x2")) {
      CommitBase base = fake.base();
      fake.append("f");
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d1", "d2"), rows("c", 20)));
      committed(coordinator.finish());

      // status 0 existing, 1 added, 2 deleted; then data and file sequence number
      assertThat(entries(fake))
          .isEqualTo(
              Map.of(
                  "x1", "0 1 1", "x2", "0 2 2", "f", "0 3 3", "c", "1 2 4", "d1", "2 1 1", "d2",
                  "2 2 2"));
      fake.append("g");
      assertThat(entries(fake)).containsEntry("c", "0 2 4");
    }
  }

  @Test
  void n5l8LineageOfUntouchedFilesIsKept() throws Exception {
    try (FakeTable fake =
        FakeTable.of(3, NONE, Map.of("commit.manifest.min-count-to-merge", "2"))
            .append("d", "x")
            .append("y")) {
      Long before = file(fake, "x").firstRowId();
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      committed(coordinator.finish());

      assertThat(file(fake, "x").firstRowId()).isNotNull().isEqualTo(before);
      assertThat(file(fake, "c").firstRowId()).isGreaterThanOrEqualTo(30);
    }
  }

  @Test
  void n8FormatVersion1StaysAndCommits() throws Exception {
    try (FakeTable fake = FakeTable.of(1, NONE).append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      fake.append("f");

      committed(coordinator.finish());
      assertThat(fake.live()).containsOnlyKeys("c", "x", "f");
      assertThat(metadata(fake).formatVersion()).isEqualTo(1);
    }
  }

  @Test
  void n8UpgradeTo2AfterPlanningStillAppliesLaterDeletes() throws Exception {
    try (FakeTable fake = FakeTable.of(1, NONE).append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      fake.other().updateProperties().set("format-version", "2").commit();
      fake.delete(equalityDeletes("e")).append("f");

      committed(coordinator.finish());
      assertThat(fake.live()).isEqualTo(Map.of("c", Set.of("e"), "x", Set.of("e"), "f", Set.of()));
    }
  }

  @Test
  void n11NothingButTheBranchChanges() throws Exception {
    try (FakeTable fake = FakeTable.of(2, BY_V).append(dataFile(BY_V, "v=a", "d", 10))) {
      fake.other().manageSnapshots().createTag("kept", fake.base().snapshotId()).commit();
      CommitBase base = fake.base();
      TableMetadata before = metadata(fake);
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile(BY_V, "v=a", "c", 10)));
      committed(coordinator.finish());

      TableMetadata after = metadata(fake);
      assertThat(after.properties()).isEqualTo(before.properties());
      assertThat(after.currentSchemaId()).isEqualTo(before.currentSchemaId());
      assertThat(after.defaultSpecId()).isEqualTo(before.defaultSpecId());
      assertThat(after.defaultSortOrderId()).isEqualTo(before.defaultSortOrderId());
      assertThat(after.ref("kept")).isEqualTo(before.ref("kept"));
      assertThat(after.refs()).hasSize(2);
    }
  }

  @Test
  void metadataTablesAreRefused() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d")) {
      Table files =
          MetadataTableUtils.createMetadataTableInstance(fake.table, MetadataTableType.FILES);
      assertThat(files).isInstanceOf(BaseMetadataTable.class);
      CommitBase base = fake.base();
      assertThatThrownBy(() -> new CommitCoordinator(files, base, settings(1)))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  private static CommitSettings withProperty(String key) {
    return new CommitSettings("run-1", 1, true, 0, true, Map.of(key, "value"), Duration.ZERO, 1);
  }

  private static DataFile rows(String name, long rows) {
    return dataFile(NONE, "", name, rows);
  }

  private static DataFile file(FakeTable fake, String name) {
    Table fresh = fake.other();
    return FakeTable.tasks(fresh, fresh.currentSnapshot().snapshotId()).get(path(name)).file();
  }

  private static TableMetadata metadata(FakeTable fake) {
    return ((HasTableOperations) fake.other()).operations().current();
  }

  /** Status, data and file sequence number of every entry of the head's data manifests. */
  private static Map<String, String> entries(FakeTable fake) throws Exception {
    Table entries =
        MetadataTableUtils.createMetadataTableInstance(fake.other(), MetadataTableType.ENTRIES);
    Schema schema = entries.schema();
    int file = schema.columns().indexOf(schema.findField("data_file"));
    Map<String, String> found = new TreeMap<>();
    try (CloseableIterable<FileScanTask> tasks = entries.newScan().planFiles()) {
      for (FileScanTask task : tasks) {
        try (CloseableIterable<StructLike> rows = task.asDataTask().rows()) {
          for (StructLike row : rows) {
            StructLike data = row.get(file, StructLike.class);
            int location =
                schema.findField("data_file").type().asStructType().fields().stream()
                    .map(Types.NestedField::name)
                    .toList()
                    .indexOf("file_path");
            found.put(
                FakeTable.name(data.get(location, CharSequence.class).toString()),
                row.get(0, Integer.class)
                    + " "
                    + row.get(2, Long.class)
                    + " "
                    + row.get(3, Long.class));
          }
        }
      }
    }
    return found;
  }

  static CommitOutcome.Committed committed(List<CommitOutcome> outcomes) {
    assertThat(outcomes).singleElement().isInstanceOf(CommitOutcome.Committed.class);
    return (CommitOutcome.Committed) outcomes.get(0);
  }

  static CommitOutcome.Conflicted conflicted(List<CommitOutcome> outcomes) {
    assertThat(outcomes).singleElement().isInstanceOf(CommitOutcome.Conflicted.class);
    return (CommitOutcome.Conflicted) outcomes.get(0);
  }

  private static <T extends CommitOutcome> T of(List<CommitOutcome> outcomes, Class<T> type) {
    List<T> found = outcomes.stream().filter(type::isInstance).map(type::cast).toList();
    assertThat(found).as("%s in %s", type.getSimpleName(), outcomes).hasSize(1);
    return found.get(0);
  }
}
