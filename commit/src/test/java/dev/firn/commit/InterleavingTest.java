package dev.firn.commit;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.util.ContentFileUtil;
import org.junit.jupiter.api.Test;

/**
 * Random commits of others before, between and inside our attempts (O-E). The oracle is a model
 * that applies every operation to a set of rows when it happens; the table is read as the spec
 * says, from its metadata and from what the test wrote into each file.
 */
class InterleavingTest {
  private static final int RUNS = Integer.getInteger("firn.test.runs", 30);

  /** Few, so that deletes hit. */
  private static final int KEYS = 4;

  @Test
  void c27oeNoRowIsLostAndNoneComesBackWhateverOthersCommit() throws Exception {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    Map<CommitOutcome.Kind, Integer> conflicts = new EnumMap<>(CommitOutcome.Kind.class);
    int committed = 0;
    for (int run = 0; run < RUNS; run++) {
      World world = new World(new SplittableRandom(seed + run));
      try {
        for (CommitOutcome outcome : world.run()) {
          if (outcome instanceof CommitOutcome.Conflicted conflict) {
            conflicts.merge(conflict.kind(), 1, Integer::sum);
          } else if (outcome instanceof CommitOutcome.Committed) {
            committed++;
          }
        }
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError(
            "rerun with -Dfirn.test.seed=" + (seed + run) + "; " + world.log, e);
      } finally {
        world.fake.close();
      }
    }
    assertThat(committed).as("seed %s", seed).isPositive();
    assertThat(conflicts).as("seed %s", seed).isNotEmpty();
  }

  /** A table, what is in its files, and the rows that must be in it. */
  private static final class World {
    private final RandomGenerator random;
    private final FakeTable fake;
    private final boolean vectors;
    private final List<String> log = new ArrayList<>();

    /* Rows have an identity besides their key, which several may share. */
    private final Map<Integer, Integer> keys = new HashMap<>();
    private final Set<Integer> expected = new TreeSet<>();

    private final Map<String, List<Integer>> rowsOfFile = new HashMap<>();
    private final Map<String, Integer> keyOfEqualityDeletes = new HashMap<>();
    private final Map<String, Set<Integer>> rowsOfPositionDeletes = new HashMap<>();
    private final Map<String, String> fileOfPositionDeletes = new HashMap<>();
    private int names;

    World(RandomGenerator random) {
      this.random = random;
      this.vectors = random.nextBoolean();
      PartitionSpec spec = random.nextBoolean() ? PartitionSpec.unpartitioned() : FakeTable.BY_V;
      this.fake =
          FakeTable.of(
              vectors ? 3 : 2,
              spec,
              random.nextBoolean() ? Map.of() : Map.of("commit.manifest.min-count-to-merge", "2"));
    }

    List<CommitOutcome> run() {
      append();
      for (int i = random.nextInt(4); i > 0; i--) {
        step();
      }
      CommitBase base = fake.base();
      boolean partial = random.nextInt(4) > 0;
      CommitCoordinator coordinator =
          new CommitCoordinator(
              fake.table,
              base,
              new CommitSettings(
                  "run",
                  1 + random.nextInt(3),
                  partial,
                  0,
                  random.nextInt(5) > 0,
                  Map.of(),
                  Duration.ofMillis(5),
                  3));
      List<RewriteFileGroup> groups = groups(base);
      log.add("planned " + groups.size() + " groups, partial " + partial);
      for (int i = random.nextInt(3); i > 0; i--) {
        int fault = random.nextInt(8);
        fake.operations.onCommit(
            real -> {
              if (fault < 6) {
                step();
              }
              if (fault != 7) {
                real.run();
              }
              if (fault >= 6) {
                log.add(fault == 6 ? "answer lost" : "commit lost");
                throw new CommitStateUnknownException(new RuntimeException("lost"));
              }
            });
      }
      List<CommitOutcome> outcomes = new ArrayList<>();
      for (RewriteFileGroup group : groups) {
        for (int i = random.nextInt(3); i > 0; i--) {
          step();
        }
        outcomes.addAll(coordinator.offer(group));
      }
      if (random.nextBoolean()) {
        step();
      }
      outcomes.addAll(coordinator.finish());
      outcomes.forEach(outcome -> log.add(outcome.toString()));
      assertFiles(groups, outcomes);
      fake.append("late"); // what others commit later must not drop deletes either
      rowsOfFile.put("late", List.of());
      assertRows();
      return outcomes;
    }

