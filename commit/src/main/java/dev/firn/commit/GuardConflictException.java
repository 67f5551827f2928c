package dev.firn.commit;

import java.util.List;
import org.apache.iceberg.exceptions.ValidationException;

/** The commit guard's refusal, with what it found for which group. */
final class GuardConflictException extends ValidationException {
  private static final long serialVersionUID = 1L;

  private final transient List<CommitGuard.Finding> findings;

  GuardConflictException(List<CommitGuard.Finding> findings) {
    super("%s", findings.get(0).message());
    this.findings = List.copyOf(findings);
  }

  List<CommitGuard.Finding> findings() {
    return findings;
  }
}
