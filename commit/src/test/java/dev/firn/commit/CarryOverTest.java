package dev.firn.commit;

import static dev.firn.commit.FakeTable.dataFile;
import static dev.firn.commit.FakeTable.deletionVector;
import static dev.firn.commit.FakeTable.equalityDeletes;
import static dev.firn.commit.FakeTable.path;
import static dev.firn.commit.FakeTable.positionDeletes;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.junit.jupiter.api.Test;

/** What the coordinator does with position deletes that land on inputs, and when it cannot. */
class CarryOverTest {
  private static final PartitionSpec UNPARTITIONED = PartitionSpec.unpartitioned();

  /** Writes one delete file for the output {@code c} each time, and replaces what it is given. */
  private static final class Scripted implements CarryOver {
    final FakeTable fake;
    final List<List<NewDeletes>> calls = new ArrayList<>();
    boolean rest;
    boolean unable;
    IOException failure;
    Runnable meanwhile = () -> {};

    Scripted(FakeTable fake) {
      this.fake = fake;
    }

    @Override
    public Optional<Carried> carry(List<NewDeletes> deletes, int formatVersion) throws IOException {
      calls.add(deletes);
      meanwhile.run();
      if (failure != null) {
        throw failure;
      } else if (unable) {
        return Optional.empty();
      }
      Set<String> seen = new TreeSet<>();
      List<Replacement> replacements = new ArrayList<>();
      for (NewDeletes of : deletes) {
        for (List<DeleteFile> files : of.byInput().values()) {
          for (DeleteFile file : files) {
            if (seen.add(file.location())) {
              replacements.add(
                  new Replacement(
                      file,
                      rest
                          ? Optional.of(written(positionDeletes(UNPARTITIONED, "", "rest", null)))
                          : Optional.empty()));
            }
          }
        }
      }
      String name = "carried" + calls.size();
      DeleteFile added =
          formatVersion >= 3
              ? deletionVector(name, "c")
              : positionDeletes(UNPARTITIONED, "", name, "c");
      return Optional.of(new Carried(List.of(written(added)), replacements, 3));
    }

    private DeleteFile written(DeleteFile file) {
      fake.io().addFile(file.location(), new byte[] {3});
      return file;
    }
  }

  private static CommitCoordinator coordinator(
      FakeTable fake, CommitBase base, boolean partialProgress, CarryOver carryOver) {
    return new CommitCoordinator(
        fake.table, base, FakeTable.settings(100, partialProgress, true), carryOver);
  }

  private static Set<String> deleteFiles(Table table) {
    Set<String> locations = new TreeSet<>();
    table
        .newScan()
        .planFiles()
        .forEach(task -> task.deletes().forEach(file -> locations.add(file.location())));
    return locations;
  }

  private static DataFile rows(String name, long rows) {
    return dataFile(UNPARTITIONED, "", name, rows);
  }

  @Test
  void c5VectorsThatLandOnInputsAreCommittedForTheOutputs() throws Exception {
    try (FakeTable fake = FakeTable.of(3, UNPARTITIONED).append("d", "x")) {
      CommitBase base = fake.base();
      Scripted script = new Scripted(fake);
      CommitCoordinator coordinator = coordinator(fake, base, true, script);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      fake.delete(deletionVector("v", "d"));

      List<CommitOutcome> outcomes = coordinator.finish();
      assertThat(outcomes).hasSize(1);
      CommitOutcome.Committed committed = (CommitOutcome.Committed) outcomes.get(0);
      assertThat(committed.rowsCarriedOver()).isEqualTo(3);
      assertThat(fake.live()).isEqualTo(Map.of("c", Set.of("carried1"), "x", Set.of()));
      assertThat(script.calls).hasSize(1);
      assertThat(script.calls.get(0).get(0).byInput().keySet()).containsExactly(path("d"));
      assertThat(fake.other().currentSnapshot().summary())
          .containsEntry("removed-dvs", "1")
          .containsEntry("added-dvs", "1");
    }
  }

