package dev.firn.engine;

import dev.firn.commit.CommitBase;
import dev.firn.commit.CommitCoordinator;
import dev.firn.commit.CommitOutcome;
import dev.firn.commit.CommitSettings;
import dev.firn.commit.DanglingDeletes;
import dev.firn.commit.LineageBase;
import dev.firn.deletes.DeleteLimits;
import dev.firn.engine.CompactionReport.FailureKind;
import dev.firn.engine.parquet.CorruptFileException;
import dev.firn.engine.parquet.SpliceTotals;
import dev.firn.engine.parquet.TableReader;
import dev.firn.engine.parquet.UnsupportedTableException;
import dev.firn.io.RangeReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.util.PropertyUtil;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A compaction of one table: plans on a pinned snapshot, rewrites file groups, commits them.
 *
 * <p>An instance may be used for one plan or one run. It belongs to one thread; the run's own
 * threads end with it. The table and its {@code FileIO} stay the caller's.
 */
public final class Compaction {
  private static final Logger LOG = LoggerFactory.getLogger(Compaction.class);

  /** How often groups are planned and rewritten anew because others changed their inputs. */
  private static final int REDO_ROUNDS_MAX = 2;

  /** GETs in flight, over all groups. */
  private static final int REQUESTS_MAX = 32;

  private static final Duration UNKNOWN_PATIENCE = Duration.ofSeconds(60);
  private static final int COMMIT_ATTEMPTS_MAX = 5;

  private static final String NOT_DONE =
      "Given up, because another group failed: without partial progress it is all or nothing";

  private final Table table;
  private final CompactionSettings settings;
  private final CompactionListener listener;
  private final Duration unknownPatience;

  // What the run has come to so far. Written by the run's own thread alone.
  private final List<Long> snapshotsCommitted = new ArrayList<>();
  private final List<CompactionReport.Failure> failures = new ArrayList<>();

  /** Inputs of commits that may or may not have happened: not to be rewritten again (C11). */
  private final Set<String> inDoubt = new HashSet<>();

  private @Nullable Long snapshotBefore; // null until pinned, and if the branch is empty
  private int groupsPlanned;
  private int groupsCommitted;
  private int groupsFailed;
  private long filesRewritten;
  private long filesAdded;
  private long deleteFilesRemoved;
  private CompactionReport.UnmatchedDeletes unmatchedDeletes =
      CompactionReport.UnmatchedDeletes.NONE;
  private long rowsRead;
  private long rowsDeleted;
  private long rowsCarriedOver;
  private long rowsWritten;
  private long rowsVerified;
  private long bytesRead;
  private long bytesWritten;
  private SpliceTotals moved = SpliceTotals.NOTHING;
  private long arrowPeakBytes;
  private final MemoryPeaks peaks = new MemoryPeaks();
  private final StopFlag stop = new StopFlag();
  private MemoryShares shares;
  private long planNanos;
  private long rewriteNanos;
  private long commitNanos;

  public Compaction(Table table, CompactionSettings settings, CompactionListener listener) {
    this(table, settings, listener, UNKNOWN_PATIENCE);
  }

  /**
   * @param unknownPatience how long a commit of unknown outcome is looked for (C11)
   */
  Compaction(
      Table table,
      CompactionSettings settings,
      CompactionListener listener,
      Duration unknownPatience) {
    this.table = table;
    this.settings = settings;
    this.listener = listener;
    this.unknownPatience = unknownPatience;
    this.shares = MemoryShares.of(settings.memoryBytes());
  }

  /**
   * Plans and explains; nothing is written.
   *
   * @throws UnsupportedTableException if the table holds what Firn does not do
   * @throws IllegalArgumentException if an option cannot apply to the table, or the branch is
   *     missing
   */
  public CompactionPlan plan() {
    Pin pin = Pin.of(table, settings);
    if (pin == null) {
      return new CompactionPlan(
          table.name(),
          settings.branch(),
          null,
          List.of(),
          List.of(),
          List.of(),
          shares.use(null),
          0,
          0);
    }
    return plan(pin, true);
  }

  private CompactionPlan plan(Pin pin, boolean explain) {
    bindFilter(pin);
    try {
      return plan(table, pin, explain);
    } catch (RuntimeException e) {
      Table plannable = LostFields.hindered(e) ? LostFields.plannable(table, snapshot(pin)) : null;
      if (plannable == null) {
        throw e;
      }
      return plan(plannable, pin, explain);
    }
  }

