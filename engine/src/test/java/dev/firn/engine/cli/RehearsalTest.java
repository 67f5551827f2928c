package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RehearsalTest {
  @TempDir Path directory;

  /** Were one refused, the archive of classes would be made without what that one needs. */
  @Test
  void everyCommandIsDone() throws Exception {
    StringWriter said = new StringWriter();
    assertThat(Rehearsal.rehearse(directory, new PrintWriter(said))).as("%s", said).isZero();
    assertThat(said.toString())
        .contains("planned, nothing was written")
        .doesNotContain("nothing to do")
        .containsPattern("(?s)(committed.*){2}");
  }
}
