package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DemoDirectoryTest {
  @TempDir Path parent;

  @Test
  void itsOwnDirectoryIsMadeAnew() throws IOException {
    Path demo = parent.resolve("a/demo");
    DemoDirectory.prepare(demo);
    Files.createDirectories(demo.resolve("warehouse/x"));
    Files.writeString(demo.resolve("warehouse/x/data"), "x");
    Files.writeString(demo.resolve("catalog.db"), "x");
    DemoDirectory.prepare(demo);
    assertThat(demo).isDirectoryContaining("glob:**/.firn-demo");
    assertThat(demo.resolve("warehouse")).doesNotExist();
    assertThat(demo.resolve("catalog.db")).doesNotExist();
  }

  @Test
  void anEmptyDirectoryIsTaken() {
    DemoDirectory.prepare(parent);
    assertThat(parent.resolve(".firn-demo")).exists();
  }

  @Test
  void whatNoDemoMadeIsLeftAlone() throws IOException {
    Path file = Files.writeString(parent.resolve("catalog.db"), "mine");
    assertThatThrownBy(() -> DemoDirectory.prepare(parent))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("it was not made by a demo")
        .hasMessageContaining("Nothing was touched");
    assertThatThrownBy(() -> DemoDirectory.prepare(file))
        .hasMessageContaining("it is not a directory");
    assertThat(file).hasContent("mine");
  }

  @Test
  void aStrangerInADemosDirectoryKeepsAllOfIt() throws IOException {
    DemoDirectory.prepare(parent);
    Files.writeString(parent.resolve("notes.txt"), "mine");
    Files.writeString(parent.resolve("catalog.db"), "x");
    assertThatThrownBy(() -> DemoDirectory.prepare(parent))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("it holds notes.txt");
    assertThat(parent.resolve("catalog.db")).exists();
  }

  @Test
  void linksAreNotFollowed() throws IOException {
    Path outside = Files.createDirectory(parent.resolve("outside"));
    Path kept = Files.writeString(outside.resolve("kept"), "x");
    Path demo = parent.resolve("demo");
    DemoDirectory.prepare(demo);
    Files.createSymbolicLink(demo.resolve("warehouse"), outside);
    DemoDirectory.prepare(demo);
    assertThat(kept).exists();
    Path link = Files.createSymbolicLink(parent.resolve("link"), demo);
    assertThatThrownBy(() -> DemoDirectory.prepare(link))
        .hasMessageContaining("it is not a directory");
  }
}
