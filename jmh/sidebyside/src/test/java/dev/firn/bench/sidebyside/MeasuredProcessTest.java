package dev.firn.bench.sidebyside;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MeasuredProcessTest {
  @TempDir Path proc;

  private void process(long pid, String program, long residentKilobytes) throws IOException {
    Path directory = Files.createDirectory(proc.resolve(Long.toString(pid)));
    Files.createSymbolicLink(directory.resolve("exe"), Path.of(program));
    Files.writeString(
        directory.resolve("status"),
        "Name:\tname\nVmHWM:\t  999999 kB\nVmRSS:\t " + residentKilobytes + " kB\nThreads:\t1\n");
  }

  @Test
  void childrenOfAnotherProgramCount() throws IOException {
    process(10, "/bin/bash", 3);
    process(11, "/usr/lib/jvm/bin/java", 5000);
    process(12, "/usr/bin/sleep", 20);
    assertThat(MeasuredProcess.residentBytes(proc, 10, LongStream.of(11, 12)))
        .isEqualTo(5023L << 10);
  }

  @Test
  void aChildThatIsAboutToRunSomethingElseDoesNotCount() throws IOException {
    process(10, "/usr/lib/jvm/bin/java", 5000);
    process(11, "/usr/lib/jvm/bin/java", 4990);
    process(12, "/usr/bin/sleep", 20);
    assertThat(MeasuredProcess.residentBytes(proc, 10, LongStream.of(11, 12)))
        .isEqualTo(5020L << 10);
  }

  @Test
  void processesThatHaveEndedCountForNothing() throws IOException {
    process(10, "/bin/bash", 3);
    assertThat(MeasuredProcess.residentBytes(proc, 10, LongStream.of(11))).isEqualTo(3L << 10);
    assertThat(MeasuredProcess.residentBytes(proc, 11, LongStream.of(12))).isZero();
  }
}
