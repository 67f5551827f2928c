package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.engine.Schedule.Answer;
import dev.firn.engine.Schedule.Fault;
import dev.firn.engine.Schedule.Op;
import dev.firn.engine.Schedule.Point;
import dev.firn.engine.Schedule.Step;
import dev.firn.testdata.RowText;
import dev.firn.testdata.TableBuilder;
import dev.firn.testdata.TableRows;
import dev.firn.testdata.Tables;
import dev.firn.testdata.WatchedFileIO;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.exceptions.RuntimeIOException;
import org.jspecify.annotations.Nullable;

/**
 * One table that is compacted while a schedule goes on, held against the logical table.
 *
 * <p>The compaction works through a handle that is watched: files that it opens or creates and
 * commits that it attempts are the points at which others commit. Steps and commits exclude one
 * another; what is found wrong in the middle is kept until the end.
 */
final class ScheduledRun {
  /** Compacts the table once. */
  interface Compactor {
    /**
     * @param table the watched handle
     * @return whether a commit is known to be in doubt
     */
    boolean compact(ScheduledRun run, Table table) throws Exception;
  }

  static final String MADE_TO_FAIL = "Made to fail";

  private final Schedule schedule;
  private final Random shape;
  private final Path scratch;
  private final Table made;
  private final String branch;
  private final LogicalTable model = new LogicalTable();
  private final Map<String, long[]> identitiesByFile = new HashMap<>();
  private final List<String> log = new ArrayList<>();
  private final List<AssertionError> wrong = new ArrayList<>();

  private final Map<Point, Integer> met = new EnumMap<>(Point.class);
  private final Set<String> created = ConcurrentHashMap.newKeySet();
  private final Set<String> everReachable = new HashSet<>();
  private final Set<Long> compactions = new LinkedHashSet<>();
  private final Map<String, Integer> tally = new HashMap<>();
  private int attempts;
  private boolean answersLost;
  private @Nullable Runnable late; // null unless a commit is on its way

  private ScheduledRun(Schedule schedule, Path directory) throws Exception {
    this.schedule = schedule;
    this.shape = new Random(schedule.seed() ^ 0x5DEECE66DL);
    this.scratch = Files.createDirectories(directory.resolve("scratch"));
    int version = shape.nextInt(12) == 0 ? 1 : 2 + shape.nextInt(2);
    int spec = shape.nextInt(4);
    TableBuilder builder =
        TableBuilder.at(directory.resolve("table"))
            .schema(ScheduledWriter.SCHEMA)
            .formatVersion(version)
            .partitionBy(
                by ->
                    switch (spec) {
                      case 0 -> by;
                      case 1 -> by.bucket("id", 2);
                      default -> by.identity("region");
                    })
            .property("write.parquet.compression-codec", "uncompressed")
            .property("commit.retry.num-retries", "" + shape.nextInt(4))
            .property("commit.retry.min-wait-ms", "1")
            .property("commit.retry.max-wait-ms", "2");
    if (shape.nextBoolean()) {
      builder.property("commit.manifest.min-count-to-merge", "2");
    }
    this.made = builder.create();
    this.branch = shape.nextInt(7) == 0 ? "audit" : SnapshotRef.MAIN_BRANCH;
    log.add(
        "table of version "
            + version
            + ", "
            + made.spec().toString().replace('\n', ' ')
            + ", branch "
            + branch);
  }

  /**
   * Runs a schedule in an empty directory.
   *
   * @param tally gets how often what happened
   * @throws AssertionError what was wrong, with all that happened
   */
  static void run(
      Schedule schedule, Path directory, Compactor compactor, Map<String, Integer> tally)
      throws Exception {
    ScheduledRun run = new ScheduledRun(schedule, directory);
    try {
      run.run(compactor);
      run.tally.forEach((what, times) -> tally.merge(what, times, Integer::sum));
    } catch (AssertionError | Exception e) {
      StringBuilder text = new StringBuilder(schedule.toString()).append("\nwhat happened:");
      run.log.forEach(line -> text.append("\n  ").append(line));
      throw new AssertionError(text.append("\n").append(e.getMessage()).toString(), e);
    }
  }