    private void step() {
      switch (random.nextInt(16)) {
        case 0, 1 -> append();
        case 2, 3, 4, 5, 6, 7 -> deleteKey(random.nextBoolean());
        case 8 -> deletePosition();
        case 9, 10, 11 -> convert();
        case 12 -> deleteFile();
        case 13 -> compactElsewhere();
        case 14 -> {
          if (random.nextBoolean()) {
            evolve();
          } else {
            otherBranch();
          }
        }
        default -> {
          log.add("remove dangling");
          DanglingDeletes.remove(fake.other(), SnapshotRef.MAIN_BRANCH, "other");
        }
      }
    }

    private void append() {
      Table other = fake.other();
      DataFile file = newFile(other.spec(), random.nextInt(KEYS), 1 + random.nextInt(3));
      log.add("append " + rowsOfFile.get(name(file)) + " as " + name(file));
      other.newAppend().appendFile(file).commit();
    }

    /** A file of new rows that all share the partition of the key. */
    private DataFile newFile(PartitionSpec spec, int key, int rows) {
      List<Integer> added = new ArrayList<>();
      for (int i = 0; i < rows; i++) {
        int row = keys.size();
        keys.put(row, random.nextBoolean() ? key : neighbour(spec, key));
        expected.add(row);
        added.add(row);
      }
      return file(spec, key, added);
    }

    private DataFile file(PartitionSpec spec, int key, List<Integer> rows) {
      String name = "d" + names++;
      rowsOfFile.put(name, rows);
      DataFile file = FakeTable.dataFile(spec, partition(spec, key), name, rows.size());
      fake.io().addFile(file.location(), new byte[] {1});
      return file;
    }

    private static String partition(PartitionSpec spec, int key) {
      if (spec.isUnpartitioned()) {
        return "";
      }
      return byV(spec) ? "v=" + key % 2 : "w=" + key / 2;
    }

    private static boolean byV(PartitionSpec spec) {
      return spec.fields().get(0).name().equals("v");
    }

    /** Another key of the key's partition. */
    private static int neighbour(PartitionSpec spec, int key) {
      return spec.isPartitioned() && byV(spec) ? key ^ 2 : key ^ 1;
    }

    private void deleteKey(boolean upsert) {
      Table other = fake.other();
      PartitionSpec spec = other.spec();
      int key = random.nextInt(KEYS);
      String name = "e" + names++;
      Map<Integer, FileScanTask> located = located(other, SnapshotRef.MAIN_BRANCH);
      expected.removeIf(
          row -> {
            DataFile file = located.get(row).file();
            return keys.get(row) == key
                && (spec.isUnpartitioned() || file.specId() == spec.specId());
          });
      keyOfEqualityDeletes.put(name, key);
      RowDelta delta =
          other
              .newRowDelta()
              .addDeletes(FakeTable.equalityDeletes(spec, partition(spec, key), name, 1));
      String added = "";
      if (upsert) {
        DataFile file = newFile(spec, key, 1);
        delta.addRows(file);
        added = " and add " + rowsOfFile.get(name(file)) + " as " + name(file);
      }
      log.add("delete key " + key + " in spec " + spec.specId() + " as " + name + added);
      delta.commit();
    }

    private void deletePosition() {
      if (expected.isEmpty()) {
        return;
      }
      Table other = fake.other();
      int row = new ArrayList<>(expected).get(random.nextInt(expected.size()));
      FileScanTask task = located(other, SnapshotRef.MAIN_BRANCH).get(row);
      expected.remove(row);
      RowDelta delta =
          other.newRowDelta().validateFromSnapshot(other.currentSnapshot().snapshotId());
      addPositions(
          task, Set.of(row), random.nextBoolean(), delta::addDeletes, delta::removeDeletes);
      log.add("delete row " + row + " of " + name(task.file()));
      delta.commit();
    }

