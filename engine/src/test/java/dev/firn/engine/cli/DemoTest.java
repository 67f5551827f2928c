package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DemoTest {
  @TempDir Path directory;

  @Test
  void bothTablesKeepTheirRowsAndASecondRunIsSafe() {
    for (int run = 0; run < 2; run++) {
      CapturedTerminal terminal = new CapturedTerminal(directory, Map.of());
      assertThat(terminal.run("demo")).as(terminal.err()).isZero();
      assertThat(terminal.out())
          .containsPattern("live rows .* the same rows\n")
          .containsPattern("live rows .* the same rows and row ids\n")
          .containsPattern("data files +101 +[1-9]\n")
          .containsPattern("data files +70 +7\n")
          .containsPattern("delete files +8 +0\n")
          .containsPattern("delete files +20 +0\n")
          .containsPattern("files a lookup of one customer opens +100\\.8 +1\\.\\d\n");
      assertThat(terminal.lastErrLine())
          .isEqualTo("firn: done: both tables hold the rows they held (exit code 0)");
    }
    CapturedTerminal terminal = new CapturedTerminal(directory, Map.of());
    assertThat(terminal.run("plan", "demo.events", "--config", "firn-demo/firn.yaml")).isZero();
    assertThat(terminal.out()).contains("nothing to do");
  }
}