  private void run(Compactor compactor) throws Exception {
    meet(Point.BEFORE);
    if (Tables.another(made).currentSnapshot() == null) {
      check(false);
      return;
    }
    boolean inDoubt = false;
    try {
      inDoubt = compactor.compact(this, watched());
    } catch (RuntimeException | AssertionError e) {
      wrong(e);
    }
    synchronized (this) {
      if (late != null) {
        late.run();
      }
    }
    meet(Point.AFTER);
    check(inDoubt);
  }

  /** For choices of settings. */
  Random shape() {
    return shape;
  }

  String branch() {
    return branch;
  }

  Path scratch() {
    return scratch;
  }

  synchronized void log(String line) {
    log.add(line);
  }

  /** Snapshots by which the compaction's handle replaced files. */
  synchronized Set<Long> compactions() {
    return Set.copyOf(compactions);
  }

  private synchronized void wrong(Throwable failure) {
    log.add("WRONG: " + failure.getMessage());
    wrong.add(
        failure instanceof AssertionError error
            ? error
            : new AssertionError("Failed: " + failure, failure));
  }

  // ---- points

  /** Takes the steps that are due. */
  synchronized void meet(Point point) {
    int nth = met.merge(point, 1, Integer::sum);
    for (Step step : schedule.steps()) {
      if (step.point() == point && step.nth() == nth) {
        perform(step);
      }
    }
  }

  private void perform(Step step) {
    Table table = Tables.another(made);
    String where = table.refs().containsKey(branch) ? branch : SnapshotRef.MAIN_BRANCH;
    try {
      String done =
          new ScheduledWriter(
                  table, where, model, identitiesByFile, scratch, new Random(step.seed()))
              .perform(step.op());
      table.refresh();
      Snapshot head = table.snapshot(branch);
      count(done.startsWith("nothing") ? "steps without effect" : "steps at " + step.point());
      log.add(step + " " + done + ", then " + at(head));
      if (step.point() == Point.BEFORE
          && !table.refs().containsKey(branch)
          && table.currentSnapshot() != null) {
        table.manageSnapshots().createBranch(branch, table.currentSnapshot().snapshotId()).commit();
      }
    } catch (RuntimeException | AssertionError e) {
      log.add(step + " failed: " + e);
      wrong(e);
    }
  }

  private void count(String what) {
    tally.merge(what, 1, Integer::sum);
  }

  private static String at(@Nullable Snapshot snapshot) {
    return snapshot == null
        ? "empty"
        : snapshot.snapshotId() + " @" + snapshot.sequenceNumber() + " " + snapshot.operation();
  }

  private Table watched() {
    Table table =
        Tables.withIo(
            Tables.another(made),
            io ->
                new WatchedFileIO(
                    io,
                    new WatchedFileIO.Watcher() {
                      @Override
                      public void opening(String location) {
                        if (isContent(location)) {
                          meet(Point.OPEN);
                        }
                      }

                      @Override
                      public void creating(String location) {
                        created.add(location);
                        if (isContent(location)) {
                          meet(Point.CREATE);
                        }
                      }

                      @Override
                      public void deleting(String location) {
                        deleted(location);
                      }
                    }));
    return new BaseTable(
        new ScheduledOperations(((HasTableOperations) table).operations(), this::commit),
        table.name());
  }

  private static boolean isContent(String location) {
    return location.contains("/data/");
  }

  private synchronized void deleted(String location) {
    if (!created.contains(location)) {
      wrong(new AssertionError("The compaction deletes another's file " + location + " (C13)"));
    } else if (everReachable.contains(location)) {
      wrong(new AssertionError("The compaction deletes its live file " + location + " (C12)"));
    }
    created.remove(location);
  }

  // ---- commits of the compaction

