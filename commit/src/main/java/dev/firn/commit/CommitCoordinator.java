package dev.firn.commit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotChanges;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.ServiceUnavailableException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one committer of a run: takes finished file groups, commits them in batches as REPLACE
 * snapshots (C21), and says of each group what became of it.
 *
 * <p>Groups whose outputs have the spec and partition of their inputs are committed with the
 * sequence number of the planned snapshot, the others in commits of their own without it (H2, H3).
 * Every attempt is checked by the commit guard against the parent it will have (C27). Each commit
 * carries {@code firn.run-id} and {@code firn.commit-id} in its summary; before anything is deleted
 * or redone, the table is searched for the latter.
 *
 * <p>Safe for use by many threads. Commits run one at a time in the thread whose call filled the
 * batch (C10); other threads may offer meanwhile. The table is not closed here. Replaced files are
 * never deleted (C13); outputs only when they provably are not in the table (C12).
 */
public final class CommitCoordinator {
  private static final Logger LOG = LoggerFactory.getLogger(CommitCoordinator.class);

  /** The summary key that names the run. */
  public static final String RUN_ID = "firn.run-id";

  /** The summary key that names the commit, the same on every attempt of one batch. */
  public static final String COMMIT_ID = "firn.commit-id";

  /** Against a writer that is faster than a commit takes, carrying over could go on for ever. */
  private static final int CARRY_OVERS_MAX = 50;

  private static final long LOOK_WAIT_MILLIS_MIN = 100;
  private static final long LOOK_WAIT_MILLIS_MAX = 10_000;

  private final Table table;
  private final CommitBase base;
  private final CommitSettings settings;
  private final CommitProbe probe;
  private final BaseTable probedTable;
  private final CommitGuard guard;
  private final CarryOver carryOver;

  /* Held for the length of a commit; `this` is held only to look at or change the fields below. */
  private final ReentrantLock commits = new ReentrantLock();
  private final List<GroupFiles> withStartingSequence = new ArrayList<>();
  private final List<GroupFiles> withNewSequence = new ArrayList<>();
  private final Set<String> inputsTaken = new HashSet<>();
  private final Set<String> outputsTaken = new HashSet<>();
  private boolean finished;
  private int failedCommits;

  /** A committer for one run that carries nothing over: new deletes are conflicts. */
  public CommitCoordinator(Table table, CommitBase base, CommitSettings settings) {
    this(table, base, settings, CarryOver.NONE);
  }

  /**
   * A committer for one run.
   *
   * @param carryOver moves position deletes that landed on inputs meanwhile onto outputs
   * @throws IllegalArgumentException if the table does not give access to its operations, as
   *     metadata tables and serialised tables do not
   */
  public CommitCoordinator(
      Table table, CommitBase base, CommitSettings settings, CarryOver carryOver) {
    if (!(table instanceof HasTableOperations operations)) {
      throw new IllegalArgumentException(
          "Cannot commit to " + table.name() + ": it is a read-only view of a table");
    }
    this.table = table;
    this.base = base;
    this.settings = settings;
    this.probe = new CommitProbe(operations.operations());
    this.probedTable =
        table instanceof BaseTable baseTable
            ? new BaseTable(probe, table.name(), baseTable.reporter())
            : new BaseTable(probe, table.name());
    this.guard = new CommitGuard(base, table.io());
    this.carryOver = carryOver;
  }

  /**
   * Takes a finished group, its output files set (none, if all its rows are deleted: D31), and
   * commits a batch in the calling thread if this group fills one.
   *
   * @return the outcomes of the groups that this call settled, usually none
   * @throws IllegalStateException if the group must not be committed: it shares an input or output
   *     with another group of the run (C15, C25), has more rows out than in, an empty output, or
   *     comes after {@link #finish()}. The group is not taken; {@link #discard} cleans it up.
   */
  public List<CommitOutcome> offer(RewriteFileGroup group) {
    GroupFiles files = GroupFiles.of(group);
    List<GroupFiles> batch;
    synchronized (this) {
      if (finished) {
        throw new IllegalStateException(
            "Cannot commit file group "
                + group.info().globalIndex()
                + ": the run is finished. Nothing of it was committed.");
      }
      take(files);
      List<GroupFiles> queue =
          settings.useStartingSequenceNumber() && files.keepsPartition()
              ? withStartingSequence
              : withNewSequence;
      queue.add(files);
      if (!settings.partialProgress() || queue.size() < settings.groupsPerCommit()) {
        return List.of();
      }
      batch = drain(queue);
    }
    return settleBatch(batch);
  }