  /**
   * @param planned what the planner is given in place of the table
   */
  private CompactionPlan plan(Table planned, Pin pin, boolean explain) {
    ExplainingPlanner planner =
        new ExplainingPlanner(
            planned,
            settings.filter(),
            pin.snapshotId(),
            settings.layout(),
            pin.order() == null ? null : KeyBounds.of(pin.table(), pin.schema(), pin.order()),
            settings.options(),
            explain);
    List<RewriteFileGroup> groups;
    try {
      groups = planner.groups();
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot plan " + table.name() + ": nothing was changed", e);
    } catch (ValidationException | IllegalArgumentException e) {
      // Options and filter are checked before: what is wrong here is the table's metadata (D5, D6).
      throw new CorruptFileException(
          "Cannot plan "
              + table.name()
              + " at snapshot "
              + pin.snapshotId()
              + ": "
              + e.getMessage()
              + MisplacedVectors.named(table, snapshot(pin))
              + ". Nothing was changed.",
          e);
    }
    refuseUnsupported(pin, groups);
    DroppedSources.check(table, snapshot(pin), groups, !settings.partialProgress());
    List<String> partitions = groups.stream().map(group -> partitionPath(pin, group)).toList();
    List<FileDecision> decisions = explain ? decisions(planned, pin, planner, groups) : List.of();
    RunMemory memory = explain ? memory(pin, groups) : null;
    return new CompactionPlan(
        table.name(),
        settings.branch(),
        pin.snapshotId(),
        groups,
        partitions,
        decisions,
        (memory == null ? shares : memory.shares()).use(null),
        memory == null ? 0 : memory.totalBytesNeeded(),
        memory == null ? 0 : memory.scratchBytes());
  }

  /** Reads a few footers, to tell what the groups need. */
  private RunMemory memory(Pin pin, List<RewriteFileGroup> groups) {
    try (BufferAllocator none = new RootAllocator(0);
        RangeReader ranges = RangeReader.over(table.io(), REQUESTS_MAX);
        TableReader reader = reader(pin, ranges, none, settings.scratch(), 1)) {
      MemoryNeeds needs = MemoryNeeds.of(groups, task -> reader.open(task, pin.columns()));
      return RunMemory.of(settings, pin, groups, needs);
    }
  }

  private TableReader reader(
      Pin pin, RangeReader ranges, BufferAllocator allocator, Path scratch, long decodeBytesMax) {
    return new TableReader(
        table.io(),
        pin.schema(),
        pin.specs(),
        Pin.nameMapping(pin.table()),
        ranges,
        allocator,
        scratch,
        GroupRewrite.BATCH_ROWS,
        decodeBytesMax);
  }

  private void bindFilter(Pin pin) {
    try {
      Binder.bind(pin.schema().asStruct(), settings.filter(), true);
    } catch (ValidationException e) {
      throw new IllegalArgumentException(
          "Cannot filter " + table.name() + " by " + settings.filter() + ": " + e.getMessage(), e);
    }
  }

  private List<FileDecision> decisions(
      Table planned, Pin pin, ExplainingPlanner planner, List<RewriteFileGroup> groups) {
    try (CloseableIterable<FileScanTask> all =
        planned.newScan().useSnapshot(pin.snapshotId()).ignoreResiduals().planFiles()) {
      return planner.decisions(groups, all);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot plan " + table.name() + ": nothing was changed", e);
    }
  }

  private static String partitionPath(Pin pin, RewriteFileGroup group) {
    FileScanTask first = group.fileScanTasks().get(0);
    boolean one =
        group.fileScanTasks().stream()
            .allMatch(
                task ->
                    task.file().specId() == first.file().specId()
                        && task.file().partition().equals(first.file().partition()));
    return one
        ? ExplainingPlanner.partitionPath(pin.spec(first.file().specId()), first.file())
        : "";
  }

