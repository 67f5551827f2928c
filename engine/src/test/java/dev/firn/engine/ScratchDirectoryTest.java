package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Scratch of a run is gone after it, however it ends. */
class ScratchDirectoryTest {
  @TempDir Path parent;

  /** Makes a scratch directory with a file in it, says so, and waits to be ended. */
  static final class Holder {
    private Holder() {}

    /** The parent directory. */
    public static void main(String[] args) throws Exception {
      ScratchDirectory scratch = ScratchDirectory.in(Path.of(args[0]), "held");
      Files.writeString(scratch.path().resolve("run"), "rows");
      Files.writeString(Path.of(args[0]).resolve("ready"), "");
      Thread.sleep(60_000);
    }
  }

  private Process holder() throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-cp",
                System.getProperty("java.class.path"),
                Holder.class.getName(),
                parent.toString())
            .inheritIO()
            .start();
    while (!Files.exists(parent.resolve("ready"))) {
      assertThat(process.isAlive()).isTrue();
      Thread.sleep(20);
    }
    return process;
  }

  private List<Path> directories() throws IOException {
    try (Stream<Path> files = Files.list(parent)) {
      return files.filter(Files::isDirectory).toList();
    }
  }

  @Test
  void closingRemovesAllThatIsInIt() throws IOException {
    ScratchDirectory scratch = ScratchDirectory.in(parent, "a");
    Files.createDirectories(scratch.path().resolve("b/c"));
    Files.writeString(scratch.path().resolve("b/c/d"), "rows");
    scratch.close();
    scratch.close();
    assertThat(parent).isEmptyDirectory();
  }

  @Test
  void whatAKilledProcessLeftIsRemovedByTheNext() throws Exception {
    Process process = holder();
    try {
      ScratchDirectory.in(parent, "beside").close();
      assertThat(directories()).as("of a run that lives").hasSize(1);
      assertThat(directories().get(0).resolve("run")).exists();
    } finally {
      process.destroyForcibly();
    }
    assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
    assertThat(directories()).as("nobody could remove it").hasSize(1);
    try (ScratchDirectory next = ScratchDirectory.in(parent, "next")) {
      assertThat(directories()).containsExactly(next.path());
    }
    assertThat(directories()).isEmpty();
  }

  @Test
  void aProcessThatIsAskedToEndRemovesItsOwn() throws Exception {
    Process process = holder();
    process.destroy();
    assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
    assertThat(directories()).isEmpty();
  }

  @Test
  void directoriesOfThisProcessAndOfOthersWithALikeNameAreLeft() throws IOException {
    Path theirs = Files.createDirectory(parent.resolve("firn-notes"));
    Files.writeString(theirs.resolve("keep"), "");
    try (ScratchDirectory first = ScratchDirectory.in(parent, "a");
        ScratchDirectory second = ScratchDirectory.in(parent, "a")) {
      assertThat(first.path()).isNotEqualTo(second.path()).exists();
      assertThat(second.path()).exists();
    }
    assertThat(directories()).containsExactly(theirs);
  }
}