  /**
   * Commits what is left. Without partial progress this is the only commit, of all groups or none.
   *
   * @return the outcomes of all groups that no earlier call settled; none when called again
   */
  public List<CommitOutcome> finish() {
    List<List<GroupFiles>> batches = new ArrayList<>();
    synchronized (this) {
      finished = true;
      List<GroupFiles> starting = drain(withStartingSequence);
      List<GroupFiles> fresh = drain(withNewSequence);
      if (settings.partialProgress()) {
        batches.add(starting);
        batches.add(fresh);
      } else {
        starting.addAll(fresh);
        batches.add(starting);
      }
    }
    List<CommitOutcome> outcomes = new ArrayList<>();
    for (List<GroupFiles> batch : batches) {
      if (!batch.isEmpty()) {
        outcomes.addAll(settleBatch(batch));
      }
    }
    return outcomes;
  }

  /**
   * Whether more batches ended without a single committed group than {@code maxFailedCommits}
   * allows. Groups that are already being rewritten may still be offered.
   */
  public synchronized boolean doomed() {
    return failedCommits > settings.maxFailedCommits();
  }

  /**
   * Deletes the outputs of a group that was never offered, or whose offer was refused. What cannot
   * be deleted is logged.
   *
   * @throws IllegalStateException if the group was taken by {@link #offer}: its files are in the
   *     table, may get there, or are deleted already
   */
  public void discard(RewriteFileGroup group) {
    Set<String> locations = new LinkedHashSet<>();
    group.addedFiles().forEach(output -> locations.add(output.location()));
    boolean any = !locations.isEmpty();
    group.rewrittenFiles().forEach(input -> locations.remove(input.location()));
    synchronized (this) {
      locations.removeAll(inputsTaken);
      locations.removeAll(outputsTaken);
    }
    if (any && locations.isEmpty()) {
      throw new IllegalStateException(
          "Cannot discard file group "
              + group.info().globalIndex()
              + ": all its files belong to groups that were offered for commit");
    }
    delete(locations);
  }

  private void take(GroupFiles files) {
    for (String input : files.inputs().keySet()) {
      if (inputsTaken.contains(input) || outputsTaken.contains(input)) {
        throw taken(files, "its input " + input + " is a file of another group");
      }
    }
    for (DataFile output : files.outputs()) {
      if (outputsTaken.contains(output.location()) || inputsTaken.contains(output.location())) {
        throw taken(files, "its output " + output.location() + " is a file of another group");
      }
    }
    inputsTaken.addAll(files.inputs().keySet());
    files.outputs().forEach(output -> outputsTaken.add(output.location()));
  }

  private static IllegalStateException taken(GroupFiles files, String reason) {
    return new IllegalStateException(
        "Cannot commit file group "
            + files.group().info().globalIndex()
            + ": "
            + reason
            + ". Groups of a run must be disjoint (C25); nothing of it was committed.");
  }

  private static List<GroupFiles> drain(List<GroupFiles> queue) {
    List<GroupFiles> batch = new ArrayList<>(queue);
    queue.clear();
    return batch;
  }

  private List<CommitOutcome> settleBatch(List<GroupFiles> batch) {
    commits.lock();
    try {
      List<CommitOutcome> outcomes = new ArrayList<>();
      settle(batch, outcomes);
      if (outcomes.stream().noneMatch(CommitOutcome.Committed.class::isInstance)) {
        synchronized (this) {
          failedCommits++;
        }
      }
      return List.copyOf(outcomes);
    } finally {
      commits.unlock();
    }
  }

  /** What one batch came to, its conflicts not yet told apart. */
  private sealed interface Result permits Landed, InDoubt, Refused {}

  private record Landed(long snapshotId) implements Result {}

  private record InDoubt(RuntimeException cause) implements Result {}

  /** Provably not in the table. */
  private record Refused(RuntimeException cause) implements Result {}