    /** Writes position deletes of the rows, or a vector that takes in the one there is. */
    private void addPositions(
        FileScanTask task,
        Set<Integer> rows,
        boolean ofFile,
        Consumer<DeleteFile> add,
        Consumer<DeleteFile> remove) {
      String name = "p" + names++;
      Set<Integer> all = new HashSet<>(rows);
      PartitionSpec spec = task.spec();
      if (vectors) {
        for (DeleteFile delete : task.deletes()) {
          if (ContentFileUtil.isDV(delete)) {
            all.addAll(rowsOfPositionDeletes.get(FakeTable.name(delete.location())));
            remove.accept(delete);
          }
        }
        add.accept(
            FakeTable.deletionVector(
                spec, spec.partitionToPath(task.file().partition()), name, name(task.file())));
      } else {
        add.accept(
            FakeTable.positionDeletes(
                spec,
                spec.partitionToPath(task.file().partition()),
                name,
                ofFile ? name(task.file()) : null));
      }
      rowsOfPositionDeletes.put(name, all);
      fileOfPositionDeletes.put(name, name(task.file()));
    }

    /** Turns an equality delete into position deletes, by a REPLACE (H4). */
    private void convert() {
      Table other = fake.other();
      Map<String, FileScanTask> tasks =
          FakeTable.tasks(other, other.currentSnapshot().snapshotId());
      DeleteFile chosen = null;
      for (FileScanTask task : tasks.values()) {
        for (DeleteFile delete : task.deletes()) {
          if (delete.content() == FileContent.EQUALITY_DELETES) {
            chosen = delete;
          }
        }
      }
      if (chosen == null) {
        return;
      }
      String name = FakeTable.name(chosen.location());
      Set<DeleteFile> removed = new HashSet<>(Set.of(chosen));
      Set<DeleteFile> added = new HashSet<>();
      for (FileScanTask task : tasks.values()) {
        if (task.deletes().stream().anyMatch(d -> FakeTable.name(d.location()).equals(name))) {
          Set<Integer> hit = new HashSet<>(rowsOfFile.get(name(task.file())));
          hit.removeIf(row -> !keys.get(row).equals(keyOfEqualityDeletes.get(name)));
          if (!hit.isEmpty()) {
            addPositions(task, hit, true, added::add, removed::add);
          }
        }
      }
      log.add("convert " + name + " to " + added.size() + " position deletes");
      other.newRewrite().rewriteFiles(Set.of(), removed, Set.of(), added).commit();
    }

    private void deleteFile() {
      Table other = fake.other();
      List<FileScanTask> tasks =
          List.copyOf(FakeTable.tasks(other, other.currentSnapshot().snapshotId()).values());
      if (tasks.size() > 1) {
        DataFile file = tasks.get(random.nextInt(tasks.size())).file();
        log.add("delete file " + name(file));
        expected.removeAll(rowsOfFile.get(name(file)));
        other.newDelete().deleteFile(file).commit();
      }
    }

    private void compactElsewhere() {
      Table other = fake.other();
      CommitBase base =
          new CommitBase(
              other.currentSnapshot().snapshotId(),
              other.currentSnapshot().sequenceNumber(),
              vectors ? 3 : 2,
              other.schema(),
              SnapshotRef.MAIN_BRANCH);
      List<RewriteFileGroup> groups = groups(base);
      if (!groups.isEmpty()) {
        CommitCoordinator coordinator = new CommitCoordinator(other, base, FakeTable.settings(1));
        log.add("compact elsewhere " + coordinator.offer(groups.get(0)));
      }
    }

    private void evolve() {
      Table other = fake.other();
      boolean toW = other.spec().isUnpartitioned() || byV(other.spec());
      var update = other.updateSpec();
      other.spec().fields().stream()
          .filter(field -> !field.transform().isVoid())
          .forEach(field -> update.removeField(field.name()));
      update.addField(toW ? "w" : "v").commit();
      log.add("evolve to spec " + fake.other().spec());
    }

