package dev.firn.commit;

import java.util.List;
import org.apache.iceberg.actions.RewriteFileGroup;

/** What became of groups that were offered to a {@link CommitCoordinator}. */
public sealed interface CommitOutcome
    permits CommitOutcome.Committed,
        CommitOutcome.Conflicted,
        CommitOutcome.Unknown,
        CommitOutcome.Failed {

  /** The groups this outcome is about; never empty, each offered group is in one outcome. */
  List<RewriteFileGroup> groups();

  /**
   * The groups are in the table.
   *
   * @param groups what was committed together
   * @param snapshotId the snapshot that holds them, found by this commit's own marker
   * @param rowsCarriedOver rows of the outputs that are deleted by delete files of the same commit,
   *     because they were deleted from the inputs after planning
   */
  record Committed(List<RewriteFileGroup> groups, long snapshotId, long rowsCarriedOver)
      implements CommitOutcome {
    public Committed {
      groups = List.copyOf(groups);
    }
  }

  /**
   * The table changed so that the groups cannot be committed as they are; nothing of them is in the
   * table and their outputs are deleted. They can be planned again on a newer snapshot.
   *
   * @param groups the groups that conflicted
   * @param kind what changed
   * @param message what changed, for people
   * @param cause what the commit attempt threw
   */
  record Conflicted(
      List<RewriteFileGroup> groups, Kind kind, String message, RuntimeException cause)
      implements CommitOutcome {
    public Conflicted {
      groups = List.copyOf(groups);
    }
  }

  /**
   * Nobody knows whether the groups are in the table: their files may be live now or soon. Nothing
   * was deleted and the same inputs must not be rewritten in this run (C11).
   *
   * @param groups the groups in doubt
   * @param cause what the commit attempt threw
   */
  record Unknown(List<RewriteFileGroup> groups, RuntimeException cause) implements CommitOutcome {
    public Unknown {
      groups = List.copyOf(groups);
    }
  }

  /**
   * The groups are provably not in the table for a reason that planning again does not cure; their
   * outputs are deleted.
   *
   * @param groups the groups that failed
   * @param cause what the commit attempt threw
   */
  record Failed(List<RewriteFileGroup> groups, RuntimeException cause) implements CommitOutcome {
    public Failed {
      groups = List.copyOf(groups);
    }
  }

  /** What a conflict was about. */
  enum Kind {
    /** An input was removed or rewritten by someone else (C7). */
    INPUT_GONE,
    /** Deletes that the outputs do not reflect were added to an input (C4, C5). */
    NEW_DELETES,
    /** The planned snapshot is no ancestor of the branch any more (C2, C23). */
    HISTORY_LOST,
    /**
     * The table became format version 3 after planning, so rows got ids that outputs lack (C20).
     */
    UPGRADED,
    /** The partition spec of an output or input was removed (C8, C19). */
    SPEC_GONE,
    /**
     * The commit guard: Iceberg would commit, but rows would come back or go away (H1, H4, D15).
     */
    GUARD
  }
}