  /**
   * Position deletes of the inputs as they are on the outputs.
   *
   * @param snapshotId the snapshot whose deletes these are; later ones are new again
   * @param sequenceNumber that snapshot's
   */
  private record Absorbed(CarryOver.Carried carried, long snapshotId, long sequenceNumber) {
    List<String> locations() {
      List<String> locations = new ArrayList<>();
      carried.added().forEach(file -> locations.add(file.location()));
      carried
          .replacements()
          .forEach(file -> file.remainder().ifPresent(rest -> locations.add(rest.location())));
      return locations.stream().distinct().toList(); // vectors share a file
    }
  }

  private void settle(List<GroupFiles> batch, List<CommitOutcome> outcomes) {
    @Nullable Absorbed absorbed = null;
    for (int carryOvers = 0; ; carryOvers++) {
      Result result = commit(batch, absorbed);
      if (result instanceof Landed landed) {
        LOG.info("Committed {} groups in snapshot {}", batch.size(), landed.snapshotId());
        outcomes.add(
            new CommitOutcome.Committed(
                GroupFiles.groups(batch),
                landed.snapshotId(),
                absorbed == null ? 0 : absorbed.carried().rows()));
        return;
      } else if (result instanceof InDoubt doubt) {
        LOG.error(
            "Cannot tell if {} groups were committed to {}; nothing is deleted",
            batch.size(),
            table.name(),
            doubt.cause());
        outcomes.add(new CommitOutcome.Unknown(GroupFiles.groups(batch), doubt.cause()));
        return;
      } else if (result instanceof Refused refused) {
        List<CommitGuard.Finding> findings = findings(batch, refused.cause(), absorbed);
        boolean again =
            carryOvers < CARRY_OVERS_MAX && canCarryOver(findings, refused.cause(), absorbed);
        if (absorbed != null) {
          delete(absorbed.locations());
        }
        absorbed = again ? carryOver(batch) : null;
        if (absorbed == null) {
          settleRefused(batch, refused.cause(), findings, outcomes);
          return;
        }
      } else {
        throw new IllegalStateException("Unknown result " + result);
      }
    }
  }

  /** Whether nothing but position deletes on inputs stands against committing the whole batch. */
  private static boolean canCarryOver(
      List<CommitGuard.Finding> findings, RuntimeException cause, @Nullable Absorbed absorbed) {
    if (findings.isEmpty()) {
      // a delete file that the carry-over replaces may have been replaced by someone else
      return absorbed != null
          && !absorbed.carried().replacements().isEmpty()
          && kindOf(cause) == CommitOutcome.Kind.INPUT_GONE;
    }
    return findings.stream().allMatch(finding -> finding.cure() == CommitGuard.Cure.CARRY_OVER);
  }

  /** Carries the position deletes over that are in force on the inputs now; null if it cannot. */
  private @Nullable Absorbed carryOver(List<GroupFiles> batch) {
    try {
      TableMetadata metadata = probe.refresh();
      SnapshotRef ref = metadata.ref(base.branch());
      if (ref == null) {
        return null;
      }
      Snapshot parent = metadata.snapshot(ref.snapshotId());
      List<CarryOver.NewDeletes> deletes = new ArrayList<>();
      for (GroupFiles group : batch) {
        Map<String, List<DeleteFile>> byInput = guard.positionDeletes(group, parent, metadata);
        if (!byInput.isEmpty()) {
          deletes.add(new CarryOver.NewDeletes(group.group(), byInput));
        }
      }
      Optional<CarryOver.Carried> carried = carryOver.carry(deletes, metadata.formatVersion());
      if (carried.isEmpty()) {
        return null;
      }
      LOG.info(
          "Carried {} deleted rows of {} groups over to their outputs, as of snapshot {} of {}",
          carried.get().rows(),
          deletes.size(),
          parent.snapshotId(),
          table.name());
      return new Absorbed(carried.get(), parent.snapshotId(), parent.sequenceNumber());
    } catch (IOException | RuntimeException e) {
      LOG.warn("Cannot carry new deletes over to outputs; their groups are redone", e);
      return null;
    }
  }