  /** Refuses what cannot be rewritten before any work, and inputs that are live twice (C15). */
  private void refuseUnsupported(Pin pin, List<RewriteFileGroup> groups) {
    Set<String> locations = new HashSet<>();
    for (RewriteFileGroup group : groups) {
      pin.refuseUnwritable(pin.spec(group.outputSpecId()));
      for (FileScanTask task : group.fileScanTasks()) {
        DataFile file = task.file();
        if (!locations.add(file.location())) {
          throw new CorruptFileException(
              "Cannot compact "
                  + table.name()
                  + ": data file "
                  + file.location()
                  + " is live twice in snapshot "
                  + pin.snapshotId()
                  + "; nothing was changed");
        }
        refuseEncrypted(file.location(), file.keyMetadata());
        for (DeleteFile delete : task.deletes()) {
          refuseEncrypted(delete.location(), delete.keyMetadata());
        }
      }
    }
  }

  private void refuseEncrypted(String location, java.nio.@Nullable ByteBuffer keyMetadata) {
    if (keyMetadata != null) {
      throw new UnsupportedTableException(
          "Cannot compact "
              + table.name()
              + ": "
              + location
              + " is encrypted, which is not supported; nothing was changed");
    }
  }

  /**
   * Plans, rewrites and commits. Failures of groups are in the report, as is what fails after the
   * first commit; an exception means that nothing was committed.
   *
   * @throws UnsupportedTableException if the table holds what Firn does not do
   * @throws IllegalArgumentException if an option cannot apply to the table, or the branch is
   *     missing
   */
  public CompactionReport run() {
    long started = System.nanoTime();
    try {
      runToItsEnd();
    } catch (RuntimeException | Error e) {
      if (snapshotsCommitted.isEmpty() && inDoubt.isEmpty()) {
        throw e;
      }
      LOG.debug("The run failed after its first commit", e);
      failures.add(
          new CompactionReport.Failure(
              0,
              FailureKinds.of(e),
              FailureKinds.message(e) + ". What the report says was committed is committed."));
    }
    return report(System.nanoTime() - started);
  }

  /**
   * Asks a run to end soon. Groups that are not finished are given up; those that are finished are
   * committed if partial progress is enabled. The report says what was not done. May be called by
   * any thread, before the run begins too.
   */
  public void stop() {
    stop.stop();
  }

  private void runToItsEnd() {
    Set<String> conflicted = Set.of();
    for (int round = 0; round == 0 || !conflicted.isEmpty(); round++) {
      if (stop.isStopped()) {
        failures.add(
            new CompactionReport.Failure(
                0,
                FailureKind.STOPPED,
                "Stopped on request before all groups were planned. What the report says was"
                    + " committed is committed. Run again for the rest"));
        return;
      }
      if (round > 0) {
        table.refresh();
      }
      Pin pin = pin();
      if (pin == null) {
        break;
      }
      if (snapshotBefore == null) {
        snapshotBefore = pin.snapshotId();
      }
      long planStarted = System.nanoTime();
      List<RewriteFileGroup> groups = plan(pin, false).groups();
      planNanos += System.nanoTime() - planStarted;
      if (round > 0) {
        groups = touching(groups, conflicted);
      }
      RunMemory memory = memory(pin, groups);
      memory.refuseIfTooSmall(table.name());
      shares = memory.shares();
      if (round == 0) {
        groupsPlanned = groups.size();
        if (memory.scratchBytes() > 0) {
          listener.scratchNeeded(memory.scratchBytes(), settings.scratch());
        }
        listener.planned(
            groups.size(),
            groups.stream().mapToLong(RewriteFileGroup::inputFilesSizeInBytes).sum());
      }
      conflicted = groups.isEmpty() ? Set.of() : round(pin, groups, memory, round);
    }
    if (settings.removeDanglingDeletes() && snapshotBefore != null && !stop.isStopped()) {
      long commitStarted = System.nanoTime();
      deleteFilesRemoved += DanglingDeletes.remove(table, settings.branch(), settings.runId());
      commitNanos += System.nanoTime() - commitStarted;
    }
  }

  /** Pins the branch; files of an upgraded table are given their row ids first (L6). */
  private @Nullable Pin pin() {
    Pin pin = Pin.of(table, settings);
    if (pin != null
        && pin.formatVersion() >= Pin.LINEAGE_FORMAT_VERSION
        && LineageBase.ensure(table, settings.branch())) {
      pin = Pin.of(table, settings);
    }
    return pin;
  }

  /** Groups that hold an input of a group that lost a conflict, and none that is in doubt. */
  private List<RewriteFileGroup> touching(List<RewriteFileGroup> groups, Set<String> conflicted) {
    return groups.stream()
        .filter(group -> holdsAny(group, conflicted) && !holdsAny(group, inDoubt))
        .toList();
  }