  private synchronized void commit(
      TableOperations operations, TableMetadata base, TableMetadata metadata) {
    int attempt = ++attempts;
    meet(Point.COMMIT);
    @Nullable Answer answer = null; // null: the truth
    for (Fault fault : schedule.faults()) {
      answer = fault.nth() == attempt ? fault.answer() : answer;
    }
    log.add("commit attempt " + attempt + (answer == null ? "" : ", " + answer));
    if (answer != null) {
      count("wrong answers");
    }
    if (answer == Answer.REFUSED) {
      throw new CommitFailedException(MADE_TO_FAIL + ": refused");
    } else if (answer == Answer.UNKNOWN_LOST || answer == Answer.UNKNOWN_LATE) {
      answersLost = true;
      if (answer == Answer.UNKNOWN_LATE) {
        late = () -> landLate(operations, base, metadata);
      }
      meet(Point.ANSWER);
      throw new CommitStateUnknownException(new RuntimeException(MADE_TO_FAIL + ": lost"));
    }
    try {
      operations.commit(base, metadata);
    } catch (CommitFailedException e) {
      log.add("commit attempt " + attempt + " lost the race");
      count("lost races");
      meet(Point.ANSWER);
      throw e;
    }
    landed(base, metadata);
    answersLost |= answer != null;
    meet(Point.ANSWER);
    if (answer == Answer.UNKNOWN_LANDED) {
      throw new CommitStateUnknownException(new RuntimeException(MADE_TO_FAIL + ": lost"));
    } else if (answer == Answer.TIMEOUT_LANDED) {
      throw new RuntimeIOException(new SocketTimeoutException(MADE_TO_FAIL + ": timed out"));
    } else if (answer == Answer.REFUSED_LANDED) {
      throw new CommitFailedException(MADE_TO_FAIL + ": refused, as it has landed before");
    }
  }

  private void landLate(TableOperations operations, TableMetadata base, TableMetadata metadata) {
    try {
      operations.commit(base, metadata);
      landed(base, metadata);
    } catch (CommitFailedException e) {
      log.add("the late commit came too late");
    }
  }

  private void landed(TableMetadata base, TableMetadata metadata) {
    try {
      Table table = Tables.another(made);
      for (Snapshot snapshot : metadata.snapshots()) {
        if (!model.knows(snapshot)) {
          model.holdsRowsOfParent(snapshot);
          log.add("committed " + at(snapshot) + " on " + snapshot.parentId());
          addReachable(table, snapshot);
          if (DataOperations.REPLACE.equals(snapshot.operation())) {
            compactions.add(snapshot.snapshotId());
            count("commits");
            if (snapshot.summary().containsKey("added-delete-files")) {
              count("commits that carry deletes over");
            }
            checkFiles(table, snapshot);
          } else {
            assertThat(snapshot.summary().get("added-data-files"))
                .as("files of a commit that is no REPLACE (C21)")
                .isNull();
          }
        }
      }
      checkNothingElseChanged(base, metadata);
    } catch (RuntimeException | AssertionError e) {
      wrong(e);
    }
  }

  private void addReachable(Table table, Snapshot snapshot) {
    everReachable.add(snapshot.manifestListLocation());
    for (ManifestFile manifest : snapshot.allManifests(table.io())) {
      everReachable.add(manifest.path());
    }
    TableRows.dataFiles(table, snapshot).forEach(file -> everReachable.add(file.location()));
    TableRows.deleteFiles(table, snapshot).forEach(file -> everReachable.add(file.location()));
  }

  /** What the metadata says of the outputs is true (O-C). */
  private void checkFiles(Table table, Snapshot snapshot) {
    Set<String> ofParent =
        TableRows.dataFiles(table, Objects.requireNonNull(table.snapshot(snapshot.parentId())))
            .stream()
            .map(DataFile::location)
            .collect(Collectors.toSet());
    FileTruth.check(table, snapshot, ofParent);
  }

  private void checkNothingElseChanged(TableMetadata base, TableMetadata metadata) {
    assertThat(metadata.schemas()).as("schemas (N11)").hasSameSizeAs(base.schemas());
    assertThat(metadata.currentSchemaId()).as("schema (N11)").isEqualTo(base.currentSchemaId());
    assertThat(metadata.defaultSpecId()).as("spec (N11)").isEqualTo(base.defaultSpecId());
    assertThat(metadata.defaultSortOrderId())
        .as("sort order (N11)")
        .isEqualTo(base.defaultSortOrderId());
    assertThat(metadata.properties()).as("properties (N11)").isEqualTo(base.properties());
    assertThat(metadata.formatVersion()).as("version (N8)").isEqualTo(base.formatVersion());
    Map<String, SnapshotRef> refs = new HashMap<>(metadata.refs());
    Map<String, SnapshotRef> refsBefore = new HashMap<>(base.refs());
    refs.remove(branch);
    refsBefore.remove(branch);
    assertThat(refs).as("other refs (C16)").isEqualTo(refsBefore);
  }