  private void settleRefused(
      List<GroupFiles> batch,
      RuntimeException cause,
      List<CommitGuard.Finding> findings,
      List<CommitOutcome> outcomes) {
    if (!settings.partialProgress()) {
      CommitOutcome.Kind kind = findings.isEmpty() ? kindOf(cause) : findings.get(0).kind();
      String message = findings.isEmpty() ? messageOf(cause) : findings.get(0).message();
      reject(batch, kind, message, cause, outcomes);
      return;
    }

    // what could be carried over or apart is, once the others are out of the way
    boolean others =
        findings.stream().anyMatch(finding -> finding.cure() != CommitGuard.Cure.CARRY_OVER);
    List<CommitGuard.Finding> standing =
        findings.stream()
            .filter(
                finding ->
                    finding.cure() == CommitGuard.Cure.NONE
                        || (!others && finding.cure() == CommitGuard.Cure.CARRY_OVER))
            .toList();
    List<GroupFiles> rest = new ArrayList<>(batch);
    standing.forEach(finding -> rest.remove(finding.group()));
    if (!standing.isEmpty()) {
      rejectEach(standing, cause, outcomes);
      if (!rest.isEmpty()) {
        settle(rest, outcomes);
      }
    } else if (batch.size() == 1 || !separable(cause)) {
      reject(batch, kindOf(cause), messageOf(cause), cause, outcomes);
    } else {
      // who is in conflict is not known, or committing apart cures it (H1)
      settle(batch.subList(0, batch.size() / 2), outcomes);
      settle(batch.subList(batch.size() / 2, batch.size()), outcomes);
    }
  }

  /** Whether a part of the batch may be committed although the whole was refused. */
  private static boolean separable(RuntimeException cause) {
    return cause instanceof ValidationException && kindOf(cause) != CommitOutcome.Kind.HISTORY_LOST;
  }

  private void rejectEach(
      List<CommitGuard.Finding> findings, RuntimeException cause, List<CommitOutcome> outcomes) {
    // what is true of all of them (history, upgrade) is said once
    List<CommitGuard.Finding> left = new ArrayList<>(findings);
    while (!left.isEmpty()) {
      CommitGuard.Finding first = left.get(0);
      List<GroupFiles> alike = new ArrayList<>();
      for (CommitGuard.Finding finding : left) {
        if (finding.kind() == first.kind() && finding.message().equals(first.message())) {
          alike.add(finding.group());
        }
      }
      left.removeIf(finding -> alike.contains(finding.group()));
      reject(alike, first.kind(), first.message(), cause, outcomes);
    }
  }

  private void reject(
      List<GroupFiles> groups,
      CommitOutcome.@Nullable Kind kind,
      String message,
      RuntimeException cause,
      List<CommitOutcome> outcomes) {
    LOG.warn("Did not commit {} groups to {}: {}", groups.size(), table.name(), message, cause);
    List<String> locations = new ArrayList<>();
    for (GroupFiles group : groups) {
      group.outputs().forEach(output -> locations.add(output.location()));
    }
    delete(locations);
    synchronized (this) {
      // the inputs may be offered again; locations of outputs are never reused (C15)
      groups.forEach(group -> inputsTaken.removeAll(group.inputs().keySet()));
    }
    outcomes.add(
        kind == null
            ? new CommitOutcome.Failed(GroupFiles.groups(groups), cause)
            : new CommitOutcome.Conflicted(GroupFiles.groups(groups), kind, message, cause));
  }

  /** Which groups are to blame for a refusal, as far as the table's state tells; maybe none. */
  private List<CommitGuard.Finding> findings(
      List<GroupFiles> batch, RuntimeException cause, @Nullable Absorbed absorbed) {
    if (cause instanceof GuardConflictException conflict) {
      return conflict.findings();
    }
    try {
      TableMetadata metadata = probe.refresh();
      List<CommitGuard.Finding> findings = outgrown(batch, metadata);
      if (!findings.isEmpty()
          || (!(cause instanceof ValidationException) && kindOf(cause) == null)) {
        return findings;
      }
      Iterable<Snapshot> ancestry = ancestry(metadata);
      findings =
          new ArrayList<>(
              guard.inspect(
                  ancestry, metadata, batch, startingSequenceNumber(batch), upTo(absorbed)));
      findings.removeIf(
          finding -> finding.cure() == CommitGuard.Cure.SPLIT); // not what Iceberg refused
      List<Snapshot> window = guard.window(ancestry, metadata);
      if (window != null) {
        addInputsGone(batch, window, findings);
      }
      return findings;
    } catch (RuntimeException e) {
      LOG.warn("Cannot tell which groups conflict in {}; trying them apart", table.name(), e);
      return List.of();
    }
  }

