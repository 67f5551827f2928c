package dev.firn.commit;

import java.util.Objects;
import org.apache.iceberg.Schema;

/**
 * What a run was planned on, captured once (C1): every commit of the run is validated from here.
 *
 * @param snapshotId the snapshot whose files were planned
 * @param sequenceNumber that snapshot's sequence number, kept here because the snapshot itself may
 *     be expired before the last commit; 0 on tables that were format version 1 then
 * @param formatVersion the table's format version when it was planned (C20)
 * @param schema the schema that the outputs are written with (D15)
 * @param branch the branch that was planned and that the commits go to (C16)
 */
public record CommitBase(
    long snapshotId, long sequenceNumber, int formatVersion, Schema schema, String branch) {
  public CommitBase {
    if (sequenceNumber < 0) {
      throw new IllegalArgumentException(
          "sequenceNumber must not be negative but was " + sequenceNumber);
    }
    if (formatVersion < 1) {
      throw new IllegalArgumentException("formatVersion must be positive but was " + formatVersion);
    }
    Objects.requireNonNull(schema, "schema");
    Objects.requireNonNull(branch, "branch");
  }
}