  private static boolean holdsAny(RewriteFileGroup group, Set<String> locations) {
    return group.rewrittenFiles().stream().anyMatch(file -> locations.contains(file.location()));
  }

  /**
   * Rewrites and commits groups planned on one pin.
   *
   * @param round 0 for the first; conflicts of the last are final
   * @return inputs of the groups that are to be planned anew
   */
  private Set<String> round(Pin pin, List<RewriteFileGroup> groups, RunMemory memory, int round) {
    boolean last = round == REDO_ROUNDS_MAX;
    // Groups are numbered from 1 in every round: without the round in the names, files of the
    // second would have names of files that the first has committed.
    String operationId = round == 0 ? settings.runId() : settings.runId() + "-" + round;
    ExplainingPlanner.OutputBand band =
        ExplainingPlanner.OutputBand.of(pin.table(), settings.options());
    try (ScratchDirectory scratch = ScratchDirectory.in(settings.scratch(), settings.runId());
        ReusedMemory reused = new ReusedMemory(memory.shares().reusedBytes());
        BufferAllocator allocator = reused.allocator(memory.shares().allocatorBytes());
        RangeReader ranges = RangeReader.over(table.io(), REQUESTS_MAX);
        TableReader reader =
            reader(pin, ranges, allocator, scratch.path(), memory.decodeBytesOfRowGroup())) {
      UnprunedDeletes unpruned = UnprunedDeletes.of(table, snapshot(pin));
      ExecutorService fetchers = Threads.pool(fetchThreads(), "firn-fetch");
      ExecutorService encoders = Threads.pool(settings.threads(), "firn-encode");
      ExecutorService ahead = Threads.pool(4 * memory.groupsAtOnce(), "firn-ahead");
      ExecutorService workers = Threads.pool(memory.groupsAtOnce(), "firn-group");
      try {
        GroupRewrite rewrite =
            new GroupRewrite(
                new RunContext(
                    pin,
                    settings,
                    operationId,
                    memory,
                    peaks,
                    unpruned::of,
                    reader,
                    allocator,
                    fetchers,
                    encoders,
                    ahead,
                    band,
                    scratch.path(),
                    settings.verify()
                        ? verifier(pin, groups, reader, memory, fetchers, encoders)
                        : null,
                    stop,
                    listener));
        OutputDeletes outputDeletes =
            new OutputDeletes(
                pin,
                operationId,
                reader,
                new DeleteLimits(memory.shares().keyIndexBytes()),
                fetchers,
                peaks.carryOverHeld(),
                memory.shares().carryOverBytes());
        return rewriteAndCommit(pin, groups, rewrite, outputDeletes, workers, last);
      } finally {
        Threads.stop(workers);
        Threads.stop(ahead);
        Threads.stop(fetchers);
        Threads.stop(encoders);
        arrowPeakBytes = Math.max(arrowPeakBytes, allocator.getPeakMemoryAllocation());
        peaks.decoded(reader.decodedBytesPeak());
        if (pin.rowOrder() == null && settings.splices()) {
          peaks.decoded(allocator.getPeakMemoryAllocation()); // column chunks as they are stored
        }
      }
    }
  }

  private GroupVerifier verifier(
      Pin pin,
      List<RewriteFileGroup> groups,
      TableReader reader,
      RunMemory memory,
      ExecutorService fetchers,
      ExecutorService workers) {
    Set<String> inputs = new HashSet<>();
    groups.forEach(group -> group.rewrittenFiles().forEach(file -> inputs.add(file.location())));
    return new GroupVerifier(
        pin,
        SnapshotFiles.of(table, snapshot(pin), inputs::contains),
        reader,
        memory.shares(),
        fetchers,
        workers,
        Math.max(1, settings.threads() / memory.groupsAtOnce()),
        memory.groupsAtOnce());
  }

  private int fetchThreads() {
    return Math.max(4, settings.threads() * 2);
  }

  private Snapshot snapshot(Pin pin) {
    Snapshot snapshot = table.snapshot(pin.snapshotId());
    if (snapshot == null) {
      throw new IllegalStateException(
          "Snapshot " + pin.snapshotId() + " of " + table.name() + " has expired meanwhile");
    }
    return snapshot;
  }

