package dev.firn.commit;

import static dev.firn.commit.CommitCoordinatorTest.committed;
import static dev.firn.commit.FakeTable.dataFile;
import static dev.firn.commit.FakeTable.settings;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.exceptions.NotAuthorizedException;
import org.apache.iceberg.exceptions.RuntimeIOException;
import org.junit.jupiter.api.Test;

/** Answers of the catalog that are lost, late or wrong. */
class UnknownOutcomeTest {
  private static CommitStateUnknownException unknown() {
    return new CommitStateUnknownException(new RuntimeException("the answer was lost"));
  }

  @Test
  void c11CommitWhoseAnswerWasLostIsFoundByItsMarker() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      AtomicReference<Long> landedAs = new AtomicReference<>();
      fake.operations.onCommit(
          real -> {
            real.run();
            landedAs.set(fake.other().currentSnapshot().snapshotId());
            fake.append("f"); // so that our snapshot is not the head
            throw unknown();
          });

      assertThat(committed(coordinator.finish()).snapshotId()).isEqualTo(landedAs.get());
      assertThat(fake.live()).containsOnlyKeys("c", "x", "f");
      assertThat(fake.exists("c")).isTrue();
    }
  }

  @Test
  void c11CommitThatIsNotFoundIsInDoubtAndNothingIsDeleted() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator =
          new CommitCoordinator(fake.table, base, settings(1, true, true));
      fake.operations.onCommit(
          real -> {
            throw unknown();
          });
      RewriteFileGroup group = fake.group(base, List.of("d1"), dataFile("c1"));

      assertThat(coordinator.offer(group))
          .singleElement()
          .isInstanceOf(CommitOutcome.Unknown.class);
      assertThat(fake.exists("c1")).isTrue();
      assertThat(fake.operations.commits).isEqualTo(1);
      assertThatThrownBy(() -> coordinator.offer(group))
          .as("the same inputs are not redone")
          .isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(() -> coordinator.discard(group))
          .isInstanceOf(IllegalStateException.class);
      assertThat(fake.exists("c1")).isTrue();

      // later batches go on
      committed(coordinator.offer(fake.group(base, List.of("d2"), dataFile("c2"))));
      assertThat(fake.live()).containsOnlyKeys("d1", "c2", "x");
    }
  }

  @Test
  void c11CommitThatLandsLateIsWaitedFor() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.operations.onCommit(
          real -> {
            fake.operations.onRefresh(() -> {}).onRefresh(real);
            throw unknown();
          });

      committed(coordinator.finish());
      assertThat(fake.live()).containsOnlyKeys("c", "x");
    }
  }

  @Test
  void c11TableThatCannotBeLoadedLeavesTheDoubt() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.operations.onCommit(
          real -> {
            real.run();
            for (int i = 0; i < 100; i++) {
              fake.operations.onRefresh(UnknownOutcomeTest::refuse);
            }
            throw unknown();
          });

      assertThat(coordinator.finish()).singleElement().isInstanceOf(CommitOutcome.Unknown.class);
      assertThat(fake.live()).containsOnlyKeys("c", "x");
      assertThat(fake.exists("c")).isTrue();
    }
  }

  @Test
  void c11RolledBackCommitHasLandedAllTheSame() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.operations.onCommit(
          real -> {
            real.run();
            fake.other().manageSnapshots().rollbackTo(base.snapshotId()).commit();
            throw unknown();
          });

      committed(coordinator.finish());
      assertThat(fake.exists("c")).as("the table's history refers to it").isTrue();
    }
  }

  @Test
  void c11AnyExceptionThatProvesNothingIsDoubt() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.operations.onCommit(
          real -> {
            throw new IllegalStateException("connection pool shut down");
          });

      assertThat(coordinator.finish()).singleElement().isInstanceOf(CommitOutcome.Unknown.class);
      assertThat(fake.exists("c")).isTrue();
    }
  }

  @Test
  void c11c12RefusalOfACommitThatLandedDeletesNoLiveFile() throws Exception {
    try (FakeTable fake =
        FakeTable.of(2, PartitionSpec.unpartitioned(), Map.of("commit.retry.num-retries", "0"))
            .append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.operations.onCommit(
          real -> {
            real.run();
            throw new CommitFailedException("a retry below met its own first try");
          });

      committed(coordinator.finish());
      assertThat(fake.live()).containsOnlyKeys("c", "x");
      assertThat(fake.exists("c")).isTrue();
    }
  }

  @Test
  void c11c12RetryInsideIcebergThatMeetsItsOwnCommitDeletesNoLiveFile() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.operations.onCommit(
          real -> {
            real.run();
            throw new CommitFailedException("landed, but refused");
          });

      committed(coordinator.finish());
      assertThat(fake.live()).containsOnlyKeys("c", "x");
      assertThat(fake.exists("c")).isTrue();
    }
  }

  @Test
  void c11c12RetryInsideIcebergDoesNotRollBackWhatCameAfterItsOwnCommit() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      AtomicReference<Long> landedAs = new AtomicReference<>();
      fake.operations.onCommit(
          real -> {
            real.run();
            landedAs.set(fake.other().currentSnapshot().snapshotId());
            fake.append("f");
            throw new CommitFailedException("landed, but refused");
          });

      assertThat(committed(coordinator.finish()).snapshotId()).isEqualTo(landedAs.get());
      assertThat(fake.live()).containsOnlyKeys("c", "x", "f");
      assertThat(fake.exists("c")).isTrue();
    }
  }

  @Test
  void c12RefusalByTypeCleansUp() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.operations.onCommit(
          real -> {
            throw new NotAuthorizedException("no");
          });

      assertThat(coordinator.finish()).singleElement().isInstanceOf(CommitOutcome.Failed.class);
      assertThat(fake.exists("c")).isFalse();
      assertThat(fake.exists("d")).isTrue();
      assertThat(fake.operations.commits).isEqualTo(1);
    }
  }

  @Test
  void c12FailureBeforeAnyCommitCleansUpWhateverItsType() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      for (int i = 0; i < 10; i++) {
        fake.operations.onRefresh(UnknownOutcomeTest::refuse);
      }

      assertThat(coordinator.finish()).singleElement().isInstanceOf(CommitOutcome.Failed.class);
      assertThat(fake.operations.commits).isZero();
      assertThat(fake.exists("c")).isFalse();
      assertThat(fake.live()).containsOnlyKeys("d", "x");
    }
  }

  @Test
  void c12odAnAttemptThatFailsUnexpectedlyLeavesNoFilesOfTheOneThatLostTheRace() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.operations.onCommit(
          real -> {
            fake.append("f");
            fake.operations.onRefresh(
                () -> {
                  throw new IllegalArgumentException("Missing field 5");
                });
            real.run();
          });

      assertThat(coordinator.finish()).singleElement().isInstanceOf(CommitOutcome.Failed.class);
      assertThat(fake.operations.commits).isEqualTo(1);
      assertThat(fake.operations.io.left).as("manifests, which Iceberg leaves").isEmpty();
      assertThat(fake.live()).containsOnlyKeys("d", "x", "f");
    }
  }

  @Test
  void c12UnreadableMetadataIsTriedAgain() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.operations.onRefresh(
          () -> {
            throw new RuntimeIOException("connection reset");
          });

      committed(coordinator.finish());
    }
  }

  @Test
  void c12DiscardCleansUpGroupsThatWereNotOffered() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      RewriteFileGroup offered = fake.group(base, List.of("d1"), dataFile("c1"));
      coordinator.offer(offered);
      RewriteFileGroup other = fake.group(base, List.of("d2"), dataFile("c2"));
      coordinator.discard(other);

      assertThat(fake.exists("c2")).isFalse();
      assertThat(fake.exists("d2")).isTrue();
      assertThatThrownBy(() -> coordinator.discard(offered))
          .isInstanceOf(IllegalStateException.class);
      assertThat(fake.exists("c1")).isTrue();
    }
  }

  @Test
  void c13DiscardNeverDeletesInputs() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d1", "d2")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d1"), dataFile("c1")));
      // outputs that are in truth inputs, its own and another group's
      RewriteFileGroup wrong =
          fake.group(base, List.of("d2"), dataFile("d1"), dataFile("d2"), dataFile("c1"));

      assertThatThrownBy(() -> coordinator.discard(wrong))
          .isInstanceOf(IllegalStateException.class);
      assertThat(List.of("d1", "d2", "c1")).allMatch(fake::exists);
    }
  }

  @Test
  void c11InterruptedWaitIsDoubtAndStaysInterrupted() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      CommitCoordinator coordinator = fake.coordinator(base);
      coordinator.offer(fake.group(base, List.of("d"), dataFile("c")));
      fake.operations.onCommit(
          real -> {
            Thread.currentThread().interrupt();
            throw unknown();
          });

      List<CommitOutcome> outcomes = coordinator.finish();
      assertThat(Thread.interrupted()).isTrue();
      assertThat(outcomes).singleElement().isInstanceOf(CommitOutcome.Unknown.class);
      assertThat(fake.exists("c")).isTrue();
    }
  }

  private static void refuse() {
    throw new IllegalStateException("the catalog is down");
  }
}