    private void otherBranch() {
      Table other = fake.other();
      if (!other.refs().containsKey("side")) {
        other.manageSnapshots().createBranch("side").commit();
      }
      log.add("append to a branch");
      String name = "side" + names++;
      rowsOfFile.put(name, List.of());
      PartitionSpec spec = other.spec();
      other
          .newAppend()
          .appendFile(FakeTable.dataFile(spec, partition(spec, 0), name, 1))
          .toBranch("side")
          .commit();
    }

    /** Groups over some of the base's files, rewritten as a right engine would. */
    private List<RewriteFileGroup> groups(CommitBase base) {
      Table other = fake.other();
      Map<String, List<FileScanTask>> byPartition = new TreeMap<>();
      boolean all = random.nextInt(3) > 0;
      for (FileScanTask task : FakeTable.tasks(other, base.snapshotId()).values()) {
        if (all || random.nextInt(3) > 0) {
          String partition = task.spec().partitionToPath(task.file().partition());
          String group =
              random.nextInt(8) == 0
                  ? "mixed"
                  : task.file().specId() + partition + random.nextInt(6) / 5;
          byPartition.computeIfAbsent(group, key -> new ArrayList<>()).add(task);
        }
      }
      List<RewriteFileGroup> groups = new ArrayList<>();
      byPartition.forEach(
          (key, tasks) -> {
            boolean keepSpec = !key.equals("mixed") && random.nextBoolean();
            PartitionSpec spec = keepSpec ? tasks.get(0).spec() : other.spec();
            Map<String, List<Integer>> rows = new TreeMap<>();
            for (FileScanTask task : tasks) {
              for (int row : live(task)) {
                rows.computeIfAbsent(partition(spec, keys.get(row)), k -> new ArrayList<>())
                    .add(row);
              }
            }
            List<DataFile> outputs = new ArrayList<>();
            rows.values().forEach(some -> outputs.add(file(spec, keys.get(some.get(0)), some)));
            groups.add(fake.group(tasks, outputs.toArray(DataFile[]::new)));
          });
      return groups;
    }

    private List<Integer> live(FileScanTask task) {
      List<Integer> rows = new ArrayList<>(rowsOfFile.get(name(task.file())));
      for (DeleteFile delete : task.deletes()) {
        String name = FakeTable.name(delete.location());
        if (delete.content() == FileContent.EQUALITY_DELETES) {
          rows.removeIf(row -> keys.get(row).equals(keyOfEqualityDeletes.get(name)));
        } else if (name(task.file()).equals(fileOfPositionDeletes.get(name))) {
          // position deletes name a file: rows that moved to another are not theirs any more
          rows.removeAll(rowsOfPositionDeletes.get(name));
        }
      }
      return rows;
    }

    private Map<Integer, FileScanTask> located(Table table, String branch) {
      Map<Integer, FileScanTask> located = new HashMap<>();
      for (FileScanTask task :
          FakeTable.tasks(table, table.snapshot(branch).snapshotId()).values()) {
        for (int row : live(task)) {
          assertThat(located.put(row, task)).as("row %s is in two files", row).isNull();
        }
      }
      return located;
    }

    private void assertRows() {
      assertThat(new TreeSet<>(located(fake.other(), SnapshotRef.MAIN_BRANCH).keySet()))
          .as("rows after %s", log)
          .isEqualTo(expected);
    }

    private void assertFiles(List<RewriteFileGroup> groups, List<CommitOutcome> outcomes) {
      Set<RewriteFileGroup> settled = new HashSet<>();
      for (CommitOutcome outcome : outcomes) {
        boolean kept =
            outcome instanceof CommitOutcome.Committed || outcome instanceof CommitOutcome.Unknown;
        for (RewriteFileGroup group : outcome.groups()) {
          assertThat(settled.add(group)).as("settled once").isTrue();
          group.rewrittenFiles().forEach(f -> assertThat(fake.exists(name(f))).isTrue());
          group
              .addedFiles()
              .forEach(f -> assertThat(fake.exists(name(f))).as("%s", f).isEqualTo(kept));
        }
        assertThat(outcome).isNotInstanceOf(CommitOutcome.Failed.class);
      }
      assertThat(settled).containsExactlyInAnyOrderElementsOf(groups);
    }

    private static String name(DataFile file) {
      return FakeTable.name(file.location());
    }
  }
}