  private record Done(RewriteFileGroup group, GroupRewrite.Result result) {}

  private Set<String> rewriteAndCommit(
      Pin pin,
      List<RewriteFileGroup> groups,
      GroupRewrite rewrite,
      OutputDeletes outputDeletes,
      ExecutorService workers,
      boolean last) {
    CommitCoordinator coordinator = coordinator(pin, groups.size(), outputDeletes);
    CompletionService<Done> completions = new ExecutorCompletionService<>(workers);
    Map<Future<Done>, RewriteFileGroup> pending = new HashMap<>();
    Map<Integer, GroupRewrite.Result> results = new HashMap<>();
    Set<String> conflicted = new LinkedHashSet<>();
    AtomicBoolean givenUp = new AtomicBoolean();
    List<RewriteFileGroup> held = new ArrayList<>();
    long rewriteStarted = System.nanoTime();
    for (RewriteFileGroup group : groups) {
      pending.put(
          completions.submit(
              () -> {
                if (givenUp.get()) {
                  throw new CancellationException();
                }
                stop.check();
                return new Done(group, rewrite.rewrite(group));
              }),
          group);
    }
    while (!pending.isEmpty()) {
      Future<Done> future = take(completions);
      RewriteFileGroup group = Objects.requireNonNull(pending.remove(future));
      try {
        Done done = Results.of(future);
        results.put(group.info().globalIndex(), done.result());
        outputDeletes.know(group, done.result().origins());
        if (givenUp.get()) {
          held.add(group);
        } else {
          listener.rewritten(group);
          if (settings.partialProgress()) {
            settle(offer(coordinator, group), results, outputDeletes, conflicted, last);
          } else {
            held.add(group);
          }
        }
      } catch (CancellationException e) {
        failed(group, FailureKind.OTHER, NOT_DONE);
      } catch (IOException | RuntimeException | Error e) {
        LOG.debug("File group {} failed", group.info().globalIndex(), e);
        failed(group, FailureKinds.of(e), FailureKinds.message(e));
        givenUp.compareAndSet(false, !settings.partialProgress());
      }
      givenUp.compareAndSet(false, coordinator.doomed());
    }
    rewriteNanos += System.nanoTime() - rewriteStarted;
    for (RewriteFileGroup group : held) {
      if (givenUp.get()) {
        coordinator.discard(group);
        failed(group, FailureKind.OTHER, NOT_DONE);
      } else {
        settle(offer(coordinator, group), results, outputDeletes, conflicted, last);
      }
    }
    settle(commit(coordinator::finish), results, outputDeletes, conflicted, last);
    results.values().forEach(result -> result.origins().close());
    return conflicted;
  }

  private CommitCoordinator coordinator(Pin pin, int groups, OutputDeletes outputDeletes) {
    int commitsMax = settings.commitsMax();
    return new CommitCoordinator(
        table,
        new CommitBase(
            pin.snapshotId(),
            pin.sequenceNumber(),
            pin.formatVersion(),
            pin.schema(),
            settings.branch()),
        new CommitSettings(
            settings.runId(),
            settings.partialProgress() ? (groups + commitsMax - 1) / commitsMax : groups,
            settings.partialProgress(),
            settings.failedCommitsMax(),
            settings.useStartingSequenceNumber(),
            settings.snapshotProperties(),
            unknownPatience,
            COMMIT_ATTEMPTS_MAX),
        outputDeletes);
  }

  /** Offers a finished group; one that must not be committed is removed and counted as failed. */
  private List<CommitOutcome> offer(CommitCoordinator coordinator, RewriteFileGroup group) {
    try {
      return commit(() -> coordinator.offer(group));
    } catch (IllegalStateException e) {
      coordinator.discard(group);
      failed(group, FailureKind.OTHER, FailureKinds.message(e));
      return List.of();
    }
  }

  private List<CommitOutcome> commit(Supplier<List<CommitOutcome>> step) {
    long started = System.nanoTime();
    try {
      return step.get();
    } finally {
      commitNanos += System.nanoTime() - started;
    }
  }

