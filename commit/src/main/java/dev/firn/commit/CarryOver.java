package dev.firn.commit;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.actions.RewriteFileGroup;

/**
 * Moves position deletes and deletion vectors that landed on the inputs of finished groups onto
 * their outputs, so that the groups can be committed and need not be redone. Implemented by who
 * wrote the outputs and knows which row went where.
 *
 * <p>Called by one thread at a time, in the thread that commits.
 */
public interface CarryOver {

  /** Cannot carry anything over: groups with new deletes are to be redone. */
  CarryOver NONE = (deletes, formatVersion) -> Optional.empty();

  /**
   * What landed on the inputs of a group and is in force now.
   *
   * @param group a finished group
   * @param byInput live position delete files and deletion vectors that were added after planning,
   *     by the location of each input that they apply to by scope and sequence number; they may
   *     name no row of it
   */
  record NewDeletes(RewriteFileGroup group, Map<String, List<DeleteFile>> byInput) {
    public NewDeletes {
      byInput = Map.copyOf(byInput);
    }
  }

  /**
   * Deletes in terms of the outputs.
   *
   * @param added delete files that delete from the outputs what {@link NewDeletes} delete from the
   *     inputs; none if that is nothing
   * @param replacements delete files to be removed in the same commit, because all that they delete
   *     is in an input, or in {@code added}, or in the file that replaces them: these keep the
   *     sequence number of what they replace. Not empty unless {@code added} is: Iceberg takes no
   *     delete files into a rewrite that removes none.
   * @param rows how many rows of outputs they delete
   */
  record Carried(List<DeleteFile> added, List<Replacement> replacements, long rows) {
    public Carried {
      added = List.copyOf(added);
      replacements = List.copyOf(replacements);
      if (replacements.isEmpty() && !added.isEmpty()) {
        throw new IllegalArgumentException("Delete files are added and none is replaced");
      }
    }
  }

  /**
   * A delete file that is removed.
   *
   * @param removed the file as it is in the table
   * @param remainder what it deletes from files that are no inputs; empty if nothing
   */
  record Replacement(DeleteFile removed, Optional<DeleteFile> remainder) {}

  /**
   * Writes delete files for the outputs. They become part of the table only if the commit does; it
   * is the caller who deletes them otherwise.
   *
   * @param deletes one entry for each group that has new deletes
   * @param formatVersion the table's format version: it says whether to write deletion vectors (3
   *     and above, N9)
   * @return empty if it is not known which row went where, so that the groups must be redone
   * @throws IOException if a delete file cannot be read or written; nothing that was written is
   *     left
   */
  Optional<Carried> carry(List<NewDeletes> deletes, int formatVersion) throws IOException;
}