  private void addInputsGone(
      List<GroupFiles> batch, List<Snapshot> window, List<CommitGuard.Finding> findings) {
    Set<String> removed = new HashSet<>();
    for (Snapshot snapshot : window) {
      SnapshotChanges changes = SnapshotChanges.builderFor(probedTable).snapshot(snapshot).build();
      changes.removedDataFiles().forEach(file -> removed.add(file.location()));
    }
    for (GroupFiles group : batch) {
      if (findings.stream().anyMatch(finding -> finding.group() == group)) {
        continue;
      }
      for (String input : group.inputs().keySet()) {
        if (removed.contains(input)) {
          findings.add(
              new CommitGuard.Finding(
                  group,
                  CommitOutcome.Kind.INPUT_GONE,
                  "its input " + input + " was removed or rewritten after planning (C7)",
                  CommitGuard.Cure.NONE));
          break;
        }
      }
    }
  }

  /** What Iceberg would not even take into a commit: files of other specs or of another version. */
  private List<CommitGuard.Finding> outgrown(List<GroupFiles> batch, TableMetadata metadata) {
    List<CommitGuard.Finding> upgraded = guard.upgraded(metadata, batch);
    return upgraded.isEmpty() ? specsGone(batch, metadata) : upgraded;
  }

  private static List<CommitGuard.Finding> specsGone(
      List<GroupFiles> batch, TableMetadata metadata) {
    List<CommitGuard.Finding> findings = new ArrayList<>();
    for (GroupFiles group : batch) {
      Set<Integer> specIds = new HashSet<>();
      group.inputs().values().forEach(input -> specIds.add(input.specId()));
      group.outputs().forEach(output -> specIds.add(output.specId()));
      specIds.removeAll(metadata.specsById().keySet());
      if (!specIds.isEmpty()) {
        findings.add(
            new CommitGuard.Finding(
                group,
                CommitOutcome.Kind.SPEC_GONE,
                "partition specs " + specIds + " of its files were removed from the table (C8)",
                CommitGuard.Cure.NONE));
      }
    }
    return findings;
  }

  /** The kind of conflict by Iceberg's message, or null if it is not one that planning cures. */
  private static CommitOutcome.@Nullable Kind kindOf(RuntimeException cause) {
    if (cause instanceof GuardConflictException conflict) {
      return conflict.findings().get(0).kind();
    }
    String message = messageOf(cause);
    if (cause instanceof IllegalArgumentException) {
      // Iceberg looks for the fields of new equality deletes in one schema only (D15)
      return message.startsWith("Cannot find field for ID") ? CommitOutcome.Kind.GUARD : null;
    } else if (!(cause instanceof ValidationException)) {
      return null;
    }
    if (message.startsWith("Missing required files to delete")) {
      return CommitOutcome.Kind.INPUT_GONE;
    } else if (message.startsWith("Cannot determine history")) {
      return CommitOutcome.Kind.HISTORY_LOST;
    } else if (message.startsWith("Cannot commit, found new")) {
      return CommitOutcome.Kind.NEW_DELETES;
    }
    return null;
  }

  private static String messageOf(RuntimeException cause) {
    return cause.getMessage() == null ? cause.getClass().getName() : cause.getMessage();
  }

  private boolean startingSequenceNumber(List<GroupFiles> batch) {
    return settings.useStartingSequenceNumber()
        && batch.stream().allMatch(GroupFiles::keepsPartition);
  }

  private static long upTo(@Nullable Absorbed absorbed) {
    return absorbed == null ? 0 : absorbed.sequenceNumber();
  }