  @Test
  void c5TheRestOfAPartitionsDeletesKeepsItsSequenceNumber() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      Scripted script = new Scripted(fake);
      script.rest = true;
      CommitCoordinator coordinator = coordinator(fake, base, true, script);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      fake.delete(positionDeletes(UNPARTITIONED, "", "p", null));
      long sequenceNumber = fake.other().currentSnapshot().sequenceNumber();
      fake.append("later");

      assertThat(coordinator.finish()).hasOnlyElementsOfType(CommitOutcome.Committed.class);
      assertThat(fake.live())
          .isEqualTo(
              Map.of("c", Set.of("carried1", "rest"), "x", Set.of("rest"), "later", Set.of()));
      fake.other()
          .newScan()
          .planFiles()
          .forEach(
              task ->
                  task.deletes().stream()
                      .filter(file -> file.location().equals(path("rest")))
                      .forEach(
                          file -> assertThat(file.dataSequenceNumber()).isEqualTo(sequenceNumber)));
    }
  }

  @Test
  void c5WhatLandsWhileItIsCarriedOverIsCarriedOverAgain() throws Exception {
    try (FakeTable fake = FakeTable.of(3, UNPARTITIONED).append("d", "x")) {
      CommitBase base = fake.base();
      Scripted script = new Scripted(fake);
      CommitCoordinator coordinator = coordinator(fake, base, true, script);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      fake.delete(deletionVector("v1", "d"));
      fake.operations.onCommit(
          real -> {
            replaceVector(fake, "v1", "v2");
            real.run();
          });

      assertThat(coordinator.finish()).hasOnlyElementsOfType(CommitOutcome.Committed.class);
      assertThat(script.calls).hasSize(2);
      assertThat(script.calls.get(1).get(0).byInput().get(path("d")))
          .extracting(DeleteFile::location)
          .containsExactly("memory:/t/data/v2.puffin");
      assertThat(fake.live()).isEqualTo(Map.of("c", Set.of("carried2"), "x", Set.of()));
      assertThat(fake.io().fileExists("memory:/t/data/carried1.puffin")).isFalse();
      assertThat(fake.io().fileExists("memory:/t/data/carried2.puffin")).isTrue();
    }
  }

  private static void replaceVector(FakeTable fake, String old, String replacement) {
    Table other = fake.other();
    DeleteFile[] found = new DeleteFile[1];
    other
        .newScan()
        .planFiles()
        .forEach(
            task ->
                task.deletes().stream()
                    .filter(file -> file.location().contains(old))
                    .forEach(file -> found[0] = file));
    other
        .newRowDelta()
        .validateFromSnapshot(other.currentSnapshot().snapshotId())
        .removeDeletes(found[0])
        .addDeletes(deletionVector(replacement, "d"))
        .commit();
  }

  @Test
  void h4VectorsMadeOfEqualityDeletesAreCarriedOver() throws Exception {
    try (FakeTable fake = FakeTable.of(3, UNPARTITIONED).append("d", "x")) {
      CommitBase base = fake.base();
      Scripted script = new Scripted(fake);
      CommitCoordinator coordinator = coordinator(fake, base, true, script);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      DeleteFile keys = equalityDeletes("e");
      fake.delete(keys);
      fake.other().newRewrite().deleteFile(keys).addFile(deletionVector("v", "d")).commit();

      assertThat(coordinator.finish()).hasOnlyElementsOfType(CommitOutcome.Committed.class);
      assertThat(fake.live()).isEqualTo(Map.of("c", Set.of("carried1"), "x", Set.of()));
    }
  }

  @Test
  void c5ConflictsThatCannotBeCarriedOverAreConflicts() throws Exception {
    for (boolean partialProgress : new boolean[] {true, false}) {
      for (boolean unable : new boolean[] {true, false}) {
        try (FakeTable fake = FakeTable.of(3, UNPARTITIONED).append("d", "x")) {
          CommitBase base = fake.base();
          Scripted script = new Scripted(fake);
          script.unable = unable;
          script.failure = unable ? null : new IOException("the scratch disk is gone");
          CommitCoordinator coordinator = coordinator(fake, base, partialProgress, script);
          coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
          fake.delete(deletionVector("v", "d"));

          List<CommitOutcome> outcomes = coordinator.finish();
          assertThat(outcomes).hasSize(1);
          CommitOutcome.Conflicted conflict = (CommitOutcome.Conflicted) outcomes.get(0);
          assertThat(conflict.kind()).isEqualTo(CommitOutcome.Kind.NEW_DELETES);
          assertThat(fake.live()).isEqualTo(Map.of("d", Set.of("v"), "x", Set.of()));
          assertThat(fake.io().fileExists(path("c"))).isFalse();
        }
      }
    }
  }

  @Test
  void c8GroupsThatCanBeCarriedOverSurviveThoseThatCannot() throws Exception {
    try (FakeTable fake = FakeTable.of(3, UNPARTITIONED).append("d", "f", "x")) {
      CommitBase base = fake.base();
      Scripted script = new Scripted(fake);
      CommitCoordinator coordinator = coordinator(fake, base, true, script);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      coordinator.offer(fake.group(base, List.of("f"), rows("g", 10)));
      fake.delete(deletionVector("v", "d"));
      fake.other().newDelete().deleteFile(path("f")).commit();

      List<CommitOutcome> outcomes = coordinator.finish();
      assertThat(outcomes)
          .hasSize(2)
          .anyMatch(CommitOutcome.Committed.class::isInstance)
          .anyMatch(
              outcome ->
                  outcome instanceof CommitOutcome.Conflicted conflict
                      && conflict.kind() == CommitOutcome.Kind.INPUT_GONE);
      assertThat(fake.live()).isEqualTo(Map.of("c", Set.of("carried1"), "x", Set.of()));
      assertThat(deleteFiles(fake.other())).containsExactly("memory:/t/data/carried1.puffin");
    }
  }

  @Test
  void c11DeletesCarriedOverByACommitInDoubtAreNotDeleted() throws Exception {
    try (FakeTable fake = FakeTable.of(3, UNPARTITIONED).append("d", "x")) {
      CommitBase base = fake.base();
      Scripted script = new Scripted(fake);
      CommitCoordinator coordinator = coordinator(fake, base, true, script);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      fake.delete(deletionVector("v", "d"));
      fake.operations.onCommit(
          real -> {
            real.run();
            throw new CommitStateUnknownException(new RuntimeException("the answer is lost"));
          });

      assertThat(coordinator.finish()).hasOnlyElementsOfType(CommitOutcome.Committed.class);
      assertThat(fake.live()).isEqualTo(Map.of("c", Set.of("carried1"), "x", Set.of()));
      assertThat(fake.io().fileExists("memory:/t/data/carried1.puffin")).isTrue();
    }
  }

  @Test
  void c20UpgradeBetweenCarryOverAndCommitConflicts() throws Exception {
    try (FakeTable fake = FakeTable.v2().append("d", "x")) {
      CommitBase base = fake.base();
      Scripted script = new Scripted(fake);
      script.meanwhile = () -> fake.other().updateProperties().set("format-version", "3").commit();
      CommitCoordinator coordinator = coordinator(fake, base, true, script);
      coordinator.offer(fake.group(base, List.of("d"), rows("c", 10)));
      fake.delete(positionDeletes(UNPARTITIONED, "", "p", "d"));

      List<CommitOutcome> outcomes = coordinator.finish();
      assertThat(outcomes).hasSize(1);
      CommitOutcome.Conflicted conflict = (CommitOutcome.Conflicted) outcomes.get(0);
      assertThat(conflict.kind()).isEqualTo(CommitOutcome.Kind.UPGRADED);
      assertThat(fake.live()).isEqualTo(Map.of("d", Set.of("p"), "x", Set.of()));
      assertThat(fake.io().fileExists(path("carried1"))).isFalse();
      assertThat(fake.io().fileExists(path("c"))).isFalse();
    }
  }
}
