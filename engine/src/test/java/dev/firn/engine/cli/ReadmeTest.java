package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.engine.CompactionOption;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ReadmeTest {
  @Test
  void optionsAndTheirDefaultsAreThoseOfTheCode() throws IOException {
    String readme = Files.readString(Path.of("..", "README.md"));
    for (CompactionOption option : CompactionOption.values()) {
      assertThat(readme)
          .containsPattern(
              "\\| `" + option.key() + "` \\| [^|]*" + option.defaultText().split(" ")[0]);
    }
  }

  @Test
  void exitCodesAreThoseOfTheCode() throws IOException {
    String readme = Files.readString(Path.of("..", "README.md"));
    for (ExitCode code : ExitCode.values()) {
      if (code != ExitCode.DONE && code != ExitCode.FAILED) {
        assertThat(readme).contains("| " + code.code() + " | " + code.words() + " |");
      }
    }
  }
}