  /** Commits the batch, again as long as only races are lost. */
  private Result commit(List<GroupFiles> batch, @Nullable Absorbed absorbed) {
    String commitId = UUID.randomUUID().toString();
    probe.reset();
    for (int attempt = 1; ; attempt++) {
      List<String> leftovers = Collections.synchronizedList(new ArrayList<>());
      try {
        TableMetadata metadata = probe.refresh();
        List<CommitGuard.Finding> outgrown = outgrown(batch, metadata);
        if (!outgrown.isEmpty()) {
          throw new GuardConflictException(outgrown);
        }
        rewrite(batch, absorbed, commitId, metadata, leftovers).commit();
        Result result = landed(commitId);
        delete(leftovers);
        return result;
      } catch (RuntimeException e) {
        Result result = outcomeOf(e, commitId);
        if (result instanceof Refused) {
          deleteMetadataFiles(); // nothing of any attempt is in the table
        }
        if (result instanceof Refused
            && worthAnotherAttempt(e)
            && attempt < settings.attemptsMax()) {
          LOG.info("Attempt {} to commit to {} lost; trying again", attempt, table.name(), e);
          if (sleep(backoffMillis(attempt))) {
            continue;
          }
        }
        return result;
      }
    }
  }

  /**
   * The commit of the batch.
   *
   * @param begun the table as it is now
   * @param leftovers gets the manifests that Iceberg would delete: if a commit that is refused had
   *     landed all the same, the branch would be unreadable without them.
   */
  private RewriteFiles rewrite(
      List<GroupFiles> batch,
      @Nullable Absorbed absorbed,
      String commitId,
      TableMetadata begun,
      List<String> leftovers) {
    boolean startingSequenceNumber = startingSequenceNumber(batch);
    // what landed before is absorbed or none of the batch's, which the guard sees to
    long validateFrom = absorbed == null ? base.snapshotId() : absorbed.snapshotId();
    RewriteFiles rewrite =
        probedTable.newRewrite().validateFromSnapshot(validateFrom).toBranch(base.branch());
    if (startingSequenceNumber) {
      rewrite.dataSequenceNumber(base.sequenceNumber());
    }
    // deletion vectors are left to Iceberg, which removes those of removed files (D32, D33)
    for (GroupFiles group : batch) {
      group.inputs().values().forEach(rewrite::deleteFile);
      group.outputs().forEach(rewrite::addFile);
    }
    if (absorbed != null) {
      addCarried(rewrite, absorbed.carried());
    }
    settings.snapshotProperties().forEach(rewrite::set);
    rewrite.set(RUN_ID, settings.runId());
    rewrite.set(COMMIT_ID, commitId);
    rewrite.deleteWith(leftovers::add);
    rewrite.validateWith(
        ancestry -> {
          // Iceberg would take its own snapshot for one to roll back to, and later ones with it
          if (probe.tries() > 0 && find(ancestry, commitId) != null) {
            throw new ValidationException("Commit %s has landed before", commitId);
          }
          TableMetadata metadata = probe.refreshed();
          List<CommitGuard.Finding> findings =
              guard.inspect(ancestry, metadata, batch, startingSequenceNumber, upTo(absorbed));
          if (findings.isEmpty()
              && (metadata.formatVersion() != begun.formatVersion()
                  || !metadata.specsById().keySet().equals(begun.specsById().keySet()))) {
            throw new OutgrownException();
          }
          if (!findings.isEmpty()) {
            throw new GuardConflictException(findings);
          }
          return true;
        });
    return rewrite;
  }

  private static void addCarried(RewriteFiles rewrite, CarryOver.Carried carried) {
    carried.added().forEach(rewrite::addFile);
    for (CarryOver.Replacement replacement : carried.replacements()) {
      DeleteFile removed = replacement.removed();
      rewrite.deleteFile(removed);
      replacement
          .remainder()
          .ifPresent(
              rest -> rewrite.addFile(rest, Objects.requireNonNull(removed.dataSequenceNumber())));
    }
  }

  private Result landed(String commitId) {
    TableMetadata metadata = probe.landed();
    if (metadata == null) {
      throw new IllegalStateException("Commit " + commitId + " returned, but did not commit");
    }
    return new Landed(metadata.ref(base.branch()).snapshotId());
  }

  /**
   * The table has a format version or a partition spec that Iceberg's running commit does not know:
   * its next attempt would take over manifests without sequence numbers, which nobody can read in
   * format version 2, or fail on files of the new spec. A commit that is begun anew is right.
   */
  private static final class OutgrownException extends ValidationException {
    private static final long serialVersionUID = 1L;

    OutgrownException() {
      super("The format version or the partition specs changed since the commit was begun");
    }
  }

