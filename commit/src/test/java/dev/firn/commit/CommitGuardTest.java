package dev.firn.commit;

import static dev.firn.commit.FakeTable.BY_V;
import static dev.firn.commit.FakeTable.dataFile;
import static dev.firn.commit.FakeTable.deletionVector;
import static dev.firn.commit.FakeTable.equalityDeletes;
import static dev.firn.commit.FakeTable.settings;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.junit.jupiter.api.Test;

/** What Iceberg would commit although rows come back or go away, and what the guard does. */
class CommitGuardTest {
  private static final PartitionSpec NONE = PartitionSpec.unpartitioned();

  @Test
  void h1PlainCommitDropsAConcurrentEqualityDelete() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2")) {
      CommitBase base = fake.base();
      RewriteFileGroup group = fake.group(base, List.of("d1", "d2"), dataFile("c"));
      fake.delete(equalityDeletes("e")).append("f");
      fake.commitPlainly(base, true, group);

      assertThat(fake.live()).isEqualTo(Map.of("c", Set.of(), "f", Set.of()));
    }
  }

  @Test
  void h1EqualityDeleteSurvivesBecauseTheGroupIsRefused() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d1", "d2"), dataFile("c")));
      fake.delete(equalityDeletes("e")).append("f");

      assertConflict(coordinator.finish(), CommitOutcome.Kind.GUARD, "(H1)");
      assertThat(fake.live())
          .isEqualTo(Map.of("d1", Set.of("e"), "d2", Set.of("e"), "f", Set.of()));
      assertThat(fake.exists("c")).isFalse();
    }
  }

  @Test
  void h1AlsoWithTwoDeleteOnlyCommits() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1")) {
      CommitBase base = fake.base();
      fake.delete(equalityDeletes("e")).delete(equalityDeletes("e2"));
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d1"), dataFile("c")));

      assertConflict(coordinator.finish(), CommitOutcome.Kind.GUARD, "(H1)");
      assertThat(fake.live()).isEqualTo(Map.of("d1", Set.of("e", "e2")));

      fake.commitPlainly(base, true, fake.group(base, List.of("d1"), dataFile("c2")));
      assertThat(fake.live()).isEqualTo(Map.of("c2", Set.of("e2")));
    }
  }

  @Test
  void h1IsNoConcernWithOneDeleteOnlyCommit() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1")) {
      CommitBase base = fake.base();
      fake.delete(equalityDeletes("e"));
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d1"), dataFile("c")));

      assertCommitted(coordinator.finish());
      assertThat(fake.live()).isEqualTo(Map.of("c", Set.of("e")));
    }
  }

  @Test
  void h1IsNoConcernWhenAnOldFileStays() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2")) {
      CommitBase base = fake.base();
      fake.delete(equalityDeletes("e")).append("f");
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d1"), dataFile("c")));

      assertCommitted(coordinator.finish());
      assertThat(fake.live()).isEqualTo(Map.of("c", Set.of("e"), "d2", Set.of("e"), "f", Set.of()));
    }
  }

  @Test
  void h1SeveralGroupsAreCommittedApartSoThatTheDeleteStays() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2")) {
      CommitBase base = fake.base();
      fake.delete(equalityDeletes("e")).append("f");
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d1"), dataFile("c1")));
      coordinator.offer(fake.group(base, List.of("d2"), dataFile("c2")));

      assertThat(coordinator.finish())
          .hasSize(2)
          .allMatch(CommitOutcome.Committed.class::isInstance);
      assertThat(fake.live())
          .isEqualTo(Map.of("c1", Set.of("e"), "c2", Set.of("e"), "f", Set.of()));
    }
  }

  @Test
  void h1IgnoresDeletesOfOtherPartitions() throws Exception {
    try (FakeTable fake = FakeTable.of(2, BY_V).append(dataFile(BY_V, "v=a", "d1", 10))) {
      CommitBase base = fake.base();
      fake.delete(equalityDeletes(BY_V, "v=b", "e", 1)).append(dataFile(BY_V, "v=b", "f", 10));
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d1"), dataFile(BY_V, "v=a", "c", 10)));

      assertCommitted(coordinator.finish());
    }
  }

  @Test
  void h2PlainCommitIntoAnotherSpecLosesAConcurrentEqualityDelete() throws Exception {
    try (FakeTable fake = evolved()) {
      CommitBase base = fake.base();
      RewriteFileGroup group = fake.group(base, List.of("d"), inNewSpec(fake, "c"));
      fake.delete(equalityDeletes(BY_V, "v=a", "e", 1));
      assertThat(fake.live().get("d")).containsExactly("e");
      fake.commitPlainly(base, true, group);

      assertThat(fake.live().get("c")).isEmpty();
    }
  }

  @Test
  void h2GroupThatChangesSpecConflictsWithAConcurrentEqualityDelete() throws Exception {
    try (FakeTable fake = evolved()) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), inNewSpec(fake, "c")));
      fake.delete(equalityDeletes(BY_V, "v=a", "e", 1));

      assertConflict(coordinator.finish(), CommitOutcome.Kind.NEW_DELETES, "e");
      assertThat(fake.live().get("d")).containsExactly("e");
    }
  }

  @Test
  void h3PlainCommitIntoAnotherSpecExposesRowsToADeleteThatDidNotApply() throws Exception {
    try (FakeTable fake = evolved()) {
      CommitBase base = fake.base();
      RewriteFileGroup group = fake.group(base, List.of("d"), inNewSpec(fake, "c"));
      fake.delete(equalityDeletes(fake.table.spec(), "w=z", "e", 1));
      assertThat(fake.live().get("d")).isEmpty();
      fake.commitPlainly(base, true, group);

      assertThat(fake.live().get("c")).containsExactly("e");
    }
  }

  @Test
  void h3GroupThatChangesSpecGetsANewSequenceNumber() throws Exception {
    try (FakeTable fake = evolved()) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), inNewSpec(fake, "c")));
      fake.delete(equalityDeletes(fake.table.spec(), "w=z", "e", 1));

      assertCommitted(coordinator.finish());
      assertThat(fake.live().get("c")).isEmpty();
    }
  }

  @Test
  void h2h3GroupsThatKeepTheirPartitionAreCommittedApartFromThoseThatDoNot() throws Exception {
    try (FakeTable fake = evolved()) {
      fake.append(inNewSpec(fake, "n"));
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), inNewSpec(fake, "c1")));
      coordinator.offer(fake.group(base, List.of("n"), inNewSpec(fake, "c2")));

      assertThat(coordinator.finish())
          .hasSize(2)
          .allMatch(CommitOutcome.Committed.class::isInstance);
      Table after = fake.other();
      Map<String, org.apache.iceberg.FileScanTask> tasks =
          FakeTable.tasks(after, after.currentSnapshot().snapshotId());
      assertThat(tasks.get(FakeTable.path("c1")).file().dataSequenceNumber())
          .isGreaterThan(base.sequenceNumber());
      assertThat(tasks.get(FakeTable.path("c2")).file().dataSequenceNumber())
          .isEqualTo(base.sequenceNumber());
    }
  }

  @Test
  void h2WithoutPartialProgressOneChangedGroupTakesTheSequenceNumberFromAll() throws Exception {
    try (FakeTable fake = evolved()) {
      fake.append(inNewSpec(fake, "n"));
      CommitBase base = fake.base();
      CommitCoordinator coordinator =
          new CommitCoordinator(fake.table, base, settings(100, false, true));
      coordinator.offer(fake.group(base, List.of("d"), inNewSpec(fake, "c1")));
      coordinator.offer(fake.group(base, List.of("n"), inNewSpec(fake, "c2")));
      fake.delete(equalityDeletes(BY_V, "v=a", "e", 1));

      List<CommitOutcome> outcomes = coordinator.finish();
      assertConflict(outcomes, CommitOutcome.Kind.NEW_DELETES, "e");
      assertThat(outcomes.get(0).groups()).hasSize(2);
    }
  }

  @Test
  void h4PlainCommitMissesEqualityDeletesThatAReplaceTurnedIntoVectors() throws Exception {
    try (FakeTable fake = FakeTable.of(3, NONE).append("d", "x")) {
      CommitBase base = fake.base();
      RewriteFileGroup group = fake.group(base, List.of("d"), dataFile("c"));
      convertEqualityDeletesToVector(fake);
      assertThat(fake.live().get("d")).containsExactly("dv");
      fake.commitPlainly(base, true, group);

      assertThat(fake.live().get("c")).isEmpty();
    }
  }

  @Test
  void h4GroupConflictsWithVectorsThatAReplaceMadeOfEqualityDeletes() throws Exception {
    try (FakeTable fake = FakeTable.of(3, NONE).append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      convertEqualityDeletesToVector(fake);

      assertConflict(coordinator.finish(), CommitOutcome.Kind.GUARD, "(H4)");
      assertThat(fake.live().get("d")).containsExactly("dv");
    }
  }

  @Test
  void h4ReplacedVectorsWithoutNewDeletesAreNoConflict() throws Exception {
    try (FakeTable fake = FakeTable.of(3, NONE).append("d", "x")) {
      DeleteFile before = deletionVector("dv1", "d");
      fake.delete(before);
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile(NONE, "", "c", 9)));
      fake.other()
          .newRewrite()
          .rewriteFiles(
              Set.of(),
              Set.of(
                  FakeTable.tasks(fake.other(), base.snapshotId())
                      .get(FakeTable.path("d"))
                      .deletes()
                      .get(0)),
              Set.of(),
              Set.of(deletionVector("dv2", "d")))
          .commit();

      assertCommitted(coordinator.finish());
      assertThat(fake.live()).isEqualTo(Map.of("c", Set.of(), "x", Set.of()));
    }
  }

  @Test
  void h5PlainCommitMissesAnEqualityDeleteOnUuids() throws Exception {
    try (FakeTable fake = withUuids()) {
      CommitBase base = fake.base();
      RewriteFileGroup group = fake.group(base, List.of("d"), dataFile("c"));
      fake.delete(uuidDeletes());
      fake.commitPlainly(base, false, group);

      assertThat(fake.live().get("c")).isEmpty();
    }
  }

  @Test
  void h5GuardDoesNotTrustBounds() throws Exception {
    try (FakeTable fake = withUuids()) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator =
          new CommitCoordinator(fake.table, base, settings(100, true, false));
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.delete(uuidDeletes());

      assertConflict(coordinator.finish(), CommitOutcome.Kind.NEW_DELETES, "e");
      assertThat(fake.live()).containsOnlyKeys("d", "x");
    }
  }

  @Test
  void d15EqualityDeletesOnAColumnThatOutputsLackConflict() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      fake.other().updateSchema().deleteColumn("w").commit();
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.delete(equalityDeletes(NONE, "", "e", 3));

      assertConflict(coordinator.finish(), CommitOutcome.Kind.GUARD, "(D15)");
    }
  }

  @Test
  void c27EqualityDeleteThatWasRemovedAgainStillCounts() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator =
          new CommitCoordinator(fake.table, base, settings(100, true, false));
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      DeleteFile deletes = equalityDeletes("e");
      fake.delete(deletes);
      fake.other()
          .newRewrite()
          .rewriteFiles(Set.of(), Set.of(deletes), Set.of(), Set.of())
          .commit();

      assertConflict(coordinator.finish(), CommitOutcome.Kind.NEW_DELETES, "e");
    }
  }

  @Test
  void c9c27GuardSeesWhatLandedBetweenTheAttempts() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d1", "d2"), dataFile("c")));
      fake.operations.onCommit(
          real -> {
            fake.delete(equalityDeletes("e"));
            fake.append("f");
            real.run();
          });

      assertConflict(coordinator.finish(), CommitOutcome.Kind.GUARD, "(H1)");
      assertThat(fake.live().get("d1")).containsExactly("e");
    }
  }

  @Test
  void c27MergedDeleteManifestsAreReadByTheirOwnSnapshot() throws Exception {
    try (FakeTable fake =
        FakeTable.of(2, NONE, Map.of("commit.manifest.min-count-to-merge", "2")).append("d", "x")) {
      fake.delete(equalityDeletes("before"));
      CommitBase base = fake.base();
      fake.delete(equalityDeletes("after1")).delete(equalityDeletes("after2"));
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));

      assertCommitted(coordinator.finish());
      assertThat(fake.live().get("c")).containsExactlyInAnyOrder("after1", "after2");
    }
  }

  @Test
  void c20UpgradeAfterPlanningConflicts() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.other().updateProperties().set("format-version", "3").commit();

      assertConflict(coordinator.finish(), CommitOutcome.Kind.UPGRADED, "format version");
      assertThat(fake.live()).containsOnlyKeys("d", "x");
    }
  }

  /** File d in spec 0 (v=a), the current spec by w. */
  private static FakeTable evolved() {
    FakeTable fake =
        FakeTable.of(2, BY_V)
            .append(dataFile(BY_V, "v=a", "d", 10), dataFile(BY_V, "v=b", "stays", 10));
    fake.other().updateSpec().removeField("v").addField("w").commit();
    fake.table.refresh();
    return fake;
  }

  private static DataFile inNewSpec(FakeTable fake, String name) {
    return dataFile(fake.table.spec(), "w=z", name, 10);
  }

  private static void convertEqualityDeletesToVector(FakeTable fake) {
    DeleteFile deletes = equalityDeletes("e");
    fake.delete(deletes);
    fake.other()
        .newRewrite()
        .rewriteFiles(Set.of(), Set.of(deletes), Set.of(), Set.of(deletionVector("dv", "d")))
        .commit();
  }

  private static FakeTable withUuids() {
    return FakeTable.v2()
        .append(dataFile(NONE, "", "d", 10, FakeTable.uuidMetrics("10", "F0")))
        .append("x");
  }

  private static DeleteFile uuidDeletes() {
    return FileMetadata.deleteFileBuilder(NONE)
        .ofEqualityDeletes(4)
        .withPath(FakeTable.path("e"))
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(10)
        .withMetrics(FakeTable.uuidMetrics("20", "20"))
        .withRecordCount(1)
        .build();
  }

  private static void assertCommitted(List<CommitOutcome> outcomes) {
    assertThat(outcomes).singleElement().isInstanceOf(CommitOutcome.Committed.class);
  }

  private static void assertConflict(
      List<CommitOutcome> outcomes, CommitOutcome.Kind kind, String messagePart) {
    assertThat(outcomes)
        .singleElement()
        .isInstanceOfSatisfying(
            CommitOutcome.Conflicted.class,
            conflict -> {
              assertThat(conflict.kind()).isEqualTo(kind);
              assertThat(conflict.message()).contains(messagePart);
            });
  }
}