  // ---- checks at the end

  private void check(boolean inDoubt) throws Exception {
    Table table = TableBuilder.open(TableBefore.path(made.location()));
    TableRows reader = TableRows.eachFileOnce(table);
    Schema schema = table.schema();
    Map<Long, List<Record>> rows = new LinkedHashMap<>();
    for (Snapshot snapshot : table.snapshots()) {
      List<Record> live = reader.liveRecords(snapshot);
      rows.put(snapshot.snapshotId(), live);
      try {
        assertThat(RowText.sortedLines(live, schema))
            .as("rows of snapshot %s (O-A, O-B)", at(snapshot))
            .isEqualTo(model.lines(snapshot, schema));
      } catch (AssertionError e) {
        wrong(e);
      }
    }
    try {
      checkLineage(table, rows);
      checkOrphans(table, inDoubt);
      assertThat(Files.list(scratch)).as("scratch directory").isEmpty();
    } catch (AssertionError e) {
      wrong(e);
    }
    if (!wrong.isEmpty()) {
      AssertionError first = wrong.remove(0);
      wrong.forEach(first::addSuppressed);
      throw first;
    }
  }

  /** A compaction moves rows with their ids and the sequence numbers of their change (L1, L4). */
  private void checkLineage(Table table, Map<Long, List<Record>> rows) {
    for (Map.Entry<Long, List<Record>> snapshot : rows.entrySet()) {
      Map<Long, Long> owners = new HashMap<>();
      lineage(table, snapshot.getValue())
          .forEach(
              (identity, ids) -> {
                if (ids.get(0) != null) {
                  assertThat(owners.put(ids.get(0), identity))
                      .as("another row with the _row_id of row %s (L5)", identity)
                      .isNull();
                }
              });
    }
    for (long id : compactions) {
      Snapshot snapshot = table.snapshot(id);
      if (snapshot != null && rows.containsKey(snapshot.parentId())) {
        Map<Long, List<@Nullable Long>> ids = lineage(table, rows.get(id));
        lineage(table, rows.get(snapshot.parentId()))
            .forEach(
                (identity, before) -> {
                  if (before.get(0) != null) { // else assigned by this commit
                    assertThat(ids.get(identity))
                        .as("lineage of row %s in %s (L1, L4, C20)", identity, at(snapshot))
                        .isEqualTo(before);
                  }
                });
      }
    }
  }

  private static Map<Long, List<@Nullable Long>> lineage(Table table, List<Record> rows) {
    Map<Long, List<@Nullable Long>> lineage = new HashMap<>();
    if (TableRows.schema(table).findField(MetadataColumns.ROW_ID.fieldId()) != null) {
      for (Record row : rows) {
        List<@Nullable Long> ids = new ArrayList<>();
        ids.add((Long) row.getField(MetadataColumns.ROW_ID.name()));
        ids.add((Long) row.getField(MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER.name()));
        lineage.put((Long) row.getField("identity"), ids);
      }
    }
    return lineage;
  }

  private void checkOrphans(Table table, boolean inDoubt) {
    if (inDoubt) {
      return;
    }
    Set<String> orphans = new TreeSet<>(created);
    orphans.removeAll(everReachable);
    orphans.removeIf(location -> !table.io().newInputFile(location).exists());
    /* Iceberg leaves manifests of earlier attempts when the answer to the last is lost, or when the
    new snapshot has expired before it could look. */
    boolean manifestsMayStay =
        answersLost || schedule.steps().stream().anyMatch(step -> step.op() == Op.EXPIRE);
    orphans.removeIf(location -> manifestsMayStay && !isContent(location));
    assertThat(orphans).as("orphans (O-D)").isEmpty();
  }
}