  /** What a failed commit came to: its exception says less than what the catalog was asked. */
  private Result outcomeOf(RuntimeException cause, String commitId) {
    if (probe.tries() == 0) {
      return new Refused(cause);
    } else if (probe.landed() != null) {
      return landed(commitId);
    }

    // even a clean refusal can follow an attempt that landed, when something below retried
    Look look = look(commitId);
    long deadline = System.nanoTime() + settings.unknownPatience().toNanos();
    long waitMillis = LOOK_WAIT_MILLIS_MIN;
    while (!(look instanceof Found)
        && (probe.unsettled() || (look instanceof Blind && probe.tries() > 1))) {
      long leftMillis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
      if (leftMillis <= 0 || !sleep(Math.min(waitMillis, leftMillis))) {
        break;
      }
      waitMillis = Math.min(waitMillis * 2, LOOK_WAIT_MILLIS_MAX);
      look = look(commitId);
    }
    if (look instanceof Found found) {
      return new Landed(found.snapshotId());
    } else if (probe.unsettled() || (look instanceof Blind && probe.tries() > 1)) {
      return new InDoubt(cause);
    }
    return new Refused(cause);
  }

  /** What a look for a commit's marker saw. */
  private sealed interface Look permits Found, Absent, Blind {}

  private record Found(long snapshotId) implements Look {}

  private record Absent() implements Look {}

  /** The table could not be loaded. */
  private record Blind() implements Look {}

  private Look look(String commitId) {
    try {
      TableMetadata metadata = probe.refresh();
      Snapshot found = find(ancestry(metadata), commitId);
      if (found == null) {
        // committed and rolled back by someone since: the files belong to the table's history
        found = find(metadata.snapshots(), commitId);
      }
      return found == null ? new Absent() : new Found(found.snapshotId());
    } catch (RuntimeException e) {
      LOG.warn("Cannot load {} to look for commit {}", table.name(), commitId, e);
      return new Blind();
    }
  }

  /** The snapshot that carries the commit's marker, or null if none does. */
  private static @Nullable Snapshot find(Iterable<Snapshot> snapshots, String commitId) {
    for (Snapshot snapshot : snapshots) {
      Map<String, String> summary = snapshot.summary(); // null in snapshots of old writers
      if (summary != null && commitId.equals(summary.get(COMMIT_ID))) {
        return snapshot;
      }
    }
    return null;
  }

  private Iterable<Snapshot> ancestry(TableMetadata metadata) {
    SnapshotRef ref = metadata.ref(base.branch());
    return ref == null ? List.of() : SnapshotUtil.ancestorsOf(ref.snapshotId(), metadata::snapshot);
  }

  private static boolean worthAnotherAttempt(RuntimeException e) {
    return e instanceof CommitFailedException
        || e instanceof OutgrownException
        || e instanceof ServiceUnavailableException
        || e instanceof UncheckedIOException;
  }

  private long backoffMillis(int attempt) {
    Map<String, String> properties = probe.current().properties();
    long min =
        longProperty(
            properties,
            TableProperties.COMMIT_MIN_RETRY_WAIT_MS,
            TableProperties.COMMIT_MIN_RETRY_WAIT_MS_DEFAULT);
    long max =
        longProperty(
            properties,
            TableProperties.COMMIT_MAX_RETRY_WAIT_MS,
            TableProperties.COMMIT_MAX_RETRY_WAIT_MS_DEFAULT);
    long wait = Math.max(1, Math.min(max, min << Math.min(attempt, 16)));
    return wait / 2 + ThreadLocalRandom.current().nextLong(wait / 2 + 1);
  }

  private static long longProperty(Map<String, String> properties, String key, long defaultValue) {
    String value = properties.get(key);
    return value == null ? defaultValue : Long.parseLong(value);
  }

  /** Waits, and says whether it was not interrupted; the interrupt stays set. */
  private static boolean sleep(long millis) {
    try {
      Thread.sleep(millis);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private void deleteMetadataFiles() {
    try {
      delete(probe.takeMetadataFiles());
    } catch (RuntimeException e) {
      LOG.warn("Cannot look for the manifests of a refused commit to {}", table.name(), e);
    }
  }

  private void delete(Collection<String> locations) {
    for (String location : locations) {
      try {
        table.io().deleteFile(location);
      } catch (RuntimeException e) {
        LOG.warn(
            "Cannot delete {}, which is not part of {}; remove it as an orphan",
            location,
            table.name(),
            e);
      }
    }
  }
}
