package dev.firn.spark;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A run of the launcher at the root of the checkout, as its users run it: a process. */
final class FirnRun {
  private static final int MINUTES_MAX = 10; // the launcher builds Firn if that is not done yet

  private final Process process;
  private final Path out;
  private final Path err;

  private FirnRun(Process process, Path out, Path err) {
    this.process = process;
    this.out = out;
    this.err = err;
  }

  /** Starts {@code firn compact TABLE}, with the catalogs of this module in its class path. */
  static FirnRun compact(String table, List<String> options) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of("../../firn").toRealPath().toString());
    command.addAll(List.of("compact", table, "--output", "json"));
    command.addAll(options);
    Path directory = Files.createDirectories(Path.of("target/runs").toAbsolutePath());
    Path out = Files.createTempFile(directory, table + "-", ".json");
    Path err = Files.createTempFile(directory, table + "-", ".log");
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(directory.toFile())
            .redirectOutput(out.toFile())
            .redirectError(err.toFile());
    builder.environment().keySet().removeIf(name -> name.startsWith("FIRN_"));
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("FIRN_MEMORY", "1g");
    builder.environment().put("FIRN_JAVA_OPTS", "-XX:TieredStopAtLevel=1"); // runs are short
    builder
        .environment()
        .put("FIRN_CLASSPATH", Path.of("target/classes").toAbsolutePath().toString());
    return new FirnRun(builder.start(), out, err);
  }

  /** Waits until a file is there that the run makes. */
  void awaitFile(Path file) throws IOException, InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(MINUTES_MAX);
    while (!Files.exists(file)) {
      assertThat(process.isAlive()).as("Firn has ended: %s", Files.readString(err)).isTrue();
      assertThat(System.nanoTime()).as("Firn made no %s", file).isLessThan(deadline);
      Thread.sleep(10);
    }
  }

  /** Waits for the end, which must be a good one. */
  JsonNode report() throws IOException, InterruptedException {
    boolean ended = process.waitFor(MINUTES_MAX, TimeUnit.MINUTES);
    stop();
    String log = Files.readString(err);
    assertThat(ended).as("Firn has not ended: %s", log).isTrue();
    assertThat(process.exitValue()).as("exit code of Firn, which said: %s", log).isZero();
    JsonNode report = new ObjectMapper().readTree(out.toFile());
    assertThat(report.path("failures").isEmpty()).as(report.toString()).isTrue();
    return report;
  }

  /** Ends the process if it still runs. */
  void stop() {
    process.destroyForcibly();
  }
}