  /**
   * Counts what came of commits; conflicted groups are to be planned anew, if not the last time.
   */
  private void settle(
      List<CommitOutcome> outcomes,
      Map<Integer, GroupRewrite.Result> results,
      OutputDeletes outputDeletes,
      Set<String> conflicted,
      boolean last) {
    for (CommitOutcome outcome : outcomes) {
      for (RewriteFileGroup group : outcome.groups()) {
        outputDeletes.forget(group);
        Objects.requireNonNull(results.get(group.info().globalIndex())).origins().close();
      }
      if (outcome instanceof CommitOutcome.Committed committed) {
        committed(committed, results);
      } else if (outcome instanceof CommitOutcome.Conflicted conflict) {
        for (RewriteFileGroup group : conflict.groups()) {
          if (last) {
            failed(group, FailureKind.CONFLICT, conflict.message());
          } else {
            LOG.info(
                "File group {} is planned anew: {}",
                group.info().globalIndex(),
                conflict.message());
            group.rewrittenFiles().forEach(file -> conflicted.add(file.location()));
          }
        }
      } else if (outcome instanceof CommitOutcome.Unknown unknown) {
        unknown
            .groups()
            .forEach(
                group -> {
                  group.rewrittenFiles().forEach(file -> inDoubt.add(file.location()));
                  failed(
                      group,
                      FailureKind.UNKNOWN,
                      "It is not known whether the commit happened: "
                          + FailureKinds.message(unknown.cause())
                          + ". Nothing was deleted; look for firn.run-id="
                          + settings.runId()
                          + " in the table's snapshots");
                });
      } else if (outcome instanceof CommitOutcome.Failed failed) {
        failed
            .groups()
            .forEach(
                group ->
                    failed(
                        group,
                        FailureKinds.of(failed.cause()),
                        FailureKinds.message(failed.cause())));
      }
    }
  }

  private void committed(
      CommitOutcome.Committed committed, Map<Integer, GroupRewrite.Result> results) {
    snapshotsCommitted.add(committed.snapshotId());
    rowsCarriedOver += committed.rowsCarriedOver();
    for (RewriteFileGroup group : committed.groups()) {
      GroupRewrite.Result result = Objects.requireNonNull(results.get(group.info().globalIndex()));
      groupsCommitted++;
      filesRewritten += group.inputFileNum();
      filesAdded += group.addedFiles().size();
      bytesRead += group.inputFilesSizeInBytes();
      rowsRead += result.rowsRead();
      rowsDeleted += result.rowsDeleted();
      unmatchedDeletes = unmatchedDeletes.plus(result.deletes().unmatched());
      rowsWritten += result.rowsWritten();
      rowsVerified += result.rowsVerified();
      bytesWritten += result.bytesWritten();
      moved = moved.plus(result.moved());
    }
    Snapshot snapshot = table.snapshot(committed.snapshotId());
    if (snapshot != null) {
      deleteFilesRemoved +=
          PropertyUtil.propertyAsLong(
              snapshot.summary(), SnapshotSummary.REMOVED_DELETE_FILES_PROP, 0);
    }
    listener.committed(committed.snapshotId(), committed.groups());
  }

  private void failed(RewriteFileGroup group, FailureKind kind, String message) {
    groupsFailed++;
    failures.add(new CompactionReport.Failure(group.info().globalIndex(), kind, message));
    listener.failed(group, message);
  }

  /** The most bytes that Arrow had allocated at once, over all groups. */
  long arrowPeakBytes() {
    return arrowPeakBytes;
  }

  private CompactionReport report(long totalNanos) {
    return new CompactionReport(
        settings.runId(),
        table.name(),
        settings.branch(),
        snapshotBefore,
        snapshotsCommitted,
        new CompactionReport.Groups(groupsPlanned, groupsCommitted, groupsFailed),
        new CompactionReport.DataFiles(filesRewritten, filesAdded),
        deleteFilesRemoved,
        unmatchedDeletes,
        new CompactionReport.Rows(
            rowsRead, rowsDeleted, rowsWritten, rowsCarriedOver, rowsVerified),
        new CompactionReport.Bytes(bytesRead, bytesWritten),
        CompactionReport.Moved.of(moved),
        new CompactionReport.Seconds(
            seconds(totalNanos), seconds(planNanos), seconds(rewriteNanos), seconds(commitNanos)),
        ProcessMemory.peakBytes(),
        shares.use(peaks),
        failures);
  }

  private static double seconds(long nanos) {
    return Math.round(nanos / 1e6) / 1e3;
  }

  private static Future<Done> take(CompletionService<Done> completions) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return completions.take();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
